// SPDX-License-Identifier: GPL-2.0-only
/* Block devices that commands are given. */
#include "disks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "scan.h"
#include "util.h"

enum cli_exit cli_take_path(struct cli *cli, const char *word, struct cli_disk *ret_disk)
{
	struct cli_disk disk = { .probe = { .fd = -1 } };
	bool is_full = *word == '/' || *word == '.';
	int length = snprintf(disk.path, sizeof(disk.path), "%s%s", is_full ? "" : "/dev/", word);

	if (!*word || (size_t)length >= sizeof(disk.path))
		return cli_bad_line(cli, "Write it as /dev/vg0/lv0, or vg0/lv0.",
				    "'%s' is not the path of a device", word);
	*ret_disk = disk;
	return CLI_OK;
}

enum cli_exit cli_take_tier(struct cli *cli, const char *word, struct cli_disk *ret_disk)
{
	enum cli_exit code;

	if (word[0] < '0' || word[0] >= '0' + TIER_MAX_TIERS || word[1] != ':' || !word[2])
		return cli_bad_line(cli, "Write it as 0:/dev/vg0/ssd; tiers are 0 (fastest) to 7.",
				    "'%s' is not a tier and a device", word);
	code = cli_take_path(cli, word + 2, ret_disk);
	if (!code)
		ret_disk->tier = word[0] - '0';
	return code;
}

/* What can be told before it is opened: then it would only be told that it is in use. */
static enum cli_exit check_number(struct cli *cli, const struct cli_disk *disk,
				  const struct cli_disk *others, size_t nr_others)
{
	struct stat status;
	const char *why;
	int r;

	if (stat(disk->path, &status) || !S_ISBLK(status.st_mode))
		return CLI_OK;		/* opening it says so */
	for (size_t i = 0; i < nr_others; i++)
		if (others[i].probe.fd >= 0 && major(status.st_rdev) == others[i].probe.major &&
		    minor(status.st_rdev) == others[i].probe.minor)
			return cli_failed(cli, "Give each device once.",
					  "%s and %s are the same device", others[i].path,
					  disk->path);
	r = tier_scan_obstacle(major(status.st_rdev), minor(status.st_rdev), &why);
	if (r)
		return cli_failed(cli, NULL, "%s: cannot tell whether it is part of a pool: %s",
				  disk->path, cli_reason(r));
	if (why)
		return cli_failed(cli, "Choose another device.", "%s %s: a pool cannot use it",
				  disk->path, why);
	return CLI_OK;
}

enum cli_exit cli_open_disk(struct cli *cli, struct cli_disk *disk,
			    const struct cli_disk *others, size_t nr_others)
{
	enum cli_exit code = check_number(cli, disk, others, nr_others);
	char cause[TIER_CAUSE_SIZE] = "";
	int r;

	if (code)
		return code;
	r = tier_probe_open(disk->path, &disk->probe, cause);
	if (r) {
		disk->probe.fd = -1;
		return cli_failed(cli, r == -EBUSY ?
				  "End what uses it, or choose another device." :
				  "`lsblk` lists the devices.", "%s",
				  *cause ? cause : cli_reason(r));
	}
	if (disk->probe.zoned)
		return cli_failed(cli, "Choose another device.",
				  "%s is a zoned device: a pool cannot use it", disk->path);
	r = tier_probe_signature(disk->probe.fd, disk->signature);
	if (r)
		return cli_failed(cli, "`dmesg` may say more.",
				  "%s: cannot look for signatures on it: %s", disk->path,
				  cli_reason(r));
	return CLI_OK;
}

void cli_close_disk(struct cli_disk *disk)
{
	tier_cleanup_close(&disk->probe.fd);
	disk->probe.fd = -1;
}

enum cli_exit cli_may_wipe(struct cli *cli, const struct cli_disk *disk, bool wipe_signatures)
{
	if (!*disk->signature)
		return CLI_OK;
	if (cli->test)
		cli_say(cli, "Would wipe %s, which holds %s.", disk->path, disk->signature);
	else if (!wipe_signatures &&
		 !cli_confirm(cli, "%s holds %s. Wipe it?", disk->path, disk->signature))
		return CLI_FAILED;
	return CLI_OK;
}

enum cli_exit cli_wipe_disk(struct cli *cli, const struct cli_disk *disk)
{
	int r;

	if (!*disk->signature)
		return CLI_OK;
	cli_say(cli, "Wiping %s, which held %s.", disk->path, disk->signature);
	r = tier_probe_wipe(disk->probe.fd);
	if (r)
		return cli_failed(cli, "`wipefs` may do it; `dmesg` may say more.",
				  "%s: cannot wipe its signatures: %s", disk->path, cli_reason(r));
	return CLI_OK;
}

uint64_t cli_disk_slots(struct cli *cli, const struct cli_disk *disk, uint64_t extent_sectors)
{
	uint64_t bytes = disk->probe.bytes, slots = tier_format_slots(bytes, extent_sectors);
	char size[CLI_SIZE_TEXT], used[CLI_SIZE_TEXT];

	if (!slots)
		cli_failed(cli, "Choose a larger device, or a pool of smaller extents.",
			   "%s is too small: it does not hold one extent of %s", disk->path,
			   cli_size(extent_sectors, size));
	/* An extent less would hold as many: it is the number of slots that is at its limit. */
	else if (tier_format_slots(bytes - extent_sectors * 512, extent_sectors) == slots)
		cli_say(cli, "Only %s of the %s of %s can be used; with larger extents it is more.",
			cli_size(slots * extent_sectors, used), cli_size(bytes / 512, size),
			disk->path);
	return slots;
}

void cli_format_device(const struct cli_disk *disk, struct tier_format_device *ret_device)
{
	*ret_device = (struct tier_format_device){
		.path = disk->path,
		.fd = disk->probe.fd,
		.bytes = disk->probe.bytes,
		.tier = disk->tier,
	};
	uuid_generate(ret_device->uuid);
}

/* The name of a dm device; false: it is none. */
static bool dm_name(uint32_t major, uint32_t minor, char *ret_name, size_t size)
{
	char path[64];
	FILE *file;
	bool is_read;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/dm/name", major, minor);
	file = fopen(path, "re");
	if (!file)
		return false;
	is_read = fgets(ret_name, (int)size, file) != NULL;
	fclose(file);
	ret_name[strcspn(ret_name, "\n")] = '\0';
	return is_read;
}

void cli_devno_path(uint32_t major, uint32_t minor, char *ret_path, size_t size)
{
	char link[64], target[512], name[128] = "";
	const char *slash;
	ssize_t length;

	*ret_path = '\0';
	if (dm_name(major, minor, name, sizeof(name))) {
		snprintf(ret_path, size, "/dev/mapper/%s", name);
		return;
	}
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major, minor);
	length = readlink(link, target, sizeof(target) - 1);
	if (length <= 0)
		return;
	target[length] = '\0';
	slash = strrchr(target, '/');
	snprintf(ret_path, size, "/dev/%s", slash ? slash + 1 : target);
}
