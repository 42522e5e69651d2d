/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slices of the one logged disk: a pool's metadata and data devices, the
 * journal of who writes to it, and, for activation, two to talk with the guest.
 * Device idx i of the pool is slice SLICE_DATA + i.
 */
#ifndef CRASH_DISKS_H
#define CRASH_DISKS_H

#include <stdint.h>

enum {
	SLICE_META,
	SLICE_DATA,
	SLICE_JOURNAL = SLICE_DATA + 4,
	SLICE_CONTROL,
	SLICE_REPORT,
	NR_SLICES
};

#define NR_DATA			(SLICE_JOURNAL - SLICE_DATA)
#define NR_POOL_SLICES		SLICE_JOURNAL		/* what a power cut can hurt */

#define SECTOR			512u
#define EXTENT_SECTORS		2048u
#define MAX_EXTENTS		32u			/* of a volume */
#define MAX_SECTORS		(MAX_EXTENTS * EXTENT_SECTORS)
#define MAX_VOLUMES		8u

struct slice {
	const char *name;
	uint64_t bytes;
};

/* 6, 8, 8 and 16 slots on three tiers: the load leaves few free, so that they are soon given out again. */
static const struct slice slices[NR_SLICES] = {
	{ "meta", 16 << 20 },
	{ "a", 7 << 20 }, { "b0", 9 << 20 }, { "b1", 9 << 20 }, { "c", 17 << 20 },
	{ "journal", 64 << 20 },
	{ "control", 1 << 20 },
	{ "report", 4 << 20 },
};

#endif
