// SPDX-License-Identifier: GPL-2.0-only
#include "host.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define GREETING_TIMEOUT_MS 20000
#define STAT_TIMEOUT_MS 20000

int host_open(struct host *host)
{
	struct greeting greeting;
	int control = control_connect(&host->agent);
	int ret;

	for (int i = 0; i < HOST_ACTORS_MAX; i++)
		host->actors[i] = -1;
	if (control < 0)
		return control;
	ret = wait_events(control, POLLIN, GREETING_TIMEOUT_MS);
	if (!ret)
		ret = read_whole(control, &greeting, sizeof(greeting));
	if (!ret && (greeting.magic != OP_MAGIC || greeting.version != OP_VERSION))
		ret = -EPROTO;
	if (ret) {
		close(control);
		return ret;
	}
	host->actors[0] = control;
	host->session_port = (uint16_t)greeting.port;
	return 0;
}

void host_close(struct host *host)
{
	for (int i = 0; i < HOST_ACTORS_MAX; i++) {
		if (host->actors[i] >= 0)
			close(host->actors[i]);
		host->actors[i] = -1;
	}
}

/* Actors join in order, so that their numbers agree with the agent's. */
static int join_up_to(struct host *host, int actor)
{
	struct address address = host->agent;

	address_set_port(&address, host->session_port);
	for (int i = 1; i <= actor; i++) {
		int control;

		if (host->actors[i] >= 0)
			continue;
		control = control_connect(&address);
		if (control < 0)
			return control;
		host->actors[i] = control;
	}
	return 0;
}

int host_send(struct host *host, int actor, const struct request *request)
{
	int ret = 0;

	if (host->actors[0] < 0)
		ret = host_open(host);
	if (!ret)
		ret = join_up_to(host, actor);
	return ret ? ret : write_whole(host->actors[actor], request, sizeof(*request));
}

int host_receive(struct host *host, int actor, struct reply *reply, int timeout_ms)
{
	int ret = wait_events(host->actors[actor], POLLIN, timeout_ms);

	return ret ? ret : read_whole(host->actors[actor], reply, sizeof(*reply));
}

int host_stat(struct host *host, struct smc_stat *stat)
{
	struct request request = { .op = OP_STAT };
	struct reply reply;
	int ret = host_send(host, 0, &request);

	if (!ret)
		ret = host_receive(host, 0, &reply, STAT_TIMEOUT_MS);
	if (!ret)
		ret = -reply.error;
	return ret ? ret : read_whole(host->actors[0], stat, sizeof(*stat));
}
