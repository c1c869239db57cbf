// SPDX-License-Identifier: GPL-2.0-only
//
// What the control plane shows of a link group.
#include <algorithm>
#include <cstring>

#include "shell/transport/rdma/link_group.hpp"

namespace smc::transport::rdma {

bool LinkGroup::link_snapshot(group::LinkIndex index, smc_link_info &info)
{
	shell::Guard guard(setup_mutex_);

	if (links_[index].handle(setup_mutex_) == nullptr)
		return false;
	const Port &port = links_[index].port(setup_mutex_);
	std::memcpy(info.ib_name, port.device.info().name, sizeof(info.ib_name));
	info.ib_port = port.number;
	// The host's devices have no number in a namespace that it has lent a port to.
	info.ifindex = port.of_host ? 0 : port.gid.ifindex;
	std::memcpy(info.gid, port.gid.raw, sizeof(info.gid));

	shell::Guard state_guard(lock_);
	const LinkRecord &record = records_[index];
	std::copy(record.ends.peer_gid.bytes.begin(), record.ends.peer_gid.bytes.end(),
		  info.peer_gid);
	info.id = control_.machine().link_id(index).value();
	info.conns = record.connections;
	const auto put_uid = [](wire::LinkUid uid, u8(&out)[4]) {
		for (int i = 0; i < 4; i++)
			out[i] = static_cast<u8>(uid.value() >> (24 - 8 * i));
	};
	put_uid(record.uid, info.uid);
	put_uid(record.peer_uid, info.peer_uid);
	switch (control_.machine().link_state(index)) {
	case group::LinkState::kUnused:
	case group::LinkState::kDown: info.state = SMC_LINK_STATE_INACTIVE; break;
	case group::LinkState::kPreparing:
	case group::LinkState::kOffered:
	case group::LinkState::kExchanging:
	case group::LinkState::kReadying:
	case group::LinkState::kAwaitRequest:
	case group::LinkState::kActivating:
	case group::LinkState::kAnswered:
	case group::LinkState::kAwaitResponse: info.state = SMC_LINK_STATE_ACTIVATING; break;
	case group::LinkState::kActive: info.state = SMC_LINK_STATE_ACTIVE; break;
	}
	return true;
}

void LinkGroup::snapshot(const RdmaEndpoint &endpoint, smc_sock_info &info)
{
	info.is_server = key_.server;
	info.has_link = link_snapshot(endpoint.link()->index(), info.link);
}

// As seen from this side.
u8 LinkGroup::type_locked() const
{
	const LinkEnds *first = nullptr;
	u8 type = SMC_LGR_TYPE_NONE;

	for (const Link &link : links_) {
		const LinkEnds &ends = records_[link.index()].ends;

		if (control_.machine().link_state(link.index()) != group::LinkState::kActive)
			continue;
		if (first == nullptr) {
			first = &ends;
			type = SMC_LGR_TYPE_SINGLE;
		} else if (ends.device == first->device && ends.port == first->port) {
			type = SMC_LGR_TYPE_ASYMMETRIC_LOCAL;
		} else if (ends.peer_gid == first->peer_gid && ends.peer_mac == first->peer_mac) {
			type = SMC_LGR_TYPE_ASYMMETRIC_PEER;
		} else {
			type = SMC_LGR_TYPE_SYMMETRIC;
		}
	}
	return type;
}

void LinkGroup::snapshot(smc_lgr_info &info)
{
	info.is_server = key_.server;
	info.buf_type = static_cast<u8>(pool_.buf_type());
	info.version = key_.version;
	info.direct = direct_;
	info.vlan_id = key_.vlan_id;
	info.sndbuf_bytes = pool_.bytes(SMC_IB_BUFFER_SEND);
	info.rmb_bytes = pool_.bytes(SMC_IB_BUFFER_RMB);
	std::copy(key_.eid.bytes.begin(), key_.eid.bytes.end(), info.eid);
	for (const Link &link : links_) {
		if (link_snapshot(link.index(), info.link[info.links]))
			info.links++;
	}

	shell::Guard guard(lock_);
	info.type = type_locked();
	info.conns = static_cast<u32>(endpoints_.size());
	const group::Config &config = control_.machine().config();

	for (int i = 0; i < 4; i++)
		info.id[i] = static_cast<u8>(config.group_uid >> (24 - 8 * i));
	info.max_conns = config.max_conns;
	info.max_links = config.max_links;
	info.peer_release = agreement_.release;
	info.peer_os = static_cast<u8>(agreement_.peer_os);
	// Any bytes that the peer likes, and an administrator's terminal obeys.
	std::transform(agreement_.peer_host_name.begin(), agreement_.peer_host_name.end(),
		       info.peer_host, [](u8 byte) {
			       const bool printable = byte >= ' ' && byte <= '~';
			       return static_cast<u8>(printable || byte == 0 ? byte : '?');
		       });
}

} // namespace smc::transport::rdma
