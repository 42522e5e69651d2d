/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Active pools and volumes: everything that is an ioctl of device-mapper.
 * lib/dm.c is the only user of libdevmapper's ioctl side, lib/dm_backend.c puts
 * the backend interface (backend.h) on top of it.
 *
 * Devices and their names (name.h):
 *	pool	/dev/mapper/<pool>		UUID TIER-<pool uuid>-pool
 *	volume	/dev/mapper/<pool>-<volume>	UUID TIER-<pool uuid>-<volume uuid>
 * A pool that someone made with plain dmsetup has no such UUID; it is found by
 * its target all the same.
 *
 * Rules for every call: 0 or -errno, `ret_` outputs only on success. Needs root.
 * Calls block for one ioctl each; those that make, rename or remove nodes also
 * wait for udev. -ENODEV: there is no such device (any more). -EOPNOTSUPP: this
 * kernel has no device-mapper. Not thread-safe (libdevmapper is not).
 */
#ifndef TIER_DM_H
#define TIER_DM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "cause.h"

#define TIER_DM_UUID_PREFIX	"TIER-"
#define TIER_DM_UUID_SIZE	129

enum tier_dm_kind {
	TIER_DM_POOL,
	TIER_DM_VOLUME,
	/*
	 * Ours by its UUID, but without a live table: what made it was cut short, or
	 * is not done yet. It may hold what a loaded table names.
	 */
	TIER_DM_UNFINISHED
};

struct tier_dm_device {
	enum tier_dm_kind kind;
	char name[TIER_NAME_SIZE];	/* /dev/mapper/<name> */
	char uuid[TIER_DM_UUID_SIZE];	/* "" = it was made by hand */
	uint32_t major;
	uint32_t minor;
	uint32_t event_nr;		/* counts dm events: changed = look again */
	int32_t open_count;
	bool suspended;
	bool read_only;
	uint64_t sectors;		/* of the live table */
	/* Of a volume: */
	uint32_t pool_major;
	uint32_t pool_minor;
	uint32_t volume;		/* its id */
};

/* All tier-pool and tier devices, in no order. Caller frees. */
int tier_dm_list(struct tier_dm_device **ret_devices, size_t *ret_nr_devices);

/* Whether any dm device has that name, whatever its target. */
int tier_dm_exists(const char *name, bool *ret_exists);

/* How many have it open now, udev included. */
int tier_dm_open_count(const char *name, int32_t *ret_count);

/*
 * Parameters of the live table, as `dmsetup table` prints them, and its status.
 * Neither waits for I/O. -ENODEV also if the device is not of that kind. Caller
 * frees.
 */
int tier_dm_table(enum tier_dm_kind kind, const char *name, char **ret_params);
int tier_dm_status(enum tier_dm_kind kind, const char *name, char **ret_params);

/*
 * A message; *ret_answer (caller frees) is "" when there was none. `ret_answer`
 * may be NULL. The kernel's own -errno, with -ENXIO for a device that is not
 * there turned into -ENODEV.
 */
int tier_dm_message(const char *name, const char *message, char **ret_answer);

struct tier_dm_table_line {
	const char *name;
	const char *uuid;		/* only for create; NULL = none */
	const char *target;		/* "tier-pool" or "tier" */
	uint64_t sectors;
	const char *params;
	bool read_only;
	bool is_private;		/* udev rules keep scanners off it */
};

/*
 * Create a device and activate it; nothing is left behind on failure. Load
 * another table into a device and switch to it; the old one stays in force on
 * failure. `ret_cause` (cause.h): what the kernel said when it refused, a
 * sentence that only its log carries; "" if it said nothing. -EEXIST the name or
 * UUID is taken.
 */
int tier_dm_create(const struct tier_dm_table_line *line, char *ret_cause);
int tier_dm_reload(const struct tier_dm_table_line *line, char *ret_cause);

/* Suspend waits for I/O under way (and flushes what is above) unless noflush. */
int tier_dm_suspend(const char *name, bool noflush);
int tier_dm_resume(const char *name);

/*
 * Between the two calls that make, rename or remove devices do not wait for udev: the
 * end does, once for all of them. Until then their nodes may be missing, or still
 * there. -EIO: udev could not be waited for. For one after the other, not to be nested.
 */
void tier_dm_batch_begin(void);
int tier_dm_batch_end(void);

/* -EBUSY: it is open. A device that udev has just opened is tried again for a while. */
int tier_dm_remove(const char *name);
int tier_dm_rename(const char *name, const char *new_name);

/*
 * dm events of all devices through one descriptor, for poll(): POLLIN after an
 * event; then arm it *before* looking at the devices. Kernel 4.13 or later.
 */
int tier_dm_events_open(int *ret_fd);
int tier_dm_events_arm(int fd);

/*
 * A backend for the active pool whose dm device has this name. read_pool (and
 * only it) notices that another pool has taken the name: -ENODEV. `name` of
 * what it reads is tier_name_dm_to_pool() of the device's name. -ENODEV: no such
 * device or not a tier-pool; -ENODATA as read_pool's. tier_dm_backend_close():
 * NULL ops are fine.
 */
int tier_dm_backend_open(const char *name, struct tier_backend *ret_backend);
void tier_dm_backend_close(struct tier_backend *backend);

#endif
