// SPDX-License-Identifier: GPL-2.0-only
//
// Scheduler: threads of execution (processes, work items, softirqs) as fibers on one real thread,
// in virtual time. The next one to run is chosen at random, and each may be interrupted wherever
// the module calls the kernel, so one seed is one interleaving on a machine with any number of
// processors. When nothing can run, the clock jumps to the next timer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "random.hpp"

namespace sim {

enum class Context : std::uint8_t {
	kProcess,
	kSoftirq, // must not sleep
};

class Fiber {
public:
	[[nodiscard]] bool is_atomic() const
	{
		return context == Context::kSoftirq || spinlocks != 0 || rcu_depth != 0;
	}

	std::string name;
	Context context = Context::kProcess;
	// Classes of the locks that it holds, in the order in which they were taken.
	std::vector<int> held;
	int spinlocks = 0;
	int rcu_depth = 0;
	std::uint64_t rcu_since = 0; // grace period in which the outermost read side began
	bool in_hook = false;        // runs with interrupts off: no lock, no interruption
	// One in so many calls of maybe_yield(), without a spinlock, take its processor away for as
	// long, at most; 0: none.
	std::uint64_t stall_one_in = 0;
	std::uint64_t stall_us = 0;
	unsigned sleeps = 0; // in calls on sockets
	bool signalled = false;
	bool exiting = false;

private:
	friend class Scheduler;
	enum class State : std::uint8_t { kReady, kRunning, kBlocked, kDone };

	State state_ = State::kReady;
	bool woken_ = false;
	std::uint64_t timer_ = 0; // of block(); 0: none
	std::function<void()> body_;
	void *stack_pointer_ = nullptr; // while it does not run
	void *stack_ = nullptr;
	void *fake_stack_ = nullptr;
};

class Scheduler {
public:
	Scheduler();
	~Scheduler();
	Scheduler(const Scheduler &) = delete;
	Scheduler &operator=(const Scheduler &) = delete;

	void start(std::uint64_t seed);

	Fiber *spawn(std::string name, std::function<void()> body,
		     Context context = Context::kProcess);
	// Runs everything until @done returns true, for a limited virtual time.
	void run(const std::function<bool()> &done, std::uint64_t until_us, const char *what);

	// ---- From within a fiber ----------------------------------------------------------------

	[[nodiscard]] Fiber *current() const { return current_; }
	[[nodiscard]] const char *current_name() const
	{
		return current_ != nullptr ? current_->name.c_str() : "-";
	}
	// Others may run.
	void yield();
	// Lets others run, as often as the run's rate says.
	void maybe_yield();
	// Sleeps until wake(), unless it was called after the last prepare(). False: timeout.
	bool block(std::optional<std::uint64_t> deadline_us = std::nullopt);
	void prepare() { current_->woken_ = false; }
	void sleep_us(std::uint64_t duration_us);

	// ---- From anywhere ----------------------------------------------------------------------

	void wake(Fiber *fiber);
	[[nodiscard]] std::uint64_t now_us() const { return now_us_; }
	// Calls @what at that time, outside of any fiber: it must not sleep or take locks.
	std::uint64_t at(std::uint64_t time_us, std::function<void()> what);
	std::uint64_t after(std::uint64_t delay_us, std::function<void()> what)
	{
		return at(now_us_ + delay_us, std::move(what));
	}
	void cancel(std::uint64_t timer);

	// Random numbers; one generator for all, so that the trace depends on the seed alone.
	[[nodiscard]] Random &random() { return random_; }
	// One in so many calls of maybe_yield() yields; 0: none.
	void set_preemption(std::uint64_t one_in) { preempt_one_in_ = one_in; }

	// The oldest grace period that a reader is in, or ~0.
	[[nodiscard]] std::uint64_t oldest_reader() const;
	[[nodiscard]] std::string describe() const;
	[[nodiscard]] std::uint64_t switches() const { return switches_; }

private:
	static void enter();
	void switch_to(Fiber &fiber);
	void switch_back();
	void stall();
	void remove_ready(std::size_t index);
	void reap(Fiber *fiber);

	Random random_{0};
	std::uint64_t now_us_ = 0;
	std::uint64_t preempt_one_in_ = 0;
	std::uint64_t switches_ = 0;
	std::uint64_t next_timer_ = 1;
	// By time, then by number: equal times in the order made.
	std::map<std::pair<std::uint64_t, std::uint64_t>, std::function<void()>> timers_;
	std::map<std::uint64_t, std::uint64_t> timer_times_;
	std::vector<std::unique_ptr<Fiber>> fibers_;
	std::vector<Fiber *> ready_;
	std::vector<void *> stacks_; // to be used again
	Fiber *current_ = nullptr;
	void *main_stack_pointer_ = nullptr;
	void *main_fake_stack_ = nullptr;
	const void *main_stack_ = nullptr;
	std::size_t main_stack_bytes_ = 0;
};

[[nodiscard]] Scheduler &scheduler();

} // namespace sim
