// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace smc_ctl {

// Other names for what a stranger need not know: addresses, and words that were said. The same one
// always gets the same other name, so that a reader sees what belongs together. Addresses of the
// host itself (127.0.0.1, ::1) and those that say "any" stay.
class Masks {
public:
	// From now on @word is "<kind>-1", or what number its kind is at. Empty ones stay.
	void add(const std::string &kind, const std::string &word);
	[[nodiscard]] std::string masked(std::string_view text);

private:
	[[nodiscard]] std::string masked_word(const std::string &word);
	const std::string &name_of(const std::string &kind, const std::string &word);

	std::map<std::string, std::string> names_;
	std::map<std::string, unsigned> counts_;
};

} // namespace smc_ctl
