// SPDX-License-Identifier: GPL-2.0-only
/* Pools on image files, see pool_image.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pool_image.h"

#define MUST(condition)						\
	do {							\
		if (!(condition)) {				\
			perror(#condition);			\
			abort();				\
		}						\
	} while (0)

static int create_file(struct pool_image *image, u32 nr, const char *name, u64 bytes)
{
	int fd;

	MUST(asprintf(&image->path[nr], "%s/%s", image->dir, name) > 0);
	fd = open(image->path[nr], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	MUST(fd >= 0 && !ftruncate(fd, bytes));
	return fd;
}

void pool_image_create(struct pool_image *image)
{
	const char *tmp = getenv("TMPDIR");

	memset(image, 0, sizeof(*image));
	snprintf(image->dir, sizeof(image->dir), "%s/tier-XXXXXX", tmp ? tmp : "/tmp");
	MUST(mkdtemp(image->dir));
	for (u32 i = 0; i < POOL_DATA; i++) {
		struct tier_format_device *data = &image->data[i];
		char name[8];

		snprintf(name, sizeof(name), "data%u", i);
		data->bytes = (1 + i + 3ULL) << 20;
		data->fd = create_file(image, 1 + i, name, data->bytes);
		data->path = image->path[1 + i];
		data->tier = i;
		memset(data->uuid, 0xd0 + i, 16);
	}
	image->format = (struct tier_format_pool){
		.label = "name=pool0",
		.extent_sectors = POOL_EXTENT_SECTORS,
		.region_sectors = POOL_REGION_SECTORS,
		.log_bytes = POOL_LOG_BYTES,
		.logical_block_bytes = 512,
		.data = image->data,
		.nr_data = POOL_DATA,
		.metadata = {
			.bytes = POOL_METADATA_BYTES,
			.fd = create_file(image, 0, "meta", POOL_METADATA_BYTES),
		},
	};
	image->format.metadata.path = image->path[0];
	memcpy(image->format.uuid, "pool of a test..", 16);
	memcpy(image->format.system_id, "system of a test", 16);
}

void pool_image_remove(struct pool_image *image)
{
	close(image->format.metadata.fd);
	for (u32 i = 0; i < POOL_DATA; i++)
		close(image->data[i].fd);
	for (u32 i = 0; i < 1 + POOL_DATA; i++) {
		MUST(!unlink(image->path[i]));
		free(image->path[i]);
	}
	MUST(!rmdir(image->dir));
}

static int count_none(void *ctx, const struct dm_tier_record *rec)
{
	return 0;
}

void pool_image_read_ring(const struct pool_image *image, struct ring *ret_ring)
{
	const struct dm_tier_super super = pool_image_super(image, 0);
	struct dm_tier_log_end end;

	ring_init(ret_ring, super.log_blocks);
	MUST(!tier_format_read_blocks(image->format.metadata.fd, dm_tier_log_start(&super),
				      super.log_blocks, ret_ring->blocks));
	MUST(!dm_tier_log_replay(ret_ring->blocks, super.log_blocks, super.uuid, &super.ckpt[0],
				 0, count_none, NULL, &end));
	memcpy(ret_ring->uuid, super.uuid, 16);
	ret_ring->position = end.position;
	ret_ring->commit = end.commit;
	ret_ring->incarnation = end.incarnation;
	ret_ring->crc = end.crc;
}

void pool_image_write_ring(const struct pool_image *image, const struct ring *ring)
{
	const struct dm_tier_super super = pool_image_super(image, 0);

	MUST(!tier_format_write_blocks(image->format.metadata.fd, dm_tier_log_start(&super),
				       ring->nr, ring->blocks));
}

struct dm_tier_super pool_image_super(const struct pool_image *image, u32 place)
{
	u64 block[DM_TIER_BLOCK_BYTES / 8];
	struct dm_tier_super super;

	MUST(!tier_format_read_blocks(image->format.metadata.fd, tier_format_super_block(place),
				      1, block));
	MUST(!dm_tier_super_decode_at(block, tier_format_super_block(place), &super));
	return super;
}

void pool_image_write_super(const struct pool_image *image, u32 place,
			    const struct dm_tier_super *super)
{
	u64 block[DM_TIER_BLOCK_BYTES / 8];

	struct dm_tier_super copy = *super;

	copy.block = tier_format_super_block(place);
	dm_tier_super_encode(&copy, block);
	MUST(!tier_format_write_blocks(image->format.metadata.fd, tier_format_super_block(place),
				       1, block));
}

void pool_image_damage(const struct pool_image *image, u64 block)
{
	u64 data[DM_TIER_BLOCK_BYTES / 8];

	MUST(!tier_format_read_blocks(image->format.metadata.fd, block, 1, data));
	data[20] ^= 1;
	MUST(!tier_format_write_blocks(image->format.metadata.fd, block, 1, data));
}
