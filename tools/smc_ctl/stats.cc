// SPDX-License-Identifier: GPL-2.0-only
#include "commands.hpp"
#include "counters.hpp"
#include "file.hpp"
#include "json.hpp"
#include "names.hpp"
#include "netlink.hpp"
#include "reason.hpp"

#include <smc/genl.h>

#include <cstdio>

namespace smc_ctl {
namespace {

constexpr const char *kSizes[] = {"8K",   "16K",  "32K",   "64K",   "128K",
				  "256K", "512K", "1024K", "larger"};

void show_sizes(const char *what, const Attributes &sizes)
{
	std::printf("  %-24s", what);
	for (int i = SMC_NL_SIZE_FIRST; i <= SMC_NL_SIZE_LAST; i++) {
		if (const auto count = sizes.number(i); count != 0)
			std::printf(" %s:%llu", kSizes[i - SMC_NL_SIZE_FIRST],
				    static_cast<unsigned long long>(count));
	}
	std::printf("\n");
}

void show_buffers(const char *what, const Attributes &buffers)
{
	std::printf("  %-24s allocated %llu reused %llu full %llu peer-full %llu smaller %llu\n",
		    what, number64(buffers, SMC_NL_BUF_ALLOC), number64(buffers, SMC_NL_BUF_REUSE),
		    number64(buffers, SMC_NL_BUF_FULL), number64(buffers, SMC_NL_BUF_FULL_PEER),
		    number64(buffers, SMC_NL_BUF_DOWNGRADE));
}

void show_tech(const char *name, const Attributes &tech)
{
	const auto value = [&](int type) { return number64(tech, type); };

	std::printf("%s\n", name);
	std::printf("  %-24s client %llu server %llu\n", "connections",
		    value(SMC_NL_TECH_CLNT_V1) + value(SMC_NL_TECH_CLNT_V2),
		    value(SMC_NL_TECH_SRV_V1) + value(SMC_NL_TECH_SRV_V2));
	std::printf("  %-24s bytes %llu calls %llu buffers %llu\n", "sent",
		    value(SMC_NL_TECH_TX_BYTES), value(SMC_NL_TECH_TX_CALLS),
		    value(SMC_NL_TECH_TX_BUF_USAGE));
	std::printf("  %-24s bytes %llu calls %llu buffers %llu\n", "received",
		    value(SMC_NL_TECH_RX_BYTES), value(SMC_NL_TECH_RX_CALLS),
		    value(SMC_NL_TECH_RX_BUF_USAGE));
	std::printf("  %-24s cork %llu nodelay %llu splice %llu urgent %llu\n", "special calls",
		    value(SMC_NL_TECH_CORK), value(SMC_NL_TECH_NODELAY), value(SMC_NL_TECH_SPLICE),
		    value(SMC_NL_TECH_URGENT));
	show_sizes("send calls", tech.nest(SMC_NL_TECH_TX_PAYLOAD));
	show_sizes("receive calls", tech.nest(SMC_NL_TECH_RX_PAYLOAD));
	show_sizes("send buffers in use", tech.nest(SMC_NL_TECH_TX_BUF_SIZE));
	show_sizes("receive buffers in use", tech.nest(SMC_NL_TECH_RX_BUF_SIZE));
	show_buffers("send buffers", tech.nest(SMC_NL_TECH_TX_BUF));
	show_buffers("receive buffers", tech.nest(SMC_NL_TECH_RX_BUF));
}

// The kernel's own module has only the short counter, which wraps.
unsigned long long count_of(const Attributes &message)
{
	return message.has(SMC_NL_FBACK_RSN_CNT64) ? number64(message, SMC_NL_FBACK_RSN_CNT64)
						   : number64(message, SMC_NL_FBACK_RSN_CNT);
}

std::string prometheus_of(const counters::Counters &all)
{
	std::string text;

	// Some are levels, and the kernel does not say which.
	for (const auto &[name, value] : all)
		text += "# TYPE smc_" + name + " untyped\nsmc_" + name + " " +
			std::to_string(value) + "\n";
	return text;
}

} // namespace

void stats_show()
{
	Family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION)
		.dump(SMC_NL_GET_STATS, [](std::uint8_t, const Attributes &message) {
			const Attributes stats = message.nest(SMC_NL_A_STATS);
			std::printf("handshake errors: client %llu server %llu\n",
				    number64(stats, SMC_NL_STATS_CLNT_HS_ERR),
				    number64(stats, SMC_NL_STATS_SRV_HS_ERR));
			show_tech("SMC-R", stats.nest(SMC_NL_STATS_SMCR));
			show_tech("SMC-D", stats.nest(SMC_NL_STATS_SMCD));
		});
}

void fallback_show(bool json)
{
	bool first = true;
	Json all = {{"client", 0}, {"server", 0}, {"reasons", Json::array()}};

	Family(SMC_NL_GEN_FAMILY, SMC_NL_GEN_VERSION)
		.dump(SMC_NL_GET_FBACK_STATS, [&](std::uint8_t, const Attributes &outer) {
			const Attributes message = outer.nest(SMC_NL_A_FBACK_STATS);
			const unsigned code = number32(message, SMC_NL_FBACK_RSN_CODE);
			const char *side = message.number(SMC_NL_FBACK_TYPE) ? "server" : "client";

			if (json) {
				all["client"] = message.number(SMC_NL_FBACK_CLNT_CNT);
				all["server"] = message.number(SMC_NL_FBACK_SRV_CNT);
				all["reasons"].push_back({{"side", side},
							  {"count", count_of(message)},
							  {"code", code},
							  {"text", describe_reason(code)}});
				return;
			}
			if (first)
				std::printf("fallbacks to TCP: client %llu server %llu\n",
					    number64(message, SMC_NL_FBACK_CLNT_CNT),
					    number64(message, SMC_NL_FBACK_SRV_CNT));
			first = false;
			std::printf("  %s %10llu  0x%08x  %s\n", side, count_of(message), code,
				    describe_reason(code).c_str());
		});
	if (json)
		print(all);
	else if (first)
		std::printf("no fallback so far\n");
}

void counters_show(const StatsOptions &options)
{
	const counters::Counters now = counters::read();
	const counters::Counters shown = options.delta ? counters::since_mark(now) : now;

	if (options.reset)
		counters::mark(now);
	if (options.json) {
		print(Json(shown));
		return;
	}
	if (options.prometheus) {
		const std::string text = prometheus_of(shown);

		if (options.to.empty())
			std::fputs(text.c_str(), stdout);
		else
			replace_file(options.to, text, /*keep_old=*/false);
		return;
	}
	if (!options.delta)
		return;
	for (const auto &[name, value] : shown)
		std::printf("%s %lld\n", name.c_str(), static_cast<long long>(value));
}

} // namespace smc_ctl
