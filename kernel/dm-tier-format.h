/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The on-disk format, encoded, decoded and replayed.  Pure: no I/O, no locks,
 * no clock; also compiled in user space (lib/format.c, the offline tools, the
 * tests).  The structs on disk are in include/dm-tier.h; those here are the
 * same in host order, checked.
 *
 * All functions may be called from anywhere and never block, except that
 * dm_tier_image_*() allocate (GFP_KERNEL in the kernel).
 */
#ifndef DM_TIER_FORMAT_H
#define DM_TIER_FORMAT_H

#include <linux/types.h>
#include "dm-tier.h"

struct dm_tier_ckpt_ref {
	u64 id;			/* 0 = none */
	u32 area;
	u32 prev_crc;
	u64 blocks;
	u64 seq;
	u64 position;
};

struct dm_tier_super {
	u8 uuid[16];
	u64 version;
	u64 incompat, compat;
	u32 flags;
	u32 extent_sectors, region_sectors, logical_block_bytes;
	u64 area_blocks, log_blocks;
	u64 final_seq;
	u8 system_id[16];
	u32 block;		/* where it lies */
	struct dm_tier_ckpt_ref ckpt[2];
};

/*
 * Returns 0, -EBADMSG (no magic, bad crc: not ours or damaged),
 * -EPROTONOSUPPORT (unknown format version or incompat feature) or -EINVAL
 * (valid crc but senseless geometry).
 */
int dm_tier_super_decode(const void *block, struct dm_tier_super *ret_super);
/* The same of what was read at block @number; -EBADMSG if it was not written there. */
int dm_tier_super_decode_at(const void *block, u64 number, struct dm_tier_super *ret_super);
void dm_tier_super_encode(const struct dm_tier_super *super, void *block);

/* First block of checkpoint area @area, and of the ring; size of it all. */
u64 dm_tier_area_start(const struct dm_tier_super *super, u32 area);
u64 dm_tier_log_start(const struct dm_tier_super *super);
u64 dm_tier_super_blocks(const struct dm_tier_super *super);

/*
 * Blocks that a checkpoint area needs for so many slots, all partly valid,
 * volumes with full labels, and devices: what format and add_device check.
 */
u64 dm_tier_area_blocks_needed(u64 slots, u32 regions, u32 volumes, u32 devices);

struct dm_tier_label {
	u32 idx;
	u8 pool_uuid[16];
	u8 device_uuid[16];
};

/* DM_TIER_LABEL_BYTES each; decode: 0 or -EBADMSG. */
int dm_tier_label_decode(const void *sector, struct dm_tier_label *ret_label);
void dm_tier_label_encode(const struct dm_tier_label *label, void *sector);

/* Records ------------------------------------------------------------------*/

struct dm_tier_record {
	u8 type;		/* DM_TIER_REC_SLOT, ... */
	bool tombstone;		/* only the key below has meaning; never of the pool */
	union {
		struct {
			u32 device;	/* key */
			u32 slot;	/* key */
			u64 generation;	/* 0 = free */
			u32 extent;
			bool full, quarantine;
			u64 valid[DM_TIER_BITMAP_WORDS]; /* unless full or free */
		} slot;
		struct {
			u32 id;		/* key */
			u32 extents;
			u64 generation;
			u8 uuid[16];
			u8 tiers;
			u8 placement[DM_TIER_MAX_TIERS];
			u8 label_bytes;
			char label[DM_TIER_MAX_LABEL];
		} volume;
		struct {
			u32 idx;	/* key */
			u32 tier;
			u32 slots;
			u8 uuid[16];
			u32 state;
			u32 reserve_slots;
		} device;
		struct {
			u64 next_generation;
			u8 label_bytes;
			char label[DM_TIER_MAX_LABEL];
		} pool;
	};
};

/* The bytes that the record takes in a block, and the most that any SLOT takes. */
u32 dm_tier_record_bytes(const struct dm_tier_record *rec);
#define DM_TIER_SLOT_RECORD_BYTES \
	(sizeof(struct dm_tier_slot_disk) + 8 * DM_TIER_BITMAP_WORDS)

/*
 * Building a block: begin, add records while it returns true, seal.  Log and
 * checkpoint blocks differ in their seal only.  Blocks lie aligned to 8 bytes.
 */
void dm_tier_block_begin(void *block);
bool dm_tier_block_add(void *block, const struct dm_tier_record *rec);

struct dm_tier_log_head {
	u64 incarnation, commit;
	u32 index, count;
	u32 prev_crc, crc;	/* crc: by decode, and returned by seal */
	u32 bytes, flags;
};

/* Returns the block's crc: the prev_crc of the next. */
u32 dm_tier_log_seal(void *block, const u8 *uuid, const struct dm_tier_log_head *head);
void dm_tier_ckpt_seal(void *block, const u8 *uuid, u64 id, u64 index);

/* 0, or -EBADMSG: not a valid block of this pool (and, checkpoint, of this id and index). */
int dm_tier_log_decode(const void *block, const u8 *uuid, struct dm_tier_log_head *ret_head);
int dm_tier_ckpt_decode(const void *block, const u8 *uuid, u64 id, u64 index);

/*
 * Walks the records of a valid block: *offset starts at 0.  Returns 1 and a
 * record, 0 at the end, -EBADMSG for a malformed record (*ret_rec is garbage).
 * What it returns has every key and enum within the format's limits.
 */
int dm_tier_block_next(const void *block, u32 *offset, struct dm_tier_record *ret_rec);

/* Replay -------------------------------------------------------------------*/

struct dm_tier_log_end {
	u64 commit;		/* the last whole commit; from->seq if none followed */
	u64 position;		/* ring block where the next one goes */
	u64 incarnation;	/* of that commit, 0 if none followed the checkpoint */
	u32 crc;		/* of its last block: prev_crc of the next */
	u64 last_position;	/* of that commit's first block ... */
	u32 last_count;		/* ... and its blocks, 0 if none followed */
	u64 max_incarnation;	/* highest seen in any valid block of the ring */
	bool damaged;		/* a hole: see below */
	u64 damage_commit;	/* the first commit that is not whole but should be */
};

/*
 * Replays a whole ring (@blocks blocks in memory) from a checkpoint: commits
 * with the exact next number, chained crcs and an incarnation that never falls
 * and rises only with DM_TIER_LOG_ACTIVATE, each as a whole, each record to
 * @apply (which returns 0 or -errno, passed on).  The first commit that isn't
 * whole ends it.  It is the torn tail of a crash unless a valid block of a
 * later commit, of the last good incarnation or newer, is anywhere in the
 * ring, or the last whole commit is before @final_seq: then `damaged`.
 * Returns 0 (also if damaged), or what @apply or a malformed record returned.
 */
int dm_tier_log_replay(const void *ring, u64 blocks, const u8 *uuid,
		       const struct dm_tier_ckpt_ref *from, u64 final_seq,
		       int (*apply)(void *ctx, const struct dm_tier_record *rec),
		       void *ctx, struct dm_tier_log_end *ret_end);

/* An image: what the records add up to --------------------------------------*/

struct dm_tier_image_slot {
	u64 generation;		/* 0 = free */
	u32 extent;
	bool full, quarantine;
	/*
	 * DM_TIER_BITMAP_WORDS words; NULL if full or free.  Never all regions:
	 * that is `full`, however it was logged.
	 */
	u64 *valid;
};

struct dm_tier_image_device {
	bool present;
	u32 tier, slots, state, reserve_slots;
	u8 uuid[16];
	struct dm_tier_image_slot *slot;	/* nr_slot entries, may exceed slots */
	u32 nr_slot;
};

struct dm_tier_image_generation {
	u64 generation;
	u32 id;			/* of the volume */
};

struct dm_tier_image {
	u32 regions;		/* of an extent */
	u64 next_generation;
	u8 pool_label_bytes;
	char pool_label[DM_TIER_MAX_LABEL];
	struct dm_tier_record *volume[DM_TIER_MAX_VOLUMES];	/* NULL = none */
	struct dm_tier_image_device device[DM_TIER_MAX_DEVICES];
	/* private: made by check, dropped when a volume changes */
	struct dm_tier_image_generation *by_generation;
	u32 nr_by_generation;
};

struct dm_tier_image *dm_tier_image_alloc(u32 regions);	/* NULL: no memory */
void dm_tier_image_free(struct dm_tier_image *image);

/*
 * Applies a record (an after-image; the last one wins), in any order of keys.
 * A tombstone of an unknown key is a no-op; a DEVICE tombstone, or one with
 * another uuid, resets that device's slots.  0, -ENOMEM, or -EBADMSG for a key
 * out of the format's limits or a valid bit beyond the last region.
 */
int dm_tier_image_apply(struct dm_tier_image *image, const struct dm_tier_record *rec);

enum dm_tier_fault {
	DM_TIER_FAULT_TWO_OWNERS,	/* two slots claim one extent of a volume */
	DM_TIER_FAULT_SLOT_RANGE,	/* an owned slot beyond its device's slots */
	DM_TIER_FAULT_NO_DEVICE,	/* an owned slot of a device without a record */
	/* A volume (@slot is its id, @device none) has a generation that is >= the
	 * pool's next, or another volume's.
	 */
	DM_TIER_FAULT_GENERATION,
};

/*
 * After the whole replay: frees slots whose generation is in no volume or
 * whose extent lies beyond its volume (`stale` sees the slot as it still is: the
 * caller must log it free before it grows the volume), then checks.  Calls
 * @fault for each fault.  Both may be NULL.  Returns the number of faults, or
 * -ENOMEM.
 */
int dm_tier_image_check(struct dm_tier_image *image,
			void (*stale)(void *ctx, u32 device, u32 slot),
			void (*fault)(void *ctx, enum dm_tier_fault fault,
				      u32 device, u32 slot),
			void *ctx);

/* The volume that has this generation, or -ENOENT.  Fast once checked, else a scan. */
int dm_tier_image_find_generation(const struct dm_tier_image *image, u64 generation);

#endif /* DM_TIER_FORMAT_H */
