// SPDX-License-Identifier: GPL-2.0-only
/* The on-disk format: superblock, label, blocks and records, there and back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/crc32c.h>
#include <linux/limits.h>

#include "dm-tier-format.h"
#include "ring.h"

static const u8 pool_uuid[16] = "a pool of tests";
static u64 block[DM_TIER_BLOCK_BYTES / 8], block_2[DM_TIER_BLOCK_BYTES / 8];

static void test_crc32c(void **state)
{
	/* RFC 3720, B.4 */
	u8 data[32];

	memset(data, 0, sizeof(data));
	assert_int_equal(~crc32c(~0U, data, 32), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	assert_int_equal(~crc32c(~0U, data, 32), 0x62a8ab43);
	for (u32 i = 0; i < 32; i++)
		data[i] = i;
	assert_int_equal(~crc32c(~0U, data, 32), 0x46dd794e);
	assert_int_equal(~crc32c(~0U, "123456789", 9), 0xe3069283);
	/* In pieces, at odd addresses. */
	assert_int_equal(~crc32c(crc32c(~0U, "1", 1), "23456789", 8), 0xe3069283);
}

/* Superblock ------------------------------------------------------------------*/

static struct dm_tier_super sample_super(void)
{
	struct dm_tier_super super = {
		.version = 7,
		.compat = 0x8000000000000001ULL,
		.flags = DM_TIER_SUPER_CLEAN,
		.extent_sectors = 1U << 21,
		.region_sectors = 1U << 11,
		.logical_block_bytes = 4096,
		.area_blocks = 1000,
		.log_blocks = DM_TIER_MIN_LOG_BLOCKS,
		.final_seq = 0x123456789abcdefULL,
		.ckpt = {
			{ .id = 9, .area = 1, .prev_crc = 0xdeadbeef, .blocks = 17,
			  .seq = 77, .position = 2047 },
			{ .id = 8, .area = 0, .prev_crc = 1, .blocks = 1000,
			  .seq = 70, .position = 0 },
		},
	};

	memcpy(super.uuid, pool_uuid, 16);
	memcpy(super.system_id, "one host is this", 16);
	super.block = DM_TIER_SUPER_BLOCK_1;
	return super;
}

static void test_super_round_trip(void **state)
{
	const struct dm_tier_super super = sample_super();
	struct dm_tier_super got;

	memset(&got, 0xa5, sizeof(got));
	dm_tier_super_encode(&super, block);
	assert_int_equal(dm_tier_super_decode(block, &got), 0);
	assert_memory_equal(&got, &super, sizeof(got));
}

/* A disk whose first partition, at 1 MiB, is a metadata device has no superblock itself. */
static void test_super_place(void **state)
{
	struct dm_tier_super super = sample_super(), got, before;

	memset(&got, 0x5a, sizeof(got));
	before = got;
	super.block = DM_TIER_SUPER_BLOCK_0;
	dm_tier_super_encode(&super, block);
	assert_int_equal(dm_tier_super_decode_at(block, DM_TIER_SUPER_BLOCK_1, &got), -EBADMSG);
	assert_memory_equal(&got, &before, sizeof(got));
	assert_int_equal(dm_tier_super_decode_at(block, DM_TIER_SUPER_BLOCK_0, &got), 0);
	assert_memory_equal(&got, &super, sizeof(got));
}

/* The bytes on disk are fixed for ever: a change of this crc is a change of the format. */
static void test_super_bytes(void **state)
{
	const struct dm_tier_super super = sample_super();
	const u8 *bytes = (const u8 *)block;

	dm_tier_super_encode(&super, block);
	assert_memory_equal(bytes, "dTierPer", 8);
	assert_int_equal(bytes[12], DM_TIER_FORMAT_VERSION);
	assert_memory_equal(bytes + 16, pool_uuid, 16);
	assert_int_equal(bytes[32], 7);
	assert_int_equal(bytes[112 + 1], 1);		/* block 256, little-endian */
	assert_int_equal(bytes[120 + 12], 0xef);	/* ckpt[0].prev_crc */
	for (u32 i = 200; i < DM_TIER_BLOCK_BYTES; i++)
		assert_int_equal(bytes[i], 0);
}

static void test_super_places(void **state)
{
	const struct dm_tier_super super = sample_super();

	assert_int_equal(dm_tier_area_start(&super, 0), 512);
	assert_int_equal(dm_tier_area_start(&super, 1), 1512);
	assert_int_equal(dm_tier_log_start(&super), 2512);
	assert_int_equal(dm_tier_super_blocks(&super), 2512 + DM_TIER_MIN_LOG_BLOCKS);
}

/* Decodes the encoded @super, which must fail with @error and write nothing. */
static void expect_super_error(const struct dm_tier_super *super, int error)
{
	struct dm_tier_super got, before;

	memset(&got, 0x5a, sizeof(got));
	before = got;
	dm_tier_super_encode(super, block);
	assert_int_equal(dm_tier_super_decode(block, &got), error);
	assert_memory_equal(&got, &before, sizeof(got));
}

static void test_super_refused(void **state)
{
	struct dm_tier_super s;

#define REFUSED(error, change)			\
	do {					\
		s = sample_super();		\
		change;				\
		expect_super_error(&s, error);	\
	} while (0)

	REFUSED(-EPROTONOSUPPORT, s.incompat = 1);
	REFUSED(-EPROTONOSUPPORT, s.incompat = 1ULL << 63);
	REFUSED(-EINVAL, s.extent_sectors = 0);
	REFUSED(-EINVAL, s.extent_sectors = DM_TIER_MIN_EXTENT_SECTORS / 2);
	REFUSED(-EINVAL, s.extent_sectors = DM_TIER_MAX_EXTENT_SECTORS * 2);
	REFUSED(-EINVAL, s.extent_sectors = 3U << 20);
	REFUSED(-EINVAL, s.region_sectors = 0);
	REFUSED(-EINVAL, s.region_sectors = 24);
	REFUSED(-EINVAL, (s.extent_sectors = 1U << 11, s.region_sectors = 4));
	REFUSED(-EINVAL, s.region_sectors = s.extent_sectors * 2);
	REFUSED(-EINVAL, s.region_sectors = s.extent_sectors / 2048);
	REFUSED(-EINVAL, s.logical_block_bytes = 0);
	REFUSED(-EINVAL, s.logical_block_bytes = 256);
	REFUSED(-EINVAL, s.logical_block_bytes = 1536);
	REFUSED(-EINVAL, s.logical_block_bytes = s.region_sectors * 1024);
	REFUSED(-EINVAL, s.area_blocks = 0);
	REFUSED(-EINVAL, s.area_blocks = 1ULL << 32);
	REFUSED(-EINVAL, s.log_blocks = DM_TIER_MIN_LOG_BLOCKS - 1);
	REFUSED(-EINVAL, s.log_blocks = DM_TIER_MAX_LOG_BLOCKS + 1);
	REFUSED(-EINVAL, s.ckpt[0].id = 0);
	REFUSED(-EINVAL, s.ckpt[0].area = 2);
	REFUSED(-EINVAL, s.ckpt[0].blocks = 0);
	REFUSED(-EINVAL, s.ckpt[0].blocks = s.area_blocks + 1);
	REFUSED(-EINVAL, s.ckpt[0].position = s.log_blocks);
	REFUSED(-EINVAL, s.ckpt[1].area = 1);
	REFUSED(-EINVAL, s.ckpt[1].area = 2);
	REFUSED(-EINVAL, s.ckpt[1].id = 9);
	REFUSED(-EINVAL, s.ckpt[1].seq = 78);
#undef REFUSED

	/* Another format version, correctly signed. */
	s = sample_super();
	dm_tier_super_encode(&s, block);
	((u8 *)block)[12]++;
	block_fix_crc(block, DM_TIER_BLOCK_BYTES);
	assert_int_equal(dm_tier_super_decode(block, &s), -EPROTONOSUPPORT);
}

static void test_super_one_checkpoint(void **state)
{
	struct dm_tier_super super = sample_super(), got;

	memset(&super.ckpt[1], 0, sizeof(super.ckpt[1]));
	dm_tier_super_encode(&super, block);
	assert_int_equal(dm_tier_super_decode(block, &got), 0);
	assert_memory_equal(&got, &super, sizeof(got));
}

/* Label -------------------------------------------------------------------------*/

static void test_label(void **state)
{
	struct dm_tier_label label = { .idx = 63 }, got;

	memcpy(label.pool_uuid, pool_uuid, 16);
	memcpy(label.device_uuid, "a device of it..", 16);
	memset(block, 0xff, sizeof(block));
	dm_tier_label_encode(&label, block);
	assert_int_equal(dm_tier_label_decode(block, &got), 0);
	assert_memory_equal(&got, &label, sizeof(got));
	/* No byte behind the sector is touched. */
	assert_int_equal(((u8 *)block)[DM_TIER_LABEL_BYTES], 0xff);

	label.idx = DM_TIER_MAX_DEVICES;
	dm_tier_label_encode(&label, block);
	assert_int_equal(dm_tier_label_decode(block, &got), -EBADMSG);
}

/* Records -----------------------------------------------------------------------*/

static void expect_round_trip(const struct dm_tier_record *rec)
{
	struct dm_tier_record got;
	u32 offset = 0;

	dm_tier_block_begin(block);
	assert_true(dm_tier_block_add(block, rec));
	memset(&got, 0xa5, sizeof(got));
	assert_int_equal(dm_tier_block_next(block, &offset, &got), 1);
	assert_true(record_equal(&got, rec));
	assert_int_equal(offset, dm_tier_record_bytes(rec));
	assert_int_equal(offset % 8, 0);
	assert_int_equal(dm_tier_block_next(block, &offset, &got), 0);
}

static void test_records_extreme(void **state)
{
	struct dm_tier_record rec;

#define RECORD(...)						\
	do {							\
		rec = (struct dm_tier_record){ __VA_ARGS__ };	\
		expect_round_trip(&rec);			\
	} while (0)

	RECORD(.type = DM_TIER_REC_SLOT);
	RECORD(.type = DM_TIER_REC_SLOT, .tombstone = true,
	       .slot = { .device = 63, .slot = DM_TIER_MAX_DEVICE_SLOTS - 1 });
	RECORD(.type = DM_TIER_REC_SLOT, .slot = { .device = 1, .quarantine = true });
	RECORD(.type = DM_TIER_REC_SLOT, .slot = { .generation = U64_MAX, .full = true,
		.extent = DM_TIER_MAX_VOLUME_EXTENTS - 1 });
	RECORD(.type = DM_TIER_REC_SLOT, .slot = { .generation = 1 });
	assert_int_equal(dm_tier_record_bytes(&rec), 24);
	RECORD(.type = DM_TIER_REC_SLOT, .slot = { .generation = 1, .valid = { [0] = 1 } });
	assert_int_equal(dm_tier_record_bytes(&rec), 32);
	RECORD(.type = DM_TIER_REC_SLOT,
	       .slot = { .generation = 1, .quarantine = true, .valid = { [15] = 1ULL << 63 } });
	assert_int_equal(dm_tier_record_bytes(&rec), DM_TIER_SLOT_RECORD_BYTES);

	RECORD(.type = DM_TIER_REC_VOLUME, .tombstone = true, .volume = { .id = 4095 });
	RECORD(.type = DM_TIER_REC_VOLUME,
	       .volume = { .id = 4095, .extents = DM_TIER_MAX_VOLUME_EXTENTS,
			   .generation = U64_MAX, .uuid = "uuid of a volume", .tiers = 8,
			   .placement = { 7, 6, 5, 4, 3, 2, 1, 0 }, .label_bytes = 200 });
	assert_int_equal(dm_tier_record_bytes(&rec), 248);
	memset(rec.volume.label, 0xff, 200);
	expect_round_trip(&rec);
	RECORD(.type = DM_TIER_REC_VOLUME,
	       .volume = { .generation = 1, .label_bytes = 1, .label = "x" });
	assert_int_equal(dm_tier_record_bytes(&rec), 56);

	RECORD(.type = DM_TIER_REC_DEVICE, .tombstone = true, .device = { .idx = 63 });
	RECORD(.type = DM_TIER_REC_DEVICE,
	       .device = { .idx = 63, .tier = 7, .slots = DM_TIER_MAX_DEVICE_SLOTS,
			   .uuid = "uuid of a device", .state = DM_TIER_DEV_LOST,
			   .reserve_slots = U32_MAX });
	RECORD(.type = DM_TIER_REC_POOL);
	RECORD(.type = DM_TIER_REC_POOL,
	       .pool = { .next_generation = U64_MAX, .label_bytes = 9, .label = "name=pool" });
	assert_int_equal(dm_tier_record_bytes(&rec), 32);
#undef RECORD
}

static void test_records_random(void **state)
{
	const struct record_limits limits = {
		DM_TIER_MAX_DEVICES, DM_TIER_MAX_DEVICE_SLOTS, DM_TIER_MAX_VOLUMES,
		DM_TIER_MAX_VOLUME_EXTENTS - 1, U32_MAX - 1, DM_TIER_MAX_REGIONS
	};
	struct rng rng = { 1 };
	struct dm_tier_record rec;

	for (u32 i = 0; i < 20000; i++) {
		record_random(&rng, &limits, &rec);
		expect_round_trip(&rec);
	}
}

static void test_record_of_no_type(void **state)
{
	const struct dm_tier_record rec = { .type = 77 };

	assert_int_equal(dm_tier_record_bytes(&rec), 0);
}

/* Meaningless bits of a record do not reach the disk. */
static void test_records_canonical(void **state)
{
	struct dm_tier_record rec = { .type = DM_TIER_REC_SLOT, .slot = { .full = true } }, got;
	u32 offset = 0;

	rec.slot.valid[3] = 5;
	dm_tier_block_begin(block);
	assert_true(dm_tier_block_add(block, &rec));
	rec.slot.generation = 3;
	assert_true(dm_tier_block_add(block, &rec));
	rec.tombstone = true;
	assert_true(dm_tier_block_add(block, &rec));

	assert_int_equal(dm_tier_block_next(block, &offset, &got), 1);
	assert_false(got.slot.full);
	assert_int_equal(got.slot.valid[3], 0);
	assert_int_equal(dm_tier_block_next(block, &offset, &got), 1);
	assert_true(got.slot.full);
	assert_int_equal(got.slot.valid[3], 0);
	assert_int_equal(dm_tier_block_next(block, &offset, &got), 1);
	assert_true(got.tombstone);
	assert_int_equal(got.slot.generation, 0);
}

/* One record whose bytes are changed: every malformed one is refused. */
static void expect_malformed(const struct dm_tier_record *rec, u32 at, u8 value)
{
	struct dm_tier_record got;
	u32 offset = 0;

	dm_tier_block_begin(block);
	assert_true(dm_tier_block_add(block, rec));
	((u8 *)block)[DM_TIER_BLOCK_HEAD_BYTES + at] = value;
	assert_int_equal(dm_tier_block_next(block, &offset, &got), -EBADMSG);
	assert_int_equal(offset, 0);
}

static void test_records_malformed(void **state)
{
	const struct dm_tier_record slot = {
		.type = DM_TIER_REC_SLOT,
		.slot = { .device = 1, .slot = 2, .generation = 3, .extent = 4, .valid = { 5 } }
	};
	const struct dm_tier_record free_slot = { .type = DM_TIER_REC_SLOT };
	const struct dm_tier_record volume = {
		.type = DM_TIER_REC_VOLUME,
		.volume = { .id = 1, .extents = 2, .generation = 3, .tiers = 2,
			    .placement = { 1, 0 }, .label_bytes = 8, .label = "name=vol" }
	};
	const struct dm_tier_record device = {
		.type = DM_TIER_REC_DEVICE,
		.device = { .idx = 1, .tier = 1, .slots = 5, .state = DM_TIER_DEV_ONLINE }
	};
	const struct dm_tier_record pool = {
		.type = DM_TIER_REC_POOL,
		.pool = { .next_generation = 3, .label_bytes = 4, .label = "name" }
	};

	expect_malformed(&slot, 0, 0);			/* type */
	expect_malformed(&slot, 0, 5);
	expect_malformed(&slot, 0, DM_TIER_REC_DEVICE);	/* leaves no sense behind */
	expect_malformed(&slot, 1, 8);			/* flags */
	expect_malformed(&slot, 1, DM_TIER_REC_TOMBSTONE); /* with a bitmap */
	expect_malformed(&slot, 1, DM_TIER_REC_SLOT_FULL); /* with a bitmap */
	expect_malformed(&slot, 2, DM_TIER_MAX_DEVICES);
	expect_malformed(&slot, 3, 17);			/* words */
	expect_malformed(&slot, 3, 2);			/* runs over the end */
	expect_malformed(&slot, 7, 1);			/* slot 2^24 */
	expect_malformed(&slot, 8, 0);			/* bitmap of a free slot */
	expect_malformed(&slot, 19, 1);			/* extent 2^24 */
	expect_malformed(&free_slot, 1, DM_TIER_REC_SLOT_FULL);

	expect_malformed(&volume, 1, DM_TIER_REC_SLOT_FULL);
	expect_malformed(&volume, 3, 0x10);		/* id 4097 */
	expect_malformed(&volume, 7, 2);		/* too many extents */
	expect_malformed(&volume, 8, 0);		/* generation 0 */
	expect_malformed(&volume, 32, 9);		/* tiers */
	expect_malformed(&volume, 33, 201);		/* label_bytes */
	expect_malformed(&volume, 33, 9);		/* runs over the end */
	expect_malformed(&volume, 40, 8);		/* a tier */

	expect_malformed(&device, 1, DM_TIER_REC_SLOT_QUARANTINE);
	expect_malformed(&device, 2, DM_TIER_MAX_DEVICES);
	expect_malformed(&device, 3, DM_TIER_MAX_TIERS);
	expect_malformed(&device, 7, 2);		/* slots */
	expect_malformed(&device, 24, DM_TIER_DEV_LOST + 1);

	expect_malformed(&pool, 1, DM_TIER_REC_TOMBSTONE);
	expect_malformed(&pool, 2, 201);
	expect_malformed(&pool, 2, 9);
}

/* The last record must be whole: every shorter payload is refused. */
static void test_records_cut(void **state)
{
	struct dm_tier_record rec = {
		.type = DM_TIER_REC_VOLUME,
		.volume = { .generation = 3, .label_bytes = 8, .label = "name=vol" }
	};
	struct dm_tier_record got;

	for (u8 type = DM_TIER_REC_SLOT; type <= DM_TIER_REC_POOL; type++) {
		memset(&rec, 0, sizeof(rec));
		rec.type = type;
		if (type == DM_TIER_REC_SLOT || type == DM_TIER_REC_VOLUME)
			rec.volume.generation = rec.slot.generation = 3;
		for (u32 bytes = 1; bytes < dm_tier_record_bytes(&rec); bytes++) {
			u32 offset = 0;

			dm_tier_block_begin(block);
			assert_true(dm_tier_block_add(block, &rec));
			((u8 *)block)[52] = bytes;
			assert_int_equal(dm_tier_block_next(block, &offset, &got), -EBADMSG);
		}
	}
}

static void test_block_offset(void **state)
{
	const struct dm_tier_record rec = { .type = DM_TIER_REC_POOL };
	struct dm_tier_record got;
	u32 offset = 24;

	dm_tier_block_begin(block);
	assert_true(dm_tier_block_add(block, &rec));
	assert_int_equal(dm_tier_block_next(block, &offset, &got), -EBADMSG);
	offset = 4;
	assert_int_equal(dm_tier_block_next(block, &offset, &got), -EBADMSG);
	/* More bytes than a block has. */
	((u8 *)block)[53] = 0x10;
	offset = 0;
	assert_int_equal(dm_tier_block_next(block, &offset, &got), -EBADMSG);
}

/* Blocks --------------------------------------------------------------------------*/

static u32 fill_block(void *into, struct rng *rng)
{
	const struct record_limits limits = { 64, 1000, 10, 1000, 9, 1024 };
	struct dm_tier_record rec;
	u32 count = 0, bytes = 0;

	dm_tier_block_begin(into);
	for (;;) {
		record_random(rng, &limits, &rec);
		if (!dm_tier_block_add(into, &rec))
			break;
		bytes += dm_tier_record_bytes(&rec);
		count++;
	}
	assert_true(bytes + dm_tier_record_bytes(&rec) > DM_TIER_BLOCK_PAYLOAD);
	return count;
}

static u32 count_records(const void *from)
{
	struct dm_tier_record rec;
	u32 offset = 0, count = 0;
	int r;

	while ((r = dm_tier_block_next(from, &offset, &rec)) > 0)
		count++;
	assert_int_equal(r, 0);
	return count;
}

static const struct dm_tier_log_head sample_head = {
	.incarnation = 0x0102030405060708ULL,
	.commit = 0x1112131415161718ULL,
	.index = 255,
	.count = 256,
	.prev_crc = 0xfedcba98,
	.flags = DM_TIER_LOG_ACTIVATE,
};

static void test_log_block(void **state)
{
	struct dm_tier_log_head got;
	struct rng rng = { 2 };
	const u32 count = fill_block(block, &rng);
	u32 crc;

	crc = dm_tier_log_seal(block, pool_uuid, &sample_head);
	assert_int_equal(dm_tier_log_decode(block, pool_uuid, &got), 0);
	assert_int_equal(got.incarnation, sample_head.incarnation);
	assert_int_equal(got.commit, sample_head.commit);
	assert_int_equal(got.index, 255);
	assert_int_equal(got.count, 256);
	assert_int_equal(got.prev_crc, sample_head.prev_crc);
	assert_int_equal(got.flags, sample_head.flags);
	assert_int_equal(got.crc, crc);
	assert_true(got.bytes && got.bytes <= DM_TIER_BLOCK_PAYLOAD);
	assert_int_equal(count_records(block), count);
	assert_int_equal(dm_tier_ckpt_decode(block, pool_uuid, 1, 0), -EBADMSG);
}

static void expect_log_refused(u32 at, u8 value)
{
	struct dm_tier_log_head got;

	memcpy(block_2, block, sizeof(block));
	((u8 *)block_2)[at] = value;
	block_fix_crc(block_2, DM_TIER_BLOCK_BYTES);
	assert_int_equal(dm_tier_log_decode(block_2, pool_uuid, &got), -EBADMSG);
}

static void test_log_block_refused(void **state)
{
	dm_tier_block_begin(block);
	dm_tier_log_seal(block, pool_uuid, &sample_head);
	expect_log_refused(0, 0);	/* magic */
	expect_log_refused(16, 'b');	/* uuid */
	expect_log_refused(51, 0);	/* count 0 */
	expect_log_refused(50, 1);	/* count 257: too long */
	expect_log_refused(49, 1);	/* index 511 */
	expect_log_refused(52, 4);	/* bytes not of 8 */
	expect_log_refused(53, 0x10);	/* bytes beyond the block */
	expect_log_refused(56, 3);	/* flags */
}

static void test_ckpt_block(void **state)
{
	struct dm_tier_log_head head;
	struct rng rng = { 3 };
	const u32 count = fill_block(block, &rng);

	dm_tier_ckpt_seal(block, pool_uuid, 77, 5);
	assert_int_equal(dm_tier_ckpt_decode(block, pool_uuid, 77, 5), 0);
	assert_int_equal(dm_tier_ckpt_decode(block, pool_uuid, 78, 5), -EBADMSG);
	assert_int_equal(dm_tier_ckpt_decode(block, pool_uuid, 77, 6), -EBADMSG);
	assert_int_equal(dm_tier_ckpt_decode(block, (const u8 *)"another pool....", 77, 5),
			 -EBADMSG);
	assert_int_equal(dm_tier_log_decode(block, pool_uuid, &head), -EBADMSG);
	assert_int_equal(count_records(block), count);

	((u8 *)block)[12] = 4;		/* bytes */
	block_fix_crc(block, DM_TIER_BLOCK_BYTES);
	assert_int_equal(dm_tier_ckpt_decode(block, pool_uuid, 77, 5), -EBADMSG);
}

/* Every single flipped bit of each kind of block is noticed. */
static void test_every_bit(void **state)
{
	const struct dm_tier_super super = sample_super();
	const struct dm_tier_label label = { .idx = 3 };
	struct dm_tier_super got_super;
	struct dm_tier_label got_label;
	struct dm_tier_log_head got_head;
	struct rng rng = { 4 };
	u8 *byte = (u8 *)block;

#define EVERY_BIT(bytes, call)							\
	do {									\
		assert_int_equal(call, 0);					\
		for (u32 bit = 0; bit < 8 * (bytes); bit++) {			\
			byte[bit / 8] ^= 1 << bit % 8;				\
			if ((call) != -EBADMSG)					\
				fail_msg("bit %u of %s unnoticed", bit, #call);	\
			byte[bit / 8] ^= 1 << bit % 8;				\
		}								\
	} while (0)

	dm_tier_super_encode(&super, block);
	EVERY_BIT(DM_TIER_BLOCK_BYTES, dm_tier_super_decode(block, &got_super));
	dm_tier_label_encode(&label, block);
	EVERY_BIT(DM_TIER_LABEL_BYTES, dm_tier_label_decode(block, &got_label));
	fill_block(block, &rng);
	dm_tier_log_seal(block, pool_uuid, &sample_head);
	EVERY_BIT(DM_TIER_BLOCK_BYTES, dm_tier_log_decode(block, pool_uuid, &got_head));
	fill_block(block, &rng);
	dm_tier_ckpt_seal(block, pool_uuid, 2, 3);
	EVERY_BIT(DM_TIER_BLOCK_BYTES, dm_tier_ckpt_decode(block, pool_uuid, 2, 3));
#undef EVERY_BIT
}

/* The size that is promised is enough, whatever the order of the records. */
static u64 blocks_used(struct rng *rng, u32 slots, u32 regions, u32 volumes, u32 devices)
{
	u64 blocks = 1;

	dm_tier_block_begin(block);
	for (u32 left = slots + volumes + devices + 1; left; left--) {
		struct dm_tier_record rec = {};
		u32 pick = rng_below(rng, left);

		if (pick < slots) {
			rec.type = DM_TIER_REC_SLOT;
			rec.slot.generation = 1;
			rec.slot.valid[(regions - 1) / 64] = 1;
			slots--;
		} else if ((pick -= slots) < volumes) {
			rec.type = DM_TIER_REC_VOLUME;
			rec.volume.generation = 1;
			rec.volume.label_bytes = DM_TIER_MAX_LABEL;
			volumes--;
		} else if ((pick -= volumes) < devices) {
			rec.type = DM_TIER_REC_DEVICE;
			devices--;
		} else {
			rec.type = DM_TIER_REC_POOL;
			rec.pool.label_bytes = DM_TIER_MAX_LABEL;
		}
		if (dm_tier_block_add(block, &rec))
			continue;
		blocks++;
		dm_tier_block_begin(block);
		assert_true(dm_tier_block_add(block, &rec));
	}
	return blocks;
}

static void test_area_needed(void **state)
{
	static const u32 regions[] = { 1, 64, 65, 256, 1000, 1024 };
	struct rng rng = { 5 };

	assert_int_equal(dm_tier_area_blocks_needed(0, 1, 0, 0), 1);
	for (u32 i = 0; i < 200; i++) {
		const u32 r = regions[i % 6], slots = rng_below(&rng, 3000);
		const u32 volumes = rng_below(&rng, 300), devices = 1 + rng_below(&rng, 64);
		const u64 needed = dm_tier_area_blocks_needed(slots, r, volumes, devices);
		const u64 used = blocks_used(&rng, slots, r, volumes, devices);

		assert_true(used <= needed);
		/* ... and not by a wide margin. */
		assert_true(needed <= used + used / 10 + 2);
	}
	/* No overflow at the limits. */
	assert_in_range(dm_tier_area_blocks_needed(64ULL << 24, 1024, 4096, 64),
			40000000, 50000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_super_round_trip),
		cmocka_unit_test(test_super_bytes),
		cmocka_unit_test(test_super_place),
		cmocka_unit_test(test_super_places),
		cmocka_unit_test(test_super_refused),
		cmocka_unit_test(test_super_one_checkpoint),
		cmocka_unit_test(test_label),
		cmocka_unit_test(test_records_extreme),
		cmocka_unit_test(test_records_random),
		cmocka_unit_test(test_record_of_no_type),
		cmocka_unit_test(test_records_canonical),
		cmocka_unit_test(test_records_malformed),
		cmocka_unit_test(test_records_cut),
		cmocka_unit_test(test_block_offset),
		cmocka_unit_test(test_log_block),
		cmocka_unit_test(test_log_block_refused),
		cmocka_unit_test(test_ckpt_block),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_area_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
