// SPDX-License-Identifier: GPL-2.0-only
/* Messages that change volumes. */
#include "dm-tier-device.h"
#include "dm-tier-io.h"
#include "dm-tier-message.h"
#include "dm-tier-meta.h"
#include "dm-tier-migrate.h"
#include "dm-tier-volume.h"

static int sectors_to_extents(struct dm_tier_pool *pool, const char *word, u32 *ret_extents)
{
	u64 sectors;
	int r = dm_tier_args_u64(word, 1ULL << pool->extent_shift,
				 (u64)DM_TIER_MAX_VOLUME_EXTENTS << pool->extent_shift,
				 &sectors);

	if (r)
		return r;
	if (sectors & ((1ULL << pool->extent_shift) - 1))
		return -EINVAL;
	*ret_extents = sectors >> pool->extent_shift;
	return 0;
}

static int check_new_volume(struct dm_tier_pool *pool, u32 id, const u8 *uuid)
{
	u32 i;

	if (pool->volume[id])
		return -EEXIST;
	for (i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		if (pool->volume[i] && !memcmp(pool->volume[i]->uuid, uuid, 16))
			return -EEXIST;
	return dm_tier_message_check_area(pool, 0, 1, 0);
}

/* Both records go into one commit: a generation is never used twice. */
static int add_volume(struct dm_tier_pool *pool, struct dm_tier_volume *v)
{
	struct dm_tier_change *spare_pool, *spare;
	int r = dm_tier_message_change_begin(pool, &spare_pool);

	if (r)
		return r;
	r = dm_tier_message_change_begin(pool, &spare);
	if (r) {
		dm_tier_message_change_end(pool, spare_pool);
		return r;
	}
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_pool(pool, &spare_pool);
	v->generation = pool->next_generation++;
	pool->volume[v->id] = v;
	__dm_tier_meta_touch_volume(v, true, &spare);
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare_pool);
	dm_tier_message_change_end(pool, spare);
	return 0;
}

DM_TIER_MESSAGE(create_volume)
{
	char label[DM_TIER_MAX_LABEL];
	u8 uuid[16], label_bytes = 0;
	struct dm_tier_volume *v;
	u32 extents;
	u64 id;
	int r = dm_tier_args_u64(argv[1], 0, DM_TIER_MAX_VOLUMES - 1, &id);

	r = r ?: sectors_to_extents(pool, argv[2], &extents);
	r = r ?: dm_tier_args_uuid(argv[3], uuid);
	if (!r && argc > 4)
		r = dm_tier_args_text(argv[4], label, &label_bytes);
	r = r ?: dm_tier_message_may_change(pool);
	r = r ?: check_new_volume(pool, id, uuid);
	if (r)
		return r;
	v = dm_tier_volume_alloc(pool, id, 0, extents);
	if (!v)
		return -ENOMEM;
	memcpy(v->uuid, uuid, sizeof(uuid));
	memcpy(v->label, label, label_bytes);
	v->label_bytes = label_bytes;
	r = add_volume(pool, v);
	if (r)
		dm_tier_volume_free(v);
	return r;
}

static u32 mapped_extents(struct dm_tier_volume *v)
{
	struct dm_tier_table *t;
	u32 most = 0;

	list_for_each_entry(t, &v->tables, list)
		most = max(most, t->extents);
	return most;
}

/*
 * Extents from @from on go once the commit is durable: see
 * dm_tier_volume_reap().
 */
static int end_extents(struct dm_tier_volume *v, u32 from, bool delete)
{
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_change *spare;
	int r = dm_tier_message_change_begin(pool, &spare);

	if (r)
		return r;
	dm_tier_migrate_stop(pool, v, NULL, from, MOVE_GONE);
	dm_tier_migrate_wait(pool, v, NULL, from);
	spin_lock(&pool->lock);
	/* The wait gives up when metadata cannot be written. */
	if (__dm_tier_migrate_has(v, from)) {
		spin_unlock(&pool->lock);
		dm_tier_message_change_end(pool, spare);
		return -EROFS;
	}
	pool->nr_reaping += !v->reap_seq;
	v->reap_seq = __dm_tier_meta_touch_volume(v, false, &spare);
	v->reap_from = from;
	v->deleted = delete;
	if (!delete)
		v->extents = from;
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare);
	dm_tier_meta_kick(pool);
	return 0;
}

DM_TIER_MESSAGE(delete_volume)
{
	struct dm_tier_volume *v;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: dm_tier_message_may_change(pool);
	if (r)
		return r;
	if (!list_empty(&v->tables))
		return -EBUSY;
	return end_extents(v, 0, true);
}

static int grow_volume(struct dm_tier_volume *v, u32 extents)
{
	struct dm_tier_pool *pool = v->pool;
	struct dm_tier_change *spare;
	int r = dm_tier_volume_grow(v, extents);

	r = r ?: dm_tier_message_change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_volume(v, false, &spare);
	v->extents = extents;
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare);
	return 0;
}

static bool reaped(struct dm_tier_pool *pool, u32 id)
{
	bool r;

	spin_lock(&pool->lock);
	r = !pool->volume[id] || !pool->volume[id]->reap_seq;
	spin_unlock(&pool->lock);
	return r || READ_ONCE(pool->mode) != MODE_RW;
}

/* In neither of the checkpoints that a load could start from, nor in their log. */
static bool __settled(struct dm_tier_volume *v)
{
	struct dm_tier_meta *meta = v->pool->meta;

	return !v->reap_seq && v->stale_ckpt <= meta->done_ckpt_id &&
		(!meta->older_ckpt_id || v->stale_ckpt <= meta->older_ckpt_id);
}

/*
 * Waits, without admin, until no record of an extent beyond the volume's end
 * is on disk, where growing would bring it back.
 */
static int settle(struct dm_tier_pool *pool, u32 id)
{
	struct dm_tier_meta *meta = pool->meta;
	bool stale;

	dm_tier_meta_kick(pool);
	if (wait_event_killable(meta->wait, reaped(pool, id)))
		return -EINTR;
	spin_lock(&pool->lock);
	stale = pool->volume[id] && !__settled(pool->volume[id]);
	spin_unlock(&pool->lock);
	return stale ? dm_tier_meta_checkpoint(pool, false) : 0;
}

static bool settled(struct dm_tier_volume *v)
{
	bool r;

	spin_lock(&v->pool->lock);
	r = __settled(v);
	spin_unlock(&v->pool->lock);
	return r;
}

/* Without admin, because of settle(). */
DM_TIER_MESSAGE(resize_volume)
{
	struct dm_tier_volume *v;
	u32 extents, id = 0;
	int r;

	for (;;) {
		mutex_lock(&pool->admin);
		r = dm_tier_query_volume(pool, argv[1], &v);
		r = r ?: sectors_to_extents(pool, argv[2], &extents);
		r = r ?: dm_tier_message_may_change(pool);
		if (r || settled(v) || extents <= v->extents)
			break;
		id = v->id;
		mutex_unlock(&pool->admin);
		r = settle(pool, id);
		if (r)
			return r;
	}
	if (!r && extents < mapped_extents(v))
		r = -EBUSY;
	else if (!r && extents < v->extents)
		r = end_extents(v, extents, false);
	else if (!r && extents > v->extents)
		r = grow_volume(v, extents);
	mutex_unlock(&pool->admin);
	return r;
}

DM_TIER_MESSAGE(set_label)
{
	char label[DM_TIER_MAX_LABEL];
	struct dm_tier_change *spare;
	struct dm_tier_volume *v;
	u8 bytes;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: dm_tier_args_text(argv[2], label, &bytes);
	r = r ?: dm_tier_message_may_change(pool);
	r = r ?: dm_tier_message_change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_volume(v, false, &spare);
	memcpy(v->label, label, bytes);
	v->label_bytes = bytes;
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare);
	return 0;
}

DM_TIER_MESSAGE(set_pool_label)
{
	char label[DM_TIER_MAX_LABEL];
	struct dm_tier_change *spare;
	u8 bytes;
	int r = dm_tier_args_text(argv[1], label, &bytes);

	r = r ?: dm_tier_message_may_change(pool);
	r = r ?: dm_tier_message_change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_pool(pool, &spare);
	memcpy(pool->label, label, bytes);
	pool->label_bytes = bytes;
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare);
	return 0;
}

static bool any_tier_exists(struct dm_tier_pool *pool, const u8 *placement, u8 tiers)
{
	u32 i, t;

	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		for (t = 0; t < tiers; t++)
			if (pool->device[i]->present && pool->device[i]->tier == placement[t])
				return true;
	return false;
}

DM_TIER_MESSAGE(set_placement)
{
	u8 tiers, placement[DM_TIER_MAX_TIERS] = { 0 };
	struct dm_tier_change *spare;
	struct dm_tier_volume *v;
	int r = dm_tier_query_volume(pool, argv[1], &v);

	r = r ?: dm_tier_args_placement(argv[2], &tiers, placement);
	r = r ?: dm_tier_message_may_change(pool);
	if (!r && tiers && !any_tier_exists(pool, placement, tiers))
		r = -ENXIO;
	r = r ?: dm_tier_message_change_begin(pool, &spare);
	if (r)
		return r;
	spin_lock(&pool->lock);
	__dm_tier_meta_touch_volume(v, false, &spare);
	memcpy(v->placement, placement, sizeof(placement));
	v->tiers = tiers;
	spin_unlock(&pool->lock);
	dm_tier_message_change_end(pool, spare);
	dm_tier_io_kick_space(pool);
	return 0;
}
