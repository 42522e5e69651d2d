// SPDX-License-Identifier: GPL-2.0-only
/*
 * Formatting a pool on image files: what is refused, what is written and in
 * which order. pwrite and fsync are ours, to look on, to fail, and to cut the
 * power after any of them.
 */
#include <errno.h>
#include <fcntl.h>
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

#include "pool_image.h"

static struct pool_image image;
static char cause[TIER_CAUSE_SIZE];

/* A write of a part of a device, or its flush (bytes 0). */
struct op {
	int fd;
	u64 offset, bytes;
	bool zeros;
};

static struct op ops[1000];
static u32 nr_ops;
static u32 fail_op = U32_MAX;	/* this one gives EIO */
static u32 last_op = U32_MAX;	/* from this one on nothing arrives, though all seems well */

/* Notes the operation; false if it shall fail or get lost (*ret_result). */
static bool is_done(int fd, u64 offset, u64 bytes, bool zeros, ssize_t *ret_result)
{
	if (nr_ops == ARRAY_SIZE(ops))
		abort();
	ops[nr_ops] = (struct op){ fd, offset, bytes, zeros };
	*ret_result = bytes;
	if (nr_ops == fail_op) {
		errno = EIO;
		*ret_result = -1;
	}
	return nr_ops++ < last_op && *ret_result >= 0;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	const u8 *b = data;
	const bool zeros = !*b && !memcmp(b, b + 1, bytes - 1);
	ssize_t result;

	if (is_done(fd, offset, bytes, zeros, &result))
		result = syscall(SYS_pwrite64, fd, data, bytes, offset);
	return result;
}

int fsync(int fd)
{
	ssize_t result;

	is_done(fd, 0, 0, false, &result);
	return result;
}

static int setup(void **state)
{
	fail_op = last_op = U32_MAX;
	nr_ops = 0;
	pool_image_create(&image);
	memset(cause, 0, sizeof(cause));
	return 0;
}

static int teardown(void **state)
{
	pool_image_remove(&image);
	return 0;
}

static void format(void)
{
	cause[0] = '\0';
	assert_int_equal(tier_format_pool(&image.format, cause), 0);
	assert_string_equal(cause, "");
}

/* Reads it with the library and returns the error. */
static int read_back(struct tier_meta_facts *ret_facts)
{
	struct tier_meta *meta;
	int r;

	r = tier_meta_read(image.format.metadata.fd, &meta, NULL);
	if (r)
		return r;
	if (ret_facts)
		tier_meta_facts(meta, ret_facts);
	tier_meta_free(meta);
	return 0;
}

static void test_sizes(void **state)
{
	const u64 gib = 1ULL << 30, extent = gib / 512;

	assert_int_equal(tier_format_default_region_sectors(extent), 2048);
	assert_int_equal(tier_format_default_region_sectors(1U << 11), 128);
	assert_int_equal(tier_format_default_region_sectors(1U << 25), 1U << 15);
	assert_int_equal(tier_format_default_log_bytes(), 64U << 20);

	assert_int_equal(tier_format_slots(0, extent), 0);
	assert_int_equal(tier_format_slots(gib, extent), 0);
	assert_int_equal(tier_format_slots(gib + (1U << 20) - 1, extent), 0);
	assert_int_equal(tier_format_slots(gib + (1U << 20), extent), 1);
	assert_int_equal(tier_format_slots(~0ULL, 1U << 11), DM_TIER_MAX_DEVICE_SLOTS);

	/* About 160 bytes a slot and area, beside the log and the fixed part. */
	assert_in_range(tier_format_metadata_bytes(1U << 20, extent, 2048, 64U << 20),
			(64U << 20) + 2 * 150 * (1ULL << 20), (64U << 20) + 2 * 175 * (1ULL << 20));
	assert_in_range(tier_format_metadata_bytes(1, extent, 2048, 8U << 20), 10U << 20, 13U << 20);
}

/* Every refusal comes with a cause that names the thing, and before any write. */
static void expect_refused(int error, const char *word)
{
	assert_int_equal(tier_format_check(&image.format, cause), error);
	assert_non_null(strstr(cause, word));
	assert_int_equal(tier_format_check(&image.format, NULL), error);
	assert_int_equal(tier_format_pool(&image.format, cause), error);
	assert_int_equal(nr_ops, 0);
}

static void test_refused(void **state)
{
	static char long_label[DM_TIER_MAX_LABEL + 2];
	const struct pool_image good = image;
	static struct tier_format_device many[65];

	memset(long_label, 'x', sizeof(long_label) - 1);
	for (u32 i = 0; i < 65; i++)
		many[i] = image.data[0];
#define REFUSED(error, word, change)			\
	do {						\
		image = good;				\
		image.format.data = image.data;		\
		change;					\
		expect_refused(error, word);		\
	} while (0)

	REFUSED(-EINVAL, "extent size", image.format.extent_sectors = 3072);
	REFUSED(-EINVAL, "extent size", image.format.extent_sectors = 1024);
	REFUSED(-EINVAL, "extent size", image.format.extent_sectors = 1U << 26);
	REFUSED(-EINVAL, "region size", image.format.region_sectors = 100);
	REFUSED(-EINVAL, "region size", image.format.region_sectors = 4);
	REFUSED(-EINVAL, "region size", image.format.region_sectors = 4096);
	REFUSED(-EINVAL, "region size", (image.format.extent_sectors = 1U << 20,
					 image.format.region_sectors = 1U << 9));
	REFUSED(-EINVAL, "block size", image.format.logical_block_bytes = 1000);
	REFUSED(-EINVAL, "block size", image.format.logical_block_bytes = 256);
	REFUSED(-EINVAL, "block size", image.format.logical_block_bytes = 1U << 17);
	REFUSED(-EINVAL, "log size", image.format.log_bytes = 1U << 20);
	REFUSED(-EINVAL, "log size", image.format.log_bytes = 2U << 30);
	REFUSED(-EINVAL, "log size", image.format.log_bytes = POOL_LOG_BYTES + 512);
	REFUSED(-EINVAL, "label", image.format.label = long_label);
	REFUSED(-EINVAL, "data devices", image.format.nr_data = 0);
	REFUSED(-EINVAL, "data devices", (image.format.data = many, image.format.nr_data = 65));
	REFUSED(-EINVAL, "data1", image.data[1].tier = 8);
	REFUSED(-ENOSPC, "data1", image.data[1].bytes = (2U << 20) - 512);
	REFUSED(-ENOSPC, "meta", image.format.metadata.bytes =
		tier_format_metadata_bytes(12, POOL_EXTENT_SECTORS, POOL_REGION_SECTORS,
					   POOL_LOG_BYTES) - 1);
#undef REFUSED
	image = good;
	image.format.data = image.data;
	/* And exactly what is needed will do. */
	image.format.metadata.bytes = tier_format_metadata_bytes(12, POOL_EXTENT_SECTORS,
								 POOL_REGION_SECTORS,
								 POOL_LOG_BYTES);
	format();
	assert_int_equal(read_back(NULL), 0);
}

static void test_format(void **state)
{
	struct tier_format_identity identity;
	struct tier_meta_facts facts;
	struct dm_tier_super super;

	format();
	assert_int_equal(read_back(&facts), 0);
	assert_memory_equal(facts.uuid, "pool of a test..", 16);
	assert_memory_equal(facts.system_id, "system of a test", 16);
	assert_int_equal(facts.commit, 1);
	assert_int_equal(facts.incarnation, 1);
	assert_int_equal(facts.slots, 12);
	assert_true(facts.clean);
	assert_false(facts.needs_check);
	assert_string_equal(facts.damage, "");

	super = pool_image_super(&image, 0);
	assert_int_equal(super.version, 1);
	super = pool_image_super(&image, 1);
	assert_int_equal(super.version, 2);
	assert_int_equal(super.final_seq, 1);
	/* The areas take what is left, but for an odd block. */
	assert_in_range(dm_tier_super_blocks(&super), 4095, 4096);

	assert_int_equal(tier_format_identify(image.format.metadata.fd, &identity), 0);
	assert_int_equal(identity.kind, TIER_FORMAT_METADATA);
	assert_int_equal(identity.version, 2);
	assert_memory_equal(identity.pool_uuid, "pool of a test..", 16);
	for (u32 i = 0; i < POOL_DATA; i++) {
		assert_int_equal(tier_format_identify(image.data[i].fd, &identity), 0);
		assert_int_equal(identity.kind, TIER_FORMAT_DATA);
		assert_int_equal(identity.idx, i);
		assert_memory_equal(identity.pool_uuid, "pool of a test..", 16);
		assert_memory_equal(identity.device_uuid, image.data[i].uuid, 16);
	}
}

static void assert_system_id(const char *expected)
{
	uint8_t id[16];

	assert_int_equal(tier_format_system_id(image.format.metadata.fd, id), 0);
	assert_memory_equal(id, expected, 16);
}

#define OLD_HOST	"system of a test"
#define NEW_HOST	"another system.."

/*
 * Takes the pool over from a state in which `newest` is the place of the newest superblock;
 * its operation `fail` fails, and from operation `last` on nothing arrives.
 */
static int take_over(u32 newest, u32 fail, u32 last)
{
	struct dm_tier_super super;
	int r;

	format();
	super = pool_image_super(&image, newest);
	super.version += 7;
	pool_image_write_super(&image, newest, &super);
	nr_ops = 0;
	cause[0] = '\0';
	fail_op = fail;
	last_op = last;
	r = tier_format_set_system_id(image.format.metadata.fd, (const uint8_t *)NEW_HOST, cause);
	fail_op = last_op = U32_MAX;
	return r;
}

static void test_system_id(void **state)
{
	struct dm_tier_super before, after;
	struct tier_meta_facts facts;

	for (u32 newest = 0; newest < 2; newest++) {
		assert_int_equal(take_over(newest, U32_MAX, U32_MAX), 0);
		assert_string_equal(cause, "");
		assert_int_equal(nr_ops, 4);
		/* The older place first, and on disk before the other one is touched. */
		assert_int_equal(ops[0].offset, tier_format_super_block(!newest) * DM_TIER_BLOCK_BYTES);
		assert_int_equal(ops[1].bytes, 0);
		assert_int_equal(ops[2].offset, tier_format_super_block(newest) * DM_TIER_BLOCK_BYTES);
		assert_int_equal(ops[3].bytes, 0);
		assert_system_id(NEW_HOST);
		assert_int_equal(read_back(&facts), 0);
		assert_memory_equal(facts.system_id, NEW_HOST, 16);
		assert_true(facts.clean);
		assert_false(facts.needs_check);

		/* All else is as it was, and each place knows where it lies. */
		after = pool_image_super(&image, newest);
		assert_memory_equal(pool_image_super(&image, !newest).system_id, NEW_HOST, 16);
		assert_int_equal(pool_image_super(&image, !newest).version + 1, after.version);
		format();
		before = pool_image_super(&image, newest);
		assert_int_equal(before.version + 9, after.version);
		after.version = before.version;
		memcpy(after.system_id, before.system_id, 16);
		assert_memory_equal(&after, &before, sizeof(after));
	}
}

/* Cut short after each step: the pool is of the old host or of the new one, and sound. */
static void test_system_id_interrupted(void **state)
{
	const int fd = image.format.metadata.fd;
	struct tier_meta_facts facts;

	for (u32 newest = 0; newest < 2; newest++) {
		for (u32 op = 0; op < 4; op++) {
			/* Power fails: this write and all after it are lost. */
			take_over(newest, U32_MAX, op);
			assert_int_equal(read_back(&facts), 0);
			assert_memory_equal(facts.system_id, op ? NEW_HOST : OLD_HOST, 16);

			/* ... or this write is torn. */
			if (!(op % 2)) {
				pool_image_damage(&image, ops[op].offset / DM_TIER_BLOCK_BYTES);
				assert_int_equal(read_back(&facts), 0);
				assert_memory_equal(facts.system_id, op ? NEW_HOST : OLD_HOST, 16);
			}

			/* An error of the device is told, and the command can be repeated. */
			assert_int_equal(take_over(newest, op, U32_MAX), -EIO);
			assert_non_null(strstr(cause, "cannot be written"));
			assert_int_equal(read_back(&facts), 0);
			assert_int_equal(tier_format_set_system_id(fd, (const uint8_t *)NEW_HOST, NULL), 0);
			assert_system_id(NEW_HOST);
		}
	}
}

static void test_system_id_no_pool(void **state)
{
	uint8_t id[16] = "untouched";

	assert_int_equal(tier_format_set_system_id(image.data[0].fd, id, cause), -EBADMSG);
	assert_int_equal(tier_format_system_id(image.data[0].fd, id), -EBADMSG);
	assert_string_equal((char *)id, "untouched");
	assert_int_equal(nr_ops, 0);
}

static void test_pool_info(void **state)
{
	struct tier_pool_info info;
	struct tier_meta *meta;

	format();
	assert_int_equal(tier_meta_read(image.format.metadata.fd, &meta, cause), 0);
	assert_int_equal(tier_meta_pool_info(meta, &info), 0);
	assert_string_equal(info.uuid, "706f6f6c-206f-6620-6120-746573742e2e");
	assert_string_equal(info.name, "pool0");
	assert_int_equal(info.extent_sectors, POOL_EXTENT_SECTORS);
	assert_int_equal(info.region_sectors, POOL_REGION_SECTORS);
	assert_int_equal(info.mode, TIER_POOL_RW);
	assert_int_equal(info.nr_volumes, 0);
	assert_int_equal(info.nr_devices, POOL_DATA);
	for (u32 i = 0; i < POOL_DATA; i++) {
		assert_int_equal(info.devices[i].idx, i);
		assert_int_equal(info.devices[i].tier, i);
		assert_int_equal(info.devices[i].state, TIER_DEVICE_ONLINE);
		assert_int_equal(info.devices[i].total_slots, i + 3);
		assert_int_equal(info.devices[i].used_slots, 0);
		assert_memory_equal(tier_meta_device_uuid(meta, i), image.data[i].uuid, 16);
		/* One slot of the lowest tier stays free. */
		assert_int_equal(meta->image->device[i].reserve_slots, i == 2);
	}
	tier_pool_info_clear(&info);
	tier_meta_free(meta);
}

/* The reserve: the largest device of the lowest tier, unless it has one slot only. */
static void test_reserve(void **state)
{
	struct tier_meta *meta;

	image.data[1].tier = 2;
	image.data[1].bytes = 10U << 20;
	format();
	assert_int_equal(tier_meta_read(image.format.metadata.fd, &meta, cause), 0);
	assert_int_equal(meta->image->device[1].reserve_slots, 1);
	assert_int_equal(meta->image->device[2].reserve_slots, 0);
	tier_meta_free(meta);

	image.format.nr_data = 1;
	image.data[0].bytes = 2U << 20;
	format();
	assert_int_equal(tier_meta_read(image.format.metadata.fd, &meta, cause), 0);
	assert_int_equal(meta->image->device[0].slots, 1);
	assert_int_equal(meta->image->device[0].reserve_slots, 0);
	tier_meta_free(meta);
}

static void test_64_devices(void **state)
{
	struct tier_format_device data[64];
	struct tier_meta *meta;

	for (u32 i = 0; i < 64; i++) {
		data[i] = image.data[i % 3];
		data[i].uuid[0] = i;
	}
	image.format.data = data;
	image.format.nr_data = 64;
	format();
	assert_int_equal(tier_meta_read(image.format.metadata.fd, &meta, cause), 0);
	for (u32 i = 0; i < 64; i++)
		assert_memory_equal(meta->image->device[i].uuid, data[i].uuid, 16);
	tier_meta_free(meta);
}

/* Nothing of what was there before remains, and the incarnation rises. */
static void test_format_again(void **state)
{
	static u8 noise[1U << 20], back[1U << 20];
	struct tier_meta_facts facts;
	struct ring ring;

	memset(noise, 0x5a, sizeof(noise));
	for (u32 i = 0; i < POOL_METADATA_BYTES / sizeof(noise); i++)
		assert_int_equal(pwrite(image.format.metadata.fd, noise, sizeof(noise),
					i * sizeof(noise)), sizeof(noise));
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(pwrite(image.data[0].fd, noise, sizeof(noise),
					i * sizeof(noise)), sizeof(noise));
	format();
	assert_int_equal(read_back(&facts), 0);
	assert_int_equal(facts.incarnation, 1);
	/* The first MiB of data is zero but for the label; the first slot is as it was. */
	assert_int_equal(pread(image.data[0].fd, back, sizeof(back), 0), sizeof(back));
	for (u32 i = DM_TIER_LABEL_BYTES; i < sizeof(back); i++)
		assert_int_equal(back[i], 0);
	assert_int_equal(pread(image.data[0].fd, back, sizeof(back), sizeof(back)), sizeof(back));
	assert_memory_equal(back, noise, sizeof(back));

	pool_image_read_ring(&image, &ring);
	for (u32 i = 0; i < 20; i++)
		ring_commit(&ring, NULL, 0, 50, DM_TIER_LOG_ACTIVATE);
	pool_image_write_ring(&image, &ring);
	ring_clear(&ring);
	assert_int_equal(read_back(&facts), 0);
	assert_int_equal(facts.incarnation, 21);
	assert_false(facts.needs_check);
	format();
	assert_int_equal(read_back(&facts), 0);
	assert_int_equal(facts.incarnation, 22);
	assert_int_equal(facts.commit, 1);
}

/* An old superblock that cannot be used is no obstacle, nor one whose log is cut off. */
static void test_format_over_odd_ones(void **state)
{
	struct dm_tier_super super;
	struct tier_meta_facts facts;

	format();
	super = pool_image_super(&image, 1);
	super.incompat = 1;
	pool_image_write_super(&image, 1, &super);
	assert_int_equal(read_back(NULL), -EPROTONOSUPPORT);
	format();

	super = pool_image_super(&image, 1);
	super.log_blocks = DM_TIER_MAX_LOG_BLOCKS;
	pool_image_write_super(&image, 1, &super);
	assert_int_equal(read_back(NULL), -ENXIO);
	format();
	assert_int_equal(read_back(&facts), 0);
	assert_int_equal(facts.incarnation, 2);
}

static bool is_super(const struct op *op)
{
	return op->fd == image.format.metadata.fd && op->bytes == DM_TIER_BLOCK_BYTES &&
	       (op->offset == 0 || op->offset == 1U << 20) && !op->zeros;
}

/* Old superblocks gone and flushed first; the new ones last, apart, everything else flushed. */
static void test_order(void **state)
{
	u32 flushes = 0, supers = 0;

	format();
	assert_int_equal(ops[0].fd, image.format.metadata.fd);
	assert_int_equal(ops[0].offset, 0);
	assert_true(ops[0].zeros);
	for (u32 i = 0; i < nr_ops; i++) {
		flushes += !ops[i].bytes;
		if (!flushes && ops[i].bytes) {
			/* Nothing but the two places goes before they are gone. */
			assert_true(ops[i].zeros);
			assert_true(ops[i].offset + ops[i].bytes <= 2U << 20);
		}
		if (!is_super(&ops[i]))
			continue;
		supers++;
		/* Right behind a flush of the last thing written, and flushed itself. */
		assert_int_equal(ops[i - 1].bytes, 0);
		assert_int_equal(ops[i + 1].bytes, 0);
		assert_int_equal(ops[i + 1].fd, image.format.metadata.fd);
		assert_true(i + 4 >= nr_ops);
	}
	assert_int_equal(supers, 2);
	/* The metadata twice, each label, each superblock. */
	assert_int_equal(flushes, 2 + POOL_DATA + 2);
	assert_int_equal(ops[nr_ops - 1].bytes, 0);
}

/*
 * Power cut after any number of writes: no pool, or the whole new one. The old one
 * only as long as nothing of it is gone but one of its superblocks.
 */
static void test_power_cut(void **state)
{
	u32 total, missing = 0, there = 0;

	format();
	total = nr_ops;
	for (u32 cut = 1; cut <= total; cut++) {
		struct tier_meta_facts facts;
		int r;

		nr_ops = 0;
		last_op = U32_MAX;
		memcpy(image.format.uuid, "an older pool...", 16);
		format();
		memcpy(image.format.uuid, "the new pool....", 16);
		nr_ops = 0;
		last_op = cut;
		format();
		last_op = U32_MAX;
		r = read_back(&facts);
		if (r) {
			assert_int_equal(r, -EBADMSG);
			missing++;
			continue;
		}
		assert_int_equal(facts.slots, 12);
		assert_false(facts.needs_check);
		if (cut == 1) {
			assert_memory_equal(facts.uuid, "an older pool...", 16);
			continue;
		}
		assert_memory_equal(facts.uuid, "the new pool....", 16);
		there++;
	}
	/* It is there from the first superblock on. */
	assert_int_equal(there, 4);
	assert_int_equal(missing, total - 5);
}

/* Any write or flush that fails ends it, with the device named. */
static void test_write_errors(void **state)
{
	u32 total;

	format();
	total = nr_ops;
	for (u32 i = 0; i < total; i++) {
		const char *name = ops[i].fd == image.format.metadata.fd ? "meta" : "data";

		nr_ops = 0;
		fail_op = i;
		assert_int_equal(tier_format_pool(&image.format, cause), -EIO);
		assert_non_null(strstr(cause, name));
		assert_int_equal(nr_ops, i + 1);
	}
	fail_op = U32_MAX;
	format();
}

static void test_wipe(void **state)
{
	const struct tier_format_device data = image.data[1];
	struct tier_format_identity identity;
	u8 block[DM_TIER_BLOCK_BYTES], back[DM_TIER_BLOCK_BYTES];

	memset(block, 0x77, sizeof(block));
	assert_int_equal(pwrite(data.fd, block, sizeof(block), 1U << 20), sizeof(block));
	format();
	nr_ops = 0;
	fail_op = 1;
	assert_int_equal(tier_format_wipe(&data, cause), -EIO);
	assert_non_null(strstr(cause, "data1"));
	fail_op = U32_MAX;
	format();

	assert_int_equal(tier_format_wipe(&data, cause), 0);
	assert_int_equal(tier_format_identify(data.fd, &identity), 0);
	assert_int_equal(identity.kind, TIER_FORMAT_NONE);
	/* The first slot begins where a second superblock would be. */
	assert_int_equal(pread(data.fd, back, sizeof(back), 1U << 20), sizeof(back));
	assert_memory_equal(back, block, sizeof(block));

	assert_int_equal(tier_format_wipe(&image.format.metadata, cause), 0);
	assert_int_equal(tier_format_identify(image.format.metadata.fd, &identity), 0);
	assert_int_equal(identity.kind, TIER_FORMAT_NONE);
	/* A device of nobody is left alone. */
	nr_ops = 0;
	assert_int_equal(tier_format_wipe(&data, cause), 0);
	assert_int_equal(nr_ops, 0);
}

static void test_label_of_an_added_device(void **state)
{
	const u8 pool_uuid[16] = "some other pool";
	struct tier_format_identity identity;

	assert_int_equal(tier_format_label(&image.data[0], pool_uuid, 17, cause), 0);
	assert_int_equal(tier_format_identify(image.data[0].fd, &identity), 0);
	assert_int_equal(identity.kind, TIER_FORMAT_DATA);
	assert_int_equal(identity.idx, 17);
	assert_memory_equal(identity.pool_uuid, pool_uuid, 16);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		T(test_refused),
		T(test_format),
		T(test_system_id),
		T(test_system_id_interrupted),
		T(test_system_id_no_pool),
		T(test_pool_info),
		T(test_reserve),
		T(test_64_devices),
		T(test_format_again),
		T(test_format_over_odd_ones),
		T(test_order),
		T(test_power_cut),
		T(test_write_errors),
		T(test_wipe),
		T(test_label_of_an_added_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
