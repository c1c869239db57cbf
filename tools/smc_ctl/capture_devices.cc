// SPDX-License-Identifier: GPL-2.0-only
#include "capture_devices.hpp"
#include "file.hpp"
#include "netlink.hpp"
#include "ports.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>

namespace smc_ctl {
namespace {

namespace fs = std::filesystem;

// Not from sysfs, which may be that of another network namespace.
std::set<std::string> netdevs_up()
{
	ifaddrs *list = nullptr;
	std::set<std::string> names;

	if (getifaddrs(&list) != 0)
		throw NetlinkError("network devices", errno);
	const std::unique_ptr<ifaddrs, void (*)(ifaddrs *)> all(list, freeifaddrs);
	for (const ifaddrs *one = list; one != nullptr; one = one->ifa_next) {
		// Entries of addresses may have the name of the address.
		if ((one->ifa_flags & IFF_UP) != 0 && one->ifa_addr != nullptr &&
		    one->ifa_addr->sa_family == AF_PACKET)
			names.insert(one->ifa_name);
	}
	return names;
}

bool is_on_one_of(const std::string &netdev, const std::set<std::string> &names)
{
	return std::any_of(names.begin(), names.end(), [&](const std::string &name) {
		std::error_code none;

		return fs::exists("/sys/class/net/" + netdev + "/lower_" + name, none);
	});
}

// As libpcap calls them: "mlx4_0", and its second port "mlx4_0:2".
void add_ethernet_ports(const fs::path &device, std::vector<std::string> &names)
{
	const std::string name = device.filename();
	std::error_code none;

	for (const fs::directory_entry &port : fs::directory_iterator(device / "ports", none)) {
		const std::string number = port.path().filename();

		if (first_line(port.path() / "link_layer") == "Ethernet")
			names.push_back(number == "1" ? name : name + ":" + number);
	}
}

// Soft-RoCE: before Linux 5.12 it was shown below the device of its network device.
bool is_software(const fs::path &device)
{
	std::error_code none;
	const std::string place = fs::canonical(device, none).string();

	return place.find("/devices/virtual/") != std::string::npos ||
	       fs::exists(device / "parent", none);
}

// iWARP has another type of node, and travels by TCP.
bool is_channel_adapter(const fs::path &device)
{
	return first_line(device / "node_type").starts_with("1:");
}

} // namespace

std::vector<std::string> lowest_netdevs()
{
	const std::set<std::string> up = netdevs_up();
	std::vector<std::string> lowest;

	for (const std::string &name : up) {
		if (!is_on_one_of(name, up))
			lowest.push_back(name);
	}
	return lowest;
}

std::vector<std::string> rdma_hardware()
{
	std::vector<std::string> names;
	std::error_code none;

	for (const fs::directory_entry &device : fs::directory_iterator(kRdmaDevices, none)) {
		if (is_channel_adapter(device.path()) && !is_software(device.path()))
			add_ethernet_ports(device.path(), names);
	}
	std::sort(names.begin(), names.end());
	return names;
}

bool is_netdev(const std::string &name)
{
	return if_nametoindex(name.c_str()) != 0;
}

bool is_rdma_device(const std::string &name)
{
	std::error_code none;

	return !name.empty() && name.find('/') == std::string::npos &&
	       fs::exists(fs::path(kRdmaDevices) / name.substr(0, name.find(':')), none);
}

} // namespace smc_ctl
