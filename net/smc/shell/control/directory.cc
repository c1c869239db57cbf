// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/directory.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace smc::control {
namespace {

// Read on any CPU, written at init and exit only.
constinit std::atomic<const Directory *> installed = nullptr;

const Directory *directory()
{
	return installed.load(std::memory_order_acquire);
}

// The table of the initial namespace is the user's word about a port.
void add_pnet_id(const smc_dev_info &device, u8 number, smc_dev_port_info &port)
{
	if (!port.valid)
		return;
	port.pnet_by_user = smc_pnet_of_ib(device.name, device.parent, number, port.pnetid);
}

} // namespace

void set_directory(const Directory *directory)
{
	installed.store(directory, std::memory_order_release);
}

void end_namespace(net *net)
{
	const Directory *dir = directory();
	if (dir && dir->namespace_exit)
		dir->namespace_exit(net);
}

} // namespace smc::control

using namespace smc::control;

int smc_ctl_lgr_next(net *net, u64 *cursor, smc_lgr_info *out)
{
	const Directory *dir = directory();
	*out = {};
	if (!dir || !dir->next_group)
		return 0;
	const int found = dir->next_group(net, cursor, out);
	out->links = std::min<u32>(out->links, std::size(out->link));
	return found;
}

int smc_ctl_dev_next(net *net, u64 *cursor, smc_dev_info *out)
{
	const Directory *dir = directory();
	*out = {};
	if (!dir || !dir->next_device)
		return 0;
	const int found = dir->next_device(net, cursor, out);
	if (found <= 0)
		return found;
	for (u8 i = 0; i < std::size(out->port); i++)
		add_pnet_id(*out, static_cast<u8>(i + 1), out->port[i]);
	return found;
}

int smc_ctl_sock_next(net *net, u64 *cursor, smc_sock_info *out)
{
	const Directory *dir = directory();
	*out = {};
	if (!dir || !dir->next_socket)
		return 0;
	return dir->next_socket(net, cursor, out);
}
