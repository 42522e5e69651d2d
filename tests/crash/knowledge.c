// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "knowledge.h"

static struct knowledge_life *find_any(struct knowledge *k, uint32_t life)
{
	uint32_t i;

	for (i = 0; i < MAX_LIVES; i++)
		if (k->life[i].life == life)
			return &k->life[i];
	return NULL;
}

struct knowledge_life *knowledge_find(struct knowledge *k, uint32_t life)
{
	return life ? find_any(k, life) : NULL;
}

static struct knowledge_life *need(struct knowledge *k, uint32_t life)
{
	struct knowledge_life *l = knowledge_find(k, life);

	if (!l)
		errx(2, "the journal speaks of volume life %#x, which it has not begun", life);
	return l;
}

static void end_life(struct knowledge_life *l)
{
	free(l->durable);
	free(l->zeroed);
	free(l->done);
	memset(l, 0, sizeof(*l));
}

static void begin_life(struct knowledge *k, const struct journal_record *r)
{
	struct knowledge_life *l = find_any(k, 0);

	if (!l)
		errx(2, "more volumes in the journal than can be followed");
	l->life = r->life;
	l->least = l->most = r->count;
	l->durable = calloc(MAX_SECTORS, sizeof(uint32_t));
	l->zeroed = calloc(MAX_SECTORS, sizeof(uint32_t));
	if (!l->durable || !l->zeroed)
		err(2, "memory");
}

/* Sectors --------------------------------------------------------------------------*/

static void check_range(const struct journal_record *r)
{
	if (r->first > MAX_SECTORS || r->count > MAX_SECTORS - r->first)
		errx(2, "the journal speaks of sectors %u + %u", r->first, r->count);
}

static void raise(uint32_t *numbers, uint32_t first, uint32_t after, uint32_t number)
{
	uint32_t i;

	for (i = first; i < after; i++)
		if (numbers[i] < number)
			numbers[i] = number;
}

static void make_durable(struct knowledge_life *l, const struct journal_record *r)
{
	raise(l->durable, r->first, r->first + r->count, r->number);
}

static void add_done(struct knowledge_life *l, const struct journal_record *r)
{
	if (l->nr_done == l->done_room) {
		l->done_room = l->done_room ? 2 * l->done_room : 256;
		l->done = realloc(l->done, l->done_room * sizeof(*l->done));
		if (!l->done)
			err(2, "memory");
	}
	l->done[l->nr_done++] = *r;
}

static void flush_begins(struct knowledge_life *l, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < MAX_FLUSHES; i++) {
		if (l->flush[i].number)
			continue;
		l->flush[i].number = number;
		l->flush[i].done = l->first_done + l->nr_done;
		return;
	}
	errx(2, "more flushes at once in the journal than can be followed");
}

static void flush_ends(struct knowledge_life *l, uint32_t number)
{
	size_t count = 0, i;

	for (i = 0; i < MAX_FLUSHES; i++)
		if (l->flush[i].number == number)
			break;
	if (i == MAX_FLUSHES)
		errx(2, "a flush ends in the journal that has not begun");
	l->flush[i].number = 0;
	if (l->flush[i].done > l->first_done)
		count = l->flush[i].done - l->first_done;
	for (i = 0; i < count; i++)
		make_durable(l, &l->done[i]);
	memmove(l->done, l->done + count, (l->nr_done - count) * sizeof(*l->done));
	l->nr_done -= count;
	l->first_done += count;
}

/* Volumes --------------------------------------------------------------------------*/

static void resize(struct knowledge_life *l, const struct journal_record *r)
{
	if (r->count < l->least)
		l->least = r->count;
	if (r->count > l->most)
		l->most = r->count;
	raise(l->zeroed, r->count * EXTENT_SECTORS, MAX_SECTORS, r->number);
}

static void resized(struct knowledge_life *l, const struct journal_record *r)
{
	l->least = l->most = r->count;
	raise(l->durable, r->count * EXTENT_SECTORS, MAX_SECTORS, r->number);
}

/* A crash: what was not durable may be lost, and so may what was under way. */
static void run_begins(struct knowledge *k)
{
	uint32_t i;

	for (i = 0; i < MAX_LIVES; i++) {
		struct knowledge_life *l = &k->life[i];

		l->first_done += l->nr_done;
		l->nr_done = 0;
		memset(l->flush, 0, sizeof(l->flush));
		l->seen = false;
	}
}

/* The pool came up with this volume, so that is how it is from now on. */
static void seen(struct knowledge *k, const struct journal_record *r)
{
	struct knowledge_life *l = need(k, r->life);
	struct journal_record now = *r;

	if (r->count < l->least || r->count > l->most)
		errx(2, "volume life %#x came up with %u extents", r->life, r->count);
	l->seen = l->must = true;
	resize(l, &now);
	resized(l, &now);
}

static void ready(struct knowledge *k)
{
	uint32_t i;

	for (i = 0; i < MAX_LIVES; i++)
		if (k->life[i].life && !k->life[i].seen)
			end_life(&k->life[i]);
	k->ready = true;
}

static void add_volume_record(struct knowledge *k, const struct journal_record *r)
{
	switch (r->type) {
	case JOURNAL_CREATE:
		begin_life(k, r);
		return;
	case JOURNAL_CREATED:
		need(k, r->life)->must = true;
		return;
	case JOURNAL_RESIZE:
		resize(need(k, r->life), r);
		return;
	case JOURNAL_RESIZED:
		resized(need(k, r->life), r);
		return;
	case JOURNAL_DELETE:
		need(k, r->life)->must = false;
		return;
	case JOURNAL_DELETED:
		end_life(need(k, r->life));
		return;
	case JOURNAL_SEEN:
		seen(k, r);
		return;
	}
	errx(2, "a journal record of type %u", r->type);
}

static void add_record(struct knowledge *k, const struct journal_record *r)
{
	struct knowledge_life *l = NULL;

	check_range(r);
	if (r->type >= JOURNAL_DISCARD)
		l = need(k, r->life);
	switch (r->type) {
	case JOURNAL_RUN:
		run_begins(k);
		return;
	case JOURNAL_READY:
		ready(k);
		return;
	case JOURNAL_DISCARD:
		raise(l->zeroed, r->first, r->first + r->count, r->number);
		return;
	case JOURNAL_DISCARDED:
	case JOURNAL_WROTE:
		add_done(l, r);
		return;
	case JOURNAL_WROTE_FUA:
		make_durable(l, r);
		l->must = true;
		return;
	case JOURNAL_FLUSH:
		flush_begins(l, r->number);
		return;
	case JOURNAL_FLUSHED:
		flush_ends(l, r->number);
		l->must = true;
		return;
	}
	add_volume_record(k, r);
}

void knowledge_add(struct knowledge *k, const void *sectors, uint64_t bytes)
{
	const struct journal_sector *sector = sectors;
	uint32_t i;

	for (; bytes; bytes -= SECTOR, sector++) {
		if (sector->magic != JOURNAL_MAGIC || sector->count > JOURNAL_RECORDS)
			errx(2, "a sector that is none of the journal");
		for (i = 0; i < sector->count; i++)
			add_record(k, &sector->record[i]);
	}
}

void knowledge_free(struct knowledge *k)
{
	uint32_t i;

	for (i = 0; i < MAX_LIVES; i++)
		end_life(&k->life[i]);
}

const char *knowledge_check(const struct knowledge_life *life, uint32_t number,
			    const struct sector *sector)
{
	uint32_t durable = life->durable[number];

	switch (sector->kind) {
	case SECTOR_ZEROS:
		return !durable || life->zeroed[number] >= durable ? NULL : "zeros";
	case SECTOR_DISCARDED:
		/* Until it is durable that it was discarded, a valid region may show it. */
		return life->zeroed[number] > durable ? NULL : "what a discard has left";
	case SECTOR_DATA:
		if (sector->life != life->life)
			return "another volume's data";
		if (sector->number != number)
			return "another sector's data";
		return sector->write >= durable ? NULL : "data older than durable";
	}
	return "garbage";
}
