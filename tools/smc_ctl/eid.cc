// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "json.hpp"
#include "names.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <cerrno>
#include <cstdio>

namespace smc_ctl {
namespace {

constexpr std::size_t kEidSize = 32;

Family gen_family()
{
	return {SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION};
}

// The form that the kernel wants: upper case, padded with blanks.
std::string padded(const std::string &eid)
{
	if (eid.size() > kEidSize)
		throw NetlinkError("an EID has at most 32 characters", 0);
	std::string text = upper(eid);
	text.resize(kEidSize, ' ');
	return text;
}

void change(std::uint8_t command, const std::string &eid)
{
	gen_family().request(command, [&](nl_msg &message) {
		put_text(message, SMC_NL_UEID_ENTRY, padded(eid));
	});
}

// The meaning of the errno here; strerror() would speak of files and mathematics.
const char *meaning(int code)
{
	switch (code) {
	case EEXIST: return "is there already";
	case ERANGE: return "is one too many: a network namespace has at most four";
	case ENOENT: return "is not there";
	case EINVAL: return "is no EID: letters, digits, '.' and '-', a letter or digit first";
	default: return nullptr;
	}
}

void change_saying_why(std::uint8_t command, const std::string &eid)
{
	try {
		change(command, eid);
	} catch (const NetlinkError &error) {
		if (const char *why = meaning(error.code()))
			throw NetlinkError("\"" + eid + "\" " + why, 0);
		throw;
	}
}

} // namespace

void eid_add(const std::string &eid)
{
	change_saying_why(SMC_NL_ADD_UEID, eid);
}

void eid_del(const std::string &eid)
{
	change_saying_why(SMC_NL_REMOVE_UEID, eid);
}

void eid_flush()
{
	gen_family().request(SMC_NL_FLUSH_UEID);
}

std::vector<std::string> eids()
{
	std::vector<std::string> found;

	gen_family().dump(SMC_NL_DUMP_UEID, [&](std::uint8_t, const Attributes &message) {
		found.push_back(message.text(SMC_NL_UEID_ENTRY));
	});
	return found;
}

std::string default_eid()
{
	std::string eid;

	gen_family().dump(SMC_NL_GET_SYS_INFO, [&](std::uint8_t, const Attributes &message) {
		eid = message.nest(SMC_NL_A_SYS_INFO).text(SMC_NL_SYS_DEFAULT_EID);
	});
	return eid;
}

void eid_show(bool json)
{
	const std::string instead = default_eid();
	Json rows = Json::array();

	for (const std::string &eid : eids())
		rows.push_back({{"eid", eid}, {"default", false}});
	if (!instead.empty())
		rows.push_back({{"eid", instead}, {"default", true}});
	if (json) {
		print(rows);
		return;
	}
	for (const Json &row : rows)
		std::printf("%s%s\n", row["eid"].get<std::string>().c_str(),
			    row["default"].get<bool>() ? " (default)" : "");
}

} // namespace smc_ctl
