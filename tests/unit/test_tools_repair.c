// SPDX-License-Identifier: GPL-2.0-only
/*
 * tprepair: of every kind of damage as much is saved as can be known, what is
 * lost or in doubt is said, and what comes out is clean and loads. pread is ours.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/kernel.h>
#include <linux/limits.h>

#include "format_tools.h"
#include "sample.h"

static struct sample s;
static char *sound;			/* the dump of the sample */
static struct tier_findings findings;
static char cause[TIER_CAUSE_SIZE];
static u64 bad_block = U64_MAX;		/* a read here gives EIO */

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
	if (fd == s.image.format.metadata.fd &&
	    bad_block - offset / DM_TIER_BLOCK_BYTES < bytes / DM_TIER_BLOCK_BYTES) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, data, bytes, offset);
}

static int setup(void **state)
{
	sample_create(&s);
	sound = sample_dump(s.image.format.metadata.fd);
	return 0;
}

static int teardown(void **state)
{
	bad_block = U64_MAX;
	free(sound);
	tier_findings_clear(&findings);
	sample_remove(&s);
	return 0;
}

static void zero(u64 block)
{
	const u64 data[DM_TIER_BLOCK_BYTES / 8] = { 0 };

	sample_write(&s, block, data);
}

static u64 ckpt(u64 index) { return sample_ckpt_block(&s, index); }
static u64 old_ckpt(void) { return dm_tier_area_start(&s.super, s.super.ckpt[1].area); }
static u64 log_of(u32 commit) { return sample_log_block(&s, s.start[commit]); }

/* Written to a new device, which is clean and is what the text says. */
static char *write_out(const struct tier_content *content)
{
	struct tier_format_device to = {
		.path = "new", .fd = memfd_create("new", 0), .bytes = POOL_METADATA_BYTES,
	};
	struct tier_check_facts facts;
	struct tier_findings none;
	char *text;

	assert_int_equal(ftruncate(to.fd, to.bytes), 0);
	if (tier_content_write(content, &to, cause))
		fail_msg("%s", cause);
	assert_int_equal(tier_check(to.fd, &none, &facts, cause), 0);
	if (none.nr)
		fail_msg("%s", none.list[0].text);
	tier_findings_clear(&none);
	text = sample_dump(to.fd);
	close(to.fd);
	return text;
}

static char *repair_with(const struct tier_repair_options *options)
{
	struct tier_content *content;
	char *text;

	tier_findings_clear(&findings);
	if (tier_repair(s.image.format.metadata.fd, options, &findings, &content, cause))
		fail_msg("%s", cause);
	for (size_t i = 0; i < findings.nr; i++)
		print_message("  %s\n", findings.list[i].text);
	text = write_out(content);
	tier_content_free(content);
	return text;
}

static char *repair(void)
{
	const struct tier_repair_options none = { 0 };

	return repair_with(&none);
}

static bool says(enum tier_finding_kind kind, const char *words)
{
	for (size_t i = 0; i < findings.nr; i++)
		if (findings.list[i].kind == kind && strstr(findings.list[i].text, words))
			return true;
	return false;
}

#define EXPECT(kind, words)						\
	do {								\
		if (!says(TIER_FOUND_##kind, words))			\
			fail_msg("it does not say %s: %s", #kind, words); \
	} while (0)

/* All is there after all: nothing in doubt. */
static void expect_exact(void)
{
	char *text = repair();

	assert_string_equal(text, sound);
	free(text);
	assert_false(says(TIER_FOUND_DOUBT, ""));
}

static void test_sound(void **state)
{
	expect_exact();
	assert_int_equal(findings.nr_damages, 0);
	EXPECT(USED, "checkpoint 2, which is whole");
	EXPECT(USED, "4 commits of the log, up to commit 7");
}

/* There are two of it, or it is not needed. */
static void test_nothing_lost(void **state)
{
	pool_image_damage(&s.image, 0);
	expect_exact();
	EXPECT(LOST, "the superblock in block 0");
	pool_image_damage(&s.image, 0);
	pool_image_damage(&s.image, DM_TIER_SUPER_BLOCK_1);
	expect_exact();
	pool_image_damage(&s.image, ckpt(1));
	expect_exact();
	EXPECT(USED, "checkpoint 1, which is whole");
	pool_image_damage(&s.image, ckpt(0));
	pool_image_damage(&s.image, ckpt(2));
	expect_exact();
	bad_block = ckpt(0);
	expect_exact();
	EXPECT(UNREADABLE, "cannot be read");
	bad_block = U64_MAX;
	pool_image_damage(&s.image, ckpt(0));
	pool_image_damage(&s.image, ckpt(1));
	pool_image_damage(&s.image, ckpt(2));
	pool_image_damage(&s.image, old_ckpt());
	pool_image_damage(&s.image, log_of(2));
	expect_exact();
	EXPECT(USED, "checkpoint 2, which is whole");
}

/* Blocks in the wrong places are found where they are. */
static void test_misplaced(void **state)
{
	u64 a[DM_TIER_BLOCK_BYTES / 8], b[DM_TIER_BLOCK_BYTES / 8];

	sample_read(&s, log_of(5), a);
	sample_read(&s, log_of(5) + 1, b);
	sample_write(&s, log_of(5), b);
	sample_write(&s, log_of(5) + 1, a);
	sample_read(&s, log_of(4), a);
	sample_write(&s, log_of(4) + 1000, a);
	zero(log_of(4));
	expect_exact();
}

static void test_torn_tail(void **state)
{
	const struct dm_tier_record rec = SLOT(.device = 2, .slot = 4, .generation = 9,
					       .extent = 5, .full = true);

	sample_commit(&s, &rec, 1, 2, 0);
	zero(log_of(8) + 1);
	expect_exact();
	EXPECT(TORN, "commit 8");
	assert_int_equal(findings.nr_damages, 0);
}

/* Commit 4 is a move: without it the extent stays where it was, which is in doubt. */
static void test_hole(void **state)
{
	char *text;

	pool_image_damage(&s.image, log_of(4));
	text = repair();
	EXPECT(LOST, "commit 4");
	EXPECT(DOUBT, "what the lost commits changed is not known");
	EXPECT(DOUBT, "volume 4095 (big): extents not logged since: 0-1,6");
	EXPECT(DOUBT, "volume 3 (some): extents not logged since: 7,99");
	EXPECT(USED, "3 commits of the log, up to commit 7");
	assert_non_null(strstr(text, "slot device=1 slot=3 generation=9 extent=0 valid=0,2,5,7,15\n"));
	assert_null(strstr(text, "slot device=0 slot=1"));
	/* What is beyond the hole is there. */
	assert_non_null(strstr(text, "slot device=2 slot=2 generation=9 extent=8 valid=0\n"));
	assert_non_null(strstr(text, "state=draining"));
	free(text);
}

/* The blocks that are left of a durable commit count. */
static void test_half_a_commit(void **state)
{
	char *text;

	zero(log_of(5) + 1);
	text = repair();
	EXPECT(LOST, "of commit 5 all but 1 of 2 blocks");
	EXPECT(DOUBT, "volume 4095 (big): extents not logged since: 0-1,6");
	assert_false(says(TIER_FOUND_DOUBT, ",8"));
	assert_string_equal(text, sound);
	free(text);
}

static void commit(struct dm_tier_record rec)
{
	sample_commit(&s, &rec, 1, 1, 0);
}

/* The move's destination is lost, its source was given away since. */
static void test_moved_away(void **state)
{
	char *text;

	commit((struct dm_tier_record)SLOT(.device = 1, .slot = 3, .generation = 2, .extent = 50));
	pool_image_damage(&s.image, log_of(4));
	text = repair();
	EXPECT(DOUBT, "extent 0 of volume 4095 (big) has no slot any more since commit 8");
	assert_non_null(strstr(text, "slot device=1 slot=3 generation=2 extent=50 valid=-\n"));
	free(text);
}

/* The destination is logged, that the source is free is lost: the newer one is right. */
static void test_two_owners_decided(void **state)
{
	char *text;

	pool_image_damage(&s.image, log_of(4));
	commit((struct dm_tier_record)SLOT(.device = 2, .slot = 4, .generation = 9, .extent = 0,
					   .full = true));
	text = repair();
	EXPECT(MENDED, "extent 0 of volume 4095 (big) is in slot 4 of device 2 (commit 8), no more in slot 3 of device 1");
	assert_non_null(strstr(text, "slot device=2 slot=4 generation=9 extent=0 valid=full\n"));
	assert_null(strstr(text, "slot device=1 slot=3"));
	free(text);
}

static void test_two_owners_undecided(void **state)
{
	const struct dm_tier_record recs[] = {
		SLOT(.device = 0, .slot = 2, .generation = 9, .extent = 5, .full = true),
		SLOT(.device = 2, .slot = 4, .generation = 9, .extent = 5, .full = true),
	};
	char *text;

	sample_commit(&s, recs, 2, 1, 0);
	text = repair();
	EXPECT(DOUBT, "extent 5 of volume 4095 (big) is taken from slot 2 of device 0; slot 4 of device 2 may have it too and is in quarantine");
	assert_non_null(strstr(text, "slot device=0 slot=2 generation=9 extent=5 valid=full\n"));
	assert_non_null(strstr(text, "slot device=2 slot=4 quarantine\n"));
	free(text);
}

/* A record that shows what a lost one said. */
static void test_made_up(void **state)
{
	char *text;

	pool_image_damage(&s.image, log_of(4));
	/* A new volume, a larger one, a larger device: their records were in commit 4. */
	commit((struct dm_tier_record)SLOT(.device = 0, .slot = 2, .generation = 12, .extent = 4));
	commit((struct dm_tier_record)SLOT(.device = 2, .slot = 4, .generation = 2, .extent = 200));
	commit((struct dm_tier_record)SLOT(.device = 1, .slot = 7, .generation = 2, .extent = 98));
	text = repair();
	EXPECT(MENDED, "volume 0 (recovered-12), at least 5 extents");
	EXPECT(MENDED, "volume 3 (some) has at least 201 extents, not 100");
	EXPECT(MENDED, "device 1 has at least 8 slots, not 4");
	EXPECT(MENDED, "next generation of a volume is 13, not 10");
	assert_non_null(strstr(text, "label=name=recovered-12\n"));
	assert_non_null(strstr(text, "slot device=0 slot=2 generation=12 extent=4 valid=-\n"));
	assert_non_null(strstr(text, "slot device=1 slot=7 generation=2 extent=98 valid=-\n"));
	free(text);
}

/* Without a gap such a record is wrong, and nothing is made up. */
static void test_not_made_up(void **state)
{
	char *text;

	commit((struct dm_tier_record)SLOT(.device = 0, .slot = 2, .generation = 8, .extent = 4));
	commit((struct dm_tier_record)SLOT(.device = 2, .slot = 4, .generation = 2, .extent = 200));
	commit((struct dm_tier_record)SLOT(.device = 1, .slot = 7, .generation = 2, .extent = 98));
	commit((struct dm_tier_record){ .type = DM_TIER_REC_DEVICE, .tombstone = true,
					.device = { .idx = 0 } });
	text = repair();
	EXPECT(LOST, "extent 98 of the volume of generation 2: its slot 7 of device 1 is not there");
	EXPECT(MENDED, "commit 11 says that device 0 is gone, but it is in use");
	assert_string_equal(text, sound);
	free(text);
}

static void test_twins(void **state)
{
	char *text;

	commit((struct dm_tier_record)VOLUME(.id = 77, .extents = 1, .generation = 5,
					     .uuid = "uuid of a volume"));
	commit((struct dm_tier_record)VOLUME(.id = 78, .extents = 8, .generation = 2));
	commit((struct dm_tier_record)DEVICE(.idx = 7, .slots = 1, .uuid = {
		0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1, 0xd1,
		0xd1, 0xd1, 0xd1 }));
	text = repair();
	EXPECT(MENDED, "volume 4095 has a new UUID: it had that of volume 77");
	EXPECT(LOST, "volume 3, which has the generation of volume 78, and that one is newer");
	EXPECT(LOST, "device 7, which has the UUID of device 1");
	assert_non_null(strstr(text, "slot device=2 slot=1 generation=2 extent=7"));
	assert_null(strstr(text, "extent=99"));
	free(text);
}

static void test_malformed(void **state)
{
	u64 data[DM_TIER_BLOCK_BYTES / 8];
	char *text;

	/* The second record of commit 4: that the move's source is free. */
	sample_read(&s, log_of(4), data);
	((u8 *)data)[DM_TIER_BLOCK_HEAD_BYTES + 32] = 99;
	block_fix_crc(data, DM_TIER_BLOCK_BYTES);
	sample_write(&s, log_of(4), data);
	commit((struct dm_tier_record)SLOT(.device = 2, .slot = 4, .generation = 9, .extent = 5,
					   .valid = { [15] = 1 }));
	text = repair();
	EXPECT(LOST, "what follows a record in block");
	EXPECT(LOST, "a record in block");
	EXPECT(MENDED, "extent 0 of volume 4095 (big) is in slot 1 of device 0 (commit 4)");
	assert_string_equal(text, sound);
	free(text);
}

/* No checkpoint is whole ---------------------------------------------------------------*/

static struct tier_repair_device given(u32 idx)
{
	struct tier_repair_device device = {
		.idx = idx, .tier = idx, .bytes = s.image.data[idx].bytes,
		.logical_block_bytes = 512,
	};

	memcpy(device.pool_uuid, s.super.uuid, 16);
	memcpy(device.uuid, s.image.data[idx].uuid, 16);
	return device;
}

static void cut_line(char *text, const char *begin)
{
	char *at = strstr(text, begin), *next;

	if (!at)
		fail_msg("there is no line %s", begin);
	next = strchr(at, '\n') + 1;
	memmove(at, next, strlen(next) + 1);
}

static void test_no_checkpoint(void **state)
{
	struct tier_repair_device devices[] = { given(0), given(1), given(2), given(1) };
	const struct tier_repair_options options = { .devices = devices, .nr_devices = 4 };
	char *text;

	/* The older one had the records of the devices, of which commit 5 has one again. */
	zero(old_ckpt());
	zero(ckpt(0));
	devices[3].uuid[0] ^= 1;
	text = repair();
	EXPECT(LOST, "no checkpoint is whole");
	EXPECT(USED, "checkpoint 2, of which 1 of 3 blocks are not valid");
	EXPECT(LOST, "2 extents on device 0, whose record is lost: give the device with --tier");
	assert_null(strstr(text, "device idx=0"));
	assert_non_null(strstr(text, "slot device=2 slot=2 generation=9"));
	free(text);

	text = repair_with(&options);
	EXPECT(MENDED, "device 0 has a record again: tier 0, 3 slots");
	EXPECT(DOUBT, "but the pool has another one there");
	assert_false(says(TIER_FOUND_LOST, "whose record is lost"));
	/* It can't be known that there was no volume 8 any more: that is all. */
	cut_line(text, "volume id=0 ");
	cut_line(text, "slot device=1 slot=2 generation=8");
	assert_string_equal(text, sound);
	free(text);
	devices[0].pool_uuid[0] ^= 1;
	text = repair_with(&options);
	EXPECT(DOUBT, "that was given is of another pool");
	free(text);
}

/* Only the log, which has no record of the pool or the devices any more. */
static void test_log_only(void **state)
{
	struct tier_repair_device devices[] = { given(0), given(1), given(2) };
	const struct tier_repair_options options = { .devices = devices, .nr_devices = 3 };
	char *text;

	for (u32 i = 0; i < 3; i++)
		zero(ckpt(i));
	zero(old_ckpt());
	pool_image_damage(&s.image, log_of(2));
	text = repair_with(&options);
	EXPECT(LOST, "commit 2");
	EXPECT(LOST, "the pool's own record");
	EXPECT(MENDED, "volume 0 (recovered-2), at least 100 extents");
	assert_non_null(strstr(text, "slot device=1 slot=0 generation=2 extent=99 valid=full\n"));
	assert_non_null(strstr(text, "slot device=0 slot=1 generation=9 extent=0 valid=0,2,5,7,15\n"));
	assert_non_null(strstr(text, "next_generation=10 label=-\n"));
	free(text);
}

/* The log of another life of the pool: a lost activation and what it had overwritten. */
static void test_lost_activation(void **state)
{
	const struct dm_tier_record dead =
		SLOT(.device = 0, .slot = 2, .generation = 9, .extent = 5, .full = true);
	u64 block[DM_TIER_BLOCK_BYTES / 8];
	const struct dm_tier_log_head head = {
		.incarnation = s.ring.incarnation - 1, .commit = 6, .index = 1, .count = 2,
	};
	char *text;

	/* The second block of a commit 6 that crashed; commit 6 of the next life is lost. */
	dm_tier_block_begin(block);
	assert_true(dm_tier_block_add(block, &dead));
	dm_tier_log_seal(block, s.super.uuid, &head);
	sample_write(&s, log_of(6) + 100, block);
	text = repair();
	assert_string_equal(text, sound);
	free(text);
	pool_image_damage(&s.image, log_of(6));
	text = repair();
	EXPECT(LOST, "commit 6");
	assert_string_equal(text, sound);
	free(text);
}

/* Superblocks ---------------------------------------------------------------------------*/

static void test_no_superblock(void **state)
{
	struct tier_repair_device devices[] = { given(0) };
	struct tier_repair_options options = {
		.extent_sectors = POOL_EXTENT_SECTORS, .region_sectors = POOL_REGION_SECTORS,
		.devices = devices, .nr_devices = 1,
	};
	struct tier_content *content = NULL;
	u64 block[DM_TIER_BLOCK_BYTES / 8];
	char *text, *at;

	/* As mkfs would leave it. */
	for (u64 i = 0; i < DM_TIER_AREA_BLOCK; i++)
		zero(i);
	assert_int_equal(tier_repair(s.image.format.metadata.fd, &(struct tier_repair_options){ 0 },
				     &findings, &content, cause), -EINVAL);
	assert_non_null(strstr(cause, "both superblocks of pool 706f6f6c-206f-6620"));
	text = repair_with(&options);
	EXPECT(LOST, "both superblocks");
	EXPECT(USED, "checkpoint 2, which is whole");
	assert_false(says(TIER_FOUND_DOUBT, ""));
	/* All but the host that it was of. */
	at = strstr(sound, "system_id=");
	assert_non_null(at);
	memcpy(at, "system_id=00000000-0000-0000-0000-000000000000", 46);
	assert_string_equal(text, sound);
	free(text);

	options.extent_sectors = 12345;
	assert_int_equal(tier_repair(s.image.format.metadata.fd, &options, &findings, &content,
				     cause), -EINVAL);
	options.extent_sectors = POOL_EXTENT_SECTORS;
	/* A checkpoint of which the end is not there can't be told from an unfinished one. */
	zero(ckpt(2));
	text = repair_with(&options);
	assert_string_equal(text, sound);
	free(text);
	/* Another pool's block or two do not matter. */
	dm_tier_block_begin(block);
	dm_tier_ckpt_seal(block, (const u8 *)"another pool....", 3, 0);
	sample_write(&s, 700, block);
	text = repair_with(&options);
	assert_string_equal(text, sound);
	free(text);
}

static void test_nothing_left(void **state)
{
	const struct tier_repair_options options = { .extent_sectors = 2048 };
	struct tier_content *content = NULL;

	assert_int_equal(ftruncate(s.image.format.metadata.fd, 0), 0);
	assert_int_equal(tier_repair(s.image.format.metadata.fd, &options, &findings, &content,
				     cause), -EBADMSG);
	assert_int_equal(ftruncate(s.image.format.metadata.fd, POOL_METADATA_BYTES), 0);
	assert_int_equal(tier_repair(s.image.format.metadata.fd, &options, &findings, &content,
				     cause), -EBADMSG);
	assert_non_null(strstr(cause, "no superblock, checkpoint or log"));
	assert_null(content);
}

static void test_newer(void **state)
{
	const struct tier_repair_options options = { 0 };
	struct dm_tier_super super = s.super;
	struct tier_content *content = NULL;

	super.incompat = 1;
	pool_image_write_super(&s.image, 1, &super);
	assert_int_equal(tier_repair(s.image.format.metadata.fd, &options, &findings, &content,
				     cause), -EPROTONOSUPPORT);
}

/* A device that was cut off: what is left of the log. */
static void test_cut_device(void **state)
{
	char *text;

	assert_int_equal(ftruncate(s.image.format.metadata.fd,
				   log_of(6) * DM_TIER_BLOCK_BYTES), 0);
	text = repair();
	EXPECT(USED, "up to commit 5");
	assert_string_equal(text, sound);
	free(text);
}

/* The two tools agree: what one calls clean the other saves whole. */
static void test_agrees_with_check(void **state)
{
	struct rng rng = { 99 };

	for (u32 i = 0; i < 60; i++) {
		struct tier_check_facts facts;
		struct tier_findings found;
		u64 data[DM_TIER_BLOCK_BYTES / 8];
		const u32 what = rng_below(&rng, 3);
		const u64 block = what == 0 ? ckpt(rng_below(&rng, 3)) :
				  what == 1 ? log_of(1) + rng_below(&rng, 12) : old_ckpt();
		const u32 at = rng_below(&rng, DM_TIER_BLOCK_BYTES);
		char *text;

		sample_read(&s, block, data);
		((u8 *)data)[at] ^= 1 << rng_below(&rng, 8);
		sample_write(&s, block, data);
		assert_int_equal(tier_check(s.image.format.metadata.fd, &found, &facts, cause), 0);
		text = repair();
		if (!found.nr_damages)
			assert_string_equal(text, sound);
		tier_findings_clear(&found);
		free(text);
		teardown(NULL);
		setup(NULL);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_sound),
		T(test_nothing_lost),
		T(test_misplaced),
		T(test_torn_tail),
		T(test_hole),
		T(test_half_a_commit),
		T(test_moved_away),
		T(test_two_owners_decided),
		T(test_two_owners_undecided),
		T(test_made_up),
		T(test_not_made_up),
		T(test_twins),
		T(test_malformed),
		T(test_no_checkpoint),
		T(test_log_only),
		T(test_lost_activation),
		T(test_no_superblock),
		T(test_nothing_left),
		T(test_newer),
		T(test_cut_device),
		T(test_agrees_with_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
