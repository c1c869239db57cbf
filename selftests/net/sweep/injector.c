// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel lets every interval-th allocation fail, counted from the boot, and does not show the
 * count. So before each step this task allocates until one allocation fails: then the count is a
 * multiple of the interval, and the next to fail is the interval-th from there.
 */
#include "injector.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIGN_ROUNDS_MAX 100000
#define PAGE_BYTES 4096

/* 0 or -errno. */
static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int set(const struct aim *aim, const char *name, uint64_t value)
{
	char path[128];
	char text[32];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", aim->kind, name);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return write_text(path, text);
}

/* How many are still to fail: 1 or 0. -errno if that cannot be read. */
static int left(const struct aim *aim)
{
	char path[128];
	char text[32] = "";
	int ret = 0;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/times", aim->kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) < 0)
		ret = -errno;
	close(fd);
	return ret ? ret : atoi(text);
}

/* Allocates objects and a page. Some of it may fail. */
static void allocate(void)
{
	char page[PAGE_BYTES] = "";
	int ends[2];

	if (pipe(ends))
		return;
	if (write(ends[1], page, sizeof(page)) < 0 && errno != ENOMEM)
		abort();
	close(ends[0]);
	close(ends[1]);
}

static int set_filter(const struct aim *aim, struct text_range below, struct text_range spared,
		      bool own_task_only)
{
	int ret = set(aim, "require-start", below.start);

	if (!ret)
		ret = set(aim, "require-end", below.end);
	if (!ret)
		ret = set(aim, "reject-start", spared.start);
	if (!ret)
		ret = set(aim, "reject-end", spared.end);
	if (!ret)
		ret = set(aim, "stacktrace-depth", aim->frames);
	if (!ret)
		ret = set(aim, "task-filter", own_task_only);
	return ret;
}

/* Settings that stay the same; nothing fails yet. */
static int prepare(const struct aim *aim, unsigned int interval)
{
	int ret = set(aim, "times", 0);

	if (!ret)
		ret = set(aim, "verbose", aim->logged ? 2 : 0);
	if (!ret)
		ret = set(aim, "space", 0);
	if (!ret)
		ret = set(aim, "ignore-gfp-wait", 0);
	if (!ret && !strcmp(aim->kind, "fail_page_alloc"))
		ret = set(aim, "min-order", 0);
	if (!ret && !strcmp(aim->kind, "fail_page_alloc"))
		ret = set(aim, "ignore-gfp-highmem", 0);
	if (!ret)
		ret = set(aim, "interval", interval);
	if (!ret)
		ret = set(aim, "probability", 100);
	return ret;
}

static int align(const struct aim *aim)
{
	const struct text_range everything = { 0, UINT64_MAX };
	const struct text_range nothing = { 0, 0 };
	int ret = set_filter(aim, everything, nothing, true);
	int round;

	if (!ret)
		ret = write_text("/proc/self/make-it-fail", "1");
	if (!ret)
		ret = set(aim, "times", 1);
	for (round = 0; !ret && round < ALIGN_ROUNDS_MAX && left(aim) != 0; round++)
		allocate();
	if (!ret && left(aim) != 0)
		ret = -ETIMEDOUT;
	return ret ? ret : write_text("/proc/self/make-it-fail", "0");
}

int injector_arm(const struct aim *aim, unsigned int nth)
{
	int ret = prepare(aim, nth);

	/* The kernel does not count if the interval is 1. */
	if (!ret && nth > 1)
		ret = align(aim);
	if (!ret)
		ret = set_filter(aim, aim->below, aim->spared, false);
	return ret ? ret : set(aim, "times", 1);
}

bool injector_disarm(const struct aim *aim)
{
	const bool failed = left(aim) == 0;

	set(aim, "times", 0);
	set(aim, "probability", 0);
	return failed;
}
