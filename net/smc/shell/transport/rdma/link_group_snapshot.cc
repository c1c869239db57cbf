// SPDX-License-Identifier: GPL-2.0-only
//
// What the control plane shows of a link group.
#include <algorithm>
#include <cstring>

#include "shell/transport/rdma/link_group.hpp"

namespace smc::transport::rdma {

bool LinkGroup::link_snapshot(smc_link_info &info)
{
	shell::Guard guard(setup_mutex_);

	if (link_.handle(setup_mutex_) == nullptr)
		return false;
	std::memcpy(info.ib_name, port_.device.info().name, sizeof(info.ib_name));
	info.ib_port = port_.number;
	// The host's devices have no number in a namespace that it has lent a port to.
	info.ifindex = port_.of_host ? 0 : port_.gid.ifindex;
	std::memcpy(info.gid, port_.gid.raw, sizeof(info.gid));
	std::copy(key_.peer_gid.bytes.begin(), key_.peer_gid.bytes.end(), info.peer_gid);

	shell::Guard state_guard(lock_);
	info.id = control_.machine().link_id(kLink).value();
	info.conns = static_cast<u32>(endpoints_.size());
	const auto put_uid = [](wire::LinkUid uid, u8(&out)[4]) {
		for (int i = 0; i < 4; i++)
			out[i] = static_cast<u8>(uid.value() >> (24 - 8 * i));
	};
	put_uid(uid_, info.uid);
	put_uid(peer_uid_, info.peer_uid);
	switch (control_.machine().link_state(kLink)) {
	case group::LinkState::kUnused:
	case group::LinkState::kDown: info.state = SMC_LINK_STATE_INACTIVE; break;
	case group::LinkState::kAwaitRequest:
	case group::LinkState::kActivating:
	case group::LinkState::kAnswered:
	case group::LinkState::kAwaitResponse: info.state = SMC_LINK_STATE_ACTIVATING; break;
	case group::LinkState::kActive: info.state = SMC_LINK_STATE_ACTIVE; break;
	}
	return true;
}

void LinkGroup::snapshot(smc_sock_info &info)
{
	info.is_server = key_.server;
	info.has_link = link_snapshot(info.link);
}

void LinkGroup::snapshot(smc_lgr_info &info)
{
	info.is_server = key_.server;
	info.type = SMC_LGR_TYPE_SINGLE;
	info.buf_type = static_cast<u8>(pool_.buf_type());
	info.version = key_.version;
	info.direct = direct_;
	info.vlan_id = port_.gid.vlan_id;
	info.sndbuf_bytes = pool_.bytes(SMC_IB_BUFFER_SEND);
	info.rmb_bytes = pool_.bytes(SMC_IB_BUFFER_RMB);
	std::copy(key_.eid.bytes.begin(), key_.eid.bytes.end(), info.eid);
	if (link_snapshot(info.link[0]))
		info.links = 1;
	info.conns = info.link[0].conns;

	shell::Guard guard(lock_);
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
