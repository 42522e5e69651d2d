// SPDX-License-Identifier: GPL-2.0-only
/*
 * crc32c for the kernel's on-disk code in user space (lib/kshim/linux/crc32c.h):
 * eight bytes at a time by tables, about 2 GB/s, so that a log ring of 64 MiB is
 * checked in well under a second. Pure.
 */
#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Declared in the shim; lib/ does not see the kernel's headers. */
uint32_t crc32c(uint32_t crc, const void *data, unsigned int bytes);

#define POLYNOMIAL	0x82f63b78U	/* Castagnoli, bits reversed */

/* table[k][b] is the crc of byte b with k zero bytes behind it. */
static uint32_t table[8][256];

__attribute__((constructor)) static void crc32c_fill_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][b] = crc;
	}
	for (uint32_t b = 0; b < 256; b++)
		for (int k = 1; k < 8; k++)
			table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

uint32_t crc32c(uint32_t crc, const void *data, unsigned int bytes)
{
	const unsigned char *at = data;

	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		word = le64toh(word) ^ crc;
		crc = table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^
		      table[5][word >> 16 & 0xff] ^ table[4][word >> 24 & 0xff] ^
		      table[3][word >> 32 & 0xff] ^ table[2][word >> 40 & 0xff] ^
		      table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
	}
	for (; bytes; bytes--)
		crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
	return crc;
}
