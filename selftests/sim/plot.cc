// SPDX-License-Identifier: GPL-2.0-only
#include "plot.hpp"

#include "kernel/abi/stats.h"
#include "process.hpp"
#include "scheduler.hpp"
#include "trace.hpp"

namespace sim {

net &client()
{
	return *world().hosts[0];
}

net &server()
{
	return *world().hosts[1];
}

int send_byte(struct socket *sock, u8 byte)
{
	msghdr msg{.from = &byte, .length_bytes = 1};

	return sys_send(sock, msg);
}

int receive_byte(struct socket *sock, u8 *byte)
{
	msghdr msg{.to = byte, .length_bytes = 1};

	return sys_receive(sock, msg);
}

namespace {

void answer(struct socket *sock)
{
	u8 byte;

	while (receive_byte(sock, &byte) == 1) {
		if (byte == kReset) {
			sock->sk->linger = true;
			break;
		}
		if (byte == kBye)
			break;
		(void)send_byte(sock, byte);
	}
	sys_close(sock);
	processes()--;
}

void accept_all(struct socket *listener)
{
	struct socket *sock = nullptr;

	while (sys_accept(listener, &sock) == 0) {
		processes()++;
		scheduler().spawn("server", [sock] { answer(sock); });
	}
	sys_close(listener);
	processes()--;
}

} // namespace

struct socket *start_server()
{
	struct socket *listener = sys_socket(&server());

	if (sys_listen(listener, kPort, 300) != 0)
		fail("listen() fails");
	processes()++;
	scheduler().spawn("accept", [listener] { accept_all(listener); });
	return listener;
}

void scripted(void (*script)())
{
	script();
	scheduler().sleep_us(kRest_us);
}

struct socket *connect_by_any()
{
	struct socket *sock = sys_socket(&client());
	const int ret = sys_connect(sock, &server(), kPort);

	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	return sock;
}

struct socket *connect_one(bool smc)
{
	struct socket *sock = connect_by_any();

	if (sys_uses_smc(sock) != smc)
		fail("it goes by %s", smc ? "TCP" : "SMC");
	return sock;
}

void connect_in_vain(int &under_way)
{
	under_way++;
	processes()++;
	scheduler().spawn("client", [&under_way] {
		sys_close(connect_one(/*smc=*/false));
		under_way--;
		processes()--;
	});
}

Sockets connect_many(u32 count)
{
	Sockets socks;

	while (socks.size() < count)
		socks.push_back(connect_one());
	return socks;
}

void close_all(const Sockets &socks)
{
	for (struct socket *sock : socks)
		sys_close(sock);
}

void expect_answer(struct socket *sock)
{
	u8 byte = 0;
	const int sent = send_byte(sock, kHello);
	const int received = receive_byte(sock, &byte);

	if (sent != 1 || received != 1 || byte != kHello)
		fail("nobody answers: send() %d, recv() %d", sent, received);
}

void expect_answers(const Sockets &socks)
{
	for (struct socket *sock : socks)
		expect_answer(sock);
}

void expect_next(struct socket *listener, struct socket *sock)
{
	struct socket *child = nullptr;
	const int ret = sys_accept(listener, &child);

	if (ret != 0)
		fail("accept() fails, errno %d", -ret);
	if (connection_id(child) != connection_id(sock))
		fail("accept() gives tcp-%llu before tcp-%llu", connection_id(child),
		     connection_id(sock));
	if (sys_uses_smc(child) != sys_uses_smc(sock))
		fail("one end goes by SMC");
	sys_close(child);
	sys_close(sock);
}

void expect_one_group(u32 connections)
{
	for (const auto &host : world().hosts) {
		const s64 buffers = host->stats[SMC_STAT_BUF_NEW] - host->stats[SMC_STAT_BUF_FREE];

		if (host->stats[SMC_STAT_GROUP_NEW] != 1 ||
		    host->stats[SMC_STAT_GROUP_TERMINATED] != 0)
			fail("host %s: %lld groups were made, %lld ended", host->name.c_str(),
			     host->stats[SMC_STAT_GROUP_NEW],
			     host->stats[SMC_STAT_GROUP_TERMINATED]);
		if (buffers > 2 * (connections + kKept))
			fail("host %s: %lld buffers for %u connections", host->name.c_str(),
			     buffers, connections);
	}
}

void yield_some(u32 most)
{
	for (u32 turns = scheduler().random().below(most); turns != 0; turns--)
		scheduler().yield();
}

smc_ib_link *link_of(const net *host)
{
	for (const auto &[qpn, link] : fabric().links) {
		if (link->device->host == host)
			return link;
	}
	fail("host %s has no link", host->name.c_str());
}

void with_server(void (*plot)())
{
	struct socket *listener = start_server();

	plot();
	(void)sys_shutdown(listener, 0);
	// Connections that were closed end before the devices are removed.
	scheduler().sleep_us(kRest_us);
}

} // namespace sim
