// SPDX-License-Identifier: GPL-2.0-only
/* tvremove: the end of volumes and of what they hold. */
#include <stdio.h>
#include <stdlib.h>

#include "activate.h"
#include "message.h"
#include "util.h"
#include "volume.h"

struct target {
	struct cli_pool *pool;
	const struct tier_volume_info *volume;
	const struct tier_dm_device *device;	/* NULL: not active */
	char what[2 * TIER_NAME_SIZE + 16];
};

static enum cli_exit check(struct cli *cli, const struct cli_system *system, const char *word,
			   struct target *ret_target)
{
	struct target target = { 0 };
	char name[TIER_NAME_SIZE];
	enum cli_exit code = cli_need_volume(cli, system, word, &target.pool, &target.volume);

	if (!code)
		code = cli_need_writable(cli, target.pool);
	if (code)
		return code;
	snprintf(target.what, sizeof(target.what), "volume %s/%s", target.pool->info.name,
		 cli_volume_name(target.volume, name));
	target.device = cli_volume_device(system, target.pool, target.volume->id);
	if (target.device)
		code = cli_need_unused(cli, target.device, target.what);
	if (code)
		return code;
	*ret_target = target;
	return CLI_OK;
}

static enum cli_exit remove_volume(struct cli *cli, const struct target *target)
{
	const struct cli_pool *pool = target->pool;
	char message[TIER_MESSAGE_SIZE], size[CLI_SIZE_TEXT];
	enum cli_exit code = CLI_OK;

	cli_size(target->volume->allocated_extents * pool->info.extent_sectors, size);
	if (!cli_confirm(cli, "Really remove %s with up to %s of data?", target->what, size))
		return CLI_FAILED;
	if (cli->test) {
		cli_say(cli, "Would remove %s with up to %s of data.", target->what, size);
		return CLI_OK;
	}
	if (target->device)
		code = cli_deactivate_volume(cli, target->device, target->what);
	if (!code)
		code = cli_tell(cli, pool,
				tier_message_delete_volume(target->volume->id, message,
							   sizeof(message)),
				message, NULL, "%s cannot be removed", target->what);
	if (!code)
		code = cli_tell(cli, pool, 0, TIER_MESSAGE_COMMIT, NULL,
				"removing %s is not on disk yet", target->what);
	if (!code)
		cli_say(cli, "Removed %s.", target->what);
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	_cleanup_free_ struct target *targets = NULL;
	enum cli_exit code;

	if (cli_next_option(cli) < 0)
		return cli->exit;
	targets = calloc(cli->nr_words, sizeof(*targets));
	if (!targets)
		return cli_failed(cli, NULL, "out of memory");
	code = cli_begin(cli, &system);
	/* All are checked before the first one goes. */
	for (int i = 0; !code && i < cli->nr_words; i++)
		code = check(cli, &system, cli->words[i], &targets[i]);
	for (int i = 0; !code && i < cli->nr_words; i++)
		code = remove_volume(cli, &targets[i]);
	return code;
}

const struct cli_command cmd_tvremove = {
	.name = "tvremove",
	.is_applet = true,
	.summary = "remove volumes and what they hold",
	.words = "POOL/VOLUME...",
	.min_words = 1,
	.max_words = -1,
	.run = run,
};
