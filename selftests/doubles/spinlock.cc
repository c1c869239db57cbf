// SPDX-License-Identifier: GPL-2.0-only
#include "doubles/spinlock.hpp"

#include <utility>

#include "doubles/broken.hpp"

namespace doubles {

Locks &locks()
{
	static Locks instance;
	return instance;
}

} // namespace doubles

using namespace doubles;

void smc_spin_init(smc_spinlock *, smc_lock_class lock_class)
{
	locks().classes.insert(lock_class);
}

void smc_spin_lock(smc_spinlock *lock)
{
	if (locks().held)
		broken("a spinlock under another, or taken twice");
	locks().held = true;
	locks().taken.insert(lock);
}

void smc_spin_unlock(smc_spinlock *)
{
	if (!locks().held)
		broken("a spinlock is given back that nobody holds");
	locks().held = false;
	if (const auto meanwhile = std::exchange(locks().meanwhile, nullptr))
		meanwhile();
}
