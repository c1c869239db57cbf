// SPDX-License-Identifier: GPL-2.0-only
//
// Connection and rings that grow: our own, which we offer a larger one for, and the peer's.
//
// The writer goes on in the new ring only when it knows that the reader has taken all of the old
// one, so nothing that it wrote there is needed, or would be sent once more after a failover. Both
// rings are empty then, at the same cursors: messages of the reader that are on their way confirm
// nothing, whichever ring they are taken for.
#include "core/connection/connection.hpp"

namespace smc::connection {

bool Connection::offer_ring(std::uint32_t size_bytes)
{
	if (!growing_ || size_bytes <= receive_.size_bytes() || size_bytes > ring::kMaxSizeBytes ||
	    offered_ring_bytes_ != 0 || !data_due_ || !close_.may_transmit() ||
	    close_.locally_closed())
		return false;
	offered_ring_bytes_ = size_bytes;
	rings_told_ = false;
	update_due_ = true;
	return true;
}

bool Connection::wants_peer_ring(std::uint32_t size_bytes) const
{
	return growing_ && size_bytes > send_.peer_size_bytes() &&
	       size_bytes <= ring::kMaxSizeBytes && next_peer_ring_bytes_ == 0 &&
	       send_status() == SendStatus::kOpen;
}

void Connection::change_peer_ring()
{
	if (!ring_change_due()) {
		broken_ = true;
		return;
	}
	send_.widen_peer(std::exchange(next_peer_ring_bytes_, 0));
	peer_ring_++;
	rings_told_ = false;
	set_peer_limits();
}

std::optional<std::uint32_t> Connection::ring_bytes(std::uint8_t ring) const
{
	if (ring == ring_)
		return receive_.size_bytes();
	if (offered_ring_bytes_ != 0 && ring == static_cast<std::uint8_t>(ring_ + 1))
		return offered_ring_bytes_;
	return std::nullopt;
}

bool Connection::enter_ring(std::uint8_t ring)
{
	const auto size_bytes = ring_bytes(ring);

	if (!size_bytes || !receive_.known_empty())
		return false;
	receive_.widen(*size_bytes);
	ring_ = ring;
	offered_ring_bytes_ = 0;
	ran_empty_ = false;
	set_receive_limits();
	return true;
}

bool Connection::await_idle_send_buffer()
{
	if (send_buffer_is_idle())
		return false;
	awaits_ = Awaits::kIdle;
	writable_from_bytes_ = send_.size_bytes() + 1;
	request_completion();
	return true;
}

} // namespace smc::connection
