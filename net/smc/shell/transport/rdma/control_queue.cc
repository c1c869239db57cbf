// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/control_queue.hpp"

#include <cerrno>

#include "kernel/abi/pernet.h"
#include "kernel/abi/stats.h"

namespace smc::transport::rdma {

namespace {

constexpr std::size_t kFlagsAt = 3;
constexpr std::byte kResponse{0x80};
constexpr std::byte kAllLinks{0x40}; // in DELETE_LINK
constexpr std::byte kTypeMask{0x0f};
constexpr std::byte kDeleteLink{0x04};

bool is_response(const std::byte *message, std::size_t length_bytes)
{
	return length_bytes > kFlagsAt && (message[kFlagsAt] & kResponse) != std::byte{0};
}

bool ends_group(const std::byte *message, std::size_t length_bytes)
{
	return length_bytes > kFlagsAt && (message[0] & kTypeMask) == kDeleteLink &&
	       (message[kFlagsAt] & kAllLinks) != std::byte{0};
}

} // namespace

void ControlQueue::send(const group::SendLlc &message)
{
	smc_ib_receive_slot *receive = nullptr;

	if (is_response(message.bytes().data(), message.bytes().size()))
		receive = std::exchange(request_, nullptr);
	// The group's last message goes first: those that wait are of no use any more.
	const bool may_go = unsent_.empty() || message.last;
	if (may_go && post(message, receive))
		return;
	if (unsent_.push_back({message, receive}))
		unsent_answers_ += receive != nullptr ? 1 : 0;
	else
		smc_stat_inc(netns_, SMC_STAT_LLC_OVERFLOW);
}

bool ControlQueue::post(const group::SendLlc &message, smc_ib_receive_slot *receive)
{
	const auto seq = link_.post_control(message.bytes(), message.last);

	if (!seq)
		return seq.error() != shell::Errno{-EAGAIN};
	last_seq_ = *seq;
	smc_stat_inc(netns_, SMC_STAT_LLC_TX);
	if (receive != nullptr && !answers_.push({*seq, receive}))
		link_.give_back(receive);
	return true;
}

void ControlQueue::flush()
{
	while (!unsent_.empty()) {
		const Unsent &unsent = unsent_.front();

		if (!post(unsent.message, unsent.receive))
			return;
		unsent_answers_ -= unsent.receive != nullptr ? 1 : 0;
		unsent_.erase(0);
	}
}

bool ControlQueue::has_to_queue(const Received &message)
{
	return !is_response(message.head, message.length_bytes) &&
	       !ends_group(message.head, message.length_bytes);
}

void ControlQueue::keep(const Received &request)
{
	// There is room for as many requests as there are receives.
	if (!waiting_.push(request))
		link_.give_back(request.receive);
}

std::optional<ControlQueue::Received> ControlQueue::next()
{
	if (waiting_.empty() || is_busy())
		return std::nullopt;
	const Received request = waiting_.front();
	waiting_.pop();
	return request;
}

void ControlQueue::on_sent(u64 up_to_seq)
{
	while (!answers_.empty() && answers_.front().seq <= up_to_seq) {
		link_.give_back(answers_.front().receive);
		answers_.pop();
	}
	flush();
}

void ControlQueue::clear()
{
	unsent_.clear();
	unsent_answers_ = 0;
	while (!answers_.empty())
		answers_.pop();
	while (!waiting_.empty())
		waiting_.pop();
	request_ = nullptr;
	last_seq_ = 0;
}

} // namespace smc::transport::rdma
