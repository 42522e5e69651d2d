/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The journal: what the load knows, written by itself to a slice of the disk that
 * its pool is on, so both are in one order.  A record that lies before a power cut
 * proves that what it says had happened before.  The journal loses nothing.
 *
 * A volume's life is what one create_volume began; the number is the end of the
 * volume's UUID.  Writes, discards and resizes have numbers that count up.
 */
#ifndef CRASH_JOURNAL_H
#define CRASH_JOURNAL_H

#include <stdint.h>

enum journal_type {
	/* A run of the load begins; what was not durable may be lost. */
	JOURNAL_RUN = 1,
	JOURNAL_SEEN,		/* a volume that the pool had then: life, extents in count */
	JOURNAL_READY,		/* those are all; the pool is up: cuts make sense */
	/* Before it is asked for; the second form: it is durable. */
	JOURNAL_CREATE, JOURNAL_CREATED,	/* life, extents in count */
	JOURNAL_RESIZE, JOURNAL_RESIZED,	/* life, extents in count, number */
	JOURNAL_DELETE, JOURNAL_DELETED,	/* life */
	/* Before, and after it has ended. */
	JOURNAL_DISCARD, JOURNAL_DISCARDED,	/* life, first, count, number: wholly covered regions */
	JOURNAL_WROTE,		/* life, first, count, number: it has ended ... */
	JOURNAL_WROTE_FUA,	/* ... and is durable */
	JOURNAL_FLUSH, JOURNAL_FLUSHED,		/* life; number: of the flush */
};

struct journal_record {
	uint32_t type;
	uint32_t life;
	uint32_t number;
	uint32_t first, count;	/* sectors */
	uint32_t reserved[3];
};

#define JOURNAL_MAGIC		0x6c6e724a65697431ULL
#define JOURNAL_RECORDS		15

struct journal_sector {
	uint64_t magic;
	uint32_t count;
	uint32_t reserved[5];
	struct journal_record record[JOURNAL_RECORDS];
};

_Static_assert(sizeof(struct journal_sector) == 512, "a sector");

#endif
