/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The single steps that an agent carries out on its host for the driver: one request, one
 * reply. Both ends are the same program, so the structures travel as they lie in memory.
 *
 * Bytes never travel: sending steps make them from (seed, offset), receiving steps compare.
 */
#ifndef CASES_OP_H
#define CASES_OP_H

#include <stdint.h>

#include "../lib/net.h"

#define OP_MAGIC 0x53414353u
#define OP_VERSION 2

/* Instead of a seed: do not compare what is received. */
#define SEED_ANY ((int64_t)-1)

enum op {
	OP_SOCKET,    /* mode, family, type flags → fd */
	OP_BIND,      /* address */
	OP_LISTEN,    /* backlog */
	OP_CONNECT,   /* address; length override or 0 */
	OP_ACCEPT,    /* accept4 flags → fd; O_NONBLOCK set?, FD_CLOEXEC set?; address */
	OP_SEND,      /* enum send_call, length, flags, pieces, seed, offset */
	OP_SEND_TO,   /* length, flags, seed, offset; address */
	OP_SEND_BAD,  /* length of the readable part, flags, seed, offset; then an unmapped page */
	OP_SEND_LOOP, /* blocking sends: total, bytes per call, seed, offset → total sent */
	OP_SEND_FILL, /* non-blocking sends until no more is taken: bytes per call, seed, offset */
	OP_RECV,     /* enum recv_call, length, flags, pieces, seed, offset; → bytes that match */
	OP_RECV_BAD, /* length of the writable part, flags, seed, offset; then an unmapped page */
	/* until total or the end (-1): total, bytes per call, pause_ms, seed, offset */
	OP_RECV_LOOP,
	/* non-blocking, until nothing comes any more: bytes per call, seed, offset */
	OP_RECV_DRAIN,
	OP_POLL,       /* events, timeout_ms → revents */
	OP_SELECT,     /* timeout_ms → enum select_bit */
	OP_EPOLL_CREATE,
	OP_EPOLL_ADD,  /* fd, events */
	OP_EPOLL_WAIT, /* timeout_ms → events of the only fd */
	OP_SHUTDOWN,   /* how */
	OP_CLOSE,
	OP_DUP,
	OP_SET_OPTION,   /* level, option, enum option_kind, two values */
	OP_GET_OPTION,   /* level, option, enum option_kind → two values */
	OP_GET_SOCKNAME, /* → address */
	OP_GET_PEERNAME,
	OP_IOCTL_INT, /* command → value */
	OP_FCNTL,     /* command, argument; or 1 as the third value: this process */
	OP_SIGPIPES,  /* → how many came since asked last */
	OP_SIGNALS,   /* SIGIO or SIGURG, timeout_ms for the first → how many since asked last */
	OP_KILL_TCP,  /* the TCP connection under the socket ends at once, as by ss -K */
	OP_SPLICE_IN, /* enum splice_call, length, flags, seed, offset: into the socket */
	OP_SPLICE_OUT, /* length, flags, seed, offset: out of it → bytes; those that match */
	OP_TEE,	      /* length, seed, offset: out of it, twice → bytes; those that match twice */
	OP_SEND_MMSG, /* messages, bytes each, flags, seed, offset → messages; bytes */
	/* messages, bytes each, flags, timeout_ms (-1: none), seed, offset → messages; bytes; those
	 * that match
	 */
	OP_RECV_MMSG,
	/* length, flags, seed, offset → bytes; those that match; msg_flags and, from bit 32 on, the
	 * length of the name, from bit 40 on that of the control data
	 */
	OP_RECV_FACTS,
	OP_SEND_CONTROL, /* length, level, type, bytes of control data */
	OP_ERROR_QUEUE, /* notifications, timeout_ms → how many; first and last; origin, code */
	OP_ACCEPT_BAD,	/* an address that cannot be written; length */
	OP_FILES_MAX,	/* how many more may be opened; -1: as before */
	OP_EPOLL_MOD,	/* fd, events */
	/* enum uring_call, length, flags, seed, offset, timeout_ms; address → result; bytes that
	 * match; whether a notification came
	 */
	OP_URING,
	OP_INTERRUPT, /* actor: sends it a signal whose handler does not restart calls */
	OP_FORK,      /* → control port of the child */
	OP_EXIT,      /* no reply: the process ends with _exit() */
	OP_STAT,      /* the reply is followed by struct smc_stat if ret is 0 */
	OP_COUNT,
};

/* SPLICE_FILE_AND_MORE: sendfile() that is asked for more than the file has. */
enum splice_call { SPLICE_SENDFILE, SPLICE_PIPE, SPLICE_VMSPLICE, SPLICE_FILE_AND_MORE };
enum uring_call {
	URING_SEND,
	URING_RECV,
	URING_SENDMSG,
	URING_RECVMSG,
	URING_WRITE,
	URING_READ,
	URING_SEND_ZC,
	URING_POLL,
	URING_ACCEPT,
	URING_CONNECT,
	URING_SHUTDOWN,
};
enum send_call { SEND_SEND, SEND_WRITE, SEND_WRITEV, SEND_SENDMSG };
enum recv_call { RECV_RECV, RECV_READ, RECV_READV, RECV_RECVMSG, RECV_RECVFROM };
enum select_bit { SELECT_READ = 1, SELECT_WRITE = 2, SELECT_EXCEPT = 4 };
enum option_kind { OPTION_INT, OPTION_BYTE, OPTION_LINGER, OPTION_TIMEVAL };

/* The values of a request stand in the order of the comment beside its op. */
struct request {
	uint32_t op; /* enum op */
	int32_t fd;
	int64_t args[6];
	struct address address;
};

struct reply {
	int64_t ret; /* what the call returned, -1 on error */
	int32_t error; /* errno where ret is -1, or the one that ended a loop */
	uint32_t elapsed_ms;
	int64_t values[2];
	struct address address;
	uint32_t op; /* of the request, for messages */
};

/* The first thing that an agent says on a new session. */
struct greeting {
	uint32_t magic;
	uint32_t version;
	int32_t port; /* where further actors of the session connect */
};

const char *op_name(uint32_t op);

#endif
