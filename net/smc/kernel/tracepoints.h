/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints, in /sys/kernel/tracing/events/smc/. The first four have the names and the fields of
 * those of Linux's own module (net/smc/smc_tracepoint.h of 6.1 and later), so that programs written
 * for them go on working.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smc

#if !defined(SMC_KERNEL_TRACEPOINTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define SMC_KERNEL_TRACEPOINTS_H

#include <linux/tracepoint.h>
#include <net/sock.h>

#include "kernel/abi/control.h"
#include "kernel/abi/trace.h"
#include "kernel/pernet.h"

TRACE_EVENT(smc_switch_to_fallback,
	TP_PROTO(const struct sock *sk, u32 reason),
	TP_ARGS(sk, reason),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(const void *, clcsk)
		__field(u64, net_cookie)
		__field(int, fallback_rsn)
	),
	TP_fast_assign(
		/* An SMC socket is its TCP socket. */
		__entry->sk = sk;
		__entry->clcsk = sk;
		__entry->net_cookie = smc_net_cookie(sock_net(sk));
		__entry->fallback_rsn = reason;
	),
	TP_printk("sk=%p clcsk=%p net=%llu fallback_rsn=%d",
		  __entry->sk, __entry->clcsk, __entry->net_cookie, __entry->fallback_rsn)
);

DECLARE_EVENT_CLASS(smc_msg_event,
	TP_PROTO(const struct sock *sk, size_t len, const char *device),
	TP_ARGS(sk, len, device),
	TP_STRUCT__entry(
		__field(const void *, smc)
		__field(u64, net_cookie)
		__field(size_t, len)
		__array(char, name, SMC_IB_NAME_LEN)
	),
	TP_fast_assign(
		__entry->smc = sk;
		__entry->net_cookie = smc_net_cookie(sock_net(sk));
		__entry->len = len;
		strscpy(__entry->name, device, SMC_IB_NAME_LEN);
	),
	TP_printk("smc=%p net=%llu len=%zu dev=%s",
		  __entry->smc, __entry->net_cookie, __entry->len, __entry->name)
);

DEFINE_EVENT(smc_msg_event, smc_tx_sendmsg,
	TP_PROTO(const struct sock *sk, size_t len, const char *device),
	TP_ARGS(sk, len, device)
);

DEFINE_EVENT(smc_msg_event, smc_rx_recvmsg,
	TP_PROTO(const struct sock *sk, size_t len, const char *device),
	TP_ARGS(sk, len, device)
);

DECLARE_EVENT_CLASS(smcr_link_event,
	TP_PROTO(const struct smc_traced_link *link, void *location),
	TP_ARGS(link, location),
	TP_STRUCT__entry(
		__field(const void *, lnk)
		__field(const void *, lgr)
		__field(u64, net_cookie)
		__field(int, state)
		__array(char, name, SMC_IB_NAME_LEN)
		__field(void *, location)
	),
	TP_fast_assign(
		__entry->lnk = link->link;
		__entry->lgr = link->group;
		__entry->net_cookie = smc_net_cookie(link->net);
		__entry->state = link->state;
		strscpy(__entry->name, link->device, SMC_IB_NAME_LEN);
		__entry->location = location;
	),
	TP_printk("lnk=%p lgr=%p net=%llu state=%d dev=%s location=%pS",
		  __entry->lnk, __entry->lgr, __entry->net_cookie, __entry->state, __entry->name,
		  __entry->location)
);

DEFINE_EVENT(smcr_link_event, smcr_link_down,
	TP_PROTO(const struct smc_traced_link *link, void *location),
	TP_ARGS(link, location)
);

DEFINE_EVENT(smcr_link_event, smcr_link_up,
	TP_PROTO(const struct smc_traced_link *link, void *location),
	TP_ARGS(link, location)
);

/* A step of a handshake: a CLC message. */
TRACE_EVENT(smc_clc_message,
	TP_PROTO(const struct sock *sk, bool sent, const u8 *header, size_t len),
	TP_ARGS(sk, sent, header, len),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, net_cookie)
		__field(bool, sent)
		__field(u8, type)
		__field(u8, version)
		__field(size_t, len)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->net_cookie = smc_net_cookie(sock_net(sk));
		__entry->sent = sent;
		__entry->type = header[4];
		__entry->version = header[7] >> 4;
		__entry->len = len;
	),
	TP_printk("sk=%p net=%llu %s %s version=%u len=%zu",
		  __entry->sk, __entry->net_cookie, __entry->sent ? "sent" : "received",
		  __print_symbolic(__entry->type, { 1, "PROPOSAL" }, { 2, "ACCEPT" },
				   { 3, "CONFIRM" }, { 4, "DECLINE" }),
		  __entry->version, __entry->len)
);

/* A send found no room, in its own buffer or the peer's. */
TRACE_EVENT(smc_stall,
	TP_PROTO(const struct sock *sk, bool peer_is_full),
	TP_ARGS(sk, peer_is_full),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, net_cookie)
		__field(bool, peer_is_full)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->net_cookie = smc_net_cookie(sock_net(sk));
		__entry->peer_is_full = peer_is_full;
	),
	TP_printk("sk=%p net=%llu peer_is_full=%d",
		  __entry->sk, __entry->net_cookie, __entry->peer_is_full)
);

#endif /* SMC_KERNEL_TRACEPOINTS_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH kernel
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE tracepoints
#include <trace/define_trace.h>
