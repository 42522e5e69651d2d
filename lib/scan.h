/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding pools: every block device that carries metadata or a label of ours,
 * sorted into pools, each with what is missing. Reads only. Whether a pool is
 * active is not its business (dm.h knows).
 *
 * Rules for every call: 0 or -errno, `ret_` outputs only on success. Needs root.
 * Blocks for a few reads of each device, and of a pool's metadata for its log.
 */
#ifndef TIER_SCAN_H
#define TIER_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "cause.h"
#include "dm.h"
#include "format.h"

struct tier_scan_device {
	char path[256];			/* /dev/mapper/vg-lv rather than /dev/dm-3 */
	char kernel_name[64];		/* dm-3 */
	uint32_t major;
	uint32_t minor;
	uint64_t bytes;
	struct tier_format_identity identity;
};

/*
 * All devices of dm-tier, in the order of their kernel names. Not looked at are
 * devices without a medium, removable ones, suspended dm devices (a read would
 * hang), active pools and volumes. Of devices with the same content of which one
 * is built on the other (mirror legs, paths) only the topmost counts.
 *
 * A device that cannot be read is left out; *ret_unreadable says how many.
 */
struct tier_scan {
	struct tier_scan_device *devices;
	size_t nr_devices;
	size_t nr_unreadable;
};

int tier_scan_system(struct tier_scan *ret_scan);

/* The same of another tree: in place of /sys/class/block, /dev and what dm.h lists. For tests. */
struct tier_scan_tree {
	const char *sysfs;
	const char *dev;
	const struct tier_dm_device *active;	/* pools and volumes */
	size_t nr_active;
};

int tier_scan_tree(const struct tier_scan_tree *tree, struct tier_scan *ret_scan);

/*
 * Why a pool may not take a device: a scan would not find it, or it is built on a
 * volume of a pool (its own, perhaps). A phrase like "is a removable disk"; NULL: it
 * may.
 */
int tier_scan_obstacle(uint32_t major, uint32_t minor, const char **ret_why);
const char *tier_scan_tree_obstacle(const struct tier_scan_tree *tree, const char *name);

/* For the cleanup attribute too. */
void tier_scan_clear(struct tier_scan *scan);

/* Whether two devices claim to be the same member of the same pool. */
bool tier_scan_is_same(const struct tier_format_identity *a,
		       const struct tier_format_identity *b);

/* A device that the pool's metadata names. */
struct tier_scan_member {
	const struct tier_scan_device *device;	/* NULL: missing */
	bool doubled;				/* more than one claims to be it */
};

struct tier_scan_pool {
	uint8_t uuid[16];
	const struct tier_scan_device *metadata;	/* NULL: not found */
	/*
	 * 0, and the rest is filled in; or why the metadata cannot be used, with a
	 * cause: -ENOENT not found, -ENOTUNIQ more than one device has it, or what
	 * tier_meta_read() said. Damage is no error.
	 */
	int error;
	char cause[TIER_CAUSE_SIZE];
	struct tier_meta_facts facts;
	struct tier_pool_info info;
	struct tier_scan_member members[TIER_MAX_DEVICES];	/* as info.devices */
	size_t nr_missing;		/* but those in state new or lost, which may be */
	size_t nr_doubled;
	size_t nr_foreign;		/* labelled for the pool, but not of it */
};

/* All pools of a scan, which must outlive them. The caller frees with tier_scan_free_pools(). */
int tier_scan_pools(const struct tier_scan *scan, struct tier_scan_pool **ret_pools,
		    size_t *ret_nr_pools);
void tier_scan_free_pools(struct tier_scan_pool *pools, size_t nr_pools);

#endif
