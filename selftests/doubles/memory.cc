// SPDX-License-Identifier: GPL-2.0-only
#include "doubles/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "doubles/broken.hpp"
#include "doubles/hash.hpp"
#include "doubles/spinlock.hpp"
#include "kernel/abi/mem.h"

namespace doubles {

Memory &memory()
{
	static Memory instance;
	return instance;
}

} // namespace doubles

using namespace doubles;

void *smc_mem_alloc(size_t size_bytes)
{
	if (locks().held)
		broken("an allocation, which may sleep, under a spinlock");
	if (memory().allocations_left == 0)
		return nullptr;
	memory().allocations_left -= memory().allocations_left > 0;
	memory().allocated++;
	// Nobody may rely on what is in it.
	void *mem = std::malloc(size_bytes);
	if (mem != nullptr)
		std::memset(mem, 0xa5, size_bytes);
	return mem;
}

void smc_mem_free(void *mem)
{
	memory().allocated -= mem != nullptr;
	std::free(mem);
	if (const auto now = std::exchange(memory().meanwhile, nullptr))
		now();
}

// The same each time, but not the same for two who ask.
void smc_random_bytes(void *out, size_t len_bytes)
{
	auto *bytes = static_cast<u8 *>(out);

	for (size_t i = 0; i < len_bytes; i++)
		bytes[i] = static_cast<u8>(spread(memory().drawn++));
}

u64 smc_hash(const smc_hash_key *key, u64 first, u64 second)
{
	return doubles::hash(key->words[0], first, second);
}
