// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "json.hpp"
#include "masks.hpp"
#include "printed_by.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

namespace smc_ctl {
namespace {

// Of this program, whose output is JSON.
constexpr std::array kOwn = {
	"doctor",  "info",   "eid show", "pnet show", "rules show", "peers show", "select list",
	"devices", "groups", "links",    "fallback",  "stats",      "sockets",
};

struct Section {
	const char *title;
	const char *command;
};

// Whatever is not there prints nothing.
constexpr std::array kOthers = {
	Section{"Versions",
		"uname -srvm; grep PRETTY_NAME /etc/os-release; modinfo -F filename smc;"
		" cd /sys/module/smc && grep . version srcversion taint"},
	Section{"Sysctls", "grep . /proc/sys/net/smc/*"},
	Section{"/etc/smc.conf", "cat /etc/smc.conf"},
	Section{"RDMA devices", "rdma link show"},
	Section{"Kernel log, its last lines about SMC and RDMA",
		"dmesg | grep -iE '\\b(smc|rdma|infiniband|roce|rxe|mlx[45]|erdma)|WARNING: "
		"CPU|BUG:|Oops' | "
		"grep -v 'ommand line:' | tail -n 200"},
};

// Names that people have chosen, by the member of JSON that has them.
const std::map<std::string, std::string> kNames = {
	{"eid", "eid"}, {"host", "host"}, {"peer_host", "host"}, {"id", "pnet"}, {"pnet", "pnet"},
};

void learn_names(const Json &json, Masks &masks)
{
	for (const auto &[key, value] : json.items()) {
		const auto kind = json.is_object() ? kNames.find(key) : kNames.end();

		if (value.is_structured())
			learn_names(value, masks);
		else if (value.is_string() && kind != kNames.end())
			masks.add(kind->second, value.get<std::string>());
	}
}

std::string own_host()
{
	char name[HOST_NAME_MAX + 1] = "";

	(void)gethostname(name, sizeof(name) - 1);
	return name;
}

} // namespace

void report()
{
	const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
	std::map<std::string, std::string> said;
	Masks masks;

	masks.add("host", own_host());
	for (const char *command : kOwn) {
		std::string &text = said[command];

		text = printed_by("'" + self + "' " + command + " --json 2>&1").value_or("");
		// What is no JSON is an error message.
		if (const Json json = Json::parse(text, nullptr, false); !json.is_discarded())
			learn_names(json, masks);
	}
	std::printf("smc_ctl " SMC_PACKAGE_VERSION
		    ", report. Addresses and names of hosts, networks and "
		    "enterprises have other names here.\n");
	for (const auto &[title, command] : kOthers) {
		const std::string text =
			printed_by("exec 2>/dev/null; PATH=$PATH:/usr/sbin:/sbin; " +
				   std::string(command))
				.value_or("");
		std::printf("\n== %s\n\n%s", title, masks.masked(text).c_str());
	}
	for (const char *command : kOwn)
		std::printf("\n== smc_ctl %s\n\n%s", command, masks.masked(said[command]).c_str());
}

} // namespace smc_ctl
