// SPDX-License-Identifier: GPL-2.0-only
//
// Small messages of an Endpoint: one send() or recv() takes the lock once, and copies under it, as
// far as the user's pages are there. Whatever is not usual is left to the general way.
#include <algorithm>

#include "shell/transport/endpoint.hpp"
#include "shell/transport/endpoint_change.hpp"

namespace smc::transport {

using connection::Connection;

bool Endpoint::copy_at_once(struct msghdr *msg, std::byte *room, u32 bytes)
{
	if (smc_msg_copy_from_at_once(msg, room, bytes)) [[likely]]
		return true;
	note_stray_bytes();
	return false;
}

[[gnu::always_inline]] inline u16 Endpoint::post_at_once_locked(struct msghdr *msg, u32 bytes,
								bool &sent)
{
	using connection::QuickWay;
	using connection::SendHint;

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

bool Endpoint::pass_at_once_locked(struct msghdr *msg, u32 bytes)
{
	shares_lock_with(*neighbour_);
	const auto offset_bytes = Connection::room_to_pass(conn_, neighbour_->conn_, bytes);
	if (!offset_bytes || !copy_at_once(msg, sndbuf_ + *offset_bytes, bytes)) [[unlikely]]
		return false;
	neighbour_->answer_locked(Connection::hand_over(conn_, neighbour_->conn_, bytes));
	return true;
}

bool Endpoint::send_at_once(struct msghdr *msg, u32 bytes, shell::SpinLockHeld socket)
{
	const shell::RcuBySpinLock rcu(socket);
	bool sent = false;
	Changes changes;
	{
		const shell::InnerGuard guard(lock_, socket);

		// After a send that found no room the ring may be replaced first.
		if (full_ || sndbuf_ == nullptr || detached_) [[unlikely]]
			return false;
		if (neighbour_ != nullptr)
			sent = pass_at_once_locked(msg, bytes);
		else
			changes.own = post_at_once_locked(msg, bytes, sent);
		changes = collect_locked(changes.own);
	}
	settle_own(changes);
	if (changes.neighbour != nullptr)
		settle_theirs(changes);
	return sent;
}

std::optional<u32> Endpoint::receive_at_once(struct msghdr *msg, size_t max_bytes,
					     const smc_receive_options &options,
					     shell::SpinLockHeld socket [[maybe_unused]])
{
	using Found = connection::QuickLook::Found;

	connection::QuickLook look;
	bool tell;
	{
		const shell::InnerGuard guard(lock_, socket);

		look = conn_.look_quickly(static_cast<u32>(std::min<size_t>(max_bytes, 1U << 30)),
					  options.low_water_bytes, options.urgent_inline);
		if (look.found == Found::kNothing) {
			dry_at_ = news();
			return 0;
		}
		if (look.found != Found::kPiece || look.piece.length_bytes > kAtOnceMaxBytes ||
		    !smc_msg_copy_to_at_once(msg, rmb_ + look.piece.offset_bytes,
					     look.piece.length_bytes)) [[unlikely]]
			return std::nullopt;
		tell = conn_.consume_quickly(look.piece.length_bytes);
		if (!look.leaves_some)
			dry_at_ = news();
	}
	if (look.leaves_some)
		count(SMC_TS_RX_BUF, SMC_BUF_SIZE_SMALL);
	// As a rule the peer need not be told.
	if (tell) [[unlikely]]
		tell_of_room();
	return look.piece.length_bytes;
}

} // namespace smc::transport
