// SPDX-License-Identifier: GPL-2.0-only
#include "address.hpp"
#include "netlink.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace smc_ctl {
namespace {

constexpr unsigned kBits = 128;
constexpr unsigned kBitsV4 = 32;
constexpr std::size_t kMappedBytes = 12; // of ::ffff:0:0/96

bool is_mapped(const Address &address)
{
	static constexpr std::array<std::uint8_t, kMappedBytes> kMapped{0, 0, 0, 0, 0,    0,
									0, 0, 0, 0, 0xff, 0xff};

	return std::equal(kMapped.begin(), kMapped.end(), address.begin());
}

// True for IPv4.
bool parse_address(const std::string &text, Address &address)
{
	if (inet_pton(AF_INET, text.c_str(), address.data() + kMappedBytes) == 1) {
		address[kMappedBytes - 1] = address[kMappedBytes - 2] = 0xff;
		return true;
	}
	if (inet_pton(AF_INET6, text.c_str(), address.data()) != 1)
		throw NetlinkError("\"" + text + "\" is no IP address", 0);
	return false;
}

bool has_bits_behind(const Prefix &prefix)
{
	for (unsigned bit = prefix.bits; bit < kBits; bit++) {
		if ((prefix.address[bit / 8] & 0x80U >> bit % 8) != 0)
			return true;
	}
	return false;
}

} // namespace

std::string text_of(const Address &address)
{
	char text[INET6_ADDRSTRLEN];
	const bool v4 = is_mapped(address);

	if (!inet_ntop(v4 ? AF_INET : AF_INET6, address.data() + (v4 ? kMappedBytes : 0), text,
		       sizeof(text)))
		return "?";
	return text;
}

Prefix parse_prefix(const std::string &text)
{
	const std::size_t slash = text.find('/');
	Prefix prefix;
	const bool v4 = parse_address(text.substr(0, slash), prefix.address);
	const unsigned most = v4 ? kBitsV4 : kBits;
	unsigned bits = most;

	if (slash != std::string::npos) {
		const char *end = text.data() + text.size();
		const auto [rest, error] = std::from_chars(text.data() + slash + 1, end, bits);

		if (error != std::errc() || rest != end || bits > most)
			throw NetlinkError("\"" + text + "\": a prefix has 0 to " +
						   std::to_string(most) + " bits",
					   0);
	}
	prefix.bits = static_cast<std::uint8_t>(bits + (v4 ? kBits - kBitsV4 : 0));
	if (has_bits_behind(prefix))
		throw NetlinkError("\"" + text + "\" has bits set behind its prefix", 0);
	return prefix;
}

bool is_in(const Address &address, const Prefix &prefix)
{
	for (unsigned bit = 0; bit < prefix.bits; bit++) {
		if (((address[bit / 8] ^ prefix.address[bit / 8]) & 0x80U >> bit % 8) != 0)
			return false;
	}
	return true;
}

std::string text_of(const Prefix &prefix)
{
	const unsigned v4_bits = kBits - kBitsV4;

	if (prefix.bits == 0)
		return "any";
	if (prefix.bits == kBits)
		return text_of(prefix.address);
	const bool v4 = prefix.bits >= v4_bits && is_mapped(prefix.address);
	return text_of(prefix.address) + "/" + std::to_string(prefix.bits - (v4 ? v4_bits : 0));
}

} // namespace smc_ctl
