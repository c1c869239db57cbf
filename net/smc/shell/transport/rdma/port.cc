// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/port.hpp"

#include <algorithm>

namespace smc::transport::rdma {

wire::Gid Port::wire_gid() const
{
	wire::Gid out;
	std::copy_n(gid.raw, out.bytes.size(), out.bytes.begin());
	return out;
}

wire::Mac Port::wire_mac() const
{
	wire::Mac out;
	std::copy_n(gid.mac, out.bytes.size(), out.bytes.begin());
	return out;
}

void Port::refresh_mtu()
{
	smc_ib_port_update_mtu(device.get(), number);
	if (const u8 code = smc_ib_port_mtu(device.get(), number); code != 0)
		mtu = wire::QpMtu{code};
}

} // namespace smc::transport::rdma
