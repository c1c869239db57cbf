// SPDX-License-Identifier: GPL-2.0-only
// EID table: what kernel/netlink.c and the CLC handshake ask for.

#include "shell/control/eid.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "shell/control/device_epoch.hpp"
#include "shell/control/namespace.hpp"

#include <algorithm>
#include <cerrno>

namespace smc::control {
namespace {

static_assert(kEidSize == SMC_EID_LEN);
static_assert(EidTable::kCapacity == SMC_UEIDS);

Eid to_eid(const u8 *bytes)
{
	Eid eid;
	std::copy_n(bytes, kEidSize, eid.begin());
	return eid;
}

Eids own_eids_of(net *net)
{
	Namespace &space = Namespace::of(net);

	if (!space.has_eids())
		return {};
	return space.with_tables([](const Namespace::Tables &tables) {
		Eids eids;
		for (const EidTable::Row &row : tables.eids.rows())
			(void)eids.push_back(row.eid);
		return eids;
	});
}

// @net has inherited nothing else.
Eids default_for(net *net)
{
	Eids eids;

	if (smc_sysctl_default_eid(net) && smc_sysctl_default_eid(smc_init_net()))
		(void)eids.push_back(default_eid());
	return eids;
}

void copy_out(const Eid &eid, u8 *out)
{
	std::copy(eid.begin(), eid.end(), out);
}

} // namespace

Eids eids_of(net *net)
{
	const Eids own = own_eids_of(net);
	struct net *const initial = smc_init_net();

	if (!own.empty())
		return own;
	if (net == initial)
		return default_for(net);
	if (!smc_sysctl_inherit_eids(net) || !smc_sysctl_inherit_eids(initial))
		return own;
	const Eids inherited = own_eids_of(initial);
	return inherited.empty() ? default_for(net) : inherited;
}

} // namespace smc::control

using namespace smc::control;

int smc_ctl_ueid_add(net *net, const u8 *eid)
{
	const auto added = Namespace::of(net).change_tables(
		[&](Namespace::Tables &tables) { return tables.eids.add(to_eid(eid)); });
	switch (added) {
	case EidTable::Added::kYes: DeviceEpoch::begin(); return 0;
	case EidTable::Added::kInvalid: return -EINVAL;
	case EidTable::Added::kFull: return -ERANGE;
	case EidTable::Added::kExists: return -EEXIST;
	}
	return -EINVAL;
}

int smc_ctl_ueid_del(net *net, const u8 *eid)
{
	const bool removed = Namespace::of(net).change_tables(
		[&](Namespace::Tables &tables) { return tables.eids.remove(to_eid(eid)); });
	if (!removed)
		return -ENOENT;
	// There may be those of others instead.
	DeviceEpoch::begin();
	return 0;
}

void smc_ctl_ueid_flush(net *net)
{
	(void)Namespace::of(net).change_tables([](Namespace::Tables &tables) {
		tables.eids.clear();
		return true;
	});
	DeviceEpoch::begin();
}

bool smc_ctl_default_eid(net *net, u8 *out)
{
	const Eids eids = eids_of(net);

	if (eids.size() != 1 || eids[0] != default_eid())
		return false;
	copy_out(eids[0], out);
	return true;
}

int smc_ctl_ueid_next(net *net, u64 *cursor, u8 *out)
{
	return Namespace::of(net).with_tables([&](const Namespace::Tables &tables) {
		for (const EidTable::Row &row : tables.eids.rows()) {
			if (row.serial <= *cursor)
				continue;
			*cursor = row.serial;
			copy_out(row.eid, out);
			return 1;
		}
		return 0;
	});
}
