// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about handshakes that fail or are given up, or whose messages are forged.
#include "cases.hpp"

#include <functional>
#include <memory>
#include <string>

#include "kernel/abi/stats.h"
#include "plot.hpp"
#include "process.hpp"
#include "scheduler.hpp"
#include "stranger.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr u16 kOtherPort = 9;
// The handshake is over after so many small steps of the latency.
constexpr u64 kSteps = 150;

struct Writer {
	struct socket *sock = nullptr; // until it has closed it
};

// Connects to a server that may be gone, and writes.
void try_to_write(Writer &writer, u16 port)
{
	struct socket *sock = writer.sock;
	u8 byte;

	if (sys_connect(sock, &server(), port) == 0 && sys_uses_smc(sock)) {
		for (int i = 0; i < 10 && send_byte(sock, kHello) == 1; i++)
			scheduler().sleep_us(3);
		(void)receive_byte(sock, &byte);
	}
	writer.sock = nullptr;
	sys_close(sock);
	processes()--;
}

std::shared_ptr<Writer> start_to_write(u16 port)
{
	auto writer = std::make_shared<Writer>();

	writer->sock = sys_socket(&client());
	processes()++;
	scheduler().spawn("client", [writer, port] { try_to_write(*writer, port); });
	return writer;
}

struct socket *listen_for_nobody()
{
	struct socket *listener = sys_socket(&server());

	if (sys_listen(listener, kOtherPort, 10) != 0)
		fail("listen() fails");
	return listener;
}

u64 step_us(u64 step)
{
	return step * std::max(world().knobs.latency_us / 8, u64{1});
}

// The server's program ends at each moment of a handshake.
void listener_closes()
{
	struct socket *bystander = connect_one();

	for (u64 step = 0; step < kSteps; step++) {
		struct socket *listener = listen_for_nobody();

		(void)start_to_write(kOtherPort);
		scheduler().sleep_us(step_us(step));
		sys_close(listener);
		expect_answer(bystander);
	}
	scheduler().sleep_us(kRest_us);
	expect_one_group(1);
	sys_close(bystander);
}

// The network resets TCP at each moment of a handshake, more often than a group bears. The group
// takes no new connections then, but its connections stay.
void tcp_dies_in_handshakes()
{
	struct socket *bystander = connect_one();

	for (u64 step = 0; step < 3 * kSteps; step++) {
		const auto writer = start_to_write(kPort);

		scheduler().sleep_us(step_us(step % kSteps));
		// The server does not see a reset that comes before the SYN, and would wait for
		// ever for a client that has been reset.
		if (writer->sock != nullptr && writer->sock->sk->connection != nullptr &&
		    writer->sock->sk->connection->end(1) != nullptr)
			writer->sock->sk->connection->break_off();
		expect_answer(bystander);
	}
	scheduler().sleep_us(kRest_us);
	expect_answer(bystander);
	if (server().stats[SMC_STAT_GROUP_NEW] < 2)
		fail("the group takes all of them");
	sys_close(bystander);
}

// The server of the connection that founds the group ends just when its host has made the group,
// and others wait to join it.
void founder_closes()
{
	constexpr u32 kOthers = 8;
	constexpr u32 kRounds = 30;
	constexpr u64 kPause_us = 50'000;

	for (u32 round = 0; round < kRounds; round++) {
		struct socket *listener = listen_for_nobody();
		Fiber *const here = scheduler().current();
		bool up = false;
		u32 served = 0;

		count_watcher() = [&](const net *host, u32 index) {
			if (host != &server() || index != SMC_STAT_LINK_UP)
				return;
			up = true;
			scheduler().wake(here);
		};
		(void)start_to_write(kOtherPort);
		scheduler().sleep_us(4 * world().knobs.latency_us);
		for (u32 i = 0; i < kOthers; i++)
			scheduler().spawn("client", [&served] {
				struct socket *sock = connect_one();

				expect_answer(sock);
				scheduler().sleep_us(kPause_us);
				expect_answer(sock);
				sys_close(sock);
				served++;
			});
		for (;;) {
			scheduler().prepare();
			if (up)
				break;
			(void)scheduler().block();
		}
		count_watcher() = nullptr;
		sys_close(listener);
		while (served != kOthers)
			scheduler().sleep_us(kPause_us);
		// So that the next one founds a group.
		for (net *host : {&client(), &server()})
			remove_device(host);
		for (net *host : {&client(), &server()})
			add_device(host);
	}
}

// A Confirm that names another queue pair, or an RMB that was not announced on the link.
void confirm_is_forged(std::size_t at)
{
	struct socket *bystander = connect_one();
	u8 byte;

	clc_forger() = [at](std::string &message) {
		if (message[4] == 3)
			message[at] = static_cast<char>(message[at] ^ 1);
	};
	struct socket *sock = connect_one();
	(void)send_byte(sock, kHello);
	if (receive_byte(sock, &byte) > 0)
		fail("the server believes it");
	clc_forger() = nullptr;
	sys_close(sock);
	expect_answer(bystander);
	expect_one_group(2);
	if (server().stats[SMC_STAT_CLC_MALFORMED] != 1)
		fail("%lld forged Confirms are counted", server().stats[SMC_STAT_CLC_MALFORMED]);
	server().stats[SMC_STAT_CLC_MALFORMED] = 0;
	sys_close(bystander);
}

// A client with another name each time gets a group each time. Groups that it has left do not pile
// up, and one in use stays.
void peer_of_many_names()
{
	constexpr s64 kIdleMax = 16;
	struct socket *bystander = connect_one();
	char name = 0;

	// Never the host's own name, whose instance number is random.
	clc_forger() = [&name](std::string &message) {
		if (message[4] == 1 || message[4] == 3)
			message[8] = static_cast<char>(message[8] ^ name);
	};
	for (name = 1; name <= 50; name++) {
		struct socket *sock = connect_one();

		if (!sys_uses_smc(sock))
			fail("name %d: no SMC", name);
		expect_answer(sock);
		sys_close(sock);
		scheduler().sleep_us(kMoment_us);
	}
	clc_forger() = nullptr;
	scheduler().sleep_us(kRest_us);
	expect_answer(bystander);
	for (const auto &host : world().hosts) {
		const s64 made = host->stats[SMC_STAT_GROUP_NEW];
		const s64 ended = host->stats[SMC_STAT_GROUP_TERMINATED];

		if (made != 51 || made - ended > kIdleMax + 2)
			fail("host %s: %lld groups were made, %lld ended", host->name.c_str(), made,
			     ended);
	}
	sys_close(bystander);
}

s64 ended_groups(const net &host)
{
	return host.stats[SMC_STAT_GROUP_TERMINATED];
}

// A stranger in host a's name declines the Accept as out of sync. From another address that ends
// nothing; from host a's address it ends the group.
void declined_by_stranger()
{
	net stranger{.name = "stranger", .address = {10, 9, 0, 77}};
	net peer{.name = "peer", .address = client().address};
	struct socket *bystander = connect_one();

	for (int i = 0; i < 3; i++) {
		disown_group(&stranger, &server(), &client());
		scheduler().sleep_us(kMoment_us);
		expect_answer(bystander);
	}
	expect_one_group(1);
	disown_group(&peer, &server(), &client());
	scheduler().sleep_us(kMoment_us);
	if (ended_groups(server()) != 1)
		fail("the peer disowns the group, and it goes on");
	sys_close(bystander);
}

// Where the fabric fails both ends go on with TCP, and no call fails; the next connection has a
// whole fabric.
void goes_by_tcp(const std::function<void(bool broken)> &fabric, const char *wrong)
{
	struct socket *sock = sys_socket(&client());

	fabric(true);
	const int ret = sys_connect(sock, &server(), kPort);
	fabric(false);
	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	if (sys_uses_smc(sock))
		fail("%s", wrong);
	expect_answer(sock);
	sys_close(sock);
	sock = connect_one();
	expect_answer(sock);
	sys_close(sock);
	scheduler().sleep_us(kRest_us);
}

// RDMA carries nothing, in neither direction.
void no_fabric()
{
	goes_by_tcp([](bool broken) { world().knobs.link_silent = broken ? 1 : 0; },
		    "SMC without a fabric");
}

// The server's RDMA messages arrive, the client's do not: the server does not learn that its
// CONFIRM_LINK has arrived.
void mute_client()
{
	goes_by_tcp([](bool broken) { world().knobs.mute = broken; },
		    "SMC with a client that is not heard");
}

// A CONFIRM_LINK, request or response, from another sender than the CLC messages have named.
void confirm_link_of_another(bool response, std::size_t at)
{
	constexpr char kResponse = static_cast<char>(0x80);
	net &victim = response ? server() : client();
	struct socket *sock = sys_socket(&client());
	u32 forged = 0;
	u8 byte;

	link_forger() = [response, at, &forged](std::string &message) {
		if ((message[0] & 0x0f) != 1 || ((message[3] & kResponse) != 0) != response)
			return;
		message[at] = static_cast<char>(message[at] ^ 1);
		forged++;
	};
	const int ret = sys_connect(sock, &server(), kPort);
	link_forger() = nullptr;
	if (ret != 0)
		fail("connect() fails, errno %d", -ret);
	if (forged != 1)
		fail("%u messages were forged", forged);
	if (!response) {
		if (sys_uses_smc(sock))
			fail("SMC with nobody knows whom");
		expect_answer(sock);
	} else {
		// The client's last message was sent before the server received it.
		(void)send_byte(sock, kHello);
		if (receive_byte(sock, &byte) > 0)
			fail("the server believes it");
	}
	sys_close(sock);
	if (victim.stats[SMC_STAT_LLC_UNEXPECTED] != 1)
		fail("%lld violations are counted", victim.stats[SMC_STAT_LLC_UNEXPECTED]);
	victim.stats[SMC_STAT_LLC_UNEXPECTED] = 0;
	sock = connect_one();
	if (!sys_uses_smc(sock))
		fail("no SMC afterwards");
	expect_answer(sock);
	sys_close(sock);
	scheduler().sleep_us(kRest_us);
}

const Case kCases[] = {
	{"listener-closes", [] { with_server(listener_closes); }},
	{"listener-closes-far", [] { with_server(listener_closes); }, 5000},
	{"tcp-dies-in-handshakes", [] { with_server(tcp_dies_in_handshakes); }},
	{"founder-closes", [] { with_server(founder_closes); }},
	{"confirm-of-other-link", [] { with_server([] { confirm_is_forged(40); }); }},
	{"confirm-of-other-rmb", [] { with_server([] { confirm_is_forged(44); }); }},
	{"peer-of-many-names", [] { with_server(peer_of_many_names); }},
	{"declined-by-stranger", [] { with_server(declined_by_stranger); }},
	{"no-fabric", [] { with_server(no_fabric); }},
	{"mute-client", [] { with_server(mute_client); }},
	{"confirm-link-of-other-gid",
	 [] { with_server([] { confirm_link_of_another(/*response=*/false, 25); }); }},
	{"confirm-link-of-other-qp",
	 [] { with_server([] { confirm_link_of_another(/*response=*/false, 28); }); }},
	{"confirm-link-answer-of-other-gid",
	 [] { with_server([] { confirm_link_of_another(/*response=*/true, 25); }); }},
	{"confirm-link-answer-of-other-qp",
	 [] { with_server([] { confirm_link_of_another(/*response=*/true, 28); }); }},
};

} // namespace

const std::span<const Case> handshake_cases{kCases};

} // namespace sim
