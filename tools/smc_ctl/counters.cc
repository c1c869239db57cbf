// SPDX-License-Identifier: GPL-2.0-only
#include "counters.hpp"
#include "file.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace smc_ctl::counters {
namespace {

Counters parse(std::ifstream &file)
{
	Counters counters;
	std::string name;
	std::uint64_t value = 0;

	while (file >> name >> value)
		counters[name] = value;
	return counters;
}

// Of this network namespace. Who is not root has a directory that others cannot write into.
std::string mark_path()
{
	const char *own = getuid() == 0 ? nullptr : std::getenv("XDG_RUNTIME_DIR");
	struct stat netns {};

	(void)stat("/proc/self/ns/net", &netns);
	return std::string(own ? own : "/run") + "/smc_ctl.stats." + std::to_string(netns.st_ino);
}

} // namespace

Counters read()
{
	const Family loaded(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION);
	std::ifstream file("/proc/net/smc_stat");

	if (!file)
		throw NetlinkError("/proc/net/smc_stat: the kernel's own smc.ko has no such", 0);
	return parse(file);
}

void mark(const Counters &now)
{
	std::string text;

	for (const auto &[name, value] : now)
		text += name + " " + std::to_string(value) + "\n";
	write_file(mark_path(), text);
}

Counters since_mark(const Counters &now)
{
	std::ifstream file(mark_path());
	const Counters before = parse(file);
	Counters grown;

	for (const auto &[name, value] : now) {
		const auto old = before.find(name);
		const std::uint64_t growth = value - (old == before.end() ? 0 : old->second);

		if (growth != 0)
			grown.emplace(name, growth);
	}
	return grown;
}

} // namespace smc_ctl::counters
