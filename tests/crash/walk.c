// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"

static void add_knowledge(struct knowledge *k, const struct event *event)
{
	if (event->slice == SLICE_JOURNAL && event->type == EVENT_WRITE)
		knowledge_add(k, event->data, event->bytes);
}

/* How many events until a pool was up for the first time. */
static size_t find_ready(const struct event_log *log)
{
	struct knowledge k = { 0 };
	size_t i;

	for (i = 0; i < log->count && !k.ready; i++)
		add_knowledge(&k, log->event[i]);
	if (!k.ready)
		errx(2, "no pool has come up in this recording");
	knowledge_free(&k);
	return i;
}

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool is_selected(const struct selection *s, uint64_t number)
{
	return s->one ? number == s->only : !(number % s->every);
}

/* Numbers of the events that the metadata had, from @first on. */
static size_t *find_metadata(const struct event_log *log, size_t first, size_t *ret_count)
{
	size_t *found = calloc(log->count + 1, sizeof(*found)), i;

	if (!found)
		err(2, "memory");
	*ret_count = 0;
	for (i = first; i < log->count; i++)
		if (log->event[i]->slice == SLICE_META)
			found[(*ret_count)++] = i;
	return found;
}

/* After any event; half of them after one of the metadata, where the commits are. */
static void choose_points(struct walk *walk, const struct selection *s)
{
	size_t first = find_ready(&walk->log), range = walk->log.count - first + 1, nr_metadata;
	size_t *metadata = find_metadata(&walk->log, first, &nr_metadata);
	uint64_t number;

	walk->point = calloc(s->points + 1, sizeof(*walk->point));
	if (!walk->point)
		err(2, "memory");
	for (number = 0; number < s->points; number++) {
		struct rng rng = { mix(s->seed) + number };
		struct point *p = &walk->point[walk->nr_points];

		if (!is_selected(s, number))
			continue;
		p->number = number;
		if (nr_metadata && rng_below(&rng, 2))
			p->at = metadata[rng_below(&rng, nr_metadata)] + 1;
		else
			p->at = first + rng_below(&rng, range);
		p->seed = rng_next(&rng);
		walk->nr_points++;
	}
	free(metadata);
	qsort(walk->point, walk->nr_points, sizeof(*walk->point), compare_points);
}

void walk_begin(struct walk *walk, const char *path, const struct selection *selection)
{
	int r;

	*walk = (struct walk){ 0 };
	r = events_open(&walk->log, path);
	if (r)
		errx(2, "%s: %s", path, strerror(-r));
	choose_points(walk, selection);
	cut_init(&walk->cut, &walk->log, NULL);
}

void walk_to(struct walk *walk, const struct point *point)
{
	while (walk->cut.at < point->at) {
		add_knowledge(&walk->knowledge, walk->log.event[walk->cut.at]);
		cut_next(&walk->cut);
	}
	cut_make(&walk->cut, point->seed);
}

void walk_end(struct walk *walk)
{
	cut_free(&walk->cut);
	knowledge_free(&walk->knowledge);
	events_close(&walk->log);
	free(walk->point);
}
