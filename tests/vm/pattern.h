/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a block of 4 KiB of oracle.c holds: a function of whose it is (the tag),
 * its number and its generation.  Pure.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>

#define BLOCK		4096u
#define WORDS		(BLOCK / 8)

static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static inline uint64_t base_word(uint64_t tag, uint64_t block, uint32_t generation)
{
	return mix(mix(tag + 1) ^ block << 24) + mix(generation);
}

/* Word 0 names the block and whose it is, word 1 the generation, the others depend on both. */
static inline void fill(uint64_t *words, uint64_t tag, uint64_t block, uint32_t generation)
{
	uint64_t base = base_word(tag, block, generation);
	unsigned int i;

	words[0] = mix(tag + 1) ^ block;
	words[1] = generation;
	for (i = 2; i < WORDS; i++)
		words[i] = base + i * 0x9e3779b97f4a7c15ULL;
}

enum content { ZEROS, DATA, FOREIGN, TORN };

static inline enum content look(const uint64_t *words, uint64_t tag, uint64_t block,
				uint32_t *ret_generation)
{
	uint64_t base, any = 0;
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		any |= words[i];
	if (!any)
		return ZEROS;
	if (words[0] != (mix(tag + 1) ^ block))
		return words[0] ? FOREIGN : TORN;
	*ret_generation = words[1];
	base = base_word(tag, block, *ret_generation);
	for (i = 2; i < WORDS; i++)
		if (words[i] != base + i * 0x9e3779b97f4a7c15ULL)
			return TORN;
	return DATA;
}

#endif
