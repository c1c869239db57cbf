// SPDX-License-Identifier: GPL-2.0-only
//
// RDMA devices, queue pairs and memory regions (kernel/abi/verbs.h), simulated: reliable
// connections with delays, completions in batches, a send queue of limited size, receives that may
// run out, keys that are checked on both sides, errors and flushes.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/abi/verbs.h"
#include "world.hpp"

struct smc_ib_device {
	net *host = nullptr;
	u32 rail = 0;
	u32 number = 0;
	int references = 1;
	bool present = true; // for new users
	bool carries = true; // what its queue pairs send
	bool port_active = true;
	u8 mtu_code = 4; // as of the last query
	u32 links = 0;
};

struct smc_ib_buffer {
	smc_ib_buffer_kind kind;
	std::vector<u8> bytes;
	u32 regions = 0;
	u64 memory_group = 0;
};

struct smc_ib_region {
	enum class State : u8 { kNew, kPosted, kReady, kFailed };

	u32 qpn = 0; // of the link that it was made for
	smc_ib_buffer *buffer = nullptr;
	u64 address = 0;
	u32 local_key = 0;
	u32 remote_key = 0; // RMBs
	State state = State::kNew;
	// The device's own copy of the buffer, if it has one; bytes move between the two by a sync
	// only.
	std::vector<u8> bounce;

	[[nodiscard]] std::vector<u8> &as_device_sees()
	{
		return bounce.empty() ? buffer->bytes : bounce;
	}
};

struct smc_ib_receive_slot {
	std::vector<u8> head;
	std::vector<u8> tail;
};

namespace sim {

struct Write {
	u64 local_address;
	u32 local_key;
	u32 length_bytes;
	u64 remote_address;
	u32 remote_key;
	std::vector<u8> data; // set when the device has read it
};

// What a message says of its connection, as it was observed when it was posted.
struct Said {
	u64 connection = 0; // 0: it is for none
	unsigned side = 0;  // that sends it
	u64 produced = 0;   // written by then
	u64 consumed = 0;   // of what the other side has written
};

// What one call posted.
struct Post {
	u64 seq = 0;
	u32 wr_end = 0;
	bool signalled = false;
	u32 registered_key = 0; // the local key of a region to be registered; else 0
	std::vector<Write> writes;
	std::string message;
	std::optional<u32> immediate{}; // of the last write, in place of a message
	Said said{};
	bool left = false;    // iWARP: it has completed, and may never arrive
	bool arrived = false; // the sender may not know yet
};

struct Completion {
	enum class Kind : u8 { kSent, kReceived, kWritten, kRegistered };

	Kind kind;
	u64 seq = 0;
	u32 wr_end = 0;
	u32 local_key = 0;
	std::string message;
	u32 immediate = 0; // kWritten
	u32 written_bytes = 0;
	Said said{};
};

} // namespace sim

struct smc_ib_link {
	enum class State : u8 { kReset, kInit, kReadyToReceive, kReadyToSend };

	smc_ib_device *device = nullptr;
	void *context = nullptr;
	u32 qpn = 0;
	State state = State::kReset;
	smc_ib_path path{};
	u32 own_psn = 0;

	bool broken = false;
	bool closing = false;
	bool silent = false; // everything in both directions gets lost
	bool mute = false;   // everything it sends gets lost, including acknowledgements
	bool full = false;   // it never has a receive for its peer's messages
	bool failing = false;
	int status = 0;
	bool listens_first = false; // iWARP: until its peer's first message has come
	bool misses_one = false;    // iWARP: a message, until the next one comes
	bool calls = false;         // iWARP: its connection manager has to be left

	// Send queue.
	u32 wr_head = 0;
	u32 wr_tail = 0;
	u32 wr_signalled = 0;
	u64 seq = 0;
	u32 registrations = 0;
	std::deque<std::shared_ptr<sim::Post>> wire; // not yet arrived
	bool wire_armed = false;
	bool leave_armed = false; // iWARP
	unsigned tries = 0;
	u64 acknowledged_us = 0; // when the last acknowledgement comes back

	// Receive queue.
	u32 receives = 0; // posted
	u32 reposts = 0;  // wait to be posted together
	// Messages that the module has not given back.
	std::map<smc_ib_receive_slot *, std::unique_ptr<smc_ib_receive_slot>> kept;

	// Completion queue.
	std::deque<sim::Completion> completions;
	bool polling = false;
	bool in_softirq = false;
};

namespace sim {

// All objects, by number.
class Fabric {
public:
	[[nodiscard]] smc_ib_link *link(u32 qpn) const;
	[[nodiscard]] smc_ib_region *by_remote_key(u32 key) const;
	[[nodiscard]] smc_ib_region *by_local_key(u32 key) const;

	std::map<u32, smc_ib_link *> links;
	std::map<u32, smc_ib_region *> regions; // by local key
	std::map<u32, smc_ib_region *> remote;  // by remote key
	u32 devices = 0;
	u32 buffers = 0;
	u32 next_qpn = 0x11;
	u32 next_key = 0x300;
	u64 next_address = 0xff00'0000'0000u;
};

[[nodiscard]] Fabric &fabric();
// What CLC and LLC add to a queue pair's number.
[[nodiscard]] inline u32 qpn_bias()
{
	return world().knobs.iwarp ? 0x800000 : 0;
}
[[nodiscard]] std::string wire_mac(const net *host, u32 rail);             // 6 bytes
[[nodiscard]] std::string wire_gid(const net *host, u32 rail, u8 version); // 16 bytes
// The rail on which the host has that MAC.
[[nodiscard]] std::optional<u32> rail_of_mac(const net *host, const std::string &mac);
// The rail of the host's end of a link. The MAC of an iWARP server's is a number that was drawn.
struct NamedEnd {
	std::string mac;
	std::string gid;
	u8 version;
	bool of_server;
};
[[nodiscard]] std::optional<u32> rail_named(const net *host, const NamedEnd &end);
inline constexpr size_t kRegionMaxBytes = 1U << 20; // of what one registration covers
inline constexpr u8 kGatewayMac[6] = {2, 0, 0, 0, 0, 0xfe};

void break_link(smc_ib_link *link, int status);
// A message arrives on the link that its peer's software has not sent.
void forge(smc_ib_link *link, std::string message);
// The same for a compact message, with a write of so many bytes.
void forge_compact(smc_ib_link *link, u32 immediate, u32 written_bytes);
// Code in the peer's software that changes each message before it arrives; none at first.
[[nodiscard]] std::function<void(std::string &message)> &link_forger();
// The link has work on the wire.
void arm_registration(smc_ib_link *link);
// The host gets a device; a device is removed, with everything on it, or is pulled out first; its
// port loses its carrier and gets it back. The latter in a process.
enum class Removal : u8 { kOrderly, kPulled };
void add_device(net *host, u32 rail = 0);
void remove_device(net *host, u32 rail = 0, Removal removal = Removal::kOrderly);
void lose_port(net *host, u32 rail = 0);
void regain_port(net *host, u32 rail = 0);

} // namespace sim
