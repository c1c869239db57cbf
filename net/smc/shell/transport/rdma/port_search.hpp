// SPDX-License-Identifier: GPL-2.0-only
//
// How to find the port for a connection, or for another link: by PNET ID if the connection's
// network device has one, else the port that sits on that network device. With net.smc.host_ports a
// port of the initial namespace is next.
#pragma once

#include <optional>

#include "core/wire/ids.hpp"
#include "kernel/abi/tcp.h"
#include "kernel/abi/verbs.h"
#include "shell/transport/rdma/port.hpp"

namespace smc::transport::rdma {

// For a connection of @net along @path. @type: RoCE v1 for SMC-Rv1, v2 for SMC-Rv2. Process.
[[nodiscard]] std::optional<Port> find_port(net *net, const struct smc_tcp_path &path,
					    smc_ib_gid_type type);

// What another link of a group wants of its port.
struct OtherPort {
	net *netns;       // of the group
	const Port &than; // another port with the PNET ID of this one is looked for
	smc_ib_gid_type type;
	u16 vlan_id;
	std::optional<wire::Gid> peer; // version 2: a route has to lead there ...
	bool direct = true;            // ... without a gateway, or through one
	bool same_will_do = false;     // if there is no other, and it leads there
};

// Process.
[[nodiscard]] std::optional<Port> find_other_port(const OtherPort &wanted);

} // namespace smc::transport::rdma
