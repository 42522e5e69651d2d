// SPDX-License-Identifier: GPL-2.0-only
/* Messages that ask.  All run under admin; none waits for I/O. */
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-query.h"
#include "dm-tier-volume.h"

void dm_tier_answer(struct dm_tier_answer *answer, const char *format, ...)
{
	va_list args;

	answer->answered = true;
	if (answer->bytes >= answer->max)
		return;
	va_start(args, format);
	answer->bytes += vscnprintf(answer->text + answer->bytes,
				    answer->max - answer->bytes, format, args);
	va_end(args);
}

/* No more fits: the rest would be written for nothing. */
static bool answer_full(const struct dm_tier_answer *answer)
{
	return answer->bytes + 1 >= answer->max;
}

int dm_tier_query_volume(struct dm_tier_pool *pool, const char *word,
			 struct dm_tier_volume **ret_volume)
{
	u64 id;
	int r = dm_tier_args_u64(word, 0, DM_TIER_MAX_VOLUMES - 1, &id);

	if (r)
		return r;
	if (!pool->volume[id] || pool->volume[id]->deleted)
		return -ENOENT;
	*ret_volume = pool->volume[id];
	return 0;
}

static void placement_text(const struct dm_tier_volume *v, char *text, size_t size)
{
	size_t bytes = 0;
	u8 i;

	if (!v->tiers)
		strscpy(text, "auto", size);
	for (i = 0; i < v->tiers; i++)
		bytes += scnprintf(text + bytes, size - bytes, "%s%u", i ? "," : "",
				   v->placement[i]);
}

DM_TIER_QUERY(volumes)
{
	char *label = kmalloc(DM_TIER_ENCODED_CHARS, GFP_KERNEL);
	char uuid[DM_TIER_UUID_CHARS], placement[4 * DM_TIER_MAX_TIERS];
	u32 id;

	if (!label)
		return -ENOMEM;
	answer->answered = true;
	*answer->text = '\0';
	for (id = 0; id < DM_TIER_MAX_VOLUMES && !answer_full(answer); id++) {
		struct dm_tier_volume *v = pool->volume[id];

		if (!v || v->deleted)
			continue;
		dm_tier_format_uuid(v->uuid, uuid);
		dm_tier_encode_text(v->label, v->label_bytes, label);
		placement_text(v, placement, sizeof(placement));
		dm_tier_answer(answer, "%u %s %llu %llu %s %u %s\n", id, uuid, v->generation,
			       (u64)v->extents << pool->extent_shift, placement,
			       READ_ONCE(v->allocated), label);
	}
	kfree(label);
	return 0;
}

DM_TIER_QUERY(devices)
{
	char uuid[DM_TIER_UUID_CHARS];
	u32 i;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];

		if (!dev->present)
			continue;
		dm_tier_format_uuid(dev->uuid, uuid);
		dm_tier_answer(answer, "%u %s %u %s %u %u %u %u %u\n", i, uuid, dev->tier,
			       dm_tier_device_state_word(dev), dev->slots, dev->used,
			       dev->reserved, dev->quarantined, dev->parked);
	}
	return 0;
}

/* Moves ----------------------------------------------------------------------*/

static void answer_device(struct dm_tier_answer *answer, int idx)
{
	if (idx < 0)
		dm_tier_answer(answer, " -");
	else
		dm_tier_answer(answer, " %d", idx);
}

/* Where the move's extent is; pool->lock held. */
static int move_source(const struct dm_tier_move *m)
{
	struct dm_tier_extent *x;

	if (m->from)
		return m->from->idx;
	x = m->volume ? dm_tier_volume_extent(m->volume, m->extent) : NULL;
	return x && (x->entry & ENTRY_ALLOCATED) ? (int)entry_device(x->entry) : -1;
}

static void answer_moves(struct dm_tier_pool *pool, struct dm_tier_answer *answer)
{
	struct dm_tier_move *m;

	spin_lock(&pool->lock);
	list_for_each_entry(m, &pool->moves, list) {
		if (answer_full(answer))
			break;
		dm_tier_answer(answer, "%llu %u %u", m->id, m->volume_id, m->extent);
		answer_device(answer, move_source(m));
		answer_device(answer, m->to ? (int)m->to->idx : m->to_device);
		dm_tier_answer(answer, " %s %u %u\n", dm_tier_move_state_word(m->state),
			       m->passes, READ_ONCE(m->regions_left));
	}
	spin_unlock(&pool->lock);
}

static const char *result_word(enum dm_tier_move_reason reason)
{
	if (reason == MOVE_OK)
		return "done";
	return reason == MOVE_CANCELLED || reason == MOVE_SUSPENDED ? "cancelled" : "failed";
}

static void answer_finished(struct dm_tier_pool *pool, u64 since,
			    struct dm_tier_answer *answer)
{
	u64 oldest, seq;

	spin_lock(&pool->lock);
	oldest = pool->next_finished > FINISHED_RING ? pool->next_finished - FINISHED_RING : 1;
	dm_tier_answer(answer, "%llu %llu\n", oldest, pool->next_finished);
	for (seq = max(since, oldest); seq < pool->next_finished && !answer_full(answer); seq++) {
		struct dm_tier_finished *f = &pool->finished[seq % FINISHED_RING];

		dm_tier_answer(answer, "%llu %llu %u %u", f->seq, f->id, f->volume, f->extent);
		answer_device(answer, f->from);
		answer_device(answer, f->to);
		dm_tier_answer(answer, " %s %s %llu %u %llu\n", result_word(f->reason),
			       dm_tier_move_reason_word(f->reason), f->bytes, f->passes,
			       f->freeze_us);
	}
	spin_unlock(&pool->lock);
}

DM_TIER_QUERY(moves)
{
	u64 since;
	int r;

	answer->answered = true;
	*answer->text = '\0';
	if (argc == 1) {
		answer_moves(pool, answer);
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "since"))
		return -EINVAL;
	r = dm_tier_args_u64(argv[2], 0, U64_MAX, &since);
	if (!r)
		answer_finished(pool, since, answer);
	return r;
}

/* Ranges of extents ----------------------------------------------------------*/

static int range_args(struct dm_tier_pool *pool, char **argv, struct dm_tier_volume **ret_v,
		      u32 *ret_first, u32 *ret_end)
{
	struct dm_tier_volume *v;
	u64 first, count;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_VOLUME_EXTENTS, &first);
	r = r ?: dm_tier_args_u64(argv[3], 1, DM_TIER_MAX_VOLUME_EXTENTS, &count);
	if (r)
		return r;
	if (first >= v->extents || count > v->extents - first)
		return -ERANGE;
	*ret_v = v;
	*ret_first = first;
	*ret_end = first + count;
	return 0;
}

struct run {
	u32 first, count;
	bool allocated;
	u32 device, slot, valid;
};

static void answer_run(struct dm_tier_pool *pool, const struct run *run,
		       struct dm_tier_answer *answer)
{
	if (!run->count)
		return;
	if (run->allocated)
		dm_tier_answer(answer, "%u %u %u %u %u %u\n", run->first, run->count,
			       pool->device[run->device]->tier, run->device, run->slot,
			       run->valid);
	else
		dm_tier_answer(answer, "%u %u - - - 0\n", run->first, run->count);
}

static struct run run_of(struct dm_tier_volume *v, u32 extent)
{
	struct dm_tier_extent *x = dm_tier_volume_extent(v, extent);
	struct run run = { .first = extent, .count = 1 };

	if (!x || !(x->entry & ENTRY_ALLOCATED))
		return run;
	run.allocated = true;
	run.device = entry_device(x->entry);
	run.slot = entry_slot(x->entry);
	run.valid = dm_tier_valid_regions(v->pool, x);
	return run;
}

static bool run_goes_on(const struct run *run, const struct run *next)
{
	if (!run->count || run->allocated != next->allocated)
		return false;
	return !run->allocated ||
		(run->device == next->device && run->slot + run->count == next->slot &&
		 run->valid == next->valid);
}

DM_TIER_QUERY(map)
{
	struct run run = { 0 }, next;
	struct dm_tier_volume *v;
	u32 extent, end;
	int r = range_args(pool, argv, &v, &extent, &end);

	if (r)
		return r;
	spin_lock(&pool->lock);
	for (; extent < end && !answer_full(answer); extent++) {
		next = run_of(v, extent);
		if (run_goes_on(&run, &next)) {
			run.count++;
		} else {
			answer_run(pool, &run, answer);
			run = next;
		}
		if (!(extent % CHUNK_EXTENTS))
			cond_resched_lock(&pool->lock);
	}
	answer_run(pool, &run, answer);
	spin_unlock(&pool->lock);
	return 0;
}

static void answer_counters(struct dm_tier_counters *c, u32 extent,
			    struct dm_tier_answer *answer)
{
	dm_tier_answer(answer, "%u %llu %llu %llu %llu %llu %llu\n", extent,
		       (u64)atomic64_read(&c->count[COUNT_READS]),
		       (u64)atomic64_read(&c->count[COUNT_WRITES]),
		       (u64)atomic64_read(&c->count[COUNT_READ_SECTORS]),
		       (u64)atomic64_read(&c->count[COUNT_WRITE_SECTORS]),
		       (u64)atomic64_read(&c->count[COUNT_SEQUENTIAL]),
		       (u64)atomic64_read(&c->count[COUNT_LARGE]));
}

DM_TIER_QUERY(counters)
{
	struct dm_tier_volume *v;
	u64 since = 1, generation;
	u32 extent, end;
	int r = range_args(pool, argv, &v, &extent, &end);

	if (!r && argc == 5)
		r = -EINVAL;
	if (!r && argc == 6)
		r = strcmp(argv[4], "since") ? -EINVAL :
			dm_tier_args_u64(argv[5], 0, U64_MAX, &since);
	if (r)
		return r;
	/*
	 * What is counted from here on has this stamp or a later one; what was
	 * counted before is in the fold.
	 */
	generation = pool->counter_generation + 1;
	WRITE_ONCE(pool->counter_generation, generation);
	dm_tier_pool_fold_counters(pool);
	dm_tier_answer(answer, "%llu %llu %llu\n", pool->instance, v->generation, generation);
	since = max(since, 1ULL);
	while (extent < end && !answer_full(answer)) {
		struct dm_tier_extent *x = dm_tier_volume_extent(v, extent);
		struct dm_tier_counters *c = x ? dm_tier_extent_counters(x, extent) : NULL;
		u32 chunk_end = min(end, (extent | (CHUNK_EXTENTS - 1)) + 1);

		if (!c)
			extent = chunk_end;
		for (; extent < chunk_end && !answer_full(answer); extent++, c++)
			if (READ_ONCE(c->stamp) >= since)
				answer_counters(c, extent, answer);
		cond_resched();
	}
	return 0;
}
