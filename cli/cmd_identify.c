// SPDX-License-Identifier: GPL-2.0-only
/*
 * tierctl identify: which pool a device belongs to, as properties. For udev, which
 * asks it of every device that comes, so it looks at nothing else and takes no lock.
 */
#include <errno.h>
#include <stdio.h>

#include "disks.h"
#include "format.h"
#include "util.h"

static enum cli_exit run(struct cli *cli)
{
	static const char *const kinds[] = {
		[TIER_FORMAT_METADATA] = "metadata", [TIER_FORMAT_DATA] = "data",
	};
	struct tier_format_identity identity;
	_cleanup_close_ int fd = -1;
	char uuid[TIER_UUID_SIZE];
	int option = cli_next_option(cli), r;
	struct cli_disk disk;
	enum cli_exit code;

	if (option)
		return cli->exit;
	code = cli_take_path(cli, cli->words[0], &disk);
	if (code)
		return code;
	r = tier_format_open(disk.path, &fd);
	r = r ? r : tier_format_identify(fd, &identity);
	if (r == -EPROTONOSUPPORT)
		return cli_failed(cli, "A newer dm-tier knows it.",
				  "%s has metadata in an unknown format", disk.path);
	if (r)
		return cli_failed(cli, NULL, "%s cannot be read: %s", disk.path,
				  cli_reason(r));
	if (identity.kind == TIER_FORMAT_NONE) {
		cli_say(cli, "%s belongs to no pool.", disk.path);
		return CLI_OK;
	}
	tier_format_uuid(identity.pool_uuid, uuid);
	printf("TIER_POOL_UUID=%s\nTIER_KIND=%s\n", uuid, kinds[identity.kind]);
	if (identity.kind != TIER_FORMAT_DATA)
		return CLI_OK;
	tier_format_uuid(identity.device_uuid, uuid);
	printf("TIER_DEVICE_UUID=%s\nTIER_DEVICE_IDX=%u\n", uuid, identity.idx);
	return CLI_OK;
}

const struct cli_command cmd_identify = {
	.name = "identify",
	.summary = "show which pool a device belongs to",
	.words = "DEVICE",
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
