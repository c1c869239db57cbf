// SPDX-License-Identifier: GPL-2.0-only
#include "unit.hpp"
#include "file.hpp"
#include "marker.hpp"

#include <spawn.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

extern char **environ;

namespace smc_ctl::unit {
namespace {

namespace fs = std::filesystem;

constexpr const char *kUnits = "/etc/systemd/system";
constexpr const char *kDropIn = "50-smc.conf";
// Has the program pinned before units want it, at each boot.
constexpr const char *kPreparer = "smc-select.service";

fs::path drop_in_of(const std::string &name)
{
	return fs::path(kUnits) / (full_name(name) + ".d") / kDropIn;
}

void write(const fs::path &path, const std::string &text)
{
	fs::create_directories(path.parent_path());
	write_file(path, text);
}

// What it prints.
std::string systemctl(std::vector<std::string> arguments)
{
	std::vector<char *> argv{const_cast<char *>("systemctl")};
	posix_spawn_file_actions_t actions;
	std::string said;
	int out[2];
	pid_t child;
	int status;
	char buffer[512];

	for (std::string &argument : arguments)
		argv.push_back(argument.data());
	argv.push_back(nullptr);
	if (pipe2(out, O_CLOEXEC) != 0)
		throw std::system_error(errno, std::generic_category(), "systemctl");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	for (ssize_t n; error == 0 && (n = read(out[0], buffer, sizeof(buffer))) > 0;)
		said.append(buffer, static_cast<std::size_t>(n));
	close(out[0]);
	if (error != 0)
		throw std::system_error(error, std::generic_category(), "systemctl");
	if (waitpid(child, &status, 0) != child || status != 0)
		throw std::system_error(EIO, std::generic_category(),
					"systemctl " + arguments.front() + " has failed");
	while (said.ends_with('\n'))
		said.pop_back();
	return said;
}

std::string section_of(const std::string &name)
{
	static const std::pair<const char *, const char *> kSections[] = {
		{".service", "Service"}, {".slice", "Slice"}, {".scope", "Scope"},
		{".socket", "Socket"},   {".mount", "Mount"}, {".swap", "Swap"},
	};

	for (const auto &[suffix, section] : kSections) {
		if (name.ends_with(suffix))
			return section;
	}
	throw std::system_error(EINVAL, std::generic_category(), name + " has no cgroup");
}

void write_preparer()
{
	write(fs::path(kUnits) / kPreparer,
	      "# Written by smc_ctl select; removed with the last unit that it selects.\n"
	      "[Unit]\n"
	      "Description=BPF program that selects units for SMC\n"
	      "DefaultDependencies=no\n"
	      "After=systemd-modules-load.service systemd-sysctl.service\n"
	      "\n"
	      "[Service]\n"
	      "Type=oneshot\n"
	      "RemainAfterExit=yes\n"
	      "ExecStart=-/sbin/modprobe smc\n"
	      "ExecStart=" +
		      fs::read_symlink("/proc/self/exe").string() + " select prepare\n");
}

} // namespace

std::string full_name(const std::string &name)
{
	if (name.empty() || name.find('/') != std::string::npos)
		throw std::system_error(EINVAL, std::generic_category(), "unit " + name);
	return name.find('.') != std::string::npos ? name : name + ".service";
}

bool add(const std::string &name)
{
	const fs::path drop_in = drop_in_of(name);
	const std::string section = section_of(full_name(name));

	if (fs::exists(drop_in))
		return false;
	write_preparer();
	write(drop_in, "# Written by smc_ctl select.\n"
		       "[Unit]\n"
		       "Wants=" +
			       std::string(kPreparer) + "\nAfter=" + kPreparer + "\n\n[" + section +
			       "]\nBPFProgram=sock_create:" + marker::kProgramPin + "\n");
	(void)systemctl({"daemon-reload"});
	return true;
}

bool remove(const std::string &name)
{
	const fs::path drop_in = drop_in_of(name);
	std::error_code left;

	if (!fs::remove(drop_in))
		return false;
	fs::remove(drop_in.parent_path(), left);
	if (selected().empty())
		fs::remove(fs::path(kUnits) / kPreparer);
	(void)systemctl({"daemon-reload"});
	return true;
}

std::vector<std::string> selected()
{
	std::vector<std::string> names;
	std::error_code none;

	for (const fs::directory_entry &entry : fs::directory_iterator(kUnits, none)) {
		if (entry.path().extension() == ".d" && fs::exists(entry.path() / kDropIn))
			names.push_back(entry.path().stem());
	}
	return names;
}

std::string cgroup(const std::string &name)
{
	return systemctl({"show", "--property=ControlGroup", "--value", full_name(name)});
}

} // namespace smc_ctl::unit
