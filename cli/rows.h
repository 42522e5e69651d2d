/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From pools, volumes and tierd's state to rows of reports: what tps, tvs and
 * tes share. A row points into what it was made from and into itself: both must
 * outlive it, and it must not be moved.
 */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include "client.h"
#include "offline.h"
#include "report.h"
#include "scan.h"
#include "system.h"

struct pool_row {
	struct report_pool pool;
	struct report_pool_disk disk;
	struct report_tierd_pool tierd;
	char system_id[CLI_HOST_TEXT];
	char path[TIER_NAME_SIZE + 16];
	char metadata[256];
	char health[TIER_CAUSE_SIZE];
};

/* Of any pool; health, mode, moves and log are of active ones only and left empty. */
void rows_pool(const struct tier_pool_info *info, const char *state, struct pool_row *ret_row);
/* Of the host that the pool belongs to. */
void rows_pool_disk(const uint8_t system_id[16], struct pool_row *row);
/* How many devices are not there; in health that, or else what was given up. */
void rows_missing(const struct tier_pool_info *info, uint64_t nr_missing, struct pool_row *row);
/* "device 1 was given up: 14 extents give errors"; "" if no extents do. Returns ret_text. */
const char *rows_given_up(const struct tier_pool_info *info, char *ret_text, size_t size);
void rows_active_pool(const struct cli_pool *pool, struct pool_row *ret_row);

/* Empty if tierd does not know the pool, tier or volume. */
void rows_tierd_pool(const struct client_pool *pool, struct report_tierd_pool *ret_row);
void rows_tierd_tier(const struct client_tier *tier, struct report_tierd_tier *ret_row);
void rows_tierd_volume(const struct client_volume *volume, struct report_tierd_volume *ret_row);

/* False: the pool has no device in this tier. */
bool rows_tier(const struct tier_pool_info *info, uint32_t tier, struct report_tier *ret_row);

/* `status` has the I/O counts and may be NULL; `scan` the path. */
void rows_device(const struct tier_pool_info *info, const struct tier_device_info *device,
		 const struct tier_device_status *status, const struct tier_scan *scan,
		 struct report_device *ret_row);

struct volume_row {
	struct report_volume volume;
	char name[TIER_NAME_SIZE];
	char full_name[2 * TIER_NAME_SIZE];
	char path[TIER_NAME_SIZE + 16];
	char pin_until[32];
	char placement[64];
	char tier_extents[TIER_MAX_TIERS * 12];
};

/*
 * `device` is NULL if the volume is not active, `tierd` if tierd does not run or does not
 * know it. 0 or -errno: its extents cannot be read.
 */
int rows_volume(const struct cli_pool *pool, const struct tier_volume_info *volume,
		const struct tier_dm_device *device, const struct client_volume *tierd,
		struct volume_row *ret_row);

/* The path of a pool's device, "" if the scan has not found it. */
const char *rows_device_path(const struct tier_scan *scan, const char *uuid);

#endif
