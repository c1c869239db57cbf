// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/link.hpp"

#include <cerrno>
#include <memory>
#include <utility>

#include "kernel/abi/mem.h"
#include "shell/base/random.hpp"

namespace smc::transport::rdma {

Link::~Link()
{
	free_awaited();
}

void Link::free_awaited()
{
	if (awaited_ != nullptr)
		std::destroy_n(awaited_, awaited_size_);
	smc_mem_free(awaited_);
	awaited_ = nullptr;
}

Result<void, shell::Errno> Link::create(const Making &making)
{
	if (is_there()) {
		smc_warn_bug("a link is made where there is one");
		return fail(shell::Errno{-EBUSY});
	}
	const Port &port = making.port;
	smc_ib_link *link;
	int ret = smc_ib_link_create(port.device.get(), port.number, this, &link);
	if (ret != 0)
		return fail(shell::Errno{ret});
	netns_ = making.netns;
	port_ = port;
	counts_ = port.device.iwarp();
	may_move_ = counts_ && making.may_move;
	left_ = false;
	stopped_ = false;
	met_.store(making.server ? 0 : kHeard, std::memory_order_relaxed);
	psn_ = wire::Psn{shell::random24()};
	free_awaited();
	napi_id_ = smc_ib_link_napi_id(link);
	awaited_size_ = smc_ib_link_send_queue(link);
	awaited_ = static_cast<Awaited *>(smc_mem_alloc(sizeof(Awaited) * awaited_size_));
	if (awaited_ != nullptr)
		std::uninitialized_default_construct_n(awaited_, awaited_size_);
	ret = awaited_ == nullptr ? -ENOMEM : smc_ib_link_to_init(link);
	if (ret == 0 && counts_ && making.server)
		ret = expect(link);
	if (ret != 0) {
		smc_ib_link_destroy(link);
		return fail(shell::Errno{ret});
	}
	shell::Guard guard(lock_);
	link_ = link;
	dead_ = false;
	sent_up_to_ = 0;
	head_ = 0;
	credits_ = {};
	greeted_ms_ = 0;
	greetings_ = 0;
	return {};
}

bool Link::is_there()
{
	shell::Guard guard(lock_);
	return link_ != nullptr;
}

void Link::stop(const shell::Mutex &setup)
{
	smc_ib_link *link = handle(setup);

	smc_ib_link_drain(link);
	smc_ib_link_close(link);
	stopped_ = true;
	{
		shell::Guard guard(lock_);
		dead_ = true;
	}
	// Nobody adds to these any more, and the connections know of the loss.
	while (take_left()) {}
}

void Link::destroy(const shell::Mutex &)
{
	smc_ib_link *link;
	{
		shell::Guard guard(lock_);
		dead_ = true;
		link = std::exchange(link_, nullptr);
	}
	if (link == nullptr)
		return;
	smc_ib_link_destroy(link);

	// Nobody adds to these any more, and the connections know of the loss.
	while (take_left()) {}
}

shell::Ref<LinkUser> Link::take_left()
{
	shell::Guard guard(lock_);
	return count_ != 0 ? take_awaited_locked().endpoint : waiting_.pop_front();
}

Link::Awaited Link::take_awaited_locked()
{
	Awaited oldest = std::move(awaited_[head_]);

	head_ = (head_ + 1) % awaited_size_;
	count_--;
	return oldest;
}

void Link::note_posted_locked(LinkUser &endpoint, u64 seq, bool signal,
			      const connection::TransmitMarker &marker)
{
	if (counts_)
		credits_.sent(seq);
	if (!signal)
		return;
	awaited_[(head_ + count_) % awaited_size_] = {seq, shell::Ref<LinkUser>::share(&endpoint),
						      marker};
	count_++;
	if (may_move_)
		await_arrival_locked(seq);
}

void Link::note_not_posted_locked(LinkUser &endpoint, int ret)
{
	if (ret != -EAGAIN)
		dead_ = true;
	else if (!waiting_.linked(endpoint))
		waiting_.push_back(shell::Ref<LinkUser>::share(&endpoint));
}

Result<u64, shell::Errno> Link::post_control(ByteSpan message, bool last)
{
	shell::Guard guard(lock_);
	u64 seq = 0;

	if (dead_)
		return fail(shell::Errno{-ENODEV});
	if (counts_ && !last && !credits_.may_send_control())
		return fail(shell::Errno{-EAGAIN});
	const int ret = smc_ib_link_post(
		link_, nullptr, 0, message.data(), message.size(),
		SMC_IB_POST_SIGNAL | (last ? SMC_IB_POST_LAST : SMC_IB_POST_CONTROL), &seq);
	if (ret != 0)
		return fail(shell::Errno{ret});
	if (counts_)
		credits_.sent(seq);
	if (may_move_)
		await_arrival_locked(seq);
	return seq;
}

void Link::give_back(smc_ib_receive_slot *receive)
{
	shell::Guard guard(lock_);
	if (link_ != nullptr)
		smc_ib_link_give_back(link_, receive);
	if (!counts_)
		return;
	credits_.gave_back();
	announce_if_due_locked();
}

Registration Link::post_registration(smc_ib_region *region)
{
	shell::Guard guard(lock_);
	if (dead_)
		return Registration::kFailed;
	switch (smc_ib_region_post(region)) {
	case 0: return Registration::kDone;
	case -EINPROGRESS: return Registration::kUnderWay;
	case -EAGAIN: return Registration::kNoRoom;
	default: return Registration::kFailed;
	}
}

u64 Link::sent_up_to()
{
	shell::Guard guard(lock_);
	return dead_ ? ~u64{0} : sent_up_to_;
}

void Link::tell_of_done(std::optional<u64> sent_up_to)
{
	for (bool more = true; more;) {
		Awaited done;
		{
			shell::Guard guard(lock_);
			if (sent_up_to)
				sent_up_to_ = std::max(sent_up_to_, *sent_up_to);
			if (any_done_locked())
				done = take_awaited_locked();
			more = any_done_locked();
			// What was due may have found no room.
			if (counts_ && sent_up_to)
				announce_if_due_locked();
		}
		if (done.endpoint)
			done.endpoint->on_transmit_complete(done.marker);
	}
}

void Link::on_sent(u64 up_to_seq)
{
	tell_of_done(up_to_seq);
	serve_waiting();
}

// Until the queue is full or nobody waits: an endpoint that came while others waited relies on it,
// and there may be no later completion that would come here again. It ends, since each one that is
// served takes room, and room comes back only by completions, which are reported one at a time. One
// that waits again had no room for the registration of its send buffer: others are under way, and
// their completions come here.
void Link::serve_waiting()
{
	shell::Ref<LinkUser> last;

	for (;;) {
		shell::Ref<LinkUser> endpoint;
		{
			shell::Guard guard(lock_);
			served_ = nullptr;
			if (last && waiting_.linked(*last))
				return;
			if (dead_ || !smc_ib_link_writable(link_) || !may_send_data_locked())
				return;
			endpoint = waiting_.pop_front();
			served_ = endpoint.get();
		}
		if (!endpoint)
			return;
		endpoint->on_room();
		last = std::move(endpoint);
	}
}

} // namespace smc::transport::rdma
