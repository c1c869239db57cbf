// SPDX-License-Identifier: GPL-2.0-only
#include "shell/transport/rdma/port_search.hpp"
#include "shell/control/port_pnet.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "kernel/abi/tcp_path.h"
#include "shell/control/device_epoch.hpp"
#include "shell/transport/rdma/port_memory.hpp"

namespace smc::transport::rdma {

namespace {

// Sockets of @net may use the port just now; its MTU.
std::optional<wire::QpMtu> usable_at(const shell::IbDevice &device, u8 number, const net *net)
{
	if (!smc_ib_device_present(device.get()) || !smc_ib_device_accessible(device.get(), net) ||
	    !smc_ib_port_active(device.get(), number))
		return std::nullopt;
	const u8 mtu_code = smc_ib_port_mtu(device.get(), number);
	return mtu_code != 0 ? std::optional(wire::QpMtu{mtu_code}) : std::nullopt;
}

// The port with a GID that fits, if it can be used.
std::optional<Port> usable(const shell::IbDevice &device, u8 number, const smc_ib_gid_query &query)
{
	const auto mtu = usable_at(device, number, query.net);
	Port port;

	if (!mtu || device.iwarp() != (query.type == SMC_IB_GID_IWARP))
		return std::nullopt;
	if (!device.iwarp() && smc_ib_gid_find(device.get(), number, &query, &port.gid) != 0)
		return std::nullopt;
	port.device = device;
	port.number = number;
	port.mtu = *mtu;
	return port;
}

bool is_good(const Port &)
{
	return true;
}

// The first port that @fits, can be used, and then @will_do. A port that fits may lack the GID, as
// the inactive slave of a bond does.
template <class Fits, class WillDo>
std::optional<Port> find_usable(Fits &&fits, const smc_ib_gid_query &query, WillDo &&will_do)
{
	std::optional<Port> found;
	const auto look = [&](smc_ib_device *at) {
		const auto device = shell::IbDevice::share(at);

		for (u8 number = 1; number <= device.ports() && !found; number++) {
			if (fits(device, number))
				found = usable(device, number, query);
			if (found && !will_do(*found))
				found.reset();
		}
		return found.has_value();
	};

	(void)shell::find_ib_device(look);
	return found;
}

// The way from a port to the peer's GID is as it should be.
bool leads_to(const Port &port, const wire::Gid &peer, bool direct)
{
	const auto address = wire::ipv4_from_gid(peer);
	bool uses_gateway;

	return address &&
	       smc_ib_route_lookup(port.device.get(), port.number, &port.gid, address->data(),
				   &uses_gateway) == 0 &&
	       uses_gateway != direct;
}

// iWARP, whose ports have no GIDs for addresses: the port gets one of its network device's, of the
// family of @like.
bool gets_address(Port &port, net *net, const u8 *like, const wire::Gid *peer, bool direct)
{
	bool uses_gateway;

	return smc_ib_device_meets_in(port.device.get(), net) &&
	       smc_ib_port_address(port.device.get(), port.number, net, like,
				   peer != nullptr ? peer->bytes.data() : nullptr, &uses_gateway,
				   &port.gid) == 0 &&
	       (peer == nullptr || uses_gateway != direct);
}

template <class WillDo>
std::optional<Port> find_by_pnet(const u8 *pnetid, const smc_ib_gid_query &query, WillDo &&will_do)
{
	const auto has_it = [&](const shell::IbDevice &device, u8 number) {
		const auto other = control::pnet_of_port(device, number);

		return other && std::equal(other->begin(), other->end(), pnetid);
	};

	return find_usable(has_it, query, will_do);
}

std::optional<Port> find_by_pnet(const u8 *pnetid, const smc_ib_gid_query &query)
{
	return find_by_pnet(pnetid, query, is_good);
}

// The port that sits on the network device @ifindex of @net, or below it.
template <class WillDo>
std::optional<Port> find_below(net *net, u32 ifindex, const smc_ib_gid_query &query,
			       WillDo &&will_do)
{
	const auto carries = [&](const shell::IbDevice &device, u8 number) {
		return smc_ib_port_carries(device.get(), number, net, ifindex);
	};

	return find_usable(carries, query, will_do);
}

std::optional<Port> find_below(net *net, u32 ifindex, const smc_ib_gid_query &query)
{
	return find_below(net, ifindex, query, is_good);
}

// A port of the initial namespace, as far as net.smc.host_ports of @net lends it.
std::optional<Port> find_lent(net *net, const struct smc_tcp_path &path, smc_ib_gid_type type)
{
	struct net *const initial = smc_init_net();
	u8 pnetid[SMC_PNETID_LEN];
	smc_ib_gid_query query{.type = type, .vlan_id = path.vlan_id, .ipv4 = {}, .net = initial};
	const u32 lent = smc_sysctl_host_ports(net);
	std::optional<Port> port;
	smc_host_path host;

	if (net == initial || lent == SMC_HOST_PORTS_NONE)
		return std::nullopt;
	if (smc_pnet_of_netdev(net, path.ifindex, pnetid)) {
		port = find_by_pnet(pnetid, query);
	} else if (lent == SMC_HOST_PORTS_ROUTE && smc_tcp_host_path(&path, &host)) {
		query.vlan_id = host.vlan_id;
		std::copy_n(host.ipv4, 4, query.ipv4);
		port = find_below(initial, host.ifindex, query);
	}
	if (port)
		port->of_host = true;
	return port;
}

// The network device that the port sits on is that one, not one above it.
bool sits_on(const Port &port, net *net, u32 ifindex)
{
	struct smc_ib_port_info info;

	return smc_ib_port_info(port.device.get(), port.number, net, &info) == 0 &&
	       info.ifindex == ifindex;
}

// iWARP: the port below the connection's network device, and the connection's own address. Where
// there is none at the moment, one with that device's PNET ID, for a group that has begun before.
// By a VLAN a port of the VLAN's own alone: a connection manager keeps to its port's network
// device.
std::optional<Port> find_iwarp(net *net, const struct smc_tcp_path &path)
{
	const smc_ib_gid_query query{
		.type = SMC_IB_GID_IWARP, .vlan_id = 0, .ipv4 = {}, .net = net};
	struct smc_ib_port_info info;
	u8 pnetid[SMC_PNETID_LEN];

	if (wire::is_link_local(wire::Gid{std::to_array(path.local)}))
		return std::nullopt;
	auto port = find_below(net, path.ifindex, query, [&](const Port &found) {
		return path.vlan_id == 0 || sits_on(found, net, path.ifindex);
	});

	if (!port && path.vlan_id != 0)
		return std::nullopt;
	if (!port) {
		const auto has_address = [&](Port &other) {
			return gets_address(other, net, path.local, nullptr, true);
		};
		return smc_pnet_of_netdev(net, path.ifindex, pnetid)
			       ? find_by_pnet(pnetid, query, has_address)
			       : std::nullopt;
	}
	if (!smc_ib_device_meets_in(port->device.get(), net) ||
	    smc_ib_port_info(port->device.get(), port->number, net, &info) != 0)
		return std::nullopt;
	port->gid.type = SMC_IB_GID_IWARP;
	port->gid.ifindex = path.ifindex;
	port->gid.vlan_id = path.vlan_id;
	std::copy_n(path.local, sizeof(port->gid.raw), port->gid.raw);
	std::copy_n(info.mac, sizeof(port->gid.mac), port->gid.mac);
	return port;
}

// What is remembered of it, if it can still be used. False: it has to be searched for.
bool find_known(const PortMemory::Question &question, std::optional<Port> &port)
{
	if (!port_memory().look(question, port))
		return false;
	if (!port)
		return true;
	const auto mtu = usable_at(port->device, port->number, question.netns);
	if (mtu)
		port->mtu = *mtu;
	return mtu.has_value();
}

// RoCE, and a port that the connection's own namespace may use.
std::optional<Port> find_own(net *net, const struct smc_tcp_path &path, smc_ib_gid_type type)
{
	smc_ib_gid_query query{.type = type, .vlan_id = path.vlan_id, .ipv4 = {}, .net = net};
	u8 pnetid[SMC_PNETID_LEN];

	if (path.ipv4)
		std::copy_n(path.local + 12, 4, query.ipv4);
	const PortMemory::Question question{.netns = net,
					    .ifindex = path.ifindex,
					    .vlan_id = path.vlan_id,
					    .type = type,
					    .ipv4 = std::bit_cast<u32>(query.ipv4)};

	std::optional<Port> port;

	if (!find_known(question, port)) {
		const u64 epoch = control::DeviceEpoch::of_ways();

		port = smc_pnet_of_netdev(net, path.ifindex, pnetid)
			       ? find_by_pnet(pnetid, query)
			       : find_below(net, path.ifindex, query);
		port_memory().note(question, port, epoch);
	}
	return port;
}

} // namespace

std::optional<Port> find_port(net *net, const struct smc_tcp_path &path, smc_ib_gid_type type)
{
	std::optional<Port> port;

	if (!smc_ib_device_any())
		return port;
	if (type == SMC_IB_GID_IWARP) {
		if (smc_ib_device_any_iwarp())
			port = find_iwarp(net, path);
		return port;
	}
	port = find_own(net, path, type);
	if (!port)
		port = find_lent(net, path, type);
	return port;
}

namespace {

bool leads_to_peer(Port &port, const OtherPort &wanted)
{
	if (wanted.type == SMC_IB_GID_IWARP)
		return gets_address(port, wanted.netns, wanted.than.gid.raw,
				    wanted.peer ? &*wanted.peer : nullptr, wanted.direct);
	return !wanted.peer || leads_to(port, *wanted.peer, wanted.direct);
}

// An iWARP port connects to where the peer says, which is not where TCP led this time. Over RoCE
// nothing but a queue pair's packets go there.
bool same_will_do(const OtherPort &wanted)
{
	Port port = wanted.than;

	return wanted.same_will_do &&
	       (wanted.type != SMC_IB_GID_IWARP || leads_to_peer(port, wanted));
}

} // namespace

std::optional<Port> find_other_port(const OtherPort &wanted)
{
	const auto pnet = control::pnet_of_port(wanted.than.device, wanted.than.number);
	const smc_ib_gid_query query{.type = wanted.type,
				     .vlan_id = wanted.vlan_id,
				     .ipv4 = {},
				     .net = wanted.than.of_host ? smc_init_net() : wanted.netns};
	std::optional<Port> found;

	const auto fits = [&](const shell::IbDevice &device, u8 number) {
		const bool same =
			device.get() == wanted.than.device.get() && number == wanted.than.number;

		return !same && control::pnet_of_port(device, number) == pnet;
	};
	if (pnet)
		found = find_usable(fits, query,
				    [&](Port &port) { return leads_to_peer(port, wanted); });
	if (found)
		found->of_host = wanted.than.of_host;
	else if (same_will_do(wanted))
		found = wanted.than;
	return found;
}

} // namespace smc::transport::rdma
