// SPDX-License-Identifier: GPL-2.0-only
/*
 * Formatting a pool. Order is everything: nothing may look like a pool, this or
 * the one before, until all of it is there. So first the old superblocks go,
 * then everything but superblocks is written, then those, each step flushed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/log2.h>

#include "format_meta.h"
#include "util.h"

#define MIB (1024 * 1024)

uint64_t tier_format_default_region_sectors(uint64_t extent_sectors)
{
	return max_t(u64, DM_TIER_DEFAULT_REGION_SECTORS, extent_sectors / DM_TIER_MAX_REGIONS);
}

uint64_t tier_format_default_log_bytes(void)
{
	return (u64)DM_TIER_DEFAULT_LOG_BLOCKS * DM_TIER_BLOCK_BYTES;
}

uint64_t tier_format_slots(uint64_t bytes, uint64_t extent_sectors)
{
	const u64 sectors = bytes >> DM_TIER_SECTOR_SHIFT;

	if (sectors < DM_TIER_DATA_SECTOR)
		return 0;
	return min_t(u64, (sectors - DM_TIER_DATA_SECTOR) / extent_sectors,
		     DM_TIER_MAX_DEVICE_SLOTS);
}

/* With room for all volumes and devices that there may be: about 1 MiB an area. */
static u64 area_blocks_needed(u64 slots, u64 extent_sectors, u64 region_sectors)
{
	return dm_tier_area_blocks_needed(slots, extent_sectors / region_sectors,
					  DM_TIER_MAX_VOLUMES, DM_TIER_MAX_DEVICES);
}

uint64_t tier_format_metadata_bytes(uint64_t slots, uint64_t extent_sectors,
				    uint64_t region_sectors, uint64_t log_bytes)
{
	const u64 area = area_blocks_needed(slots, extent_sectors, region_sectors);

	return (DM_TIER_AREA_BLOCK + 2 * area) * DM_TIER_BLOCK_BYTES + log_bytes;
}

/* Checks ---------------------------------------------------------------------*/

static int check_sizes(const struct tier_format_pool *pool, char *cause)
{
	const u64 extent = pool->extent_sectors, region = pool->region_sectors;
	const u64 log_blocks = pool->log_bytes / DM_TIER_BLOCK_BYTES;
	const u32 logical = pool->logical_block_bytes;

	if (!is_power_of_2(extent) || extent < DM_TIER_MIN_EXTENT_SECTORS ||
	    extent > DM_TIER_MAX_EXTENT_SECTORS)
		return tier_cause(cause, -EINVAL,
				  "the extent size must be a power of two from 1 MiB to 16 GiB");
	if (!is_power_of_2(region) || region < DM_TIER_MIN_REGION_SECTORS ||
	    region > DM_TIER_MAX_REGION_SECTORS || region > extent ||
	    extent / region > DM_TIER_MAX_REGIONS)
		return tier_cause(cause, -EINVAL,
				  "the region size must be a power of two, at least 4 KiB and %u KiB (extent size / %d), at most 1 GiB",
				  (u32)(extent / DM_TIER_MAX_REGIONS / 2), DM_TIER_MAX_REGIONS);
	if (!is_power_of_2(logical) || logical < (1U << DM_TIER_SECTOR_SHIFT) ||
	    logical >> DM_TIER_SECTOR_SHIFT > region)
		return tier_cause(cause, -EINVAL,
				  "a logical block size of %u bytes does not fit a region of %llu KiB",
				  logical, region / 2);
	if (pool->log_bytes % DM_TIER_BLOCK_BYTES || log_blocks < DM_TIER_MIN_LOG_BLOCKS ||
	    log_blocks > DM_TIER_MAX_LOG_BLOCKS)
		return tier_cause(cause, -EINVAL,
				  "the log size must be from %d to %d MiB, in steps of 4 KiB",
				  DM_TIER_MIN_LOG_BLOCKS * DM_TIER_BLOCK_BYTES / MIB,
				  DM_TIER_MAX_LOG_BLOCKS / (MIB / DM_TIER_BLOCK_BYTES));
	if (strlen(pool->label) > DM_TIER_MAX_LABEL)
		return tier_cause(cause, -EINVAL, "the pool's label is longer than %d bytes",
				  DM_TIER_MAX_LABEL);
	return 0;
}

static int check_data(const struct tier_format_pool *pool, u64 *ret_slots, char *cause)
{
	u64 total = 0;

	if (!pool->nr_data || pool->nr_data > DM_TIER_MAX_DEVICES)
		return tier_cause(cause, -EINVAL, "a pool has from 1 to %d data devices, not %zu",
				  DM_TIER_MAX_DEVICES, pool->nr_data);
	for (size_t i = 0; i < pool->nr_data; i++) {
		const struct tier_format_device *data = &pool->data[i];
		const u64 slots = tier_format_slots(data->bytes, pool->extent_sectors);

		if (data->tier >= DM_TIER_MAX_TIERS)
			return tier_cause(cause, -EINVAL, "%s: there are tiers 0 to %d, not %u",
					  data->path, DM_TIER_MAX_TIERS - 1, data->tier);
		if (!slots)
			return tier_cause(cause, -ENOSPC,
					  "%s has %llu MiB, which does not hold 1 MiB and an extent of %llu MiB",
					  data->path, (u64)data->bytes / MIB,
					  (u64)pool->extent_sectors / (MIB >> DM_TIER_SECTOR_SHIFT));
		total += slots;
	}
	*ret_slots = total;
	return 0;
}

int tier_format_check(const struct tier_format_pool *pool, char *ret_cause)
{
	u64 slots = 0, needed;
	int r;

	r = check_sizes(pool, ret_cause);
	if (r)
		return r;
	r = check_data(pool, &slots, ret_cause);
	if (r)
		return r;
	needed = tier_format_metadata_bytes(slots, pool->extent_sectors, pool->region_sectors,
					    pool->log_bytes);
	if (pool->metadata.bytes < needed)
		return tier_cause(ret_cause, -ENOSPC,
				  "%s has %llu KiB, but metadata of %llu extents needs %llu KiB",
				  pool->metadata.path, (u64)pool->metadata.bytes / 1024, slots,
				  DIV_ROUND_UP(needed, 1024));
	return 0;
}

/* Steps ----------------------------------------------------------------------*/

int tier_format_flush(int fd)
{
	return fsync(fd) ? -errno : 0;
}

/* What was read of any pool on this device must not come back as the newest. */
static int find_incarnation(int fd, u64 *ret_incarnation)
{
	_cleanup_free_ u8 *blocks = tier_format_alloc_blocks(DM_TIER_COMMIT_BLOCKS);
	struct tier_format_super old;
	struct dm_tier_log_head head;
	u64 incarnation = 0;
	int r;

	if (!blocks)
		return -ENOMEM;
	r = tier_format_read_super(fd, &old);
	if (r == -EBADMSG || r == -EINVAL || r == -EPROTONOSUPPORT) {
		*ret_incarnation = 0;
		return 0;
	}
	if (r)
		return r;
	for (u64 i = 0; i < old.super.log_blocks; i += DM_TIER_COMMIT_BLOCKS) {
		const u64 count = min_t(u64, DM_TIER_COMMIT_BLOCKS, old.super.log_blocks - i);

		r = tier_format_read_blocks(fd, dm_tier_log_start(&old.super) + i, count, blocks);
		/* The device was larger once. */
		if (r == -ENXIO)
			break;
		if (r)
			return r;
		for (u64 b = 0; b < count; b++)
			if (!dm_tier_log_decode(blocks + b * DM_TIER_BLOCK_BYTES, old.super.uuid,
						&head))
				incarnation = max_t(u64, incarnation, head.incarnation);
	}
	*ret_incarnation = incarnation;
	return 0;
}

/* The largest device of the lowest tier keeps a slot free, so that exchanges always turn. */
static size_t reserve_device(const struct tier_format_pool *pool)
{
	size_t best = 0;

	for (size_t i = 1; i < pool->nr_data; i++) {
		const struct tier_format_device *a = &pool->data[i], *b = &pool->data[best];

		if (a->tier > b->tier || (a->tier == b->tier && a->bytes > b->bytes))
			best = i;
	}
	return best;
}

/* POOL and DEVICE records fit one block: 216 + 64 * 32 bytes. */
static void make_checkpoint(const struct tier_format_pool *pool, void *block)
{
	struct dm_tier_record rec = {
		.type = DM_TIER_REC_POOL,
		.pool = { .next_generation = 1, .label_bytes = strlen(pool->label) },
	};
	const size_t reserve = reserve_device(pool);

	dm_tier_block_begin(block);
	memcpy(rec.pool.label, pool->label, rec.pool.label_bytes);
	dm_tier_block_add(block, &rec);
	for (size_t i = 0; i < pool->nr_data; i++) {
		const struct tier_format_device *data = &pool->data[i];
		const u64 slots = tier_format_slots(data->bytes, pool->extent_sectors);

		memset(&rec, 0, sizeof(rec));
		rec.type = DM_TIER_REC_DEVICE;
		rec.device.idx = i;
		rec.device.tier = data->tier;
		rec.device.slots = slots;
		rec.device.state = DM_TIER_DEV_ONLINE;
		rec.device.reserve_slots = i == reserve && slots > 1;
		memcpy(rec.device.uuid, data->uuid, 16);
		dm_tier_block_add(block, &rec);
	}
	dm_tier_ckpt_seal(block, pool->uuid, 1, 0);
}

static struct dm_tier_super make_super(const struct tier_format_pool *pool)
{
	struct dm_tier_super super = {
		.version = 1,
		.flags = DM_TIER_SUPER_CLEAN,
		.extent_sectors = pool->extent_sectors,
		.region_sectors = pool->region_sectors,
		.logical_block_bytes = pool->logical_block_bytes,
		.log_blocks = pool->log_bytes / DM_TIER_BLOCK_BYTES,
		/* Commit 1, which activates the log, follows the checkpoint. */
		.final_seq = 1,
		.ckpt = { { .id = 1, .area = 0, .blocks = 1, .seq = 0, .position = 0 } },
	};
	const u64 blocks = pool->metadata.bytes / DM_TIER_BLOCK_BYTES;

	/* All that is left, so that devices can be added. */
	super.area_blocks = min_t(u64, (blocks - DM_TIER_AREA_BLOCK - super.log_blocks) / 2,
				  U32_MAX);
	memcpy(super.uuid, pool->uuid, 16);
	memcpy(super.system_id, pool->system_id, 16);
	return super;
}

static int write_metadata(const struct tier_format_pool *pool, const struct dm_tier_super *super)
{
	_cleanup_free_ void *block = tier_format_alloc_blocks(1);
	struct dm_tier_log_head head = {
		.commit = 1, .count = 1, .flags = DM_TIER_LOG_ACTIVATE,
	};
	const int fd = pool->metadata.fd;
	u64 incarnation;
	int r;

	if (!block)
		return -ENOMEM;
	r = find_incarnation(fd, &incarnation);
	if (r)
		return r;
	head.incarnation = incarnation + 1;

	/* Both places, and with them whatever signatures are in the first 2 MiB. */
	r = tier_format_zero_blocks(fd, 0, DM_TIER_AREA_BLOCK);
	if (!r)
		r = tier_format_flush(fd);
	if (!r)
		r = tier_format_zero_blocks(fd, dm_tier_log_start(super), super->log_blocks);
	if (r)
		return r;

	make_checkpoint(pool, block);
	r = tier_format_write_blocks(fd, dm_tier_area_start(super, 0), 1, block);
	if (r)
		return r;
	dm_tier_block_begin(block);
	dm_tier_log_seal(block, pool->uuid, &head);
	r = tier_format_write_blocks(fd, dm_tier_log_start(super), 1, block);
	return r ?: tier_format_flush(fd);
}

int tier_format_write_supers(int fd, struct dm_tier_super *super)
{
	_cleanup_free_ void *block = tier_format_alloc_blocks(1);
	int r = 0;

	if (!block)
		return -ENOMEM;
	for (u32 place = 0; place < 2 && !r; place++) {
		super->block = tier_format_super_block(place);
		dm_tier_super_encode(super, block);
		r = tier_format_write_blocks(fd, tier_format_super_block(place), 1, block);
		if (!r)
			r = tier_format_flush(fd);
		super->version++;
	}
	return r;
}

int tier_format_label(const struct tier_format_device *device, const uint8_t *pool_uuid,
		      uint32_t idx, char *ret_cause)
{
	const u64 reserved = DM_TIER_DATA_SECTOR / DM_TIER_BLOCK_SECTORS;
	_cleanup_free_ void *block = tier_format_alloc_blocks(1);
	struct dm_tier_label label = { .idx = idx };
	int r;

	if (!block)
		return tier_cause(ret_cause, -ENOMEM, "%s: no memory", device->path);
	memcpy(label.pool_uuid, pool_uuid, 16);
	memcpy(label.device_uuid, device->uuid, 16);
	memset(block, 0, DM_TIER_BLOCK_BYTES);
	dm_tier_label_encode(&label, block);

	/* The rest of the first MiB is where signatures of others lie. */
	r = tier_format_zero_blocks(device->fd, 0, reserved);
	if (!r)
		r = tier_format_write_blocks(device->fd, 0, 1, block);
	if (!r)
		r = tier_format_flush(device->fd);
	if (r)
		return tier_cause(ret_cause, r, "cannot write the label of %s: %s", device->path,
				  strerror(-r));
	return 0;
}

int tier_format_pool(const struct tier_format_pool *pool, char *ret_cause)
{
	struct dm_tier_super super;
	int r;

	r = tier_format_check(pool, ret_cause);
	if (r)
		return r;
	super = make_super(pool);
	r = write_metadata(pool, &super);
	if (r)
		goto err_metadata;
	for (size_t i = 0; i < pool->nr_data; i++) {
		r = tier_format_label(&pool->data[i], pool->uuid, i, ret_cause);
		if (r)
			return r;
	}
	r = tier_format_write_supers(pool->metadata.fd, &super);
	if (r)
		goto err_metadata;
	return 0;

err_metadata:
	return tier_cause(ret_cause, r, "cannot write metadata to %s: %s", pool->metadata.path,
			  strerror(-r));
}

int tier_format_wipe(const struct tier_format_device *device, char *ret_cause)
{
	struct tier_format_identity identity;
	int r;

	r = tier_format_identify(device->fd, &identity);
	if (r)
		return tier_cause(ret_cause, r, "cannot read %s: %s", device->path, strerror(-r));
	if (identity.kind == TIER_FORMAT_NONE)
		return 0;
	/* On a data device this place is in the first slot. */
	if (identity.kind == TIER_FORMAT_METADATA)
		r = tier_format_zero_blocks(device->fd, DM_TIER_SUPER_BLOCK_1, 1);
	if (!r)
		r = tier_format_zero_blocks(device->fd, 0, 1);
	if (!r)
		r = tier_format_flush(device->fd);
	if (r)
		return tier_cause(ret_cause, r, "cannot wipe %s: %s", device->path, strerror(-r));
	return 0;
}
