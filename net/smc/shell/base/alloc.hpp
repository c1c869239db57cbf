// SPDX-License-Identifier: GPL-2.0-only
//
// Objects on the kernel's heap. An allocation can fail; the caller checks. The constructor sets
// each field that is read before it is written: see smc_mem_alloc().
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "kernel/abi/mem.h"

namespace smc::shell {

struct Deleter {
	template <class T>
	void operator()(T *object) const
	{
		object->~T();
		smc_mem_free(object);
	}
};

template <class T>
using Owned = std::unique_ptr<T, Deleter>;

// Nullptr if there is no memory. Process context.
template <class T, class... Args>
[[nodiscard]] Owned<T> make(Args &&...args)
{
	static_assert(alignof(T) <= alignof(std::max_align_t));
	void *memory = smc_mem_alloc(sizeof(T));
	if (memory == nullptr)
		return nullptr;
	return Owned<T>(::new (memory) T(std::forward<Args>(args)...));
}

// Makes an object that exists once, from the module's loading on. False if there is no memory.
// Process.
template <class T>
[[nodiscard]] bool make_single(T *&single)
{
	single = make<T>().release();
	return single != nullptr;
}

// Frees it, if it was made. Process.
template <class T>
void free_single(T *&single)
{
	if (single != nullptr)
		Deleter()(single);
	single = nullptr;
}

} // namespace smc::shell
