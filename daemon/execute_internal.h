/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the executor; execute.h is what others see.
 *
 *	execute.c		hands moves to the kernel, stops them, tells how things stand
 *	execute_ring.c		what the kernel says of moves: the ring, the list, the map
 *	execute_result.c	what follows from how a move ended
 */
#ifndef TIERD_EXECUTE_INTERNAL_H
#define TIERD_EXECUTE_INTERNAL_H

#include "clock.h"
#include "execute.h"

/* Failures in a row after which a device is suspected rather than an extent. */
#define DEVICE_SUSPECT		3

/* A move in the kernel. */
struct flight {
	struct tier_plan_move move;
	uint64_t id;
	bool is_cancelled;	/* we asked for its end */
	bool is_adopted;	/* not of our plan: nothing to repeat */
};

/* An extent whose move has failed. */
struct failure {
	struct tier_plan_move move;
	unsigned int attempts;
	int64_t until_ns;	/* leave it alone so long */
	bool is_waiting;	/* ... and then try again */
	bool wants_room;	/* it only waits for a slot: before all others */
	int64_t no_room_ns;	/* ... with nothing under way that could free one, since */
	enum tier_reason reason;
};

struct device_health {
	unsigned int failures;	/* in a row */
	int64_t until_ns;
};

struct execute {
	const struct tier_backend *backend;
	struct execute_observer observer;
	struct execute_limits limits;

	const struct tier_plan_move *moves;	/* the plan's */
	size_t nr_moves;
	size_t next;				/* the first not handed over */

	struct flight *flights;
	size_t nr_flights;
	size_t max_flights;

	struct failure *failures;
	size_t nr_failures;
	size_t max_failures;

	struct device_health devices[TIER_MAX_DEVICES];
	bool knows_ring;
	uint64_t last_seq;			/* of the ring, seen */
	int64_t reconciled_ns;
};

static inline bool execute_same_extent(const struct tier_plan_move *a,
				       const struct tier_plan_move *b)
{
	return a->volume == b->volume && a->extent == b->extent;
}

/* Room in an array for one more element. -ENOMEM. */
int execute_reserve(void **array, size_t nr, size_t *max, size_t size);
/* ... of flights. */
int execute_reserve_flight(struct execute *execute);

/* ---- execute_ring.c ---- */

/* Deal with what has ended. */
int execute_see_finished(struct execute *execute, int64_t now_ns);

/* ---- execute_result.c: each forgets what has to be forgotten, and reports ---- */

/* Flight number i is over; others may take its place in the array. */
void execute_end_flight(struct execute *execute, size_t i, int error, enum tier_reason reason,
			uint64_t copied_bytes, int64_t now_ns);
/* A move that the kernel did not take, or that failed. */
void execute_end_failed(struct execute *execute, const struct tier_plan_move *move,
			bool is_adopted, enum tier_reason reason, int error, int64_t now_ns);
/* There was no free slot. It has failed only when nothing can free one any more. */
void execute_end_no_room(struct execute *execute, const struct tier_plan_move *move,
			 bool is_adopted, int64_t now_ns);
/* None of ours to repeat. */
void execute_end_quietly(struct execute *execute, const struct tier_plan_move *move,
			 enum execute_outcome outcome, enum tier_reason reason, bool was_tried);

#endif
