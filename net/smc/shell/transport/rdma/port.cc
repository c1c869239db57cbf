// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/port.hpp"
#include "shell/control/pnet.hpp"

#include <algorithm>

#include "kernel/abi/control.h"

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
	if (const auto info = device.port(number))
		mtu = wire::QpMtu{info->mtu_code};
}

namespace {

// The port with a GID that fits, if it can be used.
std::optional<Port> usable(const shell::IbDevice &device, u8 number, net *net,
			   const struct smc_tcp_path &path, smc_ib_gid_type type)
{
	smc_ib_gid_query query{};
	Port port;

	if (!smc_ib_device_present(device.get()) || !smc_ib_device_accessible(device.get(), net) ||
	    !smc_ib_port_active(device.get(), number))
		return std::nullopt;
	const auto info = device.port(number);
	if (device.info().iwarp || !info)
		return std::nullopt;
	query.type = type;
	query.vlan_id = path.vlan_id;
	query.net = net;
	if (path.ipv4)
		std::copy_n(path.local + 12, 4, query.ipv4);
	if (smc_ib_gid_find(device.get(), number, &query, &port.gid) != 0)
		return std::nullopt;
	port.device = device;
	port.number = number;
	port.mtu = wire::QpMtu{info->mtu_code};
	return port;
}

// The first port that @fits and can be used. A port that fits may lack the GID, as the inactive
// slave of a bond does.
template <class Fits>
std::optional<Port> find_usable(Fits &&fits, net *net, const struct smc_tcp_path &path,
				smc_ib_gid_type type)
{
	std::optional<Port> found;
	const auto look = [&](smc_ib_device *at) {
		const auto device = shell::IbDevice::share(at);
		const struct smc_ib_device_info info = device.info();

		for (u8 number = 1; number <= info.ports && !found; number++) {
			if (fits(at, info, number))
				found = usable(device, number, net, path, type);
		}
		return found.has_value();
	};

	(void)shell::find_ib_device(look);
	return found;
}

} // namespace

std::optional<Port> find_port(net *net, const struct smc_tcp_path &path, smc_ib_gid_type type)
{
	u8 pnetid[SMC_PNETID_LEN];

	if (!smc_ib_device_any())
		return std::nullopt;
	const auto of_pnet = [&](smc_ib_device *, const struct smc_ib_device_info &info,
				 u8 number) {
		const auto other = control::pnet_of_ib(info.name, info.parent_name, number);

		return other && std::equal(other->begin(), other->end(), pnetid);
	};
	const auto below = [&](smc_ib_device *device, const struct smc_ib_device_info &,
			       u8 number) {
		return smc_ib_port_carries(device, number, net, path.ifindex);
	};

	if (smc_pnet_of_netdev(net, path.ifindex, pnetid))
		return find_usable(of_pnet, net, path, type);
	return find_usable(below, net, path, type);
}

} // namespace smc::transport::rdma
