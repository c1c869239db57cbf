// SPDX-License-Identifier: GPL-2.0-only
#include "config.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace smc_ctl {
namespace {

const Kind &kind_of(const std::string &word)
{
	const auto found = std::find_if(kinds().begin(), kinds().end(),
					[&](const Kind &kind) { return word == kind.word; });

	if (found == kinds().end())
		throw std::invalid_argument("\"" + word +
					    "\" is none of set, rules, pnet, eid, select");
	return *found;
}

void add_line(Config &config, Words words, int line)
{
	const Kind &kind = kind_of(words.front());
	Wanted &wanted = config[kind.word];

	words.erase(words.begin());
	if (words.empty() && kind.remove != nullptr)
		return;
	for (const Statement &text : kind.parse(words)) {
		for (const auto &[other, its_line] : wanted.lines) {
			if (kind.key(other) == kind.key(text))
				throw std::invalid_argument("is said in line " +
							    std::to_string(its_line) + " already");
		}
		wanted.texts.push_back(text);
		wanted.lines.emplace(text, line);
	}
}

} // namespace

Config read_config(const std::string &path)
{
	errno = 0;
	std::ifstream file(path);
	std::string errors;
	Config config;
	std::string text;
	int line = 0;

	if (!file.is_open())
		throw std::system_error(errno, std::generic_category(), path);
	while (std::getline(file, text)) {
		line++;
		try {
			const Words words = split(text);

			if (!words.empty())
				add_line(config, words, line);
		} catch (const std::exception &error) {
			errors += path + ":" + std::to_string(line) + ": " + error.what() + "\n";
		}
	}
	// A directory can be opened, and fails to be read.
	if (file.bad())
		throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path);
	if (!errors.empty())
		throw ConfigError(errors);
	return config;
}

} // namespace smc_ctl
