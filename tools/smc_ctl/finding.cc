// SPDX-License-Identifier: GPL-2.0-only
#include "finding.hpp"

#include <algorithm>
#include <cstdio>

namespace smc_ctl {
namespace {

const char *name_of(Finding::Level level)
{
	switch (level) {
	case Finding::Level::kOk: return "ok";
	case Finding::Level::kNote: return "note";
	case Finding::Level::kBad: return "BAD";
	}
	return "?";
}

} // namespace

void print(const std::vector<Finding> &findings)
{
	for (const Finding &finding : findings) {
		std::printf("%-4s %-10s %s\n", name_of(finding.level), finding.what.c_str(),
			    finding.text.c_str());
		if (!finding.advice.empty())
			std::printf("%-15s -> %s\n", "", finding.advice.c_str());
	}
}

Json json_of(const std::vector<Finding> &findings)
{
	Json rows = Json::array();

	for (const Finding &finding : findings) {
		Json row = {{"level", name_of(finding.level)},
			    {"what", finding.what},
			    {"text", finding.text}};
		if (!finding.advice.empty())
			row["advice"] = finding.advice;
		rows.push_back(row);
	}
	return rows;
}

void append(std::vector<Finding> &findings, const std::vector<Finding> &more)
{
	findings.insert(findings.end(), more.begin(), more.end());
}

bool all_good(const std::vector<Finding> &findings)
{
	return std::none_of(findings.begin(), findings.end(), [](const Finding &finding) {
		return finding.level == Finding::Level::kBad;
	});
}

} // namespace smc_ctl
