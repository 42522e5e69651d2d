// SPDX-License-Identifier: GPL-2.0-only
/* Who uses a file that is an image of a device, see probe.h. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static FILE *open_backing(const char *loop)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/block/%.32s/loop/backing_file", loop);
	return fopen(path, "re");
}

/* Whether a loop device has this file; the kernel knows it by its path. */
static bool is_backing(const char *loop, const struct stat *file)
{
	_cleanup_fclose_ FILE *from = open_backing(loop);
	char path[4096];
	struct stat st;

	if (!from || !fgets(path, sizeof(path), from))
		return false;
	path[strcspn(path, "\n")] = '\0';
	return !stat(path, &st) && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

static bool find_loop(const struct stat *file, char *ret_loop, size_t size)
{
	_cleanup_(close_dir) DIR *dir = opendir("/sys/block");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "loop", 4) || !is_backing(entry->d_name, file))
			continue;
		snprintf(ret_loop, size, "%.32s", entry->d_name);
		return true;
	}
	return false;
}

int tier_probe_open_file(const char *path, bool write, struct tier_probe_device *ret_device,
			 char *ret_cause)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char loop[40];

	/* Before it is opened: a FIFO or a device may do more than open. */
	if (stat(path, &st))
		return tier_cause(ret_cause, -errno, "cannot find %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return tier_cause(ret_cause, -ENOTBLK, "%s is neither a block device nor a file",
				  path);
	fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return tier_cause(ret_cause, -errno, "cannot open %s: %s", path, strerror(errno));
	if (find_loop(&st, loop, sizeof(loop)))
		return tier_cause(ret_cause, -EBUSY, "%s is in use by /dev/%s", path, loop);
	*ret_device = (struct tier_probe_device){
		.fd = fd, .bytes = st.st_size, .logical_block_bytes = 512,
	};
	fd = -1;
	return 0;
}
