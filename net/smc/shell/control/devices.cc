// SPDX-License-Identifier: GPL-2.0-only
// Snapshot of the RDMA devices, from what the verbs say and from the links on them.

#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/verbs.h"
#include "shell/base/ib_device.hpp"
#include "shell/control/pnet.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace smc::control {
namespace {

static_assert(SMC_IB_PORTS_MAX == SMC_DEV_PORTS);
static_assert(SMC_IB_NAME_SIZE == SMC_IB_NAME_LEN);

// The device at @place, counted over those that @net may use; none behind the last one.
shell::IbDevice device_at(const net *net, u64 place)
{
	return shell::find_ib_device([&](smc_ib_device *device) {
		return smc_ib_device_accessible(device, net) && place-- == 0;
	});
}

void describe_port(const shell::IbDevice &device, net *net, u8 number, smc_dev_info &out)
{
	const auto info = device.port(number, net);
	if (!info)
		return;

	smc_dev_port_info &port = out.port[number - 1];
	port.valid = true;
	port.active = info->active;
	port.ifindex = info->ifindex;
	const auto pnet = control::pnet_of_ib(out.name, out.parent, number);
	port.pnet_by_user = pnet.has_value();
	if (pnet)
		std::copy(pnet->begin(), pnet->end(), port.pnetid);
}

// Without a second link on another port a group ends together with this one.
bool depends_on_each_link(const smc_lgr_info &group)
{
	return group.type == SMC_LGR_TYPE_SINGLE || group.type == SMC_LGR_TYPE_ASYMMETRIC_LOCAL;
}

void count_links(net *net, smc_dev_info &out)
{
	smc_lgr_info group;
	u64 cursor = 0;
	while (smc_ctl_lgr_next(net, &cursor, &group) > 0) {
		for (u32 i = 0; i < group.links; i++) {
			const smc_link_info &link = group.link[i];
			if (link.state == SMC_LINK_STATE_UNUSED || link.ib_port < 1 ||
			    link.ib_port > SMC_DEV_PORTS ||
			    std::string_view(link.ib_name) != out.name)
				continue;
			out.port[link.ib_port - 1].links++;
			out.critical |= depends_on_each_link(group);
		}
	}
}

} // namespace

} // namespace smc::control

int smc_ctl_dev_next(net *net, u64 *cursor, smc_dev_info *out)
{
	*out = {};
	const auto device = smc::control::device_at(net, *cursor);
	if (!device)
		return 0;
	++*cursor;

	const struct smc_ib_device_info info = device.info();
	std::copy(std::begin(info.name), std::end(info.name), out->name);
	std::copy(std::begin(info.parent_name), std::end(info.parent_name), out->parent);
	out->is_pci = info.pci;
	out->pci_vendor = info.pci_vendor;
	out->pci_device = info.pci_device;
	for (u8 port = 1; port <= std::min<u8>(info.ports, SMC_DEV_PORTS); port++)
		smc::control::describe_port(device, net, port, *out);
	smc::control::count_links(net, *out);
	return 1;
}
