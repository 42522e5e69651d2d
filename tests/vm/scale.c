// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times of a large pool's answers, through the interface that tierd uses:
 *
 *   scale POOL [SINCE [VOLUMES]]
 *   scale touch EXTENT_BYTES STRIDE DEVICE...
 *
 * The second reads a block of every STRIDE-th extent of the devices, taken one after the other. The first prints a line: extents=N pool_ms=T map_ms=T runs=N counters=N counters_ms=T generation=G
 * pool: state, devices and volumes. map: of all volumes. counters: of all volumes, those that changed since generation
 * SINCE (0: all that were ever touched); generation is what to pass next time. Of the first VOLUMES volumes, or all.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"

#define BATCH		4096u
#define BLOCK_BYTES	4096u

static struct tier_backend pool;
static struct tier_pool_info info;
static size_t nr_volumes;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void must(int r, const char *what)
{
	if (r)
		errx(1, "%s: %s", what, strerror(-r));
}

static uint64_t extents_of(const struct tier_volume_info *volume)
{
	return volume->sectors / info.extent_sectors;
}

static uint64_t read_maps(void)
{
	static struct tier_map_run runs[BATCH];
	uint64_t found = 0;

	for (size_t i = 0; i < nr_volumes; i++) {
		uint64_t end = extents_of(&info.volumes[i]), next = 0;
		size_t n;

		while (next < end) {
			must(pool.ops->read_map(pool.ctx, info.volumes[i].id, next, end - next, runs, BATCH,
						&n, &next), "map");
			found += n;
		}
	}
	return found;
}

static uint64_t read_counters(uint64_t since, uint64_t *ret_generation)
{
	static struct tier_counter counters[BATCH];
	uint64_t found = 0;

	for (size_t i = 0; i < nr_volumes; i++) {
		uint64_t end = extents_of(&info.volumes[i]), next = 0;
		struct tier_counter_head head;
		size_t n;

		while (next < end) {
			must(pool.ops->read_counters(pool.ctx, info.volumes[i].id, next, end - next, since,
						     &head, counters, BATCH, &n, &next), "counters");
			if (!i && !*ret_generation)
				*ret_generation = head.counter_generation;
			found += n;
		}
	}
	return found;
}

static int touch(uint64_t extent_bytes, uint64_t stride, char **paths, int nr)
{
	static char block[BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));
	uint64_t extent = 0;

	if (!extent_bytes || !stride)
		errx(2, "touch: EXTENT_BYTES and STRIDE are numbers");
	for (int i = 0; i < nr; i++) {
		int fd = open(paths[i], O_RDONLY | O_DIRECT | O_CLOEXEC);
		off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

		if (size < 0)
			err(1, "%s", paths[i]);
		for (off_t at = 0; at < size; at += (off_t)extent_bytes)
			if (!(extent++ % stride) && pread(fd, block, sizeof(block), at) != sizeof(block))
				err(1, "%s", paths[i]);
		close(fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t since, runs, found, extents = 0, generation = 0;
	double begin, pool_ms, map_ms, counters_ms;

	if (argc > 4 && !strcmp(argv[1], "touch"))
		return touch(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv + 4, argc - 4);
	if (argc < 2 || argc > 4)
		errx(2, "usage: scale POOL [SINCE [VOLUMES]]");
	since = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	must(tier_dm_backend_open(argv[1], &pool), argv[1]);
	begin = now_ms();
	must(pool.ops->read_pool(pool.ctx, &info), "pool");
	pool_ms = now_ms() - begin;
	nr_volumes = argc > 3 ? strtoul(argv[3], NULL, 10) : info.nr_volumes;
	if (nr_volumes > info.nr_volumes)
		errx(2, "there are %zu volumes", info.nr_volumes);
	for (size_t i = 0; i < nr_volumes; i++)
		extents += extents_of(&info.volumes[i]);
	begin = now_ms();
	runs = read_maps();
	map_ms = now_ms() - begin;
	begin = now_ms();
	found = read_counters(since, &generation);
	counters_ms = now_ms() - begin;
	printf("extents=%" PRIu64 " pool_ms=%.0f map_ms=%.0f runs=%" PRIu64 " counters=%" PRIu64
	       " counters_ms=%.0f generation=%" PRIu64 "\n",
	       extents, pool_ms, map_ms, runs, found, counters_ms, generation);
	tier_pool_info_clear(&info);
	tier_dm_backend_close(&pool);
	return 0;
}
