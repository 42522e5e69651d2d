// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"

/* A request that may be lost; of a flush, that it has come. */
struct pending {
	const struct event *event;
	size_t came, answered;		/* numbers of events; answered 0: not yet */
};

struct undo {
	uint32_t slice;
	uint64_t number;		/* of the sector */
	uint8_t bytes[SECTOR];
	struct sector look;
};

enum { DISCARD_NOTHING, DISCARD_ZEROS, DISCARD_ANYTHING };

uint64_t rng_next(struct rng *rng)
{
	rng->state += 0x9e3779b97f4a7c15ULL;
	return mix(mix(rng->state) + 1);
}

uint64_t rng_below(struct rng *rng, uint64_t limit)
{
	return rng_next(rng) % limit;
}

static void *grow(void *array, size_t *room, size_t size)
{
	*room = *room ? 2 * *room : 1024;
	array = realloc(array, *room * size);
	if (!array)
		err(2, "memory");
	return array;
}

static bool is_data(uint32_t slice)
{
	return slice >= SLICE_DATA && slice < SLICE_DATA + NR_DATA;
}

void cut_init(struct cut *cut, const struct event_log *log, const struct cut *from)
{
	uint32_t i;

	*cut = (struct cut){ .log = log };
	for (i = 0; i < NR_POOL_SLICES; i++) {
		cut->image[i] = calloc(1, slices[i].bytes);
		if (is_data(i))
			cut->look[i] = calloc(slices[i].bytes / SECTOR, sizeof(struct sector));
		if (!cut->image[i] || (is_data(i) && !cut->look[i]))
			err(2, "memory");
		if (!from)
			continue;
		memcpy(cut->image[i], from->image[i], slices[i].bytes);
		if (is_data(i))
			memcpy(cut->look[i], from->look[i],
			       slices[i].bytes / SECTOR * sizeof(struct sector));
	}
}

void cut_free(struct cut *cut)
{
	uint32_t i;

	for (i = 0; i < NR_POOL_SLICES; i++) {
		free(cut->image[i]);
		free(cut->look[i]);
	}
	free(cut->pending);
	free(cut->undo);
}

/* Sectors ------------------------------------------------------------------------*/

static void remember(struct cut *cut, uint32_t slice, uint64_t number)
{
	struct undo *undo;

	if (cut->nr_undo == cut->undo_room)
		cut->undo = grow(cut->undo, &cut->undo_room, sizeof(*cut->undo));
	undo = &cut->undo[cut->nr_undo++];
	undo->slice = slice;
	undo->number = number;
	memcpy(undo->bytes, cut->image[slice] + number * SECTOR, SECTOR);
	if (is_data(slice))
		undo->look = cut->look[slice][number];
}

/* Sector @i of what the request covers. */
static void write_sector(struct cut *cut, const struct event *event, uint64_t i, int discard,
			 bool undoable)
{
	uint64_t number = event->offset / SECTOR + i;
	uint8_t *bytes = cut->image[event->slice] + number * SECTOR;

	if (event->type == EVENT_DISCARD && discard == DISCARD_NOTHING)
		return;
	if (undoable)
		remember(cut, event->slice, number);
	if (event->type == EVENT_WRITE)
		memcpy(bytes, event->data + i * SECTOR, SECTOR);
	else if (event->type == EVENT_DISCARD && discard == DISCARD_ANYTHING)
		sector_discard((uint64_t *)bytes, event->request);
	else
		memset(bytes, 0, SECTOR);
	if (is_data(event->slice))
		cut->look[event->slice][number] = sector_look((const uint64_t *)bytes);
}

static void write_all(struct cut *cut, const struct event *event, bool undoable)
{
	uint64_t i;

	for (i = 0; i < event->bytes / SECTOR; i++)
		write_sector(cut, event, i, 1 + event->request % 2, undoable);
}

/* Time -----------------------------------------------------------------------------*/

/* The flush is answered: what was answered before it came is durable, and no more pending. */
static void flushed(struct cut *cut, const struct pending *flush)
{
	const struct pending done = *flush;
	size_t from, to = 0;

	for (from = 0; from < cut->nr_pending; from++) {
		struct pending *p = &cut->pending[from];

		if (p->event == done.event)
			continue;
		if (p->event->slice == done.event->slice && p->event->type != EVENT_FLUSH &&
		    p->answered && p->answered < done.came) {
			write_all(cut, p->event, false);
			continue;
		}
		cut->pending[to++] = *p;
	}
	cut->nr_pending = to;
}

static void answered(struct cut *cut, uint32_t request)
{
	size_t i;

	for (i = cut->nr_pending; i-- > 0;) {
		struct pending *p = &cut->pending[i];

		if (p->event->request != request)
			continue;
		p->answered = cut->at;
		if (p->event->type == EVENT_FLUSH)
			flushed(cut, p);
		return;
	}
}

void cut_next(struct cut *cut)
{
	const struct event *event = cut->log->event[cut->at++];

	if (event->slice >= NR_POOL_SLICES)
		return;
	if (event->type == EVENT_DONE) {
		answered(cut, event->request);
		return;
	}
	if (cut->nr_pending == cut->pending_room)
		cut->pending = grow(cut->pending, &cut->pending_room, sizeof(*cut->pending));
	cut->pending[cut->nr_pending++] = (struct pending){ event, cut->at, 0 };
}

/* Cuts -----------------------------------------------------------------------------*/

/* A whole write, or a part: up to somewhere, from somewhere, or any sectors of it. */
static void write_some(struct cut *cut, const struct event *event, struct rng *rng)
{
	uint64_t count = event->bytes / SECTOR, i, border = rng_below(rng, count + 1);
	int discard = rng_below(rng, 3);
	unsigned int how = rng_below(rng, 8);

	for (i = 0; i < count; i++) {
		if (how == 0 && i >= border)
			continue;
		if (how == 1 && i < border)
			continue;
		if (how == 2 && rng_below(rng, 2))
			continue;
		write_sector(cut, event, i, discard, true);
	}
}

void cut_make(struct cut *cut, uint64_t seed)
{
	/* In percent; each slice has its own: one may keep all when another loses all. */
	static const uint8_t odds[] = { 0, 10, 50, 50, 90, 100 };
	struct rng rng = { seed };
	uint8_t keep[NR_POOL_SLICES];
	size_t i;

	for (i = 0; i < NR_POOL_SLICES; i++)
		keep[i] = odds[rng_below(&rng, sizeof(odds))];
	for (i = 0; i < cut->nr_pending; i++) {
		const struct event *event = cut->pending[i].event;

		if (event->type != EVENT_FLUSH && rng_below(&rng, 100) < keep[event->slice])
			write_some(cut, event, &rng);
	}
}

void cut_undo(struct cut *cut)
{
	while (cut->nr_undo) {
		struct undo *undo = &cut->undo[--cut->nr_undo];

		memcpy(cut->image[undo->slice] + undo->number * SECTOR, undo->bytes, SECTOR);
		if (is_data(undo->slice))
			cut->look[undo->slice][undo->number] = undo->look;
	}
}

void cut_keep_all(struct cut *cut)
{
	size_t i;

	for (i = 0; i < cut->nr_pending; i++)
		if (cut->pending[i].event->type != EVENT_FLUSH)
			write_all(cut, cut->pending[i].event, true);
}
