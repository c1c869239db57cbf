// SPDX-License-Identifier: GPL-2.0-only
//
// Connection managers: they join the queue pairs of iWARP devices, or do not.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include "kernel/abi/callbacks/verbs.h"
#include "scheduler.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr u16 kFirstPort = 40000;
constexpr u64 kLate_us = 4'000'000;
constexpr u64 kAnswer_us = 10'000'000;

struct Expected {
	std::string address;
	std::string key;
};

// By the server's queue pair, which may have gone.
std::map<u32, Expected> expected;

void report(u32 qpn, const std::string &hello)
{
	scheduler().after(1 + scheduler().random().below(300), [qpn, hello] {
		smc_ib_link *link = fabric().link(qpn);

		if (link == nullptr || link->closing || link->broken)
			return;
		// The end of the link waits for it.
		link->failing = true;
		scheduler().spawn("met-" + std::to_string(qpn), [link, hello] {
			smc_ib_link_met(link->context, hello.data());
			link->failing = false;
		});
	});
}

void join(smc_ib_link &from, const smc_ib_link &to)
{
	from.path.peer_qpn = to.qpn;
	from.state = smc_ib_link::State::kReadyToSend;
}

void meet(u32 client_qpn, const std::string &address, u16 port, const std::string &hello)
{
	smc_ib_link *client = fabric().link(client_qpn);

	if (client == nullptr || client->closing || client->broken)
		return;
	const auto found = std::ranges::find_if(expected, [&](const auto &entry) {
		const Expected &wanted = entry.second;
		const smc_ib_link *link = fabric().link(entry.first);

		return link != nullptr && !link->closing && !link->broken &&
		       wanted.address == address && kFirstPort + link->device->number == port &&
		       wanted.key == hello.substr(0, SMC_IB_HELLO_KEY_BYTES);
	});

	if (found == expected.end() || world().knobs.meeting == Knobs::Meeting::kIsRefused) {
		break_link(client, -ECONNREFUSED);
		return;
	}
	smc_ib_link *server = fabric().link(found->first);
	expected.erase(found);
	join(*client, *server);
	join(*server, *client);
	server->listens_first = true;
	server->misses_one = world().knobs.meeting == Knobs::Meeting::kMissesAMessage;
	report(client->qpn, hello);
	report(server->qpn, hello);
}

} // namespace
} // namespace sim

using namespace sim;

bool smc_ib_device_meets_in(const smc_ib_device *, const net *)
{
	return true;
}

int smc_ib_link_expect(smc_ib_link *link, net *, const u8 *address, const void *key, u16 *port)
{
	if (world().lacks(world().knobs.qp_change))
		return -EADDRINUSE;
	expected[link->qpn] = {
		.address = std::string(reinterpret_cast<const char *>(address), SMC_IB_GID_SIZE),
		.key = std::string(static_cast<const char *>(key), SMC_IB_HELLO_KEY_BYTES)};
	*port = static_cast<u16>(kFirstPort + link->device->number);
	return 0;
}

void smc_ib_link_leave(smc_ib_link *link)
{
	if (scheduler().current()->is_atomic())
		fail("a queue pair leaves its connection manager in atomic context");
	// As long as a driver may wait for an answer.
	if (link->calls && world().knobs.meeting != Knobs::Meeting::kSucceeds &&
	    world().knobs.meeting != Knobs::Meeting::kMissesAMessage)
		scheduler().sleep_us(scheduler().random().below(kAnswer_us));
	link->calls = false;
}

int smc_ib_link_connect(smc_ib_link *link, net *, const u8 *from, const u8 *to, u16 port,
			const void *hello)
{
	const std::string own = wire_gid(link->device->host, link->device->rail, 2);
	std::string shown(static_cast<const char *>(hello), SMC_IB_HELLO_BYTES);
	u64 delay_us = 1 + scheduler().random().below(500);

	link->calls = true;
	if (std::memcmp(from, own.data(), own.size()) != 0)
		fail("qp %u: not its own address", link->qpn);
	if (world().lacks(world().knobs.qp_change))
		return -ENOMEM;
	switch (world().knobs.meeting) {
	case Knobs::Meeting::kSucceeds:
	case Knobs::Meeting::kMissesAMessage:
	case Knobs::Meeting::kIsRefused: break;
	case Knobs::Meeting::kIsLost: return 0;
	case Knobs::Meeting::kIsLate: delay_us = kLate_us; break;
	case Knobs::Meeting::kShowsWrongNumber: shown[8] ^= 1; break;
	}
	scheduler().after(delay_us, [qpn = link->qpn, port, shown,
				     address = std::string(reinterpret_cast<const char *>(to),
							   SMC_IB_GID_SIZE)] {
		meet(qpn, address, port, shown);
	});
	return 0;
}
