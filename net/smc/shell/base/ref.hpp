// SPDX-License-Identifier: GPL-2.0-only
//
// Counted references. An object that inherits RefCounted<T> starts with one, its maker's; when the
// last one goes, T::last_ref_gone() is called. Nobody counts by hand: a reference is a Ref, an
// AtomicRef, a place in a RefList (list.hpp) or a queued run of a CountedWork (work.hpp).
#pragma once

#include <atomic>
#include <utility>

#include "kernel/abi/mem.h"
#include "shell/base/alloc.hpp"

namespace smc::shell {

template <class T>
class Ref;

template <class T>
class RefCounted {
public:
	RefCounted() = default;
	RefCounted(const RefCounted &) = delete;
	RefCounted &operator=(const RefCounted &) = delete;

protected:
	~RefCounted() = default;

private:
	template <class U>
	friend class Ref;

	void get() { count_.fetch_add(1, std::memory_order_relaxed); }

	// For lookups under RCU or a lock: false if the last reference is already gone.
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

	std::atomic<int> count_{1};
};

// The same for an object that is looked up under RCU: T::destroy() frees it after a grace period.
template <class T>
class RcuCounted : public RefCounted<T>, private smc_rcu_head {
public:
	void last_ref_gone() { smc_rcu_defer(this, free); }

protected:
	~RcuCounted() = default;

private:
	static void free(smc_rcu_head *head)
	{
		static_cast<T *>(static_cast<RcuCounted *>(head))->destroy();
	}
};

// One reference.
template <class T>
class Ref {
public:
	Ref() = default;
	// Takes over the caller's reference.
	[[nodiscard]] static Ref adopt(T *object)
	{
		Ref ref;
		ref.object_ = object;
		return ref;
	}
	// Takes one more reference.
	[[nodiscard]] static Ref share(T *object)
	{
		if (object != nullptr)
			object->get();
		return adopt(object);
	}
	// The same for an object found under RCU or a lock; none if its last reference is already
	// gone.
	[[nodiscard]] static Ref try_share(T *object)
	{
		return object != nullptr && object->try_get() ? adopt(object) : Ref();
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

// None if there is no memory. Process context.
template <class T, class... Args>
[[nodiscard]] Ref<T> make_counted(Args &&...args)
{
	return Ref<T>::adopt(make<T>(std::forward<Args>(args)...).release());
}

// One reference, or none, that readers look at while it is set and taken. T is freed by RCU.
template <class T>
class AtomicRef {
public:
	AtomicRef() = default;
	AtomicRef(const AtomicRef &) = delete;
	AtomicRef &operator=(const AtomicRef &) = delete;
	~AtomicRef() { (void)take(); }

	// Only while it holds none.
	void set(Ref<T> object) { object_.store(object.release(), std::memory_order_release); }
	[[nodiscard]] Ref<T> take()
	{
		return Ref<T>::adopt(object_.exchange(nullptr, std::memory_order_acq_rel));
	}
	// Valid inside RCU's read side, or as long as the caller knows that the reference stays.
	[[nodiscard]] T *look() const { return object_.load(std::memory_order_acquire); }

private:
	std::atomic<T *> object_{nullptr};
};

} // namespace smc::shell
