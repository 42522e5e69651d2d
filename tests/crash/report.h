/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the guest that activates pools talks with the host: it writes a word to the
 * first sector of the control slice, the host acts before it answers the write.
 *
 *	next	the pool's slices become those of the next power cut; the sector then
 *		says "point <number>", or "end"
 *	judge	the host judges what the guest has put into the report slice
 */
#ifndef CRASH_REPORT_H
#define CRASH_REPORT_H

#include <stdint.h>

#include "sector.h"

#define REPORT_MAGIC	0x74727052726569b1ULL

struct report_volume {
	uint32_t id, life, extents;
	uint32_t first;			/* of its struct sector in the report */
};

/* One sector; behind it one struct sector for each sector of the volumes. */
struct report {
	uint64_t magic;
	uint32_t needs_check, nr_volumes;
	char mode[32];			/* "refused": the pool did not come up */
	char why[128];
	struct report_volume volume[MAX_VOLUMES];
};

_Static_assert(sizeof(struct report) <= SECTOR, "a sector");

#endif
