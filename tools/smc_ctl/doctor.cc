// SPDX-License-Identifier: GPL-2.0-only
#include "doctor.hpp"
#include "commands.hpp"
#include "file.hpp"
#include "names.hpp"
#include "netlink.hpp"
#include "printed_by.hpp"
#include "setting.hpp"

#include <smc/genl.h>

#include <fstream>
#include <optional>
#include <regex>

namespace smc_ctl {
namespace {

using Level = Finding::Level;

// The most that RDMA puts into a packet is a power of two, next to some 100 bytes of headers.
constexpr unsigned kMtuForPackets4096 = 4200;

std::optional<unsigned> mtu_of(const std::string &netdev)
{
	std::ifstream file("/sys/class/net/" + netdev + "/mtu");
	unsigned mtu = 0;

	if (!(file >> mtu))
		return std::nullopt;
	return mtu;
}

std::string joined(const std::vector<std::string> &words)
{
	std::string text;

	for (const std::string &word : words)
		text += (text.empty() ? "" : ", ") + word;
	return text;
}

Finding eid_finding()
{
	if (const std::vector<std::string> own = eids(); !own.empty())
		return {Level::kOk, "eid", joined(own) + "; the peer needs one of them"};
	if (const std::string eid = default_eid(); !eid.empty())
		return {Level::kOk, "eid",
			eid + ", the default, which every host with this module has that has no "
			      "other"};
	return {Level::kNote, "eid", "none of its own, so that it has at most those of the host",
		"smc_ctl eid add, or sysctl net.smc.default_eid=1"};
}

// What nft prints; nothing if it cannot be run.
std::optional<std::string> ruleset()
{
	return printed_by("PATH=$PATH:/usr/sbin:/sbin nft list ruleset 2>/dev/null");
}

} // namespace

Finding module_finding()
{
	try {
		const Family any(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION);
	} catch (const NetlinkError &error) {
		if (error.code() != 0)
			throw;
		return {Level::kBad, "module", "smc.ko is not loaded, and could not be",
			"modprobe smc; if there is none for this kernel, build and install it"};
	}
	try {
		const Family ours(SMC_NL_PEERS_FAMILY, SMC_NL_PEERS_VERSION);
	} catch (const NetlinkError &) {
		return {Level::kNote, "module", "the kernel's own smc.ko",
			"modprobe -r smc_diag smc && modprobe smc, if another one is installed"};
	}
	return {Level::kOk, "module", "smc.ko " + first_line("/sys/module/smc/version")};
}

std::vector<Finding> namespace_findings()
{
	std::vector<Finding> findings{eid_finding()};
	const std::map<std::string, std::uint32_t> settings = setting::all();
	const auto is = [&](const char *name, std::uint32_t value) {
		const auto found = settings.find(name);

		return found != settings.end() && found->second == value;
	};

	if (is("smcd_loopback", 0))
		findings.push_back({Level::kNote, "loopback",
				    "connections inside this host do not use SMC-D",
				    "sysctl net.smc.smcd_loopback=2"});
	if (is("limit_smc_hs", 1))
		findings.push_back({Level::kNote, "limit",
				    "listeners serve a burst of clients by TCP",
				    "sysctl net.smc.limit_smc_hs=0"});
	return findings;
}

std::vector<Finding> port_findings(const RdmaPort &port)
{
	const std::string name = port.device + " port " + std::to_string(port.number);
	const std::string netdev = netdev_name(port.ifindex);
	std::vector<Finding> findings;

	if (port.active)
		findings.push_back({Level::kOk, "device", name + " is active, on " + netdev});
	else
		findings.push_back({Level::kBad, "device", name + " is not active",
				    "cable, switch, or ip link set " + netdev + " up"});
	if (port.ifindex == 0)
		findings.push_back({Level::kBad, "device", name + " has no network device",
				    "use an RDMA device with RoCE"});
	if (port.iwarp) {
		findings.push_back(
			{Level::kNote, "device",
			 name + " is an iWARP device: SMC-R by it needs this module at both "
				"ends, and sockets of the initial network namespace",
			 "firewalls have to let TCP pass between the hosts"});
		return findings;
	}
	if (const auto gid = has_ipv4_gid(port); gid && !*gid)
		findings.push_back({Level::kBad, "gid",
				    name + " has no GID of RoCE v2 for an IPv4 address",
				    "give " + netdev + " an IPv4 address"});
	else if (gid)
		findings.push_back({Level::kOk, "gid", name + " has RoCE v2 for IPv4"});
	if (const auto mtu = mtu_of(netdev)) {
		const bool large = *mtu >= kMtuForPackets4096;

		findings.push_back({large ? Level::kOk : Level::kNote, "mtu",
				    netdev + " has " + std::to_string(*mtu),
				    large ? ""
					  : "4200 or more, on the whole way, lets RDMA send "
					    "packets of 4096 bytes"});
	}
	return findings;
}

Finding firewall_finding()
{
	const std::string elsewhere = "firewalls between the hosts have to let UDP port 4791 pass";
	const std::optional<std::string> rules = ruleset();

	if (!rules || rules->empty())
		return {Level::kOk, "firewall", "no rules of nftables here; " + elsewhere};
	const bool drops = std::regex_search(
		*rules, std::regex("hook (input|output)[^\n]*policy drop|\\b(drop|reject)\\b"));
	if (!drops || rules->find("4791") != std::string::npos)
		return {Level::kOk, "firewall", "nothing that is seen to be dropped; " + elsewhere};
	return {Level::kNote, "firewall", "nftables drops packets, and no rule names port 4791",
		"let UDP port 4791 in and out; soft-RoCE is seen by this host's rules, an "
		"adapter is not"};
}

int tell(const std::vector<Finding> &findings, Verdict verdict, bool json)
{
	const auto name_of = [](Verdict of) {
		switch (of) {
		case Verdict::kSmc: return "smc";
		case Verdict::kTcp: return "tcp";
		case Verdict::kNoModule: return "no-module";
		case Verdict::kNoConnection: return "no-connection";
		}
		return "?";
	};

	if (json)
		print({{"verdict", name_of(verdict)}, {"findings", json_of(findings)}});
	else
		print(findings);
	return static_cast<int>(verdict);
}

int doctor(bool json)
{
	std::vector<Finding> findings{module_finding()};

	if (!all_good(findings))
		return tell(findings, Verdict::kNoModule, json);
	append(findings, namespace_findings());
	const std::vector<RdmaPort> ports = rdma_ports();
	if (ports.empty())
		findings.push_back(
			{Level::kBad, "device",
			 "there is no RDMA device: only connections inside "
			 "this host can be SMC",
			 "rdma link show; load the adapter's driver, or try soft-RoCE: rdma link "
			 "add rxe0 type rxe netdev eth0"});
	for (const RdmaPort &port : ports)
		append(findings, port_findings(port));
	findings.push_back(firewall_finding());
	return tell(findings, all_good(findings) ? Verdict::kSmc : Verdict::kTcp, json);
}

} // namespace smc_ctl
