// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/link_control.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernel/abi/mem.h"
#include "kernel/abi/stats.h"

namespace smc::transport::rdma {

void LinkControl::step(const group::Event &event)
{
	if (closed_)
		return;
	machine_.hold_requests(queue_.any_unsent());
	for (const group::Effect &effect : machine_.step(event, smc_now_ms()))
		perform(effect);
	count_violations();
}

void LinkControl::perform(const group::Effect &effect)
{
	if (const auto *send = std::get_if<group::SendLlc>(&effect)) {
		queue_.send(*send);
		return;
	}
	if (const auto *timer = std::get_if<group::SetTimer>(&effect))
		timer_ms_ = timer->deadline_ms != 0 ? timer->deadline_ms : 1;
	else if (std::get_if<group::StopTimer>(&effect) != nullptr)
		timer_ms_ = 0;
	owner_.on_effect(effect);
}

void LinkControl::count_violations()
{
	const group::Counters &now = machine_.counters();
	const u32 malformed =
		now.malformed + now.wrong_version - (counted_.malformed + counted_.wrong_version);
	const u32 unexpected = now.unexpected_requests + now.unexpected_responses -
			       (counted_.unexpected_requests + counted_.unexpected_responses);

	if (malformed != 0)
		smc_stat_add(netns_, SMC_STAT_LLC_MALFORMED, malformed);
	if (unexpected != 0)
		smc_stat_add(netns_, SMC_STAT_LLC_UNEXPECTED, unexpected);
	if (malformed + unexpected != 0)
		smc_stat_add(netns_, SMC_STAT_VIOLATION, malformed + unexpected);
	counted_ = now;
}

bool LinkControl::receive(const Received &message)
{
	if (!ControlQueue::has_to_queue(message)) {
		take_in(message);
		return true;
	}
	if (queue_.is_busy() || queue_.any_waits()) {
		queue_.keep(message);
		return false;
	}
	return answer(message);
}

void LinkControl::take_in(const Received &message)
{
	const ByteSpan head = message.head_bytes();
	const group::LinkIndex link = link_.index();

	if (message.length_bytes <= head.size()) {
		step(group::LlcReceived{link, head});
		return;
	}
	const std::size_t length =
		std::min<std::size_t>(message.length_bytes, long_message_.size());
	std::memcpy(long_message_.data(), head.data(), head.size());
	std::memcpy(long_message_.data() + head.size(), message.tail, length - head.size());
	step(group::LlcReceived{link, ByteSpan{long_message_}.first(length)});
}

bool LinkControl::answer(const Received &request)
{
	queue_.begin(request);
	take_in(request);
	return queue_.end();
}

void LinkControl::on_sent(u64 up_to_seq)
{
	const bool held = queue_.any_unsent();

	queue_.on_sent(up_to_seq);
	if (held && !queue_.any_unsent())
		step(group::Timer{});
}

void LinkControl::run()
{
	const u64 now_ms = smc_now_ms();

	if (!closed_) {
		on_sent(0);
		while (const auto request = queue_.next()) {
			if (answer(*request))
				link_.give_back(request->receive);
		}
	}
	if (link_.take_heard())
		machine_.note_activity(link_.index(), now_ms);
	if (timer_ms_ != 0 && now_ms >= timer_ms_) {
		timer_ms_ = 0;
		step(group::Timer{});
	}
}

void LinkControl::close()
{
	closed_ = true;
	timer_ms_ = 0;
	queue_.clear();
}

} // namespace smc::transport::rdma
