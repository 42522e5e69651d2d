// SPDX-License-Identifier: GPL-2.0-only
/* Rows of reports. */
#include "rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "disks.h"
#include "message.h"
#include "table.h"
#include "util.h"
#include "volume.h"

#define SECTOR_BYTES	512
#define RUNS_AT_ONCE	4096

const char *rows_device_path(const struct tier_scan *scan, const char *uuid)
{
	char text[TIER_UUID_SIZE];

	for (size_t i = 0; scan && i < scan->nr_devices; i++) {
		if (scan->devices[i].identity.kind != TIER_FORMAT_DATA)
			continue;
		tier_format_uuid(scan->devices[i].identity.device_uuid, text);
		if (!strcmp(text, uuid))
			return scan->devices[i].path;
	}
	return "";
}

static bool is_missing(const struct tier_device_info *device)
{
	return device->state == TIER_DEVICE_MISSING || device->state == TIER_DEVICE_FAILED;
}

void rows_pool(const struct tier_pool_info *info, const char *state, struct pool_row *ret_row)
{
	struct report_pool *row = &ret_row->pool;
	bool has_tier[TIER_MAX_TIERS] = { false };

	*ret_row = (struct pool_row){ 0 };
	row->name = info->name;
	row->uuid = info->uuid;
	row->state = state;
	row->extent_size = info->extent_sectors;
	row->region_size = info->region_sectors;
	row->nr_devices = info->nr_devices;
	row->nr_volumes = info->nr_volumes;
	row->needs_check = info->needs_check ? "needs_check" : "";
	row->health = ret_row->health;
	for (size_t i = 0; i < info->nr_devices; i++) {
		const struct tier_device_info *device = &info->devices[i];

		has_tier[device->tier] = true;
		row->nr_missing += is_missing(device);
		if (device->state == TIER_DEVICE_LOST)
			continue;
		row->size += device->total_slots * info->extent_sectors;
		row->used += device->used_slots * info->extent_sectors;
		row->free += tier_device_usable_slots(device) * info->extent_sectors;
	}
	for (int tier = 0; tier < TIER_MAX_TIERS; tier++)
		row->nr_tiers += has_tier[tier];
	row->commit = row->log_used = row->log_size = REPORT_NO_NUMBER;
	row->moves_queued = row->moves_active = row->moves_done = REPORT_NO_NUMBER;
	row->moves_cancelled = row->moves_failed = row->moved = row->rate = REPORT_NO_NUMBER;
}

const char *rows_given_up(const struct tier_pool_info *info, char *ret_text, size_t size)
{
	uint64_t extents = 0, nr_devices = 0;
	uint32_t first = 0;

	for (size_t i = 0; i < info->nr_devices; i++) {
		const struct tier_device_info *device = &info->devices[i];

		if (device->state != TIER_DEVICE_LOST || !device->used_slots)
			continue;
		if (!nr_devices++)
			first = device->idx;
		extents += device->used_slots;
	}
	*ret_text = '\0';
	if (nr_devices == 1)
		snprintf(ret_text, size, "device %u was given up: ", first);
	else if (nr_devices)
		snprintf(ret_text, size, "%" PRIu64 " devices were given up: ", nr_devices);
	if (nr_devices)
		snprintf(ret_text + strlen(ret_text), size - strlen(ret_text),
			 extents == 1 ? "%" PRIu64 " extent gives errors" : "%" PRIu64 " extents give errors",
			 extents);
	return ret_text;
}

/* The worst that is wrong. */
static void describe_health(const struct cli_pool *pool, struct pool_row *row)
{
	const char *text = "";

	switch (pool->info.mode) {
	case TIER_POOL_RW:
		if (row->pool.nr_missing) {
			rows_missing(&pool->info, row->pool.nr_missing, row);
			return;
		}
		if (!pool->info.needs_check) {
			rows_given_up(&pool->info, row->health, sizeof(row->health));
			return;
		}
		text = "the metadata is damaged";
		break;
	case TIER_POOL_OUT_OF_SPACE:
		text = "no space for first writes";
		break;
	case TIER_POOL_META_RO:
		text = "the metadata cannot be written";
		break;
	case TIER_POOL_FAIL:
		text = "the pool has failed, I/O gets errors";
		break;
	}
	snprintf(row->health, sizeof(row->health), "%s", text);
}

void rows_missing(const struct tier_pool_info *info, uint64_t nr_missing, struct pool_row *row)
{
	row->pool.nr_missing = nr_missing;
	if (nr_missing)
		snprintf(row->health, sizeof(row->health), "%" PRIu64 " device%s missing", nr_missing,
			 nr_missing == 1 ? " is" : "s are");
	else
		rows_given_up(info, row->health, sizeof(row->health));
}

void rows_pool_disk(const uint8_t system_id[16], struct pool_row *row)
{
	if (!cli_is_any_host(system_id))
		cli_format_host(system_id, row->system_id);
	row->disk.system_id = row->system_id;
}

static void metadata_path(const struct cli_pool *pool, char *ret_path, size_t size)
{
	_cleanup_free_ char *params = NULL;
	struct tier_pool_table table;

	*ret_path = '\0';
	if (!tier_dm_table(TIER_DM_POOL, pool->device.name, &params) &&
	    !tier_table_parse_pool(params, &table))
		cli_devno_path(table.metadata.major, table.metadata.minor, ret_path, size);
}

void rows_active_pool(const struct cli_pool *pool, struct pool_row *ret_row)
{
	const struct tier_pool_status *status = &pool->status;
	struct report_pool *row = &ret_row->pool;

	rows_pool(&pool->info, "active", ret_row);
	if (pool->device.suspended)
		row->state = "suspended";
	else if (row->nr_missing)
		row->state = "partial";
	else if (pool->device.read_only)
		row->state = "read-only";
	snprintf(ret_row->path, sizeof(ret_row->path), "/dev/mapper/%s", pool->device.name);
	row->path = ret_row->path;
	metadata_path(pool, ret_row->metadata, sizeof(ret_row->metadata));
	row->metadata = ret_row->metadata;
	row->mode = tier_pool_mode_word(pool->info.mode);
	describe_health(pool, ret_row);
	row->commit = status->commit;
	row->log_used = status->used_log_blocks * 8;	/* blocks of 4 KiB */
	row->log_size = status->log_blocks * 8;
	row->moves_queued = status->queued_moves;
	row->moves_active = status->active_moves;
	row->moves_done = status->done_moves;
	row->moves_cancelled = status->cancelled_moves;
	row->moves_failed = status->failed_moves;
	row->moved = status->moved_bytes / SECTOR_BYTES;
	row->rate = status->rate_bytes_per_s / SECTOR_BYTES;
}

void rows_tierd_pool(const struct client_pool *pool, struct report_tierd_pool *ret_row)
{
	struct report_tierd_pool none = {
		.pending_up = REPORT_NO_NUMBER, .pending_down = REPORT_NO_NUMBER,
		.pending_side = REPORT_NO_NUMBER, .up = REPORT_NO_NUMBER,
		.down = REPORT_NO_NUMBER, .side = REPORT_NO_NUMBER,
	};

	*ret_row = !pool ? none : (struct report_tierd_pool){
		.state = pool->state,
		.reason = pool->reason,
		.window = pool->window,
		.rate = pool->rate,
		.pending_up = pool->pending_up_bytes / SECTOR_BYTES,
		.pending_down = pool->pending_down_bytes / SECTOR_BYTES,
		.pending_side = pool->pending_side_bytes / SECTOR_BYTES,
		.up = pool->up_bytes / SECTOR_BYTES,
		.down = pool->down_bytes / SECTOR_BYTES,
		.side = pool->side_bytes / SECTOR_BYTES,
	};
}

void rows_tierd_tier(const struct client_tier *tier, struct report_tierd_tier *ret_row)
{
	struct report_tierd_tier none = {
		.heat = -1, .up = REPORT_NO_NUMBER, .down = REPORT_NO_NUMBER,
		.in = REPORT_NO_NUMBER, .headroom = REPORT_NO_NUMBER,
	};

	*ret_row = !tier ? none : (struct report_tierd_tier){
		.name = tier->name,
		.heat = tier->heat,
		.up = tier->up_bytes / SECTOR_BYTES,
		.down = tier->down_bytes / SECTOR_BYTES,
		.in = tier->in_bytes / SECTOR_BYTES,
		.headroom = tier->headroom_bytes / SECTOR_BYTES,
	};
}

void rows_tierd_volume(const struct client_volume *volume, struct report_tierd_volume *ret_row)
{
	ret_row->heat = volume ? volume->heat : -1;
}

bool rows_tier(const struct tier_pool_info *info, uint32_t tier, struct report_tier *ret_row)
{
	struct report_tier row = { .tier = tier };

	for (size_t i = 0; i < info->nr_devices; i++) {
		const struct tier_device_info *device = &info->devices[i];

		if (device->tier != tier)
			continue;
		row.nr_devices++;
		row.nr_online += device->state == TIER_DEVICE_ONLINE;
		if (device->state == TIER_DEVICE_LOST)
			continue;
		row.size += device->total_slots * info->extent_sectors;
		row.used += device->used_slots * info->extent_sectors;
		row.free += tier_device_usable_slots(device) * info->extent_sectors;
	}
	*ret_row = row;
	return row.nr_devices > 0;
}

void rows_device(const struct tier_pool_info *info, const struct tier_device_info *device,
		 const struct tier_device_status *status, const struct tier_scan *scan,
		 struct report_device *ret_row)
{
	uint64_t extent = info->extent_sectors;

	*ret_row = (struct report_device){
		.idx = device->idx,
		.path = rows_device_path(scan, device->uuid),
		.uuid = device->uuid,
		.state = tier_device_state_word(device->state),
		.size = device->total_slots * extent,
		.used = device->used_slots * extent,
		.free = tier_device_usable_slots(device) * extent,
		.reserved = device->reserved_slots * extent,
		.quarantined = device->quarantined_slots * extent,
		.parked = device->parked_slots * extent,
		.ios = status ? status->ios : REPORT_NO_NUMBER,
		.io_size = status ? status->sectors : REPORT_NO_NUMBER,
		.errors = status ? status->errors : REPORT_NO_NUMBER,
	};
}

/* Extents of a volume on each tier, from its map. */
static int count_tiers(const struct cli_pool *pool, const struct tier_volume_info *volume,
		       uint64_t ret_extents[TIER_MAX_TIERS])
{
	uint64_t extents = volume->sectors / pool->info.extent_sectors, next = 0;
	_cleanup_free_ struct tier_map_run *runs = calloc(RUNS_AT_ONCE, sizeof(*runs));
	uint64_t counts[TIER_MAX_TIERS] = { 0 };
	size_t nr;
	int r;

	if (!runs)
		return -ENOMEM;
	while (next < extents) {
		r = pool->backend.ops->read_map(pool->backend.ctx, volume->id, next, extents - next,
						runs, RUNS_AT_ONCE, &nr, &next);
		if (r)
			return r;
		for (size_t i = 0; i < nr; i++)
			if (runs[i].device != TIER_NO_DEVICE)
				counts[runs[i].tier] += runs[i].count;
	}
	memcpy(ret_extents, counts, sizeof(counts));
	return 0;
}

static int read_tiers(const struct cli_pool *pool, const struct tier_volume_info *volume,
		      const struct tier_dm_device *device, uint64_t ret_extents[TIER_MAX_TIERS])
{
	_cleanup_free_ char *params = NULL;
	struct tier_volume_status status;

	/* The status of an active volume has them ready. */
	if (device && !tier_dm_status(TIER_DM_VOLUME, device->name, &params) &&
	    !tier_status_parse_volume(params, &status)) {
		memcpy(ret_extents, status.tier_extents, sizeof(status.tier_extents));
		return 0;
	}
	return count_tiers(pool, volume, ret_extents);
}

static void format_tiers(const struct tier_pool_info *info,
			 const uint64_t extents[TIER_MAX_TIERS], char *ret_text, size_t size)
{
	uint32_t last = 0;
	size_t used = 0;

	for (size_t i = 0; i < info->nr_devices; i++)
		if (info->devices[i].tier > last)
			last = info->devices[i].tier;
	*ret_text = '\0';
	for (uint32_t tier = 0; tier <= last && used < size; tier++)
		used += snprintf(ret_text + used, size - used, "%s%" PRIu64, tier ? "," : "",
				 extents[tier]);
}

/* tierd knows tierd.conf, if it has seen that the volume has no policy of its own. */
static void fill_default_policy(const struct client_volume *tierd, struct volume_row *row)
{
	bool knows = tierd && (!strcmp(tierd->policy_from, "config") ||
			       !strcmp(tierd->policy_from, "default"));

	row->volume.policy = knows ? tierd->policy : CLI_POLICY_DEFAULT;
	row->volume.policy_from = knows ? tierd->policy_from : "default";
}

static void fill_policy(const struct tier_volume_info *volume, const struct client_volume *tierd,
			struct volume_row *row)
{
	struct tier_label_policy policy;
	time_t until;
	struct tm tm;

	if (tier_label_policy(volume->label, time(NULL), &policy)) {
		row->volume.policy = tier_policy_word(TIER_POLICY_NONE);
		row->volume.policy_from = "error";
		return;
	}
	if (policy.is_set) {
		row->volume.policy = tier_policy_word(policy.policy);
		row->volume.policy_from = policy.pinned ? "pin" : "label";
	} else {
		fill_default_policy(tierd, row);
	}
	until = policy.pin_until_s;
	if (policy.pinned && localtime_r(&until, &tm))
		strftime(row->pin_until, sizeof(row->pin_until), "%Y-%m-%d %H:%M", &tm);
	row->volume.pin_until = row->pin_until;
}

int rows_volume(const struct cli_pool *pool, const struct tier_volume_info *volume,
		const struct tier_dm_device *device, const struct client_volume *tierd,
		struct volume_row *ret_row)
{
	uint64_t extent = pool->info.extent_sectors, tiers[TIER_MAX_TIERS];
	struct volume_row *row = ret_row;
	int r = read_tiers(pool, volume, device, tiers);

	if (r)
		return r;
	*row = (struct volume_row){ 0 };
	cli_volume_name(volume, row->name);
	snprintf(row->full_name, sizeof(row->full_name), "%s/%s", pool->info.name, row->name);
	if (device)
		snprintf(row->path, sizeof(row->path), "/dev/mapper/%s", device->name);
	tier_placement_word(&volume->placement, row->placement);
	format_tiers(&pool->info, tiers, row->tier_extents, sizeof(row->tier_extents));
	fill_policy(volume, tierd, row);
	row->volume.name = row->name;
	row->volume.full_name = row->full_name;
	row->volume.uuid = volume->uuid;
	row->volume.state = !device ? "inactive" : device->suspended ? "suspended" :
			    device->open_count ? "open" : "active";
	row->volume.path = row->path;
	row->volume.placement = row->placement;
	row->volume.tier_extents = row->tier_extents;
	row->volume.label = volume->label;
	row->volume.id = volume->id;
	row->volume.generation = volume->generation;
	row->volume.size = volume->sectors;
	row->volume.nr_extents = volume->sectors / extent;
	row->volume.nr_used_extents = volume->allocated_extents;
	row->volume.used = volume->allocated_extents * extent;
	return 0;
}
