/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the journal has told up to some moment: which volumes must and may be
 * there, of what size, and what each of their sectors may hold.
 */
#ifndef CRASH_KNOWLEDGE_H
#define CRASH_KNOWLEDGE_H

#include <stdbool.h>

#include "journal.h"
#include "sector.h"

#define MAX_LIVES	64u		/* of which something has to be known at a time */
#define MAX_FLUSHES	64u		/* of a life, under way at once */

struct knowledge_life {
	uint32_t life;			/* 0: unused */
	bool must;			/* be there; it may as long as it is here */
	uint32_t least, most;		/* extents */
	uint32_t *durable;		/* of a sector: the number that nothing older may be there of */
	uint32_t *zeroed;		/* the last one that may have zeroed it */
	/* private */
	struct journal_record *done;	/* ended, not known to be durable, in order */
	size_t nr_done, done_room;
	uint64_t first_done;		/* number of done[0] since the beginning */
	struct {
		uint32_t number;
		uint64_t done;		/* what had ended when it began */
	} flush[MAX_FLUSHES];
	bool seen;
};

struct knowledge {
	struct knowledge_life life[MAX_LIVES];
	bool ready;			/* a pool was up */
};

/* A write to the journal slice. A journal that makes no sense ends the program. */
void knowledge_add(struct knowledge *k, const void *sectors, uint64_t bytes);
void knowledge_free(struct knowledge *k);

/* NULL: there is no such volume, or there must be none. */
struct knowledge_life *knowledge_find(struct knowledge *k, uint32_t life);

/* What is wrong with sector @number of the volume, or NULL. */
const char *knowledge_check(const struct knowledge_life *life, uint32_t number,
			    const struct sector *sector);

#endif
