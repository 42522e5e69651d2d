/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sector of a volume holds: a function of the volume's life, the sector's
 * number and the write's number.  So a sector tells whose it is and how old, and
 * any other bytes in it show.  Pure.
 */
#ifndef CRASH_SECTOR_H
#define CRASH_SECTOR_H

#include <stdint.h>
#include <string.h>

#include "disks.h"
#include "pattern.h"

#define SECTOR_WORDS	(SECTOR / 8)
#define SECTOR_MAGIC	0x7e57da7aULL
#define DISCARD_MAGIC	0x7e57d15cULL

/* DISCARDED: what the disk shows where a discard was done, which may be anything. */
enum sector_kind { SECTOR_ZEROS, SECTOR_DATA, SECTOR_DISCARDED, SECTOR_OTHER };

struct sector {
	uint32_t kind;
	uint32_t life, number, write;	/* of DATA */
};

static inline uint64_t sector_base(const uint64_t *words)
{
	return mix(words[0] + 1) + mix(words[1]);
}

/* The first two words make the others. */
static inline void sector_complete(uint64_t *words)
{
	uint64_t base;
	unsigned int i;

	base = sector_base(words);
	for (i = 2; i < SECTOR_WORDS; i++)
		words[i] = base + i * 0x9e3779b97f4a7c15ULL;
}

static inline void sector_fill(uint64_t *words, uint32_t life, uint32_t number, uint32_t write)
{
	words[0] = (uint64_t)life << 32 | number;
	words[1] = SECTOR_MAGIC << 32 | write;
	sector_complete(words);
}

static inline void sector_discard(uint64_t *words, uint32_t request)
{
	words[0] = 0;
	words[1] = DISCARD_MAGIC << 32 | request;
	sector_complete(words);
}

static inline struct sector sector_look(const uint64_t *words)
{
	struct sector sector = { SECTOR_OTHER };
	uint64_t base, any = 0, magic = words[1] >> 32;
	unsigned int i;

	if (magic != SECTOR_MAGIC && magic != DISCARD_MAGIC) {
		for (i = 0; i < SECTOR_WORDS; i++)
			any |= words[i];
		if (!any)
			sector.kind = SECTOR_ZEROS;
		return sector;
	}
	base = sector_base(words);
	for (i = 2; i < SECTOR_WORDS; i++)
		any |= words[i] ^ (base + i * 0x9e3779b97f4a7c15ULL);
	if (any)
		return sector;
	sector.kind = magic == SECTOR_MAGIC ? SECTOR_DATA : SECTOR_DISCARDED;
	sector.life = words[0] >> 32;
	sector.number = words[0];
	sector.write = words[1];
	return sector;
}

#endif
