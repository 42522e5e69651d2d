// SPDX-License-Identifier: GPL-2.0-only
/* tpcheck: is there any damage in a pool's metadata? Reads only. */
#include <stdio.h>
#include <string.h>

#include "metadata.h"
#include "util.h"

#define NEXT_REPAIR	"`tprepair -i DEVICE -o NEW_DEVICE` saves what can be saved; see to the device itself first."
#define NEXT_SUPER	"The pool works with the other one; activating and deactivating it writes this one anew."

static void say_findings(struct cli *cli, const struct tier_findings *findings)
{
	const uint64_t all = findings->nr_damages + findings->nr_notes;

	for (size_t i = 0; i < findings->nr; i++)
		cli_say(cli, "%s: %s", findings->list[i].is_damage ? "damage" : "note",
			findings->list[i].text);
	if (all > findings->nr)
		cli_say(cli, "... and %llu more", (unsigned long long)(all - findings->nr));
}

/* A bad superblock beside a good one mends by itself; nothing else does. */
static const char *next_step(const struct tier_findings *findings)
{
	for (size_t i = 0; i < findings->nr; i++)
		if (findings->list[i].is_damage && findings->list[i].kind != TIER_FOUND_SUPER)
			return NEXT_REPAIR;
	return NEXT_SUPER;
}

static void say_facts(struct cli *cli, const struct tier_check_facts *facts, const char *path)
{
	char uuid[TIER_UUID_SIZE];

	tier_format_uuid(facts->uuid, uuid);
	cli_say(cli, "%s: pool %s (%s): commit %llu, %u devices, %u volumes, %llu of %llu slots in use",
		path, *facts->name ? facts->name : "without a name", uuid,
		(unsigned long long)facts->commit, facts->nr_devices, facts->nr_volumes,
		(unsigned long long)facts->owned, (unsigned long long)facts->slots);
	if (facts->stale)
		cli_detail(cli, "%llu slots of deleted volumes are freed when the pool is activated.",
			   (unsigned long long)facts->stale);
}

static enum cli_exit check(struct cli *cli, const struct cli_disk *disk, int fd)
{
	_cleanup_(tier_findings_clear) struct tier_findings findings = { 0 };
	char cause[TIER_CAUSE_SIZE] = "";
	struct tier_check_facts facts;

	if (tier_check(fd, &findings, &facts, cause))
		return cli_failed(cli, "If there should be a pool: `tprepair` looks for what is left of it.",
				  "%s: %s", disk->path, cause);
	if (facts.is_loaded)
		say_facts(cli, &facts, disk->path);
	say_findings(cli, &findings);
	if (findings.nr_damages)
		return cli_failed(cli, next_step(&findings), "%s is damaged: %llu finding%s", disk->path,
				  (unsigned long long)findings.nr_damages,
				  findings.nr_damages == 1 ? "" : "s");
	cli_say(cli, "%s: no damage", disk->path);
	return CLI_OK;
}

static enum cli_exit run(struct cli *cli)
{
	_cleanup_close_ int fd = -1;
	struct cli_disk disk;
	enum cli_exit code;

	if (cli_next_option(cli) < 0)
		return cli->exit;
	code = cli_take_path(cli, cli->words[0], &disk);
	if (!code)
		code = cli_metadata_read(cli, &disk, &fd);
	return code ? code : check(cli, &disk, fd);
}

const struct cli_command cmd_tpcheck = {
	.name = "tpcheck",
	.is_applet = true,
	.summary = "look for damage in a pool's metadata",
	.words = "DEVICE",
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
