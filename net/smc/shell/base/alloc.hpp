// SPDX-License-Identifier: GPL-2.0-only
//
// Objects on the kernel's heap. Making one can fail; whoever makes one looks.
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

} // namespace smc::shell
