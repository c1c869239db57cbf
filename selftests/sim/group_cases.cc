// SPDX-License-Identifier: GPL-2.0-only
//
// Cases about link groups that a stranger, or a peer, makes at the cost of others.
#include "cases.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "kernel/abi/stats.h"
#include "llc_observer.hpp"
#include "memory.hpp"
#include "plot.hpp"
#include "process.hpp"
#include "ring_memory.hpp"
#include "scheduler.hpp"
#include "shell/transport/rdma/places.hpp"
#include "stranger.hpp"
#include "trace.hpp"

namespace sim {
namespace {

constexpr u32 kMany = 140;

// Through this host b learns of hosts that pretend to be host a.
net stranger_at(u8 last_byte)
{
	return {.name = "stranger", .address = {10, 9, 0, last_byte}};
}

// ---- What connect() takes -----------------------------------------------------------------------

u64 connect_us(Sockets &socks)
{
	const u64 began_us = scheduler().now_us();

	socks.push_back(connect_one());
	return scheduler().now_us() - began_us;
}

// All groups end; the next connection makes one.
void forget_groups()
{
	for (const auto &host : world().hosts)
		remove_device(host.get());
	for (const auto &host : world().hosts)
		add_device(host.get());
}

// The longest time of several that make a group each.
u64 usual_first_contact_us()
{
	u64 longest_us = 0;

	for (int i = 0; i < 5; i++) {
		Sockets socks;

		longest_us = std::max(longest_us, connect_us(socks));
		close_all(socks);
		forget_groups();
	}
	return longest_us;
}

void expect_in_time(Sockets &socks, u64 usual_us)
{
	const u64 took_us = connect_us(socks);

	if (took_us > 2 * usual_us)
		fail("connect() takes %llu us, not %llu", took_us, usual_us);
}

// ---- Plots --------------------------------------------------------------------------------------

// A stranger founds a group in host a's name and is silent. Host a does not wait for that group.
void founded_by_stranger()
{
	net stranger = stranger_at(77);
	const u64 usual_us = usual_first_contact_us();
	const Pretence pretence = pretend(&stranger, &server(), &client());
	Sockets socks;

	if (pretence.answer != Answer::kFounds)
		fail("the stranger does not begin a group");
	for (int i = 0; i < 3; i++)
		expect_in_time(socks, usual_us);
	expect_answers(socks);
	reset(pretence);
	scheduler().sleep_us(kMoment_us);
	expect_in_time(socks, usual_us);
	expect_answers(socks);
	close_all(socks);
}

// A stranger joins host a's group in its name, again and again, and closes each time when an RMB
// has been announced. Host a goes on in its group; a stranger with an address of its own has no
// more success.
void doubted_for_stranger()
{
	constexpr int kTries = 100;
	constexpr int kFew = 10;
	Sockets socks = connect_many(2);
	u64 usual_us = 0;

	for (int i = 0; i < 5; i++)
		usual_us = std::max(usual_us, connect_us(socks));
	for (const u8 last_byte : {77, 78, 79}) {
		net stranger = stranger_at(last_byte);
		int joined = 0;

		for (int i = 0; i < kTries; i++) {
			const Pretence pretence = pretend(&stranger, &server(), &client());

			joined += pretence.answer == Answer::kJoins ? 1 : 0;
			reset(pretence);
			scheduler().sleep_us(kMoment_us / 10);
			if (i % 10 == 0)
				expect_in_time(socks, usual_us);
		}
		if (joined == 0 || joined > kFew)
			fail("the stranger joins %d times", joined);
		expect_in_time(socks, usual_us);
	}
	expect_answers(socks);
	if (client().stats[SMC_STAT_GROUP_NEW] != 1)
		fail("host a is in %lld groups", client().stats[SMC_STAT_GROUP_NEW]);
	close_all(socks);
}

s64 groups_of(const net &host)
{
	return host.stats[SMC_STAT_GROUP_NEW] - host.stats[SMC_STAT_GROUP_FREE];
}

// Those that were not declined.
u32 found_groups(net *stranger, u16 first_name, u32 count, std::vector<Pretence> &pretences)
{
	u32 founds = 0;

	for (u32 i = 0; i < count; i++) {
		const Pretence pretence =
			pretend(stranger, &server(), &client(), static_cast<u16>(first_name + i));

		if (pretence.answer == Answer::kFounds) {
			founds++;
			pretences.push_back(pretence);
		} else {
			reset(pretence);
		}
	}
	return founds;
}

// Strangers found groups in the names of unknown hosts, and are silent. There is a limit for one
// address, and one for all. Other connections go on as ever, and new groups are TCP connections
// until there is room.
void founders_fall_silent()
{
	constexpr u32 kAddress = 8;
	constexpr u32 kAll = 256;
	constexpr u32 kStrangers = kAll / kAddress + 2;
	constexpr u64 kSilence_us = 7'000'000;
	const u64 usual_us = usual_first_contact_us();
	std::vector<std::unique_ptr<net>> strangers;
	std::vector<Pretence> pretences;
	Sockets socks = connect_many(1);

	for (u8 i = 0; i < kStrangers; i++) {
		auto &stranger =
			strangers.emplace_back(std::make_unique<net>(stranger_at(100 + i)));
		const u32 founds = found_groups(stranger.get(), static_cast<u16>(100 * i + 1),
						kAddress + 4, pretences);

		if (founds > kAddress || (founds == 0 && pretences.size() < kAll))
			fail("stranger %u begins %u groups", i, founds);
		if (i == 0)
			expect_in_time(socks, usual_us);
	}
	if (pretences.size() != kAll || groups_of(server()) != kAll + 1)
		fail("strangers begin %zu groups, there are %lld", pretences.size(),
		     groups_of(server()));
	expect_in_time(socks, usual_us);
	client().vlan_id = server().vlan_id = 10;
	const u64 began_us = scheduler().now_us();
	socks.push_back(connect_one(/*smc=*/false));
	if (scheduler().now_us() - began_us > 2 * usual_us)
		fail("TCP takes %llu us", scheduler().now_us() - began_us);
	if (server().stats[SMC_STAT_FORMING_LIMITED] == 0)
		fail("nobody was counted");
	scheduler().sleep_us(kSilence_us);
	expect_in_time(socks, usual_us);
	expect_answers(socks);
	for (const Pretence &pretence : pretences)
		reset(pretence);
	close_all(socks);
}

// ---- A peer with a new name each time -----------------------------------------------------------

// From here on host a has another peer ID with each connection, never its own (whose first byte is
// random).
class Renamed {
public:
	explicit Renamed(char first_name) : name_(first_name)
	{
		clc_forger() = [this](std::string &message) {
			constexpr char kProposal = 1;
			constexpr char kConfirm = 3;

			if (message[4] == kProposal || message[4] == kConfirm)
				message[8] = static_cast<char>(message[8] ^ name_);
		};
	}
	~Renamed() { clc_forger() = nullptr; }
	Renamed(const Renamed &) = delete;
	Renamed &operator=(const Renamed &) = delete;

	[[nodiscard]] struct socket *connect(bool smc = true)
	{
		struct socket *sock = connect_one(smc);

		name_++;
		return sock;
	}

private:
	char name_;
};

// Each of its connections has a group, and all stay. One address may have only a limited number of
// nearly empty groups; others notice nothing. More connections in them allow more groups, and empty
// groups make way.
void peer_of_names_that_stay()
{
	constexpr s64 kFew = 32;
	constexpr s64 kPerGroup = 16; // connections
	constexpr s64 kMost = kFew + kFew / kPerGroup;
	net stranger = stranger_at(77);
	const u64 usual_us = usual_first_contact_us();
	Sockets bystanders = connect_many(1);
	Sockets socks;

	{
		Renamed peer(1);

		while (groups_of(server()) < kMost)
			socks.push_back(peer.connect());
		for (int i = 0; i < 3; i++)
			socks.push_back(peer.connect(/*smc=*/false));
	}
	if (groups_of(server()) != kMost || groups_of(client()) != kMost)
		fail("there are %lld groups, and %lld", groups_of(server()), groups_of(client()));
	if (server().stats[SMC_STAT_GROUP_LIMITED] != 3)
		fail("%lld were counted", server().stats[SMC_STAT_GROUP_LIMITED]);
	const Pretence other = pretend(&stranger, &server(), &client(), 1);
	if (other.answer != Answer::kFounds)
		fail("who comes from elsewhere goes by TCP");
	reset(other);
	expect_in_time(bystanders, usual_us);
	while (bystanders.size() < kPerGroup)
		bystanders.push_back(connect_one());
	{
		Renamed again(100);

		socks.push_back(again.connect());
		socks.push_back(again.connect(/*smc=*/false));
	}
	close_all(socks);
	scheduler().sleep_us(kMoment_us);
	{
		Renamed again(110);

		// The groups are idle, and none has ended.
		sys_close(again.connect(/*smc=*/false));
		scheduler().sleep_us(kRest_us);
		socks = {again.connect()};
	}
	expect_answers(bystanders);
	close_all(socks);
	close_all(bystanders);
}

// A namespace's servers have as many groups as memory allows. Further ones use TCP, existing ones
// go on, and when all are empty there is room.
void groups_fill_memory()
{
	constexpr u64 kAll = 12;
	constexpr s64 kMost = kAll - kAll / 4;
	Sockets bystanders = connect_many(1);
	Sockets socks;

	rings().set_marks(kAll * smc::transport::rdma::Places::kGroup_bytes,
			  RingMemory::kUnlimited);
	{
		Renamed peer(1);

		while (groups_of(server()) < kMost)
			socks.push_back(peer.connect());
		socks.push_back(peer.connect(/*smc=*/false));
	}
	if (groups_of(server()) != kMost || server().stats[SMC_STAT_GROUP_LIMITED] != 1)
		fail("there are %lld groups", groups_of(server()));
	net stranger = stranger_at(77);
	const Pretence other = pretend(&stranger, &server(), &client(), 1);
	if (other.answer != Answer::kDeclined)
		fail("another one begins a group");
	reset(other);
	bystanders.push_back(connect_one());
	expect_answers(bystanders);
	close_all(socks);
	scheduler().sleep_us(kMoment_us);
	Renamed again(100);
	// The groups are idle. Some end now, before or after this one needs their place.
	struct socket *const early = sys_socket(&client());
	if (sys_connect(early, &server(), kPort) != 0)
		fail("connect() fails");
	sys_close(early);
	scheduler().sleep_us(kRest_us);
	sys_close(again.connect());
	expect_answers(bystanders);
	close_all(bystanders);
	rings().set_marks(RingMemory::kUnlimited, RingMemory::kUnlimited);
}

// ---- A peer that does not receive ---------------------------------------------------------------

// A peer has no receive for our messages, and says so again and again. RMBs of further connections
// to it are registered behind those messages, that is never. Such connections use TCP when their
// handshakes time out; others, on another VLAN, notice nothing, and the peer's connections go on
// when it receives again.
void peer_does_not_receive()
{
	constexpr int kInVain = 40;
	constexpr u64 kHandshake_us = 7'000'000;
	Sockets slow = connect_many(1);
	smc_ib_link *link = link_of(&client());
	Sockets socks;
	u64 usual_us = 0;
	int under_way = 0;

	client().vlan_id = server().vlan_id = 10;
	for (int i = 0; i < 5; i++)
		usual_us = std::max(usual_us, connect_us(socks));
	link->full = true;
	(void)send_byte(slow.front(), kHello);
	scheduler().sleep_us(kMoment_us);
	client().vlan_id = server().vlan_id = 0;
	for (int i = 0; i < kInVain; i++)
		connect_in_vain(under_way);
	scheduler().sleep_us(kMoment_us);
	client().vlan_id = server().vlan_id = 10;
	const u64 began_us = scheduler().now_us();
	while (under_way != 0) {
		if (scheduler().now_us() - began_us > kHandshake_us)
			fail("%d handshakes do not end", under_way);
		expect_in_time(socks, usual_us);
		scheduler().sleep_us(kMoment_us);
	}
	link->full = false;
	scheduler().sleep_us(kMoment_us);
	u8 byte = 0;
	if (receive_byte(slow.front(), &byte) != 1 || byte != kHello)
		fail("what the peer was slow to receive is lost");
	client().vlan_id = server().vlan_id = 0;
	// RMBs that were registered in vain serve others.
	for (int i = 0; i < kInVain; i++)
		slow.push_back(connect_one());
	expect_answers(slow);
	expect_answers(socks);
	for (const auto &host : world().hosts) {
		if (host->stats[SMC_STAT_GROUP_NEW] != 2 ||
		    host->stats[SMC_STAT_GROUP_TERMINATED] != 0)
			fail("host %s: %lld groups were made, %lld ended", host->name.c_str(),
			     host->stats[SMC_STAT_GROUP_NEW],
			     host->stats[SMC_STAT_GROUP_TERMINATED]);
	}
	close_all(slow);
	close_all(socks);
}

// ---- Many groups --------------------------------------------------------------------------------

constexpr u32 kSmallest = 16; // connections that a group may be limited to

// The cost of the next @count connections.
Effort effort_of(Sockets &socks, u32 count)
{
	const Effort before = effort();

	for (u32 i = 0; i < count; i++)
		socks.push_back(connect_one());
	return {.allocations = effort().allocations - before.allocations,
		.groups_looked_at = effort().groups_looked_at - before.groups_looked_at};
}

// A host with many connections has many full groups. One more connection costs as much as the first
// one, whether it makes a group or joins one.
void many_full_groups()
{
	constexpr u32 kGroups = 40;
	constexpr u32 kSome = kSmallest; // one that makes a group, those that fill it

	for (const auto &host : world().hosts)
		host->wmem_bytes = host->rmem_bytes = 16384;
	Sockets socks = connect_many(2 * kSmallest);
	const Effort at_first = effort_of(socks, kSome);
	while (socks.size() < kGroups * kSmallest)
		socks.push_back(connect_one());
	const Effort with_many = effort_of(socks, kSome);
	if (server().stats[SMC_STAT_GROUP_NEW] != kGroups + 1)
		fail("%lld groups", server().stats[SMC_STAT_GROUP_NEW]);
	if (with_many.allocations > at_first.allocations + at_first.allocations / 4)
		fail("%llu allocations, %llu at first", with_many.allocations,
		     at_first.allocations);
	if (with_many.groups_looked_at > 2 * at_first.groups_looked_at)
		fail("%llu looks at groups, %llu at first", with_many.groups_looked_at,
		     at_first.groups_looked_at);
	// A group that has room again is found again.
	for (int i = 0; i < 3; i++) {
		sys_close(socks.front());
		socks.erase(socks.begin());
	}
	scheduler().sleep_us(kMoment_us);
	for (int i = 0; i < 3; i++)
		socks.push_back(connect_one());
	if (server().stats[SMC_STAT_GROUP_NEW] != kGroups + 1)
		fail("a group with room is not found");
	close_all(socks);
}

// ---- Ports -----------------------------------------------------------------------------------

s64 ended_groups()
{
	return client().stats[SMC_STAT_GROUP_TERMINATED] +
	       server().stats[SMC_STAT_GROUP_TERMINATED];
}

// A port loses its carrier for a moment. Messages of that time arrive later; new connections use
// TCP at once, and later ones join the same group.
void port_flaps()
{
	Sockets socks = connect_many(3);
	u64 usual_us = 0;

	for (int i = 0; i < 5; i++)
		usual_us = std::max(usual_us, connect_us(socks));
	for (net *host : {&server(), &client()}) {
		lose_port(host);
		(void)send_byte(socks.front(), kHello);
		const u64 began_us = scheduler().now_us();
		socks.push_back(connect_one(/*smc=*/false));
		if (scheduler().now_us() - began_us > 2 * usual_us)
			fail("TCP takes %llu us", scheduler().now_us() - began_us);
		scheduler().sleep_us(kMoment_us);
		regain_port(host);
		u8 byte = 0;
		if (receive_byte(socks.front(), &byte) != 1 || byte != kHello)
			fail("what was said meanwhile is lost");
		expect_in_time(socks, usual_us);
		expect_answers(socks);
	}
	expect_one_group(20);
	close_all(socks);
}

// The port is lost for good: quiet connections get an error soon.
void port_stays_down()
{
	constexpr u64 kGrace_us = 5'000'000;
	constexpr u64 kTold_us = 8'000'000;
	struct socket *sock = connect_one();
	const u64 began_us = scheduler().now_us();
	u8 byte;

	// Down, up and down again: the last time counts.
	lose_port(&client());
	scheduler().sleep_us(kMoment_us);
	regain_port(&client());
	scheduler().sleep_us(kGrace_us);
	if (ended_groups() != 0)
		fail("a group ends on a port that is back");
	lose_port(&client());
	const int ret = receive_byte(sock, &byte);
	if (ret != -ECONNRESET)
		fail("recv() %d", ret);
	const u64 took_us = scheduler().now_us() - began_us - kGrace_us - kMoment_us;
	if (took_us < kGrace_us / 2 || took_us > kTold_us)
		fail("the end is told after %llu us", took_us);
	regain_port(&client());
	sys_close(sock);
	// The other host would take longer to notice.
	forget_groups();
}

// The server accepts the first connection and resets it at once, before its client knows that its
// answer to CONFIRM_LINK has arrived. The link is good: those that wait for it use SMC.
void founder_is_broken_off()
{
	constexpr u32 kOthers = 5;
	struct socket *listener = sys_socket(&server());
	struct socket *child = nullptr;
	Sockets socks;

	if (sys_listen(listener, kPort, 2 * kOthers) != 0)
		fail("listen() fails");
	for (u32 i = 0; i <= kOthers; i++) {
		socks.push_back(sys_socket(&client()));
		socks.back()->nonblock = true;
		(void)sys_connect(socks.back(), &server(), kPort);
	}
	if (sys_accept(listener, &child) != 0)
		fail("accept() fails");
	child->sk->connection->break_off();
	sys_close(child);
	u32 connected = 0;
	u32 by_tcp = 0;
	for (struct socket *sock : socks) {
		(void)sys_poll_wait(sock, SMC_POLL_OUT);
		if (sys_connect(sock, &server(), kPort) != 0)
			continue;
		connected++;
		by_tcp += sys_uses_smc(sock) ? 0 : 1;
	}
	// The founder, whichever it is, may have ended in either way.
	if (by_tcp > 1)
		fail("one that has waited goes by TCP");
	if (connected < kOthers)
		fail("%u of %u have a connection", connected, kOthers);
	close_all(socks);
	sys_close(listener);
}

// ---- What the peer knows of RMBs -------------------------------------------------------------

// How many LLC messages a connection takes that begins when nothing else is under way.
u64 llcs_of_connection()
{
	const u64 before = observed_llcs();
	struct socket *sock = connect_one();

	expect_answer(sock);
	close_all({sock});
	scheduler().sleep_us(kMoment_us);
	return observed_llcs() - before;
}

// An RMB is announced once: at each end a request and its response. Those of the first contact are
// announced by CLC, and with their second use.
void known_rmbs()
{
	if (const u64 llcs = llcs_of_connection(); llcs != 2)
		fail("first contact takes %llu LLC messages", llcs);
	if (const u64 llcs = llcs_of_connection(); llcs != 4)
		fail("the second use of the RMBs takes %llu LLC messages", llcs);
	if (const u64 llcs = llcs_of_connection(); llcs != 0)
		fail("RMBs that are known take %llu LLC messages", llcs);
	// More at a time than the peer is sure to keep: then none is known any more.
	close_all(connect_many(kMany));
	scheduler().sleep_us(kRest_us);
	if (const u64 llcs = llcs_of_connection(); llcs != 4)
		fail("after a crowd a connection takes %llu LLC messages", llcs);
	if (const u64 llcs = llcs_of_connection(); llcs != 0)
		fail("announced once more, RMBs take %llu LLC messages", llcs);
}

const Case kCases[] = {
	{"known-rmbs", [] { with_server(known_rmbs); }},
	{"founder-is-broken-off", founder_is_broken_off, 5000},
	{"port-flaps", [] { with_server(port_flaps); }},
	{"port-stays-down", [] { with_server(port_stays_down); }},
	{"peer-does-not-receive", [] { with_server(peer_does_not_receive); }},
	{.name = "many-full-groups",
	 .play = [] { with_server(many_full_groups); },
	 .max_conns = kSmallest},
	{"founders-fall-silent", [] { with_server(founders_fall_silent); }},
	{"doubted-for-stranger", [] { with_server(doubted_for_stranger); }},
	{"peer-of-names-that-stay", [] { with_server(peer_of_names_that_stay); }},
	{"groups-fill-memory", [] { with_server(groups_fill_memory); }},
	{"founded-by-stranger", [] { with_server(founded_by_stranger); }},
};

} // namespace

const std::span<const Case> group_cases{kCases};

} // namespace sim
