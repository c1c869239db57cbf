// SPDX-License-Identifier: GPL-2.0-only
//
// Port: a port of an RDMA device and the GID on it for one TCP connection (port_search.hpp).
#pragma once

#include "core/wire/ids.hpp"
#include "kernel/abi/types.h"
#include "kernel/abi/verbs.h"
#include "shell/base/ib_device.hpp"

namespace smc::transport::rdma {

struct Port {
	shell::IbDevice device;
	u8 number = 0;
	smc_ib_gid gid{};
	wire::QpMtu mtu;
	bool of_host = false; // lent by the initial namespace to another one

	// The device's MTU at this moment, for a new link. Process.
	void refresh_mtu();
	[[nodiscard]] wire::Gid wire_gid() const;
	[[nodiscard]] wire::Mac wire_mac() const;
};

} // namespace smc::transport::rdma
