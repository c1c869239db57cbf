// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>

#include "core/base/check.hpp"

namespace smc::group {

// First in, first out, with a fixed capacity and no allocation. T is a plain value.
template <class T, std::size_t Capacity>
class RingQueue {
public:
	[[nodiscard]] bool push(const T &item)
	{
		if (size_ == Capacity)
			return false;
		items_[(first_ + size_) % Capacity] = item;
		size_++;
		return true;
	}

	[[nodiscard]] bool push_front(const T &item)
	{
		if (size_ == Capacity)
			return false;
		first_ = (first_ + Capacity - 1) % Capacity;
		items_[first_] = item;
		size_++;
		return true;
	}

	[[nodiscard]] const T &front() const
	{
		expects(size_ > 0);
		return items_[first_];
	}

	void pop()
	{
		expects(size_ > 0);
		items_[first_] = T{};
		first_ = (first_ + 1) % Capacity;
		size_--;
	}

	// Takes the i-th item from the front out; those behind it move up.
	void erase(std::size_t i)
	{
		expects(i < size_);
		for (; i + 1 < size_; i++)
			(*this)[i] = (*this)[i + 1];
		(*this)[i] = T{};
		size_--;
	}

	// The i-th item from the front.
	[[nodiscard]] T &operator[](std::size_t i)
	{
		expects(i < size_);
		return items_[(first_ + i) % Capacity];
	}
	[[nodiscard]] const T &operator[](std::size_t i) const
	{
		expects(i < size_);
		return items_[(first_ + i) % Capacity];
	}

	[[nodiscard]] std::size_t size() const { return size_; }
	[[nodiscard]] bool empty() const { return size_ == 0; }

private:
	std::array<T, Capacity> items_{};
	std::size_t first_ = 0;
	std::size_t size_ = 0;
};

} // namespace smc::group
