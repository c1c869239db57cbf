// SPDX-License-Identifier: GPL-2.0-only
#include "words.hpp"

#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace smc_ctl {

Words split(const std::string &line)
{
	std::istringstream rest(line);
	Words words;

	while (!(rest >> std::ws).eof() && rest.peek() != '#') {
		std::string word;

		if (!(rest >> std::quoted(word)))
			throw std::invalid_argument("a quote does not end");
		words.push_back(word);
	}
	return words;
}

std::string quoted(const std::string &word)
{
	if (!word.empty() && word.find_first_of(" \t\"#") == std::string::npos)
		return word;
	std::ostringstream text;
	text << std::quoted(word);
	return text.str();
}

} // namespace smc_ctl
