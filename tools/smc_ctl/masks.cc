// SPDX-License-Identifier: GPL-2.0-only
#include "masks.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cctype>
#include <cstring>
#include <optional>

namespace smc_ctl {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

bool belongs_to_word(char c)
{
	return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
	       std::string_view(".:_-").find(c) != std::string_view::npos;
}

// @groups of @digits hexadecimal digits, with colons between them.
bool is_grouped(std::string_view word, std::size_t groups, std::size_t digits)
{
	if (word.size() != groups * (digits + 1) - 1)
		return false;
	for (std::size_t i = 0; i < word.size(); i++) {
		if (i % (digits + 1) == digits ? word[i] != ':'
					       : kHexDigits.find(word[i]) == std::string_view::npos)
			return false;
	}
	return true;
}

bool is_common(const in_addr &address)
{
	const std::uint32_t host_order = ntohl(address.s_addr);

	return host_order == INADDR_ANY || host_order == INADDR_BROADCAST ||
	       host_order >> 24 == 127;
}

// "ip4" and so on; nothing if @word is no address, or one that stays.
std::optional<std::string> kind_of_address(const std::string &word)
{
	in_addr v4;
	in6_addr v6;

	if (inet_pton(AF_INET, word.c_str(), &v4) == 1)
		return is_common(v4) ? std::nullopt : std::optional("ip4");
	if (inet_pton(AF_INET6, word.c_str(), &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_UNSPECIFIED(&v6)
			       ? std::nullopt
			       : std::optional("ip6");
	if (is_grouped(word, 6, 2))
		return "mac";
	// Of an RDMA device: it has the MAC address in it.
	if (is_grouped(word, 4, 4))
		return "guid";
	return std::nullopt;
}

} // namespace

const std::string &Masks::name_of(const std::string &kind, const std::string &word)
{
	const auto [found, is_new] = names_.try_emplace(word);

	if (is_new)
		found->second = kind + "-" + std::to_string(++counts_[kind]);
	return found->second;
}

void Masks::add(const std::string &kind, const std::string &word)
{
	if (!word.empty())
		(void)name_of(kind, word);
}

std::string Masks::masked_word(const std::string &word)
{
	constexpr std::string_view kMapped = "::ffff:";

	if (const auto known = names_.find(word); known != names_.end())
		return known->second;
	// The IPv4 address is the same one as without that.
	if (word.starts_with(kMapped) && word.find('.') != std::string::npos)
		return std::string(kMapped) + masked_word(word.substr(kMapped.size()));
	if (const auto kind = kind_of_address(word))
		return name_of(*kind, word);
	// An IPv4 address with a port, or what ends with a colon or a full stop.
	const std::size_t last = word.find_last_of(":.");
	if (last == std::string::npos || last == 0)
		return word;
	const std::string front = word.substr(0, last);
	const std::string other =
		names_.contains(front) || kind_of_address(front) ? masked_word(front) : front;
	return other == front ? word : other + word.substr(last);
}

std::string Masks::masked(std::string_view text)
{
	std::string out, word;

	const auto end_word = [&] {
		out += masked_word(word);
		word.clear();
	};
	for (const char c : text) {
		if (belongs_to_word(c)) {
			word += c;
			continue;
		}
		end_word();
		out += c;
	}
	end_word();
	return out;
}

} // namespace smc_ctl
