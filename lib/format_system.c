// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host that a pool belongs to, in its superblocks. The newest one is never written
 * over before the other place holds one that is newer and on disk.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

#include "format_meta.h"
#include "util.h"

int tier_format_system_id(int fd, uint8_t *ret_system_id)
{
	struct tier_format_super found;
	int r = tier_format_read_super(fd, &found);

	if (r)
		return r;
	memcpy(ret_system_id, found.super.system_id, 16);
	return 0;
}

static int write_super(int fd, u32 place, struct dm_tier_super *super)
{
	_cleanup_free_ void *block = tier_format_alloc_blocks(1);
	int r;

	if (!block)
		return -ENOMEM;
	super->version++;
	super->block = tier_format_super_block(place);
	dm_tier_super_encode(super, block);
	r = tier_format_write_blocks(fd, super->block, 1, block);
	return r ?: tier_format_flush(fd);
}

int tier_format_set_system_id(int fd, const uint8_t *system_id, char *ret_cause)
{
	struct tier_format_super found;
	int r = tier_format_read_super(fd, &found);

	/* One that cannot be read might be newer, and its host would win. */
	if (!r && found.unreadable)
		r = -EIO;
	if (r)
		return tier_cause(ret_cause, r, "its superblocks cannot be read: %s", strerror(-r));
	memcpy(found.super.system_id, system_id, 16);
	r = write_super(fd, !found.place, &found.super);
	if (!r)
		r = write_super(fd, found.place, &found.super);
	if (r)
		return tier_cause(ret_cause, r, "its superblocks cannot be written: %s", strerror(-r));
	return 0;
}
