/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool on image files in a temporary folder, for tests of what lib/ does to
 * disks: formatted by lib/format.c, with commits added as the kernel would.
 */
#ifndef TESTS_POOL_IMAGE_H
#define TESTS_POOL_IMAGE_H

#include "format_meta.h"
#include "ring.h"

#define POOL_EXTENT_SECTORS	(1U << 11)	/* 1 MiB */
#define POOL_REGION_SECTORS	(1U << 7)	/* 64 KiB */
#define POOL_LOG_BYTES		(8U << 20)
#define POOL_METADATA_BYTES	(16U << 20)
#define POOL_DATA		3

struct pool_image {
	char dir[64];
	char *path[1 + POOL_DATA];	/* metadata, then data devices */
	struct tier_format_device data[POOL_DATA];
	struct tier_format_pool format;
};

/*
 * Files, open for reading and writing, and what to format: not yet done. Data
 * device i is of tier i and has i + 3 slots.
 */
void pool_image_create(struct pool_image *image);
void pool_image_remove(struct pool_image *image);

/* Reads the ring of the formatted image, positioned behind its last commit. */
void pool_image_read_ring(const struct pool_image *image, struct ring *ret_ring);
void pool_image_write_ring(const struct pool_image *image, const struct ring *ring);

/* The superblock of a place, 0 or 1, must be valid; another, written to that place. */
struct dm_tier_super pool_image_super(const struct pool_image *image, u32 place);
void pool_image_write_super(const struct pool_image *image, u32 place,
			    const struct dm_tier_super *super);

/* Flips a bit of a block of the metadata. */
void pool_image_damage(const struct pool_image *image, u64 block);

#endif
