// SPDX-License-Identifier: GPL-2.0-only
//
// gcc tells AddressSanitizer when the initializers of a file begin and end, so that it can see
// one that uses another file's object too early. The kernel's has no such check.

extern "C" {

void __asan_before_dynamic_init(const void *) {}

void __asan_after_dynamic_init() {}

} // extern "C"
