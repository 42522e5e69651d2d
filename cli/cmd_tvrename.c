// SPDX-License-Identifier: GPL-2.0-only
/*
 * tvrename: another name for a volume, of its device too. The device comes first, so
 * that the command can be repeated if it is cut short.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "activate.h"
#include "label.h"
#include "message.h"
#include "name.h"
#include "util.h"
#include "volume.h"

struct request {
	const char *word;	/* pool/volume */
	const char *new_name;
};

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	char *slash;

	if (cli_next_option(cli) < 0)
		return cli->exit;
	request->word = cli->words[0];
	slash = strrchr(cli->words[1], '/');
	if (slash && (strncmp(cli->words[1], cli->words[0], slash - cli->words[1] + 1)))
		return cli_bad_line(cli, "Give the new name alone, or after the same pool.",
				    "a volume cannot go to another pool ('%s')", cli->words[1]);
	request->new_name = slash ? slash + 1 : cli->words[1];
	return cli_check_name(cli, "volume", request->new_name);
}

static enum cli_exit check(struct cli *cli, const struct cli_pool *pool, const char *new_name,
			   const struct tier_dm_device *device, char ret_dm_name[TIER_NAME_SIZE])
{
	enum cli_exit code = cli_need_writable(cli, pool);
	bool exists;
	int r;

	if (code)
		return code;
	if (cli_pool_volume(pool, new_name))
		return cli_failed(cli, "Choose another name.", "pool %s has a volume '%s' already",
				  pool->info.name, new_name);
	if (tier_name_volume_to_dm(pool->info.name, new_name, ret_dm_name, TIER_NAME_SIZE))
		return cli_failed(cli, "Choose a shorter one.",
				  "the name '%s' is too long together with that of pool %s", new_name,
				  pool->info.name);
	if (device && !strcmp(device->name, ret_dm_name))
		return CLI_OK;
	r = tier_dm_exists(ret_dm_name, &exists);
	if (r || exists)
		return cli_failed(cli, "Choose another name.", "/dev/mapper/%s: %s", ret_dm_name,
				  r ? cli_reason(r) : "it exists already");
	return CLI_OK;
}

static enum cli_exit rename_device(struct cli *cli, const char *from, const char *to)
{
	int r = strcmp(from, to) ? tier_dm_rename(from, to) : 0;

	if (r)
		return cli_failed(cli, "`dmesg` may say more.",
				  "/dev/mapper/%s cannot be renamed to %s: %s", from, to,
				  cli_reason(r));
	return CLI_OK;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	char dm_name[TIER_NAME_SIZE], old_name[TIER_NAME_SIZE], label[TIER_LABEL_SIZE];
	const struct tier_volume_info *volume = NULL;
	const struct tier_dm_device *device = NULL;
	struct request request = { 0 };
	struct cli_pool *pool = NULL;
	enum cli_exit code = take_options(cli, &request);

	if (!code)
		code = cli_begin(cli, &system);
	if (!code)
		code = cli_need_volume(cli, &system, request.word, &pool, &volume);
	if (!code) {
		device = cli_volume_device(&system, pool, volume->id);
		code = check(cli, pool, request.new_name, device, dm_name);
	}
	if (code)
		return code;
	cli_volume_name(volume, old_name);
	if (tier_label_set(volume->label, "name", request.new_name, label, sizeof(label)))
		return cli_failed(cli, "Choose a shorter name.",
				  "the label of volume %s/%s gets too long", pool->info.name, old_name);
	if (cli->test) {
		cli_say(cli, "Would rename volume %s/%s to %s.", pool->info.name, old_name,
			request.new_name);
		return CLI_OK;
	}
	if (device)
		code = rename_device(cli, device->name, dm_name);
	if (code)
		return code;
	code = cli_apply_label(cli, pool, volume, label);
	if (!code)
		cli_say(cli, "Volume %s/%s is called %s now.", pool->info.name, old_name,
			request.new_name);
	else if (device)
		rename_device(cli, dm_name, device->name);
	return code;
}

const struct cli_command cmd_tvrename = {
	.name = "tvrename",
	.is_applet = true,
	.summary = "give a volume another name",
	.words = "POOL/VOLUME NEW_NAME",
	.min_words = 2,
	.max_words = 2,
	.run = run,
};
