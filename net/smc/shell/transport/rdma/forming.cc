// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/forming.hpp"

#include <utility>

namespace smc::transport::rdma {

Forming::Place Forming::take(net *net, const group::TcpAddress &from)
{
	shell::Guard guard(lock_);
	Entry *own = nullptr;
	u32 beside = 0;

	for (Entry &entry : entries_.span()) {
		if (entry.netns != net)
			continue;
		beside += entry.groups;
		if (entry.from == from)
			own = &entry;
	}
	if (groups_ >= kMax || beside >= kNamespaceMax ||
	    (own != nullptr && own->groups >= kAddressMax))
		return {};
	if (own != nullptr)
		own->groups++;
	else if (!entries_.push_back({net, from, 1}))
		return {};
	groups_++;
	return {*this, net, from};
}

void Forming::give_back(net *net, const group::TcpAddress &from)
{
	shell::Guard guard(lock_);
	for (std::size_t i = 0; i < entries_.size(); i++) {
		if (entries_[i].netns != net || entries_[i].from != from)
			continue;
		groups_--;
		if (--entries_[i].groups == 0)
			entries_.erase(i);
		return;
	}
}

void Forming::Place::give_back()
{
	if (Forming *forming = std::exchange(forming_, nullptr))
		forming->give_back(net_, from_);
}

} // namespace smc::transport::rdma
