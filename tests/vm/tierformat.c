// SPDX-License-Identifier: GPL-2.0-only
/*
 * Formats a pool and prints its table line, so that kernel suites need nothing
 * of the CLI:
 *
 *   tierformat [-e extent_kib] [-r region_kib] [-l log_kib] [-u byte] META TIER:DEV...
 *
 * UUIDs are fixed (the pool: all bytes 0xab or -u; device i: all bytes i + 1), so that suites can name devices. The pool's logical block is the
 * largest of its data devices'.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/fs.h>

#include "format.h"

static void open_device(struct tier_format_device *device, const char *path)
{
	device->path = path;
	device->fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC);
	if (device->fd < 0)
		err(1, "%s", path);
	if (ioctl(device->fd, BLKGETSIZE64, &device->bytes))
		err(1, "%s: size", path);
}

static void add_device(struct tier_format_pool *pool, struct tier_format_device *device, char *word,
		       int number)
{
	char *path = strchr(word, ':');
	int block_bytes;

	if (!path)
		errx(1, "%s: expected TIER:DEV", word);
	*path++ = '\0';
	device->tier = (uint32_t)atoi(word);
	memset(device->uuid, number + 1, sizeof(device->uuid));
	open_device(device, path);
	if (ioctl(device->fd, BLKSSZGET, &block_bytes))
		err(1, "%s: logical block", path);
	if ((uint32_t)block_bytes > pool->logical_block_bytes)
		pool->logical_block_bytes = (uint32_t)block_bytes;
}

int main(int argc, char **argv)
{
	struct tier_format_device data[TIER_MAX_DEVICES] = { 0 };
	struct tier_format_pool pool = {
		.label = "name=test", .extent_sectors = 2048, .region_sectors = 128,
		.log_bytes = 8 << 20, .logical_block_bytes = 512, .data = data,
	};
	char cause[TIER_CAUSE_SIZE] = "";
	int option, r, i;

	memset(pool.uuid, 0xab, sizeof(pool.uuid));
	while ((option = getopt(argc, argv, "e:r:l:u:")) != -1) {
		unsigned long number = strtoul(optarg, NULL, 0);

		if (option == 'e')
			pool.extent_sectors = number * 2;
		else if (option == 'r')
			pool.region_sectors = number * 2;
		else if (option == 'l')
			pool.log_bytes = number * 1024;
		else if (option == 'u')
			memset(pool.uuid, (int)number, sizeof(pool.uuid));
		else
			return 3;
	}
	if (argc - optind < 2)
		errx(3, "expected META TIER:DEV...");
	open_device(&pool.metadata, argv[optind]);
	for (i = optind + 1; i < argc; i++)
		add_device(&pool, &data[pool.nr_data++], argv[i], i - optind - 1);
	r = tier_format_pool(&pool, cause);
	if (r)
		errx(1, "%s (%s)", cause, strerror(-r));
	printf("0 %llu tier-pool %s %zu", (unsigned long long)pool.extent_sectors,
	       pool.metadata.path, pool.nr_data);
	for (i = 0; i < (int)pool.nr_data; i++)
		printf(" %s", data[i].path);
	printf("\n");
	return 0;
}
