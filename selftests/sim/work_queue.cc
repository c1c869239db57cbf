// SPDX-License-Identifier: GPL-2.0-only
#include "work_queue.hpp"

#include <deque>
#include <memory>
#include <vector>

#include "scheduler.hpp"
#include "trace.hpp"
#include "world.hpp"

namespace sim {
namespace {

constexpr unsigned kRunsMax = 16;
constexpr u64 kLook_us = 20;

// State of a work item; outlives it, since a run may free its item.
struct Item {
	smc_work *work = nullptr;
	void (*fn)(smc_work *) = nullptr;
	u64 timer = 0;       // 0: none
	bool queued = false; // stands in the queue
	bool running = false;
	bool disabled = false; // cancel_sync() is under way
	u64 runs = 0;          // begun
	u64 id = 0;

	[[nodiscard]] bool pending() const { return queued || timer != 0; }
};

struct Queue {
	std::vector<std::unique_ptr<Item>> items;
	std::deque<Item *> queue;
	unsigned running = 0;
	u64 next_id = 1;
	u64 runs = 0; // begun, of all
};

Queue state;

Item *item_of(const smc_work *work)
{
	auto *item = reinterpret_cast<Item *>(work->opaque[0]);

	if (item == nullptr || item->work != work)
		fail("a work item that is none");
	return item;
}

void start_some();

void run(Item *item)
{
	item->fn(item->work);
	item->running = false;
	state.running--;
	start_some();
}

void start_some()
{
	for (std::size_t i = 0; i < state.queue.size() && state.running < kRunsMax;) {
		Item *item = state.queue[i];

		// The same item never runs twice at a time.
		if (item->running) {
			i++;
			continue;
		}
		state.queue.erase(state.queue.begin() + static_cast<std::ptrdiff_t>(i));
		item->queued = false;
		item->running = true;
		item->runs++;
		state.runs++;
		state.running++;
		scheduler().spawn("work-" + std::to_string(item->id), [item] { run(item); });
	}
}

void enqueue(Item *item)
{
	item->queued = true;
	state.queue.push_back(item);
	// Not at once: the caller may be anywhere.
	scheduler().after(scheduler().random().below(world().knobs.work_us), start_some);
}

bool take_out(Item *item)
{
	const bool was_pending = item->pending();

	if (item->timer != 0)
		scheduler().cancel(item->timer);
	item->timer = 0;
	if (item->queued)
		std::erase(state.queue, item);
	item->queued = false;
	return was_pending;
}

void arm(Item *item, u64 delay_ms)
{
	if (item->disabled)
		return;
	if (delay_ms == 0) {
		enqueue(item);
		return;
	}
	// Up to one jiffy late, as timers are.
	const u64 delay_us = delay_ms * 1000 + scheduler().random().below(1000);
	item->timer = scheduler().after(delay_us, [item] {
		item->timer = 0;
		enqueue(item);
	});
}

void wait_while(const std::function<bool()> &busy)
{
	while (busy())
		scheduler().sleep_us(kLook_us);
}

} // namespace

void check_no_work_in(const void *memory, std::size_t bytes)
{
	const auto *from = static_cast<const char *>(memory);

	for (const auto &item : state.items) {
		const auto *at = reinterpret_cast<const char *>(item->work);

		if (item->work == nullptr || at < from || at >= from + bytes)
			continue;
		if (item->pending())
			fail("memory is freed with work-%llu in it, which is queued",
			     static_cast<unsigned long long>(item->id));
		// Another item may get this address.
		item->work = nullptr;
	}
	std::erase_if(state.items,
		      [](const auto &item) { return item->work == nullptr && !item->running; });
}

u64 work_runs()
{
	return state.runs;
}

std::string busy_work()
{
	std::string text;

	for (const auto &item : state.items) {
		if (item->pending() || item->running)
			text += " work-" + std::to_string(item->id);
	}
	return text;
}

void forget_work()
{
	state.items.clear();
}

bool in_work_item()
{
	const Fiber *fiber = scheduler().current();

	return fiber != nullptr && fiber->name.starts_with("work-");
}

} // namespace sim

using namespace sim;

void smc_work_init(smc_work *work, void (*fn)(smc_work *work), smc_work_class)
{
	auto item = std::make_unique<Item>();

	item->work = work;
	item->fn = fn;
	item->id = state.next_id++;
	work->opaque[0] = reinterpret_cast<unsigned long>(item.get());
	state.items.push_back(std::move(item));
}

bool smc_work_queue(smc_work *work)
{
	return smc_work_queue_delayed(work, 0);
}

bool smc_work_queue_delayed(smc_work *work, u64 delay_ms)
{
	scheduler().maybe_yield();
	Item *item = item_of(work);

	// mod_delayed_work() leaves an item in the queue if it is to run at once.
	if (item->queued && delay_ms == 0)
		return true;
	const bool was_pending = take_out(item);
	arm(item, delay_ms);
	return was_pending;
}

bool smc_work_queue_if_idle(smc_work *work, u64 delay_ms)
{
	scheduler().maybe_yield();
	Item *item = item_of(work);

	if (item->pending())
		return true;
	arm(item, delay_ms);
	return false;
}

bool smc_work_cancel(smc_work *work)
{
	scheduler().maybe_yield();
	return take_out(item_of(work));
}

bool smc_work_cancel_sync(smc_work *work)
{
	Item *item = item_of(work);

	if (scheduler().current()->is_atomic())
		fail("cancel_sync() in atomic context");
	item->disabled = true;
	const bool was_pending = take_out(item);
	wait_while([item] { return item->running; });
	item->disabled = false;
	return was_pending;
}

void smc_work_wait(smc_work *work)
{
	Item *item = item_of(work);
	const u64 runs = item->runs;

	if (scheduler().current()->is_atomic())
		fail("a wait for work in atomic context");
	// A queued item counts as under way, a delayed one does not.
	const u64 last = item->queued ? runs + 1 : runs;
	wait_while([item, last] {
		return item->runs < last ? item->queued : item->runs == last && item->running;
	});
}

void smc_work_flush_all()
{
	wait_while([] { return !state.queue.empty() || state.running != 0; });
}
