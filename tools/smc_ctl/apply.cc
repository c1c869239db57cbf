// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "config.hpp"
#include "file.hpp"
#include "netlink.hpp"

#include <smc/genl.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace smc_ctl {
namespace {

// Settings are there only while the module is.
void load_module()
{
	const Family loaded(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION);
}

// False, with the reason printed, if the kernel refuses.
bool carry_out(const Kind &kind, const Step &step, const std::string &where)
{
	try {
		(step.what == Step::What::kAdd ? kind.add : kind.remove)(step.text);
		return true;
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", where.c_str(), error.what());
		return false;
	}
}

bool apply_kind(const Kind &kind, const Wanted &wanted, const ApplyOptions &options)
{
	bool fine = true;

	for (const Step &step : kind.plan(kind.in_force(), wanted.texts)) {
		const bool adds = step.what == Step::What::kAdd;
		const std::string line = std::string(kind.word) + " " + step.text;

		if (step.shown)
			std::printf("%c %s\n", adds ? '+' : '-', line.c_str());
		if (!step.done || options.dry_run)
			continue;
		const std::string where =
			options.file + ":" +
			(adds ? std::to_string(wanted.lines.at(step.text)) : " removing " + line);
		fine = carry_out(kind, step, where) && fine;
	}
	return fine;
}

void write_kind(std::ostream &out, const Kind &kind)
{
	bool any = false;

	for (const InForce &statement : kind.in_force()) {
		if (statement.passing)
			continue;
		out << kind.word << " " << statement.text << "\n";
		any = true;
	}
	if (!any && kind.remove != nullptr)
		out << kind.word << "\n";
}

} // namespace

int apply(const ApplyOptions &options)
{
	bool fine = true;

	load_module();
	try {
		const Config config = read_config(options.file);

		for (const Kind &kind : kinds()) {
			const auto wanted = config.find(kind.word);

			if (wanted != config.end())
				fine = apply_kind(kind, wanted->second, options) && fine;
		}
	} catch (const ConfigError &errors) {
		std::fputs(errors.what(), stderr);
		fine = false;
	}
	return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

void save(const std::string &file)
{
	std::ostringstream text;

	load_module();
	text << "# Written by smc_ctl save; see smc.conf(5).\n";
	for (const Kind &kind : kinds())
		write_kind(text, kind);
	if (file == "-")
		std::fputs(text.str().c_str(), stdout);
	else
		replace_file(file, text.str(), /*keep_old=*/true);
}

} // namespace smc_ctl
