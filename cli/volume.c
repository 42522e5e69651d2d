// SPDX-License-Identifier: GPL-2.0-only
/* What the commands for volumes share. */
#include "volume.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "activate.h"
#include "message.h"
#include "name.h"
#include "placement.h"

#define MAX_VOLUME_EXTENTS	(1U << 24)

enum cli_exit cli_take_policy(struct cli *cli, const char *word, enum tier_policy *ret_policy)
{
	if (tier_policy_from_word(word, ret_policy))
		return cli_bad_line(cli, "It is one of auto, start-highest, highest, lowest, none.",
				    "there is no policy '%s'", word);
	return CLI_OK;
}

bool cli_has_default_policy(const struct cli_system *system)
{
	struct tier_label_policy policy;

	for (size_t i = 0; i < system->nr_pools; i++)
		for (size_t j = 0; j < system->pools[i].info.nr_volumes; j++)
			if (!tier_label_policy(system->pools[i].info.volumes[j].label, time(NULL),
					       &policy) && !policy.is_set)
				return true;
	return false;
}

enum cli_exit cli_check_name(struct cli *cli, const char *what, const char *name)
{
	const char *reason;

	if (tier_name_check(name, &reason))
		return cli_bad_line(cli, "Choose another name.", "the %s name '%s' %s", what, name,
				    reason);
	return CLI_OK;
}

enum cli_exit cli_round_size(struct cli *cli, const struct cli_pool *pool, uint64_t *sectors)
{
	uint64_t extent = pool->info.extent_sectors;
	uint64_t extents = (*sectors + extent - 1) / extent;
	char from[CLI_SIZE_TEXT], to[CLI_SIZE_TEXT];

	if (extents > MAX_VOLUME_EXTENTS)
		return cli_failed(cli, "Pools of larger extents hold larger volumes.",
				  "%s is too large: a volume of pool %s has at most %s",
				  cli_size(*sectors, from), pool->info.name,
				  cli_size(MAX_VOLUME_EXTENTS * extent, to));
	if (extents * extent != *sectors)
		cli_say(cli, "Rounding the size %s up to whole extents: %s.",
			cli_size(*sectors, from), cli_size(extents * extent, to));
	*sectors = extents * extent;
	return CLI_OK;
}

static bool is_writable(const struct cli_pool *pool)
{
	return !pool->device.read_only &&
	       (pool->info.mode == TIER_POOL_RW || pool->info.mode == TIER_POOL_OUT_OF_SPACE);
}

enum cli_exit cli_need_writable(struct cli *cli, const struct cli_pool *pool)
{
	if (is_writable(pool))
		return CLI_OK;
	if (pool->device.read_only)
		return cli_failed(cli, "Deactivate it and activate it without --readonly.",
				  "pool %s is active read-only", pool->info.name);
	if (pool->info.mode == TIER_POOL_META_RO)
		return cli_failed(cli, "See to its metadata device; dm-tier(7), RECOVERY.",
				  "pool %s: its metadata cannot be written now (meta_ro)",
				  pool->info.name);
	return cli_failed(cli, "See dm-tier(7), RECOVERY.", "pool %s has failed", pool->info.name);
}

static void wanted_placement(const struct cli_pool *pool, const char *label,
			     struct tier_placement *ret_placement)
{
	struct tier_label_policy policy;

	if (tier_label_policy(label, time(NULL), &policy))
		policy = (struct tier_label_policy){ .policy = TIER_POLICY_NONE };
	tier_placement_of_policy(policy.policy, pool->info.devices, pool->info.nr_devices,
				 ret_placement);
}

/* It has or had a policy of its own; else tierd.conf says what holds, and tierd sees to it. */
static bool names_policy(const char *label)
{
	char value[TIER_LABEL_SIZE];

	return tier_label_value(label, "policy", value, sizeof(value)) != -ENOENT ||
	       tier_label_value(label, "pin", value, sizeof(value)) != -ENOENT;
}

/* Of a volume that is to have this label; else *ret_placement is the right one. */
static bool has_right_placement(const struct cli_pool *pool, const struct tier_volume_info *volume,
				const char *label, struct tier_placement *ret_placement)
{
	struct tier_placement placement;

	if (!names_policy(label) && !names_policy(volume->label))
		return true;
	wanted_placement(pool, label, &placement);
	if (tier_placement_equal(&placement, &volume->placement))
		return true;
	*ret_placement = placement;
	return false;
}

enum cli_exit cli_renew_placement(struct cli *cli, const struct cli_pool *pool,
				  const struct tier_volume_info *volume)
{
	struct tier_placement placement;

	if (has_right_placement(pool, volume, volume->label, &placement) || !is_writable(pool))
		return CLI_OK;
	return cli_apply_label(cli, pool, volume, volume->label);
}

enum cli_exit cli_apply_label(struct cli *cli, const struct cli_pool *pool,
			      const struct tier_volume_info *volume, const char *label)
{
	char message[TIER_MESSAGE_SIZE], name[TIER_NAME_SIZE];
	struct tier_placement placement;
	enum cli_exit code = CLI_OK;

	cli_volume_name(volume, name);
	if (strcmp(label, volume->label))
		code = cli_tell(cli, pool,
				tier_message_set_label(volume->id, label, message, sizeof(message)),
				message, NULL, "volume %s/%s: cannot write its label",
				pool->info.name, name);
	if (code)
		return code;
	if (!has_right_placement(pool, volume, label, &placement))
		code = cli_tell(cli, pool,
				tier_message_set_placement(volume->id, &placement, message,
							   sizeof(message)),
				message, NULL, "volume %s/%s: cannot set where first writes go",
				pool->info.name, name);
	if (code)
		return code;
	return cli_tell(cli, pool, 0, TIER_MESSAGE_COMMIT, NULL,
			"volume %s/%s: the change is in force but not on disk yet",
			pool->info.name, name);
}
