// SPDX-License-Identifier: GPL-2.0-only
#include "scheduler.hpp"

#include <algorithm>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>

#include "switch_stacks.hpp"
#include "trace.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#else
#define SIM_ASAN 0
#endif

namespace sim {
namespace {

constexpr std::size_t kStackBytes = 512 * 1024;
constexpr std::size_t kGuardBytes = 4096;

void *new_stack()
{
	void *memory = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0)
		fail("no memory for a stack");
	return static_cast<char *>(memory) + kGuardBytes;
}

void start_switch([[maybe_unused]] void **fake_stack, [[maybe_unused]] const void *stack,
		  [[maybe_unused]] std::size_t bytes)
{
#if SIM_ASAN
	__sanitizer_start_switch_fiber(fake_stack, stack, bytes);
#endif
}

void finish_switch([[maybe_unused]] void *fake_stack, [[maybe_unused]] const void **stack,
		   [[maybe_unused]] std::size_t *bytes)
{
#if SIM_ASAN
	__sanitizer_finish_switch_fiber(fake_stack, stack, bytes);
#endif
}

} // namespace

Scheduler &scheduler()
{
	static Scheduler instance;
	return instance;
}

Scheduler::Scheduler() = default;
Scheduler::~Scheduler() = default;

void Scheduler::start(std::uint64_t seed)
{
	random_ = Random(seed);
}

Fiber *Scheduler::spawn(std::string name, std::function<void()> body, Context context)
{
	auto owned = std::make_unique<Fiber>();
	Fiber *fiber = owned.get();

	fiber->name = std::move(name);
	fiber->context = context;
	fiber->body_ = std::move(body);
	if (stacks_.empty()) {
		fiber->stack_ = new_stack();
	} else {
		fiber->stack_ = stacks_.back();
		stacks_.pop_back();
	}
	fiber->stack_pointer_ =
		prepared_stack(static_cast<char *>(fiber->stack_) + kStackBytes, enter);
	fibers_.push_back(std::move(owned));
	ready_.push_back(fiber);
	return fiber;
}

void Scheduler::enter()
{
	Scheduler &self = scheduler();

	finish_switch(nullptr, &self.main_stack_, &self.main_stack_bytes_);
	Fiber &fiber = *self.current_;
	fiber.body_();
	if (fiber.spinlocks != 0 || !fiber.held.empty() || fiber.rcu_depth != 0)
		fail("%s ends with a lock held", fiber.name.c_str());
	fiber.state_ = Fiber::State::kDone;
	// For good: the fake stack goes.
	start_switch(nullptr, self.main_stack_, self.main_stack_bytes_);
	switch_stacks(&fiber.stack_pointer_, self.main_stack_pointer_);
	__builtin_unreachable();
}

void Scheduler::switch_to(Fiber &fiber)
{
	switches_++;
	current_ = &fiber;
	fiber.state_ = Fiber::State::kRunning;
	start_switch(&main_fake_stack_, fiber.stack_, kStackBytes);
	switch_stacks(&main_stack_pointer_, fiber.stack_pointer_);
	finish_switch(main_fake_stack_, nullptr, nullptr);
	current_ = nullptr;
}

void Scheduler::switch_back()
{
	Fiber &fiber = *current_;

	start_switch(&fiber.fake_stack_, main_stack_, main_stack_bytes_);
	switch_stacks(&fiber.stack_pointer_, main_stack_pointer_);
	finish_switch(fiber.fake_stack_, &main_stack_, &main_stack_bytes_);
}

void Scheduler::remove_ready(std::size_t index)
{
	ready_[index] = ready_.back();
	ready_.pop_back();
}

void Scheduler::reap(Fiber *fiber)
{
	const auto found = std::find_if(fibers_.begin(), fibers_.end(), [fiber](const auto &other) {
		return other.get() == fiber;
	});

#if SIM_ASAN
	__asan_unpoison_memory_region(fiber->stack_, kStackBytes);
#endif
	stacks_.push_back(fiber->stack_);
	std::swap(*found, fibers_.back());
	fibers_.pop_back();
}

void Scheduler::run(const std::function<bool()> &done, std::uint64_t until_us, const char *what)
{
	while (!done()) {
		if (now_us_ > until_us)
			fail("%s did not come in time: %s", what, describe().c_str());
		while (!timers_.empty() &&
		       (timers_.begin()->first.first <= now_us_ || ready_.empty())) {
			const auto first = timers_.begin();
			const auto action = std::move(first->second);

			now_us_ = std::max(now_us_, first->first.first);
			timer_times_.erase(first->first.second);
			timers_.erase(first);
			action();
			if (now_us_ > until_us)
				break;
		}
		if (ready_.empty()) {
			if (timers_.empty() && !done())
				fail("%s will never come: %s", what, describe().c_str());
			continue;
		}
		const std::size_t index = random_.below(ready_.size());
		Fiber *fiber = ready_[index];

		remove_ready(index);
		now_us_ += random_.below(4);
		switch_to(*fiber);
		if (fiber->state_ == Fiber::State::kDone)
			reap(fiber);
	}
}

void Scheduler::yield()
{
	current_->state_ = Fiber::State::kReady;
	ready_.push_back(current_);
	switch_back();
}

void Scheduler::maybe_yield()
{
	if (current_ == nullptr || current_->in_hook)
		return;
	if (current_->stall_one_in != 0 && !current_->is_atomic() &&
	    random_.one_in(current_->stall_one_in))
		stall();
	else if (random_.one_in(preempt_one_in_))
		yield();
}

// Not a sleep of the fiber's own: who wakes it meanwhile has woken its next one.
void Scheduler::stall()
{
	Fiber *fiber = current_;

	fiber->timer_ = after(random_.below(fiber->stall_us), [this, fiber] {
		fiber->timer_ = 0;
		fiber->state_ = Fiber::State::kReady;
		ready_.push_back(fiber);
	});
	fiber->state_ = Fiber::State::kBlocked;
	switch_back();
}

bool Scheduler::block(std::optional<std::uint64_t> deadline_us)
{
	Fiber *fiber = current_;

	if (fiber->is_atomic() || fiber->in_hook)
		fail("%s sleeps in atomic context", fiber->name.c_str());
	if (fiber->woken_) {
		fiber->woken_ = false;
		return true;
	}
	if (deadline_us)
		fiber->timer_ = at(*deadline_us, [this, fiber] {
			fiber->timer_ = 0;
			fiber->state_ = Fiber::State::kReady;
			ready_.push_back(fiber);
		});
	fiber->state_ = Fiber::State::kBlocked;
	switch_back();
	const bool woken = fiber->woken_;
	fiber->woken_ = false;
	return woken;
}

void Scheduler::sleep_us(std::uint64_t duration_us)
{
	const std::uint64_t until_us = now_us_ + duration_us;

	while (now_us_ < until_us) {
		prepare();
		(void)block(until_us);
	}
}

void Scheduler::wake(Fiber *fiber)
{
	fiber->woken_ = true;
	if (fiber->state_ != Fiber::State::kBlocked)
		return;
	if (fiber->timer_ != 0) {
		cancel(fiber->timer_);
		fiber->timer_ = 0;
	}
	fiber->state_ = Fiber::State::kReady;
	ready_.push_back(fiber);
}

std::uint64_t Scheduler::at(std::uint64_t time_us, std::function<void()> what)
{
	const std::uint64_t number = next_timer_++;

	timers_.emplace(std::pair{time_us, number}, std::move(what));
	timer_times_.emplace(number, time_us);
	return number;
}

void Scheduler::cancel(std::uint64_t timer)
{
	const auto found = timer_times_.find(timer);

	if (found == timer_times_.end())
		return;
	timers_.erase({found->second, timer});
	timer_times_.erase(found);
}

std::uint64_t Scheduler::oldest_reader() const
{
	std::uint64_t oldest = ~std::uint64_t{0};

	for (const auto &fiber : fibers_) {
		if (fiber->rcu_depth != 0)
			oldest = std::min(oldest, fiber->rcu_since);
	}
	return oldest;
}

std::string Scheduler::describe() const
{
	std::string text;

	for (const auto &fiber : fibers_) {
		if (text.size() > 600)
			return text + " …";
		text += text.empty() ? "" : ", ";
		text += fiber->name;
		text += fiber->state_ == Fiber::State::kBlocked ? " sleeps" : " runs";
	}
	return text;
}

} // namespace sim
