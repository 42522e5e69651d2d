// SPDX-License-Identifier: GPL-2.0-only
/*
 * tps: a report of pools. A row is a pool, or a tier or device of one, whichever
 * is the finest thing that a column asks for. Pools that are not active are
 * shown as their metadata says.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "util.h"

enum { OPTION_TIERS = CLI_LONG_ONLY, OPTION_DEVICES };

static const struct cli_option options[] = {
	{ OPTION_TIERS, "tiers", NULL, "a row for each tier" },
	{ OPTION_DEVICES, "devices", NULL, "a row for each device" },
	REPORT_OPTIONS("pool_used_percent>=80 || pool_state!=active"),
	{ 0 }
};

#define POOL_TYPES	(REPORT_POOL | REPORT_POOL_DISK | REPORT_TIER | REPORT_DEVICE | REPORT_TIERD_POOL | \
			 REPORT_TIERD_TIER)

static const struct report_kind by_pool = {
	.name = "pool",
	.types = POOL_TYPES,
	.main_type = REPORT_POOL,
	.columns = "pool_name,pool_state,pool_mode,tier_count,dev_count,vol_count,pool_size,"
		   "pool_used,pool_free,pool_used_percent",
	.sort_keys = "pool_name",
};

static const struct report_kind by_tier = {
	.name = "pool",
	.types = POOL_TYPES,
	.main_type = REPORT_TIER,
	.columns = "pool_name,tier,tier_dev_count,tier_size,tier_used,tier_free,tier_used_percent",
	.sort_keys = "pool_name,tier",
};

static const struct report_kind by_device = {
	.name = "pool",
	.types = POOL_TYPES,
	.main_type = REPORT_DEVICE,
	.columns = "pool_name,tier,dev_idx,dev_path,dev_state,dev_size,dev_used,dev_free,dev_errors",
	.sort_keys = "pool_name,tier,dev_idx",
};

/* What the rows are made from. */
struct source {
	struct cli *cli;
	struct report *report;
	uint32_t types;
	struct tier_scan scan;
	struct tier_scan_pool *pools;	/* of the scan */
	size_t nr_pools;
	struct client_state tierd;
};

static void source_clear(struct source *source)
{
	report_close(&source->report);
	tier_scan_free_pools(source->pools, source->nr_pools);
	tier_scan_clear(&source->scan);
	client_state_clear(&source->tierd);
}

static enum cli_exit tier_rows(struct source *source, const struct tier_pool_info *info,
			       const struct tier_pool_status *status, struct pool_row *pool)
{
	struct report_row row = {
		.pool = &pool->pool, .pool_disk = &pool->disk, .tierd_pool = &pool->tierd,
	};
	struct report_tierd_tier tierd_tier;
	enum cli_exit code = CLI_OK;
	struct report_device device;
	struct report_tier tier;

	for (uint32_t t = 0; t < TIER_MAX_TIERS; t++) {
		if (!rows_tier(info, t, &tier))
			continue;
		rows_tierd_tier(client_find_tier(&source->tierd, info->name, t), &tierd_tier);
		row.tier = &tier;
		row.tierd_tier = &tierd_tier;
		if (!(source->types & REPORT_DEVICE)) {
			code = report_row(source->report, &row);
			continue;
		}
		for (size_t i = 0; !code && i < info->nr_devices; i++) {
			const struct tier_device_status *device_status = NULL;

			if (info->devices[i].tier != t)
				continue;
			for (uint32_t j = 0; status && j < status->nr_devices; j++)
				if (status->devices[j].idx == info->devices[i].idx)
					device_status = &status->devices[j];
			rows_device(info, &info->devices[i], device_status, &source->scan, &device);
			row.device = &device;
			code = report_row(source->report, &row);
		}
	}
	return code;
}

static enum cli_exit rows(struct source *source, const struct tier_pool_info *info,
			  const struct tier_pool_status *status, struct pool_row *pool)
{
	struct report_row row = {
		.pool = &pool->pool, .pool_disk = &pool->disk, .tierd_pool = &pool->tierd,
	};
	char uuid[TIER_UUID_SIZE];

	for (size_t i = 0; i < source->nr_pools; i++) {
		const struct tier_scan_pool *scan = &source->pools[i];

		tier_format_uuid(scan->uuid, uuid);
		if (!scan->error && !strcmp(uuid, info->uuid))
			rows_pool_disk(scan->facts.system_id, pool);
	}
	rows_tierd_pool(client_find_pool(&source->tierd, info->uuid), &pool->tierd);
	if (source->types & (REPORT_TIER | REPORT_DEVICE | REPORT_TIERD_TIER))
		return tier_rows(source, info, status, pool);
	return report_row(source->report, &row);
}

/* `active` is the pool, if it is active. */
static bool is_wanted(struct cli *cli, const struct cli_system *system,
		      const struct cli_pool *active, const struct tier_pool_info *info, bool *found)
{
	bool is_named = !cli->nr_words;

	for (int i = 0; i < cli->nr_words; i++) {
		if (active ? cli_system_pool(system, cli->words[i]) == active :
			     !strcmp(cli->words[i], info->name) ||
			     !strcmp(cli->words[i], info->uuid)) {
			found[i] = true;
			is_named = true;
		}
	}
	return is_named;
}

static const char *inactive_state(const struct tier_scan_pool *pool)
{
	if (pool->error == -ENOTUNIQ || pool->nr_doubled)
		return "doubled";
	if (pool->error)
		return pool->metadata ? "unreadable" : "no metadata";
	if (cli_offline_is_foreign(pool))
		return "foreign";
	return pool->nr_missing ? "incomplete" : "inactive";
}

/* The metadata of a pool that is not active say what its devices were. */
static void find_missing(struct tier_scan_pool *pool)
{
	for (size_t i = 0; i < pool->info.nr_devices; i++) {
		struct tier_device_info *device = &pool->info.devices[i];

		if (!pool->members[i].device && device->state != TIER_DEVICE_NEW &&
		    device->state != TIER_DEVICE_LOST)
			device->state = TIER_DEVICE_MISSING;
	}
}

/* Unless something worse is wrong with it: only one of these pools can be active. */
static void say_same_name(const struct source *source, const struct cli_system *system,
			  const struct tier_pool_info *info, struct pool_row *row)
{
	const char *text = "";

	for (size_t i = 0; i < source->nr_pools; i++)
		if (!source->pools[i].error && strcmp(source->pools[i].info.uuid, info->uuid) &&
		    !strcmp(source->pools[i].info.name, info->name))
			text = "another pool has this name";
	if (cli_system_pool(system, info->name))
		text = "another active pool has this name";
	if (!*row->health)
		snprintf(row->health, sizeof(row->health), "%s", text);
}

static enum cli_exit inactive_rows(struct source *source, const struct cli_system *system,
				   bool *found)
{
	enum cli_exit code = CLI_OK;

	for (size_t i = 0; !code && i < source->nr_pools; i++) {
		struct tier_scan_pool *scan = &source->pools[i];
		struct tier_pool_info *info = &scan->info;
		char uuid[TIER_UUID_SIZE];
		struct pool_row pool;

		tier_format_uuid(scan->uuid, uuid);
		if (cli_system_pool(system, uuid))
			continue;
		if (scan->error) {
			/* All that is known is what the labels say. */
			*info = (struct tier_pool_info){ 0 };
			memcpy(info->uuid, uuid, sizeof(uuid));
			memcpy(info->name, uuid, sizeof(uuid));
		}
		find_missing(scan);
		if (!is_wanted(source->cli, system, NULL, info, found))
			continue;
		rows_pool(info, inactive_state(scan), &pool);
		if (scan->error)
			snprintf(pool.health, sizeof(pool.health), "%s", scan->cause);
		else
			rows_missing(info, scan->nr_missing, &pool);
		say_same_name(source, system, info, &pool);
		if (scan->metadata)
			pool.pool.metadata = scan->metadata->path;
		code = rows(source, info, NULL, &pool);
	}
	return code;
}

/* A pool whose device is there, but which the kernel could not load: the rest is as on the disks. */
static enum cli_exit unloaded_rows(struct source *source, const struct cli_pool *active)
{
	struct tier_pool_info info = active->info;
	char uuid[TIER_UUID_SIZE], path[TIER_NAME_SIZE + 16];
	const struct tier_scan_pool *scan = NULL;
	struct pool_row pool;

	for (size_t i = 0; i < source->nr_pools; i++) {
		tier_format_uuid(source->pools[i].uuid, uuid);
		if (!strcmp(uuid, info.uuid) && !source->pools[i].error)
			scan = &source->pools[i];
	}
	if (scan) {
		info = scan->info;	/* lent */
		memcpy(info.name, active->info.name, sizeof(info.name));
	}
	rows_pool(&info, "failed", &pool);
	if (scan) {
		rows_missing(&info, scan->nr_missing, &pool);
		pool.pool.metadata = scan->metadata->path;
	}
	pool.pool.mode = tier_pool_mode_word(active->info.mode);
	snprintf(path, sizeof(path), "/dev/mapper/%s", active->device.name);
	pool.pool.path = path;
	snprintf(pool.health, sizeof(pool.health), "%s", TIER_NOT_LOADED_TEXT);
	cli_warn(source->cli, "pool %s: " TIER_NOT_LOADED_TEXT, info.name);
	return rows(source, &info, NULL, &pool);
}

static enum cli_exit read_tierd(struct cli *cli, struct client_state *ret_state)
{
	_cleanup_(client_close) struct client *client = NULL;
	enum cli_exit code = client_open(cli, &client);

	return code ? code : client_read_state(cli, client, ret_state);
}

static enum cli_exit take_options(struct cli *cli, const struct report_kind **ret_kind,
				  struct report_options *ret_options)
{
	enum cli_exit code;
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		if (id == OPTION_TIERS) {
			*ret_kind = &by_tier;
			continue;
		}
		if (id == OPTION_DEVICES) {
			*ret_kind = &by_device;
			continue;
		}
		code = report_take_option(cli, id, ret_options);
		if (code)
			return code;
	}
	return id < 0 ? cli->exit : CLI_OK;
}

static enum cli_exit all_rows(struct source *source, const struct cli_system *system)
{
	struct cli *cli = source->cli;
	_cleanup_free_ bool *found = calloc(cli->nr_words + 1, sizeof(*found));
	enum cli_exit code = CLI_OK;
	struct pool_row row;

	if (!found)
		return cli_failed(cli, NULL, "out of memory");
	for (size_t i = 0; !code && i < system->nr_pools; i++) {
		if (!is_wanted(cli, system, &system->pools[i], &system->pools[i].info, found))
			continue;
		if (!system->pools[i].is_loaded) {
			code = unloaded_rows(source, &system->pools[i]);
			continue;
		}
		rows_active_pool(&system->pools[i], &row);
		code = rows(source, &system->pools[i].info, &system->pools[i].status, &row);
	}
	if (!code)
		code = inactive_rows(source, system, found);
	if (!code)
		code = report_print(source->report);
	for (int i = 0; !code && i < cli->nr_words; i++)
		if (!found[i])
			code = cli_failed(cli, "`tps` without a name lists all pools.",
					  "there is no pool '%s'", cli->words[i]);
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(source_clear) struct source source = { .cli = cli };
	const struct report_kind *kind = &by_pool;
	struct report_options report_options = { 0 };
	enum cli_exit code = take_options(cli, &kind, &report_options);
	int r;

	if (!code)
		code = report_open(cli, kind, &report_options, &source.report, &source.types);
	if (!code)
		code = cli_system_read(cli, &system);
	if (code)
		return code;
	r = tier_scan_system(&source.scan);
	if (!r)
		r = tier_scan_pools(&source.scan, &source.pools, &source.nr_pools);
	if (r)
		return cli_failed(cli, NULL, "cannot look for pools on the block devices: %s",
				  cli_reason(r));
	if (source.scan.nr_unreadable)
		cli_detail(cli, "%zu block devices could not be read.", source.scan.nr_unreadable);
	if (source.types & (REPORT_TIERD_POOL | REPORT_TIERD_TIER))
		code = read_tierd(cli, &source.tierd);
	return code ? code : all_rows(&source, &system);
}

const struct cli_command cmd_tps = {
	.name = "tps",
	.is_applet = true,
	.summary = "report on pools, their tiers and devices",
	.words = "[POOL...]",
	.max_words = -1,
	.options = options,
	.run = run,
};
