// SPDX-License-Identifier: GPL-2.0-only
#include "runner.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

#define REASON_BYTES 512
#define NOTES_BYTES 8192
#define LABEL_BYTES 64
#define FORKS_MAX 4
#define NOWHERE_COUNT 150
#define REASON_TCP_ONLY 0x03060000u
#define REASON_NO_PROPOSAL 0x03010000u

struct notes {
	char text[NOTES_BYTES];
	size_t used;
};

/* The running case, so that steps need no argument for it. */
static struct {
	const struct runner *runner;
	struct host *forks[FORKS_MAX];
	struct notes notes;
	jmp_buf failed;
	bool skipped;
	char reason[REASON_BYTES];
} current;

/* The first failure ends the case. */
__attribute__((noreturn)) static void leave(void)
{
	longjmp(current.failed, 1);
}

void fail_case(const char *file, int line, const char *format, ...)
{
	const char *base = strrchr(file, '/');
	va_list args;
	int used = snprintf(current.reason, sizeof(current.reason), "%s:%d: ",
			    base ? base + 1 : file, line);

	va_start(args, format);
	vsnprintf(current.reason + used, sizeof(current.reason) - (size_t)used, format, args);
	va_end(args);
	leave();
}

void skip_case(const char *why)
{
	snprintf(current.reason, sizeof(current.reason), "%s", why);
	current.skipped = true;
	leave();
}

__attribute__((format(printf, 1, 2), noreturn)) static void broken(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(current.reason, sizeof(current.reason), format, args);
	va_end(args);
	leave();
}

/* --- steps ------------------------------------------------------------------------------- */

struct reply finish(struct host *host, int actor)
{
	struct reply reply;
	int ret = host_receive(host, actor, &reply, current.runner->step_timeout_ms);

	if (ret == -ETIMEDOUT)
		broken("a step at %s did not end within %d ms", host->name,
		       current.runner->step_timeout_ms);
	if (ret)
		broken("agent at %s: %s", host->name, strerror(-ret));
	return reply;
}

void start(struct host *host, int actor, struct request request)
{
	int ret = host_send(host, actor, &request);

	if (ret)
		broken("agent at %s: %s", host->name, strerror(-ret));
}

struct reply on(struct host *host, struct request request)
{
	struct reply reply;
	int ret;

	start(host, 0, request);
	ret = host_receive(host, 0, &reply, current.runner->step_timeout_ms);
	if (ret == -ETIMEDOUT)
		broken("%s at %s did not end within %d ms", op_name(request.op), host->name,
		       current.runner->step_timeout_ms);
	if (ret)
		broken("agent at %s, %s: %s", host->name, op_name(request.op), strerror(-ret));
	return reply;
}

bool still_running(struct host *host, int actor, int wait_ms)
{
	struct pollfd poller = { .fd = host->actors[actor], .events = POLLIN };

	return poll(&poller, 1, wait_ms) == 0;
}

void exit_process(struct host *host)
{
	struct pollfd poller = { .fd = host->actors[0], .events = POLLIN };

	start(host, 0, (struct request){ .op = OP_EXIT });
	/* When the process exits, its control connection closes. */
	if (poll(&poller, 1, current.runner->step_timeout_ms) != 1)
		broken("the process at %s did not exit", host->name);
	host_close(host);
}

struct host *fork_host(struct host *host)
{
	struct reply reply = on(host, (struct request){ .op = OP_FORK });
	int slot = 0;
	struct host *child;
	int ret;

	if (reply.ret < 0)
		broken("fork at %s: %s", host->name, strerror(reply.error));
	while (slot < FORKS_MAX && current.forks[slot])
		slot++;
	child = slot < FORKS_MAX ? calloc(1, sizeof(*child)) : NULL;
	if (!child)
		broken("no room for another process at %s", host->name);
	child->name = host->name;
	child->agent = host->agent;
	address_set_port(&child->agent, (uint16_t)reply.ret);
	ret = host_open(child);
	if (ret) {
		free(child);
		broken("the forked process at %s: %s", host->name, strerror(-ret));
	}
	current.forks[slot] = child;
	return child;
}

/* --- expectations ---------------------------------------------------------------------------- */

static const char *error_text(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "?";
}

struct reply check_ret(const char *file, int line, struct reply reply, int64_t wanted)
{
	bool receives = reply.op == OP_RECV || reply.op == OP_RECV_LOOP ||
			reply.op == OP_RECV_DRAIN || reply.op == OP_RECV_BAD ||
			reply.op == OP_SPLICE_OUT || reply.op == OP_TEE;

	if (reply.ret != wanted)
		fail_case(file, line, "%s returned %lld (%s), not %lld", op_name(reply.op),
			  (long long)reply.ret, error_text(reply.error), (long long)wanted);
	if (receives && reply.values[0] != reply.ret)
		fail_case(file, line, "%s: wrong byte at %lld of %lld", op_name(reply.op),
			  (long long)reply.values[0], (long long)reply.ret);
	return reply;
}

struct reply check_error(const char *file, int line, struct reply reply, int wanted)
{
	if (reply.ret != -1)
		fail_case(file, line, "%s returned %lld, not %s", op_name(reply.op),
			  (long long)reply.ret, error_text(wanted));
	if (reply.error != wanted)
		fail_case(file, line, "%s failed with %s, not %s", op_name(reply.op),
			  error_text(reply.error), error_text(wanted));
	return reply;
}

void note(const char *format, ...)
{
	struct notes *notes = &current.notes;
	size_t room = sizeof(notes->text) - notes->used;
	va_list args;
	int added;

	va_start(args, format);
	added = vsnprintf(notes->text + notes->used, room, format, args);
	va_end(args);
	if (added < 0 || (size_t)added + 1 >= room)
		broken("too many notes");
	notes->used += (size_t)added;
	notes->text[notes->used++] = '\n';
	notes->text[notes->used] = '\0';
}

void note_reply(const char *label, struct reply reply)
{
	if (reply.ret < 0)
		note("%s: %s %s", label, op_name(reply.op), error_text(reply.error));
	else
		note("%s: %s %lld, %#llx %#llx", label, op_name(reply.op), (long long)reply.ret,
		     (unsigned long long)reply.values[0], (unsigned long long)reply.values[1]);
}

/* --- running --------------------------------------------------------------------------------- */

static void end_sessions(const struct runner *runner)
{
	for (int i = 0; i < FORKS_MAX; i++) {
		if (!current.forks[i])
			continue;
		host_close(current.forks[i]);
		free(current.forks[i]);
		current.forks[i] = NULL;
	}
	host_close(runner->test.client);
	host_close(runner->test.server);
}

/* Both hosts' statistics; false with the reason set where they cannot be had. */
static bool read_stats(const struct runner *runner, struct smc_stat *client,
		       struct smc_stat *server)
{
	int ret = 0;

	memset(client, 0, sizeof(*client));
	memset(server, 0, sizeof(*server));
	if (runner->test.client_mode != MODE_TCP)
		ret = host_stat(runner->test.client, client);
	if (!ret && runner->test.server_mode != MODE_TCP)
		ret = host_stat(runner->test.server, server);
	if (ret)
		snprintf(current.reason, sizeof(current.reason), "no SMC statistics: %s",
			 strerror(-ret));
	return !ret;
}

static const struct smc_stat_tech *wanted_tech(enum expectation expectation,
					       const struct smc_stat *delta)
{
	return expectation == EXPECT_SMCD ? &delta->smcd : &delta->smcr;
}

/*
 * How many connections fell back at the server because the case closed them during the handshake.
 */
static uint64_t closed_early(enum fate fate, const struct smc_stat *server)
{
	if (fate != FATE_CLOSED_EARLY)
		return 0;
	return smc_stat_reason_count(server, true, REASON_NO_PROPOSAL);
}

static bool judge_smc(enum expectation expectation, enum fate fate, const struct smc_stat *client,
		      const struct smc_stat *server)
{
	const struct smc_stat_tech *client_tech = wanted_tech(expectation, client);
	const struct smc_stat_tech *server_tech = wanted_tech(expectation, server);
	const char *wrong = NULL;

	if (!client_tech->client_handshakes ||
	    (!server_tech->server_handshakes && fate != FATE_UNACCEPTED))
		wrong = "no connection became SMC";
	else if (fate != FATE_MIXED && (client->client_fallbacks || server->server_fallbacks !=
					closed_early(fate, server)))
		wrong = "a connection fell back";
	if (!wrong)
		return true;
	snprintf(current.reason, sizeof(current.reason),
		 "%s (client: %llu SMC, %llu fallbacks, reason %#x; server: %llu, %llu, %#x)",
		 wrong, (unsigned long long)client_tech->client_handshakes,
		 (unsigned long long)client->client_fallbacks,
		 client->reason_count ? client->reasons[0].code : 0,
		 (unsigned long long)server_tech->server_handshakes,
		 (unsigned long long)server->server_fallbacks,
		 server->reason_count ? server->reasons[0].code : 0);
	return false;
}

static bool judge_fallback(enum mode mode, enum fate fate, bool is_server,
			   const struct smc_stat *delta, uint32_t reason)
{
	const char *side = is_server ? "server" : "client";
	uint64_t fallbacks = is_server ? delta->server_fallbacks : delta->client_fallbacks;
	uint64_t other_reason = 0;
	uint64_t by_smc = delta->smcr.client_handshakes + delta->smcr.server_handshakes +
			  delta->smcd.client_handshakes + delta->smcd.server_handshakes;

	if (mode == MODE_TCP)
		return true;
	if (by_smc || !fallbacks) {
		snprintf(current.reason, sizeof(current.reason),
			 "%s: %llu SMC connections, %llu fallbacks", side,
			 (unsigned long long)by_smc, (unsigned long long)fallbacks);
		return false;
	}
	if (is_server && reason != REASON_NO_PROPOSAL)
		other_reason = closed_early(fate, delta);
	if (reason && smc_stat_reason_count(delta, is_server, reason) != fallbacks - other_reason) {
		snprintf(current.reason, sizeof(current.reason),
			 "%s fell back for %#x, not %#x", side,
			 delta->reason_count ? delta->reasons[0].code : 0, reason);
		return false;
	}
	return true;
}

/* Whether the counters show the transport that the case expects. */
static bool judge_way(const struct runner *runner, enum fate fate, const struct smc_stat *client,
		      const struct smc_stat *server)
{
	enum mode client_mode = runner->test.client_mode;
	enum mode server_mode = runner->test.server_mode;

	if (fate == FATE_NONE || runner->expectation == EXPECT_ANY)
		return true;
	if (fate == FATE_TCP_ONLY)
		return judge_fallback(client_mode, fate, false, client, REASON_TCP_ONLY);
	if (runner->expectation != EXPECT_FALLBACK)
		return judge_smc(runner->expectation, fate, client, server);
	/* Sockets that never asked for SMC are counted with a reason of their own. */
	if (fate == FATE_MIXED)
		return judge_fallback(client_mode, fate, false, client, 0) &&
		       judge_fallback(server_mode, fate, true, server, 0);
	return judge_fallback(client_mode, fate, false, client, runner->client_reason) &&
	       (fate == FATE_UNACCEPTED ||
		judge_fallback(server_mode, fate, true, server, runner->server_reason));
}

/*
 * A new address every tenth of a second: after an address did not answer, connect() to it fails at
 * once for some seconds, also in the next program.
 */
static struct address fresh_nowhere(const struct address *nowhere)
{
	unsigned char step = (unsigned char)(now_ms() / 100 % NOWHERE_COUNT);
	struct address address = *nowhere;

	if (address.storage.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&address.storage)->sin6_addr.s6_addr[15] -= step;
	else
		((unsigned char *)&((struct sockaddr_in *)&address.storage)->sin_addr)[3] -= step;
	return address;
}

/* One run of the case; true if it passed. */
static bool run_once(const struct runner *runner, const struct test_case *test_case)
{
	static struct smc_stat before[2];
	static struct smc_stat after[2];
	static struct smc_stat delta[2];
	static struct test test;
	bool good;

	test = runner->test;
	test.nowhere = fresh_nowhere(&runner->test.nowhere);
	test.expect_smc = runner->expectation == EXPECT_SMCR ||
			  runner->expectation == EXPECT_SMCD;
	current.runner = runner;
	current.skipped = false;
	memset(&current.notes, 0, sizeof(current.notes));
	current.reason[0] = '\0';
	if (!read_stats(runner, &before[0], &before[1])) {
		end_sessions(runner);
		return false;
	}
	if (setjmp(current.failed) == 0) {
		test_case->run(&test);
		good = true;
	} else {
		good = false;
	}
	end_sessions(runner);
	if (good && read_stats(runner, &after[0], &after[1])) {
		smc_stat_delta(&delta[0], &before[0], &after[0]);
		smc_stat_delta(&delta[1], &before[1], &after[1]);
		good = judge_way(runner, test_case->fate, &delta[0], &delta[1]);
	} else {
		good = false;
	}
	end_sessions(runner);
	return good;
}

/* Names the first line that differs. */
static bool same_notes(const struct notes *tcp, const struct notes *smc)
{
	const char *left = tcp->text;
	const char *right = smc->text;

	while (*left || *right) {
		int left_length = (int)strcspn(left, "\n");
		int right_length = (int)strcspn(right, "\n");

		if (left_length != right_length || memcmp(left, right, (size_t)left_length)) {
			snprintf(current.reason, sizeof(current.reason),
				 "TCP \"%.*s\", SMC \"%.*s\"", left_length, left, right_length,
				 right);
			return false;
		}
		left += left_length + (left[left_length] != '\0');
		right += right_length + (right[right_length] != '\0');
	}
	return true;
}

const char *run_case(const struct runner *runner, const struct test_case *test_case, bool *skipped)
{
	static struct notes tcp_notes;
	static char text[REASON_BYTES + 16];
	struct runner tcp = *runner;

	tcp.test.client_mode = MODE_TCP;
	tcp.test.server_mode = MODE_TCP;
	tcp.expectation = EXPECT_ANY;
	*skipped = false;
	if (!run_once(&tcp, test_case)) {
		*skipped = current.skipped;
		if (*skipped)
			return current.reason;
		snprintf(text, sizeof(text), "on TCP: %s", current.reason);
		return text;
	}
	tcp_notes = current.notes;
	if (run_once(runner, test_case) && same_notes(&tcp_notes, &current.notes))
		return NULL;
	snprintf(text, sizeof(text), "%s", current.reason);
	return text;
}
