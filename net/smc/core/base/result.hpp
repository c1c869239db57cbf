// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "core/base/check.hpp"

namespace smc {

// What fail() makes, so that a value and an error of the same type cannot be mixed up.
template <class E>
struct Failure {
	E error;
};

template <class E>
[[nodiscard]] constexpr Failure<std::decay_t<E>> fail(E &&error)
{
	return {std::forward<E>(error)};
}

namespace detail {

// Copying is defined here, not in Result by requires-clauses: clang 14 would take those for
// non-trivial.
template <class T, class E, bool Plain = std::is_trivially_copyable_v<T>>
struct ResultStorage {
	template <class... Args>
	constexpr explicit ResultStorage(std::in_place_t, Args &&...args)
		: value(std::forward<Args>(args)...), has_value(true)
	{
	}
	constexpr explicit ResultStorage(Failure<E> failure)
		: failed(failure.error), has_value(false)
	{
	}

	constexpr void set_error(E error_value)
	{
		has_value = false;
		failed = error_value;
	}

	union {
		T value;
		E failed;
	};
	bool has_value;
};

template <class T, class E>
struct ResultStorage<T, E, false> {
	template <class... Args>
	explicit ResultStorage(std::in_place_t, Args &&...args)
		: value(std::forward<Args>(args)...), has_value(true)
	{
	}
	explicit ResultStorage(Failure<E> failure) : failed(failure.error), has_value(false) {}
	ResultStorage(ResultStorage &&other) noexcept { steal(other); }
	ResultStorage &operator=(ResultStorage &&other) noexcept
	{
		if (this != &other) {
			destroy();
			steal(other);
		}
		return *this;
	}
	~ResultStorage() { destroy(); }

	void set_error(E error_value)
	{
		destroy();
		has_value = false;
		::new (static_cast<void *>(&failed)) E(error_value);
	}
	void destroy()
	{
		if (has_value)
			value.~T();
	}
	void steal(ResultStorage &other)
	{
		has_value = other.has_value;
		if (has_value)
			::new (static_cast<void *>(&value)) T(std::move(other.value));
		else
			::new (static_cast<void *>(&failed)) E(other.failed);
	}

	union {
		T value;
		E failed;
	};
	bool has_value;
};

} // namespace detail

// A value or an error, never both. Reading the wrong one is a bug of ours (see expects()).
// Trivially copyable if the value is; otherwise it can only be moved.
template <class T, class E>
class [[nodiscard]] Result {
	static_assert(std::is_trivially_copyable_v<E>, "errors are small values");
	static_assert(!std::is_reference_v<T>, "use a pointer");

public:
	using Value = T;
	using Error = E;

	constexpr Result(const T &value) requires std::is_copy_constructible_v<T>
		: storage_(std::in_place, value)
	{
	}
	constexpr Result(T &&value) : storage_(std::in_place, std::move(value)) {}
	constexpr Result(Failure<E> failure) : storage_(failure) {}

	// Builds the value in place, for values too large to be moved about on a kernel stack.
	template <class... Args>
	constexpr explicit Result(std::in_place_t place, Args &&...args)
		: storage_(place, std::forward<Args>(args)...)
	{
	}

	// Turns this into an error, giving up a value if there was one.
	constexpr Result &operator=(Failure<E> failure)
	{
		storage_.set_error(failure.error);
		return *this;
	}

	[[nodiscard]] constexpr bool has_value() const { return storage_.has_value; }
	constexpr explicit operator bool() const { return storage_.has_value; }

	[[nodiscard]] constexpr T &value() &
	{
		expects(storage_.has_value);
		return storage_.value;
	}
	[[nodiscard]] constexpr const T &value() const &
	{
		expects(storage_.has_value);
		return storage_.value;
	}
	// Moves the value out; what SMC_TRY yields.
	[[nodiscard]] constexpr T take()
	{
		expects(storage_.has_value);
		return std::move(storage_.value);
	}
	[[nodiscard]] constexpr E error() const
	{
		expects(!storage_.has_value);
		return storage_.failed;
	}
	template <class U>
	[[nodiscard]] constexpr T value_or(U &&other) const
	{
		return storage_.has_value ? storage_.value : static_cast<T>(std::forward<U>(other));
	}

	constexpr T &operator*() & { return value(); }
	constexpr const T &operator*() const & { return value(); }
	constexpr T *operator->() { return &value(); }
	constexpr const T *operator->() const { return &value(); }

private:
	detail::ResultStorage<T, E> storage_;
};

// Success or an error.
template <class E>
class [[nodiscard]] Result<void, E> {
	static_assert(std::is_trivially_copyable_v<E>, "errors are small values");

public:
	using Value = void;
	using Error = E;

	constexpr Result() = default;
	constexpr Result(Failure<E> failure) : error_(failure.error), has_value_(false) {}

	[[nodiscard]] constexpr bool has_value() const { return has_value_; }
	constexpr explicit operator bool() const { return has_value_; }
	constexpr void value() const { expects(has_value_); }
	constexpr void take() const { expects(has_value_); }
	[[nodiscard]] constexpr E error() const
	{
		expects(!has_value_);
		return error_;
	}

private:
	E error_{};
	bool has_value_ = true;
};

} // namespace smc

// Yields the value of a Result, or returns its error from the function around it:
//	const auto frame = SMC_TRY(decode_frame(bytes));
#define SMC_TRY(expression)                                          \
	({                                                           \
		auto smc_try_result_ = (expression);                 \
		if (!smc_try_result_)                                \
			return ::smc::fail(smc_try_result_.error()); \
		smc_try_result_.take();                              \
	})
