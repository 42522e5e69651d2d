// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding pools in a made-up /sys/class/block and /dev whose devices are image
 * files; and what is on a device before a pool takes it.
 */
// link: blkid devmapper
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pool_image.h"
#include "probe.h"
#include "scan.h"

static struct pool_image image;
static char sysfs[80], dev[80];
static struct tier_scan_tree tree = { .sysfs = sysfs, .dev = dev };
static u32 nr_made;

static struct tier_scan scan;
static struct tier_scan_pool *pools;
static size_t nr_pools;

/* A file with a line of text, its folders made on the way; NULL: a folder only. */
static void make_file(const char *path, const char *text)
{
	char *copy = strdup(path);
	FILE *file;

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700))
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
	free(copy);
	if (!text)
		return;
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fprintf(file, "%s\n", text) > 0);
	assert_int_equal(fclose(file), 0);
}

static void set_attribute(const char *name, const char *attribute, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s/%s", sysfs, name, attribute);
	make_file(path, text);
}

/* A device: a copy of an image file. */
static void make_device(const char *name, const char *from)
{
	char command[600], path[300], number[20];

	set_attribute(name, "size", "32768");
	snprintf(number, sizeof(number), "253:%u", nr_made++);
	set_attribute(name, "dev", number);
	snprintf(path, sizeof(path), "%s/%s", dev, name);
	for (char *c = path + strlen(dev); *c; c++)
		if (*c == '!')
			*c = '/';
	make_file(path, "");
	snprintf(command, sizeof(command), "cp '%s' '%s'", from, path);
	assert_int_equal(system(command), 0);
}

static void make_holder(const char *below, const char *above)
{
	char attribute[100];

	snprintf(attribute, sizeof(attribute), "holders/%s", above);
	set_attribute(below, attribute, "");
}

static void make_dm(const char *name, const char *dm_name, const char *from)
{
	char path[300], target[100];

	make_device(name, from);
	set_attribute(name, "dm/name", dm_name);
	set_attribute(name, "dm/uuid", "LVM-something");
	set_attribute(name, "dm/suspended", "0");
	snprintf(path, sizeof(path), "%s/mapper/%s", dev, dm_name);
	make_file(path, NULL);
	snprintf(target, sizeof(target), "../%s", name);
	assert_int_equal(symlink(target, path), 0);
}

static int setup(void **state)
{
	char cause[TIER_CAUSE_SIZE];

	nr_made = 0;
	pool_image_create(&image);
	assert_int_equal(tier_format_pool(&image.format, cause), 0);
	snprintf(sysfs, sizeof(sysfs), "%s/sys", image.dir);
	snprintf(dev, sizeof(dev), "%s/dev", image.dir);
	assert_int_equal(mkdir(sysfs, 0700), 0);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	tier_scan_free_pools(pools, nr_pools);
	pools = NULL;
	nr_pools = 0;
	tier_scan_clear(&scan);
	nftw(sysfs, remove_one, 10, FTW_DEPTH | FTW_PHYS);
	nftw(dev, remove_one, 10, FTW_DEPTH | FTW_PHYS);
	pool_image_remove(&image);
	return 0;
}

static void scan_all(void)
{
	tier_scan_free_pools(pools, nr_pools);
	tier_scan_clear(&scan);
	assert_int_equal(tier_scan_tree(&tree, &scan), 0);
	assert_int_equal(tier_scan_pools(&scan, &pools, &nr_pools), 0);
}

/* The whole pool on sda, sdb, sdc, sdd. */
static void make_pool(void)
{
	make_device("sda", image.path[0]);
	make_device("sdb", image.path[1]);
	make_device("sdc", image.path[2]);
	make_device("sdd", image.path[3]);
}

static void test_nothing(void **state)
{
	const struct tier_scan_tree nowhere = { .sysfs = "/nonexistent", .dev = dev };
	struct tier_scan none = {};

	scan_all();
	assert_int_equal(scan.nr_devices, 0);
	assert_int_equal(nr_pools, 0);
	assert_int_equal(tier_scan_tree(&nowhere, &none), -ENOENT);
}

/* On the machine itself, whatever it has. */
static void test_system(void **state)
{
	struct tier_scan system_scan = {};

	assert_int_equal(tier_scan_system(&system_scan), geteuid() ? -EPERM : 0);
	tier_scan_clear(&system_scan);
}

static void test_whole_pool(void **state)
{
	make_pool();
	make_device("sde", "/dev/null");
	scan_all();
	assert_int_equal(scan.nr_devices, 4);
	assert_int_equal(scan.nr_unreadable, 0);
	assert_int_equal(nr_pools, 1);
	assert_int_equal(pools[0].error, 0);
	assert_memory_equal(pools[0].uuid, image.format.uuid, 16);
	assert_string_equal(pools[0].info.name, "pool0");
	assert_string_equal(pools[0].metadata->kernel_name, "sda");
	assert_int_equal(pools[0].metadata->major, 253);
	assert_int_equal(pools[0].metadata->minor, 0);
	assert_int_equal(pools[0].metadata->bytes, 16U << 20);
	assert_int_equal(pools[0].info.nr_devices, 3);
	assert_int_equal(pools[0].facts.slots, 12);
	for (u32 i = 0; i < 3; i++) {
		const struct tier_scan_device *device = pools[0].members[i].device;

		assert_non_null(device);
		assert_int_equal(device->kernel_name[2], 'b' + i);
		assert_int_equal(device->identity.idx, i);
		assert_false(pools[0].members[i].doubled);
	}
	assert_int_equal(pools[0].nr_missing, 0);
	assert_int_equal(pools[0].nr_doubled, 0);
	assert_int_equal(pools[0].nr_foreign, 0);
}

static void test_missing(void **state)
{
	make_device("sda", image.path[0]);
	make_device("sdc", image.path[2]);
	scan_all();
	assert_int_equal(pools[0].error, 0);
	assert_int_equal(pools[0].nr_missing, 2);
	assert_null(pools[0].members[0].device);
	assert_non_null(pools[0].members[1].device);
	assert_null(pools[0].members[2].device);
}

/* Devices that were added but not yet taken in, or given up, may be absent. */
static void test_missing_by_right(void **state)
{
	struct dm_tier_record records[2] = {
		{ .type = DM_TIER_REC_DEVICE, .device = { .idx = 0, .slots = 3 } },
		{ .type = DM_TIER_REC_DEVICE, .device = { .idx = 2, .slots = 5 } },
	};
	struct ring ring;

	records[0].device.state = DM_TIER_DEV_NEW;
	records[1].device.state = DM_TIER_DEV_LOST;
	memcpy(records[0].device.uuid, image.data[0].uuid, 16);
	memcpy(records[1].device.uuid, image.data[2].uuid, 16);
	pool_image_read_ring(&image, &ring);
	ring_commit(&ring, records, 2, 1, 0);
	pool_image_write_ring(&image, &ring);
	ring_clear(&ring);
	make_device("sda", image.path[0]);
	make_device("sdc", image.path[2]);
	scan_all();
	assert_int_equal(pools[0].error, 0);
	assert_int_equal(pools[0].nr_missing, 0);
}

static void test_metadata_missing(void **state)
{
	make_device("sdb", image.path[1]);
	scan_all();
	assert_int_equal(nr_pools, 1);
	assert_int_equal(pools[0].error, -ENOENT);
	assert_non_null(strstr(pools[0].cause, "not found"));
	assert_null(pools[0].metadata);
}

static void test_doubled(void **state)
{
	make_pool();
	make_device("sdx", image.path[2]);
	make_device("sdy", image.path[2]);
	scan_all();
	assert_int_equal(pools[0].error, 0);
	assert_int_equal(pools[0].nr_doubled, 1);
	assert_true(pools[0].members[1].doubled);
	assert_false(pools[0].members[0].doubled);
	assert_int_equal(pools[0].nr_missing, 0);

	make_device("sdz", image.path[0]);
	scan_all();
	assert_int_equal(pools[0].error, -ENOTUNIQ);
	assert_non_null(strstr(pools[0].cause, "sda"));
	assert_non_null(strstr(pools[0].cause, "sdz"));
}

/* Legs of a mirror, of which one is two levels down. */
static void test_lower_ones(void **state)
{
	make_pool();
	make_device("dm-7", image.path[0]);
	make_device("dm-8", image.path[0]);
	make_device("dm-9", image.path[0]);
	make_holder("sda", "dm-7");
	make_holder("dm-7", "dm-9");
	make_holder("dm-8", "dm-9");
	/* Whoever holds it without being like it does not matter: the pool itself. */
	make_holder("dm-9", "dm-20");
	make_holder("sdb", "dm-20");
	/* Nor does another device of the pool. */
	make_holder("sdb", "sdc");
	/* Not even one that holds itself. */
	make_holder("dm-20", "dm-20");
	scan_all();
	assert_int_equal(pools[0].error, 0);
	assert_string_equal(pools[0].metadata->kernel_name, "dm-9");
	assert_int_equal(scan.nr_devices, 4);
	assert_int_equal(pools[0].nr_missing, 0);
}

static void test_not_looked_at(void **state)
{
	const struct tier_dm_device active[] = { { .major = 253, .minor = 7 }, { .major = 253, .minor = 3 } };
	char path[300];

	make_pool();
	set_attribute("sda", "size", "0");
	set_attribute("sdb", "removable", "1");
	set_attribute("sdc", "dm/suspended", "1");
	tree.active = active;		/* sdd, and another one */
	tree.nr_active = 2;
	/* A partition of a removable disk: its folder lies in the disk's. */
	make_device("disk/sde1", image.path[0]);
	set_attribute("disk", "removable", "1");
	snprintf(path, sizeof(path), "%s/sde1", sysfs);
	assert_int_equal(symlink("disk/sde1", path), 0);
	scan_all();
	assert_int_equal(scan.nr_devices, 0);
	assert_int_equal(scan.nr_unreadable, 0);

	set_attribute("sda", "size", "32768");
	set_attribute("sdb", "removable", "0");
	set_attribute("sdc", "dm/suspended", "0");
	tree.nr_active = 0;
	scan_all();
	assert_int_equal(scan.nr_devices, 4);
}

static void expect_obstacle(const char *name, const char *why)
{
	const char *got = tier_scan_tree_obstacle(&tree, name);

	if (why)
		assert_string_equal(got, why);
	else
		assert_null(got);
}

/* A pool takes only what a scan finds, and nothing that is built on a volume. */
static void test_obstacles(void **state)
{
	const struct tier_dm_device active = { .major = 253, .minor = 3 };

	tree.active = &active;		/* sdd */
	tree.nr_active = 1;
	make_pool();
	expect_obstacle("sda", NULL);
	set_attribute("sda", "removable", "1");
	expect_obstacle("sda", "is a removable disk");
	set_attribute("sdb", "size", "0");
	expect_obstacle("sdb", "has no medium");
	set_attribute("sdc", "dm/suspended", "1");
	expect_obstacle("sdc", "is suspended");
	expect_obstacle("sdd", "is a pool or volume of dm-tier");

	/* LVM on a volume, on top of something else, and a partition of that. */
	make_dm("dm-1", "vg-lv", image.path[1]);
	set_attribute("dm-1", "slaves/sde/size", "32768");
	expect_obstacle("dm-1", NULL);
	set_attribute("dm-1", "slaves/sdd/dev", "253:3");
	expect_obstacle("dm-1", "is built on a volume of dm-tier");
	make_dm("dm-2", "vg-lv2", image.path[1]);
	set_attribute("dm-2", "slaves/dm-1/slaves/sdd/dev", "253:3");
	expect_obstacle("dm-2", "is built on a volume of dm-tier");
	set_attribute("dm-2/part1", "size", "1024");
	expect_obstacle("dm-2/part1", "is built on a volume of dm-tier");
	tree.nr_active = 0;
	expect_obstacle("sdd", NULL);
	expect_obstacle("dm-2", NULL);
}

static void test_unreadable(void **state)
{
	char path[300];

	make_pool();
	/* No node; no such numbers; a path too long. */
	snprintf(path, sizeof(path), "%s/sdb", dev);
	assert_int_equal(unlink(path), 0);
	set_attribute("sdc", "dev", "none");
	make_device("a-name-of-more-than-sixty-three-characters-is-what-no-device-has-ever", image.path[0]);
	scan_all();
	assert_int_equal(scan.nr_unreadable, 3);
	assert_int_equal(scan.nr_devices, 2);
	assert_int_equal(pools[0].nr_missing, 2);
}

static void test_names(void **state)
{
	make_dm("dm-0", "vg-meta", image.path[0]);
	/* No node of that name: /dev/dm-1 will do. */
	make_device("dm-1", image.path[1]);
	set_attribute("dm-1", "dm/name", "vg-data");
	make_device("cciss!c0d0", image.path[2]);
	scan_all();
	assert_int_equal(nr_pools, 1);
	assert_int_equal(pools[0].error, 0);
	assert_non_null(strstr(pools[0].metadata->path, "/dev/mapper/vg-meta"));
	assert_non_null(strstr(pools[0].members[0].device->path, "/dev/dm-1"));
	assert_non_null(strstr(pools[0].members[1].device->path, "/dev/cciss/c0d0"));
}

/* The metadata device begins 1 MiB into another one, as a first partition or LV does. */
static void test_behind_a_header(void **state)
{
	char command[500], disk[200];

	make_pool();
	snprintf(disk, sizeof(disk), "%s/disk", image.dir);
	snprintf(command, sizeof(command), "{ head -c 1M /dev/zero; cat '%s'; } >'%s'",
		 image.path[0], disk);
	assert_int_equal(system(command), 0);
	make_device("vda", disk);
	assert_int_equal(unlink(disk), 0);
	scan_all();
	assert_int_equal(scan.nr_devices, 4);
	assert_int_equal(pools[0].error, 0);
	assert_string_equal(pools[0].metadata->kernel_name, "sda");
}

static void test_two_pools(void **state)
{
	char cause[TIER_CAUSE_SIZE];

	make_pool();
	/* The same files again, as another pool; one device keeps its old label. */
	memcpy(image.format.uuid, "another pool....", 16);
	image.format.label = "name=pool1";
	assert_int_equal(tier_format_pool(&image.format, cause), 0);
	make_device("sde", image.path[0]);
	make_device("sdf", image.path[1]);
	image.data[1].uuid[0] ^= 1;
	assert_int_equal(tier_format_label(&image.data[1], image.format.uuid, 1, cause), 0);
	make_device("sdg", image.path[2]);
	scan_all();
	assert_int_equal(nr_pools, 2);
	assert_string_equal(pools[0].info.name, "pool0");
	assert_int_equal(pools[0].nr_missing, 0);
	assert_int_equal(pools[0].nr_foreign, 0);
	assert_string_equal(pools[1].info.name, "pool1");
	assert_int_equal(pools[1].nr_missing, 2);
	assert_int_equal(pools[1].nr_foreign, 1);
}

static void test_bad_metadata(void **state)
{
	const struct dm_tier_super super = pool_image_super(&image, 0);
	struct ring ring;

	pool_image_read_ring(&image, &ring);
	ring_commit(&ring, NULL, 0, 1, 0);
	ring_commit(&ring, NULL, 0, 1, 0);
	pool_image_write_ring(&image, &ring);
	ring_clear(&ring);
	pool_image_damage(&image, dm_tier_log_start(&super) + 1);
	make_pool();
	scan_all();
	assert_int_equal(pools[0].error, 0);
	assert_true(pools[0].facts.needs_check);

	pool_image_damage(&image, dm_tier_area_start(&super, 0));
	make_device("sda", image.path[0]);
	scan_all();
	assert_int_equal(pools[0].error, -EUCLEAN);
	assert_non_null(strstr(pools[0].cause, "checkpoint"));
	assert_int_equal(pools[0].info.nr_devices, 0);
}

/* What is on a device --------------------------------------------------------------*/

static void expect_signature(int fd, const char *what)
{
	char got[TIER_CAUSE_SIZE];

	assert_int_equal(tier_probe_signature(fd, got), 0);
	assert_string_equal(got, what);
}

static void write_bytes(int fd, const void *bytes, size_t count, off_t offset)
{
	assert_int_equal(pwrite(fd, bytes, count, offset), count);
}

static void write_swap(int fd)
{
	static const u32 version_and_pages[2] = { 1, 1000 };

	write_bytes(fd, version_and_pages, 8, 1024);
	write_bytes(fd, "SWAPSPACE2", 10, 4086);
}

static void write_xfs(int fd)
{
	u8 super[512] = "XFSB";

	super[6] = 0x10;		/* block size 4096 */
	super[14] = 0x04;		/* data blocks */
	super[83] = 1;			/* extent of the realtime part */
	super[86] = 0x04;		/* blocks of an allocation group */
	super[91] = 1;			/* groups */
	super[99] = 4;			/* log blocks */
	super[101] = 4;			/* version */
	super[102] = 2;			/* sector size 512 */
	super[104] = 2;			/* inode size 512 */
	super[107] = 8;			/* inodes a block */
	memcpy(super + 108, "ro\033t", 4);
	super[120] = 12;		/* log2 of block, sector, inode, inodes a block, group */
	super[121] = 9;
	super[122] = 9;
	super[123] = 3;
	super[124] = 10;
	super[127] = 25;		/* inode percentage */
	write_bytes(fd, super, sizeof(super), 0);
}

static void write_partitions(int fd)
{
	static const u8 entry[16] = { 0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0 };

	write_bytes(fd, entry, sizeof(entry), 446);
	write_bytes(fd, "\x55\xaa", 2, 510);
}

static void test_signatures(void **state)
{
	const int fd = image.data[0].fd;
	char cause[TIER_CAUSE_SIZE];

	expect_signature(image.format.metadata.fd,
			 "metadata of the dm-tier pool 706f6f6c-206f-6620-6120-746573742e2e");
	expect_signature(image.data[2].fd,
			 "data device 2 of the dm-tier pool 706f6f6c-206f-6620-6120-746573742e2e");
	assert_int_equal(tier_format_wipe(&image.data[0], cause), 0);
	expect_signature(fd, "");
	write_swap(fd);
	expect_signature(fd, "swap signature");
	assert_int_equal(tier_probe_wipe(fd), 0);
	expect_signature(fd, "");

	write_partitions(fd);
	expect_signature(fd, "dos partition table");
	assert_int_equal(tier_probe_wipe(fd), 0);
	expect_signature(fd, "");

	write_xfs(fd);
	expect_signature(fd, "xfs file system (label ro?t)");
	/* Two at once: neither is hidden, and both go. */
	write_swap(fd);
	expect_signature(fd, "signatures of several file systems");
	write_partitions(fd);
	assert_int_equal(tier_probe_wipe(fd), 0);
	expect_signature(fd, "");
	assert_int_equal(tier_probe_wipe(fd), 0);
}

static void test_own_odd_signatures(void **state)
{
	struct dm_tier_super super = pool_image_super(&image, 0);
	char got[TIER_CAUSE_SIZE] = "kept";
	int fd;

	super.incompat = 1;
	pool_image_write_super(&image, 0, &super);
	expect_signature(image.format.metadata.fd, "metadata of a newer dm-tier");
	super.incompat = 0;
	super.extent_sectors = 1;
	pool_image_write_super(&image, 0, &super);
	pool_image_damage(&image, 256);
	expect_signature(image.format.metadata.fd, "damaged metadata of a dm-tier pool");

	fd = open(image.dir, O_RDONLY | O_CLOEXEC);
	assert_int_equal(tier_probe_signature(fd, got), -EISDIR);
	assert_string_equal(got, "kept");
	close(fd);
}

static void test_probe_open(void **state)
{
	struct tier_probe_device device = { .fd = 77 };
	char cause[TIER_CAUSE_SIZE];
	uint64_t bytes;

	assert_int_equal(tier_probe_open("/nonexistent", &device, cause), -ENOENT);
	assert_string_equal(cause, "cannot find /nonexistent: No such file or directory");
	assert_int_equal(tier_probe_open("/dev/null", &device, cause), -ENOTBLK);
	assert_string_equal(cause, "/dev/null is not a block device");
	assert_int_equal(tier_probe_open(image.path[0], &device, NULL), -ENOTBLK);
	assert_int_equal(device.fd, 77);
	assert_int_equal(tier_probe_size(image.data[0].fd, &bytes), 0);
	assert_int_equal(bytes, image.data[0].bytes);
	assert_int_equal(tier_probe_size(-1, &bytes), -EBADF);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_nothing),
		T(test_system),
		T(test_whole_pool),
		T(test_missing),
		T(test_missing_by_right),
		T(test_metadata_missing),
		T(test_doubled),
		T(test_lower_ones),
		T(test_not_looked_at),
		T(test_obstacles),
		T(test_unreadable),
		T(test_names),
		T(test_behind_a_header),
		T(test_two_pools),
		T(test_bad_metadata),
		T(test_signatures),
		T(test_own_odd_signatures),
		T(test_probe_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
