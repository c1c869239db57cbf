// SPDX-License-Identifier: GPL-2.0-only
// PNET table: what kernel/netlink.c and the device search ask for.

#include "shell/control/pnet.hpp"
#include "core/control/ascii.hpp"
#include "kernel/abi/callbacks/control.h"
#include "kernel/abi/control.h"
#include "kernel/abi/pernet.h"
#include "shell/base/alloc.hpp"
#include "shell/control/device_epoch.hpp"
#include "shell/control/namespace.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

namespace smc::control {
namespace {

static_assert(PnetId::kSize == SMC_PNETID_LEN);
static_assert(kIbNameMax + 1 == SMC_IB_NAME_LEN);
static_assert(kIbPortMax == SMC_DEV_PORTS);

int add(Namespace &ns, const PnetId &id, const std::optional<PnetTarget> &eth,
	const std::optional<PnetTarget> &ib)
{
	shell::Owned<PnetEntry> pending[2];
	if (eth && !(pending[0] = shell::make<PnetEntry>(id, *eth)))
		return -ENOMEM;
	if (ib && !(pending[1] = shell::make<PnetEntry>(id, *ib)))
		return -ENOMEM;

	return ns.change_tables([&](Namespace::Tables &tables) {
		std::size_t fresh = 0;
		for (const auto &entry : pending)
			fresh += entry && !tables.pnet.contains(entry->target());
		if (fresh == 0)
			return -EEXIST;
		// Both entries or none, so that a full table never keeps half a request.
		if (tables.pnet.room() < fresh)
			return -ENOSPC;
		for (auto &entry : pending) {
			if (entry && tables.pnet.add(*entry) == PnetTable::Added::kYes)
				(void)entry.release();
		}
		return 0;
	});
}

void copy_out(const PnetId &id, u8 *out)
{
	std::copy(id.bytes().begin(), id.bytes().end(), out);
}

void describe(const PnetEntry &entry, smc_pnet_entry &out)
{
	const PnetTarget &target = entry.target();
	out = {};
	out.is_ib = target.is_ib();
	out.ib_port = target.port();
	std::copy_n(entry.id().bytes().begin(), entry.id().length(), out.pnetid);
	std::copy(target.name().begin(), target.name().end(), out.dev_name);
}

} // namespace

bool has_pnet_entries()
{
	return Namespace::of(smc_init_net()).has_pnet();
}

std::optional<PnetIdBytes> pnet_of_ib(const char *name, const char *parent, u8 port)
{
	const std::string_view parent_name = parent ? parent : "";
	return Namespace::of(smc_init_net())
		.with_tables([&](const Namespace::Tables &tables) -> std::optional<PnetIdBytes> {
			const PnetId *id = tables.pnet.of_ib(name, parent_name, port);
			if (!id)
				return std::nullopt;
			PnetIdBytes bytes;
			copy_out(*id, bytes.data());
			return bytes;
		});
}

} // namespace smc::control

using namespace smc::control;

int smc_ctl_pnet_add(net *net, const smc_pnet_request *request)
{
	const auto id = PnetId::parse(request->pnetid);
	if (!id)
		return -EINVAL;

	std::optional<PnetTarget> eth;
	if (request->eth_name) {
		eth = PnetTarget::eth(request->eth_name);
		if (!eth)
			return -EINVAL;
	}
	std::optional<PnetTarget> ib;
	// RDMA devices are configured in the initial namespace; elsewhere the part is ignored.
	if (request->ib_name && net == smc_init_net()) {
		ib = PnetTarget::ib(ascii::trim(request->ib_name), request->ib_port);
		if (!ib)
			return -EINVAL;
	}
	const int ret = add(Namespace::of(net), *id, eth, ib);
	DeviceEpoch::begin();
	return ret;
}

int smc_ctl_pnet_del(net *net, const char *pnetid)
{
	const auto id = PnetId::parse(pnetid);
	if (!id || !Namespace::of(net).drop_pnet(&*id))
		return -ENOENT;
	DeviceEpoch::begin();
	return 0;
}

void smc_ctl_pnet_flush(net *net)
{
	Namespace::of(net).drop_pnet(nullptr);
	DeviceEpoch::begin();
}

int smc_ctl_pnet_next(net *net, const char *pnetid, u64 *cursor, smc_pnet_entry *out)
{
	std::optional<PnetId> id;
	if (pnetid) {
		id = PnetId::parse(pnetid);
		if (!id)
			return 0;
	}
	return Namespace::of(net).with_tables([&](const Namespace::Tables &tables) {
		const PnetEntry *entry = tables.pnet.next(*cursor, id ? &*id : nullptr);
		if (!entry)
			return 0;
		*cursor = entry->serial();
		describe(*entry, *out);
		return 1;
	});
}

bool smc_ctl_pnet_of_eth(net *net, const char *name, u8 *out)
{
	return Namespace::of(net).with_tables([&](const Namespace::Tables &tables) {
		const PnetId *id = tables.pnet.of_eth(name);
		if (id)
			copy_out(*id, out);
		return id != nullptr;
	});
}
