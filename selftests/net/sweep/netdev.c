// SPDX-License-Identifier: GPL-2.0-only
#include "netdev.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/net.h"

/* That of soft-RoCE in the guests. */
#define PORT_STATE "/sys/class/infiniband/rxe0/ports/1/state"
#define ACTIVE_ROUNDS_MAX 100
#define ROUND_MS 100

static bool port_is_active(void)
{
	char state[32] = "";
	int fd = open(PORT_STATE, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, state, sizeof(state) - 1);
	close(fd);
	return got > 0 && strstr(state, "ACTIVE");
}

static int set_up(int fd, const char *netdev, bool up)
{
	struct ifreq request = { .ifr_flags = 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
	if (ioctl(fd, SIOCGIFFLAGS, &request))
		return -errno;
	if (up)
		request.ifr_flags |= IFF_UP;
	else
		request.ifr_flags &= ~IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request) ? -errno : 0;
}

int netdev_bounce(const char *netdev)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rounds = 0;
	int ret;

	if (fd < 0)
		return -errno;
	ret = set_up(fd, netdev, false);
	if (!ret)
		ret = set_up(fd, netdev, true);
	close(fd);
	/* Waits once more after it is active: the module gets the event a moment later. */
	do
		sleep_ms(ROUND_MS);
	while (!ret && !port_is_active() && ++rounds < ACTIVE_ROUNDS_MAX);
	return !ret && rounds == ACTIVE_ROUNDS_MAX ? -ENETDOWN : ret;
}
