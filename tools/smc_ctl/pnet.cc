// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "json.hpp"
#include "names.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <cerrno>
#include <cstdio>

namespace smc_ctl {
namespace {

// The port of an entry without an RDMA device.
constexpr std::uint64_t kNoPort = 0xff;

Family pnet_family()
{
	return {SMC_NL_PNET_FAMILY, SMC_NL_PNET_VERSION};
}

// The meaning of the errno here.
const char *meaning(int code)
{
	switch (code) {
	case EEXIST: return "the device has an ID already";
	case ENOENT: return "there is no entry with this ID";
	case EINVAL: return "no such ID, name or port can be";
	case ENOSPC: return "the table is full";
	default: return nullptr;
	}
}

void request(std::uint8_t command, const Family::Fill &fill)
{
	try {
		pnet_family().request(command, fill);
	} catch (const NetlinkError &error) {
		if (const char *why = meaning(error.code()))
			throw NetlinkError(why, error.code());
		throw;
	}
}

} // namespace

void pnet_add(const std::string &id, const PnetDevice &device)
{
	request(SMC_NL_PNET_ADD, [&](nl_msg &message) {
		put_text(message, SMC_NL_PNET_A_NAME, id);
		if (!device.eth.empty())
			put_text(message, SMC_NL_PNET_A_ETH, device.eth);
		if (!device.ib.empty()) {
			put_text(message, SMC_NL_PNET_A_IB, device.ib);
			put_u8(message, SMC_NL_PNET_A_IB_PORT, device.ib_port);
		}
	});
}

void pnet_del(const std::string &id)
{
	request(SMC_NL_PNET_DEL,
		[&](nl_msg &message) { put_text(message, SMC_NL_PNET_A_NAME, upper(id)); });
}

void pnet_flush()
{
	pnet_family().request(SMC_NL_PNET_FLUSH);
}

std::vector<PnetEntry> pnet_entries()
{
	std::vector<PnetEntry> entries;

	pnet_family().dump(SMC_NL_PNET_GET, [&](std::uint8_t, const Attributes &entry) {
		PnetEntry found{entry.text(SMC_NL_PNET_A_NAME), {}};
		const std::uint64_t port = entry.number(SMC_NL_PNET_A_IB_PORT);

		if (port == kNoPort) {
			found.device.eth = entry.text(SMC_NL_PNET_A_ETH);
		} else {
			found.device.ib = entry.text(SMC_NL_PNET_A_IB);
			found.device.ib_port = static_cast<std::uint8_t>(port);
		}
		entries.push_back(found);
	});
	return entries;
}

std::string text_of(const PnetDevice &device)
{
	if (device.ib.empty())
		return "netdev " + device.eth;
	return "rdma " + device.ib + " port " + std::to_string(device.ib_port);
}

void pnet_show(const std::string &id, bool json)
{
	Json rows = Json::array();

	for (const auto &[name, device] : pnet_entries()) {
		if (!id.empty() && name != upper(id))
			continue;
		if (!json)
			std::printf("%-16s %s\n", name.c_str(), text_of(device).c_str());
		else if (device.ib.empty())
			rows.push_back({{"id", name}, {"netdev", device.eth}});
		else
			rows.push_back(
				{{"id", name}, {"rdma", device.ib}, {"port", device.ib_port}});
	}
	if (json)
		print(rows);
}

} // namespace smc_ctl
