/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool on disk, from user space: formatting its metadata device and labelling
 * its data devices, telling what a device is, and reading a pool's metadata
 * without the kernel. The bytes are those of kernel/dm-tier-format.[ch], by the
 * same code; this header hides the kernel's types.
 *
 * Rules for every call: 0 or -errno, `ret_` outputs only on success (but
 * `ret_cause`, see cause.h). They block for I/O. Descriptors of block devices
 * are opened by tier_probe_open() or tier_format_open(): with O_EXCL to write,
 * with O_DIRECT to read, since the kernel's writes pass the page cache by.
 */
#ifndef TIER_FORMAT_H
#define TIER_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "cause.h"

/* Writing ------------------------------------------------------------------*/

struct tier_format_device {
	const char *path;		/* for causes */
	int fd;
	uint64_t bytes;			/* size */
	/* Of a data device: */
	uint32_t tier;
	uint8_t uuid[16];
};

struct tier_format_pool {
	uint8_t uuid[16];		/* a new one; all UUIDs are the caller's */
	const char *label;		/* "name=pool0", see label.h */
	uint64_t extent_sectors;
	uint64_t region_sectors;
	uint64_t log_bytes;
	uint32_t logical_block_bytes;	/* the largest of all devices' */
	uint8_t system_id[16];		/* of the host that may activate it; zero = any */
	struct tier_format_device metadata;
	const struct tier_format_device *data;
	size_t nr_data;
};

uint64_t tier_format_default_region_sectors(uint64_t extent_sectors);
uint64_t tier_format_default_log_bytes(void);

/* Slots that a data device of this size has; the most that a device may have at most. */
uint64_t tier_format_slots(uint64_t bytes, uint64_t extent_sectors);

/*
 * Size of a metadata device that can take any state of a pool with so many slots
 * (of all devices), and any number of volumes and devices.
 */
uint64_t tier_format_metadata_bytes(uint64_t slots, uint64_t extent_sectors,
				    uint64_t region_sectors, uint64_t log_bytes);

/*
 * Everything that tier_format_pool() refuses, without writing: -EINVAL sizes or
 * tiers out of range, too many devices, a label too long; -ENOSPC a device is too
 * small.
 */
int tier_format_check(const struct tier_format_pool *pool, char *ret_cause);

/*
 * Make the pool: metadata, and labels of all data devices. What was in the
 * metadata and in the first MiB of the data devices is gone. The pool exists
 * once the last write, that of a superblock, is done; an interrupted format
 * leaves none. Devices get their idx in the order of `data`.
 */
int tier_format_pool(const struct tier_format_pool *pool, char *ret_cause);

/* Label one more data device of a pool; the kernel gave its idx. */
int tier_format_label(const struct tier_format_device *device, const uint8_t *pool_uuid,
		      uint32_t idx, char *ret_cause);

/*
 * Make a device forget its pool, if it knows one: both superblocks, or the label.
 * Slots are not touched.
 */
int tier_format_wipe(const struct tier_format_device *device, char *ret_cause);

/*
 * The host that a pool belongs to, of its metadata device; zero: any. Setting it writes both
 * superblocks, the older one first, each flushed: whenever it is cut short there is a valid
 * one, with the old host or the new. Nobody else may have the pool: hold the device.
 * -EBADMSG there is no pool; -EPROTONOSUPPORT; or that of the read or write.
 */
int tier_format_system_id(int fd, uint8_t *ret_system_id);
int tier_format_set_system_id(int fd, const uint8_t *system_id, char *ret_cause);

/* Telling what a device is --------------------------------------------------*/

enum tier_format_kind {
	TIER_FORMAT_NONE,		/* nothing of dm-tier */
	TIER_FORMAT_METADATA,
	TIER_FORMAT_DATA
};

struct tier_format_identity {
	enum tier_format_kind kind;
	uint8_t pool_uuid[16];
	uint8_t device_uuid[16];	/* data */
	uint32_t idx;			/* data */
	uint64_t version;		/* metadata: of the superblock, counts up */
};

/* To read a device or an image file of one. */
int tier_format_open(const char *path, int *ret_fd);

/* -EPROTONOSUPPORT: metadata in a format that only a newer dm-tier knows. */
int tier_format_identify(int fd, struct tier_format_identity *ret_identity);

/* "xxxxxxxx-xxxx-..." into TIER_UUID_SIZE bytes. */
void tier_format_uuid(const uint8_t *uuid, char *ret_text);

/* Reading a pool's metadata -------------------------------------------------*/

/* The insides are in format_meta.h, for the offline tools. */
struct tier_meta;

struct tier_meta_facts {
	uint8_t uuid[16];
	uint8_t system_id[16];
	uint64_t commit;		/* the last whole one */
	uint64_t incarnation;		/* highest in the log */
	uint64_t slots;			/* of all devices */
	bool clean;			/* deactivated cleanly, if it is not active */
	bool needs_check;		/* a rw activation would refuse it ... */
	char damage[TIER_CAUSE_SIZE];	/* ... because of this, else "" */
};

/*
 * Superblock, checkpoint and log of a metadata device, as the kernel would load
 * them, but nothing is written. Of a live pool it is a state that was committed
 * a moment ago. Damage is no failure (facts). Failures: -EBADMSG there is no
 * pool; -EUCLEAN neither checkpoint can be used; -EINVAL a senseless superblock;
 * -EPROTONOSUPPORT; -ENXIO the device is too small; -EAGAIN a live pool wrote
 * too fast; -ENOMEM; or that of the read.
 */
int tier_meta_read(int fd, struct tier_meta **ret_meta, char *ret_cause);
void tier_meta_free(struct tier_meta *meta);

void tier_meta_facts(const struct tier_meta *meta, struct tier_meta_facts *ret_facts);

/*
 * The same as of a live pool (backend.h); one without a name that its device could
 * have is called by its uuid. Mode, moves, and reserved and parked
 * slots, which only the kernel knows, are RW and 0. Cleared by the caller.
 */
int tier_meta_pool_info(const struct tier_meta *meta, struct tier_pool_info *ret_info);

/* The 16 bytes of a device's UUID; idx must be one of pool_info's. */
const uint8_t *tier_meta_device_uuid(const struct tier_meta *meta, uint32_t idx);

#endif
