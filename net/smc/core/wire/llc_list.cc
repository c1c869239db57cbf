// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/llc_list.hpp"

#include <cstring>

namespace smc::wire {

void RkeyPairCodec::put(const Value &value, std::byte *to)
{
	const layout::RkeyPairEntry entry{.rkey = Be32::from(value.rkey.value()),
					  .new_rkey = Be32::from(value.new_rkey.value()),
					  .new_address = Be64::from(value.new_address)};
	std::memcpy(to, &entry, sizeof(entry));
}

RkeyPair RkeyPairCodec::get(const std::byte *from)
{
	layout::RkeyPairEntry entry;
	std::memcpy(&entry, from, sizeof(entry));
	return {.rkey = Rkey{entry.rkey.get()},
		.new_rkey = Rkey{entry.new_rkey.get()},
		.new_address = entry.new_address.get()};
}

void RkeyCodec::put(const Value &value, std::byte *to)
{
	const auto entry = Be32::from(value.value());
	std::memcpy(to, &entry, sizeof(entry));
}

Rkey RkeyCodec::get(const std::byte *from)
{
	Be32 entry;
	std::memcpy(&entry, from, sizeof(entry));
	return Rkey{entry.get()};
}

void GidCodec::put(const Value &value, std::byte *to)
{
	std::memcpy(to, &value, sizeof(value));
}

Gid GidCodec::get(const std::byte *from)
{
	Gid gid;
	std::memcpy(&gid, from, sizeof(gid));
	return gid;
}

static_assert(sizeof(Be32) == RkeyCodec::kSize && sizeof(Gid) == GidCodec::kSize);

} // namespace smc::wire
