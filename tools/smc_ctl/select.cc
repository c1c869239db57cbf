// SPDX-License-Identifier: GPL-2.0-only
#include "cgroup.hpp"
#include "commands.hpp"
#include "file.hpp"
#include "json.hpp"
#include "marker.hpp"
#include "netlink.hpp"
#include "unit.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

namespace smc_ctl {
namespace {

namespace fs = std::filesystem;

constexpr const char *kSwitch = "/proc/sys/net/smc/tcp2smc";
// The exit statuses of a shell: not found, and found but not executable.
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

[[noreturn]] void fail(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

// Of /run/netns; empty: that of this process.
void enter(const std::string &netns)
{
	if (netns.empty())
		return;
	const int fd = open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		fail("network namespace " + netns);
	close(fd);
}

void switch_netns(const std::string &netns, bool on)
{
	enter(netns);
	write_file(kSwitch, on ? "1\n" : "0\n");
}

void add_cgroup(const std::string &path)
{
	const Cgroup cgroup(path);

	marker::prepare();
	if (!marker::attach(cgroup))
		throw NetlinkError("cgroup " + path + " is selected already", 0);
}

void del_cgroup(const std::string &path)
{
	const bool was = marker::detach(Cgroup(path).id());

	select_tidy();
	if (!was)
		throw NetlinkError("cgroup " + path + " is not selected", 0);
}

void add_unit(const std::string &name)
{
	marker::prepare();
	const bool fresh = unit::add(name);
	const std::string cgroup = unit::cgroup(name);

	// One that runs need not be restarted.
	if (!cgroup.empty())
		(void)marker::attach(Cgroup(cgroup));
	if (!fresh)
		throw NetlinkError("unit " + name + " is selected already", 0);
}

void del_unit(const std::string &name)
{
	const bool was = unit::remove(name);
	const std::string cgroup = unit::cgroup(name);

	if (!cgroup.empty())
		(void)marker::detach(Cgroup(cgroup).id());
	select_tidy();
	if (!was)
		throw NetlinkError("unit " + name + " is not selected", 0);
}

// Empty also where systemd does not run, and so no unit does.
std::string cgroup_of_unit(const std::string &name)
{
	try {
		return unit::cgroup(name);
	} catch (const std::system_error &) {
		return {};
	}
}

const std::string kRunPrefix = "smc_run-";

// Cgroups of select_run()s that were killed, and whose programs have ended.
void remove_left_ones()
{
	std::error_code none;

	for (const fs::directory_entry &entry : fs::directory_iterator(Cgroup::own(), none)) {
		const std::string name = entry.path().filename();

		if (!name.starts_with(kRunPrefix))
			continue;
		const pid_t runner = std::atoi(name.c_str() + kRunPrefix.size());
		if (runner > 0 && kill(runner, 0) != 0 && errno == ESRCH)
			(void)rmdir(entry.path().c_str());
	}
}

pid_t running = 0;

void pass_on(int signal)
{
	if (running > 0)
		kill(running, signal);
}

int exit_status_of(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			fail("waiting for the program");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// In the child. Does not return.
[[noreturn]] void execute(const std::string &cgroup, char *const *command)
{
	std::ofstream members(cgroup + "/cgroup.procs");

	if (!(members << getpid() << std::endl)) {
		std::fprintf(stderr, "smc_ctl: cannot join %s\n", cgroup.c_str());
		_exit(kNotExecutable);
	}
	execvp(command[0], command);
	const int error = errno;
	std::fprintf(stderr, "smc_ctl: %s: %s\n", command[0],
		     std::generic_category().message(error).c_str());
	_exit(error == ENOENT ? kNotFound : kNotExecutable);
}

} // namespace

void select_prepare()
{
	marker::prepare();
}

void select_tidy()
{
	remove_left_ones();
	if (unit::selected().empty())
		marker::tidy();
}

void select_clear()
{
	for (const std::uint64_t id : marker::attached())
		(void)marker::detach(id);
	select_tidy();
}

void select_add(const Selection &what)
{
	if (what.netns)
		switch_netns(*what.netns, true);
	try {
		if (!what.cgroup.empty())
			add_cgroup(what.cgroup);
		if (!what.unit.empty())
			add_unit(what.unit);
	} catch (...) {
		select_tidy();
		throw;
	}
}

void select_del(const Selection &what)
{
	if (what.netns)
		switch_netns(*what.netns, false);
	if (!what.cgroup.empty())
		del_cgroup(what.cgroup);
	if (!what.unit.empty())
		del_unit(what.unit);
}

std::vector<Selected> selections()
{
	std::ifstream file(kSwitch);
	std::vector<Selected> found;
	std::set<std::string> of_units;
	int on = 0;

	if (file >> on && on != 0)
		found.push_back({.what = {.netns = ""}});
	const std::vector<std::string> units = unit::selected();
	for (const std::string &name : units) {
		if (const std::string cgroup = cgroup_of_unit(name); !cgroup.empty())
			of_units.insert(Cgroup::directory(cgroup));
	}
	for (const std::uint64_t id : marker::attached()) {
		const auto path = Cgroup::find(id);
		const std::string directory = path ? *path : std::to_string(id);

		found.push_back({.what = {.cgroup = directory},
				 .passing = !path || of_units.contains(directory) ||
					    fs::path(directory).filename().string().starts_with(
						    kRunPrefix)});
	}
	for (const std::string &name : units)
		found.push_back({.what = {.unit = name}});
	return found;
}

namespace {

// What kind it is, and its name.
std::pair<const char *, std::string> named(const Selection &what)
{
	if (what.netns)
		return {"netns", "(this one)"};
	if (!what.cgroup.empty())
		return {"cgroup", what.cgroup};
	return {"unit", what.unit};
}

} // namespace

void select_list(bool json)
{
	Json rows = Json::array();

	for (const Selected &selected : selections()) {
		const auto [kind, name] = named(selected.what);

		if (json)
			rows.push_back({{"kind", kind}, {"name", name}});
		else
			std::printf("%s %s\n", kind, name.c_str());
	}
	if (json)
		print(rows);
}

int select_run(char *const *command)
{
	remove_left_ones();
	const std::string directory = Cgroup::own() + "/" + kRunPrefix + std::to_string(getpid());

	if (mkdir(directory.c_str(), 0755) != 0)
		fail(directory);
	int status = EXIT_FAILURE;
	try {
		const Cgroup cgroup(directory);

		marker::prepare();
		(void)marker::attach(cgroup);
		// The terminal sends its signals to the program as well.
		for (const int signal : {SIGINT, SIGQUIT})
			std::signal(signal, SIG_IGN);
		running = fork();
		if (running < 0)
			fail("fork");
		if (running == 0) {
			for (const int signal : {SIGINT, SIGQUIT})
				std::signal(signal, SIG_DFL);
			execute(directory, command);
		}
		for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
			std::signal(signal, pass_on);
		status = exit_status_of(running);
		// A daemon that it has left behind stays selected.
		if (rmdir(directory.c_str()) == 0)
			(void)marker::detach(cgroup.id());
		select_tidy();
	} catch (...) {
		(void)rmdir(directory.c_str());
		throw;
	}
	return status;
}

} // namespace smc_ctl
