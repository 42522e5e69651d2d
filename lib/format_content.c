// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metadata in memory, from a device or text, and onto a device. As in format.c
 * order is everything: no superblock until all else is there and flushed.
 *
 * What old pools left on the device, or in the cache of a drive or one leg of a
 * mirror below it, must never look newer than what is written here. So the whole
 * device is searched for the highest incarnation and checkpoint id first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/limits.h>
#include <asm/byteorder.h>

#include "format_survey.h"
#include "util.h"

#define CHUNK_BLOCKS	256

struct tier_content *tier_content_new(const struct dm_tier_super *super)
{
	struct tier_content *content = calloc(1, sizeof(*content));

	if (!content)
		return NULL;
	content->image = dm_tier_image_alloc(super->extent_sectors / super->region_sectors);
	if (!content->image) {
		free(content);
		return NULL;
	}
	memcpy(content->super.uuid, super->uuid, 16);
	memcpy(content->super.system_id, super->system_id, 16);
	content->super.incompat = super->incompat;
	content->super.compat = super->compat;
	content->super.extent_sectors = super->extent_sectors;
	content->super.region_sectors = super->region_sectors;
	content->super.logical_block_bytes = super->logical_block_bytes;
	content->super.log_blocks = super->log_blocks;
	return content;
}

void tier_content_free(struct tier_content *content)
{
	if (!content)
		return;
	dm_tier_image_free(content->image);
	free(content);
}

static void cleanup_content(struct tier_content **content)
{
	tier_content_free(*content);
}

void tier_content_uuid(const struct tier_content *content, uint8_t *ret_uuid)
{
	memcpy(ret_uuid, content->super.uuid, 16);
}

int tier_content_set_log_bytes(struct tier_content *content, uint64_t bytes, char *ret_cause)
{
	const u64 blocks = bytes / DM_TIER_BLOCK_BYTES;

	if (bytes % DM_TIER_BLOCK_BYTES || blocks < DM_TIER_MIN_LOG_BLOCKS ||
	    blocks > DM_TIER_MAX_LOG_BLOCKS)
		return tier_cause(ret_cause, -EINVAL,
				  "a log has from %llu to %llu KiB, in steps of 4 KiB",
				  DM_TIER_MIN_LOG_BLOCKS * 4ULL, DM_TIER_MAX_LOG_BLOCKS * 4ULL);
	content->super.log_blocks = blocks;
	return 0;
}

/* Every record, in the order of the kernel's checkpoints ---------------------------*/

static void device_record(const struct dm_tier_image_device *device, u32 idx,
			  struct dm_tier_record *rec)
{
	*rec = (struct dm_tier_record){ .type = DM_TIER_REC_DEVICE };
	rec->device.idx = idx;
	rec->device.tier = device->tier;
	rec->device.slots = device->slots;
	rec->device.state = device->state;
	rec->device.reserve_slots = device->reserve_slots;
	memcpy(rec->device.uuid, device->uuid, 16);
}

static void slot_record(const struct dm_tier_image_slot *slot, u32 device, u32 nr,
			struct dm_tier_record *rec)
{
	*rec = (struct dm_tier_record){ .type = DM_TIER_REC_SLOT };
	rec->slot.device = device;
	rec->slot.slot = nr;
	rec->slot.quarantine = slot->quarantine;
	if (!slot->generation)
		return;
	rec->slot.generation = slot->generation;
	rec->slot.extent = slot->extent;
	rec->slot.full = slot->full;
	if (slot->valid)
		memcpy(rec->slot.valid, slot->valid, sizeof(rec->slot.valid));
}

static void pool_record(const struct dm_tier_image *image, struct dm_tier_record *rec)
{
	*rec = (struct dm_tier_record){ .type = DM_TIER_REC_POOL };
	rec->pool.next_generation = image->next_generation;
	rec->pool.label_bytes = image->pool_label_bytes;
	memcpy(rec->pool.label, image->pool_label, image->pool_label_bytes);
}

static int each_record(const struct dm_tier_image *image,
		       int (*fn)(void *ctx, const struct dm_tier_record *rec), void *ctx)
{
	struct dm_tier_record rec;
	int r;

	pool_record(image, &rec);
	r = fn(ctx, &rec);
	for (u32 i = 0; i < DM_TIER_MAX_DEVICES && !r; i++) {
		if (!image->device[i].present)
			continue;
		device_record(&image->device[i], i, &rec);
		r = fn(ctx, &rec);
	}
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES && !r; i++)
		if (image->volume[i])
			r = fn(ctx, image->volume[i]);
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++) {
		const struct dm_tier_image_device *device = &image->device[d];

		for (u32 s = 0; s < device->nr_slot && !r; s++) {
			if (!device->slot[s].generation && !device->slot[s].quarantine)
				continue;
			slot_record(&device->slot[s], d, s, &rec);
			r = fn(ctx, &rec);
		}
	}
	return r;
}

static int copy_record(void *ctx, const struct dm_tier_record *rec)
{
	return dm_tier_image_apply(ctx, rec);
}

int tier_content_of_meta(const struct tier_meta *meta, struct tier_content **ret_content)
{
	_cleanup_(cleanup_content) struct tier_content *content =
		tier_content_new(&meta->super.super);
	int r;

	if (!content)
		return -ENOMEM;
	r = each_record(meta->image, copy_record, content->image);
	if (r)
		return r;
	*ret_content = content;
	content = NULL;
	return 0;
}

/* Size -----------------------------------------------------------------------------*/

static u64 area_blocks(const struct tier_content *content, bool roomy)
{
	const struct dm_tier_image *image = content->image;
	u32 volumes = 0, devices = 0;
	u64 slots = 0;

	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		devices += image->device[i].present;
		slots += image->device[i].slots;
	}
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		volumes += image->volume[i] != NULL;
	if (roomy) {
		volumes = DM_TIER_MAX_VOLUMES;
		devices = DM_TIER_MAX_DEVICES;
	}
	return dm_tier_area_blocks_needed(slots, image->regions, volumes, devices);
}

void tier_content_bytes(const struct tier_content *content, uint64_t *ret_needed,
			uint64_t *ret_roomy)
{
	const u64 others = DM_TIER_AREA_BLOCK + content->super.log_blocks;

	*ret_needed = (others + 2 * area_blocks(content, false)) * DM_TIER_BLOCK_BYTES;
	*ret_roomy = (others + 2 * area_blocks(content, true)) * DM_TIER_BLOCK_BYTES;
}

/* Writing --------------------------------------------------------------------------*/

/* By whatever pool: the block says itself whose it is. */
static void look_at(const void *block, u64 *incarnation, u64 *ckpt_id)
{
	const struct dm_tier_log_head_disk *log = block;
	const struct dm_tier_ckpt_head_disk *ckpt = block;
	struct dm_tier_log_head head;

	if (!dm_tier_log_decode(block, log->uuid, &head))
		*incarnation = max_t(u64, *incarnation, head.incarnation);
	else if (!dm_tier_ckpt_decode(block, ckpt->uuid, le64_to_cpu(ckpt->id),
				      le64_to_cpu(ckpt->index)))
		*ckpt_id = max_t(u64, *ckpt_id, le64_to_cpu(ckpt->id));
}

int tier_content_find_newest(int fd, u64 blocks, u64 *ret_incarnation, u64 *ret_ckpt_id)
{
	_cleanup_free_ u8 *buffer = tier_format_alloc_blocks(CHUNK_BLOCKS);
	u64 incarnation = 0, ckpt_id = 0;

	if (!buffer)
		return -ENOMEM;
	for (u64 at = 0; at < blocks; at += CHUNK_BLOCKS) {
		const u64 count = min_t(u64, CHUNK_BLOCKS, blocks - at);
		int r = tier_format_read_blocks(fd, at, count, buffer);

		if (r)
			return r;
		for (u64 i = 0; i < count; i++)
			look_at(buffer + i * DM_TIER_BLOCK_BYTES, &incarnation, &ckpt_id);
	}
	*ret_incarnation = incarnation;
	*ret_ckpt_id = ckpt_id;
	return 0;
}

/* A checkpoint on its way to disk. */
struct writer {
	int fd;
	const u8 *uuid;
	u64 id, start, limit;
	u64 written;
	u32 filled;		/* blocks in the buffer; the last one is open */
	u8 *buffer;		/* CHUNK_BLOCKS */
};

static int writer_flush(struct writer *w)
{
	int r;

	if (w->written + w->filled > w->limit)
		return -ENOSPC;
	for (u32 i = 0; i < w->filled; i++)
		dm_tier_ckpt_seal(w->buffer + (size_t)i * DM_TIER_BLOCK_BYTES, w->uuid, w->id,
				  w->written + i);
	r = tier_format_write_blocks(w->fd, w->start + w->written, w->filled, w->buffer);
	w->written += w->filled;
	w->filled = 0;
	return r;
}

static u8 *last_block(const struct writer *w)
{
	return w->buffer + (size_t)(w->filled - 1) * DM_TIER_BLOCK_BYTES;
}

static int writer_add(void *ctx, const struct dm_tier_record *rec)
{
	struct writer *w = ctx;
	int r = 0;

	if (w->filled && dm_tier_block_add(last_block(w), rec))
		return 0;
	if (w->filled == CHUNK_BLOCKS)
		r = writer_flush(w);
	if (r)
		return r;
	w->filled++;
	dm_tier_block_begin(last_block(w));
	return dm_tier_block_add(last_block(w), rec) ? 0 : -EMSGSIZE;
}

static int write_checkpoint(const struct tier_content *content, int fd, u64 id,
			    struct dm_tier_super *super)
{
	_cleanup_free_ u8 *buffer = tier_format_alloc_blocks(CHUNK_BLOCKS);
	struct writer w = {
		.fd = fd, .uuid = super->uuid, .id = id, .buffer = buffer,
		.start = dm_tier_area_start(super, 0), .limit = super->area_blocks,
	};
	int r;

	if (!buffer)
		return -ENOMEM;
	r = each_record(content->image, writer_add, &w);
	if (!r)
		r = writer_flush(&w);
	super->ckpt[0] = (struct dm_tier_ckpt_ref){ .id = id, .blocks = w.written };
	return r;
}

/* The commit that begins the log; it is the first one of its incarnation. */
static int write_first_commit(int fd, const struct dm_tier_super *super, u64 incarnation)
{
	_cleanup_free_ void *block = tier_format_alloc_blocks(1);
	const struct dm_tier_log_head head = {
		.incarnation = incarnation, .commit = 1, .count = 1, .flags = DM_TIER_LOG_ACTIVATE,
	};

	if (!block)
		return -ENOMEM;
	dm_tier_block_begin(block);
	dm_tier_log_seal(block, super->uuid, &head);
	return tier_format_write_blocks(fd, dm_tier_log_start(super), 1, block);
}

static int write_all(const struct tier_content *content, int fd, struct dm_tier_super *super,
		     u64 incarnation, u64 ckpt_id)
{
	/* Both places, and with them whatever signatures are in the first 2 MiB. */
	int r = tier_format_zero_blocks(fd, 0, DM_TIER_AREA_BLOCK);

	if (!r)
		r = tier_format_flush(fd);
	if (!r)
		r = tier_format_zero_blocks(fd, dm_tier_log_start(super), super->log_blocks);
	if (!r)
		r = write_checkpoint(content, fd, ckpt_id, super);
	if (!r)
		r = write_first_commit(fd, super, incarnation);
	if (!r)
		r = tier_format_flush(fd);
	return r ?: tier_format_write_supers(fd, super);
}

/* The version that the superblocks have to be above. */
static u64 found_version(int fd)
{
	struct tier_format_super found;

	return tier_format_read_super(fd, &found) ? 0 : found.super.version;
}

int tier_content_write(const struct tier_content *content, const struct tier_format_device *to,
		       char *ret_cause)
{
	const u64 blocks = to->bytes / DM_TIER_BLOCK_BYTES;
	struct dm_tier_super super = content->super;
	uint64_t needed, roomy;
	u64 incarnation, ckpt_id;
	int r;

	tier_content_bytes(content, &needed, &roomy);
	if (to->bytes < needed)
		return tier_cause(ret_cause, -ENOSPC,
				  "%s has %llu KiB, but the metadata need %llu KiB, better %llu KiB",
				  to->path, (u64)to->bytes / 1024, (u64)DIV_ROUND_UP(needed, 1024),
				  (u64)DIV_ROUND_UP(roomy, 1024));
	r = tier_content_find_newest(to->fd, blocks, &incarnation, &ckpt_id);
	if (r)
		return tier_cause(ret_cause, r, "cannot read %s: %s", to->path, strerror(-r));
	incarnation = max_t(u64, incarnation, content->incarnation);
	ckpt_id = max_t(u64, ckpt_id, content->ckpt_id);
	super.version = max_t(u64, found_version(to->fd), content->version);
	/* Nothing that counted up from 1 gets there. */
	if (incarnation >= INT_MAX || ckpt_id >= INT64_MAX || super.version >= INT64_MAX)
		return tier_cause(ret_cause, -EOVERFLOW,
				  "%s holds old metadata with numbers that cannot be: wipe it first",
				  to->path);
	incarnation++;
	/* Beyond all that an earlier incarnation may have begun with, as the kernel has it. */
	ckpt_id = max_t(u64, ckpt_id + 1, incarnation << 32);
	super.version++;
	super.flags = DM_TIER_SUPER_CLEAN;
	super.final_seq = 1;
	/* All that is left, so that devices can be added. */
	super.area_blocks = min_t(u64, (blocks - DM_TIER_AREA_BLOCK - super.log_blocks) / 2,
				  U32_MAX);
	r = write_all(content, to->fd, &super, incarnation, ckpt_id);
	if (r)
		return tier_cause(ret_cause, r, "cannot write metadata to %s: %s", to->path,
				  strerror(-r));
	return 0;
}
