// SPDX-License-Identifier: GPL-2.0-only
/*
 * The on-disk format: superblock, label, blocks, records.  The header is the
 * specification; dm-tier-replay.c follows the log, dm-tier-image.c adds the
 * records up.
 *
 * Pure; also compiled in user space.  Knows nothing of devices, volumes in use,
 * or how blocks get to disk.  Input may be hostile: each field of a block is
 * checked before it is used, even behind a good crc.
 *
 * Blocks and sectors given to these functions are aligned to 8 bytes.
 */
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <asm/byteorder.h>
/* Newer kernels have crc32c() in crc32.h and no crc32c.h; sparse has no __has_include. */
#ifdef __has_include
#if !__has_include(<linux/crc32c.h>)
#include <linux/crc32.h>
#define HAVE_CRC32C
#endif
#endif
#ifndef HAVE_CRC32C
#include <linux/crc32c.h>
#endif

#include "dm-tier-format.h"

/* A label as it lies behind its record. */
#define LABEL_TAIL(bytes)	ALIGN((u32)(bytes), 8)

/* All four kinds of blocks have magic and crc in the same places. */
struct any_head_disk {
	__le64 magic;
	__le32 crc;
};

static_assert(sizeof(struct dm_tier_super_disk) <= DM_TIER_BLOCK_BYTES);
static_assert(sizeof(struct dm_tier_label_disk) <= DM_TIER_LABEL_BYTES);
static_assert(sizeof(struct dm_tier_log_head_disk) == DM_TIER_BLOCK_HEAD_BYTES);
static_assert(sizeof(struct dm_tier_ckpt_head_disk) == DM_TIER_BLOCK_HEAD_BYTES);
static_assert(sizeof(struct dm_tier_slot_disk) == 24);
static_assert(sizeof(struct dm_tier_volume_disk) == 48);
static_assert(sizeof(struct dm_tier_device_disk) == 32);
static_assert(sizeof(struct dm_tier_pool_disk) == 16);
static_assert(offsetof(struct dm_tier_super_disk, crc) == offsetof(struct any_head_disk, crc));
static_assert(offsetof(struct dm_tier_label_disk, crc) == offsetof(struct any_head_disk, crc));
static_assert(offsetof(struct dm_tier_log_head_disk, crc) == offsetof(struct any_head_disk, crc));
static_assert(offsetof(struct dm_tier_ckpt_head_disk, crc) == offsetof(struct any_head_disk, crc));

/* crc32c (Castagnoli, as iSCSI and ext4 have it) with the crc field taken as zero. */
static u32 block_crc(const void *block, u32 bytes)
{
	static const u8 zero[4];
	const u32 at = offsetof(struct any_head_disk, crc);
	u32 crc;

	crc = crc32c(~0U, block, at);
	crc = crc32c(crc, zero, sizeof(zero));
	crc = crc32c(crc, (const u8 *)block + at + sizeof(zero), bytes - at - sizeof(zero));
	return ~crc;
}

static u32 block_sign(void *block, u32 bytes, u64 magic)
{
	struct any_head_disk *head = block;
	u32 crc;

	head->magic = cpu_to_le64(magic);
	crc = block_crc(block, bytes);
	head->crc = cpu_to_le32(crc);
	return crc;
}

static bool block_is(const void *block, u32 bytes, u64 magic)
{
	const struct any_head_disk *head = block;

	/* The magic first: most of a young ring is zeros and needs no crc. */
	return le64_to_cpu(head->magic) == magic &&
	       le32_to_cpu(head->crc) == block_crc(block, bytes);
}

/* Superblock ----------------------------------------------------------------*/

static bool super_geometry_ok(const struct dm_tier_super *s)
{
	return is_power_of_2(s->extent_sectors) &&
	       s->extent_sectors >= DM_TIER_MIN_EXTENT_SECTORS &&
	       s->extent_sectors <= DM_TIER_MAX_EXTENT_SECTORS &&
	       is_power_of_2(s->region_sectors) &&
	       s->region_sectors >= DM_TIER_MIN_REGION_SECTORS &&
	       s->region_sectors <= DM_TIER_MAX_REGION_SECTORS &&
	       s->region_sectors <= s->extent_sectors &&
	       s->extent_sectors / s->region_sectors <= DM_TIER_MAX_REGIONS &&
	       is_power_of_2(s->logical_block_bytes) &&
	       s->logical_block_bytes >= (1U << DM_TIER_SECTOR_SHIFT) &&
	       s->logical_block_bytes >> DM_TIER_SECTOR_SHIFT <= s->region_sectors &&
	       s->area_blocks >= 1 && s->area_blocks <= U32_MAX &&
	       s->log_blocks >= DM_TIER_MIN_LOG_BLOCKS &&
	       s->log_blocks <= DM_TIER_MAX_LOG_BLOCKS;
}

static bool ckpt_ref_ok(const struct dm_tier_super *s, const struct dm_tier_ckpt_ref *ref)
{
	return ref->area <= 1 && ref->blocks >= 1 && ref->blocks <= s->area_blocks &&
	       ref->position < s->log_blocks;
}

static bool super_ckpts_ok(const struct dm_tier_super *s)
{
	const struct dm_tier_ckpt_ref *newest = &s->ckpt[0], *older = &s->ckpt[1];

	if (!newest->id || !ckpt_ref_ok(s, newest))
		return false;
	if (!older->id)
		return true;
	return ckpt_ref_ok(s, older) && older->id < newest->id &&
	       older->area != newest->area && older->seq <= newest->seq;
}

static void super_read(const struct dm_tier_super_disk *disk, struct dm_tier_super *super)
{
	u32 i;

	memset(super, 0, sizeof(*super));
	memcpy(super->uuid, disk->uuid, sizeof(super->uuid));
	super->version = le64_to_cpu(disk->version);
	super->incompat = le64_to_cpu(disk->incompat);
	super->compat = le64_to_cpu(disk->compat);
	super->flags = le32_to_cpu(disk->flags);
	super->extent_sectors = le32_to_cpu(disk->extent_sectors);
	super->region_sectors = le32_to_cpu(disk->region_sectors);
	super->logical_block_bytes = le32_to_cpu(disk->logical_block_bytes);
	super->area_blocks = le64_to_cpu(disk->area_blocks);
	super->log_blocks = le64_to_cpu(disk->log_blocks);
	super->final_seq = le64_to_cpu(disk->final_seq);
	memcpy(super->system_id, disk->system_id, sizeof(super->system_id));
	super->block = le32_to_cpu(disk->block);
	for (i = 0; i < 2; i++) {
		const struct dm_tier_ckpt_ref_disk *from = &disk->ckpt[i];
		struct dm_tier_ckpt_ref *to = &super->ckpt[i];

		to->id = le64_to_cpu(from->id);
		to->area = le32_to_cpu(from->area);
		to->prev_crc = le32_to_cpu(from->prev_crc);
		to->blocks = le64_to_cpu(from->blocks);
		to->seq = le64_to_cpu(from->seq);
		to->position = le64_to_cpu(from->position);
	}
}

int dm_tier_super_decode(const void *block, struct dm_tier_super *ret_super)
{
	const struct dm_tier_super_disk *disk = block;
	struct dm_tier_super super;

	if (!block_is(block, DM_TIER_BLOCK_BYTES, DM_TIER_SUPER_MAGIC))
		return -EBADMSG;
	if (le32_to_cpu(disk->format) != DM_TIER_FORMAT_VERSION)
		return -EPROTONOSUPPORT;

	super_read(disk, &super);
	if (super.incompat & ~DM_TIER_INCOMPAT_KNOWN)
		return -EPROTONOSUPPORT;
	if (!super_geometry_ok(&super) || !super_ckpts_ok(&super))
		return -EINVAL;
	*ret_super = super;
	return 0;
}

int dm_tier_super_decode_at(const void *block, u64 number, struct dm_tier_super *ret_super)
{
	struct dm_tier_super super;
	int r = dm_tier_super_decode(block, &super);

	if (r)
		return r;
	if (super.block != number)
		return -EBADMSG;
	*ret_super = super;
	return 0;
}

void dm_tier_super_encode(const struct dm_tier_super *super, void *block)
{
	struct dm_tier_super_disk *disk = block;
	u32 i;

	memset(block, 0, DM_TIER_BLOCK_BYTES);
	disk->format = cpu_to_le32(DM_TIER_FORMAT_VERSION);
	memcpy(disk->uuid, super->uuid, sizeof(disk->uuid));
	disk->version = cpu_to_le64(super->version);
	disk->incompat = cpu_to_le64(super->incompat);
	disk->compat = cpu_to_le64(super->compat);
	disk->flags = cpu_to_le32(super->flags);
	disk->extent_sectors = cpu_to_le32(super->extent_sectors);
	disk->region_sectors = cpu_to_le32(super->region_sectors);
	disk->logical_block_bytes = cpu_to_le32(super->logical_block_bytes);
	disk->area_blocks = cpu_to_le64(super->area_blocks);
	disk->log_blocks = cpu_to_le64(super->log_blocks);
	disk->final_seq = cpu_to_le64(super->final_seq);
	memcpy(disk->system_id, super->system_id, sizeof(disk->system_id));
	disk->block = cpu_to_le32(super->block);
	for (i = 0; i < 2; i++) {
		const struct dm_tier_ckpt_ref *from = &super->ckpt[i];
		struct dm_tier_ckpt_ref_disk *to = &disk->ckpt[i];

		to->id = cpu_to_le64(from->id);
		to->area = cpu_to_le32(from->area);
		to->prev_crc = cpu_to_le32(from->prev_crc);
		to->blocks = cpu_to_le64(from->blocks);
		to->seq = cpu_to_le64(from->seq);
		to->position = cpu_to_le64(from->position);
	}
	block_sign(block, DM_TIER_BLOCK_BYTES, DM_TIER_SUPER_MAGIC);
}

u64 dm_tier_area_start(const struct dm_tier_super *super, u32 area)
{
	return DM_TIER_AREA_BLOCK + area * super->area_blocks;
}

u64 dm_tier_log_start(const struct dm_tier_super *super)
{
	return dm_tier_area_start(super, 2);
}

u64 dm_tier_super_blocks(const struct dm_tier_super *super)
{
	return dm_tier_log_start(super) + super->log_blocks;
}

u64 dm_tier_area_blocks_needed(u64 slots, u32 regions, u32 volumes, u32 devices)
{
	const u32 slot_bytes = sizeof(struct dm_tier_slot_disk) + 8 * DIV_ROUND_UP(regions, 64);
	const u32 volume_bytes = sizeof(struct dm_tier_volume_disk) +
				 LABEL_TAIL(DM_TIER_MAX_LABEL);
	const u32 pool_bytes = sizeof(struct dm_tier_pool_disk) + LABEL_TAIL(DM_TIER_MAX_LABEL);
	u64 bytes;

	/*
	 * A block is closed when the next record does not fit, so, whatever the
	 * order of the records, it is filled but for less than the largest one.
	 */
	bytes = slots * slot_bytes + (u64)volumes * volume_bytes +
		(u64)devices * sizeof(struct dm_tier_device_disk) + pool_bytes;
	return div_u64(bytes, DM_TIER_BLOCK_PAYLOAD - volume_bytes + 8) + 1;
}

/* Label ---------------------------------------------------------------------*/

int dm_tier_label_decode(const void *sector, struct dm_tier_label *ret_label)
{
	const struct dm_tier_label_disk *disk = sector;

	if (!block_is(sector, DM_TIER_LABEL_BYTES, DM_TIER_LABEL_MAGIC) ||
	    le32_to_cpu(disk->idx) >= DM_TIER_MAX_DEVICES)
		return -EBADMSG;

	ret_label->idx = le32_to_cpu(disk->idx);
	memcpy(ret_label->pool_uuid, disk->pool_uuid, sizeof(ret_label->pool_uuid));
	memcpy(ret_label->device_uuid, disk->device_uuid, sizeof(ret_label->device_uuid));
	return 0;
}

void dm_tier_label_encode(const struct dm_tier_label *label, void *sector)
{
	struct dm_tier_label_disk *disk = sector;

	memset(sector, 0, DM_TIER_LABEL_BYTES);
	disk->idx = cpu_to_le32(label->idx);
	memcpy(disk->pool_uuid, label->pool_uuid, sizeof(disk->pool_uuid));
	memcpy(disk->device_uuid, label->device_uuid, sizeof(disk->device_uuid));
	block_sign(sector, DM_TIER_LABEL_BYTES, DM_TIER_LABEL_MAGIC);
}

/* Records: encode -----------------------------------------------------------*/

/* Words of the bitmap up to the last one with a bit. */
static u32 slot_words(const struct dm_tier_record *rec)
{
	u32 words = DM_TIER_BITMAP_WORDS;

	if (rec->tombstone || !rec->slot.generation || rec->slot.full)
		return 0;
	while (words && !rec->slot.valid[words - 1])
		words--;
	return words;
}

u32 dm_tier_record_bytes(const struct dm_tier_record *rec)
{
	switch (rec->type) {
	case DM_TIER_REC_SLOT:
		return sizeof(struct dm_tier_slot_disk) + 8 * slot_words(rec);
	case DM_TIER_REC_VOLUME:
		return sizeof(struct dm_tier_volume_disk) +
		       (rec->tombstone ? 0 : LABEL_TAIL(rec->volume.label_bytes));
	case DM_TIER_REC_DEVICE:
		return sizeof(struct dm_tier_device_disk);
	case DM_TIER_REC_POOL:
		return sizeof(struct dm_tier_pool_disk) + LABEL_TAIL(rec->pool.label_bytes);
	}
	return 0;
}

static void encode_slot(const struct dm_tier_record *rec, struct dm_tier_slot_disk *disk)
{
	__le64 *valid = (__le64 *)(disk + 1);
	u32 i;

	disk->device = rec->slot.device;
	disk->slot = cpu_to_le32(rec->slot.slot);
	if (rec->tombstone)
		return;
	if (rec->slot.quarantine)
		disk->flags |= DM_TIER_REC_SLOT_QUARANTINE;
	if (!rec->slot.generation)
		return;
	if (rec->slot.full)
		disk->flags |= DM_TIER_REC_SLOT_FULL;
	disk->generation = cpu_to_le64(rec->slot.generation);
	disk->extent = cpu_to_le32(rec->slot.extent);
	disk->words = slot_words(rec);
	for (i = 0; i < disk->words; i++)
		valid[i] = cpu_to_le64(rec->slot.valid[i]);
}

static void encode_volume(const struct dm_tier_record *rec, struct dm_tier_volume_disk *disk)
{
	disk->id = cpu_to_le16(rec->volume.id);
	if (rec->tombstone)
		return;
	disk->extents = cpu_to_le32(rec->volume.extents);
	disk->generation = cpu_to_le64(rec->volume.generation);
	memcpy(disk->uuid, rec->volume.uuid, sizeof(disk->uuid));
	disk->tiers = rec->volume.tiers;
	memcpy(disk->placement, rec->volume.placement, rec->volume.tiers);
	disk->label_bytes = rec->volume.label_bytes;
	memcpy(disk + 1, rec->volume.label, rec->volume.label_bytes);
}

static void encode_device(const struct dm_tier_record *rec, struct dm_tier_device_disk *disk)
{
	disk->idx = rec->device.idx;
	if (rec->tombstone)
		return;
	disk->tier = rec->device.tier;
	disk->slots = cpu_to_le32(rec->device.slots);
	memcpy(disk->uuid, rec->device.uuid, sizeof(disk->uuid));
	disk->state = rec->device.state;
	disk->reserve_slots = cpu_to_le32(rec->device.reserve_slots);
}

static void encode_pool(const struct dm_tier_record *rec, struct dm_tier_pool_disk *disk)
{
	disk->next_generation = cpu_to_le64(rec->pool.next_generation);
	disk->label_bytes = rec->pool.label_bytes;
	memcpy(disk + 1, rec->pool.label, rec->pool.label_bytes);
}

/*
 * Until it is sealed a block is nobody's: its magic is zero, and the bytes of
 * records so far are counted where a log block has them.
 */
void dm_tier_block_begin(void *block)
{
	memset(block, 0, DM_TIER_BLOCK_BYTES);
}

bool dm_tier_block_add(void *block, const struct dm_tier_record *rec)
{
	struct dm_tier_log_head_disk *head = block;
	const u32 used = le32_to_cpu(head->bytes), bytes = dm_tier_record_bytes(rec);
	u8 *to = (u8 *)block + DM_TIER_BLOCK_HEAD_BYTES + used;

	if (bytes > DM_TIER_BLOCK_PAYLOAD - used)
		return false;

	to[0] = rec->type;
	to[1] = rec->tombstone ? DM_TIER_REC_TOMBSTONE : 0;
	switch (rec->type) {
	case DM_TIER_REC_SLOT:
		encode_slot(rec, (void *)to);
		break;
	case DM_TIER_REC_VOLUME:
		encode_volume(rec, (void *)to);
		break;
	case DM_TIER_REC_DEVICE:
		encode_device(rec, (void *)to);
		break;
	case DM_TIER_REC_POOL:
		encode_pool(rec, (void *)to);
		break;
	}
	head->bytes = cpu_to_le32(used + bytes);
	return true;
}

u32 dm_tier_log_seal(void *block, const u8 *uuid, const struct dm_tier_log_head *head)
{
	struct dm_tier_log_head_disk *disk = block;

	disk->prev_crc = cpu_to_le32(head->prev_crc);
	memcpy(disk->uuid, uuid, sizeof(disk->uuid));
	disk->incarnation = cpu_to_le64(head->incarnation);
	disk->commit = cpu_to_le64(head->commit);
	disk->index = cpu_to_le16(head->index);
	disk->count = cpu_to_le16(head->count);
	disk->flags = cpu_to_le32(head->flags);
	return block_sign(block, DM_TIER_BLOCK_BYTES, DM_TIER_LOG_MAGIC);
}

void dm_tier_ckpt_seal(void *block, const u8 *uuid, u64 id, u64 index)
{
	struct dm_tier_log_head_disk *begun = block;
	struct dm_tier_ckpt_head_disk *disk = block;
	const __le32 bytes = begun->bytes;

	memset(disk, 0, sizeof(*disk));
	disk->bytes = bytes;
	memcpy(disk->uuid, uuid, sizeof(disk->uuid));
	disk->id = cpu_to_le64(id);
	disk->index = cpu_to_le64(index);
	block_sign(block, DM_TIER_BLOCK_BYTES, DM_TIER_CKPT_MAGIC);
}

/* Records: decode -----------------------------------------------------------*/

static bool payload_ok(u32 bytes)
{
	return bytes <= DM_TIER_BLOCK_PAYLOAD && bytes % 8 == 0;
}

int dm_tier_log_decode(const void *block, const u8 *uuid, struct dm_tier_log_head *ret_head)
{
	const struct dm_tier_log_head_disk *disk = block;
	const u32 index = le16_to_cpu(disk->index), count = le16_to_cpu(disk->count);

	if (!block_is(block, DM_TIER_BLOCK_BYTES, DM_TIER_LOG_MAGIC) ||
	    memcmp(disk->uuid, uuid, sizeof(disk->uuid)) ||
	    count > DM_TIER_COMMIT_BLOCKS || index >= count ||
	    !payload_ok(le32_to_cpu(disk->bytes)) ||
	    (le32_to_cpu(disk->flags) & ~DM_TIER_LOG_ACTIVATE))
		return -EBADMSG;

	ret_head->incarnation = le64_to_cpu(disk->incarnation);
	ret_head->commit = le64_to_cpu(disk->commit);
	ret_head->index = index;
	ret_head->count = count;
	ret_head->prev_crc = le32_to_cpu(disk->prev_crc);
	ret_head->crc = le32_to_cpu(disk->crc);
	ret_head->bytes = le32_to_cpu(disk->bytes);
	ret_head->flags = le32_to_cpu(disk->flags);
	return 0;
}

int dm_tier_ckpt_decode(const void *block, const u8 *uuid, u64 id, u64 index)
{
	const struct dm_tier_ckpt_head_disk *disk = block;

	if (!block_is(block, DM_TIER_BLOCK_BYTES, DM_TIER_CKPT_MAGIC) ||
	    memcmp(disk->uuid, uuid, sizeof(disk->uuid)) ||
	    le64_to_cpu(disk->id) != id || le64_to_cpu(disk->index) != index ||
	    !payload_ok(le32_to_cpu(disk->bytes)))
		return -EBADMSG;
	return 0;
}

/*
 * Each decoder returns the bytes it took of the @room there is, or -EBADMSG;
 * it checks everything before it writes to @rec, which is zero.
 */
static int decode_slot(const struct dm_tier_slot_disk *disk, u32 room, struct dm_tier_record *rec)
{
	const __le64 *valid = (const __le64 *)(disk + 1);
	const u8 known = DM_TIER_REC_TOMBSTONE | DM_TIER_REC_SLOT_FULL |
			 DM_TIER_REC_SLOT_QUARANTINE;
	bool tombstone, full;
	u64 generation;
	u32 i;

	if (room < sizeof(*disk) || (disk->flags & ~known) ||
	    disk->device >= DM_TIER_MAX_DEVICES ||
	    le32_to_cpu(disk->slot) >= DM_TIER_MAX_DEVICE_SLOTS)
		return -EBADMSG;
	tombstone = disk->flags & DM_TIER_REC_TOMBSTONE;
	full = disk->flags & DM_TIER_REC_SLOT_FULL;
	generation = le64_to_cpu(disk->generation);
	if (disk->words > DM_TIER_BITMAP_WORDS || room < sizeof(*disk) + 8 * disk->words ||
	    (disk->words && (tombstone || full || !generation)) || (full && !generation) ||
	    le32_to_cpu(disk->extent) >= DM_TIER_MAX_VOLUME_EXTENTS)
		return -EBADMSG;

	rec->slot.device = disk->device;
	rec->slot.slot = le32_to_cpu(disk->slot);
	if (!tombstone) {
		rec->slot.generation = generation;
		rec->slot.extent = le32_to_cpu(disk->extent);
		rec->slot.full = full;
		rec->slot.quarantine = disk->flags & DM_TIER_REC_SLOT_QUARANTINE;
		for (i = 0; i < disk->words; i++)
			rec->slot.valid[i] = le64_to_cpu(valid[i]);
	}
	return sizeof(*disk) + 8 * disk->words;
}

static bool placement_ok(const u8 *placement, u32 tiers)
{
	u32 i;

	if (tiers > DM_TIER_MAX_TIERS)
		return false;
	for (i = 0; i < tiers; i++)
		if (placement[i] >= DM_TIER_MAX_TIERS)
			return false;
	return true;
}

static int decode_volume(const struct dm_tier_volume_disk *disk, u32 room,
			 struct dm_tier_record *rec)
{
	u32 bytes;

	if (room < sizeof(*disk) || (disk->flags & ~DM_TIER_REC_TOMBSTONE) ||
	    le16_to_cpu(disk->id) >= DM_TIER_MAX_VOLUMES)
		return -EBADMSG;
	if (disk->flags & DM_TIER_REC_TOMBSTONE) {
		rec->volume.id = le16_to_cpu(disk->id);
		return sizeof(*disk);
	}
	bytes = sizeof(*disk) + LABEL_TAIL(disk->label_bytes);
	if (disk->label_bytes > DM_TIER_MAX_LABEL || room < bytes ||
	    !disk->generation || le32_to_cpu(disk->extents) > DM_TIER_MAX_VOLUME_EXTENTS ||
	    !placement_ok(disk->placement, disk->tiers))
		return -EBADMSG;

	rec->volume.id = le16_to_cpu(disk->id);
	rec->volume.extents = le32_to_cpu(disk->extents);
	rec->volume.generation = le64_to_cpu(disk->generation);
	memcpy(rec->volume.uuid, disk->uuid, sizeof(rec->volume.uuid));
	rec->volume.tiers = disk->tiers;
	memcpy(rec->volume.placement, disk->placement, disk->tiers);
	rec->volume.label_bytes = disk->label_bytes;
	memcpy(rec->volume.label, disk + 1, disk->label_bytes);
	return bytes;
}

static int decode_device(const struct dm_tier_device_disk *disk, u32 room,
			 struct dm_tier_record *rec)
{
	if (room < sizeof(*disk) || (disk->flags & ~DM_TIER_REC_TOMBSTONE) ||
	    disk->idx >= DM_TIER_MAX_DEVICES)
		return -EBADMSG;
	if (disk->flags & DM_TIER_REC_TOMBSTONE) {
		rec->device.idx = disk->idx;
		return sizeof(*disk);
	}
	if (disk->tier >= DM_TIER_MAX_TIERS ||
	    le32_to_cpu(disk->slots) > DM_TIER_MAX_DEVICE_SLOTS ||
	    disk->state > DM_TIER_DEV_LOST)
		return -EBADMSG;

	rec->device.idx = disk->idx;
	rec->device.tier = disk->tier;
	rec->device.slots = le32_to_cpu(disk->slots);
	memcpy(rec->device.uuid, disk->uuid, sizeof(rec->device.uuid));
	rec->device.state = disk->state;
	rec->device.reserve_slots = le32_to_cpu(disk->reserve_slots);
	return sizeof(*disk);
}

static int decode_pool(const struct dm_tier_pool_disk *disk, u32 room,
		       struct dm_tier_record *rec)
{
	u32 bytes;

	/* There is always a pool: no tombstone. */
	if (room < sizeof(*disk) || disk->flags || disk->label_bytes > DM_TIER_MAX_LABEL)
		return -EBADMSG;
	bytes = sizeof(*disk) + LABEL_TAIL(disk->label_bytes);
	if (room < bytes)
		return -EBADMSG;

	rec->pool.next_generation = le64_to_cpu(disk->next_generation);
	rec->pool.label_bytes = disk->label_bytes;
	memcpy(rec->pool.label, disk + 1, disk->label_bytes);
	return bytes;
}

static int decode_record(const void *from, u32 room, struct dm_tier_record *rec)
{
	const u8 *head = from;

	rec->type = head[0];
	rec->tombstone = head[1] & DM_TIER_REC_TOMBSTONE;
	switch (rec->type) {
	case DM_TIER_REC_SLOT:
		return decode_slot(from, room, rec);
	case DM_TIER_REC_VOLUME:
		return decode_volume(from, room, rec);
	case DM_TIER_REC_DEVICE:
		return decode_device(from, room, rec);
	case DM_TIER_REC_POOL:
		return decode_pool(from, room, rec);
	}
	return -EBADMSG;
}

int dm_tier_block_next(const void *block, u32 *offset, struct dm_tier_record *ret_rec)
{
	const struct dm_tier_log_head_disk *log = block;
	const struct dm_tier_ckpt_head_disk *ckpt = block;
	u32 bytes = le32_to_cpu(log->bytes);
	int taken;

	if (le64_to_cpu(log->magic) == DM_TIER_CKPT_MAGIC)
		bytes = le32_to_cpu(ckpt->bytes);
	if (!payload_ok(bytes) || *offset > bytes || *offset % 8)
		return -EBADMSG;
	if (*offset == bytes)
		return 0;

	memset(ret_rec, 0, sizeof(*ret_rec));
	taken = decode_record((const u8 *)block + DM_TIER_BLOCK_HEAD_BYTES + *offset,
			      bytes - *offset, ret_rec);
	if (taken < 0)
		return taken;
	*offset += taken;
	return 1;
}
