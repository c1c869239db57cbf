// SPDX-License-Identifier: GPL-2.0-only
//
// LinkUser: a connection whose bytes go over a link, as far as the link knows it: who posts, who
// waits for room, and who hears that a post has completed.
#pragma once

#include <atomic>

#include "shell/base/list.hpp"
#include "shell/transport/endpoint.hpp"

namespace smc::transport::rdma {

struct WaitingTag;

class LinkUser : public Endpoint, public shell::ListNode<WaitingTag> {
public:
	// The peer's RMB is gone: no write to it is posted any more, while messages still are.
	// Whatever the caller posts next stands in the send queue behind the last of the writes.
	// Any context.
	void forbid_writes() { writes_forbidden_.store(true, std::memory_order_relaxed); }
	[[nodiscard]] bool writes_forbidden() const
	{
		return writes_forbidden_.load(std::memory_order_relaxed);
	}

protected:
	explicit LinkUser(struct sock *sk) : Endpoint(SMC_TECH_R, sk) {}
	~LinkUser() = default;

private:
	std::atomic<bool> writes_forbidden_{false}; // set for good; read under the link's lock
};

} // namespace smc::transport::rdma
