// SPDX-License-Identifier: GPL-2.0-only
#include "option.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* Newer than the headers that this is built with. */
#ifndef SO_TXREHASH
#define SO_TXREHASH 74
#endif

/*
 * Not set where it is compared:
 * - sizes of buffers, TCP_NOTSENT_LOWAT: EPOLLOUT differs by design;
 * - SO_RCVTIMEO, SO_SNDTIMEO: the run itself relies on them;
 * - SO_REUSEPORT: which listener gets a connection is drawn by lot, on TCP as well;
 * - SO_ZEROCOPY: the notice says that the bytes were copied, by design;
 * - SO_OOBINLINE: differs at the mark by design;
 * - TCP_CORK, TCP_NODELAY: when held bytes go is a matter of time;
 * - TCP_ULP, TCP_REPAIR, TCP_FASTOPEN…, IPV6_ADDRFORM: refused, or fall back, by design;
 * - TCP_USER_TIMEOUT, TCP_TX_DELAY, SO_MAX_PACING_RATE, IP_MINTTL, SO_BINDTODEVICE: TCP's segments
 *   come late or not at all, and TCP carries the stream in one of the two runs only;
 * - TCP_DEFER_ACCEPT, TCP_MD5SIG: as these; the first byte that TCP sees is not the program's.
 */
const struct option_entry option_entries[] = {
	{ SOL_SOCKET, SO_DEBUG, true, true },
	{ SOL_SOCKET, SO_REUSEADDR, true, true },
	{ SOL_SOCKET, SO_TYPE, true, true },
	{ SOL_SOCKET, SO_ERROR, true, true },
	{ SOL_SOCKET, SO_DONTROUTE, true, true },
	{ SOL_SOCKET, SO_BROADCAST, true, true },
	{ SOL_SOCKET, SO_SNDBUF, false, false },
	{ SOL_SOCKET, SO_RCVBUF, false, false },
	{ SOL_SOCKET, SO_KEEPALIVE, true, true },
	{ SOL_SOCKET, SO_OOBINLINE, true, false },
	{ SOL_SOCKET, SO_PRIORITY, true, true },
	{ SOL_SOCKET, SO_LINGER, true, true },
	{ SOL_SOCKET, SO_REUSEPORT, true, false },
	{ SOL_SOCKET, SO_PASSCRED, true, true },
	{ SOL_SOCKET, SO_PEERCRED, false, true },
	{ SOL_SOCKET, SO_RCVLOWAT, true, true },
	{ SOL_SOCKET, SO_SNDLOWAT, true, true },
	{ SOL_SOCKET, SO_RCVTIMEO, true, false },
	{ SOL_SOCKET, SO_SNDTIMEO, true, false },
	{ SOL_SOCKET, SO_BINDTODEVICE, true, false },
	{ SOL_SOCKET, SO_ATTACH_FILTER, true, true },
	{ SOL_SOCKET, SO_DETACH_FILTER, true, true },
	{ SOL_SOCKET, SO_PEERNAME, false, true },
	{ SOL_SOCKET, SO_TIMESTAMP, true, true },
	{ SOL_SOCKET, SO_ACCEPTCONN, true, true },
	{ SOL_SOCKET, SO_PEERSEC, false, true },
	{ SOL_SOCKET, SO_MARK, true, true },
	{ SOL_SOCKET, SO_PROTOCOL, true, true },
	{ SOL_SOCKET, SO_DOMAIN, true, true },
	{ SOL_SOCKET, SO_PEEK_OFF, true, true },
	{ SOL_SOCKET, SO_NOFCS, true, true },
	{ SOL_SOCKET, SO_LOCK_FILTER, true, true },
	{ SOL_SOCKET, SO_SELECT_ERR_QUEUE, true, true },
	{ SOL_SOCKET, SO_BUSY_POLL, true, true },
	{ SOL_SOCKET, SO_MAX_PACING_RATE, true, false },
	{ SOL_SOCKET, SO_INCOMING_CPU, false, true },
	{ SOL_SOCKET, SO_ATTACH_BPF, true, true },
	{ SOL_SOCKET, SO_MEMINFO, false, true },
	{ SOL_SOCKET, SO_COOKIE, false, true },
	{ SOL_SOCKET, SO_ZEROCOPY, true, false },
	{ SOL_SOCKET, SO_TXTIME, true, true },
	{ SOL_SOCKET, SO_TXREHASH, true, true },
	{ SOL_TCP, TCP_NODELAY, false, false },
	{ SOL_TCP, TCP_MAXSEG, false, true },
	{ SOL_TCP, TCP_CORK, true, false },
	{ SOL_TCP, TCP_KEEPIDLE, true, true },
	{ SOL_TCP, TCP_KEEPINTVL, true, true },
	{ SOL_TCP, TCP_KEEPCNT, true, true },
	{ SOL_TCP, TCP_SYNCNT, true, true },
	{ SOL_TCP, TCP_LINGER2, true, true },
	{ SOL_TCP, TCP_DEFER_ACCEPT, true, false },
	{ SOL_TCP, TCP_WINDOW_CLAMP, false, false },
	{ SOL_TCP, TCP_INFO, false, true },
	{ SOL_TCP, TCP_QUICKACK, false, true },
	{ SOL_TCP, TCP_CONGESTION, false, true },
	{ SOL_TCP, TCP_MD5SIG, true, false },
	{ SOL_TCP, TCP_THIN_LINEAR_TIMEOUTS, true, true },
	{ SOL_TCP, TCP_USER_TIMEOUT, true, false },
	{ SOL_TCP, TCP_REPAIR, true, false },
	{ SOL_TCP, TCP_REPAIR_QUEUE, false, true },
	{ SOL_TCP, TCP_QUEUE_SEQ, false, true },
	{ SOL_TCP, TCP_REPAIR_OPTIONS, false, true },
	{ SOL_TCP, TCP_FASTOPEN, false, false },
	{ SOL_TCP, TCP_TIMESTAMP, false, true },
	{ SOL_TCP, TCP_NOTSENT_LOWAT, true, false },
	{ SOL_TCP, TCP_CC_INFO, false, true },
	{ SOL_TCP, TCP_SAVE_SYN, true, true },
	{ SOL_TCP, TCP_SAVED_SYN, false, true },
	{ SOL_TCP, TCP_REPAIR_WINDOW, false, true },
	{ SOL_TCP, TCP_FASTOPEN_CONNECT, false, false },
	{ SOL_TCP, TCP_ULP, false, false },
	{ SOL_TCP, TCP_FASTOPEN_KEY, false, false },
	{ SOL_TCP, TCP_FASTOPEN_NO_COOKIE, false, false },
	{ SOL_TCP, TCP_ZEROCOPY_RECEIVE, false, true },
	{ SOL_TCP, TCP_INQ, true, true },
	{ SOL_TCP, TCP_TX_DELAY, false, false },
	{ SOL_IP, IP_TOS, true, true },
	{ SOL_IP, IP_TTL, true, true },
	{ SOL_IP, IP_HDRINCL, true, true },
	{ SOL_IP, IP_OPTIONS, true, true },
	{ SOL_IP, IP_RECVOPTS, true, true },
	{ SOL_IP, IP_PKTINFO, true, true },
	{ SOL_IP, IP_MTU_DISCOVER, true, true },
	{ SOL_IP, IP_RECVERR, true, true },
	{ SOL_IP, IP_RECVTTL, true, true },
	{ SOL_IP, IP_MTU, false, true },
	{ SOL_IP, IP_FREEBIND, true, true },
	{ SOL_IP, IP_TRANSPARENT, true, true },
	{ SOL_IP, IP_MINTTL, true, false },
	{ SOL_IP, IP_BIND_ADDRESS_NO_PORT, true, true },
	{ SOL_IP, IP_MULTICAST_TTL, true, true },
	{ SOL_IP, IP_ADD_MEMBERSHIP, true, true },
	{ SOL_IPV6, IPV6_ADDRFORM, true, false },
	{ SOL_IPV6, IPV6_V6ONLY, true, true },
	{ SOL_IPV6, IPV6_UNICAST_HOPS, true, true },
	{ SOL_IPV6, IPV6_MTU_DISCOVER, true, true },
	{ SOL_IPV6, IPV6_RECVPKTINFO, true, true },
	{ SOL_IPV6, IPV6_RECVERR, true, true },
	{ SOL_IPV6, IPV6_TCLASS, true, true },
	{ SOL_IPV6, IPV6_JOIN_GROUP, true, true },
	{ SOL_IPV6, IPV6_MTU, false, true },
};

const size_t option_count = sizeof(option_entries) / sizeof(option_entries[0]);

const struct option_entry *option_find(int level, int name)
{
	for (size_t i = 0; i < option_count; i++)
		if (option_entries[i].level == level && option_entries[i].name == name)
			return &option_entries[i];
	return NULL;
}
