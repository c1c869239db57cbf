// SPDX-License-Identifier: GPL-2.0-only
//
// Port: a port of an RDMA device and the GID on it that suits one TCP connection; how a host finds
// them: by PNET ID if the connection's network device has one, else by the fabric, that is the
// port which that network device sits on.
#pragma once

#include <optional>

#include "core/wire/ids.hpp"
#include "kernel/abi/tcp.h"
#include "kernel/abi/types.h"
#include "kernel/abi/verbs.h"
#include "shell/base/ib_device.hpp"

namespace smc::transport::rdma {

struct Port {
	shell::IbDevice device;
	u8 number = 0;
	smc_ib_gid gid{};
	wire::QpMtu mtu;

	// As the device has it at this moment, for a new link. Process.
	void refresh_mtu();
	[[nodiscard]] wire::Gid wire_gid() const;
	[[nodiscard]] wire::Mac wire_mac() const;
};

// For a connection of @net along @path. @type: RoCE v1 for SMC-Rv1, v2 for SMC-Rv2. Process.
[[nodiscard]] std::optional<Port> find_port(net *net, const struct smc_tcp_path &path,
					    smc_ib_gid_type type);

} // namespace smc::transport::rdma
