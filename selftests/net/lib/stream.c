// SPDX-License-Identifier: GPL-2.0-only
#include "stream.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "random.h"

#define CRC_POLYNOMIAL 0xedb88320u
#define WORD_BYTES 8

/* In the order of bytes that all machines agree on. */
static uint64_t word_at(uint64_t seed, uint64_t offset)
{
	return htole64(random_mix(seed ^ (offset / WORD_BYTES * 0xd1342543de82ef95u)));
}

void stream_fill(void *buffer, size_t length, uint64_t seed, uint64_t offset)
{
	unsigned char *out = buffer;

	while (length) {
		uint64_t word = word_at(seed, offset);
		size_t skip = offset % WORD_BYTES;
		size_t count = WORD_BYTES - skip;

		if (count > length)
			count = length;
		memcpy(out, (unsigned char *)&word + skip, count);
		out += count;
		offset += count;
		length -= count;
	}
}

size_t stream_match(const void *buffer, size_t length, uint64_t seed, uint64_t offset)
{
	const unsigned char *in = buffer;
	size_t matched = 0;

	while (matched < length) {
		uint64_t word = word_at(seed, offset + matched);
		const unsigned char *expected = (const unsigned char *)&word;
		size_t skip = (offset + matched) % WORD_BYTES;
		size_t count = WORD_BYTES - skip;

		if (count > length - matched)
			count = length - matched;
		if (memcmp(in + matched, expected + skip, count)) {
			while (in[matched] == expected[skip]) {
				matched++;
				skip++;
			}
			return matched;
		}
		matched += count;
	}
	return matched;
}

uint64_t stream_seed(uint64_t base, uint64_t connection, uint64_t direction)
{
	return random_mix(random_mix(base) ^ (connection << 1 | direction));
}

/* Eight tables: one step takes eight bytes, which counts in an emulated guest. */
static uint32_t crc_table[WORD_BYTES][256];

static void crc_table_fill(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ CRC_POLYNOMIAL : crc >> 1;
		crc_table[0][i] = crc;
	}
	for (int row = 1; row < WORD_BYTES; row++)
		for (int i = 0; i < 256; i++) {
			uint32_t before = crc_table[row - 1][i];

			crc_table[row][i] = before >> 8 ^ crc_table[0][before & 0xff];
		}
}

uint32_t stream_crc(uint32_t crc, const void *buffer, size_t length)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const unsigned char *in = buffer;

	pthread_once(&once, crc_table_fill);
	crc = ~crc;
	for (; length >= WORD_BYTES; length -= WORD_BYTES, in += WORD_BYTES) {
		crc ^= in[0] | in[1] << 8 | in[2] << 16 | (uint32_t)in[3] << 24;
		crc = crc_table[7][crc & 0xff] ^ crc_table[6][crc >> 8 & 0xff] ^
		      crc_table[5][crc >> 16 & 0xff] ^ crc_table[4][crc >> 24] ^
		      crc_table[3][in[4]] ^ crc_table[2][in[5]] ^ crc_table[1][in[6]] ^
		      crc_table[0][in[7]];
	}
	while (length--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *in++) & 0xff];
	return ~crc;
}
