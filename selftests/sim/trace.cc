// SPDX-License-Identifier: GPL-2.0-only
#include "trace.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "scheduler.hpp"

namespace sim {
namespace {

constexpr std::size_t kKept = 160;
constexpr std::size_t kLineBytes = 240;

struct Trace {
	std::array<std::array<char, kLineBytes>, kKept> lines{};
	std::uint64_t count = 0;
	std::uint64_t hash = 0;
	std::uint64_t seed = 0;
	bool echo = false;
	std::string description;
};

Trace trace;

void mix_byte(std::uint8_t byte)
{
	trace.hash = (trace.hash ^ byte) * 0x100000001b3u;
}

} // namespace

void trace_start(std::uint64_t seed, bool echo)
{
	trace = Trace{};
	trace.hash = 0xcbf29ce484222325u;
	trace.seed = seed;
	trace.echo = echo;
}

void trace_describe(std::string description)
{
	trace.description = std::move(description);
}

std::uint64_t trace_hash()
{
	return trace.hash;
}

void mix(std::uint64_t value)
{
	for (int i = 0; i < 8; i++)
		mix_byte(static_cast<std::uint8_t>(value >> (8 * i)));
}

void note(const char *format, ...)
{
	auto &line = trace.lines[trace.count++ % kKept];
	const int head = std::snprintf(line.data(), line.size(), "%12.3f ms %-14s ",
				       static_cast<double>(scheduler().now_us()) / 1000,
				       scheduler().current_name());
	va_list args;

	va_start(args, format);
	std::vsnprintf(line.data() + head, line.size() - static_cast<std::size_t>(head), format,
		       args);
	va_end(args);
	for (const char *c = line.data(); *c != '\0'; c++)
		mix_byte(static_cast<std::uint8_t>(*c));
	if (trace.echo)
		std::fprintf(stderr, "%s\n", line.data());
}

void trace_report()
{
	const std::uint64_t first = trace.count > kKept ? trace.count - kKept : 0;

	if (!trace.echo) {
		std::fprintf(stderr, "last events of %llu:\n",
			     static_cast<unsigned long long>(trace.count));
		for (std::uint64_t i = first; i < trace.count; i++)
			std::fprintf(stderr, "%s\n", trace.lines[i % kKept].data());
	}
	std::fprintf(stderr,
		     "\nFAILED: seed %llu (%s)\n"
		     "replay: make sim SEED=%llu    with every event: make sim SEED=%llu TRACE=1\n",
		     static_cast<unsigned long long>(trace.seed), trace.description.c_str(),
		     static_cast<unsigned long long>(trace.seed),
		     static_cast<unsigned long long>(trace.seed));
}

void fail(const char *format, ...)
{
	va_list args;

	trace_report();
	va_start(args, format);
	std::fprintf(stderr, "reason: ");
	std::vfprintf(stderr, format, args);
	std::fprintf(stderr, "\n");
	va_end(args);
	std::fflush(nullptr);
	_exit(1);
}

} // namespace sim
