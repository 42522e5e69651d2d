// SPDX-License-Identifier: GPL-2.0-only
/* The status and table lines of a tier-pool; grammar: include/dm-tier.h. */
#include "dm-tier-device.h"
#include "dm-tier-meta.h"
#include "dm-tier-pool.h"

static unsigned int emit_devices(struct dm_tier_pool *pool, char *result, unsigned int sz,
				 unsigned int maxlen)
{
	u64 present = 0;
	u32 i;

	/* Read once: devices come and go by messages meanwhile. */
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++)
		if (READ_ONCE(pool->device[i]->present))
			present |= 1ULL << i;
	DMEMIT(" %u", (u32)hweight64(present));
	for (i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		struct dm_tier_device *dev = pool->device[i];
		u64 ios, sectors;

		if (!(present & (1ULL << i)))
			continue;
		dm_tier_device_stats(dev, &ios, &sectors);
		DMEMIT(" %u %u %s %u %u %u %u %u %llu %llu %llu", i, dev->tier,
		       dm_tier_device_state_word(dev), dev->slots, dev->used,
		       dev->reserved, dev->quarantined, dev->parked, ios, sectors,
		       (u64)atomic64_read(&dev->errors));
	}
	return sz;
}

void dm_tier_status_info(struct dm_tier_pool *pool, char *result, unsigned int maxlen)
{
	struct dm_tier_meta *meta = pool->meta;
	char label[DM_TIER_ENCODED_CHARS], uuid[DM_TIER_UUID_CHARS];
	unsigned int sz = 0;

	DMEMIT("%s %llu %llu/%llu %d %u %u", dm_tier_pool_mode_word(pool, READ_ONCE(pool->space_state)),
	       READ_ONCE(meta->durable_seq), READ_ONCE(meta->since_tail),
	       meta->super.log_blocks, pool->needs_check, 1U << pool->extent_shift,
	       1U << pool->region_shift);
	sz = emit_devices(pool, result, sz, maxlen);
	spin_lock(&pool->lock);
	dm_tier_encode_text(pool->label, pool->label_bytes, label);
	DMEMIT(" %u %u %llu %llu %llu %llu", pool->nr_queued, pool->nr_active,
	       pool->moves_done, pool->moves_cancelled, pool->moves_failed,
	       pool->bytes_moved);
	dm_tier_format_uuid(meta->super.uuid, uuid);
	DMEMIT(" 5 uuid %s instance %llu label %s rate %llu moves %u", uuid, pool->instance,
	       label, pool->rate, pool->moves_at_once);
	spin_unlock(&pool->lock);
}

void dm_tier_status_table(struct dm_tier_pool_table *c, char *result, unsigned int maxlen)
{
	struct dm_tier_features *f = &c->features;
	unsigned int sz = 0;
	u32 i, count;

	DMEMIT("%s %u", c->meta_dev->name, c->nr_devices);
	for (i = 0; i < c->nr_devices; i++)
		DMEMIT(" %s", c->devices[i].dev->name);
	count = f->read_only + f->partial + f->error_if_no_space +
		2 * (f->no_space_timeout_s != DM_TIER_NO_SPACE_TIMEOUT_S);
	if (!count)
		return;
	DMEMIT(" %u", count);
	if (f->read_only)
		DMEMIT(" read_only");
	if (f->partial)
		DMEMIT(" partial");
	if (f->error_if_no_space)
		DMEMIT(" error_if_no_space");
	if (f->no_space_timeout_s != DM_TIER_NO_SPACE_TIMEOUT_S)
		DMEMIT(" no_space_timeout %u", f->no_space_timeout_s);
}
