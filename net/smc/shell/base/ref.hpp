// SPDX-License-Identifier: GPL-2.0-only
//
// Counted references. An object that inherits RefCounted<T> starts with one, which belongs to
// its maker; the last one gone calls T::last_ref_gone().
#pragma once

#include <atomic>
#include <utility>

#include "kernel/abi/mem.h"

namespace smc::shell {

template <class T>
class RefCounted {
public:
	RefCounted() = default;
	RefCounted(const RefCounted &) = delete;
	RefCounted &operator=(const RefCounted &) = delete;

	void get() { count_.fetch_add(1, std::memory_order_relaxed); }

	// For lookups under RCU or a lock: false if it is already on its way out.
	[[nodiscard]] bool try_get()
	{
		int count = count_.load(std::memory_order_relaxed);
		while (count > 0) {
			if (count_.compare_exchange_weak(count, count + 1,
							 std::memory_order_relaxed))
				return true;
		}
		return false;
	}

	void put()
	{
		const int before = count_.fetch_sub(1, std::memory_order_acq_rel);
		if (before == 1)
			static_cast<T *>(this)->last_ref_gone();
		else if (before < 1)
			smc_warn_bug("reference given back twice");
	}

protected:
	~RefCounted() = default;

private:
	std::atomic<int> count_{1};
};

// One reference.
template <class T>
class Ref {
public:
	Ref() = default;
	// Takes over a reference that the caller has.
	[[nodiscard]] static Ref adopt(T *object)
	{
		Ref ref;
		ref.object_ = object;
		return ref;
	}
	// Takes one more.
	[[nodiscard]] static Ref share(T *object)
	{
		if (object != nullptr)
			object->get();
		return adopt(object);
	}
	Ref(const Ref &other) : object_(other.object_)
	{
		if (object_ != nullptr)
			object_->get();
	}
	Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
	Ref &operator=(Ref other) noexcept
	{
		std::swap(object_, other.object_);
		return *this;
	}
	~Ref()
	{
		if (object_ != nullptr)
			object_->put();
	}

	[[nodiscard]] T *get() const { return object_; }
	[[nodiscard]] T *release() { return std::exchange(object_, nullptr); }
	void reset() { *this = Ref(); }
	T *operator->() const { return object_; }
	T &operator*() const { return *object_; }
	explicit operator bool() const { return object_ != nullptr; }

private:
	T *object_ = nullptr;
};

} // namespace smc::shell
