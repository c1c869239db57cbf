/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A seeded stream of bytes that can be made and checked from any offset, so that a
 * receiver finds loss, repetition and exchange of bytes without a copy of what was sent.
 */
#ifndef SELFTEST_STREAM_H
#define SELFTEST_STREAM_H

#include <stddef.h>
#include <stdint.h>

/* Fills buffer with the bytes [offset, offset + length) of the stream of seed. */
void stream_fill(void *buffer, size_t length, uint64_t seed, uint64_t offset);

/* Returns how many leading bytes of buffer agree with the stream; length if all do. */
size_t stream_match(const void *buffer, size_t length, uint64_t seed, uint64_t offset);

/* A seed for one direction of one of many connections. */
uint64_t stream_seed(uint64_t base, uint64_t connection, uint64_t direction);

/* CRC-32 (IEEE 802.3, as in zlib), continued from crc; start with 0. */
uint32_t stream_crc(uint32_t crc, const void *buffer, size_t length);

#endif
