// SPDX-License-Identifier: GPL-2.0-only
/* tvs: a report of the volumes of active pools. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "rows.h"
#include "util.h"
#include "volume.h"

static const struct cli_option options[] = { REPORT_OPTIONS("vol_size>1t && policy=highest"), { 0 } };

static const struct report_kind kind = {
	.name = "volume",
	.types = REPORT_POOL | REPORT_VOLUME | REPORT_TIERD_POOL | REPORT_TIERD_VOLUME,
	.main_type = REPORT_VOLUME,
	.columns = "vol_name,pool_name,vol_state,vol_policy,vol_size,vol_used,vol_used_percent,"
		   "vol_tier_extents",
	.sort_keys = "pool_name,vol_name",
};

/* A word names a pool (all its volumes) or <pool>/<volume>. */
static bool is_wanted(struct cli *cli, const struct cli_system *system, const struct cli_pool *pool,
		      const struct tier_volume_info *volume, bool *found)
{
	char pool_name[TIER_NAME_SIZE], volume_name[TIER_NAME_SIZE], name[TIER_NAME_SIZE];
	bool is_named = !cli->nr_words;

	for (int i = 0; i < cli->nr_words; i++) {
		if (tier_name_split(cli->words[i], pool_name, volume_name, sizeof(pool_name)) ||
		    cli_system_pool(system, pool_name) != pool)
			continue;
		if (!*volume_name || !strcmp(volume_name, volume->uuid) ||
		    !strcmp(volume_name, cli_volume_name(volume, name))) {
			found[i] = true;
			is_named = true;
		}
	}
	return is_named;
}

/* A pool without volumes has been found all the same. */
static void find_empty(struct cli *cli, const struct cli_system *system, bool *found)
{
	for (int i = 0; i < cli->nr_words; i++) {
		const struct cli_pool *pool = cli_system_pool(system, cli->words[i]);

		if (pool && pool->is_loaded && !pool->info.nr_volumes)
			found[i] = true;
	}
}

static enum cli_exit volume_rows(struct cli *cli, struct report *report,
				 const struct cli_system *system, const struct cli_pool *pool,
				 const struct client_state *tierd, bool *found)
{
	struct report_tierd_volume tierd_volume;
	struct pool_row pool_row;
	struct volume_row volume_row;
	struct report_row row = {
		.pool = &pool_row.pool,
		.tierd_pool = &pool_row.tierd,
		.volume = &volume_row.volume,
		.tierd_volume = &tierd_volume,
	};
	enum cli_exit code = CLI_OK;

	rows_active_pool(pool, &pool_row);
	rows_tierd_pool(client_find_pool(tierd, pool->info.uuid), &pool_row.tierd);
	for (size_t i = 0; !code && i < pool->info.nr_volumes; i++) {
		const struct tier_volume_info *volume = &pool->info.volumes[i];
		const struct client_volume *tierd_row;
		int r;

		if (!is_wanted(cli, system, pool, volume, found))
			continue;
		tierd_row = client_find_volume(tierd, volume->uuid);
		r = rows_volume(pool, volume, cli_volume_device(system, pool, volume->id), tierd_row,
				&volume_row);
		if (r == -ENOENT || r == -ENODEV)
			continue;	/* removed meanwhile */
		if (r)
			return cli_failed(cli, NULL, "pool %s: cannot read the map of volume %u: %s",
					  pool->info.name, volume->id, cli_reason(r));
		rows_tierd_volume(tierd_row, &tierd_volume);
		code = report_row(report, &row);
	}
	return code;
}

static enum cli_exit print(struct cli *cli, struct report *report, const struct cli_system *system,
			   const struct client_state *tierd)
{
	_cleanup_free_ bool *found = calloc(cli->nr_words + 1, sizeof(*found));
	enum cli_exit code = CLI_OK;

	if (!found)
		return cli_failed(cli, NULL, "out of memory");
	for (size_t i = 0; !code && i < system->nr_pools; i++)
		code = volume_rows(cli, report, system, &system->pools[i], tierd, found);
	find_empty(cli, system, found);
	if (!code)
		code = report_print(report);
	for (int i = 0; !code && i < cli->nr_words; i++)
		if (!found[i])
			code = cli_failed(cli, "`tvs` lists all volumes, `tps` the pools.",
					  "there is no active pool or volume '%s'", cli->words[i]);
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(client_state_clear) struct client_state tierd = { 0 };
	_cleanup_(client_close) struct client *client = NULL;
	_cleanup_(report_close) struct report *report = NULL;
	struct report_options report_options = { 0 };
	enum cli_exit code = CLI_OK;
	uint32_t types = 0;
	int id;

	while (!code && (id = cli_next_option(cli)))
		code = id < 0 ? cli->exit : report_take_option(cli, id, &report_options);
	if (!code)
		code = report_open(cli, &kind, &report_options, &report, &types);
	if (!code)
		code = cli_system_read(cli, &system);
	if (!code && types & (REPORT_TIERD_POOL | REPORT_TIERD_VOLUME)) {
		code = client_open(cli, &client);
		if (!code)
			code = client_read_state(cli, client, &tierd);
	} else if (!code && cli_has_default_policy(&system)) {
		/* The policy of tierd.conf; without tierd there is none in force. */
		client_try_state(NULL, &tierd);
	}
	return code ? code : print(cli, report, &system, &tierd);
}

const struct cli_command cmd_tvs = {
	.name = "tvs",
	.is_applet = true,
	.summary = "report on volumes",
	.words = "[POOL|POOL/VOLUME...]",
	.max_words = -1,
	.options = options,
	.run = run,
};
