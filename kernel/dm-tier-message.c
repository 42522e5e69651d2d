// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that change a pool; dm-tier-query.c has those that ask.  Grammar:
 * include/dm-tier.h.  Each runs under admin unless its row says otherwise.
 * What they change is durable after `commit`.
 */
#include <linux/sched/mm.h>
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-pool.h"
#include "dm-tier-message.h"
#include "dm-tier-query.h"
#include "dm-tier-volume.h"

/* Helpers --------------------------------------------------------------------*/

int dm_tier_message_may_change(struct dm_tier_pool *pool)
{
	return pool->read_only || READ_ONCE(pool->mode) != MODE_RW ? -EROFS : 0;
}

/* Takes a credit; 0, -EROFS or, for now, -EAGAIN. */
static int reserve(struct dm_tier_pool *pool)
{
	int r = -EAGAIN;

	spin_lock(&pool->lock);
	if (pool->mode != MODE_RW)
		r = -EROFS;
	else if (!__dm_tier_meta_reserve(pool, NULL))
		r = 0;
	spin_unlock(&pool->lock);
	return r;
}

/* A credit and memory for one change: 0, -EROFS or -EINTR. */
int dm_tier_message_change_begin(struct dm_tier_pool *pool, struct dm_tier_change **ret_spare)
{
	int r, killed;

	killed = wait_event_killable(pool->meta->wait, (r = reserve(pool)) != -EAGAIN);
	if (killed)
		return -EINTR;
	if (!r)
		*ret_spare = dm_tier_meta_change_alloc(pool, GFP_NOIO);
	return r;
}

void dm_tier_message_change_end(struct dm_tier_pool *pool, struct dm_tier_change *spare)
{
	spin_lock(&pool->lock);
	__dm_tier_meta_unreserve(pool, NULL);
	spin_unlock(&pool->lock);
	dm_tier_meta_change_free(pool, spare);
}

/* The metadata must have room for all records of a pool of this size. */
int dm_tier_message_check_area(struct dm_tier_pool *pool, u64 more_slots, u32 more_volumes,
		      u32 more_devices)
{
	u64 slots = more_slots;
	u32 i, volumes = more_volumes, devices = more_devices;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		slots += pool->device[i]->slots;
		devices += pool->device[i]->present;
	}
	for (i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		volumes += !!pool->volume[i];
	return dm_tier_area_blocks_needed(slots, pool->regions, volumes, devices) >
		pool->meta->super.area_blocks ? -ENOSPC : 0;
}

/* Moves ----------------------------------------------------------------------*/

static int migrate(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		   struct dm_tier_answer *answer)
{
	struct dm_tier_volume *v;
	int tier, device, r;
	u64 extent, id;

	r = dm_tier_query_volume(pool, argv[1], &v);
	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_VOLUME_EXTENTS - 1, &extent);
	r = r ?: dm_tier_args_target(argv[3], &tier, &device);
	if (!r && argc > 4 && strcmp(argv[4], "force"))
		r = -EINVAL;
	r = r ?: dm_tier_migrate_queue(v, extent, tier, device, argc > 4, &id);
	if (!r)
		dm_tier_answer(answer, "%llu\n", id);
	return r;
}

static int cancel(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		  struct dm_tier_answer *answer)
{
	struct dm_tier_volume *v;
	u64 extent;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: dm_tier_args_u64(argv[2], 0, DM_TIER_MAX_VOLUME_EXTENTS - 1, &extent);
	return r ?: dm_tier_migrate_cancel(v, extent);
}

static int cancel_all(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		      struct dm_tier_answer *answer)
{
	dm_tier_migrate_stop(pool, NULL, NULL, 0, MOVE_CANCELLED);
	return 0;
}

static int set_rate(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		    struct dm_tier_answer *answer)
{
	u64 rate;
	int r = dm_tier_args_u64(argv[1], 0, 1ULL << 50, &rate);

	if (!r)
		dm_tier_migrate_set_rate(pool, rate);
	return r;
}

static int set_moves(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		     struct dm_tier_answer *answer)
{
	u64 count;
	int r = dm_tier_args_u64(argv[1], 1, DM_TIER_MAX_MOVES, &count);

	if (!r)
		dm_tier_migrate_set_moves(pool, count);
	return r;
}

/* Durability -----------------------------------------------------------------*/

static int commit(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		  struct dm_tier_answer *answer)
{
	u64 seq = dm_tier_meta_last_seq(pool);
	int r = dm_tier_meta_wait(pool, seq);

	if (!r && READ_ONCE(pool->meta->dropped_seq) >= seq && seq)
		r = -EIO;
	return r;
}

static int checkpoint(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		      struct dm_tier_answer *answer)
{
	int r = dm_tier_message_may_change(pool);

	return r ?: dm_tier_meta_checkpoint(pool, false);
}

/* The table ------------------------------------------------------------------*/

static const struct message {
	struct dm_tier_verb verb;	/* first: see dm_tier_args_verb() */
	int (*fn)(struct dm_tier_pool *pool, unsigned int argc, char **argv,
		  struct dm_tier_answer *answer);
	bool no_admin;			/* blocks for long, and takes admin itself */
} messages[] = {
	{ { "create_volume", 4, 5 }, dm_tier_message_create_volume },
	{ { "resize_volume", 3, 3 }, dm_tier_message_resize_volume, true },
	{ { "delete_volume", 2, 2 }, dm_tier_message_delete_volume },
	{ { "set_label", 3, 3 }, dm_tier_message_set_label },
	{ { "set_pool_label", 2, 2 }, dm_tier_message_set_pool_label },
	{ { "set_placement", 3, 3 }, dm_tier_message_set_placement },
	{ { "migrate", 4, 5 }, migrate },
	{ { "cancel", 3, 3 }, cancel },
	{ { "cancel_all", 1, 1 }, cancel_all },
	{ { "set_rate", 2, 2 }, set_rate },
	{ { "set_moves", 2, 2 }, set_moves },
	{ { "add_device", 4, 4 }, dm_tier_message_add_device },
	{ { "grow_device", 3, 3 }, dm_tier_message_grow_device },
	{ { "set_device", 3, 3 }, dm_tier_message_set_device },
	{ { "forget_device", 2, 3 }, dm_tier_message_forget_device },
	{ { "set_low_water", 3, 3 }, dm_tier_message_set_low_water },
	{ { "set_reserve", 3, 3 }, dm_tier_message_set_reserve },
	{ { "clear_quarantine", 2, 2 }, dm_tier_message_clear_quarantine },
	{ { "commit", 1, 1 }, commit, true },
	{ { "checkpoint", 1, 1 }, checkpoint, true },
	{ { "volumes", 1, 1 }, dm_tier_query_volumes },
	{ { "devices", 1, 1 }, dm_tier_query_devices },
	{ { "moves", 1, 3 }, dm_tier_query_moves },
	{ { "map", 4, 4 }, dm_tier_query_map },
	{ { "counters", 4, 6 }, dm_tier_query_counters },
};

int dm_tier_pool_message(struct dm_tier_pool *pool, unsigned int argc, char **argv,
			 char *result, unsigned int maxlen)
{
	struct dm_tier_answer answer = { .text = result, .max = maxlen };
	const struct message *m;
	unsigned int noio;
	int r = dm_tier_args_verb(&messages[0].verb, sizeof(messages[0]),
				  ARRAY_SIZE(messages), argc, argv);

	if (r < 0) {
		DMWARN("message %s: %s", argv[0],
		       r == -ENOENT ? "unknown" : "wrong number of arguments");
		return r == -ENOENT ? -EOPNOTSUPP : r;
	}
	m = &messages[r];
	if (m->no_admin)
		return m->fn(pool, argc, argv, &answer);
	/* A resume, which the reclaim of memory may wait for, takes admin. */
	noio = memalloc_noio_save();
	mutex_lock(&pool->admin);
	r = m->fn(pool, argc, argv, &answer);
	mutex_unlock(&pool->admin);
	memalloc_noio_restore(noio);
	return r ?: answer.answered ? 1 : 0;
}
