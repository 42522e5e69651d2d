/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May a block device be overwritten? Who uses it, and what is on it: asked
 * before a pool takes it. Needs libblkid. Blocks for I/O; 0 or -errno.
 */
#ifndef TIER_PROBE_H
#define TIER_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "cause.h"

struct tier_probe_device {
	int fd;				/* O_RDWR and O_EXCL: nobody can mount it now */
	uint32_t major;
	uint32_t minor;
	uint64_t bytes;
	uint32_t logical_block_bytes;
	bool zoned;			/* a pool cannot use it */
};

/*
 * Open a block device for nobody but us. -EBUSY: mounted, swap, or part of
 * something, and the cause says what; -ENOTBLK; -EROFS it is read-only; -ENOENT;
 * -EACCES. The caller closes ret_device->fd.
 */
int tier_probe_open(const char *path, struct tier_probe_device *ret_device, char *ret_cause);

/*
 * The same for a file that is an image of a device. -EBUSY: a loop device has
 * it; -ENOTBLK: it is no file either. Major and minor are 0.
 */
int tier_probe_open_file(const char *path, bool write, struct tier_probe_device *ret_device,
			 char *ret_cause);

/* Logical blocks of a block device; 0: it is not there. */
uint32_t tier_probe_logical_bytes(uint32_t major, uint32_t minor);

/* Size of a block device or of a file (an image of one). */
int tier_probe_size(int fd, uint64_t *ret_bytes);

/*
 * What is on a device or image: a phrase like "ext4 file system (label root)",
 * "LVM2_member signature", "gpt partition table", "metadata of the dm-tier pool
 * <uuid>"; "" if nothing that is known. `ret_what`: TIER_CAUSE_SIZE.
 */
int tier_probe_signature(int fd, char *ret_what);

/* Removes every signature that libblkid knows, those at the end too. */
int tier_probe_wipe(int fd);

#endif
