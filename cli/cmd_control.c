// SPDX-License-Identifier: GPL-2.0-only
/* tierctl pause, resume, abort, reload: one call to tierd each. */
#include "client.h"
#include "util.h"

/* `done` ends the sentence "Relocation of <pool> ...". */
static enum cli_exit control(struct cli *cli,
			     enum cli_exit (*call)(struct cli *, struct client *, const char *),
			     const char *done)
{
	_cleanup_(client_close) struct client *client = NULL;
	const char *pool;
	enum cli_exit code;

	if (cli_next_option(cli) < 0)
		return cli->exit;
	pool = cli->nr_words ? cli->words[0] : "";
	if (cli->test) {
		cli_say(cli, "Would tell tierd: %s %s.", cli->command->name,
			*pool ? pool : "all pools");
		return CLI_OK;
	}
	code = client_open(cli, &client);
	if (!code)
		code = call(cli, client, pool);
	if (!code)
		cli_say(cli, "Relocation of %s %s.", *pool ? pool : "all pools", done);
	return code;
}

static enum cli_exit run_pause(struct cli *cli)
{
	return control(cli, client_pause, "is paused until `tierctl resume`");
}

static enum cli_exit run_resume(struct cli *cli)
{
	return control(cli, client_resume, "goes on in its windows");
}

static enum cli_exit run_abort(struct cli *cli)
{
	return control(cli, client_abort, "has ended until the next window");
}

static enum cli_exit run_reload(struct cli *cli)
{
	_cleanup_(client_close) struct client *client = NULL;
	enum cli_exit code;

	if (cli_next_option(cli) < 0)
		return cli->exit;
	if (cli->test) {
		cli_say(cli, "Would tell tierd to read its configuration again; "
			"`tierd --check-config` checks it.");
		return CLI_OK;
	}
	code = client_open(cli, &client);
	if (!code)
		code = client_reload(cli, client);
	if (!code)
		cli_say(cli, "tierd has read its configuration again.");
	return code;
}

const struct cli_command cmd_pause = {
	.name = "pause",
	.summary = "stop moving, whatever window opens, until resume",
	.words = "[POOL]",
	.max_words = 1,
	.run = run_pause,
};

const struct cli_command cmd_resume = {
	.name = "resume",
	.summary = "take back pause",
	.words = "[POOL]",
	.max_words = 1,
	.run = run_resume,
};

const struct cli_command cmd_abort = {
	.name = "abort",
	.summary = "end the relocation that is running",
	.words = "[POOL]",
	.max_words = 1,
	.run = run_abort,
};

const struct cli_command cmd_reload = {
	.name = "reload",
	.summary = "let tierd read its configuration again",
	.words = "",
	.run = run_reload,
};
