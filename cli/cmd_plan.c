// SPDX-License-Identifier: GPL-2.0-only
/* tierctl plan: what a relocation would do now, as a report. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "report.h"
#include "util.h"

enum { OPTION_MAX = CLI_LONG_ONLY };

static const struct cli_option options[] = {
	{ OPTION_MAX, "max", "N", "list at most N moves of each pool (default 65536)" },
	REPORT_OPTIONS("move_to=0 && move_heat>100"),
	{ 0 }
};

static const struct report_kind kind = {
	.name = "move",
	.types = REPORT_MOVE,
	.main_type = REPORT_MOVE,
	.columns = "move_pool,move_volume,move_extent,move_from,move_to,move_heat,move_threshold,"
		   "move_reason",
	.sort_keys = "move_number",
};

#define MAX_MOVES	65536

struct totals {
	uint64_t moves, bytes, seconds, number;
	bool is_unknown;		/* how long one of them takes */
};

static enum cli_exit pool_rows(struct cli *cli, struct client *client, struct report *report,
			       const char *pool, uint32_t max, struct totals *totals)
{
	_cleanup_(client_plan_clear) struct client_plan plan = { 0 };
	enum cli_exit code = client_plan(cli, client, pool, max, &plan);

	for (size_t i = 0; !code && i < plan.nr_moves; i++) {
		const struct client_move *move = &plan.moves[i];
		struct report_move row = {
			.number = totals->number++,
			.pool = pool,
			.volume = move->volume,
			.extent = move->extent,
			.from_tier = move->from_tier,
			.to_tier = move->to_tier,
			.to_device = move->to_device == UINT32_MAX ? REPORT_NO_NUMBER :
								    move->to_device,
			.heat = move->heat,
			.threshold = move->threshold,
			.reason = move->reason,
		};

		code = report_row(report, &(struct report_row){ .move = &row });
	}
	totals->moves += plan.total_moves;
	totals->bytes += plan.bytes;
	totals->is_unknown |= plan.bytes && !plan.seconds;
	/* Pools relocate side by side. */
	if (plan.seconds > totals->seconds)
		totals->seconds = plan.seconds;
	return code;
}

static enum cli_exit take_options(struct cli *cli, struct report_options *report_options,
				  uint32_t *max)
{
	enum cli_exit code;
	char *end;
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		if (id != OPTION_MAX) {
			code = report_take_option(cli, id, report_options);
			if (code)
				return code;
			continue;
		}
		*max = (uint32_t)strtoul(cli->value, &end, 10);
		if (*cli->value < '0' || *cli->value > '9' || *end || strlen(cli->value) > 5 ||
		    !*max)
			return cli_bad_line(cli, "It is 1 to 65536.", "'%s' is not a number of moves",
					    cli->value);
	}
	return id < 0 ? cli->exit : CLI_OK;
}

static void say_totals(struct cli *cli, const struct totals *totals)
{
	char size[CLI_SIZE_TEXT], estimate[CLI_ESTIMATE_TEXT];

	if (!totals->moves)
		cli_say(cli, "Nothing is to be moved.");
	else if (totals->is_unknown)
		cli_say(cli, "%" PRIu64 " moves, %s. How long they take is not known yet.",
			totals->moves, cli_size(totals->bytes / 512, size));
	else
		cli_say(cli, "%" PRIu64 " moves, %s%s.", totals->moves,
			cli_size(totals->bytes / 512, size), cli_estimate(totals->seconds, estimate));
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(client_state_clear) struct client_state state = { 0 };
	_cleanup_(client_close) struct client *client = NULL;
	_cleanup_(report_close) struct report *report = NULL;
	struct report_options report_options = { 0 };
	struct totals totals = { 0 };
	uint32_t types, max = MAX_MOVES;
	enum cli_exit code = take_options(cli, &report_options, &max);

	if (!code)
		code = report_open(cli, &kind, &report_options, &report, &types);
	if (!code)
		code = client_open(cli, &client);
	if (!code && cli->nr_words)
		code = pool_rows(cli, client, report, cli->words[0], max, &totals);
	else if (!code)
		code = client_read_state(cli, client, &state);
	for (size_t i = 0; !code && i < state.nr_pools; i++)
		code = pool_rows(cli, client, report, state.pools[i].name, max, &totals);
	if (!code)
		code = report_print(report);
	/* Only where people read: not into what scripts parse. */
	if (!code && !report_options.json && !report_options.name_prefixes &&
	    !report_options.no_headings)
		say_totals(cli, &totals);
	return code;
}

const struct cli_command cmd_plan = {
	.name = "plan",
	.summary = "show what a relocation would move now, and why",
	.words = "[POOL]",
	.max_words = 1,
	.options = options,
	.run = run,
};
