// SPDX-License-Identifier: GPL-2.0-only
/*
 * tierctl status: pools, tiers and relocation at a glance, for people. Scripts
 * take tps -o. Works without tierd and then says so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "rows.h"
#include "space.h"
#include "system.h"
#include "util.h"

static const char *time_text(int64_t seconds, char ret_text[32])
{
	time_t time = seconds;
	struct tm tm;

	if (!seconds || !localtime_r(&time, &tm) ||
	    !strftime(ret_text, 32, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(ret_text, 32, "never");
	return ret_text;
}

static void print_tiers(const struct cli_pool *pool, const struct client_state *tierd)
{
	char size[CLI_SIZE_TEXT], used[CLI_SIZE_TEXT], free[CLI_SIZE_TEXT], up[CLI_SIZE_TEXT];
	char down[CLI_SIZE_TEXT], in[CLI_SIZE_TEXT];
	struct report_tier row;

	printf("  %-12s %10s %10s %10s %12s %12s %12s %12s\n", "tier", "size", "used", "free",
	       "pending up", "pending down", "pending in", "heat");
	for (uint32_t tier = 0; tier < TIER_MAX_TIERS; tier++) {
		const struct client_tier *more = client_find_tier(tierd, pool->info.name, tier);
		char name[64];

		if (!rows_tier(&pool->info, tier, &row))
			continue;
		snprintf(name, sizeof(name), "%u", tier);
		if (more && strcmp(more->name, name))
			snprintf(name, sizeof(name), "%u %.40s", tier, more->name);
		printf("  %-12s %10s %10s %10s", name, cli_size(row.size, size),
		       cli_size(row.used, used), cli_size(row.free, free));
		if (more)
			printf(" %12s %12s %12s %12.0f", cli_size(more->up_bytes / 512, up),
			       cli_size(more->down_bytes / 512, down),
			       cli_size(more->in_bytes / 512, in), more->heat);
		putchar('\n');
		if (row.nr_online != row.nr_devices)
			printf("    %" PRIu64 " of its %" PRIu64 " devices are online\n", row.nr_online,
			       row.nr_devices);
	}
}

/* Those that something is wrong with. */
static void print_devices(const struct tier_pool_info *info)
{
	char text[TIER_CAUSE_SIZE];

	for (size_t i = 0; i < info->nr_devices; i++) {
		const struct tier_device_info *device = &info->devices[i];

		if (device->errors)
			printf("  device %u of tier %u (%s): %" PRIu64 " I/O error%s since activation\n",
			       device->idx, device->tier, tier_device_state_word(device->state),
			       device->errors, device->errors == 1 ? "" : "s");
	}
	if (*rows_given_up(info, text, sizeof(text)))
		printf("  %s\n", text);
}

static void print_relocation(const struct client_pool *pool)
{
	char begin[32], end[32], moved_up[CLI_SIZE_TEXT], moved_down[CLI_SIZE_TEXT];
	char estimate[CLI_ESTIMATE_TEXT];

	printf("  relocation: %s%s%s%s", pool->state, pool->by_hand ? ", by hand" : "",
	       strcmp(pool->reason, "-") ? ", " : "", strcmp(pool->reason, "-") ? pool->reason : "");
	printf("\n");
	if (*pool->detail)
		printf("    %s\n", pool->detail);
	if (pool->active_moves || pool->pending_moves)
		printf("    %" PRIu64 " moves under way, %" PRIu64 " to come%s\n", pool->active_moves,
		       pool->pending_moves, cli_estimate(pool->pending_seconds, estimate));
	if (*pool->window)
		printf("  window: %s (%s, %s to %s), rate %s\n", pool->window,
		       pool->window_open ? "open" : "next",
		       time_text(pool->window_start_s, begin), time_text(pool->window_end_s, end),
		       pool->rate);
	else
		printf("  window: none\n");
	if (pool->begin_s)
		printf("  %s: %s to %s: %s up, %s down, %" PRIu64 " moves done, %" PRIu64
		       " failed, %" PRIu64 " repeated\n", pool->end_s ? "last" : "this one",
		       time_text(pool->begin_s, begin),
		       pool->end_s ? time_text(pool->end_s, end) : "now",
		       cli_size(pool->up_bytes / 512, moved_up),
		       cli_size(pool->down_bytes / 512, moved_down), pool->done_moves,
		       pool->failed_moves, pool->retried_moves);
	printf("  counters: read last %s, counting since %s\n", time_text(pool->last_collect_s, begin),
	       time_text(pool->heat_since_s, end));
}

/* What an administrator has to see first. */
static void print_space(const struct tier_pool_info *info)
{
	char total[CLI_SIZE_TEXT], left[CLI_SIZE_TEXT];
	struct tier_space space;

	tier_space_of(info, &space);
	printf("  %u %% of %s used, %s left for first writes\n", space.used_percent,
	       cli_size(space.total_slots * info->extent_sectors, total),
	       cli_size(space.first_write_slots * info->extent_sectors, left));
	if (space.is_full)
		printf("  FULL: first writes wait for space, and fail after no_space_timeout; "
		       "tpextend, fstrim or tvremove make space\n");
}

static void print_pool(const struct cli_pool *pool, const struct client_state *tierd, bool has_tierd)
{
	const struct client_pool *more = client_find_pool(tierd, pool->info.uuid);
	char extent[CLI_SIZE_TEXT], moved[CLI_SIZE_TEXT];

	if (!pool->is_loaded) {
		printf("pool %s: %s: " TIER_NOT_LOADED_TEXT "\n", pool->info.name,
		       tier_pool_mode_word(pool->info.mode));
		return;
	}
	printf("pool %s: %s%s%s, %zu volume%s, extents of %s\n", pool->info.name,
	       tier_pool_mode_word(pool->info.mode), pool->device.suspended ? ", suspended" : "",
	       pool->info.needs_check ? ", needs_check" : "", pool->info.nr_volumes,
	       pool->info.nr_volumes == 1 ? "" : "s",
	       cli_size(pool->info.extent_sectors, extent));
	print_space(&pool->info);
	print_tiers(pool, tierd);
	print_devices(&pool->info);
	printf("  moves since activation: %" PRIu64 " done (%s), %" PRIu64 " failed, %" PRIu64
	       " cancelled; now %" PRIu64 " active, %" PRIu64 " queued\n", pool->status.done_moves,
	       cli_size(pool->status.moved_bytes / 512, moved), pool->status.failed_moves,
	       pool->status.cancelled_moves, pool->status.active_moves, pool->status.queued_moves);
	if (more)
		print_relocation(more);
	else if (has_tierd)
		printf("  relocation: tierd does not know this pool yet\n");
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_(client_state_clear) struct client_state tierd = { 0 };
	_cleanup_(client_close) struct client *client = NULL;
	struct cli_pool *pool = NULL;
	bool has_tierd;
	enum cli_exit code;

	if (cli_next_option(cli) < 0)
		return cli->exit;
	code = cli_system_read(cli, &system);
	if (!code && cli->nr_words)
		code = cli_need_pool(cli, &system, cli->words[0], &pool);
	if (code)
		return code;
	/* Without it there is less to show, and it has been said why. */
	has_tierd = !client_open(cli, &client) && !client_be_quick(cli, client) &&
		    !client_read_state(cli, client, &tierd);
	if (has_tierd && *tierd.config_error)
		printf("tierd %s: the last reload was refused: %s\n", tierd.version,
		       tierd.config_error);
	for (size_t i = 0; i < system.nr_pools; i++)
		if (!pool || pool == &system.pools[i])
			print_pool(&system.pools[i], &tierd, has_tierd);
	if (!system.nr_pools)
		cli_say(cli, "No pool is active; `tps` shows also those that are not.");
	return CLI_OK;
}

const struct cli_command cmd_status = {
	.name = "status",
	.summary = "show pools, tiers and relocation at a glance",
	.words = "[POOL]",
	.max_words = 1,
	.run = run,
};
