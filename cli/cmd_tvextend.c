// SPDX-License-Identifier: GPL-2.0-only
/* tvextend: a larger volume. */
#include <string.h>

#include "activate.h"
#include "message.h"
#include "util.h"
#include "volume.h"

static const struct cli_option options[] = {
	{ 'L', "size", "[+]SIZE", "the new size, or what to add" },
	{ 0 }
};

struct request {
	const char *volume_name;
	uint64_t sectors;
	bool is_added;
};

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		request->is_added = *cli->value == '+';
		if (cli_parse_size(cli->value + request->is_added, &request->sectors))
			return cli_bad_line(cli, "Write it as 20g, or as +20g to add that much.",
					    "'%s' is not the size of a volume", cli->value);
	}
	if (id < 0)
		return cli->exit;
	request->volume_name = cli->words[0];
	if (!request->sectors)
		return cli_bad_line(cli, "Give it with -L.", "no new size for volume %s",
				    request->volume_name);
	return CLI_OK;
}

static enum cli_exit extend(struct cli *cli, const struct cli_system *system,
			    const struct cli_pool *pool, const struct tier_volume_info *volume,
			    uint64_t sectors)
{
	const struct tier_dm_device *device = cli_volume_device(system, pool, volume->id);
	char message[TIER_MESSAGE_SIZE], name[TIER_NAME_SIZE], size[CLI_SIZE_TEXT];
	enum cli_exit code = CLI_OK;

	cli_volume_name(volume, name);
	if (sectors > volume->sectors)
		code = cli_tell(cli, pool,
				tier_message_resize_volume(volume->id, sectors, message,
							   sizeof(message)),
				message, NULL, "volume %s/%s cannot be extended", pool->info.name,
				name);
	if (!code)
		code = cli_tell(cli, pool, 0, TIER_MESSAGE_COMMIT, NULL,
				"volume %s/%s: its new size is not on disk yet", pool->info.name,
				name);
	if (!code && device)
		code = cli_reload_volume(cli, pool, device, sectors);
	if (!code)
		cli_say(cli, "Volume %s/%s is %s now.", pool->info.name, name,
			cli_size(sectors, size));
	return code;
}

/* A command that was cut short had not come to the device. */
static bool is_device_small(const struct cli_system *system, const struct cli_pool *pool,
			    const struct tier_volume_info *volume)
{
	const struct tier_dm_device *device = cli_volume_device(system, pool, volume->id);

	return device && device->sectors < volume->sectors;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	char name[TIER_NAME_SIZE], old_size[CLI_SIZE_TEXT], new_size[CLI_SIZE_TEXT];
	const struct tier_volume_info *volume = NULL;
	struct request request = { 0 };
	struct cli_pool *pool = NULL;
	enum cli_exit code = take_options(cli, &request);

	if (!code)
		code = cli_begin(cli, &system);
	if (!code)
		code = cli_need_volume(cli, &system, request.volume_name, &pool, &volume);
	if (!code)
		code = cli_need_writable(cli, pool);
	if (code)
		return code;
	if (request.is_added)
		request.sectors += volume->sectors;
	code = cli_round_size(cli, pool, &request.sectors);
	if (code)
		return code;
	cli_volume_name(volume, name);
	if (request.sectors < volume->sectors ||
	    (request.sectors == volume->sectors && !is_device_small(&system, pool, volume)))
		return cli_failed(cli, "This command does not make volumes smaller.",
				  "volume %s/%s has %s already; %s is not more", pool->info.name, name,
				  cli_size(volume->sectors, old_size),
				  cli_size(request.sectors, new_size));
	if (cli->test) {
		cli_say(cli, "Would extend volume %s/%s from %s to %s.", pool->info.name, name,
			cli_size(volume->sectors, old_size), cli_size(request.sectors, new_size));
		return CLI_OK;
	}
	return extend(cli, &system, pool, volume, request.sectors);
}

const struct cli_command cmd_tvextend = {
	.name = "tvextend",
	.is_applet = true,
	.summary = "make a volume larger",
	.needed = "-L SIZE",
	.words = "POOL/VOLUME",
	.min_words = 1,
	.max_words = 1,
	.options = options,
	.run = run,
};
