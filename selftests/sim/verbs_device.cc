// SPDX-License-Identifier: GPL-2.0-only
//
// Devices, ports, GIDs, routes.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernel/abi/callbacks/verbs.h"
#include "llc_observer.hpp"
#include "scheduler.hpp"
#include "trace.hpp"
#include "verbs.hpp"

namespace sim {

Fabric &fabric()
{
	static Fabric instance;
	return instance;
}

std::string wire_mac(const net *host, u32 rail)
{
	std::string mac("\x02\0\0\0\0\0", 6);
	mac[4] = static_cast<char>(rail);
	mac[5] = static_cast<char>(host->index + 1);
	return mac;
}

std::string wire_gid(const net *host, u32 rail, u8 version)
{
	std::string gid(16, '\0');

	if (version == 1) {
		gid[0] = '\xfe';
		gid[1] = '\x80';
		gid[14] = static_cast<char>(rail);
		gid[15] = static_cast<char>(host->index + 1);
	} else {
		gid[10] = gid[11] = '\xff';
		std::copy(host->address.begin(), host->address.end(), gid.begin() + 12);
		gid[14] = static_cast<char>(rail);
	}
	return gid;
}

std::optional<u32> rail_of_mac(const net *host, const std::string &mac)
{
	for (u32 rail = 0; rail < world().knobs.rails_of(host); rail++) {
		if (wire_mac(host, rail) == mac)
			return rail;
	}
	return std::nullopt;
}

std::optional<u32> rail_named(const net *host, const NamedEnd &end)
{
	const bool drawn = world().knobs.iwarp && end.of_server;

	for (u32 rail = 0; rail < world().knobs.rails_of(host); rail++) {
		if (end.gid == wire_gid(host, rail, end.version) &&
		    (drawn || end.mac == wire_mac(host, rail)))
			return rail;
	}
	return std::nullopt;
}

void add_device(net *host, u32 rail)
{
	auto *device = new smc_ib_device;

	device->host = host;
	device->rail = rail;
	device->number = ++fabric().devices;
	host->devices[rail] = device;
	note("%s: device %u comes on rail %u", host->name.c_str(), device->number, rail);
	smc_ib_device_added(device);
}

void remove_device(net *host, u32 rail, Removal removal)
{
	smc_ib_device *device = std::exchange(host->devices[rail], nullptr);

	if (device == nullptr)
		return;
	note("%s: device %u goes", host->name.c_str(), device->number);
	device->present = false;
	device->carries = removal != Removal::kPulled;
	observe_device_going();
	smc_ib_device_removing(device);
	while (device->links != 0)
		scheduler().sleep_us(100);
	device->carries = false;
	note("%s: device %u has gone", host->name.c_str(), device->number);
	smc_ib_device_put(device);
}

void lose_port(net *host, u32 rail)
{
	smc_ib_device *device = host->devices[rail];

	if (device == nullptr || !device->port_active)
		return;
	note("%s: port of rail %u down", host->name.c_str(), rail);
	smc_ib_device_get(device);
	device->port_active = false;
	smc_ib_port_event(device, 1, false);
	smc_ib_device_put(device);
}

void regain_port(net *host, u32 rail)
{
	smc_ib_device *device = host->devices[rail];

	if (device == nullptr || device->port_active)
		return;
	note("%s: port of rail %u up", host->name.c_str(), rail);
	device->port_active = true;
	smc_ib_port_event(device, 1, true);
}

} // namespace sim

using namespace sim;

namespace {

constexpr u32 kFirstIfindex = 2; // of the network device on the first rail, see tcp.cc

u32 ifindex_of(const smc_ib_device *device)
{
	return kFirstIfindex + device->rail;
}

} // namespace

void smc_ib_device_get(smc_ib_device *dev)
{
	if (dev != nullptr)
		dev->references++;
}

void smc_ib_device_put(smc_ib_device *dev)
{
	if (dev == nullptr || --dev->references > 0)
		return;
	if (dev->references < 0 || dev->links != 0 || dev->present)
		fail("device %u loses its last reference too early", dev->number);
	fabric().devices--;
	delete dev;
}

smc_ib_device *smc_ib_device_next(smc_ib_device *prev)
{
	const auto place = [](const smc_ib_device *device) {
		return device->host->index * kRails + device->rail;
	};
	smc_ib_device *found = nullptr;

	for (const auto &host : world().hosts) {
		for (smc_ib_device *device : host->devices) {
			// @prev may have gone meanwhile.
			if (found == nullptr && device != nullptr &&
			    (prev == nullptr || place(device) > place(prev)))
				found = device;
		}
	}
	smc_ib_device_get(found);
	smc_ib_device_put(prev);
	return found;
}

bool smc_ib_device_any()
{
	return std::any_of(world().hosts.begin(), world().hosts.end(), [](const auto &host) {
		return std::any_of(host->devices.begin(), host->devices.end(),
				   [](const smc_ib_device *device) { return device != nullptr; });
	});
}

bool smc_ib_device_any_iwarp()
{
	return world().knobs.iwarp && smc_ib_device_any();
}

smc_ib_device *smc_ib_device_find(const char *)
{
	return nullptr;
}

bool smc_ib_device_present(const smc_ib_device *dev)
{
	return dev->present;
}

bool smc_ib_device_accessible(smc_ib_device *dev, const net *net)
{
	return dev->host == net;
}

u8 smc_ib_device_ports(const smc_ib_device *)
{
	return 1;
}

bool smc_ib_device_iwarp(const smc_ib_device *)
{
	return world().knobs.iwarp;
}

u8 smc_ib_port_mtu(const smc_ib_device *dev, u8 port)
{
	return dev->present && port == 1 ? dev->mtu_code : 0;
}

const char *smc_ib_device_name(const smc_ib_device *dev)
{
	return dev->host->name.c_str();
}

void smc_ib_device_info(smc_ib_device *dev, struct smc_ib_device_info *out)
{
	std::memset(static_cast<void *>(out), 0, sizeof(*out));
	std::snprintf(out->name, sizeof(out->name), "%s%u", dev->host->name.c_str(), dev->rail);
	out->ports = 1;
	out->links = dev->links;
	out->buffer_max_bytes = kRegionMaxBytes;
}

int smc_ib_port_info(smc_ib_device *dev, u8 port, const net *, struct smc_ib_port_info *out)
{
	std::memset(static_cast<void *>(out), 0, sizeof(*out));
	if (!dev->present || port != 1)
		return -ENODEV;
	out->active = dev->port_active;
	out->has_netdev = true;
	out->mtu_code = dev->mtu_code;
	out->ifindex = ifindex_of(dev);
	const std::string mac = wire_mac(dev->host, dev->rail);
	std::copy(mac.begin(), mac.end(), out->mac);
	return 0;
}

void smc_ib_port_update_mtu(smc_ib_device *dev, u8)
{
	dev->mtu_code = dev->host->index == 0 ? 3 : 5;
}

bool smc_ib_port_active(const smc_ib_device *dev, u8)
{
	return dev->port_active;
}

bool smc_ib_port_carries(smc_ib_device *dev, u8, net *net, u32 ifindex)
{
	scheduler().maybe_yield();
	return dev->host == net && ifindex_of(dev) == ifindex;
}

int smc_ib_gid_find(smc_ib_device *dev, u8, const smc_ib_gid_query *query, struct smc_ib_gid *out)
{
	const bool v1 = query->type == SMC_IB_GID_ROCE_V1;

	if (!dev->present || !(v1 ? world().knobs.smcr_v1 : world().knobs.smcr_v2))
		return -ENOENT;
	const std::string gid = wire_gid(dev->host, dev->rail, v1 ? 1 : 2);
	const std::string mac = wire_mac(dev->host, dev->rail);
	*out = {};
	std::copy(gid.begin(), gid.end(), out->raw);
	std::copy(mac.begin(), mac.end(), out->mac);
	out->type = query->type;
	out->vlan_id = query->vlan_id;
	out->ifindex = ifindex_of(dev);
	return 0;
}

int smc_ib_port_address(smc_ib_device *dev, u8, net *, const u8 *, const u8 *peer,
			bool *uses_gateway, struct smc_ib_gid *out)
{
	const smc_ib_gid_query query{
		.type = SMC_IB_GID_IWARP, .vlan_id = 0, .ipv4 = {}, .net = nullptr};

	*uses_gateway = false;
	if (peer != nullptr && world().lacks(world().knobs.no_route))
		return -EHOSTUNREACH;
	return smc_ib_gid_find(dev, 1, &query, out) == 0 ? 0 : -EADDRNOTAVAIL;
}

int smc_ib_route_resolve(smc_ib_device *dev, u8, const struct smc_ib_gid *, const u8 *,
			 u32 timeout_ms, struct smc_ib_route *out)
{
	*out = {};
	// A neighbour that has to be asked.
	scheduler().sleep_us(scheduler().random().below(200));
	if (!dev->host->has_neighbours || world().lacks(world().knobs.no_route)) {
		scheduler().sleep_us(u64{timeout_ms} * 1000);
		return -EHOSTUNREACH;
	}
	if (!dev->present)
		return -ENODEV;
	out->uses_gateway = world().knobs.gateway;
	std::copy_n(kGatewayMac, 6, out->next_hop_mac);
	return 0;
}

int smc_ib_route_lookup(smc_ib_device *dev, u8, const struct smc_ib_gid *, const u8 *,
			bool *uses_gateway)
{
	if (!dev->present || world().lacks(world().knobs.no_route))
		return -EHOSTUNREACH;
	*uses_gateway = world().knobs.gateway;
	return 0;
}
