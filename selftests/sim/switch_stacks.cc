// SPDX-License-Identifier: GPL-2.0-only
#include "switch_stacks.hpp"

#include <cstdint>

#if defined(__x86_64__)

// What a function has to keep, and the stack pointer.
asm(".text\n"
    ".globl switch_stacks\n"
    ".type switch_stacks, @function\n"
    "switch_stacks:\n"
    "	pushq %rbp\n"
    "	pushq %rbx\n"
    "	pushq %r12\n"
    "	pushq %r13\n"
    "	pushq %r14\n"
    "	pushq %r15\n"
    "	movq %rsp, (%rdi)\n"
    "	movq %rsi, %rsp\n"
    "	popq %r15\n"
    "	popq %r14\n"
    "	popq %r13\n"
    "	popq %r12\n"
    "	popq %rbx\n"
    "	popq %rbp\n"
    "	ret\n"
    ".size switch_stacks, . - switch_stacks\n");

namespace {

constexpr int kSavedRegisters = 6;

} // namespace

#elif defined(__aarch64__)

asm(".text\n"
    ".globl switch_stacks\n"
    ".type switch_stacks, %function\n"
    "switch_stacks:\n"
    "	stp x29, x30, [sp, #-160]!\n"
    "	stp x19, x20, [sp, #16]\n"
    "	stp x21, x22, [sp, #32]\n"
    "	stp x23, x24, [sp, #48]\n"
    "	stp x25, x26, [sp, #64]\n"
    "	stp x27, x28, [sp, #80]\n"
    "	stp d8, d9, [sp, #96]\n"
    "	stp d10, d11, [sp, #112]\n"
    "	stp d12, d13, [sp, #128]\n"
    "	stp d14, d15, [sp, #144]\n"
    "	mov x9, sp\n"
    "	str x9, [x0]\n"
    "	mov sp, x1\n"
    "	ldp x19, x20, [sp, #16]\n"
    "	ldp x21, x22, [sp, #32]\n"
    "	ldp x23, x24, [sp, #48]\n"
    "	ldp x25, x26, [sp, #64]\n"
    "	ldp x27, x28, [sp, #80]\n"
    "	ldp d8, d9, [sp, #96]\n"
    "	ldp d10, d11, [sp, #112]\n"
    "	ldp d12, d13, [sp, #128]\n"
    "	ldp d14, d15, [sp, #144]\n"
    "	ldp x29, x30, [sp], #160\n"
    "	ret\n"
    ".size switch_stacks, . - switch_stacks\n");

#else
#error "switch_stacks() is not written for this processor yet"
#endif

namespace sim {

void *prepared_stack(void *top, void (*entry)())
{
	auto **at = reinterpret_cast<void **>(reinterpret_cast<std::uintptr_t>(top) &
					      ~std::uintptr_t{15});

#if defined(__x86_64__)
	// As after a call: a return address that nobody uses, then where to go.
	*--at = nullptr;
	*--at = reinterpret_cast<void *>(entry);
	for (int i = 0; i < kSavedRegisters; i++)
		*--at = nullptr;
#else
	at -= 20;
	for (int i = 0; i < 20; i++)
		at[i] = nullptr;
	at[1] = reinterpret_cast<void *>(entry); // x30
#endif
	return at;
}

} // namespace sim
