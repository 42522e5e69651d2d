// SPDX-License-Identifier: GPL-2.0-only
/* Who uses a block device and what is on it, see probe.h. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <blkid.h>

#include "format.h"
#include "util.h"

static void free_probe(blkid_probe *probe)
{
	if (*probe)
		blkid_free_probe(*probe);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static FILE *open_sysfs(uint32_t major, uint32_t minor, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major, minor, name);
	return fopen(path, "re");
}

/* A line of text of a file under /sys/dev/block/<major>:<minor>/; "" if there is none. */
static void read_sysfs(uint32_t major, uint32_t minor, const char *name, char *ret_text,
		       size_t size)
{
	_cleanup_fclose_ FILE *file = open_sysfs(major, minor, name);

	*ret_text = '\0';
	if (!file || !fgets(ret_text, size, file))
		return;
	ret_text[strcspn(ret_text, "\n")] = '\0';
}

/* "/home" if it is mounted there; only the first place, in our mount namespace. */
static bool find_mount(uint32_t major, uint32_t minor, char *ret_where, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;

	while (file && getline(&line, &capacity, file) > 0) {
		unsigned int a, b;
		char where[200];

		if (sscanf(line, "%*d %*d %u:%u %*s %199s", &a, &b, where) == 3 && a == major &&
		    b == minor) {
			snprintf(ret_where, size, "%s", where);
			return true;
		}
	}
	return false;
}

static bool is_swap(uint32_t major, uint32_t minor)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/swaps", "re");
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;

	while (file && getline(&line, &capacity, file) > 0) {
		struct stat st;
		char path[200];

		if (sscanf(line, "%199s", path) == 1 && !stat(path, &st) &&
		    S_ISBLK(st.st_mode) && st.st_rdev == makedev(major, minor))
			return true;
	}
	return false;
}

/* "dm-3 (vg-lv)": the first device that is built on this one. */
static bool find_holder(uint32_t major, uint32_t minor, char *ret_holder, size_t size)
{
	_cleanup_(close_dir) DIR *dir = NULL;
	const struct dirent *entry;
	char path[100], attribute[300], name[150];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major, minor);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(attribute, sizeof(attribute), "holders/%s/dm/name", entry->d_name);
		read_sysfs(major, minor, attribute, name, sizeof(name));
		snprintf(ret_holder, size, *name ? "%s (%s)" : "%s", entry->d_name, name);
		return true;
	}
	return false;
}

static int explain_busy(const char *path, const struct stat *st, char *cause)
{
	const uint32_t major = major(st->st_rdev), minor = minor(st->st_rdev);
	char what[200];

	if (find_mount(major, minor, what, sizeof(what)))
		return tier_cause(cause, -EBUSY, "%s is mounted on %s", path, what);
	if (is_swap(major, minor))
		return tier_cause(cause, -EBUSY, "%s is in use as swap", path);
	if (find_holder(major, minor, what, sizeof(what)))
		return tier_cause(cause, -EBUSY, "%s is in use by %s", path, what);
	return tier_cause(cause, -EBUSY,
			  "%s is in use: by a program, or one of its partitions is", path);
}

uint32_t tier_probe_logical_bytes(uint32_t major, uint32_t minor)
{
	char text[32];

	read_sysfs(major, minor, "queue/logical_block_size", text, sizeof(text));
	return (uint32_t)strtoul(text, NULL, 10);
}

int tier_probe_size(int fd, uint64_t *ret_bytes)
{
	struct stat st;
	uint64_t bytes;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode)) {
		*ret_bytes = st.st_size;
		return 0;
	}
	if (ioctl(fd, BLKGETSIZE64, &bytes))
		return -errno;
	*ret_bytes = bytes;
	return 0;
}

int tier_probe_open(const char *path, struct tier_probe_device *ret_device, char *ret_cause)
{
	_cleanup_close_ int fd = -1;
	struct tier_probe_device device = {};
	char zoned[50];
	struct stat st;
	int logical, read_only, r;

	if (stat(path, &st))
		return tier_cause(ret_cause, -errno, "cannot find %s: %s", path, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return tier_cause(ret_cause, -ENOTBLK, "%s is not a block device", path);
	fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC);
	if (fd < 0 && errno == EBUSY)
		return explain_busy(path, &st, ret_cause);
	if (fd < 0)
		return tier_cause(ret_cause, -errno, "cannot open %s: %s", path, strerror(errno));
	r = tier_probe_size(fd, &device.bytes);
	if (!r && (ioctl(fd, BLKSSZGET, &logical) || ioctl(fd, BLKROGET, &read_only)))
		r = -errno;
	if (r)
		return tier_cause(ret_cause, r, "cannot ask %s for its size: %s", path,
				  strerror(-r));
	if (read_only)
		return tier_cause(ret_cause, -EROFS, "%s is read-only", path);
	device.logical_block_bytes = logical;
	device.major = major(st.st_rdev);
	device.minor = minor(st.st_rdev);
	read_sysfs(device.major, device.minor, "queue/zoned", zoned, sizeof(zoned));
	device.zoned = *zoned && strcmp(zoned, "none");
	device.fd = fd;
	fd = -1;
	*ret_device = device;
	return 0;
}

/* Signatures ---------------------------------------------------------------------*/

static int new_probe(int fd, int super_flags, int part_flags, blkid_probe *ret_probe)
{
	blkid_probe probe = blkid_new_probe();

	if (!probe)
		return -ENOMEM;
	if (blkid_probe_set_device(probe, fd, 0, 0) ||
	    blkid_probe_enable_superblocks(probe, 1) ||
	    blkid_probe_set_superblocks_flags(probe, super_flags) ||
	    blkid_probe_enable_partitions(probe, 1) ||
	    blkid_probe_set_partitions_flags(probe, part_flags)) {
		blkid_free_probe(probe);
		return -EIO;
	}
	*ret_probe = probe;
	return 0;
}

static const char *value(blkid_probe probe, const char *name)
{
	const char *data;

	return blkid_probe_lookup_value(probe, name, &data, NULL) ? "" : data;
}

static void name_signature(blkid_probe probe, char *ret_what)
{
	const char *type = value(probe, "TYPE"), *label = value(probe, "LABEL");
	const char *table = value(probe, "PTTYPE");
	const bool is_fs = !strcmp(value(probe, "USAGE"), "filesystem");

	if (*type)
		tier_cause(ret_what, 0, "%s %s%s%s%s", type, is_fs ? "file system" : "signature",
			   *label ? " (label " : "", label, *label ? ")" : "");
	else
		tier_cause(ret_what, 0, "%s partition table", table);
	/* Labels come off the disk and go to a terminal. */
	for (char *c = ret_what; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

/* Our own signature, which libblkid does not know. */
static int own_signature(int fd, char *ret_what)
{
	struct tier_format_identity identity;
	char uuid[TIER_UUID_SIZE];
	int r;

	r = tier_format_identify(fd, &identity);
	if (r == -EPROTONOSUPPORT) {
		tier_cause(ret_what, 0, "metadata of a newer dm-tier");
		return 0;
	}
	if (r == -EINVAL) {
		tier_cause(ret_what, 0, "damaged metadata of a dm-tier pool");
		return 0;
	}
	if (r)
		return r;
	tier_format_uuid(identity.pool_uuid, uuid);
	switch (identity.kind) {
	case TIER_FORMAT_NONE:
		*ret_what = '\0';
		break;
	case TIER_FORMAT_METADATA:
		tier_cause(ret_what, 0, "metadata of the dm-tier pool %s", uuid);
		break;
	case TIER_FORMAT_DATA:
		tier_cause(ret_what, 0, "data device %u of the dm-tier pool %s", identity.idx,
			   uuid);
		break;
	}
	return 0;
}

int tier_probe_signature(int fd, char *ret_what)
{
	_cleanup_(free_probe) blkid_probe probe = NULL;
	char what[TIER_CAUSE_SIZE];
	int r;

	r = own_signature(fd, what);
	if (r)
		return r;
	if (*what) {
		memcpy(ret_what, what, sizeof(what));
		return 0;
	}
	r = new_probe(fd, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL | BLKID_SUBLKS_USAGE,
		      BLKID_PARTS_FORCE_GPT, &probe);
	if (r)
		return r;
	/* 0 found, 1 nothing, -2 several at once; those are an answer too. */
	r = blkid_do_safeprobe(probe);
	if (r == -2)
		tier_cause(ret_what, 0, "signatures of several file systems");
	else if (r == 0)
		name_signature(probe, ret_what);
	else if (r == 1)
		*ret_what = '\0';
	else
		return -EIO;
	return 0;
}

int tier_probe_wipe(int fd)
{
	_cleanup_(free_probe) blkid_probe probe = NULL;
	int r;

	r = new_probe(fd, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM,
		      BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT, &probe);
	if (r)
		return r;
	/* Each finding is removed and then looked for again, until there is none. */
	while ((r = blkid_do_probe(probe)) == 0)
		if (blkid_do_wipe(probe, 0))
			return -EIO;
	if (r < 0)
		return -EIO;
	return fsync(fd) ? -errno : 0;
}
