// SPDX-License-Identifier: GPL-2.0-only
/*
 * tpcheck: every kind of damage is planted into a pool's metadata, one at a time,
 * and has to be found as what it is. What is no damage must give no finding, and
 * what a crash leaves behind no more than a note. pread is ours.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/kernel.h>
#include <linux/limits.h>

#include "format_tools.h"
#include "sample.h"

static struct sample s;
static u64 bad_block = U64_MAX;		/* a read here gives EIO */
static u64 torn_block = U64_MAX;	/* is being written when it is first read */
static u32 changes;			/* so often a superblock is written while we read */

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
	const u64 first = offset / DM_TIER_BLOCK_BYTES, count = bytes / DM_TIER_BLOCK_BYTES;
	ssize_t result;

	if (bad_block - first < count) {
		errno = EIO;
		return -1;
	}
	if (count > 100 && changes) {
		struct dm_tier_super super = pool_image_super(&s.image, 0);

		changes--;
		super.version++;
		pool_image_write_super(&s.image, 0, &super);
	}
	result = syscall(SYS_pread64, fd, data, bytes, offset);
	if (torn_block - first < count) {
		((u8 *)data)[(torn_block - first) * DM_TIER_BLOCK_BYTES + 100] ^= 1;
		torn_block = U64_MAX;
	}
	return result;
}

/* Ways to spoil a block ----------------------------------------------------------*/

static u64 data[DM_TIER_BLOCK_BYTES / 8];

static void flip(u64 block, u32 bit)
{
	sample_read(&s, block, data);
	((u8 *)data)[bit / 8] ^= 1 << bit % 8;
	sample_write(&s, block, data);
}

static void zero(u64 block)
{
	memset(data, 0, sizeof(data));
	sample_write(&s, block, data);
}

/* The first half was written, the second is of something before. */
static void tear(u64 block)
{
	sample_read(&s, block, data);
	memset((u8 *)data + DM_TIER_BLOCK_BYTES / 2, 0xee, DM_TIER_BLOCK_BYTES / 2);
	sample_write(&s, block, data);
}

static void swap(u64 a, u64 b)
{
	u64 other[DM_TIER_BLOCK_BYTES / 8];

	sample_read(&s, a, data);
	sample_read(&s, b, other);
	sample_write(&s, b, data);
	sample_write(&s, a, other);
}

/* A byte is another one, and the crc is right. */
static void forge(u64 block, u32 at, u8 value)
{
	sample_read(&s, block, data);
	((u8 *)data)[at] = value;
	block_fix_crc(data, DM_TIER_BLOCK_BYTES);
	sample_write(&s, block, data);
}

static u64 ckpt(u64 index) { return sample_ckpt_block(&s, index); }
static u64 old_ckpt(void) { return dm_tier_area_start(&s.super, s.super.ckpt[1].area); }
static u64 log_of(u32 commit) { return sample_log_block(&s, s.start[commit]); }

#define UUID_AT		16	/* in the head of log and checkpoint blocks */
#define RECORDS_AT	DM_TIER_BLOCK_HEAD_BYTES

/* Superblocks */
static void super_flip_newest(void) { flip(0, 777); }
static void super_flip_older(void) { flip(DM_TIER_SUPER_BLOCK_1, 777); }
static void super_flip_end(void) { flip(0, 8 * DM_TIER_BLOCK_BYTES - 1); }
static void super_zero(void) { zero(0); }
static void super_torn(void) { tear(DM_TIER_SUPER_BLOCK_1); }
static void super_unreadable(void) { bad_block = DM_TIER_SUPER_BLOCK_1; }
static void super_swapped(void) { swap(DM_TIER_SUPER_BLOCK_0, DM_TIER_SUPER_BLOCK_1); }
static void super_copied(void)
{
	sample_read(&s, DM_TIER_SUPER_BLOCK_0, data);
	sample_write(&s, DM_TIER_SUPER_BLOCK_1, data);
}
static void super_both(void) { super_flip_newest(); super_flip_older(); }

static void change_super(u32 place, void (*change)(struct dm_tier_super *super))
{
	struct dm_tier_super super = pool_image_super(&s.image, place);

	change(&super);
	pool_image_write_super(&s.image, place, &super);
}
static void other_uuid(struct dm_tier_super *super) { super->uuid[5] ^= 1; }
static void other_log(struct dm_tier_super *super) { super->log_blocks++; }
static void other_extent(struct dm_tier_super *super) { super->extent_sectors *= 2; }
static void senseless(struct dm_tier_super *super) { super->extent_sectors = 5; }
static void other_version(struct dm_tier_super *super) { super->version++; }
static void newer_ckpt(struct dm_tier_super *super) { super->ckpt[0].id = 99; }
static void low_seq(struct dm_tier_super *super) { super->final_seq = 2; }
static void high_seq(struct dm_tier_super *super) { super->final_seq = SAMPLE_LAST + 1; }
static void wrong_crc(struct dm_tier_super *super) { super->ckpt[0].prev_crc ^= 1; }
static void wrong_position(struct dm_tier_super *super) { super->ckpt[0].position++; }
static void wrong_seq(struct dm_tier_super *super) { super->ckpt[0].seq--; }
static void more_blocks(struct dm_tier_super *super) { super->ckpt[0].blocks++; }
static void super_uuid(void) { change_super(1, other_uuid); }
static void super_log(void) { change_super(1, other_log); }
static void super_extent(void) { change_super(1, other_extent); }
static void super_senseless(void) { change_super(1, senseless); }
static void super_same_version(void) { change_super(1, other_version); }
static void super_newer(void) { change_super(1, newer_ckpt); }
static void super_low_seq(void) { change_super(0, low_seq); }
static void super_high_seq(void) { change_super(0, high_seq); }
static void super_ref_crc(void) { change_super(0, wrong_crc); }
static void super_ref_position(void) { change_super(0, wrong_position); }
static void super_ref_seq(void) { change_super(0, wrong_seq); }
static void super_ref_blocks(void) { change_super(0, more_blocks); }
static void device_too_small(void)
{
	assert_int_equal(ftruncate(s.image.format.metadata.fd, POOL_METADATA_BYTES - 8192), 0);
}

/* Checkpoints */
static void ckpt_flip_first(void) { flip(ckpt(0), 5000); }
static void ckpt_flip_last(void) { flip(ckpt(s.super.ckpt[0].blocks - 1), 8 * 4095); }
static void ckpt_flip_crc(void) { flip(ckpt(1), 70); }
static void ckpt_zero(void) { zero(ckpt(1)); }
static void ckpt_torn(void) { tear(ckpt(2)); }
static void ckpt_swapped(void) { swap(ckpt(0), ckpt(1)); }
static void ckpt_older_block(void) { swap(ckpt(0), old_ckpt()); }
static void ckpt_uuid(void) { forge(ckpt(1), UUID_AT, 'x'); }
static void ckpt_unreadable(void) { bad_block = ckpt(1); }
static void ckpt_bad_type(void) { forge(ckpt(0), RECORDS_AT, 77); }
static void ckpt_bad_flags(void) { forge(ckpt(0), RECORDS_AT + 1, 0x40); }
static void ckpt_bad_length(void) { forge(ckpt(0), 12, 7); }
static void old_ckpt_flip(void) { flip(old_ckpt(), 999); }
static void old_ckpt_unreadable(void) { bad_block = old_ckpt(); }
static void old_log_flip(void) { flip(log_of(2), 999); }

/* One block of the checkpoint holds these records in place of what it had. */
static void ckpt_records(u64 index, const struct dm_tier_record *recs, u32 nr)
{
	dm_tier_block_begin(data);
	for (u32 i = 0; i < nr; i++)
		assert_true(dm_tier_block_add(data, &recs[i]));
	dm_tier_ckpt_seal(data, s.super.uuid, s.super.ckpt[0].id, index);
	sample_write(&s, ckpt(index), data);
}

static void ckpt_tombstone(void)
{
	const struct dm_tier_record rec = { .type = DM_TIER_REC_VOLUME, .tombstone = true,
					    .volume = { .id = 5 } };

	ckpt_records(s.super.ckpt[0].blocks - 1, &rec, 1);
}
static void ckpt_record_twice(void)
{
	const struct dm_tier_record rec = SLOT(.device = 0, .slot = 0, .generation = 9,
					       .extent = 6, .full = true);

	ckpt_records(s.super.ckpt[0].blocks - 1, &rec, 1);
}
static void ckpt_volume_twice(void)
{
	const struct dm_tier_record rec = VOLUME(.id = 3, .generation = 2, .extents = 1);

	ckpt_records(s.super.ckpt[0].blocks - 1, &rec, 1);
}
static void ckpt_without_pool(void)
{
	const struct dm_tier_record recs[] = {
		DEVICE(.idx = 0, .tier = 0, .slots = 3, .state = DM_TIER_DEV_ONLINE),
		DEVICE(.idx = 1, .tier = 1, .slots = 4, .state = DM_TIER_DEV_ONLINE,
		       .uuid = { 1 }),
	};

	ckpt_records(0, recs, ARRAY_SIZE(recs));
}
static void ckpt_region_beyond(void)
{
	const struct dm_tier_record rec = SLOT(.device = 2, .slot = 4, .generation = 9,
					       .extent = 5, .valid = { 1U << 16 });

	ckpt_records(s.super.ckpt[0].blocks - 1, &rec, 1);
}

/* The log */
static void log_flip_first(void) { flip(log_of(4), 5000); }
static void log_flip_middle(void) { flip(log_of(5) + 1, 300); }
static void log_flip_head(void) { flip(log_of(5), 8 * 33); }
static void log_missing(void) { zero(log_of(4)); }
static void log_missing_part(void) { zero(log_of(5) + 1); }
static void log_torn(void) { tear(log_of(5)); }
static void log_swapped(void) { swap(log_of(5), log_of(5) + 1); }
static void log_swapped_commits(void) { swap(log_of(4), log_of(6)); }
static void log_older_block(void) { sample_read(&s, log_of(2), data); sample_write(&s, log_of(4), data); }
static void log_uuid(void) { forge(log_of(4), UUID_AT, 'x'); }
static void log_unreadable(void) { bad_block = log_of(5); }
static void log_unreadable_unused(void) { bad_block = log_of(4) + 1000; }
static void log_bad_type(void) { forge(log_of(4), RECORDS_AT, 0); }
static void log_bad_flags(void) { forge(log_of(4), RECORDS_AT + 1, 0x80); }
static void log_bad_words(void) { forge(log_of(4), RECORDS_AT + 3, 17); }
static void log_chain(void) { forge(log_of(4), 12, 0xaa); }

static void reseal(u32 commit, u64 incarnation, u64 number, u32 flags)
{
	struct dm_tier_log_head head;

	sample_read(&s, log_of(commit), data);
	assert_int_equal(dm_tier_log_decode(data, s.super.uuid, &head), 0);
	head.incarnation = incarnation;
	head.commit = number;
	head.flags = flags;
	dm_tier_log_seal(data, s.super.uuid, &head);
	sample_write(&s, log_of(commit), data);
}
static void log_stale_incarnation(void) { reseal(4, 0, 4, 0); }
static void log_stale_after_activation(void) { reseal(7, 1, 7, 0); high_seq(&s.super); change_super(0, high_seq); }
static void log_no_activate(void) { reseal(6, 2, 6, 0); }
static void log_number_again(void) { reseal(6, 2, 5, DM_TIER_LOG_ACTIVATE); }
static void log_number_jumps(void) { reseal(6, 2, 8, DM_TIER_LOG_ACTIVATE); }

/* The last commit, of three blocks here. */
static void add_tail(void)
{
	const struct dm_tier_record rec = SLOT(.device = 2, .slot = 4, .generation = 9,
					       .extent = 5, .full = true);

	sample_commit(&s, &rec, 1, 3, 0);
}
static void tail_swapped(void) { add_tail(); swap(log_of(8) + 1, log_of(8) + 2); }
static void tail_moved(void)
{
	add_tail();
	sample_read(&s, log_of(8), data);
	sample_write(&s, log_of(8) + 40, data);
	zero(log_of(8));
}
static void tail_chain(void) { add_tail(); forge(log_of(8), 12, 0xaa); }
static void tail_lost_first(void) { add_tail(); zero(log_of(8)); }
static void tail_lost_last(void) { add_tail(); tear(log_of(8) + 2); }
static void tail_durable(void) { add_tail(); zero(log_of(8) + 1); change_super(0, high_seq); }

/* What records say */
static void commit_record(const struct dm_tier_record *rec) { sample_commit(&s, rec, 1, 1, 0); }
#define COMMIT(name, ...)					\
	static void name(void)					\
	{							\
		const struct dm_tier_record rec = __VA_ARGS__;	\
								\
		commit_record(&rec);				\
	}
COMMIT(owner_same_device, SLOT(.device = 0, .slot = 2, .generation = 9, .extent = 6, .full = true))
COMMIT(owner_other_device, SLOT(.device = 2, .slot = 4, .generation = 2, .extent = 99, .full = true))
COMMIT(slot_beyond, SLOT(.device = 2, .slot = 5, .generation = 9, .extent = 5, .full = true))
COMMIT(slot_far_beyond, SLOT(.device = 0, .slot = 5000, .generation = 9, .extent = 5))
COMMIT(quarantine_beyond, SLOT(.device = 1, .slot = 4, .quarantine = true))
COMMIT(slot_no_device, SLOT(.device = 33, .slot = 0, .generation = 9, .extent = 5))
COMMIT(device_shrunk, DEVICE(.idx = 2, .tier = 2, .slots = 1, .state = DM_TIER_DEV_ONLINE,
			     .uuid = { 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2,
				       0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2 }))
COMMIT(region_beyond, SLOT(.device = 2, .slot = 4, .generation = 9, .extent = 5,
			   .valid = { 0, 1 }))
COMMIT(generation_again, VOLUME(.id = 77, .extents = 1, .generation = 9))
COMMIT(generation_future, VOLUME(.id = 77, .extents = 1, .generation = 10))
COMMIT(slot_of_the_future, SLOT(.device = 2, .slot = 4, .generation = 10, .extent = 5))
COMMIT(pool_steps_back, POOL(.next_generation = 3))
COMMIT(volume_uuid_again, VOLUME(.id = 77, .extents = 1, .generation = 5,
				 .uuid = "uuid of a volume"))
COMMIT(device_uuid_again, DEVICE(.idx = 7, .slots = 1,
				 .uuid = { 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1,
					   0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1 }))
COMMIT(device_tombstone, { .type = DM_TIER_REC_DEVICE, .tombstone = true, .device = { .idx = 0 } })
COMMIT(device_replaced, DEVICE(.idx = 1, .tier = 1, .slots = 4, .uuid = "another device.."))
COMMIT(device_too_large, DEVICE(.idx = 9, .slots = 1U << 24, .uuid = "a large device.."))
COMMIT(volume_label, VOLUME(.id = 77, .extents = 1, .generation = 5, .label_bytes = 3,
			    .label = "a\0b"))
COMMIT(pool_label, POOL(.next_generation = 10, .label_bytes = 3, .label = "a\0b"))
static void pool_tombstone(void)
{
	pool_steps_back();
	forge(log_of(8), RECORDS_AT + 1, DM_TIER_REC_TOMBSTONE);
}
static void slot_tombstone_with_bits(void)
{
	commit_record(&(struct dm_tier_record)SLOT(.device = 2, .slot = 4, .generation = 9,
						   .extent = 5, .valid = { 1 }));
	forge(log_of(8), RECORDS_AT + 1, DM_TIER_REC_TOMBSTONE);
}

static const struct damage {
	const char *name;
	void (*plant)(void);
	enum tier_finding_kind kind;
	bool is_note;
} damages[] = {
#define D(plant, kind)	{ #plant, plant, TIER_FOUND_##kind, false }
#define N(plant, kind)	{ #plant, plant, TIER_FOUND_##kind, true }
	D(super_flip_newest, SUPER), D(super_flip_older, SUPER), D(super_flip_end, SUPER),
	D(super_zero, SUPER), D(super_torn, SUPER), D(super_unreadable, UNREADABLE),
	D(super_senseless, SUPER), D(super_low_seq, SUPER), D(super_both, NO_SUPER),
	D(super_swapped, NO_SUPER), D(super_copied, SUPER),
	D(super_uuid, SUPERS_DIFFER), D(super_log, SUPERS_DIFFER), D(super_extent, SUPERS_DIFFER),
	D(super_same_version, SUPERS_DIFFER), D(super_newer, SUPERS_DIFFER),
	D(super_high_seq, HOLE), D(super_ref_crc, HOLE), D(super_ref_position, HOLE),
	D(super_ref_seq, HOLE), D(super_ref_blocks, CHECKPOINT), D(device_too_small, SIZE),

	D(ckpt_flip_first, CHECKPOINT), D(ckpt_flip_last, CHECKPOINT), D(ckpt_flip_crc, CHECKPOINT),
	D(ckpt_zero, CHECKPOINT), D(ckpt_torn, CHECKPOINT), D(ckpt_swapped, CHECKPOINT),
	D(ckpt_older_block, CHECKPOINT), D(ckpt_uuid, CHECKPOINT), D(ckpt_bad_length, CHECKPOINT),
	D(ckpt_unreadable, UNREADABLE), D(ckpt_bad_type, RECORD), D(ckpt_bad_flags, RECORD),
	D(ckpt_tombstone, RECORD), D(ckpt_record_twice, RECORD), D(ckpt_volume_twice, RECORD),
	D(ckpt_region_beyond, RECORD), D(ckpt_without_pool, NO_POOL),
	N(old_ckpt_flip, OLD_CHECKPOINT), N(old_log_flip, OLD_CHECKPOINT),
	D(old_ckpt_unreadable, UNREADABLE),

	D(log_flip_first, HOLE), D(log_flip_middle, HOLE), D(log_flip_head, HOLE),
	D(log_missing, HOLE), D(log_missing_part, HOLE), D(log_torn, HOLE), D(log_swapped, HOLE),
	D(log_swapped_commits, HOLE), D(log_older_block, HOLE), D(log_uuid, HOLE),
	D(log_chain, HOLE), D(log_stale_incarnation, HOLE), D(log_stale_after_activation, HOLE),
	D(log_no_activate, HOLE), D(log_number_again, HOLE), D(log_number_jumps, HOLE),
	D(log_unreadable, UNREADABLE), D(log_unreadable_unused, UNREADABLE),
	D(log_bad_type, RECORD), D(log_bad_flags, RECORD), D(log_bad_words, RECORD),
	D(tail_swapped, TAIL), D(tail_moved, TAIL), D(tail_chain, TAIL), D(tail_durable, HOLE),
	N(tail_lost_first, TORN), N(tail_lost_last, TORN),

	D(owner_same_device, OWNERS), D(owner_other_device, OWNERS), D(slot_beyond, SLOT_RANGE),
	D(slot_far_beyond, SLOT_RANGE), D(quarantine_beyond, SLOT_RANGE),
	D(device_shrunk, SLOT_RANGE), D(slot_no_device, NO_DEVICE), D(region_beyond, RECORD),
	D(generation_again, GENERATION), D(generation_future, GENERATION),
	D(slot_of_the_future, GENERATION), D(pool_steps_back, GENERATION),
	D(volume_uuid_again, UUID), D(device_uuid_again, UUID), D(device_tombstone, DROPPED),
	D(device_replaced, DROPPED), D(device_too_large, AREA), D(volume_label, RECORD),
	D(pool_label, RECORD), D(pool_tombstone, RECORD), D(slot_tombstone_with_bits, RECORD),
#undef D
#undef N
};

/* Looking for them -----------------------------------------------------------------*/

static int setup(void **state)
{
	sample_create(&s);
	return 0;
}

static int teardown(void **state)
{
	bad_block = torn_block = U64_MAX;
	changes = 0;
	sample_remove(&s);
	return 0;
}

static void check(struct tier_findings *findings, struct tier_check_facts *facts)
{
	char cause[TIER_CAUSE_SIZE] = "";
	int r = tier_check(s.image.format.metadata.fd, findings, facts, cause);

	if (r)
		fail_msg("tier_check: %s", cause);
}

static void expect(const char *name, enum tier_finding_kind kind, bool is_note)
{
	struct tier_check_facts facts;
	struct tier_findings findings;
	bool found = false;

	check(&findings, &facts);
	for (size_t i = 0; i < findings.nr; i++) {
		print_message("%s: %s: %s\n", name,
			      findings.list[i].is_damage ? "damage" : "note",
			      findings.list[i].text);
		found |= findings.list[i].kind == kind && findings.list[i].is_damage == !is_note;
	}
	if (!found)
		fail_msg("%s was not found", name);
	if (is_note && findings.nr_damages)
		fail_msg("%s is no damage", name);
	tier_findings_clear(&findings);
}

static void expect_clean(const char *name)
{
	struct tier_check_facts facts;
	struct tier_findings findings;

	check(&findings, &facts);
	for (size_t i = 0; i < findings.nr; i++)
		print_message("%s: %s\n", name, findings.list[i].text);
	if (findings.nr)
		fail_msg("%s is no damage", name);
	assert_true(facts.is_pool && facts.is_loaded);
	tier_findings_clear(&findings);
}

static void test_every_damage(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		setup(NULL);
		damages[i].plant();
		expect(damages[i].name, damages[i].kind, damages[i].is_note);
		teardown(NULL);
	}
}

/* One bit of each 32 bytes of everything that counts. */
static void test_every_block(void **state)
{
	u64 blocks[100];
	u32 nr = 0;

	blocks[nr++] = DM_TIER_SUPER_BLOCK_0;
	blocks[nr++] = DM_TIER_SUPER_BLOCK_1;
	for (u64 i = 0; i < s.super.ckpt[0].blocks; i++)
		blocks[nr++] = ckpt(i);
	for (u64 p = s.start[SAMPLE_SEQ + 1]; p < s.start[SAMPLE_LAST]; p++)
		blocks[nr++] = sample_log_block(&s, p);
	for (u32 i = 0; i < nr; i++) {
		for (u32 bit = i % 8; bit < 8 * DM_TIER_BLOCK_BYTES; bit += 8 * 256 + 1) {
			struct tier_check_facts facts;
			struct tier_findings findings;

			flip(blocks[i], bit);
			check(&findings, &facts);
			if (!findings.nr_damages)
				fail_msg("bit %u of block %llu", bit, blocks[i]);
			tier_findings_clear(&findings);
			flip(blocks[i], bit);
		}
	}
	expect_clean("all as it was");
}

static void test_facts(void **state)
{
	struct tier_check_facts facts;
	struct tier_findings findings;

	check(&findings, &facts);
	assert_int_equal(findings.nr, 0);
	assert_string_equal(facts.name, "pool0");
	assert_memory_equal(facts.uuid, s.super.uuid, 16);
	assert_int_equal(facts.commit, SAMPLE_LAST);
	assert_int_equal(facts.nr_devices, 3);
	assert_int_equal(facts.nr_volumes, 2);
	assert_int_equal(facts.slots, 3 + 4 + 5);
	assert_int_equal(facts.owned, 6);
	/* The one of generation 8 went when the checkpoint was written. */
	assert_int_equal(facts.stale, 0);
	tier_findings_clear(&findings);
}

/* No damage -------------------------------------------------------------------------*/

static void test_clean(void **state)
{
	const struct dm_tier_record gone = { .type = DM_TIER_REC_VOLUME, .tombstone = true,
					     .volume = { .id = 3 } };
	const struct dm_tier_record shrunk = VOLUME(.id = 4095, .extents = 1, .generation = 9);

	expect_clean("the sample");
	flip(sample_log_block(&s, 1500), 77);
	flip(sample_ckpt_block(&s, 500), 77);
	flip(2, 77);
	expect_clean("what is in no use");
	commit_record(&gone);
	expect_clean("a deleted volume with slots");
	commit_record(&shrunk);
	expect_clean("a shrunk one");
	sample_checkpoint(&s);
	expect_clean("a checkpoint");
	sample_checkpoint(&s);
	sample_checkpoint(&s);
	expect_clean("... and more");
}

static void test_clean_formatted(void **state)
{
	assert_int_equal(tier_format_pool(&s.image.format, NULL), 0);
	expect_clean("a new pool");
}

/* Around the end of the ring, up to the last block that may be used. */
static void test_clean_wrapped(void **state)
{
	const u64 blocks = s.super.log_blocks;

	for (u64 i = 0; i < 3 * blocks / 200; i++) {
		if (i % 4 == 0)
			sample_checkpoint(&s);
		sample_commit(&s, NULL, 0, 200, 0);
		if (i % 3 == 0)
			expect_clean("a lap");
	}
	sample_checkpoint(&s);
	sample_checkpoint(&s);
	for (u64 i = 0; i < blocks; i += 256)
		sample_commit(&s, NULL, 0, 256, 0);
	/* Nothing is left of what was before: the older checkpoint has the same place. */
	expect_clean("a full ring");
}

/* A crash while a checkpoint is being written: its area, and the log it frees. */
static void test_crash_in_a_checkpoint(void **state)
{
	const struct dm_tier_record rec = POOL(.next_generation = 10);

	dm_tier_block_begin(data);
	assert_true(dm_tier_block_add(data, &rec));
	dm_tier_ckpt_seal(data, s.super.uuid, s.super.ckpt[0].id + 1, 0);
	sample_write(&s, old_ckpt(), data);
	expect("a block of the next checkpoint", TIER_FOUND_OLD_CHECKPOINT, true);
	/* All of it, but no superblock yet. */
	sample_checkpoint(&s);
	super_zero();
	expect("the superblock of the next checkpoint is damaged", TIER_FOUND_SUPER, false);
}

/* Where nothing is, nothing is found. */
static void test_foreign(void **state)
{
	const int fd = s.image.format.metadata.fd;
	struct tier_check_facts facts;
	struct tier_findings findings;
	char cause[TIER_CAUSE_SIZE];

	zero(0);
	zero(DM_TIER_SUPER_BLOCK_1);
	assert_int_equal(tier_check(fd, &findings, &facts, cause), -EBADMSG);
	assert_non_null(strstr(cause, "no metadata"));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(tier_check(fd, &findings, &facts, NULL), 0);
	assert_int_equal(findings.nr_damages, 1);
	assert_false(facts.is_pool);
	tier_findings_clear(&findings);
}

static void newer_format(struct dm_tier_super *super) { super->incompat = 4; }

static void test_newer(void **state)
{
	struct tier_check_facts facts;
	struct tier_findings findings;

	change_super(1, newer_format);
	assert_int_equal(tier_check(s.image.format.metadata.fd, &findings, &facts, NULL),
			 -EPROTONOSUPPORT);
}

/* A pool that writes while we read. */
static void test_live(void **state)
{
	struct tier_check_facts facts;
	struct tier_findings findings;
	char cause[TIER_CAUSE_SIZE];

	torn_block = log_of(5);
	expect_clean("a block that was being written");
	assert_true(torn_block == U64_MAX);
	torn_block = ckpt(0);
	expect_clean("a block that was being written");
	changes = 2;
	expect_clean("a checkpoint meanwhile");
	assert_int_equal(changes, 0);
	changes = 1000;
	assert_int_equal(tier_check(s.image.format.metadata.fd, &findings, &facts, cause), -EAGAIN);
	assert_non_null(strstr(cause, "too fast"));
}

/* More than are kept are counted. */
static void test_many(void **state)
{
	struct tier_check_facts facts;
	struct tier_findings findings;

	for (u32 i = 0; i < 1500; i++) {
		const struct dm_tier_record rec =
			SLOT(.device = 40, .slot = i, .generation = 2, .extent = 10 + i % 80);

		ring_commit(&s.ring, &rec, 1, 1, 0);
	}
	pool_image_write_ring(&s.image, &s.ring);
	check(&findings, &facts);
	assert_int_equal(findings.nr, TIER_MAX_FINDINGS);
	assert_int_equal(findings.nr_damages, 1500 + 1420);
	tier_findings_clear(&findings);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_damage),
		T(test_every_block),
		T(test_facts),
		T(test_clean),
		T(test_clean_formatted),
		T(test_clean_wrapped),
		T(test_crash_in_a_checkpoint),
		T(test_foreign),
		T(test_newer),
		T(test_live),
		T(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
