// SPDX-License-Identifier: GPL-2.0-only
//
// SendRing: the accounts of the sending direction: the send buffer (private, filled by the
// application, emptied by completions or by the peer's consumer cursor) and the peer's ring (filled
// by our writes, emptied by the peer's consumer cursor).
//
// The stream is counted in 64-bit byte positions that never wrap, in the order
//   freed <= sent <= appended        freed = max(completed, acknowledged)
//   appended - freed <= send buffer size        sent - acknowledged <= peer's ring size
// and cursors are kept beside them only where a ring offset is needed.
//
// No locking: the connection's lock covers it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/ring/cursor.hpp"
#include "core/ring/segments.hpp"

namespace smc::connection {

class SendRing {
public:
	// `completion_frees` false: a completion does not prove that the device has stopped reading
	// the send buffer (iWARP devices that send large writes by page reference); only the peer's
	// consumer cursor frees space.
	// `in_place`: the send buffer is the peer's ring itself. Both are of one size, what is
	// written there has arrived, and space is free when the peer has consumed it.
	void init(std::uint32_t size_bytes, std::uint32_t peer_size_bytes, bool completion_frees,
		  bool in_place)
	{
		*this = SendRing{};
		size_bytes_ = size_bytes;
		peer_size_bytes_ = peer_size_bytes;
		completion_frees_ = completion_frees && !in_place;
		in_place_ = in_place;
	}

	[[nodiscard]] std::uint32_t size_bytes() const { return size_bytes_; }
	[[nodiscard]] std::uint32_t peer_size_bytes() const { return peer_size_bytes_; }
	[[nodiscard]] bool completion_frees() const { return completion_frees_; }
	[[nodiscard]] bool in_place() const { return in_place_; }
	[[nodiscard]] std::uint64_t appended_bytes() const { return appended_bytes_; }
	[[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }
	[[nodiscard]] std::uint64_t completed_bytes() const { return completed_bytes_; }
	[[nodiscard]] std::uint64_t acknowledged_bytes() const { return acknowledged_bytes_; }
	[[nodiscard]] std::uint64_t freed_bytes() const
	{
		return completion_frees_ ? std::max(completed_bytes_, acknowledged_bytes_)
					 : acknowledged_bytes_;
	}

	// Send buffer: in use (appended and still needed), free, and not yet written to the peer.
	[[nodiscard]] std::uint32_t used_bytes() const
	{
		return static_cast<std::uint32_t>(appended_bytes_ - freed_bytes());
	}
	[[nodiscard]] std::uint32_t free_bytes() const { return size_bytes_ - used_bytes(); }
	[[nodiscard]] std::uint32_t pending_bytes() const
	{
		return static_cast<std::uint32_t>(appended_bytes_ - sent_bytes_);
	}
	// Appended, and not known to have reached the peer.
	[[nodiscard]] std::uint32_t undelivered_bytes() const
	{
		return in_place_ ? pending_bytes() : used_bytes();
	}
	// Appended, and not yet read by the peer. In place, the first half of it counts as the
	// peer's: SIOCOUTQ is expected to be 0 as long as the peer has room, and more than 0 when
	// it has none.
	[[nodiscard]] std::uint32_t queued_bytes() const
	{
		if (!in_place_)
			return used_bytes();
		return pending_bytes() +
		       (std::max(unacknowledged_bytes(), size_bytes_ / 2) - size_bytes_ / 2);
	}
	[[nodiscard]] std::uint32_t queued_unsent_bytes() const
	{
		return in_place_ ? queued_bytes() : pending_bytes();
	}
	// Peer's ring: written and not yet consumed, and still free.
	[[nodiscard]] std::uint32_t unacknowledged_bytes() const
	{
		return static_cast<std::uint32_t>(sent_bytes_ - acknowledged_bytes_);
	}
	[[nodiscard]] std::uint32_t window_bytes() const
	{
		return peer_size_bytes_ - unacknowledged_bytes();
	}
	// Some sent bytes are neither completed nor consumed.
	[[nodiscard]] bool outstanding() const
	{
		return sent_bytes_ > std::max(completed_bytes_, acknowledged_bytes_);
	}

	[[nodiscard]] ring::Cursor prepared() const { return prepared_; }
	[[nodiscard]] ring::Cursor sent() const { return sent_; }
	[[nodiscard]] ring::Cursor finished() const
	{
		return ring::retreat(prepared_, used_bytes(), size_bytes_);
	}
	[[nodiscard]] ring::Cursor producer() const { return producer_; }
	[[nodiscard]] ring::Cursor peer_consumer() const { return peer_consumer_; }

	// Where the next bytes of the application go; at most free_bytes().
	[[nodiscard]] ring::Segments free_segments(std::uint32_t max_bytes) const
	{
		return {prepared_.count, std::min(max_bytes, free_bytes()), size_bytes_};
	}
	// Needs bytes <= free_bytes().
	void append(std::uint32_t bytes)
	{
		prepared_ = ring::advance(prepared_, bytes, size_bytes_);
		appended_bytes_ += bytes;
	}
	// Needs bytes <= min(pending_bytes(), window_bytes()).
	void mark_sent(std::uint32_t bytes)
	{
		sent_ = ring::advance(sent_, bytes, size_bytes_);
		move_producer(bytes);
		sent_bytes_ += bytes;
	}
	// So many more bytes find room in one piece of the send buffer.
	[[nodiscard]] bool appends_in_one_piece(std::uint32_t bytes) const
	{
		return bytes <= free_bytes() && bytes <= size_bytes_ - prepared_.count;
	}
	// Nothing is pending before them, they find room in one piece of the peer's ring, and leave
	// some there.
	[[nodiscard]] bool sends_in_one_piece(std::uint32_t bytes) const
	{
		return pending_bytes() == 0 && bytes < window_bytes() &&
		       bytes <= peer_size_bytes_ - producer_.count;
	}
	// append() and mark_sent() in one. Needs pending_bytes() == 0, and what both need.
	void append_and_send(std::uint32_t bytes)
	{
		prepared_ = ring::advance(prepared_, bytes, size_bytes_);
		sent_ = prepared_;
		move_producer(bytes);
		appended_bytes_ += bytes;
		sent_bytes_ = appended_bytes_;
	}
	// append(), mark_sent() and complete_to() in one, in place. Needs pending_bytes() == 0 and
	// bytes <= window_bytes().
	void pass(std::uint32_t bytes)
	{
		prepared_ = ring::advance(prepared_, bytes, size_bytes_);
		sent_ = prepared_;
		producer_ = prepared_;
		appended_bytes_ += bytes;
		sent_bytes_ = appended_bytes_;
		completed_bytes_ = appended_bytes_;
	}
	void complete_to(std::uint64_t sent_bytes)
	{
		completed_bytes_ = std::max(completed_bytes_, std::min(sent_bytes, sent_bytes_));
	}
	// How far the peer's consumer cursor has moved on, or nothing if that is not possible:
	// behind the last one, or beyond what was sent. The cursor must be inside the peer's ring.
	[[nodiscard]] std::optional<std::uint32_t> consumed_by(ring::Cursor consumer) const
	{
		const auto bytes =
			ring::forward_distance_bytes(peer_consumer_, consumer, peer_size_bytes_);
		if (bytes && *bytes > unacknowledged_bytes())
			return std::nullopt;
		return bytes;
	}
	// Needs bytes == *consumed_by(consumer).
	void acknowledge(ring::Cursor consumer, std::uint32_t bytes)
	{
		peer_consumer_ = consumer;
		acknowledged_bytes_ += bytes;
	}
	// In place: another ring replaces this one. All sent bytes have been consumed, whether the
	// peer confirmed it or not. Needs pending_bytes() == 0.
	void replace(std::uint32_t size_bytes)
	{
		size_bytes_ = size_bytes;
		peer_size_bytes_ = size_bytes;
		prepared_ = {};
		sent_ = {};
		producer_ = {};
		peer_consumer_ = {};
		acknowledged_bytes_ = sent_bytes_;
	}
	// The peer's ring is another one, larger. The cursors stay where they are. Needs
	// unacknowledged_bytes() == 0, and not in place.
	void widen_peer(std::uint32_t peer_size_bytes) { peer_size_bytes_ = peer_size_bytes; }
	// The send buffer begins anew, with another size. Needs used_bytes() == 0, and not in
	// place.
	void restart(std::uint32_t size_bytes)
	{
		size_bytes_ = size_bytes;
		prepared_ = {};
		sent_ = {};
	}
	// Forgets what was appended and not yet sent.
	void discard_pending()
	{
		prepared_ = sent_;
		appended_bytes_ = sent_bytes_;
	}

private:
	void move_producer(std::uint32_t bytes)
	{
		producer_ = ring::advance(producer_, bytes, peer_size_bytes_);
	}

	std::uint64_t appended_bytes_ = 0;
	std::uint64_t sent_bytes_ = 0;
	std::uint64_t completed_bytes_ = 0;
	std::uint64_t acknowledged_bytes_ = 0;
	std::uint32_t size_bytes_ = 0;
	std::uint32_t peer_size_bytes_ = 0;
	ring::Cursor prepared_{};      // send buffer: next byte to append
	ring::Cursor sent_{};          // send buffer: next byte to write to the peer
	ring::Cursor producer_{};      // peer's ring: next byte to write
	ring::Cursor peer_consumer_{}; // peer's ring: next byte that the peer will consume
	bool completion_frees_ = true;
	bool in_place_ = false;
};

} // namespace smc::connection
