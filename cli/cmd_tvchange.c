// SPDX-License-Identifier: GPL-2.0-only
/* tvchange: policy, pin and activation of volumes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "activate.h"
#include "client.h"
#include "label.h"
#include "util.h"
#include "volume.h"

enum { OPTION_POLICY = CLI_LONG_ONLY, OPTION_FOR };

static const struct cli_option options[] = {
	{ 'a', "activate", "y|n", "make the volume's device, or remove it" },
	{ OPTION_POLICY, "policy", "POLICY",
	  "auto, start-highest, highest, lowest, none, or default: that of tierd.conf" },
	{ OPTION_FOR, "for", "TIME", "the policy ends after 90m, 12h, 3d or 2w; then the old one again" },
	{ 0 }
};

struct request {
	char activate;		/* 'y', 'n' or 0 */
	bool has_policy;
	bool is_default;	/* none of its own any more */
	enum tier_policy policy;
	int64_t pin_s;		/* 0 = for good */
};

/* <number><m|h|d|w>, up to ten years. */
static int parse_time(const char *text, int64_t *ret_seconds)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 } };
	size_t digits = strspn(text, "0123456789");
	int64_t number;

	if (!digits || digits > 7 || strlen(text) != digits + 1)
		return -EINVAL;
	number = strtol(text, NULL, 10);
	for (size_t i = 0; i < TIER_NR(units); i++) {
		if (units[i].unit != text[digits])
			continue;
		if (!number || number * units[i].seconds > 3660 * (int64_t)86400)
			return -ERANGE;
		*ret_seconds = number * units[i].seconds;
		return 0;
	}
	return -EINVAL;
}

static enum cli_exit take_options(struct cli *cli, struct request *request)
{
	enum cli_exit code;
	int id;

	while ((id = cli_next_option(cli)) > 0) {
		switch (id) {
		case 'a':
			if (strcmp(cli->value, "y") && strcmp(cli->value, "n"))
				return cli_bad_line(cli, "It is -ay or -an.",
						    "-a cannot be '%s'", cli->value);
			request->activate = *cli->value;
			break;
		case OPTION_POLICY:
			request->is_default = !strcmp(cli->value, CLI_POLICY_DEFAULT);
			code = request->is_default ? CLI_OK :
			       cli_take_policy(cli, cli->value, &request->policy);
			if (code)
				return code;
			request->has_policy = true;
			break;
		case OPTION_FOR:
			if (parse_time(cli->value, &request->pin_s))
				return cli_bad_line(cli, "Write it as 90m, 12h, 3d or 2w, ten years at most.",
						    "'%s' is not a time", cli->value);
			break;
		}
	}
	if (id < 0)
		return cli->exit;
	if (request->pin_s && !request->has_policy)
		return cli_bad_line(cli, "Give the policy with --policy.",
				    "--for says how long, but not which policy");
	if (request->pin_s && request->is_default)
		return cli_bad_line(cli, "Give one of the five policies with --for.",
				    "the default cannot be for a time");
	if (!request->has_policy && !request->activate)
		return cli_bad_line(cli, "Give -a or --policy.", "nothing to change");
	return CLI_OK;
}

static const char *policy_word(const struct request *request)
{
	return request->is_default ? CLI_POLICY_DEFAULT : tier_policy_word(request->policy);
}

/* A pin wins over the policy while it lasts; a new policy without --for ends it. */
static int new_label(const struct tier_volume_info *volume, const struct request *request,
		     char *ret_label)
{
	char pin[64];
	int r;

	if (request->pin_s) {
		snprintf(pin, sizeof(pin), "%s:%" PRId64, tier_policy_word(request->policy),
			 (int64_t)time(NULL) + request->pin_s);
		return tier_label_set(volume->label, "pin", pin, ret_label, TIER_LABEL_SIZE);
	}
	r = tier_label_set(volume->label, "policy",
			   request->is_default ? NULL : tier_policy_word(request->policy),
			   ret_label, TIER_LABEL_SIZE);
	return r ? r : tier_label_set(ret_label, "pin", NULL, ret_label, TIER_LABEL_SIZE);
}

static void say_changed(struct cli *cli, const struct cli_pool *pool,
			const struct tier_volume_info *volume, const char *name,
			const struct request *request)
{
	_cleanup_(client_state_clear) struct client_state tierd = { 0 };
	const struct client_volume *row = NULL;

	/* tierd has it then, and has set where first writes go. */
	if (request->is_default && client_try_state(pool->info.name, &tierd))
		row = client_find_volume(&tierd, volume->uuid);
	cli_say(cli, "Volume %s/%s has the policy %s%s%s%s; it acts at the next relocation.",
		pool->info.name, name, policy_word(request), row ? ", which is " : "",
		row ? row->policy : "", request->pin_s ? " for a time" : "");
}

static enum cli_exit change_policy(struct cli *cli, const struct cli_pool *pool,
				   const struct tier_volume_info *volume,
				   const struct request *request)
{
	char label[TIER_LABEL_SIZE], name[TIER_NAME_SIZE];
	enum cli_exit code;

	cli_volume_name(volume, name);
	if (new_label(volume, request, label))
		return cli_failed(cli, "Shorten the volume's name with `tvrename`.",
				  "the label of volume %s/%s gets too long", pool->info.name, name);
	if (cli->test) {
		cli_say(cli, "Would set the policy of volume %s/%s to %s.", pool->info.name, name,
			policy_word(request));
		return CLI_OK;
	}
	code = cli_apply_label(cli, pool, volume, label);
	if (!code)
		say_changed(cli, pool, volume, name, request);
	return code;
}

static enum cli_exit change_activation(struct cli *cli, const struct cli_system *system,
				       const struct cli_pool *pool,
				       const struct tier_volume_info *volume, char activate)
{
	const struct tier_dm_device *device = cli_volume_device(system, pool, volume->id);
	char what[2 * TIER_NAME_SIZE + 16], name[TIER_NAME_SIZE];

	snprintf(what, sizeof(what), "volume %s/%s", pool->info.name,
		 cli_volume_name(volume, name));
	if ((activate == 'y') == (device != NULL)) {
		cli_detail(cli, "%s is %s already.", what, device ? "active" : "not active");
		return device ? cli_finish_volume(cli, pool, volume, device) : CLI_OK;
	}
	if (cli->test) {
		cli_say(cli, "Would %s %s.", device ? "deactivate" : "activate", what);
		return CLI_OK;
	}
	return device ? cli_deactivate_volume(cli, device, what) :
			cli_activate_volume(cli, pool, volume);
}

/* Nothing uses a volume that is to go. */
static enum cli_exit check_activation(struct cli *cli, const struct cli_system *system,
				      const struct cli_pool *pool,
				      const struct tier_volume_info *volume, char activate)
{
	const struct tier_dm_device *device = cli_volume_device(system, pool, volume->id);
	char what[2 * TIER_NAME_SIZE + 16], name[TIER_NAME_SIZE];

	if (activate != 'n' || !device)
		return CLI_OK;
	snprintf(what, sizeof(what), "volume %s/%s", pool->info.name,
		 cli_volume_name(volume, name));
	return cli_need_unused(cli, device, what);
}

/* All words are checked before the first one is changed. */
static enum cli_exit change(struct cli *cli, const struct cli_system *system,
			    const struct request *request, const char *word, bool only_check)
{
	const struct tier_volume_info *volume = NULL;
	struct cli_pool *pool = NULL;
	enum cli_exit code = cli_need_volume(cli, system, word, &pool, &volume);

	if (!code && request->has_policy)
		code = cli_need_writable(cli, pool);
	if (!code && only_check)
		code = check_activation(cli, system, pool, volume, request->activate);
	if (code || only_check)
		return code;
	if (request->has_policy)
		code = change_policy(cli, pool, volume, request);
	if (!code && request->activate)
		code = change_activation(cli, system, pool, volume, request->activate);
	if (!code && request->activate == 'y' && !request->has_policy && !cli->test)
		code = cli_renew_placement(cli, pool, volume);
	return code;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_(cli_system_clear) struct cli_system system = { 0 };
	struct request request = { 0 };
	enum cli_exit code = take_options(cli, &request);

	if (!code)
		code = cli_begin(cli, &system);
	for (int i = 0; !code && i < cli->nr_words; i++)
		code = change(cli, &system, &request, cli->words[i], true);
	for (int i = 0; !code && i < cli->nr_words; i++)
		code = change(cli, &system, &request, cli->words[i], false);
	return code;
}

const struct cli_command cmd_tvchange = {
	.name = "tvchange",
	.is_applet = true,
	.summary = "change policy or activation of volumes",
	.words = "POOL/VOLUME...",
	.min_words = 1,
	.max_words = -1,
	.options = options,
	.run = run,
};
