// SPDX-License-Identifier: GPL-2.0-only
#include "core/control/eid_table.hpp"

#include "core/control/ascii.hpp"

#include <algorithm>
#include <string_view>

namespace smc::control {

bool is_valid_ueid(const Eid &eid)
{
	std::size_t length = kEidSize;
	while (length > 0 && eid[length - 1] == ' ')
		length--;
	if (length == 0)
		return false;

	for (std::size_t i = 0; i < length; i++) {
		const char c = static_cast<char>(eid[i]);
		if (ascii::is_upper(c) || ascii::is_digit(c))
			continue;
		if (i == 0 || (c != '.' && c != '-'))
			return false;
	}
	return true;
}

Eid default_eid()
{
	constexpr std::string_view text = "SMC-KO-DEFAULT";
	static_assert(text.size() <= kEidSize);
	Eid eid;

	eid.fill(' ');
	std::copy(text.begin(), text.end(), eid.begin());
	return eid;
}

EidTable::Added EidTable::add(const Eid &eid)
{
	if (!is_valid_ueid(eid))
		return Added::kInvalid;
	// A full table answers so even for an EID that it has, as the kernel's own module does.
	if (size_ == kCapacity)
		return Added::kFull;
	if (contains(eid))
		return Added::kExists;
	rows_[size_++] = {eid, ++last_serial_};
	return Added::kYes;
}

bool EidTable::remove(const Eid &eid)
{
	const auto end = rows_.begin() + size_;
	const auto row = std::find_if(rows_.begin(), end,
				      [&](const Row &candidate) { return candidate.eid == eid; });
	if (row == end)
		return false;
	std::copy(row + 1, end, row);
	size_--;
	return true;
}

bool EidTable::contains(const Eid &eid) const
{
	return std::any_of(rows().begin(), rows().end(),
			   [&](const Row &row) { return row.eid == eid; });
}

} // namespace smc::control
