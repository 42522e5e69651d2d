// SPDX-License-Identifier: GPL-2.0-only
/* Metadata devices of the offline tools. */
#include "metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offline.h"
#include "util.h"

#define NEXT_BUSY	"Deactivate the pool (`tpchange -an`), or end what else uses it."

enum cli_exit cli_metadata_read(struct cli *cli, const struct cli_disk *disk, int *ret_fd)
{
	int r = tier_format_open(disk->path, ret_fd);

	if (r)
		return cli_failed(cli, "`tps -o +pool_metadata` shows the metadata devices of pools.",
				  "cannot open %s: %s", disk->path,
				  r == -ENOTBLK ? "it is neither a block device nor a file" :
				  cli_reason(r));
	return CLI_OK;
}

static bool is_block(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISBLK(status.st_mode);
}

enum cli_exit cli_metadata_read_alone(struct cli *cli, const struct cli_disk *disk, int *ret_fd)
{
	char cause[TIER_CAUSE_SIZE] = "";
	struct tier_probe_device probe;
	int r;

	if (!is_block(disk->path)) {
		r = tier_probe_open_file(disk->path, false, &probe, cause);
		if (r)
			return cli_failed(cli, r == -EBUSY ? NEXT_BUSY : "Is it the right path?",
					  "%s", cause);
		*ret_fd = probe.fd;
		return CLI_OK;
	}
	*ret_fd = open(disk->path, O_RDONLY | O_CLOEXEC | O_EXCL | O_DIRECT);
	if (*ret_fd >= 0)
		return CLI_OK;
	if (errno == EBUSY)
		return cli_failed(cli, NEXT_BUSY, "%s is in use", disk->path);
	return cli_failed(cli, NULL, "cannot open %s: %s", disk->path, cli_reason(-errno));
}

enum cli_exit cli_metadata_write(struct cli *cli, struct cli_disk *disk, bool *ret_is_file)
{
	char cause[TIER_CAUSE_SIZE] = "";
	struct stat status;
	int r;

	*ret_is_file = !stat(disk->path, &status) && S_ISREG(status.st_mode);
	if (!*ret_is_file)
		return cli_open_disk(cli, disk, NULL, 0);
	r = tier_probe_open_file(disk->path, true, &disk->probe, cause);
	if (r) {
		disk->probe.fd = -1;
		return cli_failed(cli, r == -EBUSY ? NEXT_BUSY : NULL, "%s", cause);
	}
	/* Too small for anything to look for. */
	if (disk->probe.bytes < 4096)
		return CLI_OK;
	r = tier_probe_signature(disk->probe.fd, disk->signature);
	if (r)
		return cli_failed(cli, NULL, "%s: cannot look for signatures in it: %s", disk->path,
				  cli_reason(r));
	return CLI_OK;
}

static enum cli_exit check_size(struct cli *cli, const struct tier_content *content,
				const struct cli_disk *disk)
{
	char has[CLI_SIZE_TEXT], needs[CLI_SIZE_TEXT], better[CLI_SIZE_TEXT];
	uint64_t needed, roomy;

	tier_content_bytes(content, &needed, &roomy);
	cli_size(disk->probe.bytes / 512, has);
	cli_size(needed / 512, needs);
	cli_size(roomy / 512, better);
	if (disk->probe.bytes < needed)
		return cli_failed(cli, "Choose a larger device.",
				  "%s is too small: it has %s, the metadata need %s (%llu bytes), %s with room for all volumes and devices there may be",
				  disk->path, has, needs, (unsigned long long)needed, better);
	if (disk->probe.bytes < roomy)
		cli_warn(cli, "%s has %s: enough for what the pool has now, but %s would leave room for more volumes and devices",
			 disk->path, has, better);
	return CLI_OK;
}

enum cli_exit cli_metadata_put(struct cli *cli, const struct tier_content *content,
			       struct cli_disk *disk, bool wipe_signatures, bool *ret_done)
{
	char cause[TIER_CAUSE_SIZE] = "";
	struct tier_format_device to;
	enum cli_exit code = check_size(cli, content, disk);

	*ret_done = false;
	if (!code)
		code = cli_may_wipe(cli, disk, wipe_signatures);
	if (code || cli->test)
		return code;
	/* Our own superblocks go by the write below, which wants to see them first. */
	code = cli_wipe_disk(cli, disk);
	if (code)
		return code;
	cli_format_device(disk, &to);
	if (tier_content_write(content, &to, cause))
		return cli_failed(cli, "It holds no pool now. See to the device (`dmesg`), and repeat the command.",
				  "%s", cause);
	*ret_done = true;
	return CLI_OK;
}

void cli_metadata_tell_twin(struct cli *cli, const struct tier_content *content)
{
	_cleanup_(cli_offline_clear) struct cli_offline offline = { 0 };
	uint8_t uuid[16];

	tier_content_uuid(content, uuid);
	/* It is written whatever this says. */
	if (cli_offline_read(cli, &offline))
		return;
	for (size_t i = 0; i < offline.nr_pools; i++)
		if (!memcmp(offline.pools[i].uuid, uuid, 16) && offline.pools[i].error == -ENOTUNIQ)
			cli_warn(cli, "%s: the pool cannot be activated until one of them is gone from this machine (`lvchange -an`; or, when it is not needed any more, `dd if=/dev/zero bs=1M count=2 of=...`)",
				 offline.pools[i].cause);
}
