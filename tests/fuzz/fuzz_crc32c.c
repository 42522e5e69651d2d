// SPDX-License-Identifier: GPL-2.0-only
/* lib/crc32c.c for fuzzers, by the processor where it can: half of their time is spent here. */
#ifdef __SSE4_2__
#include <stdint.h>
#include <string.h>

#include <nmmintrin.h>

uint32_t crc32c(uint32_t crc, const void *data, unsigned int bytes);

uint32_t crc32c(uint32_t crc, const void *data, unsigned int bytes)
{
	const unsigned char *at = data;
	uint64_t wide = crc, word;

	for (; bytes >= 8; bytes -= 8, at += 8) {
		memcpy(&word, at, sizeof(word));
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t)wide;
	for (; bytes; bytes--)
		crc = _mm_crc32_u8(crc, *at++);
	return crc;
}
#else
#include "../../lib/crc32c.c"
#endif
