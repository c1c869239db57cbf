// SPDX-License-Identifier: GPL-2.0-only
//
// ReceiveRing: the accounts of the receiving direction, that is of our RMB element: how far the
// peer has written, by its messages, how far the application has read, and how far we have told the
// peer so. Stream positions in bytes that never wrap:
//   confirmed <= consumed <= received <= confirmed + ring size
//
// No locking: the connection's lock covers it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/ring/cursor.hpp"
#include "core/ring/segments.hpp"

namespace smc::connection {

class ReceiveRing {
public:
	void init(std::uint32_t size_bytes)
	{
		*this = ReceiveRing{};
		size_bytes_ = size_bytes;
	}

	[[nodiscard]] std::uint32_t size_bytes() const { return size_bytes_; }
	[[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }
	[[nodiscard]] std::uint64_t consumed_bytes() const { return consumed_bytes_; }
	// In the ring and not yet taken by the application.
	[[nodiscard]] std::uint32_t stored_bytes() const
	{
		return static_cast<std::uint32_t>(received_bytes_ - consumed_bytes_);
	}
	// Taken by the application, and not yet confirmed to the peer.
	[[nodiscard]] std::uint32_t unconfirmed_bytes() const
	{
		return static_cast<std::uint32_t>(consumed_bytes_ - confirmed_bytes_);
	}
	// The free space that the peer knows of.
	[[nodiscard]] std::uint32_t confirmed_free_bytes() const
	{
		return size_bytes_ - static_cast<std::uint32_t>(received_bytes_ - confirmed_bytes_);
	}
	// Ring bytes from the start of the ring that may have been written so far.
	[[nodiscard]] std::uint32_t high_water_bytes() const
	{
		return widened_ || received_bytes_ >= size_bytes_
			       ? size_bytes_
			       : static_cast<std::uint32_t>(received_bytes_);
	}
	[[nodiscard]] ring::Cursor producer() const { return producer_; }
	[[nodiscard]] ring::Cursor consumer() const { return consumer_; }

	// How far the producer cursor has moved on, or nothing if that is not possible: behind the
	// last one, or into space that we have not confirmed as free. The cursor must be inside the
	// ring.
	[[nodiscard]] std::optional<std::uint32_t> produced_by(ring::Cursor producer) const
	{
		const auto bytes = ring::forward_distance_bytes(producer_, producer, size_bytes_);
		if (bytes && *bytes > confirmed_free_bytes())
			return std::nullopt;
		return bytes;
	}
	// Needs bytes == *produced_by(producer).
	void receive(ring::Cursor producer, std::uint32_t bytes)
	{
		producer_ = producer;
		received_bytes_ += bytes;
	}
	// Up to `max_bytes` of the stored bytes, after the first `skip_bytes` of them. Needs
	// skip_bytes + max_bytes <= stored_bytes().
	[[nodiscard]] ring::Segments stored_segments(std::uint32_t skip_bytes,
						     std::uint32_t max_bytes) const
	{
		return {ring::advance(consumer_, skip_bytes, size_bytes_).count, max_bytes,
			size_bytes_};
	}
	// The last `bytes` bytes received, read or not. Needs bytes <= size_bytes().
	[[nodiscard]] ring::Segments newest_segments(std::uint32_t bytes) const
	{
		return {ring::retreat(producer_, bytes, size_bytes_).count, bytes, size_bytes_};
	}
	// Needs bytes <= stored_bytes().
	void consume(std::uint32_t bytes)
	{
		consumer_ = ring::advance(consumer_, bytes, size_bytes_);
		consumed_bytes_ += bytes;
	}
	// A message with the consumer cursor has gone out.
	void confirm() { confirmed_bytes_ = consumed_bytes_; }
	// Nothing is stored, and the peer knows that: it may go on in another ring.
	[[nodiscard]] bool known_empty() const
	{
		return stored_bytes() == 0 && unconfirmed_bytes() == 0;
	}
	// A larger ring takes the place of this one. The cursors stay where they are, so messages
	// that are on their way mean the same in either. Needs known_empty().
	void widen(std::uint32_t size_bytes)
	{
		size_bytes_ = size_bytes;
		widened_ = true;
	}
	// Another ring takes the place of this one, and the peer knows. Needs stored_bytes() == 0.
	void replace(std::uint32_t size_bytes)
	{
		size_bytes_ = size_bytes;
		producer_ = {};
		consumer_ = {};
		confirm();
	}

private:
	std::uint64_t received_bytes_ = 0;
	std::uint64_t consumed_bytes_ = 0;
	std::uint64_t confirmed_bytes_ = 0;
	std::uint32_t size_bytes_ = 0;
	bool widened_ = false; // this ring was not begun at its start
	ring::Cursor producer_{};
	ring::Cursor consumer_{};
};

} // namespace smc::connection
