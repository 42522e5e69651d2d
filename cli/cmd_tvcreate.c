// SPDX-License-Identifier: GPL-2.0-only
/* tvcreate: a new volume in an active pool. */
#include <uuid/uuid.h>

#include "activate.h"
#include "client.h"
#include "label.h"
#include "message.h"
#include "name.h"
#include "placement.h"
#include "util.h"
#include "volume.h"

enum { OPTION_POLICY = CLI_LONG_ONLY };

static const struct cli_option options[] = {
	{ 'n', "name", "NAME", "of the volume" },
	{ 'V', "virtualsize", "SIZE", "of the volume; space is taken when it is first written" },
	{ OPTION_POLICY, "policy", "POLICY",
	  "auto, start-highest, highest, lowest or none (default: that of tierd.conf, or auto)" },
	{ 0 }
};

struct request {
	const char *pool_name;
	const char *name;
	uint64_t sectors;
	bool has_policy;
	enum tier_policy policy;
};

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	enum cli_exit code = CLI_OK;
	int id;

	while (!code && (id = cli_next_option(cli))) {
		switch (id) {
		case 'n':
			request->name = cli->value;
			code = cli_check_name(cli, "volume", cli->value);
			break;
		case 'V':
			if (cli_parse_size(cli->value, &request->sectors))
				code = cli_bad_line(cli, "Write it as 20g or 1.5t.",
						    "'%s' is not the size of a volume",
						    cli->value);
			break;
		case OPTION_POLICY:
			code = cli_take_policy(cli, cli->value, &request->policy);
			request->has_policy = !code;
			break;
		default:
			return cli->exit;
		}
	}
	if (code)
		return code;
	if (!request->name)
		return cli_bad_line(cli, "Give it one with -n.", "the volume has no name");
	if (!request->sectors)
		return cli_bad_line(cli, "Give it one with -V.", "volume %s has no size",
				    request->name);
	request->pool_name = cli->words[0];
	return CLI_OK;
}

/* The lowest id that no volume of the pool has. */
static uint32_t free_id(const struct cli_pool *pool)
{
	uint32_t id = 0;

	for (size_t i = 0; i < pool->info.nr_volumes && pool->info.volumes[i].id == id; i++)
		id++;
	return id;
}

static enum cli_exit check(struct cli *cli, const struct cli_pool *pool, struct request *request)
{
	char dm_name[TIER_NAME_SIZE];
	enum cli_exit code;
	bool exists;
	int r;

	code = cli_need_writable(cli, pool);
	if (code)
		return code;
	if (cli_pool_volume(pool, request->name))
		return cli_failed(cli, "`tvs` lists the volumes; choose another name.",
				  "pool %s has a volume '%s' already", pool->info.name,
				  request->name);
	if (pool->info.nr_volumes == TIER_MAX_VOLUMES)
		return cli_failed(cli, "Remove one with `tvremove`.",
				  "pool %s has %d volumes, the most that a pool can have",
				  pool->info.name, TIER_MAX_VOLUMES);
	if (tier_name_volume_to_dm(pool->info.name, request->name, dm_name, sizeof(dm_name)))
		return cli_failed(cli, "Choose a shorter one.",
				  "the name '%s' is too long together with that of pool %s",
				  request->name, pool->info.name);
	r = tier_dm_exists(dm_name, &exists);
	if (r)
		return cli_failed(cli, NULL, "/dev/mapper/%s: %s", dm_name, cli_reason(r));
	if (exists)
		return cli_failed(cli, "`dmsetup info` shows what it is; choose another name.",
				  "/dev/mapper/%s exists already", dm_name);
	return cli_round_size(cli, pool, &request->sectors);
}

/* Take back a volume that was made but cannot be used. */
static void undo(struct cli *cli, const struct cli_pool *pool, uint32_t id)
{
	char message[TIER_MESSAGE_SIZE];

	if (!cli_tell(cli, pool, tier_message_delete_volume(id, message, sizeof(message)), message,
		      NULL, "the half made volume with id %u is left: remove it with `tvremove`", id))
		cli_tell(cli, pool, 0, TIER_MESSAGE_COMMIT, NULL,
			 "removing the half made volume is not on disk yet");
}

/*
 * What is in force: that of the request, or else what tierd.conf says, which tierd puts
 * into force when it sees the volume. It is asked now, so that this comes before the
 * first write.
 */
static void say_created(struct cli *cli, const struct cli_pool *pool,
			const struct request *request, const char *uuid)
{
	_cleanup_(client_state_clear) struct client_state tierd = { 0 };
	const struct client_volume *volume = NULL;
	const char *policy = CLI_POLICY_DEFAULT;
	char size[CLI_SIZE_TEXT];

	if (request->has_policy)
		policy = tier_policy_word(request->policy);
	else if (client_try_state(pool->info.name, &tierd))
		volume = client_find_volume(&tierd, uuid);
	cli_say(cli, "Volume %s/%s created, %s, policy %s%s.", pool->info.name, request->name,
		cli_size(request->sectors, size), volume ? volume->policy : policy,
		volume ? " (tierd.conf)" : "");
}

static enum cli_exit create(struct cli *cli, const struct cli_pool *pool,
			    const struct request *request)
{
	struct tier_volume_info volume = {
		.id = free_id(pool),
		.sectors = request->sectors,
		.placement = { .is_auto = true },	/* what the kernel begins with */
	};
	char message[TIER_MESSAGE_SIZE];
	enum cli_exit code;
	uuid_t uuid;

	uuid_generate(uuid);
	uuid_unparse_lower(uuid, volume.uuid);
	if (tier_label_set("", "name", request->name, volume.label, sizeof(volume.label)) ||
	    (request->has_policy &&
	     tier_label_set(volume.label, "policy", tier_policy_word(request->policy), volume.label,
			    sizeof(volume.label))))
		return cli_failed(cli, "Choose a shorter name.",
				  "the label of volume %s gets too long", request->name);
	code = cli_tell(cli, pool,
			tier_message_create_volume(volume.id, volume.sectors, volume.uuid,
						   volume.label, message, sizeof(message)),
			message, NULL, "volume %s/%s cannot be created", pool->info.name,
			request->name);
	if (code)
		return code;
	code = cli_apply_label(cli, pool, &volume, volume.label);
	if (!code)
		code = cli_activate_volume(cli, pool, &volume);
	if (code) {
		undo(cli, pool, volume.id);
		return code;
	}
	say_created(cli, pool, request, volume.uuid);
	return CLI_OK;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	struct request request = { 0 };
	struct cli_pool *pool = NULL;
	char size[CLI_SIZE_TEXT];
	enum cli_exit code = take_options(cli, &request);

	if (!code)
		code = cli_begin(cli, &system);
	if (!code)
		code = cli_need_pool(cli, &system, request.pool_name, &pool);
	if (!code)
		code = check(cli, pool, &request);
	if (code)
		return code;
	if (cli->test) {
		cli_say(cli, "Would create volume %s/%s, %s, policy %s.", pool->info.name,
			request.name, cli_size(request.sectors, size),
			request.has_policy ? tier_policy_word(request.policy) :
					     CLI_POLICY_DEFAULT);
		return CLI_OK;
	}
	return create(cli, pool, &request);
}

const struct cli_command cmd_tvcreate = {
	.name = "tvcreate",
	.is_applet = true,
	.summary = "create a volume in a pool",
	.needed = "-n NAME -V SIZE",
	.words = "POOL",
	.min_words = 1,
	.max_words = 1,
	.options = options,
	.run = run,
};
