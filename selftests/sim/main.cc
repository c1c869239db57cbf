// SPDX-License-Identifier: GPL-2.0-only
//
//	sim --seed N [--trace]         one run
//	sim --seeds FROM COUNT         so many
//	sim --hunt FROM COUNT          the same, until one fails
//	sim --minutes M [--from SEED]  as many as there is time for, from a seed by the clock
//	sim --check COUNT              all cases, seeds 1 to COUNT, new ones, and that runs can be
//	                               repeated
//	sim --case NAME [--seeds FROM COUNT] [--trace]    one case (*_cases.cc), in so many
//	                               orders of steps
//	sim --cases                    all of them, until one fails
//	sim --sweep FROM COUNT         so many seeds, each with its first resource missing,
//	                               then its second, … until none is
//	sim --fail N --seed SEED [--trace]    one run of a sweep
//
// Each run is a process of its own and explains its failure. Ends with "N passed, N failed".
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sanitizer/common_interface_defs.h>
#include <string>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.hpp"
#include "scheduler.hpp"
#include "trace.hpp"
#include "world.hpp"

namespace {

// Processor time for one run; SIM_LIMIT_S in the environment changes it.
constexpr long kLimit_s = 120;
// The bound of a sweep in which no run succeeds.
constexpr u64 kResourcesMax = 5000;

void on_signal(int signal)
{
	// A broken precondition traps; a run that does not end is stopped by the clock.
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_print_stack_trace();
#endif
	sim::trace_report();
	std::fprintf(stderr, "reason: signal %d (%s) at %llu us: %s\n", signal, strsignal(signal),
		     static_cast<unsigned long long>(sim::scheduler().now_us()),
		     sim::scheduler().describe().c_str());
	_exit(1);
}

// Results of a run; all 0 if it failed.
struct Result {
	u64 hash = 0;
	u64 resources_asked = 0;
};

std::string name_of(const sim::Run &run)
{
	if (run.plot != nullptr)
		return std::string("case ") + run.plot->name;
	return "seed " + std::to_string(run.seed);
}

void run_here(const sim::Run &run, bool echo, int result)
{
	for (const int signal : {SIGILL, SIGTRAP, SIGPROF, SIGABRT})
		std::signal(signal, on_signal);
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_set_death_callback(sim::trace_report);
#endif
	const char *wanted = std::getenv("SIM_LIMIT_S");
	const itimerval limit{{}, {wanted != nullptr ? std::atol(wanted) : kLimit_s, 0}};

	setitimer(ITIMER_PROF, &limit, nullptr);
	sim::trace_start(run.seed, echo);
	const std::string summary = sim::run_scenario(run);
	const Result left{sim::trace_hash(), sim::world().resources_asked};
	std::printf("%s, trace %016llx: %s\n  (%s)\n", name_of(run).c_str(),
		    static_cast<unsigned long long>(left.hash), summary.c_str(),
		    sim::world().knobs.describe().c_str());
	std::fflush(stdout);
	if (write(result, &left, sizeof(left)) != sizeof(left))
		_exit(1);
	_exit(0);
}

Result run_to_end(const sim::Run &run, bool echo)
{
	int channel[2];

	std::fflush(nullptr);
	if (pipe(channel) != 0)
		std::abort();
	const pid_t child = fork();
	if (child == 0) {
		close(channel[0]);
		run_here(run, echo, channel[1]);
	}
	close(channel[1]);
	Result result;
	if (read(channel[0], &result, sizeof(result)) != sizeof(result))
		result = {};
	close(channel[0]);
	int status = 0;
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		std::fprintf(stderr, "%s failed (status %#x)\n", name_of(run).c_str(),
			     static_cast<unsigned>(status));
		if (run.fail_nth != 0)
			std::fprintf(stderr, "once more: sim --fail %llu --seed %llu --trace\n",
				     run.fail_nth, run.seed);
		return {};
	}
	return result;
}

// The hash of the trace, or 0 if it failed.
u64 run(u64 seed, bool echo)
{
	return run_to_end({.seed = seed}, echo).hash;
}

struct Sum {
	int passed = 0;
	int failed = 0;

	void count(bool ok) { ok ? passed++ : failed++; }
	// In each of its orders of steps.
	void count(const sim::Case &plot)
	{
		for (u64 seed = 1; seed <= plot.orders; seed++)
			count(run_to_end({.seed = seed, .plot = &plot}, false).hash != 0);
	}
	[[nodiscard]] int report() const
	{
		std::printf("sim: %d passed, %d failed\n", passed, failed);
		return failed == 0 && passed != 0 ? 0 : 1;
	}
};

u64 seed_of_now()
{
	const auto now = std::chrono::system_clock::now().time_since_epoch();
	return static_cast<u64>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

int check(u64 count)
{
	Sum sum;

	for (const auto table : sim::case_tables()) {
		for (const sim::Case &plot : table)
			sum.count(plot);
	}
	for (u64 seed = 1; seed <= count; seed++) {
		const u64 hash = run(seed, false);
		sum.count(hash != 0);
		if (hash == 0 || seed % 8 != 0)
			continue;
		const bool same = run(seed, false) == hash;
		if (!same)
			std::fprintf(stderr, "seed %llu runs otherwise the second time\n", seed);
		sum.count(same);
	}
	const u64 fresh = seed_of_now();
	for (u64 seed = fresh; seed < fresh + count / 4; seed++)
		sum.count(run(seed, false) != 0);
	return sum.report();
}

int soak(double minutes, u64 seed)
{
	const auto until = std::chrono::steady_clock::now() +
			   std::chrono::duration<double, std::ratio<60>>(minutes);
	Sum sum;

	for (; std::chrono::steady_clock::now() < until; seed++)
		sum.count(run(seed, false) != 0);
	return sum.report();
}

// The last run of a seed is one that was never asked for its n-th resource.
int sweep(u64 from, u64 count)
{
	Sum sum;

	for (u64 seed = from; seed < from + count; seed++) {
		Result result;
		u64 n = 0;

		do {
			result = run_to_end({.seed = seed, .fail_nth = ++n}, false);
			sum.count(result.hash != 0);
		} while ((result.hash == 0 || result.resources_asked >= n) && n < kResourcesMax);
	}
	return sum.report();
}

u64 number(const char *text)
{
	return std::strtoull(text, nullptr, 0);
}

} // namespace

int main(int argc, char **argv)
{
	const std::string mode = argc > 1 ? argv[1] : "";

	if (mode == "--seed" && argc > 2) {
		const bool echo = argc > 3 && std::strcmp(argv[3], "--trace") == 0;
		Sum sum;
		sum.count(run(number(argv[2]), echo) != 0);
		return sum.report();
	}
	if (mode == "--seeds" && argc > 3) {
		Sum sum;
		for (u64 i = 0; i < number(argv[3]); i++)
			sum.count(run(number(argv[2]) + i, false) != 0);
		return sum.report();
	}
	if (mode == "--hunt" && argc > 3) {
		Sum sum;
		for (u64 i = 0; i < number(argv[3]) && sum.failed == 0; i++)
			sum.count(run(number(argv[2]) + i, false) != 0);
		return sum.report();
	}
	if (mode == "--sweep" && argc > 3)
		return sweep(number(argv[2]), number(argv[3]));
	if (mode == "--fail" && argc > 4) {
		const bool echo = argc > 5 && std::strcmp(argv[5], "--trace") == 0;
		Sum sum;
		const sim::Run wanted{.seed = number(argv[4]), .fail_nth = number(argv[2])};
		sum.count(run_to_end(wanted, echo).hash != 0);
		return sum.report();
	}
	if (mode == "--case" && argc > 2) {
		const sim::Case *plot = sim::find_case(argv[2]);
		const bool echo = std::strcmp(argv[argc - 1], "--trace") == 0;
		const bool many = argc > 5 && std::strcmp(argv[3], "--seeds") == 0;
		const u64 from = many ? number(argv[4]) : 1;
		const u64 count = many ? number(argv[5]) : 1;
		Sum sum;
		for (u64 seed = from; seed < from + count; seed++)
			sum.count(plot != nullptr &&
				  run_to_end({.seed = seed, .plot = plot}, echo).hash != 0);
		return sum.report();
	}
	if (mode == "--cases") {
		Sum sum;
		for (const auto table : sim::case_tables()) {
			for (u32 i = 0; i < table.size() && sum.failed == 0; i++)
				sum.count(table[i]);
		}
		return sum.report();
	}
	if (mode == "--minutes" && argc > 2)
		return soak(std::atof(argv[2]), argc > 4 ? number(argv[4]) : seed_of_now());
	if (mode == "--check" && argc > 2)
		return check(number(argv[2]));
	std::fprintf(stderr,
		     "usage: sim --seed N [--trace] | --seeds FROM COUNT | --hunt FROM COUNT | "
		     "--minutes M [--from SEED] "
		     "| --check COUNT | --case NAME [--seeds FROM COUNT] [--trace] | --cases "
		     "| --sweep FROM COUNT | "
		     "--fail N --seed SEED [--trace]\n");
	return 2;
}
