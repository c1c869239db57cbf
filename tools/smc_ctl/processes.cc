// SPDX-License-Identifier: GPL-2.0-only
#include "processes.hpp"
#include "file.hpp"

#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>

namespace smc_ctl {
namespace {

namespace fs = std::filesystem;

// False unless all of @text is one.
template <typename Number>
bool parse(std::string_view text, Number &number)
{
	const auto [rest, error] = std::from_chars(text.begin(), text.end(), number);

	return error == std::errc() && rest == text.end();
}

// Once each, though it may have several descriptors of one.
std::set<std::uint64_t> sockets_of(const fs::path &process)
{
	constexpr std::string_view kBegin = "socket:[";
	std::set<std::uint64_t> inodes;
	std::error_code gone;

	for (const fs::directory_entry &fd : fs::directory_iterator(process / "fd", gone)) {
		const std::string target = fs::read_symlink(fd.path(), gone);
		std::uint64_t inode = 0;

		if (target.starts_with(kBegin) && target.ends_with(']') &&
		    parse(std::string_view(target).substr(kBegin.size(),
							  target.size() - kBegin.size() - 1),
			  inode))
			inodes.insert(inode);
	}
	return inodes;
}

} // namespace

std::multimap<std::uint64_t, Process> owners_of_sockets()
{
	std::multimap<std::uint64_t, Process> owners;

	for (const fs::directory_entry &entry : fs::directory_iterator("/proc")) {
		Process process;

		if (!parse(entry.path().filename().string(), process.pid))
			continue;
		process.name = first_line(entry.path() / "comm");
		for (const std::uint64_t inode : sockets_of(entry.path()))
			owners.emplace(inode, process);
	}
	return owners;
}

std::string text_of(const Owners &owners, std::uint64_t inode)
{
	const auto [first, last] = owners.equal_range(inode);
	std::string text;

	for (auto owner = first; owner != last; ++owner)
		text += " " + owner->second.name + "(" + std::to_string(owner->second.pid) + ")";
	return text;
}

Json json_of(const Owners &owners, std::uint64_t inode)
{
	const auto [first, last] = owners.equal_range(inode);
	Json json = Json::array();

	for (auto owner = first; owner != last; ++owner)
		json.push_back({{"pid", owner->second.pid}, {"name", owner->second.name}});
	return json;
}

} // namespace smc_ctl
