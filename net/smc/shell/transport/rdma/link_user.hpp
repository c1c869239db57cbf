// SPDX-License-Identifier: GPL-2.0-only
//
// LinkUser: a connection as its link knows it: it posts, waits for room, and wants completions.
#pragma once

#include <atomic>

#include "shell/base/list.hpp"
#include "shell/transport/endpoint.hpp"

namespace smc::transport::rdma {

struct WaitingTag;

class LinkUser : public Endpoint, public shell::ListNode<WaitingTag> {
public:
	// The peer's RMB is gone: no write to it is posted any more; messages still are. What the
	// caller posts next stands in the send queue behind the last write. Any context.
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
