// SPDX-License-Identifier: GPL-2.0-only
/* Whole blocks of a device, superblocks, and what a device is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "dm-tier-args.h"
#include "format_meta.h"
#include "util.h"

#define ZERO_BLOCKS 256		/* written at once */

void *tier_format_alloc_blocks(u64 count)
{
	return aligned_alloc(DM_TIER_BLOCK_BYTES, count * DM_TIER_BLOCK_BYTES);
}

int tier_format_read_blocks(int fd, u64 block, u64 count, void *ret_blocks)
{
	u64 bytes = count * DM_TIER_BLOCK_BYTES, done = 0;

	while (done < bytes) {
		const ssize_t n = pread(fd, (u8 *)ret_blocks + done, bytes - done,
					block * DM_TIER_BLOCK_BYTES + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -ENXIO;
		done += n;
	}
	return 0;
}

int tier_format_write_blocks(int fd, u64 block, u64 count, const void *blocks)
{
	u64 bytes = count * DM_TIER_BLOCK_BYTES, done = 0;

	while (done < bytes) {
		const ssize_t n = pwrite(fd, (const u8 *)blocks + done, bytes - done,
					 block * DM_TIER_BLOCK_BYTES + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;
		done += n;
	}
	return 0;
}

int tier_format_zero_blocks(int fd, u64 block, u64 count)
{
	_cleanup_free_ void *zeros = tier_format_alloc_blocks(ZERO_BLOCKS);
	int r = 0;

	if (!zeros)
		return -ENOMEM;
	memset(zeros, 0, ZERO_BLOCKS * DM_TIER_BLOCK_BYTES);
	while (count && !r) {
		const u64 part = min_t(u64, count, ZERO_BLOCKS);

		r = tier_format_write_blocks(fd, block, part, zeros);
		block += part;
		count -= part;
	}
	return r;
}

u64 tier_format_super_block(u32 place)
{
	return place ? DM_TIER_SUPER_BLOCK_1 : DM_TIER_SUPER_BLOCK_0;
}

int tier_format_read_super(int fd, struct tier_format_super *ret_super)
{
	_cleanup_free_ void *block = tier_format_alloc_blocks(1);
	struct tier_format_super best = {};
	struct dm_tier_super super;
	int error = -EBADMSG, r;
	bool found = false;

	if (!block)
		return -ENOMEM;
	for (u32 place = 0; place < 2; place++) {
		r = tier_format_read_blocks(fd, tier_format_super_block(place), 1, block);
		if (r) {
			/* A device too small for a place has no superblock there. */
			if (r == -ENXIO)
				continue;
			best.unreadable = true;
			error = r;
			continue;
		}
		r = dm_tier_super_decode_at(block, tier_format_super_block(place), &super);
		/* Half way through a change of features the old half counts no more. */
		if (r == -EPROTONOSUPPORT)
			return r;
		if (r == -EINVAL && error == -EBADMSG)
			error = r;
		if (r || (found && super.version <= best.super.version))
			continue;
		best.super = super;
		best.place = place;
		found = true;
	}
	if (!found)
		return error;
	*ret_super = best;
	return 0;
}

int tier_format_open(const char *path, int *ret_fd)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int direct;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode)) {
		*ret_fd = fd;
		fd = -1;
		return 0;
	}
	if (!S_ISBLK(st.st_mode))
		return -ENOTBLK;
	direct = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	if (direct < 0)
		return -errno;
	*ret_fd = direct;
	return 0;
}

int tier_format_identify(int fd, struct tier_format_identity *ret_identity)
{
	_cleanup_free_ void *block = tier_format_alloc_blocks(1);
	struct tier_format_identity identity = {};
	struct tier_format_super found;
	struct dm_tier_label label;
	int r;

	if (!block)
		return -ENOMEM;
	r = tier_format_read_blocks(fd, 0, 1, block);
	if (r && r != -ENXIO)
		return r;
	if (!r && !dm_tier_label_decode(block, &label)) {
		identity.kind = TIER_FORMAT_DATA;
		identity.idx = label.idx;
		memcpy(identity.pool_uuid, label.pool_uuid, 16);
		memcpy(identity.device_uuid, label.device_uuid, 16);
		*ret_identity = identity;
		return 0;
	}
	r = tier_format_read_super(fd, &found);
	if (!r) {
		identity.kind = TIER_FORMAT_METADATA;
		identity.version = found.super.version;
		memcpy(identity.pool_uuid, found.super.uuid, 16);
	} else if (r != -EBADMSG) {
		return r;
	}
	*ret_identity = identity;
	return 0;
}

void tier_format_uuid(const uint8_t *uuid, char *ret_text)
{
	dm_tier_format_uuid(uuid, ret_text);
}
