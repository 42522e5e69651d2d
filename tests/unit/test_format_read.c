// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading a pool's metadata offline: what the kernel left in checkpoint and log,
 * damage of every kind, and a pool that goes on writing meanwhile. pread is ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/kernel.h>
#include <linux/limits.h>

#include "pool_image.h"
#include "util.h"

static struct pool_image image;
static struct ring ring;
static char cause[TIER_CAUSE_SIZE];

static u64 bad_offset = U64_MAX;	/* a read here gives EIO */
static u32 short_reads;			/* give at most so many bytes at once */
static u32 interrupts;			/* so many reads are interrupted first */
static u32 live_changes;		/* so often is a checkpoint written while we read */
static u64 torn_offset = U64_MAX;	/* this block is being written when it is first read */

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
	ssize_t result;

	if (bad_offset - offset < bytes) {
		errno = EIO;
		return -1;
	}
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	if (short_reads && bytes > short_reads)
		bytes = short_reads;
	/* The whole ring at once: between the superblock and the look whether it changed. */
	if (bytes >= POOL_LOG_BYTES && live_changes) {
		struct dm_tier_super super = pool_image_super(&image, 1);

		live_changes--;
		super.version++;
		pool_image_write_super(&image, 1, &super);
	}
	result = syscall(SYS_pread64, fd, data, bytes, offset);
	if (torn_offset - offset < bytes && result == (ssize_t)bytes) {
		((u8 *)data)[torn_offset - offset] ^= 1;
		torn_offset = U64_MAX;
	}
	return result;
}

static int setup(void **state)
{
	pool_image_create(&image);
	assert_int_equal(tier_format_pool(&image.format, cause), 0);
	pool_image_read_ring(&image, &ring);
	return 0;
}

static int teardown(void **state)
{
	bad_offset = torn_offset = U64_MAX;
	short_reads = interrupts = live_changes = 0;
	ring_clear(&ring);
	pool_image_remove(&image);
	return 0;
}

static void commit(const struct dm_tier_record *records, size_t nr_records)
{
	ring_commit(&ring, records, nr_records, 1, 0);
	pool_image_write_ring(&image, &ring);
}

#define SLOT(...) { .type = DM_TIER_REC_SLOT, .slot = { __VA_ARGS__ } }

/* Two volumes over the three devices. */
static void write_some(void)
{
	const struct dm_tier_record records[] = {
		{ .type = DM_TIER_REC_POOL, .pool = { .next_generation = 10, .label_bytes = 22,
						      .label = "policy=auto;name=other" } },
		{ .type = DM_TIER_REC_VOLUME,
		  .volume = { .id = 4095, .extents = 7, .generation = 9, .uuid = "uuid of a volume",
			      .label_bytes = 8, .label = "name=big" } },
		{ .type = DM_TIER_REC_VOLUME,
		  .volume = { .id = 3, .extents = 100, .generation = 2, .tiers = 2,
			      .placement = { 2, 0 } } },
		SLOT(.device = 0, .slot = 0, .generation = 9, .extent = 6, .full = true),
		SLOT(.device = 1, .slot = 3, .generation = 9, .extent = 0, .valid = { 5 }),
		SLOT(.device = 1, .slot = 0, .generation = 2, .extent = 99, .full = true),
		SLOT(.device = 1, .slot = 1, .quarantine = true),
		SLOT(.device = 1, .slot = 2, .generation = 8, .extent = 99, .full = true),
		{ .type = DM_TIER_REC_DEVICE,
		  .device = { .idx = 2, .tier = 2, .slots = 5, .state = DM_TIER_DEV_DRAINING } },
		{ .type = DM_TIER_REC_DEVICE,
		  .device = { .idx = 5, .tier = 2, .slots = 5, .state = DM_TIER_DEV_NEW } },
		{ .type = DM_TIER_REC_DEVICE,
		  .device = { .idx = 6, .tier = 2, .slots = 5, .state = DM_TIER_DEV_LOST } },
	};

	commit(records, ARRAY_SIZE(records));
}

static struct tier_meta *read_meta(void)
{
	struct tier_meta *meta;

	cause[0] = '\0';
	assert_int_equal(tier_meta_read(image.format.metadata.fd, &meta, cause), 0);
	assert_string_equal(cause, "");
	return meta;
}

static void expect_error(int error, const char *word)
{
	struct tier_meta *meta = NULL;

	assert_int_equal(tier_meta_read(image.format.metadata.fd, &meta, cause), error);
	assert_non_null(strstr(cause, word));
	assert_null(meta);
}

static void expect_facts(u64 seq, const char *damage)
{
	struct tier_meta *meta = read_meta();
	struct tier_meta_facts facts;
	struct tier_pool_info info;

	tier_meta_facts(meta, &facts);
	assert_int_equal(facts.commit, seq);
	assert_int_equal(facts.needs_check, *damage != 0);
	assert_non_null(strstr(facts.damage, damage));
	assert_int_equal(tier_meta_pool_info(meta, &info), 0);
	assert_int_equal(info.needs_check, *damage != 0);
	tier_pool_info_clear(&info);
	tier_meta_free(meta);
}

static void test_pool_info(void **state)
{
	struct tier_pool_info info;
	struct tier_meta *meta;

	write_some();
	meta = read_meta();
	assert_int_equal(meta->nr_stale, 1);
	assert_int_equal(tier_meta_pool_info(meta, &info), 0);
	assert_string_equal(info.name, "other");
	assert_int_equal(info.nr_devices, 5);
	assert_int_equal(info.devices[0].used_slots, 1);
	assert_int_equal(info.devices[1].used_slots, 2);
	assert_int_equal(info.devices[1].quarantined_slots, 1);
	assert_int_equal(tier_device_free_slots(&info.devices[1]), 1);
	assert_int_equal(info.devices[2].state, TIER_DEVICE_DRAINING);
	assert_int_equal(info.devices[3].idx, 5);
	assert_int_equal(info.devices[3].state, TIER_DEVICE_NEW);
	assert_int_equal(info.devices[4].state, TIER_DEVICE_LOST);

	assert_int_equal(info.nr_volumes, 2);
	assert_int_equal(info.volumes[0].id, 3);
	assert_int_equal(info.volumes[0].generation, 2);
	assert_int_equal(info.volumes[0].sectors, 100 * POOL_EXTENT_SECTORS);
	assert_int_equal(info.volumes[0].allocated_extents, 1);
	assert_false(info.volumes[0].placement.is_auto);
	assert_int_equal(info.volumes[0].placement.nr_tiers, 2);
	assert_int_equal(info.volumes[0].placement.tiers[0], 2);
	assert_string_equal(info.volumes[0].label, "");
	assert_int_equal(info.volumes[1].id, 4095);
	assert_int_equal(info.volumes[1].allocated_extents, 2);
	assert_true(info.volumes[1].placement.is_auto);
	assert_string_equal(info.volumes[1].label, "name=big");
	assert_string_equal(info.volumes[1].uuid, "75756964-206f-6620-6120-766f6c756d65");
	tier_pool_info_clear(&info);
	tier_meta_free(meta);
	tier_meta_free(NULL);
}

/* A name that is none, or that its device cannot have: the uuid is one. */
static void test_pool_without_a_name(void **state)
{
	static const char *const labels[] = { "", "name=control", "name=../x", "name=", "note=x" };

	for (size_t i = 0; i < TIER_NR(labels); i++) {
		struct dm_tier_record rec = { .type = DM_TIER_REC_POOL };
		struct tier_pool_info info;
		struct tier_meta *meta;

		rec.pool.label_bytes = strlen(labels[i]);
		memcpy(rec.pool.label, labels[i], rec.pool.label_bytes);
		commit(&rec, 1);
		meta = read_meta();
		assert_int_equal(tier_meta_pool_info(meta, &info), 0);
		assert_string_equal(info.name, info.uuid);
		assert_int_equal(strlen(info.name), TIER_UUID_SIZE - 1);
		tier_pool_info_clear(&info);
		tier_meta_free(meta);
	}
}

static void test_odd_reads(void **state)
{
	write_some();
	short_reads = 3000;
	interrupts = 5;
	expect_facts(2, "");
}

static void test_hole_in_the_log(void **state)
{
	const struct dm_tier_super super = pool_image_super(&image, 0);

	write_some();
	write_some();
	write_some();
	/* The last one is a torn tail, one before it is damage. */
	pool_image_damage(&image, dm_tier_log_start(&super) + 3);
	expect_facts(3, "");
	pool_image_damage(&image, dm_tier_log_start(&super) + 3);
	pool_image_damage(&image, dm_tier_log_start(&super) + 2);
	expect_facts(2, "commit 3 is missing");
	/* Commit 1 was there when the pool was made. */
	pool_image_damage(&image, dm_tier_log_start(&super));
	expect_facts(0, "commit 1 is missing");
}

static void test_faults(void **state)
{
	const struct dm_tier_record owners[] = {
		SLOT(.device = 2, .slot = 4, .generation = 9, .extent = 6, .full = true),
		SLOT(.device = 2, .slot = 4),
	};
	const struct dm_tier_record range[] = {
		SLOT(.device = 2, .slot = 5, .generation = 9, .extent = 1, .full = true),
		SLOT(.device = 2, .slot = 5),
	};
	const struct dm_tier_record device[] = {
		SLOT(.device = 33, .slot = 5, .generation = 9, .extent = 1, .full = true),
		SLOT(.device = 33, .slot = 5),
	};
	const struct dm_tier_record generation[] = {
		{ .type = DM_TIER_REC_VOLUME, .volume = { .id = 77, .generation = 9 } },
	};

	write_some();
	commit(owners, 1);
	expect_facts(3, "slot 4 of device 2 and another");
	commit(owners + 1, 1);
	expect_facts(4, "");
	commit(range, 1);
	expect_facts(5, "slot 5 in use lies beyond");
	commit(device, 1);
	/* Two at once: the first by device, and a word that there are more. */
	expect_facts(6, "beyond the end of device 2 (and more faults)");
	commit(range + 1, 1);
	expect_facts(7, "is of device 33, which there is not");
	commit(device + 1, 1);
	commit(generation, 1);
	expect_facts(9, "the generation of volume");
}

/* A second checkpoint, in area 1, as of now: 1500 blocks, more than are read at once. */
static void write_checkpoint(struct dm_tier_super *super)
{
	u64 block[DM_TIER_BLOCK_BYTES / 8];
	struct dm_tier_record rec = { .type = DM_TIER_REC_POOL, .pool = { .next_generation = 50 } };

	super->ckpt[1] = super->ckpt[0];
	super->ckpt[0] = (struct dm_tier_ckpt_ref){
		.id = 2, .area = 1, .blocks = 1500,
		.seq = ring.commit, .position = ring.position, .prev_crc = ring.crc,
	};
	for (u32 i = 0; i < 1500; i++) {
		dm_tier_block_begin(block);
		if (i == 1499)
			assert_true(dm_tier_block_add(block, &rec));
		dm_tier_ckpt_seal(block, super->uuid, 2, i);
		assert_int_equal(tier_format_write_blocks(image.format.metadata.fd,
							  dm_tier_area_start(super, 1) + i, 1,
							  block), 0);
	}
	super->version++;
	pool_image_write_super(&image, 0, super);
}

static void test_two_checkpoints(void **state)
{
	struct dm_tier_super super;
	struct tier_meta *meta;

	/* A larger device. */
	image.format.metadata.bytes = 40U << 20;
	assert_int_equal(ftruncate(image.format.metadata.fd, image.format.metadata.bytes), 0);
	assert_int_equal(tier_format_pool(&image.format, cause), 0);
	ring_clear(&ring);
	pool_image_read_ring(&image, &ring);
	super = pool_image_super(&image, 1);
	write_some();
	write_checkpoint(&super);

	meta = read_meta();
	assert_int_equal(meta->ckpt, 0);
	assert_int_equal(meta->super.place, 0);
	assert_int_equal(meta->image->next_generation, 50);
	assert_int_equal(meta->end.commit, 2);
	tier_meta_free(meta);

	/* The older one is not what is told when the newest could not be read just once. */
	torn_offset = dm_tier_area_start(&super, 1) * DM_TIER_BLOCK_BYTES;
	meta = read_meta();
	assert_true(torn_offset == U64_MAX);
	assert_int_equal(meta->ckpt, 0);
	tier_meta_free(meta);

	/* The newest superblock gone: the other one still knows the older checkpoint. */
	pool_image_damage(&image, 0);
	meta = read_meta();
	assert_int_equal(meta->super.place, 1);
	assert_int_equal(meta->image->next_generation, 10);
	tier_meta_free(meta);
	pool_image_damage(&image, 0);

	/* The last block of the newest checkpoint gone: the older one and its log. */
	pool_image_damage(&image, dm_tier_area_start(&super, 1) + 1499);
	meta = read_meta();
	assert_int_equal(meta->ckpt, 1);
	assert_int_equal(meta->image->next_generation, 10);
	assert_false(meta->end.damaged);
	tier_meta_free(meta);

	/* ... which may have been overwritten: then a later commit betrays it. */
	pool_image_damage(&image, dm_tier_log_start(&super));
	expect_facts(0, "commit 1 is missing");
	pool_image_damage(&image, dm_tier_area_start(&super, 0));
	expect_error(-EUCLEAN, "neither checkpoint");
}

static void test_one_checkpoint_bad(void **state)
{
	const struct dm_tier_super super = pool_image_super(&image, 0);

	pool_image_damage(&image, dm_tier_area_start(&super, 0));
	expect_error(-EUCLEAN, "neither checkpoint");
}

/* A record that cannot be, though all crcs are right: no state at all. */
static void test_malformed_record(void **state)
{
	struct dm_tier_record rec = SLOT(.generation = 1, .valid = { [15] = 1 });

	/* An extent has 16 regions here. */
	commit(&rec, 1);
	expect_error(-EUCLEAN, "neither checkpoint");
}

static void test_superblocks(void **state)
{
	struct dm_tier_super super = pool_image_super(&image, 0);
	struct tier_format_identity identity;

	/* Unreadable is not the same as wrong: it might have been the newer one. */
	bad_offset = 1U << 20;
	expect_facts(1, "cannot be read");
	bad_offset = 0;
	expect_facts(1, "cannot be read");
	assert_int_equal(tier_format_identify(image.format.metadata.fd, &identity), -EIO);
	pool_image_damage(&image, 256);
	expect_error(-EIO, "Input/output error");
	bad_offset = U64_MAX;
	expect_facts(1, "");
	pool_image_damage(&image, 0);
	expect_error(-EBADMSG, "no metadata");
	assert_int_equal(tier_format_identify(image.format.metadata.fd, &identity), 0);
	assert_int_equal(identity.kind, TIER_FORMAT_NONE);

	super.extent_sectors = 5;
	pool_image_write_super(&image, 1, &super);
	expect_error(-EINVAL, "senseless");
	assert_int_equal(tier_format_identify(image.format.metadata.fd, &identity), -EINVAL);
	/* Beside a good one it does not matter. */
	super.extent_sectors = POOL_EXTENT_SECTORS;
	pool_image_write_super(&image, 0, &super);
	expect_facts(1, "");
	super.incompat = 4;
	pool_image_write_super(&image, 1, &super);
	expect_error(-EPROTONOSUPPORT, "newer dm-tier");
	assert_int_equal(tier_format_identify(image.format.metadata.fd, &identity),
			 -EPROTONOSUPPORT);
}

static void test_read_errors(void **state)
{
	const struct dm_tier_super super = pool_image_super(&image, 0);

	bad_offset = dm_tier_area_start(&super, 0) * DM_TIER_BLOCK_BYTES;
	expect_error(-EIO, "Input/output error");
	bad_offset = (dm_tier_log_start(&super) + 100) * DM_TIER_BLOCK_BYTES;
	expect_error(-EIO, "Input/output error");
	bad_offset = U64_MAX;
	assert_int_equal(ftruncate(image.format.metadata.fd, POOL_METADATA_BYTES / 2), 0);
	expect_error(-ENXIO, "smaller than its metadata");
}

static void test_live_pool(void **state)
{
	const struct dm_tier_super meta_super = pool_image_super(&image, 0);
	struct tier_meta *meta;

	live_changes = 2;
	meta = read_meta();
	assert_int_equal(live_changes, 0);
	assert_int_equal(meta->super.super.version, 4);
	tier_meta_free(meta);
	live_changes = 1000;
	expect_error(-EAGAIN, "too fast");
	live_changes = 0;

	/* A commit or a checkpoint caught half written is read once more. */
	write_some();
	write_some();
	torn_offset = (dm_tier_log_start(&meta_super) + 1) * DM_TIER_BLOCK_BYTES;
	expect_facts(3, "");
	assert_true(torn_offset == U64_MAX);
	torn_offset = dm_tier_area_start(&meta_super, 0) * DM_TIER_BLOCK_BYTES;
	expect_facts(3, "");
	assert_true(torn_offset == U64_MAX);
}

static void test_identify_small(void **state)
{
	struct tier_format_identity identity;
	const int fd = image.format.metadata.fd;

	/* Nothing, less than a block, less than both places. */
	for (u64 bytes = 0; bytes <= 1U << 20; bytes += 1U << 19) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(ftruncate(fd, bytes + 512), 0);
		assert_int_equal(tier_format_identify(fd, &identity), 0);
		assert_int_equal(identity.kind, TIER_FORMAT_NONE);
	}
	expect_error(-EBADMSG, "no metadata");
}

static void test_open(void **state)
{
	int fd = 77;
	char path[100];

	assert_int_equal(tier_format_open("/nonexistent", &fd), -ENOENT);
	assert_int_equal(tier_format_open("/dev/null", &fd), -ENOTBLK);
	assert_int_equal(tier_format_open(image.dir, &fd), -ENOTBLK);
	/* A FIFO does not make it wait. */
	snprintf(path, sizeof(path), "%s/fifo", image.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(tier_format_open(path, &fd), -ENOTBLK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(fd, 77);
	assert_int_equal(tier_format_open(image.path[0], &fd), 0);
	assert_int_not_equal(fd, 77);
	close(fd);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_pool_info),
		T(test_pool_without_a_name),
		T(test_odd_reads),
		T(test_hole_in_the_log),
		T(test_faults),
		T(test_two_checkpoints),
		T(test_one_checkpoint_bad),
		T(test_malformed_record),
		T(test_superblocks),
		T(test_read_errors),
		T(test_live_pool),
		T(test_identify_small),
		T(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
