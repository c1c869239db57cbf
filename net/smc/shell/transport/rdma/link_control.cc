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
	machine_.hold_requests(any_unsent());
	for (const group::Effect &effect : machine_.step(event, smc_now_ms()))
		perform(effect);
	count_violations();
}

void LinkControl::perform(const group::Effect &effect)
{
	if (const auto *send = std::get_if<group::SendLlc>(&effect)) {
		queues_[send->link].send(*send);
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

bool LinkControl::any_unsent() const
{
	return std::any_of(queues_.begin(), queues_.end(),
			   [](const ControlQueue &queue) { return queue.any_unsent(); });
}

bool LinkControl::answers_due() const
{
	return std::any_of(queues_.begin(), queues_.end(), [](const ControlQueue &queue) {
		return queue.any_waits() && !queue.is_busy();
	});
}

bool LinkControl::drained()
{
	return std::all_of(queues_.begin(), queues_.end(),
			   [](ControlQueue &queue) { return queue.drained(); });
}

bool LinkControl::receive(group::LinkIndex link, const Received &message)
{
	ControlQueue &queue = queues_[link];

	if (!ControlQueue::has_to_queue(message)) {
		take_in(link, message);
		return true;
	}
	if (queue.is_busy() || queue.any_waits()) {
		queue.keep(message);
		return false;
	}
	return answer(link, message);
}

void LinkControl::take_in(group::LinkIndex link, const Received &message)
{
	const ByteSpan head = message.head_bytes();

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

bool LinkControl::answer(group::LinkIndex link, const Received &request)
{
	queues_[link].begin(request);
	take_in(link, request);
	return queues_[link].end();
}

void LinkControl::on_sent(group::LinkIndex link, u64 up_to_seq)
{
	const bool held = queues_[link].any_unsent();

	queues_[link].on_sent(up_to_seq);
	if (held && !any_unsent())
		step(group::Timer{});
}

void LinkControl::run()
{
	const u64 now_ms = smc_now_ms();

	for (Link &link : links_) {
		const group::LinkIndex index = link.index();

		if (!closed_) {
			on_sent(index, 0);
			while (const auto request = queues_[index].next()) {
				if (answer(index, *request))
					link.give_back(request->receive);
			}
		}
		if (link.take_heard())
			machine_.note_activity(index, now_ms);
	}
	if (timer_ms_ != 0 && now_ms >= timer_ms_) {
		timer_ms_ = 0;
		step(group::Timer{});
	}
}

void LinkControl::close()
{
	closed_ = true;
	timer_ms_ = 0;
	for (ControlQueue &queue : queues_)
		queue.clear();
}

} // namespace smc::transport::rdma
