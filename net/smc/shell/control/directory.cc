// SPDX-License-Identifier: GPL-2.0-only
#include "shell/control/directory.hpp"

#include "shell/control/port_pnet.hpp"

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

} // namespace

void set_directory(const Directory *directory)
{
	installed.store(directory, std::memory_order_release);
}

void leave_namespace(net *net)
{
	const Directory *dir = directory();
	if (dir && dir->namespace_leaves)
		dir->namespace_leaves(net);
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
	if (found > 0 && out->links > 0)
		pnet_of_port(out->link[0].ib_name, out->link[0].ib_port, out->pnetid);
	return found;
}

int smc_ctl_smcd_lgr_next(net *net, u64 *cursor, smc_smcd_lgr_info *out)
{
	const Directory *dir = directory();
	*out = {};
	if (!dir || !dir->next_smcd_group)
		return 0;
	return dir->next_smcd_group(net, cursor, out);
}

int smc_ctl_sock_next(net *net, u64 *cursor, smc_sock_info *out)
{
	const Directory *dir = directory();
	*out = {};
	if (!dir || !dir->next_socket)
		return 0;
	return dir->next_socket(net, cursor, out);
}
