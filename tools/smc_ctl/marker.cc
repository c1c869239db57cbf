// SPDX-License-Identifier: GPL-2.0-only
#include "marker.hpp"
#include "fd.hpp"
#include "file.hpp"

#include "mark.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace smc_ctl::marker {
namespace {

namespace fs = std::filesystem;

constexpr const char *kBpfFs = "/sys/fs/bpf";
constexpr const char *kDirectory = "/sys/fs/bpf/smc";
constexpr const char *kCgroupPin = "/sys/fs/bpf/smc/cgroup-";
constexpr const char *kSysctl = "/proc/sys/net/smc/tcp2smc_mark";
// A bit that no network plugin is known to use. It is on a socket only while the socket is made.
constexpr std::uint32_t kMarkDefault = 0x1000000;
constexpr long kBpfFsMagic = 0xcafe4a11;

[[noreturn]] void fail(const std::string &what, int error)
{
	throw std::system_error(error, std::generic_category(), what);
}

std::uint32_t read_mark()
{
	std::ifstream file(kSysctl);
	std::uint32_t mark = 0;

	if (!(file >> mark))
		fail("net.smc.tcp2smc_mark (is smc.ko of this project loaded?)", ENOENT);
	return mark;
}

void write_mark(std::uint32_t mark)
{
	write_file(kSysctl, std::to_string(mark) + "\n");
}

void make_directory()
{
	struct statfs found;

	if (statfs(kBpfFs, &found) != 0)
		fail(kBpfFs, errno);
	if (found.f_type != kBpfFsMagic && mount("bpf", kBpfFs, "bpf", 0, "mode=0700") != 0)
		fail(std::string("mounting ") + kBpfFs, errno);
	if (mkdir(kDirectory, 0700) != 0 && errno != EEXIST)
		fail(kDirectory, errno);
}

std::string pin_of(std::uint64_t id)
{
	return kCgroupPin + std::to_string(id);
}

struct Destroy {
	void operator()(mark_bpf *skeleton) const { mark_bpf__destroy(skeleton); }
};

void load(std::uint32_t mark)
{
	libbpf_set_print(nullptr);
	const std::unique_ptr<mark_bpf, Destroy> skeleton(mark_bpf__open());

	if (skeleton == nullptr)
		fail("the BPF program", errno);
	skeleton->rodata->mark = mark;
	if (const int error = mark_bpf__load(skeleton.get()))
		fail("loading the BPF program", -error);
	if (const int error = bpf_program__pin(skeleton->progs.smc_mark, kProgramPin))
		fail(kProgramPin, -error);
}

int program()
{
	const int fd = bpf_obj_get(kProgramPin);

	if (fd < 0)
		fail(kProgramPin, errno);
	return fd;
}

// A link whose cgroup has been removed says 0.
std::optional<std::uint64_t> cgroup_of(const std::string &pin)
{
	const Fd link(bpf_obj_get(pin.c_str()));
	bpf_link_info info{};
	__u32 size = sizeof(info);

	if (link.get() < 0 || bpf_obj_get_info_by_fd(link.get(), &info, &size) != 0 ||
	    info.cgroup.cgroup_id == 0)
		return std::nullopt;
	return info.cgroup.cgroup_id;
}

} // namespace

void prepare()
{
	std::uint32_t mark = read_mark();

	if (mark == 0) {
		write_mark(kMarkDefault);
		mark = kMarkDefault;
		// One that an earlier mark was made for.
		(void)unlink(kProgramPin);
	}
	make_directory();
	if (access(kProgramPin, F_OK) != 0)
		load(mark);
}

bool attach(const Cgroup &cgroup)
{
	const std::string pin = pin_of(cgroup.id());

	if (cgroup_of(pin))
		return false;
	(void)unlink(pin.c_str());
	const Fd code(program());
	const Fd link(
		bpf_link_create(code.get(), cgroup.fd(), BPF_CGROUP_INET_SOCK_CREATE, nullptr));
	if (link.get() < 0)
		fail("attaching the BPF program", errno);
	if (bpf_obj_pin(link.get(), pin.c_str()) != 0)
		fail(pin, errno);
	return true;
}

bool detach(std::uint64_t id)
{
	if (unlink(pin_of(id).c_str()) == 0)
		return true;
	if (errno != ENOENT)
		fail(pin_of(id), errno);
	return false;
}

std::vector<std::uint64_t> attached()
{
	const std::string prefix = fs::path(kCgroupPin).filename();
	std::vector<std::uint64_t> ids;
	std::error_code none;

	for (const fs::directory_entry &pin : fs::directory_iterator(kDirectory, none)) {
		if (!pin.path().filename().string().starts_with(prefix))
			continue;
		if (const auto id = cgroup_of(pin.path()))
			ids.push_back(*id);
		else
			(void)unlink(pin.path().c_str());
	}
	return ids;
}

void tidy()
{
	if (!attached().empty())
		return;
	if (unlink(kProgramPin) == 0 && access(kSysctl, F_OK) == 0)
		write_mark(0);
	(void)rmdir(kDirectory);
}

} // namespace smc_ctl::marker
