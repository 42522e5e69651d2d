// SPDX-License-Identifier: GPL-2.0-only
/*
 * tierctl relocate: let tierd plan and move. With --wait it is watched until it
 * ends; an interrupt ends the watching only.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "name.h"
#include "system.h"
#include "util.h"

enum { OPTION_NOW = CLI_LONG_ONLY, OPTION_RATE, OPTION_WAIT };

static const struct cli_option options[] = {
	{ OPTION_NOW, "now", NULL, "at once, outside of windows too, until the plan is done" },
	{ OPTION_RATE, "rate", "RATE", "fast, medium, slow, or bytes a second as 100MiB" },
	{ OPTION_WAIT, "wait", NULL, "wait until it has ended and show how far it is" },
	{ 0 }
};

struct request {
	const char *target;		/* pool, pool/volume or "" */
	char pool[TIER_NAME_SIZE];	/* of the target, or "" */
	const char *rate;
	bool now, wait;
};

/* A second, or less if the user interrupts; the signal is blocked, so no call to tierd is cut short. */
static bool wait_for_interrupt(const sigset_t *interrupt)
{
	const struct timespec second = { .tv_sec = 1 };

	return sigtimedwait(interrupt, NULL, &second) == SIGINT;
}

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	char volume[TIER_NAME_SIZE];
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		switch (id) {
		case OPTION_NOW:
			request->now = true;
			break;
		case OPTION_RATE:
			/* What a rate is, tierd knows: it is that of tierd.conf. But "" is "none given". */
			request->rate = cli->value;
			if (!*cli->value)
				return cli_bad_line(cli, "It is fast, medium, slow, or bytes a second as 100MiB.",
						    "'' is not a rate");
			break;
		case OPTION_WAIT:
			request->wait = true;
			break;
		}
	}
	if (id < 0)
		return cli->exit;
	if (!cli->nr_words)
		return CLI_OK;
	request->target = cli->words[0];
	if (tier_name_split(request->target, request->pool, volume, sizeof(volume)))
		return cli_bad_line(cli, "Name a pool, or a volume as <pool>/<volume>.",
				    "'%s' is neither a pool nor a volume", request->target);
	return CLI_OK;
}

/* What is under way in the pools that were asked for. */
struct progress {
	bool is_running;
	uint64_t left_moves, done_moves, failed_moves, moved_bytes;
	const char *detail;		/* of a pool that cannot go on */
};

static void add_up(const struct client_state *state, const struct request *request,
		   struct progress *ret_progress)
{
	struct progress progress = { 0 };

	for (size_t i = 0; i < state->nr_pools; i++) {
		const struct client_pool *pool = &state->pools[i];

		if (*request->pool && strcmp(pool->name, request->pool) &&
		    strcmp(pool->uuid, request->pool))
			continue;
		progress.is_running |= pool->by_hand || !strcmp(pool->state, "relocating") ||
				       !strcmp(pool->state, "stopping");
		progress.left_moves += pool->active_moves + pool->pending_moves;
		progress.done_moves += pool->done_moves;
		progress.failed_moves += pool->failed_moves;
		progress.moved_bytes += pool->up_bytes + pool->down_bytes + pool->side_bytes;
		if (!strcmp(pool->state, "error"))
			progress.detail = *pool->detail ? pool->detail : pool->reason;
	}
	*ret_progress = progress;
}

static void show(struct cli *cli, const struct progress *progress, bool is_terminal)
{
	char moved[CLI_SIZE_TEXT];

	if (cli->quiet)
		return;
	printf("%s%" PRIu64 " moves done, %" PRIu64 " failed, %" PRIu64 " left, %s moved%s",
	       is_terminal ? "\r" : "", progress->done_moves, progress->failed_moves,
	       progress->left_moves, cli_size(progress->moved_bytes / 512, moved),
	       is_terminal ? "  " : "\n");
	fflush(stdout);
}

static enum cli_exit watch(struct cli *cli, struct client *client, const struct request *request)
{
	bool is_terminal = isatty(STDOUT_FILENO);
	uint64_t last_done = UINT64_MAX;
	struct progress progress;
	char detail[256] = "";
	sigset_t interrupt;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	for (;;) {
		_cleanup_(client_state_clear) struct client_state state = { 0 };
		enum cli_exit code = client_read_state(cli, client, &state);

		if (code)
			return code;
		add_up(&state, request, &progress);
		if (progress.detail)
			snprintf(detail, sizeof(detail), "%s", progress.detail);
		/* A line a second on a terminal, elsewhere one when something was done. */
		if (is_terminal || progress.done_moves != last_done)
			show(cli, &progress, is_terminal);
		last_done = progress.done_moves;
		if (!progress.is_running || *detail)
			break;
		if (wait_for_interrupt(&interrupt)) {
			cli_say(cli, "%sIt goes on; `tierctl status` shows how far it is, `tierctl abort` ends it.",
				is_terminal ? "\n" : "");
			return CLI_FAILED;
		}
	}
	if (is_terminal && !cli->quiet)
		putchar('\n');
	if (*detail)
		return cli_failed(cli, "`tierctl status` shows more.", "no move is possible: %s", detail);
	if (progress.failed_moves)
		return cli_failed(cli, "`journalctl -u tierd` shows each with its reason.",
				  "%" PRIu64 " moves failed", progress.failed_moves);
	return CLI_OK;
}

/* Moves keep to the windows: if there are any. */
static enum cli_exit say_when(struct cli *cli, struct client *client,
			      const struct request *request)
{
	_cleanup_(client_state_clear) struct client_state state = { 0 };
	enum cli_exit code = client_read_state(cli, client, &state);

	for (size_t i = 0; !code && i < state.nr_pools; i++) {
		const struct client_pool *pool = &state.pools[i];

		if (*request->pool && strcmp(pool->name, request->pool) &&
		    strcmp(pool->uuid, request->pool))
			continue;
		if (*pool->window)
			cli_say(cli, "Relocation of pool %s is planned; it moves in the windows. "
				"`tierctl status` shows more.", pool->name);
		else
			cli_say(cli, "Relocation of pool %s is planned, but tierd.conf has no window for "
				"it: nothing moves without `tierctl relocate --now`.", pool->name);
	}
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(client_close) struct client *client = NULL;
	struct request request = { .target = "", .rate = "" };
	enum cli_exit code = take_options(cli, &request);

	if (code)
		return code;
	if (cli->test) {
		cli_say(cli, "Would relocate %s; `tierctl plan` shows what that moves.",
			*request.target ? request.target : "all pools");
		return CLI_OK;
	}
	code = client_open(cli, &client);
	if (!code)
		code = client_relocate(cli, client, request.target, request.now, request.rate);
	if (code)
		return code;
	if (request.wait)
		return watch(cli, client, &request);
	if (request.now)
		cli_say(cli, "Relocation of %s has begun; `tierctl status` shows how far it is.",
			*request.target ? request.target : "all pools");
	else
		return say_when(cli, client, &request);
	return CLI_OK;
}

const struct cli_command cmd_relocate = {
	.name = "relocate",
	.summary = "plan and move extents between tiers",
	.words = "[POOL|POOL/VOLUME]",
	.max_words = 1,
	.options = options,
	.run = run,
};
