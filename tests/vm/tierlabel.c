// SPDX-License-Identifier: GPL-2.0-only
/*
 * Labels a device as one more of the pool that tierformat has made:
 *
 *   tierlabel IDX DEV [POOL_BYTE]
 *
 * Its UUID is all bytes IDX + 1; the pool's is all bytes 171, or POOL_BYTE for
 * a device of another pool.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/fs.h>

#include "format.h"

int main(int argc, char **argv)
{
	struct tier_format_device device = { 0 };
	char cause[TIER_CAUSE_SIZE] = "";
	uint8_t pool_uuid[16];
	uint32_t idx;
	int r;

	if (argc != 3 && argc != 4)
		errx(3, "expected IDX DEV [POOL_BYTE]");
	idx = (uint32_t)atoi(argv[1]);
	device.path = argv[2];
	memset(device.uuid, (int)idx + 1, sizeof(device.uuid));
	memset(pool_uuid, argc > 3 ? atoi(argv[3]) : 0xab, sizeof(pool_uuid));
	device.fd = open(device.path, O_RDWR | O_EXCL | O_CLOEXEC);
	if (device.fd < 0 || ioctl(device.fd, BLKGETSIZE64, &device.bytes))
		err(1, "%s", device.path);
	r = tier_format_label(&device, pool_uuid, idx, cause);
	if (r)
		errx(1, "%s (%s)", cause, strerror(-r));
	return 0;
}
