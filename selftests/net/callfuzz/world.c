// SPDX-License-Identifier: GPL-2.0-only
#include "world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define EDGE_BYTES 3
#define KERNEL_ADDRESS 0xffff888000001000u
#define WATCHED_BITS (POLLIN | POLLPRI | POLLOUT | POLLRDHUP)
/* How long a connection inside one host may take on a busy machine. */
#define CONNECT_MS_MAX 3000

/* Behind each region lies an unmapped page; the last page is read-only. */
#define REGION_STRIDE (REGION_BYTES + PAGE_BYTES)
#define MEMORY_BYTES (REGION_COUNT * REGION_STRIDE + PAGE_BYTES)

void world_make(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (world->memory == MAP_FAILED)
		goto failed;
	for (int i = 0; i < REGION_COUNT; i++)
		if (mprotect(world_region(world, i) + REGION_BYTES, PAGE_BYTES, PROT_NONE))
			goto failed;
	if (mprotect(world->memory + REGION_COUNT * REGION_STRIDE, PAGE_BYTES, PROT_READ))
		goto failed;
	return;
failed:
	perror("smc_callfuzz: memory");
	exit(1);
}

char *world_region(const struct world *world, enum region region)
{
	return world->memory + (size_t)region * REGION_STRIDE;
}

void *world_aim(const struct world *world, const struct call *call, enum region region,
		unsigned int argument, unsigned int arguments)
{
	char *good = world_region(world, region);

	if (call->salt % arguments != argument)
		return good;
	switch (call->pointer) {
	case POINTER_GOOD:
	case POINTER_COUNT:
		break;
	case POINTER_NULL:
		return NULL;
	case POINTER_HOLE:
		return good + REGION_BYTES;
	case POINTER_KERNEL:
		return (void *)KERNEL_ADDRESS;
	case POINTER_READ_ONLY:
		return world->memory + REGION_COUNT * REGION_STRIDE;
	case POINTER_EDGE:
		return good + REGION_BYTES - EDGE_BYTES;
	}
	return good;
}

void world_begin(struct world *world, uint16_t port)
{
	world->port = port;
	world->objects_used = 0;
	memset(world->objects, 0, sizeof(world->objects));
	for (int i = 0; i < SLOTS; i++) {
		world->fds[i] = -1;
		world->of[i] = NULL;
	}
}

void world_end(struct world *world)
{
	for (int i = 0; i < SLOTS; i++)
		if (world->fds[i] >= 0)
			close(world->fds[i]);
}

static void pause_us(unsigned int us)
{
	struct timespec left = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static short polled(int fd, short events, int timeout_ms)
{
	struct pollfd poller = { .fd = fd, .events = events };

	return poll(&poller, 1, timeout_ms) > 0 ? poller.revents : 0;
}

static void watch(const struct world *world, struct outcome *outcome)
{
	for (int i = 0; i < SLOTS; i++) {
		int fd = world->fds[i];
		int bytes = 0;

		if (fd < 0)
			continue;
		outcome->polled[i] = (uint16_t)polled(fd, WATCHED_BITS, 0);
		outcome->readable[i] = ioctl(fd, FIONREAD, &bytes) ? -errno : bytes;
	}
}

static bool reaches_others(enum op op)
{
	return op != CALL_GETOPT && op != CALL_IOCTL && op != CALL_NAME && op != CALL_POLL &&
	       op != CALL_BIND;
}

/* Waits until an asynchronous connect() has finished. */
static void wait_connected(const struct world *world, const struct call *call)
{
	polled(world->fds[call->slot], POLLOUT, CONNECT_MS_MAX);
}

/* Waits until accept() would find the connection; gives up after a while. */
static void wait_acceptable(const struct world *world, int slot)
{
	struct object *object = world->of[slot];

	if (object && object->pending && !polled(world->fds[slot], POLLIN, CONNECT_MS_MAX))
		object->pending = 0;
}

/*
 * Lets what a call has set off come to its end. Both ends are in this process, so that is a matter
 * of moments; what poll() says must not change any more.
 */
static void settle(const struct world *world, const struct sequence *sequence,
		   const struct call *call, struct outcome *outcome)
{
	struct outcome before;

	if (call->op == CALL_CONNECT && outcome->ret == -EINPROGRESS)
		wait_connected(world, call);
	if (reaches_others(call->op))
		pause_us(world->pause_us);
	for (int i = 0; i < SLOTS; i++)
		wait_acceptable(world, i);
	if (!sequence->watched)
		return;
	watch(world, outcome);
	for (int tries = 0; tries < 20; tries++) {
		before = *outcome;
		if (!reaches_others(call->op))
			break;
		pause_us(world->pause_us);
		watch(world, outcome);
		if (!memcmp(&before, outcome, sizeof(before)))
			break;
	}
}

void world_run(struct world *world, const struct sequence *sequence, struct trace *trace,
	       volatile unsigned int *at)
{
	memset(trace, 0, sizeof(*trace));
	for (unsigned int i = 0; i < sequence->count; i++) {
		*at = i;
		perform(world, &sequence->calls[i], &trace->outcomes[i]);
		settle(world, sequence, &sequence->calls[i], &trace->outcomes[i]);
	}
}
