/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test cases. Each is a function that steers both hosts step by step. It runs on TCP first and
 * then on the sockets under test; both runs must meet the same expectations and must have noted
 * the same. A case that fails does not return: the expectation that failed ends it.
 */
#ifndef CASES_TEST_H
#define CASES_TEST_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>

#include "op.h"

struct host;

/* Seeds of the two directions of a case's connection. */
#define UP 1
#define DOWN 2

/* What becomes of a case's connections where the two sides can do SMC. */
enum fate {
	FATE_SMC, /* all of them become SMC */
	FATE_NONE, /* the case makes none that comes to be */
	/* As FATE_SMC, but the server never accepts: its handshake may not have finished. */
	FATE_UNACCEPTED,
	/*
	 * As FATE_SMC, but the client closes while it connects: a server that sees the end before
	 * a Proposal falls back.
	 */
	FATE_CLOSED_EARLY,
	FATE_MIXED, /* some become SMC, and others TCP as the case will have it */
	FATE_TCP_ONLY, /* the client falls back: it wants what only TCP has */
};

struct test {
	struct host *client;
	struct host *server;
	enum mode client_mode; /* of this run */
	enum mode server_mode;
	int family;
	struct address server_address; /* port 0 */
	struct address nowhere; /* an address of the same network that no host has */
	bool expect_smc; /* this run's connections are to become SMC */
};

struct test_case {
	const char *name;
	void (*run)(struct test *test);
	enum fate fate;
};

/* A connection: the client's descriptor, the server's, and the listener. */
struct pair {
	int client;
	int server;
	int listener;
	struct address address; /* where the listener is */
};

/* Buffer sizes to set before bind and connect; 0: leave alone. */
struct pair_options {
	int sndbuf_bytes; /* of both sides */
	int rcvbuf_bytes;
};

/* --- steps ------------------------------------------------------------------------------- */

/* Carries out a step on the host and waits for its end; a step that blocks fails the case. */
struct reply on(struct host *host, struct request request);
/* Lets another actor (1, 2, …) of the host begin a step. */
void start(struct host *host, int actor, struct request request);
/* Waits for the end of a step begun with start(). */
struct reply finish(struct host *host, int actor);
/* Whether the step is still under way after the time. */
bool still_running(struct host *host, int actor, int wait_ms);
/* Ends the host's process at once, as _exit() does; a later step gets a new one. */
void exit_process(struct host *host);
/* A process on the same host with the same descriptors. Ended by the case or after it. */
struct host *fork_host(struct host *host);

struct request rq_socket(const struct test *test, struct host *host, int type_flags);
struct request rq_bind(int fd, const struct address *address);
struct request rq_listen(int fd, int backlog);
struct request rq_connect(int fd, const struct address *address);
struct request rq_accept(int fd, int flags);
struct request rq_send(int fd, int64_t length, int flags, int64_t seed, int64_t offset);
struct request rq_send_by(int fd, enum send_call call, int64_t length, int flags, int pieces,
			  int64_t seed, int64_t offset);
struct request rq_send_to(int fd, const struct address *address, int64_t length, int flags,
			  int64_t seed, int64_t offset);
struct request rq_send_bad(int fd, int64_t good_length, int flags, int64_t seed, int64_t offset);
struct request rq_send_loop(int fd, int64_t total, int64_t per_call, int64_t seed, int64_t offset);
struct request rq_send_fill(int fd, int64_t per_call, int64_t seed, int64_t offset);
struct request rq_recv(int fd, int64_t length, int flags, int64_t seed, int64_t offset);
struct request rq_recv_by(int fd, enum recv_call call, int64_t length, int flags, int pieces,
			  int64_t seed, int64_t offset);
struct request rq_recv_bad(int fd, int64_t good_length, int flags, int64_t seed, int64_t offset);
struct request rq_recv_loop(int fd, int64_t total, int64_t per_call, int64_t seed, int64_t offset);
struct request rq_recv_slowly(int fd, int64_t total, int64_t per_call, int64_t pause_ms,
			      int64_t seed, int64_t offset);
struct request rq_recv_drain(int fd, int64_t per_call, int64_t seed, int64_t offset);
struct request rq_poll(int fd, int events, int timeout_ms);
struct request rq_select(int fd, int timeout_ms);
struct request rq_epoll_create(void);
struct request rq_epoll_add(int epoll_fd, int fd, int64_t events);
struct request rq_epoll_wait(int epoll_fd, int timeout_ms);
struct request rq_shutdown(int fd, int how);
struct request rq_close(int fd);
struct request rq_dup(int fd);
struct request rq_set_int(int fd, int level, int option, int value);
struct request rq_set_byte(int fd, int level, int option, int value);
struct request rq_set_linger(int fd, bool on, int seconds);
struct request rq_set_timeout(int fd, int option, int ms);
struct request rq_get(int fd, int level, int option, enum option_kind kind);
struct request rq_sockname(int fd);
struct request rq_peername(int fd);
struct request rq_ioctl_int(int fd, int64_t command);
struct request rq_fcntl(int fd, int command, int64_t argument);
/* Signals about the socket go to its process (F_SETOWN). */
struct request rq_own_signals(int fd);
struct request rq_sigpipes(void);
struct request rq_interrupt(int actor);
struct request rq_signals(int signal, int timeout_ms);
struct request rq_kill_tcp(int fd);
struct request rq_splice_in(int fd, enum splice_call call, int64_t length, int flags, int64_t seed,
			    int64_t offset);
struct request rq_splice_out(int fd, int64_t length, int flags, int64_t seed, int64_t offset);
struct request rq_tee(int fd, int64_t length, int64_t seed, int64_t offset);
struct request rq_send_mmsg(int fd, int messages, int64_t each, int flags, int64_t seed,
			    int64_t offset);
struct request rq_recv_mmsg(int fd, int messages, int64_t each, int flags, int timeout_ms,
			    int64_t seed, int64_t offset);
struct request rq_recv_facts(int fd, int64_t length, int flags, int64_t seed, int64_t offset);
struct request rq_send_control(int fd, int64_t length, int level, int type, int64_t control_bytes);
struct request rq_error_queue(int fd, int notifications, int timeout_ms);
struct request rq_accept_bad(int fd, int64_t address_bytes);
struct request rq_files_max(int more);
struct request rq_epoll_mod(int epoll_fd, int fd, int64_t events);
struct request rq_uring(int fd, enum uring_call call, int64_t length, int flags, int64_t seed,
			int64_t offset);
struct request rq_uring_at(int fd, enum uring_call call, const struct address *address);

/* --- expectations: each ends the case where it is not met ----------------------------------- */

#define expect(condition, ...) \
	do { \
		if (!(condition)) \
			fail_case(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

/* The step returned just this; for receiving steps every byte must be right as well. */
#define expect_ret(reply, wanted) check_ret(__FILE__, __LINE__, (reply), (wanted))
#define expect_error(reply, wanted) check_error(__FILE__, __LINE__, (reply), (wanted))

struct reply check_ret(const char *file, int line, struct reply reply, int64_t wanted);
struct reply check_error(const char *file, int line, struct reply reply, int wanted);
__attribute__((format(printf, 3, 4), noreturn)) void fail_case(const char *file, int line,
							       const char *format, ...);

/* Skips the case: it counts as passed, and the report gives the reason. */
__attribute__((noreturn)) void skip_case(const char *why);

/* Notes a step's outcome, whatever it is; it must be the same on TCP and SMC. */
void note_reply(const char *label, struct reply reply);
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);

/* --- frequent sequences -------------------------------------------------------------------- */

int new_socket(struct test *test, struct host *host, int type_flags);
/* A listener on a port of its own choice; fills address with where the client connects to. */
int new_listener(struct test *test, int backlog, struct address *address);
/* A client's socket whose connect() has begun: EINPROGRESS. */
int connect_in_background(struct test *test, const struct address *address);
struct pair connect_pair(struct test *test);
struct pair connect_pair_with(struct test *test, struct pair_options options);
/* An address at the server where nobody listens. */
struct address closed_port(struct test *test);
/* Sends in one direction and receives all of it. */
void exchange(struct host *from, int from_fd, struct host *to, int to_fd, int64_t length,
	      int64_t seed, int64_t offset);
/* Both directions carry a few bytes, from the stream offset on. */
void exchange_both(struct test *test, const struct pair *pair, int64_t offset);
/* revents after waiting for any of events; 0 if none came in time. */
int64_t poll_events(struct host *host, int fd, int events, int timeout_ms);

/* The tables of cases, ended by a name of NULL. */
extern const struct test_case connect_cases[];
extern const struct test_case accept_cases[];
extern const struct test_case transfer_cases[];
extern const struct test_case poll_cases[];
extern const struct test_case shutdown_cases[];
extern const struct test_case close_cases[];
extern const struct test_case option_cases[];
extern const struct test_case fault_cases[];
extern const struct test_case share_cases[];
extern const struct test_case fallback_cases[];
extern const struct test_case urgent_cases[];
extern const struct test_case peek_offset_cases[];
extern const struct test_case killed_cases[];
extern const struct test_case zerocopy_cases[];
extern const struct test_case splice_cases[];
extern const struct test_case message_cases[];
extern const struct test_case low_water_cases[];
extern const struct test_case signal_cases[];
extern const struct test_case uring_cases[];
extern const struct test_case disconnect_cases[];
extern const struct test_case limit_cases[];
extern const struct test_case mapped_cases[];
extern const struct test_case inherit_cases[];
extern const struct test_case sweep_cases[];
extern const struct test_case epoll_cases[];

#endif
