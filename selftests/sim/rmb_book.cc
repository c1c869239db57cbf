// SPDX-License-Identifier: GPL-2.0-only
#include "rmb_book.hpp"

#include <map>
#include <set>

#include "trace.hpp"

namespace sim {
namespace {

std::map<u32, RmbNumber> by_rkey;
std::map<RmbNumber, std::map<u32, RmbKey>> keys; // by queue pair
std::set<RmbNumber> forgotten;

} // namespace

RmbNumber tell_rmb(u32 qpn, const RmbKey &key)
{
	const RmbNumber rmb = by_rkey.try_emplace(key.rkey, keys.size() + 1).first->second;

	tell_rmb_on(rmb, qpn, key);
	return rmb;
}

void tell_rmb_on(RmbNumber rmb, u32 qpn, const RmbKey &key)
{
	if (by_rkey.try_emplace(key.rkey, rmb).first->second != rmb)
		fail("rkey %x is that of another RMB", key.rkey);
	keys[rmb][qpn] = key;
}

std::optional<RmbNumber> rmb_of(u32 rkey)
{
	const auto found = by_rkey.find(rkey);

	if (found == by_rkey.end())
		return std::nullopt;
	return found->second;
}

std::optional<RmbKey> rmb_on(RmbNumber rmb, u32 qpn)
{
	const auto found = keys[rmb].find(qpn);

	if (found == keys[rmb].end())
		return std::nullopt;
	return found->second;
}

void forget_rmb(RmbNumber rmb)
{
	forgotten.insert(rmb);
}

void remember_rmb(RmbNumber rmb)
{
	forgotten.erase(rmb);
}

bool is_forgotten(u32 rkey)
{
	const auto rmb = rmb_of(rkey);

	return rmb && forgotten.contains(*rmb);
}

} // namespace sim
