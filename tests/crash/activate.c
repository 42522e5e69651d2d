// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "activate.h"
#include "disk.h"

struct session {
	struct activate *a;
	struct disk disk;
	struct event_log log;		/* of the point that is activated */
	size_t next;			/* point */
};

static const struct point *current(struct session *s)
{
	return &s->a->walk->point[s->next - 1];
}

static void failed(struct session *s, const char *where, const char *verdict)
{
	s->a->failures++;
	s->a->failed(current(s), where, verdict);
}

static void next_point(struct session *s)
{
	struct walk *walk = s->a->walk;
	char *words = (char *)s->disk.image[SLICE_CONTROL];
	uint32_t i;

	if (s->next)
		cut_undo(&walk->cut);
	events_close(&s->log);
	memset(words, 0, SECTOR);
	if (s->next == walk->nr_points) {
		strcpy(words, "end\n");
		s->disk.log = NULL;
		return;
	}
	walk_to(walk, &walk->point[s->next++]);
	for (i = 0; i < NR_POOL_SLICES; i++)
		memcpy(s->disk.image[i], walk->cut.image[i], slices[i].bytes);
	memset(s->disk.image[SLICE_REPORT], 0, slices[SLICE_REPORT].bytes);
	if (events_create(&s->log, NULL))
		err(2, "memory");
	s->disk.log = &s->log;
	snprintf(words, SECTOR, "point %llu\n", (unsigned long long)current(s)->number);
}

/* The power goes again, in the middle of what the kernel has just done, and at its end. */
static void judge_again(struct session *s)
{
	struct walk *walk = s->a->walk;
	char verdict[VERDICT_SIZE];
	struct rng rng = { current(s)->seed };
	size_t step = s->log.count / (s->a->cuts_again + 1) + 1, at;
	struct cut cut;

	cut_init(&cut, &s->log, &walk->cut);
	for (at = rng_below(&rng, step); at < s->log.count; at += 1 + rng_below(&rng, step)) {
		while (cut.at < at)
			cut_next(&cut);
		cut_make(&cut, rng_next(&rng));
		s->a->again++;
		if (!judge_pool(&cut, &walk->knowledge, verdict))
			failed(s, "cut again while it was activated", verdict);
		cut_undo(&cut);
	}
	while (cut.at < s->log.count)
		cut_next(&cut);
	cut_keep_all(&cut);
	if (!judge_pool(&cut, &walk->knowledge, verdict))
		failed(s, "deactivated", verdict);
	cut_free(&cut);
}

static void judge(struct session *s)
{
	char verdict[VERDICT_SIZE];

	s->a->activated++;
	if (!judge_report(s->disk.image[SLICE_REPORT], slices[SLICE_REPORT].bytes,
			  &s->a->walk->knowledge, verdict))
		failed(s, "activated", verdict);
	judge_again(s);
}

static uint64_t request(void *ctx, struct nbd_request *request)
{
	struct session *s = ctx;

	if (request->slice != SLICE_CONTROL || request->type != NBD_WRITE) {
		disk_request(&s->disk, request);
		return 0;
	}
	if (!memcmp(request->data, "next", 4))
		next_point(s);
	else if (s->next && !memcmp(request->data, "judge", 5))
		judge(s);
	else
		errx(2, "a word of the guest that is none");
	return 0;
}

static void answered(void *ctx, const struct nbd_request *request)
{
	struct session *s = ctx;

	if (request->slice < NR_POOL_SLICES || request->type == NBD_READ)
		disk_answered(&s->disk, request);
}

void activate_serve(struct activate *a)
{
	struct session s = { .a = a };
	const struct nbd_server server = { request, answered, &s };

	disk_init(&s.disk, NULL);
	nbd_serve(&server, a->socket);
	if (s.next)
		cut_undo(&a->walk->cut);
	events_close(&s.log);
	disk_free(&s.disk);
}
