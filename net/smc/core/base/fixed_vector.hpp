// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/check.hpp"

namespace smc {

namespace detail {

// Plain values live in an ordinary array (usable in constant expressions, never uninitialised, so
// no stale stack byte can leave through a copy); anything else in raw storage, built on demand.
// Copying is defined here, not in FixedVector by requires-clauses: clang 14 would take those for
// non-trivial.
template <class T, std::size_t Capacity,
	  bool Plain = std::is_trivially_copyable_v<T> &&std::is_default_constructible_v<T>>
struct FixedStorage {
	constexpr T *data() { return items; }
	constexpr const T *data() const { return items; }

	template <class... Args>
	constexpr void append(Args &&...args)
	{
		// Without a temporary, where it is one already.
		if constexpr ((std::is_same_v<std::remove_cvref_t<Args>, T> && ...) &&
			      sizeof...(Args) == 1)
			items[size] = (std::forward<Args>(args), ...);
		else
			items[size] = T{std::forward<Args>(args)...};
		size++;
	}
	constexpr void drop_last()
	{
		size--;
		items[size] = T{};
	}

	T items[Capacity] = {};
	std::size_t size = 0;
};

template <class T, std::size_t Capacity>
struct FixedStorage<T, Capacity, false> {
	FixedStorage() = default;
	FixedStorage(const FixedStorage &other) { copy(other); }
	FixedStorage(FixedStorage &&other) noexcept { steal(other); }
	FixedStorage &operator=(const FixedStorage &other)
	{
		if (this != &other) {
			clear();
			copy(other);
		}
		return *this;
	}
	FixedStorage &operator=(FixedStorage &&other) noexcept
	{
		if (this != &other) {
			clear();
			steal(other);
		}
		return *this;
	}
	~FixedStorage() { clear(); }

	T *data() { return std::launder(reinterpret_cast<T *>(raw)); }
	const T *data() const { return std::launder(reinterpret_cast<const T *>(raw)); }

	template <class... Args>
	void append(Args &&...args)
	{
		::new (static_cast<void *>(raw + size * sizeof(T))) T(std::forward<Args>(args)...);
		size++;
	}
	void drop_last()
	{
		size--;
		data()[size].~T();
	}

	void clear()
	{
		while (size > 0)
			drop_last();
	}
	void copy(const FixedStorage &other)
	{
		if constexpr (std::is_copy_constructible_v<T>) {
			for (std::size_t i = 0; i < other.size; i++)
				append(other.data()[i]);
		}
	}
	void steal(FixedStorage &other)
	{
		for (std::size_t i = 0; i < other.size; i++)
			append(std::move(other.data()[i]));
		other.clear();
	}

	alignas(T) std::byte raw[Capacity * sizeof(T)];
	std::size_t size = 0;
};

// Makes what derives from it movable only.
template <bool Copyable>
struct CopyGuard {
};
template <>
struct CopyGuard<false> {
	CopyGuard() = default;
	CopyGuard(CopyGuard &&) = default;
	CopyGuard &operator=(CopyGuard &&) = default;
};

} // namespace detail

// A list with a fixed capacity and no allocation. Adding to a full one fails and changes nothing.
// Trivially copyable if the items are; moving from a list of other items leaves it empty.
template <class T, std::size_t Capacity>
class FixedVector : private detail::CopyGuard<std::is_copy_constructible_v<T>> {
	static_assert(Capacity > 0);

public:
	using value_type = T;
	using iterator = T *;
	using const_iterator = const T *;

	[[nodiscard]] static constexpr std::size_t capacity() { return Capacity; }
	[[nodiscard]] constexpr std::size_t size() const { return storage_.size; }
	[[nodiscard]] constexpr std::size_t room() const { return Capacity - size(); }
	[[nodiscard]] constexpr bool empty() const { return size() == 0; }
	[[nodiscard]] constexpr bool full() const { return size() == Capacity; }

	[[nodiscard]] constexpr bool
	push_back(const T &item) requires std::is_copy_constructible_v<T>
	{
		return emplace_back(item);
	}
	[[nodiscard]] constexpr bool push_back(T &&item) { return emplace_back(std::move(item)); }

	template <class... Args>
	[[nodiscard]] constexpr bool emplace_back(Args &&...args)
	{
		if (full())
			return false;
		storage_.append(std::forward<Args>(args)...);
		return true;
	}

	constexpr void pop_back()
	{
		expects(size() > 0);
		storage_.drop_last();
	}

	// Removes the item at index; those behind it move up, so order is kept.
	constexpr void erase(std::size_t index)
	{
		expects(index < size());
		for (std::size_t i = index; i + 1 < size(); i++)
			data()[i] = std::move(data()[i + 1]);
		pop_back();
	}

	constexpr void clear()
	{
		while (size() > 0)
			pop_back();
	}

	constexpr T &operator[](std::size_t index)
	{
		expects(index < size());
		return data()[index];
	}
	constexpr const T &operator[](std::size_t index) const
	{
		expects(index < size());
		return data()[index];
	}
	constexpr T &front() { return (*this)[0]; }
	constexpr const T &front() const { return (*this)[0]; }
	constexpr T &back() { return (*this)[size() - 1]; }
	constexpr const T &back() const { return (*this)[size() - 1]; }

	constexpr T *data() { return storage_.data(); }
	constexpr const T *data() const { return storage_.data(); }
	constexpr iterator begin() { return data(); }
	constexpr iterator end() { return data() + size(); }
	constexpr const_iterator begin() const { return data(); }
	constexpr const_iterator end() const { return data() + size(); }

	[[nodiscard]] constexpr std::span<T> span() { return {data(), size()}; }
	[[nodiscard]] constexpr std::span<const T> span() const { return {data(), size()}; }

	friend constexpr bool operator==(const FixedVector &a, const FixedVector &b)
	{
		if (a.size() != b.size())
			return false;
		for (std::size_t i = 0; i < a.size(); i++) {
			if (!(a.data()[i] == b.data()[i]))
				return false;
		}
		return true;
	}

private:
	detail::FixedStorage<T, Capacity> storage_;
};

} // namespace smc
