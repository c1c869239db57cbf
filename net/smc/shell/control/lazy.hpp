// SPDX-License-Identifier: GPL-2.0-only
//
// An object with a lock that is made when it is needed first. Most network namespaces never need
// it, and their connections do not take its lock.
#pragma once

#include <atomic>
#include <utility>

#include "shell/base/alloc.hpp"
#include "shell/base/lock.hpp"

namespace smc::control {

template <class T>
class Lazy {
public:
	Lazy() = default;
	Lazy(const Lazy &) = delete;
	Lazy &operator=(const Lazy &) = delete;

	// Sees to it that it is there. False without memory. Process.
	template <class... Args>
	[[nodiscard]] bool make(Args &&...args)
	{
		if (there())
			return true;
		auto fresh = shell::make<T>(std::forward<Args>(args)...);
		if (!fresh)
			return false;
		shell::Guard guard(lock_);
		if (object_ == nullptr)
			object_.swap(fresh);
		there_.store(true, std::memory_order_release);
		return true;
	}
	// Once it is there it stays. Any context.
	[[nodiscard]] bool there() const { return there_.load(std::memory_order_acquire); }
	// What @fn returns for the object, or @otherwise while there is none. @fn must not sleep.
	// Any context.
	template <class Result, class Fn>
	[[nodiscard]] Result look(Fn &&fn, Result otherwise)
	{
		if (!there())
			return otherwise;
		shell::Guard guard(lock_);
		return fn(*object_);
	}
	// Calls @fn for the object, if it is there. The same contexts.
	template <class Fn>
	void with(Fn &&fn)
	{
		const auto call = [&](T &object) {
			fn(object);
			return true;
		};

		(void)look(call, false);
	}

private:
	shell::SpinLock lock_{SMC_LOCK_CONTROL};
	shell::Owned<T> object_ SMC_GUARDED_BY(lock_); // never replaced
	std::atomic<bool> there_{false};
};

} // namespace smc::control
