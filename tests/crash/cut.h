/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slices of a pool as a power cut after an event may leave them.
 *
 * A write counts from when it came.  It is durable for certain once a flush of its
 * slice was answered that came after the write's own answer; until then each of
 * its sectors may be there or not.  A discard that may have happened leaves
 * anything.  Writes that overlap keep their order.
 */
#ifndef CRASH_CUT_H
#define CRASH_CUT_H

#include "events.h"
#include "sector.h"

struct cut {
	const struct event_log *log;
	size_t at;			/* events that have happened */
	uint8_t *image[NR_POOL_SLICES];
	struct sector *look[NR_POOL_SLICES];	/* of each sector; data slices */
	/* private */
	struct pending *pending;	/* what may be lost, in order of its coming */
	size_t nr_pending, pending_room;
	struct undo *undo;		/* what the last make changed */
	size_t nr_undo, undo_room;
};

/* From zeros, or from the slices of another; no event has happened. */
void cut_init(struct cut *cut, const struct event_log *log, const struct cut *from);
void cut_free(struct cut *cut);

/* The next event happens. What is in the images is durable. */
void cut_next(struct cut *cut);

/* The power goes: which of the pending writes are there depends on @seed. */
void cut_make(struct cut *cut, uint64_t seed);
/* It has not gone. */
void cut_undo(struct cut *cut);

/* All that came is there, as the machine sees it as long as it has power. */
void cut_keep_all(struct cut *cut);

struct rng {
	uint64_t state;
};

uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t limit);

#endif
