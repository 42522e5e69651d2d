/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block devices that commands are given: from what the user wrote to something
 * that may be written. Held exclusively from cli_open_disk() on, so that nobody
 * mounts one while the command looks and writes.
 *
 * Functions that return an exit code have said what is wrong.
 */
#ifndef CLI_DISKS_H
#define CLI_DISKS_H

#include "cli.h"
#include "format.h"
#include "probe.h"

struct cli_disk {
	char path[256];
	uint32_t tier;			/* of a data device */
	struct tier_probe_device probe;	/* fd -1: not open */
	char signature[TIER_CAUSE_SIZE];	/* what is on it, "" = nothing known */
};

/* A path as the user wrote it: /dev/vg/lv, or vg/lv. */
enum cli_exit cli_take_path(struct cli *cli, const char *word, struct cli_disk *ret_disk);

/* "<tier>:<path>", the value of --tier. */
enum cli_exit cli_take_tier(struct cli *cli, const char *word, struct cli_disk *ret_disk);

/*
 * Open it, if nobody uses it, it is none of `others`, and a pool can use it; look
 * for signatures. Nothing is written.
 */
enum cli_exit cli_open_disk(struct cli *cli, struct cli_disk *disk,
			    const struct cli_disk *others, size_t nr_others);
void cli_close_disk(struct cli_disk *disk);

/* Whether what is on it may go: there is nothing, or the user says so. */
enum cli_exit cli_may_wipe(struct cli *cli, const struct cli_disk *disk, bool wipe_signatures);

/* Removes the signatures, if there were any. */
enum cli_exit cli_wipe_disk(struct cli *cli, const struct cli_disk *disk);

/* How many extents fit on it; 0: none, and that has been said. Says, too, if some of it cannot be used. */
uint64_t cli_disk_slots(struct cli *cli, const struct cli_disk *disk, uint64_t extent_sectors);

/* For lib/format.c; a new UUID. */
void cli_format_device(const struct cli_disk *disk, struct tier_format_device *ret_device);

/* A path of the device with this number, /dev/mapper/<name> for dm; "" if it is not there. */
void cli_devno_path(uint32_t major, uint32_t minor, char *ret_path, size_t size);

#endif
