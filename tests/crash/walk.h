/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From one power cut of a recording to the next.  Point p of a seed is the same
 * cut every time: after which event, and what of the pending writes is there.
 */
#ifndef CRASH_WALK_H
#define CRASH_WALK_H

#include "cut.h"
#include "judge.h"

struct point {
	uint64_t number;
	size_t at;			/* events before the cut */
	uint64_t seed;
};

struct walk {
	struct event_log log;
	struct cut cut;
	struct knowledge knowledge;
	struct point *point;		/* in order of time */
	size_t nr_points;
};

/* Which of a seed's points. */
struct selection {
	uint64_t seed, points;
	uint64_t every;			/* only multiples of this */
	bool one;			/* only this one */
	uint64_t only;
};

/* A recording that cannot be read, or in which no pool comes up, ends the program. */
void walk_begin(struct walk *walk, const char *path, const struct selection *selection);
/* The power goes at this point; cut_undo() before the next. Points in order. */
void walk_to(struct walk *walk, const struct point *point);
void walk_end(struct walk *walk);

#endif
