// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace sim {

// A stack on which @entry will run when it is switched to; it must not return. @top: its end.
[[nodiscard]] void *prepared_stack(void *top, void (*entry)());

// Leaves the current stack, its pointer in *@from, and continues on the other one. swapcontext()
// makes two system calls each time; this takes a few instructions.
extern "C" void switch_stacks(void **from, void *to);

} // namespace sim
