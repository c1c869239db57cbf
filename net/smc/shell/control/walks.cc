// SPDX-License-Identifier: GPL-2.0-only
// Walks over groups and sockets, for netlink and sock_diag (kernel/abi/callbacks/control.h).

#include <algorithm>
#include <iterator>
#include <optional>

#include "kernel/abi/callbacks/control.h"
#include "shell/control/directory.hpp"
#include "shell/control/port_pnet.hpp"

namespace smc::control {
namespace {

// The object behind @cursor, and @cursor moved to it. False, and @out zero, if there is none.
template <class Info>
bool walk(std::optional<u64> (*next)(net *, u64, Info &), net *net, u64 &cursor, Info &out)
{
	out = {};
	if (next == nullptr)
		return false;
	const auto serial = next(net, cursor, out);
	cursor = serial.value_or(cursor);
	return serial.has_value();
}

} // namespace
} // namespace smc::control

using namespace smc::control;

int smc_ctl_lgr_next(net *net, u64 *cursor, smc_lgr_info *out)
{
	const Directory *dir = directory();
	if (!walk(dir ? dir->next_group : nullptr, net, *cursor, *out))
		return 0;
	out->links = std::min<u32>(out->links, std::size(out->link));
	if (out->links == 0)
		return 1;
	if (const auto pnet = pnet_of_port(out->link[0].ib_name, out->link[0].ib_port))
		std::copy(pnet->begin(), pnet->end(), out->pnetid);
	return 1;
}

int smc_ctl_smcd_lgr_next(net *net, u64 *cursor, smc_smcd_lgr_info *out)
{
	const Directory *dir = directory();
	return walk(dir ? dir->next_smcd_group : nullptr, net, *cursor, *out) ? 1 : 0;
}

int smc_ctl_sock_next(net *net, u64 *cursor, smc_sock_info *out)
{
	const Directory *dir = directory();
	return walk(dir ? dir->next_socket : nullptr, net, *cursor, *out) ? 1 : 0;
}
