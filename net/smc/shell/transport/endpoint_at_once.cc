// SPDX-License-Identifier: GPL-2.0-only
//
// Small messages of an Endpoint: one send() or recv() takes the lock once, and copies under it, as
// far as the user's pages are there. Whatever is not usual is left to the general way.
#include <algorithm>

#include "shell/transport/endpoint.hpp"
#include "shell/transport/endpoint_change.hpp"

namespace smc::transport {

bool Endpoint::copy_at_once(struct msghdr *msg, std::byte *room, u32 bytes)
{
	if (smc_msg_copy_from_at_once(msg, room, bytes)) [[likely]]
		return true;
	note_stray_bytes();
	return false;
}

u16 Endpoint::send_at_once_locked(struct msghdr *msg, u32 bytes, bool &sent)
{
	using connection::QuickWay;
	using connection::SendHint;

	// After a send that found no room the ring may be replaced first.
	if (full_ || sndbuf_ == nullptr || detached_) [[unlikely]]
		return 0;
	if (neighbour_ != nullptr) {
		std::byte *room = room_to_pass_locked(bytes);

		sent = room != nullptr && copy_at_once(msg, room, bytes);
		if (sent) [[likely]]
			hand_over_locked(bytes);
		return 0;
	}
	connection::QuickPlan plan;
	const QuickWay way = conn_.plan_quickly(bytes, plan);
	if (way == QuickWay::kNone ||
	    !copy_at_once(msg, sndbuf_ + plan.write.sndbuf_offset_bytes, bytes))
		return 0;
	sent = true;
	if (way == QuickWay::kWait) {
		conn_.produce(bytes, SendHint::kNormal);
		note_stray_bytes();
		return 0;
	}
	if (post_quickly_locked(plan)) [[likely]] {
		conn_.commit_quickly(plan);
		return 0;
	}
	return append_locked(bytes, SendHint::kNormal);
}

bool Endpoint::send_at_once(struct msghdr *msg, u32 bytes,
			    shell::SpinLockHeld socket [[maybe_unused]])
{
	bool sent = false;
	Changes changes;
	{
		const shell::InnerGuard guard(lock_, socket);

		changes = collect_changes(send_at_once_locked(msg, bytes, sent));
	}
	settle_changes(changes);
	return sent;
}

connection::QuickLook Endpoint::receive_at_once_locked(struct msghdr *msg, size_t max_bytes,
						       const smc_receive_options &options,
						       bool &tell)
{
	using connection::QuickLook;

	const QuickLook look =
		conn_.look_quickly(static_cast<u32>(std::min<size_t>(max_bytes, 1U << 30)),
				   options.low_water_bytes, options.urgent_inline);
	if (look.found != QuickLook::Found::kPiece)
		return look;
	if (look.piece.length_bytes > kAtOnceMaxBytes ||
	    !smc_msg_copy_to_at_once(msg, rmb_ + look.piece.offset_bytes, look.piece.length_bytes))
		return {};
	tell = conn_.consume(look.piece.length_bytes);
	return look;
}

connection::QuickLook Endpoint::receive_at_once(struct msghdr *msg, size_t max_bytes,
						const smc_receive_options &options,
						shell::SpinLockHeld socket [[maybe_unused]])
{
	bool tell = false;
	connection::QuickLook look;
	{
		const shell::InnerGuard guard(lock_, socket);

		look = receive_at_once_locked(msg, max_bytes, options, tell);
	}
	// As a rule the peer need not be told.
	if (tell) [[unlikely]]
		tell_of_room();
	return look;
}

} // namespace smc::transport
