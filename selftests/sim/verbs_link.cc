// SPDX-License-Identifier: GPL-2.0-only
//
// Queue pairs.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "kernel/abi/callbacks/verbs.h"
#include "rdma_observer.hpp"
#include "scheduler.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {
namespace {

constexpr u32 kReserve = 16;      // places that only registrations and link control may use
constexpr u32 kLastReserve = 1;   // of them, the one for the group's last message
constexpr u32 kSendQueueMin = 64; // that the kernel makes
constexpr u32 kRepostBatch = 8;
constexpr u64 kRetry_us = 134'000;
constexpr unsigned kRetries = 7;
constexpr u64 kReceiverNotReady_us = 160;
constexpr int kRetriesExceeded = 12;
constexpr int kRemoteAccess = 10;
constexpr int kGeneral = 21;

void arm_wire(u32 qpn, u64 delay_us);
void arm_leave(u32 qpn);
void arm_poll(smc_ib_link *link);

u32 used(const smc_ib_link *link)
{
	return link->wr_head - link->wr_tail;
}

bool room(const smc_ib_link *link, u32 count, u32 reserve)
{
	return used(link) + count + reserve <= world().knobs.send_queue;
}

// A full queue always holds a signalled post, so it is known when there is room again. This queue
// is shorter than the kernel's, so each post takes care of that.
u32 signal_every()
{
	const u32 send_queue = world().knobs.send_queue;

	return send_queue < kSendQueueMin ? 1 : send_queue / 4;
}

u64 travel_us()
{
	const Knobs &knobs = world().knobs;
	Random &random = scheduler().random();

	if (world().fault(knobs.stall)) {
		const u64 stalled_us = random.between(1000, random.one_in(10) ? 3'000'000 : 50'000);
		note("a message takes %llu us", stalled_us);
		return stalled_us;
	}
	return 1 + random.below(knobs.latency_us);
}

// ---- Completions --------------------------------------------------------------------------------

void complete(smc_ib_link *link, const Completion &completion)
{
	link->completions.push_back(completion);
	arm_poll(link);
}

void retire(smc_ib_link *link, const Completion &completion)
{
	link->wr_tail = completion.wr_end;
	if (!link->broken)
		smc_ib_link_sent(link->context, completion.seq);
}

bool is_deaf(const net *host, const std::vector<u8> &message)
{
	const u8 type = world().knobs.deaf_to;

	return type != 0 && host->index == 1 && (message[0] & 15) == type && message[0] != 0xfe &&
	       (message[3] & 0x80) == 0;
}

// Knobs: blocked_at_end.
void block(std::vector<u8> &message)
{
	constexpr u8 kCdc = 0xfe;
	constexpr size_t kProducerFlags = 24, kStateFlags = 25;
	constexpr u8 kBlocked = 0x80, kDone = 0x80, kClosed = 0x40;

	if (message[0] == kCdc && (message[kStateFlags] & (kDone | kClosed)) != 0)
		message[kProducerFlags] |= kBlocked;
}

void repost(smc_ib_link *link)
{
	// In proportion to the kernel's.
	const u32 batch = world().knobs.receives * kRepostBatch / SMC_IB_RECEIVES;

	if (++link->reposts >= std::clamp(batch, 1U, kRepostBatch))
		link->receives += std::exchange(link->reposts, 0);
}

void take_in(smc_ib_link *link, const std::string &message, const Said &said)
{
	const size_t head = std::min<size_t>(message.size(), SMC_IB_MESSAGE_HEAD_BYTES);
	// In memory of its own, so that a read behind the end is noticed.
	auto slot = std::make_unique<smc_ib_receive_slot>();
	slot->head.assign(message.begin(), message.begin() + static_cast<long>(head));
	slot->tail.assign(message.begin() + static_cast<long>(head), message.end());

	if (world().knobs.blocked_at_end)
		block(slot->head);
	if (!is_deaf(link->device->host, slot->head)) {
		smc_ib_receive_slot *receive = slot.get();

		observe_received(*link, message, said);
		// It may be given back before the call returns.
		link->kept[receive] = std::move(slot);
		if (!smc_ib_link_received(link->context, receive, receive->head.data(),
					  receive->tail.data(), static_cast<u32>(message.size())))
			return;
		if (link->kept.erase(receive) != 1)
			fail("qp %u: a receive is given back that is dealt with", link->qpn);
	}
	repost(link);
}

void take_in_write(smc_ib_link *link, const Completion &write)
{
	observe_written(*link, write.immediate, write.said);
	smc_ib_link_written(link->context, write.immediate, write.written_bytes);
	repost(link);
}

void registered(smc_ib_link *link, const Completion &completion)
{
	if (smc_ib_region *region = fabric().by_local_key(completion.local_key))
		region->state = smc_ib_region::State::kReady;
	link->registrations--;
	retire(link, completion);
}

// In softirq, for one link at a time.
void poll_link(smc_ib_link *link)
{
	link->in_softirq = true;
	for (u64 n = 0; n < world().knobs.completion_batch && !link->completions.empty(); n++) {
		const Completion completion = std::move(link->completions.front());

		link->completions.pop_front();
		if (link->closing)
			break;
		switch (completion.kind) {
		case Completion::Kind::kSent: retire(link, completion); break;
		case Completion::Kind::kReceived:
			take_in(link, completion.message, completion.said);
			break;
		case Completion::Kind::kWritten: take_in_write(link, completion); break;
		case Completion::Kind::kRegistered: registered(link, completion); break;
		}
		scheduler().maybe_yield();
	}
	link->in_softirq = false;
	link->polling = false;
	if (!link->completions.empty() && !link->closing)
		arm_poll(link);
}

void arm_poll(smc_ib_link *link)
{
	if (std::exchange(link->polling, true))
		return;
	const u32 qpn = link->qpn;
	scheduler().after(scheduler().random().below(world().knobs.softirq_us + 1), [qpn] {
		smc_ib_link *still = fabric().link(qpn);

		if (still == nullptr)
			return;
		if (still->closing) {
			still->polling = false;
			return;
		}
		still->in_softirq = true;
		scheduler().spawn(
			"softirq-" + std::to_string(qpn), [still] { poll_link(still); },
			Context::kSoftirq);
	});
}

// ---- The wire -----------------------------------------------------------------------------------

// The device reads what is to be written.
void read_local(smc_ib_link *link, Post &post)
{
	for (Write &write : post.writes) {
		smc_ib_region *region = fabric().by_local_key(write.local_key);

		if (region == nullptr || write.local_address < region->address ||
		    write.local_address + write.length_bytes >
			    region->address + region->buffer->bytes.size())
			fail("qp %u: a write from memory that is not registered", link->qpn);
		if (region->state == smc_ib_region::State::kNew)
			fail("qp %u: a write from memory whose registration was not posted",
			     link->qpn);
		if (region->remote_key != 0)
			fail("qp %u: a write from memory that its peer may write to", link->qpn);
		const u64 offset = write.local_address - region->address;
		const std::vector<u8> &bytes = region->as_device_sees();
		write.data.assign(bytes.begin() + static_cast<long>(offset),
				  bytes.begin() + static_cast<long>(offset + write.length_bytes));
	}
}

bool is_connected(const smc_ib_link *link, const smc_ib_link *peer)
{
	return peer != nullptr && !peer->broken && !peer->closing && !peer->silent &&
	       peer->state >= smc_ib_link::State::kReadyToReceive &&
	       peer->path.peer_qpn == link->qpn && peer->path.peer_psn == link->own_psn &&
	       peer->path.mtu_code == link->path.mtu_code && link->device->port_active &&
	       peer->device->port_active && peer->device->carries && link->device->carries;
}

bool write_remote(const smc_ib_link *peer, const Post &post)
{
	for (const Write &write : post.writes) {
		smc_ib_region *region = fabric().by_remote_key(write.remote_key);

		if (region == nullptr || region->qpn != peer->qpn ||
		    region->state != smc_ib_region::State::kReady ||
		    region->buffer->kind != SMC_IB_BUFFER_RMB ||
		    write.remote_address < region->address ||
		    write.remote_address + write.length_bytes >
			    region->address + region->buffer->bytes.size())
			return false;
		std::copy(write.data.begin(), write.data.end(),
			  region->as_device_sees().begin() +
				  static_cast<long>(write.remote_address - region->address));
	}
	return true;
}

// Acknowledgements take their time, too, and keep their order.
void acknowledge(smc_ib_link *link, const Post &post)
{
	const u32 qpn = link->qpn;
	const Completion completion{.kind = post.registered_key != 0 ? Completion::Kind::kRegistered
								     : Completion::Kind::kSent,
				    .seq = post.seq,
				    .wr_end = post.wr_end,
				    .local_key = post.registered_key,
				    .message = {}};

	if (!post.signalled)
		return;
	link->acknowledged_us = std::max(link->acknowledged_us, scheduler().now_us() + travel_us());
	scheduler().at(link->acknowledged_us, [qpn, completion] {
		if (smc_ib_link *still = fabric().link(qpn))
			complete(still, completion);
	});
}

// iWARP: the peer's TCP knows nothing of the connection any more, and says so.
bool is_reset(const smc_ib_link *link, const smc_ib_link *peer)
{
	return world().knobs.iwarp && !link->silent && link->device->port_active &&
	       (peer == nullptr || peer->closing || (peer->broken && peer->device->port_active));
}

// The peer has not acknowledged the oldest post.
void send_again(smc_ib_link *link)
{
	if (is_reset(link, fabric().link(link->path.peer_qpn))) {
		break_link(link, -ECONNRESET);
		return;
	}
	// TCP has more patience than anybody here.
	if (++link->tries > kRetries && !world().knobs.iwarp) {
		note("qp %u: retries exceeded", link->qpn);
		break_link(link, kRetriesExceeded);
	} else {
		arm_wire(link->qpn, kRetry_us);
	}
}

void deliver(smc_ib_link *peer, const Post &post)
{
	if (post.immediate) {
		complete(peer, {.kind = Completion::Kind::kWritten,
				.message = {},
				.immediate = *post.immediate,
				.written_bytes = post.writes.back().length_bytes,
				.said = post.said});
		return;
	}
	std::string message = post.message;
	if (link_forger())
		link_forger()(message);
	const Said said = message == post.message ? post.said : Said{};
	complete(
		peer,
		{.kind = Completion::Kind::kReceived, .message = std::move(message), .said = said});
}

// False: the link is broken by that.
bool registers(smc_ib_link *link, const Post &post)
{
	if (!world().lacks(world().knobs.registration))
		return true;
	note("qp %u: a registration fails", link->qpn);
	if (smc_ib_region *region = fabric().by_local_key(post.registered_key))
		region->state = smc_ib_region::State::kFailed;
	break_link(link, kGeneral);
	return false;
}

// iWARP: the oldest post that has not done so leaves for TCP, and completes by that.
void leave(u32 qpn)
{
	smc_ib_link *link = fabric().link(qpn);

	if (link == nullptr)
		return;
	link->leave_armed = false;
	if (link->broken || link->closing)
		return;
	const auto next =
		std::ranges::find_if(link->wire, [](const auto &post) { return !post->left; });

	if (next == link->wire.end())
		return;
	Post &post = **next;
	const bool last = std::next(next) == link->wire.end();

	post.left = true;
	if (post.registered_key == 0)
		read_local(link, post);
	else if (!registers(link, post))
		return;
	acknowledge(link, post);
	if (!last)
		arm_leave(qpn);
}

void arm_leave(u32 qpn)
{
	if (std::exchange(fabric().link(qpn)->leave_armed, true))
		return;
	scheduler().after(1 + scheduler().random().below(5), [qpn] { leave(qpn); });
}

// The oldest post arrives, or tries to.
void arrive(u32 qpn)
{
	smc_ib_link *link = fabric().link(qpn);

	if (link == nullptr)
		return;
	link->wire_armed = false;
	if (link->broken || link->closing || link->wire.empty())
		return;
	const std::shared_ptr<Post> post = link->wire.front();
	if (world().knobs.iwarp && !post->left) {
		arm_wire(qpn, travel_us());
		return;
	}
	if (post->registered_key != 0) {
		if (!post->left && !registers(link, *post))
			return;
	} else {
		smc_ib_link *peer = fabric().link(link->path.peer_qpn);

		if (link->silent || link->mute || !is_connected(link, peer)) {
			send_again(link);
			return;
		}
		if (peer->misses_one && link->wire.size() == 1)
			return;
		peer->misses_one = false;
		if (!post->arrived) {
			const bool iwarp = world().knobs.iwarp;

			if (iwarp && peer->receives == 0)
				fail("qp %u: a message finds no receive", qpn);
			peer->listens_first = false;
			if (!iwarp && (peer->receives == 0 || peer->full ||
				       world().fault(world().knobs.rnr))) {
				arm_wire(qpn, kReceiverNotReady_us);
				return;
			}
			if (!post->left)
				read_local(link, *post);
			if (!write_remote(peer, *post)) {
				// Keys end early only where a host has given up waiting.
				if (!world().knobs.any_harm())
					fail("qp %u writes where it must not", qpn);
				note("qp %u: remote access error", qpn);
				break_link(link, kRemoteAccess);
				break_link(peer, kGeneral);
				return;
			}
			post->arrived = true;
			observe_arrived(*post);
			peer->receives--;
			deliver(peer, *post);
		}
		if (peer->mute) {
			send_again(link);
			return;
		}
	}
	link->tries = 0;
	if (!post->left)
		acknowledge(link, *post);
	link->wire.pop_front();
	if (!link->wire.empty())
		arm_wire(qpn, travel_us() / 4);
}

void arm_wire(u32 qpn, u64 delay_us)
{
	smc_ib_link *link = fabric().link(qpn);

	if (std::exchange(link->wire_armed, true))
		return;
	scheduler().after(delay_us, [qpn] { arrive(qpn); });
}

} // namespace

smc_ib_link *Fabric::link(u32 qpn) const
{
	const auto found = links.find(qpn);
	return found == links.end() ? nullptr : found->second;
}

std::function<void(std::string &)> &link_forger()
{
	static std::function<void(std::string &)> forger;
	return forger;
}

void forge(smc_ib_link *link, std::string message)
{
	link->receives--;
	complete(link, {.kind = Completion::Kind::kReceived, .message = std::move(message)});
}

void forge_compact(smc_ib_link *link, u32 immediate, u32 written_bytes)
{
	link->receives--;
	complete(link, {.kind = Completion::Kind::kWritten,
			.message = {},
			.immediate = immediate,
			.written_bytes = written_bytes});
}

void arm_registration(smc_ib_link *link)
{
	if (world().knobs.iwarp)
		arm_leave(link->qpn);
	arm_wire(link->qpn, 1 + scheduler().random().below(10));
}

void break_link(smc_ib_link *link, int status)
{
	if (std::exchange(link->broken, true))
		return;
	const u32 qpn = link->qpn;
	note("qp %u breaks, status %d", qpn, status);
	link->status = status;
	observe_link_broken(*link);
	scheduler().after(scheduler().random().below(300), [qpn] {
		smc_ib_link *still = fabric().link(qpn);

		if (still == nullptr || still->closing)
			return;
		still->failing = true;
		scheduler().spawn("failed-" + std::to_string(qpn), [still] {
			smc_ib_link_failed(still->context, still->status);
			still->failing = false;
		});
	});
}

} // namespace sim

using namespace sim;

int smc_ib_link_create(smc_ib_device *dev, u8, void *context, smc_ib_link **out)
{
	if (scheduler().current()->is_atomic())
		fail("a queue pair is made in atomic context");
	scheduler().sleep_us(scheduler().random().below(100));
	if (!dev->present)
		return -ENODEV;
	if (world().lacks(world().knobs.no_memory))
		return -ENOMEM;
	auto *link = new smc_ib_link;
	link->device = dev;
	link->context = context;
	link->qpn = fabric().next_qpn++;
	link->mute = world().knobs.mute && dev->host == world().hosts.front().get();
	smc_ib_device_get(dev);
	dev->links++;
	fabric().links[link->qpn] = link;
	observe_link_created(*link);
	*out = link;
	return 0;
}

void smc_ib_link_drain(smc_ib_link *link)
{
	const auto is_to_come = [](const Completion &completion) {
		return completion.kind == Completion::Kind::kReceived ||
		       completion.kind == Completion::Kind::kWritten;
	};

	if (scheduler().current()->is_atomic())
		fail("a queue pair is drained in atomic context");
	link->broken = true;
	note("qp %u stopped", link->qpn);
	while (link->in_softirq ||
	       std::any_of(link->completions.begin(), link->completions.end(), is_to_come))
		scheduler().sleep_us(20);
}

void smc_ib_link_close(smc_ib_link *link)
{
	if (scheduler().current()->is_atomic())
		fail("a queue pair is closed in atomic context");
	link->broken = true;
	link->closing = true;
	while (link->in_softirq)
		scheduler().sleep_us(20);
}

void smc_ib_link_destroy(smc_ib_link *link)
{
	if (link->calls)
		fail("qp %u is destroyed, which has to leave its connection manager", link->qpn);
	smc_ib_link_close(link);
	while (link->failing)
		scheduler().sleep_us(20);
	note("qp %u destroyed", link->qpn);
	observe_link_broken(*link);
	link->device->links--;
	smc_ib_device_put(link->device);
	fabric().links.erase(link->qpn);
	delete link;
}

void smc_ib_link_give_back(smc_ib_link *link, smc_ib_receive_slot *receive)
{
	if (link->kept.erase(receive) != 1)
		fail("qp %u: a receive is given back that is not kept", link->qpn);
	link->receives++;
}

u32 smc_ib_link_qpn(const smc_ib_link *link)
{
	return link->qpn;
}

u32 smc_ib_link_napi_id(const smc_ib_link *link)
{
	return link->qpn;
}

u32 smc_ib_link_send_queue(const smc_ib_link *)
{
	return world().knobs.send_queue;
}

namespace {

int change_state(smc_ib_link *link, smc_ib_link::State from, smc_ib_link::State to)
{
	if (scheduler().current()->is_atomic())
		fail("a queue pair changes its state in atomic context");
	scheduler().sleep_us(scheduler().random().below(50));
	if (link->state != from)
		fail("qp %u: states out of order", link->qpn);
	if (!link->device->present || world().lacks(world().knobs.qp_change)) {
		note("qp %u: a change of state fails", link->qpn);
		return -EIO;
	}
	link->state = to;
	return 0;
}

} // namespace

int smc_ib_link_to_init(smc_ib_link *link)
{
	link->receives = world().knobs.receives;
	return change_state(link, smc_ib_link::State::kReset, smc_ib_link::State::kInit);
}

int smc_ib_link_to_rtr(smc_ib_link *link, const smc_ib_path *path)
{
	const smc_ib_link *peer = fabric().link(path->peer_qpn);

	if (!link->device->host->keeps_gid)
		return -EADDRNOTAVAIL;
	link->path = *path;
	// The hosts' ports differ; one of them alone may use everything it has. Where the other end
	// has gone already, that cannot be checked.
	const bool alone = peer == nullptr || peer->device->host == link->device->host;
	if (path->mtu_code != 3 && !(alone && path->mtu_code == 5))
		fail("qp %u: mtu code %u, not the smaller one", link->qpn, path->mtu_code);
	const u8 version = path->gid.type == SMC_IB_GID_ROCE_V1 ? 1 : 2;
	const std::string own_gid = wire_gid(link->device->host, link->device->rail, version);
	if (!std::equal(own_gid.begin(), own_gid.end(),
			reinterpret_cast<const char *>(path->gid.raw)))
		fail("qp %u: not its own GID", link->qpn);
	if (peer != nullptr) {
		const smc_ib_device &other = *peer->device;
		const std::string gid = wire_gid(other.host, other.rail, version);
		const std::string mac = wire_mac(other.host, other.rail);
		const bool gateway = world().knobs.gateway && version == 2;

		if (!std::equal(gid.begin(), gid.end(),
				reinterpret_cast<const char *>(path->peer_gid)))
			fail("qp %u: not the GID of its peer", link->qpn);
		if (gateway ? std::memcmp(path->peer_mac, kGatewayMac, 6) != 0
			    : std::memcmp(path->peer_mac, mac.data(), 6) != 0)
			fail("qp %u: not the MAC of its next hop", link->qpn);
		if (path->hop_limit != (gateway ? 64 : 1))
			fail("qp %u: hop limit %u", link->qpn, path->hop_limit);
	}
	return change_state(link, smc_ib_link::State::kInit, smc_ib_link::State::kReadyToReceive);
}

int smc_ib_link_to_rts(smc_ib_link *link, u32 own_psn)
{
	link->own_psn = own_psn;
	return change_state(link, smc_ib_link::State::kReadyToReceive,
			    smc_ib_link::State::kReadyToSend);
}

bool smc_ib_link_writable(const smc_ib_link *link)
{
	return room(link, SMC_IB_WRITES_MAX + 1, kReserve);
}

namespace {

// The requests of @post are these writes and, unless they carry immediate data, a message.
int post_all(smc_ib_link *link, const smc_ib_write *writes, unsigned int n_writes,
	     const std::shared_ptr<Post> &post, unsigned int flags, u64 *seq)
{
	const u32 count = n_writes + (post->immediate ? 0 : 1);

	if (link->broken)
		return -ENOTCONN;
	if (link->state != smc_ib_link::State::kReadyToSend)
		fail("qp %u: a post before it is ready to send", link->qpn);
	// A group that ends does not ask.
	const bool last = !post->message.empty() && (post->message[0] & 15) == 4;
	if (link->listens_first && !last)
		fail("qp %u: a post before its client has sent anything", link->qpn);
	if (world().knobs.iwarp && post->immediate)
		fail("qp %u: immediate data, which iWARP has not", link->qpn);
	if (n_writes > SMC_IB_WRITES_MAX ||
	    (post->immediate ? n_writes == 0 : post->message.empty()))
		fail("qp %u: %u writes, %zu bytes", link->qpn, n_writes, post->message.size());
	const u32 reserve = (flags & SMC_IB_POST_LAST) != 0      ? 0
			    : (flags & SMC_IB_POST_CONTROL) != 0 ? kLastReserve
								 : kReserve;
	for (const smc_ib_write &write : std::span(writes, n_writes)) {
		if (write.local == nullptr)
			fail("qp %u: a write from a buffer that is not mapped", link->qpn);
		if (const int ret = smc_ib_region_post(write.local);
		    ret != 0 && ret != -EINPROGRESS)
			return ret;
	}
	if (!room(link, count, reserve))
		return -EAGAIN;

	for (const smc_ib_write &write : std::span(writes, n_writes)) {
		smc_ib_region_sync_for_device(write.local, write.offset_bytes, write.length_bytes);
		post->writes.push_back({write.local->address + write.offset_bytes,
					write.local->local_key,
					write.length_bytes,
					write.remote_address,
					write.remote_key,
					{}});
	}
	post->wr_end = link->wr_head + count;
	post->signalled = (flags & SMC_IB_POST_SIGNAL) != 0 ||
			  post->wr_end - link->wr_signalled >= signal_every();
	if (post->signalled)
		link->wr_signalled = post->wr_end;
	post->seq = ++link->seq;
	link->wr_head = post->wr_end;
	*seq = link->seq;
	observe_post(*link, *post);
	if (world().fault(world().knobs.link_error)) {
		// The post may have left or not.
		break_link(link, kGeneral);
		return 0;
	}
	u32 &silent_in_posts = link->device->host->silent_in_posts;
	const bool falls_silent = silent_in_posts != 0 && --silent_in_posts == 0;

	if ((falls_silent || world().fault(world().knobs.link_silent)) && !link->silent) {
		note("qp %u falls silent", link->qpn);
		link->silent = true;
	}
	link->wire.push_back(post);
	if (world().knobs.iwarp)
		arm_leave(link->qpn);
	arm_wire(link->qpn, travel_us());
	return 0;
}

} // namespace

int smc_ib_link_post(smc_ib_link *link, const smc_ib_write *writes, unsigned int n_writes,
		     const void *message, size_t message_bytes, unsigned int flags, u64 *seq)
{
	auto post = std::make_shared<Post>();

	post->message.assign(static_cast<const char *>(message), message_bytes);
	return post_all(link, writes, n_writes, post, flags, seq);
}

int smc_ib_link_post_immediate(smc_ib_link *link, const smc_ib_write *writes, unsigned int n_writes,
			       u32 immediate, unsigned int flags, u64 *seq)
{
	auto post = std::make_shared<Post>();

	post->immediate = immediate;
	return post_all(link, writes, n_writes, post, flags, seq);
}
