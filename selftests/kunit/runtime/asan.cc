// SPDX-License-Identifier: GPL-2.0-only
//
// gcc calls these at the begin and end of a file's initializers, so that AddressSanitizer sees the
// use of another file's object before its initialization. The kernel's AddressSanitizer has no such
// check.

extern "C" {

void __asan_before_dynamic_init(const void *) {}

void __asan_after_dynamic_init() {}

} // extern "C"
