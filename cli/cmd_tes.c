// SPDX-License-Identifier: GPL-2.0-only
/*
 * tes: a report of the extents of volumes: where each lies, what it counted, and
 * (of tierd) how hot it is and why it moves or stays. Extents without a slot are
 * left out unless asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "rows.h"
#include "util.h"
#include "volume.h"

static const struct cli_option options[] = {
	{ 'a', "all", NULL, "extents without space, too" },
	REPORT_OPTIONS("ext_tier=1 && ext_reads>1000"),
	{ 0 }
};

static const struct report_kind kind = {
	.name = "extent",
	.types = REPORT_POOL | REPORT_VOLUME | REPORT_EXTENT | REPORT_TIER | REPORT_DEVICE |
		 REPORT_TIERD_EXTENT,
	.main_type = REPORT_EXTENT,
	.columns = "pool_name,vol_name,extent,ext_tier,ext_dev,ext_slot,ext_valid,ext_reads,"
		   "ext_writes",
	.sort_keys = "pool_name,vol_name,extent",
};

/* Extents looked at together; tierd's limit is above it. */
#define EXTENTS_AT_ONCE	16384

/* So many are kept in memory without a word: 200 MB. */
#define MANY_ROWS	250000

struct source {
	struct cli *cli;
	struct report *report;
	uint32_t types;
	bool all, unbuffered;
	uint64_t nr_rows;
	struct tier_scan scan;
	struct client *client;
	struct client_state tierd;	/* for policies */
	struct tier_map_run *runs;
	struct tier_counter *counters;
};

static void source_clear(struct source *source)
{
	report_close(&source->report);
	tier_scan_clear(&source->scan);
	client_close(&source->client);
	client_state_clear(&source->tierd);
	free(source->runs);
	free(source->counters);
}

/* One volume, and the stretch of it that is being reported. */
struct stretch {
	const struct cli_pool *pool;
	const struct tier_volume_info *volume;
	struct pool_row pool_row;
	struct volume_row volume_row;
	uint64_t first, end;
	size_t nr_runs, nr_counters;
	size_t counter, heat;		/* next ones to be used; all are in ascending order */
	struct client_extents heats;
};

/* Fills `row` with the tier and device that an extent lies on; empty if on none. */
static void place(const struct source *source, const struct stretch *stretch, uint32_t idx,
		  struct report_tier *tier, struct report_device *device)
{
	const struct tier_pool_info *info = &stretch->pool->info;

	*tier = (struct report_tier){ REPORT_NO_NUMBER, REPORT_NO_NUMBER, REPORT_NO_NUMBER,
				      REPORT_NO_NUMBER, REPORT_NO_NUMBER, REPORT_NO_NUMBER };
	*device = (struct report_device){ .idx = REPORT_NO_NUMBER };
	for (size_t i = 0; i < info->nr_devices; i++) {
		if (info->devices[i].idx != idx)
			continue;
		rows_tier(info, info->devices[i].tier, tier);
		rows_device(info, &info->devices[i], NULL, &source->scan, device);
	}
}

static void fill_counts(const struct source *source, struct stretch *stretch,
			struct report_extent *row)
{
	const struct tier_counter *counter = &source->counters[stretch->counter];

	if (stretch->counter == stretch->nr_counters || counter->extent != row->number)
		return;
	row->reads = counter->reads;
	row->writes = counter->writes;
	row->read_size = counter->read_sectors;
	row->write_size = counter->write_sectors;
	row->sequential = counter->sequential_ios;
	row->large = counter->large_ios;
	stretch->counter++;
}

static void fill_heat(struct stretch *stretch, uint64_t extent, struct report_tierd_extent *row)
{
	const struct client_extents *heats = &stretch->heats;

	*row = (struct report_tierd_extent){ .heat = 0, .reason = "-" };
	while (stretch->heat < heats->nr_extents && heats->extents[stretch->heat].extent < extent)
		stretch->heat++;
	if (stretch->heat == heats->nr_extents || heats->extents[stretch->heat].extent != extent)
		return;
	row->heat = heats->extents[stretch->heat].heat;
	row->reason = heats->extents[stretch->heat].reason;
}

static enum cli_exit report_run(struct source *source, struct stretch *stretch,
				const struct tier_map_run *run)
{
	bool has_slot = run->device != TIER_NO_DEVICE;
	struct report_tierd_extent tierd_extent;
	struct report_device device;
	struct report_extent extent;
	struct report_tier tier;
	struct report_row row = {
		.pool = &stretch->pool_row.pool, .volume = &stretch->volume_row.volume,
		.tier = &tier, .device = &device, .extent = &extent,
		.tierd_extent = &tierd_extent,
	};
	enum cli_exit code = CLI_OK;

	place(source, stretch, run->device, &tier, &device);
	for (uint64_t i = 0; !code && i < run->count; i++) {
		extent = (struct report_extent){
			.number = run->first + i,
			.tier = has_slot ? run->tier : REPORT_NO_NUMBER,
			.device = has_slot ? run->device : REPORT_NO_NUMBER,
			.slot = has_slot ? run->slot + i : REPORT_NO_NUMBER,
			.valid_regions = run->valid_regions,
		};
		fill_counts(source, stretch, &extent);
		fill_heat(stretch, extent.number, &tierd_extent);
		if (!has_slot && !source->all)
			continue;
		if (++source->nr_rows == MANY_ROWS && !source->unbuffered)
			cli_warn(source->cli, "so many extents need much memory, 0.8 GB for a million; "
				 "--unbuffered shows them as they come");
		code = report_row(source->report, &row);
	}
	return code;
}

/* Map, counters and heat of a stretch, as far as all of them go. */
static enum cli_exit read_stretch(struct source *source, struct stretch *stretch, char *volume)
{
	const struct tier_backend *backend = &stretch->pool->backend;
	struct tier_counter_head head;
	uint64_t next;
	int r;

	r = backend->ops->read_map(backend->ctx, stretch->volume->id, stretch->first,
				   stretch->end - stretch->first, source->runs, EXTENTS_AT_ONCE,
				   &stretch->nr_runs, &stretch->end);
	if (!r)
		r = backend->ops->read_counters(backend->ctx, stretch->volume->id, stretch->first,
						stretch->end - stretch->first, 0, &head,
						source->counters, EXTENTS_AT_ONCE,
						&stretch->nr_counters, &next);
	if (r)
		return cli_failed(source->cli, "Try again if the volume has just been changed.",
				  "volume %s: cannot read its extents: %s", volume, cli_reason(r));
	stretch->counter = stretch->heat = 0;
	client_extents_clear(&stretch->heats);
	if (!source->client)
		return CLI_OK;
	return client_extents(source->cli, source->client, volume, stretch->first,
			      stretch->end - stretch->first, &stretch->heats);
}

static enum cli_exit volume_rows(struct source *source, const struct cli_system *system,
				 const struct cli_pool *pool, const struct tier_volume_info *volume)
{
	uint64_t extents = volume->sectors / pool->info.extent_sectors;
	struct stretch stretch = { .pool = pool, .volume = volume };
	enum cli_exit code = CLI_OK;
	int r;

	rows_active_pool(pool, &stretch.pool_row);
	r = rows_volume(pool, volume, cli_volume_device(system, pool, volume->id),
			client_find_volume(&source->tierd, volume->uuid), &stretch.volume_row);
	if (r == -ENOENT || r == -ENODEV)
		return CLI_OK;		/* removed meanwhile */
	if (r)
		return cli_failed(source->cli, NULL, "pool %s: cannot read volume %u: %s",
				  pool->info.name, volume->id, cli_reason(r));
	while (!code && stretch.first < extents) {
		stretch.end = stretch.first + EXTENTS_AT_ONCE;
		if (stretch.end > extents)
			stretch.end = extents;
		code = read_stretch(source, &stretch, stretch.volume_row.full_name);
		for (size_t i = 0; !code && i < stretch.nr_runs; i++)
			code = report_run(source, &stretch, &source->runs[i]);
		stretch.first = stretch.end;
	}
	client_extents_clear(&stretch.heats);
	return code;
}

/* Without words everything; a word is a pool or <pool>/<volume>. */
static enum cli_exit word_rows(struct source *source, const struct cli_system *system,
			       const char *word)
{
	const struct tier_volume_info *volume = NULL;
	enum cli_exit code = CLI_OK;
	struct cli_pool *pool = NULL;

	if (strchr(word, '/')) {
		code = cli_need_volume(source->cli, system, word, &pool, &volume);
		return code ? code : volume_rows(source, system, pool, volume);
	}
	code = cli_need_pool(source->cli, system, word, &pool);
	for (size_t i = 0; !code && i < pool->info.nr_volumes; i++)
		code = volume_rows(source, system, pool, &pool->info.volumes[i]);
	return code;
}

static enum cli_exit prepare(struct cli *cli, struct source *source, struct cli_system *system)
{
	enum cli_exit code;
	int r;

	source->runs = calloc(EXTENTS_AT_ONCE, sizeof(*source->runs));
	source->counters = calloc(EXTENTS_AT_ONCE, sizeof(*source->counters));
	if (!source->runs || !source->counters)
		return cli_failed(cli, NULL, "out of memory");
	code = cli_system_read(cli, system);
	if (code)
		return code;
	/* Only for the devices' names. */
	if (source->types & REPORT_DEVICE) {
		r = tier_scan_system(&source->scan);
		if (r)
			return cli_failed(cli, NULL, "cannot look at the block devices: %s",
					  cli_reason(r));
	}
	if ((source->types & REPORT_VOLUME) && cli_has_default_policy(system))
		client_try_state(NULL, &source->tierd);
	if (source->types & REPORT_TIERD_EXTENT)
		code = client_open(cli, &source->client);
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(source_clear) struct source source = { .cli = cli };
	struct report_options report_options = { 0 };
	enum cli_exit code = CLI_OK;
	int id;

	while (!code && (id = cli_next_option(cli))) {
		if (id == 'a')
			source.all = true;
		else if (id == REPORT_UNBUFFERED)
			source.unbuffered = report_options.unbuffered = true;
		else
			code = id < 0 ? cli->exit : report_take_option(cli, id, &report_options);
	}
	if (!code)
		code = report_open(cli, &kind, &report_options, &source.report, &source.types);
	if (!code)
		code = prepare(cli, &source, &system);
	for (int i = 0; !code && i < cli->nr_words; i++)
		code = word_rows(&source, &system, cli->words[i]);
	for (size_t i = 0; !code && !cli->nr_words && i < system.nr_pools; i++)
		if (system.pools[i].is_loaded)
			code = word_rows(&source, &system, system.pools[i].info.uuid);
	return code ? code : report_print(source.report);
}

const struct cli_command cmd_tes = {
	.name = "tes",
	.is_applet = true,
	.summary = "report on extents",
	.words = "[POOL|POOL/VOLUME...]",
	.max_words = -1,
	.options = options,
	.run = run,
};
