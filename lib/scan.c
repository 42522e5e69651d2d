// SPDX-License-Identifier: GPL-2.0-only
/* Finding pools over sysfs, see scan.h. */
#include "scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

#define HOLDERS_DEEP	16	/* how many devices may be stacked */

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Looking at one device ------------------------------------------------------------*/

static FILE *open_attribute(const struct tier_scan_tree *tree, const char *name,
			    const char *attribute)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/%s/%s", tree->sysfs, name, attribute) < 0) {
		path = NULL;
		return NULL;
	}
	return fopen(path, "re");
}

/* First line of <sysfs>/<name>/<attribute>; false if there is none. */
static bool read_attribute(const struct tier_scan_tree *tree, const char *name,
			   const char *attribute, char *ret_text, size_t size)
{
	_cleanup_fclose_ FILE *file = open_attribute(tree, name, attribute);

	if (!file || !fgets(ret_text, size, file))
		return false;
	ret_text[strcspn(ret_text, "\n")] = '\0';
	return true;
}

static bool attribute_is(const struct tier_scan_tree *tree, const char *name, const char *attribute,
			 const char *value)
{
	char text[32];

	return read_attribute(tree, name, attribute, text, sizeof(text)) && !strcmp(text, value);
}

/* A pool or volume, whoever made its device. */
static bool is_ours(const struct tier_scan_tree *tree, const char *name)
{
	uint32_t major, minor;
	char text[32];

	if (!read_attribute(tree, name, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return false;
	for (size_t i = 0; i < tree->nr_active; i++)
		if (tree->active[i].major == major && tree->active[i].minor == minor)
			return true;
	return false;
}

/* Why a device is not looked at, NULL: it is. */
static const char *obstacle(const struct tier_scan_tree *tree, const char *name)
{
	char text[32];

	/* An empty loop device or drive has no sectors. */
	if (!read_attribute(tree, name, "size", text, sizeof(text)) || !strcmp(text, "0"))
		return "has no medium";
	/* Of a partition its disk says it. */
	if (attribute_is(tree, name, "removable", "1") ||
	    attribute_is(tree, name, "../removable", "1"))
		return "is a removable disk";
	if (attribute_is(tree, name, "dm/suspended", "1"))
		return "is suspended";
	/* Nothing of a pool lies on it. */
	if (is_ours(tree, name))
		return "is a pool or volume of dm-tier";
	return NULL;
}

/* sysfs has ! where names have slashes: cciss!c0d0. */
static void restore_slashes(char *name)
{
	while ((name = strchr(name, '!')))
		*name = '/';
}

/* The name that people know, if it is there: without udev it may not be. */
static int name_device(const struct tier_scan_tree *tree, struct tier_scan_device *device)
{
	char dm_name[TIER_NAME_SIZE];
	const int size = sizeof(device->path);

	if (read_attribute(tree, device->kernel_name, "dm/name", dm_name, sizeof(dm_name)) &&
	    snprintf(device->path, size, "%s/mapper/%s", tree->dev, dm_name) < size &&
	    !access(device->path, F_OK))
		return 0;
	if (snprintf(device->path, size, "%s/%s", tree->dev, device->kernel_name) >= size)
		return -ENAMETOOLONG;
	restore_slashes(device->path + strlen(tree->dev));
	return 0;
}

static int look_at(const struct tier_scan_tree *tree, const char *name,
		   struct tier_scan_device *ret_device)
{
	struct tier_scan_device device = {};
	_cleanup_close_ int fd = -1;
	char text[64];
	int r;

	if (snprintf(device.kernel_name, sizeof(device.kernel_name), "%s", name) >=
	    (int)sizeof(device.kernel_name))
		return -ENAMETOOLONG;
	r = name_device(tree, &device);
	if (r)
		return r;
	r = tier_format_open(device.path, &fd);
	if (r)
		return r;
	r = tier_format_identify(fd, &device.identity);
	if (r)
		return r;
	if (!read_attribute(tree, name, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &device.major, &device.minor) != 2)
		return -ENODEV;
	if (read_attribute(tree, name, "size", text, sizeof(text)))
		device.bytes = strtoull(text, NULL, 10) * 512;
	*ret_device = device;
	return 0;
}

/* Is one of ours below it, over any number of devices between? A partition's disk is. */
static bool is_on_ours(const struct tier_scan_tree *tree, const char *name, int depth)
{
	static const char *const folders[] = { "slaves", "../slaves" };

	for (size_t i = 0; i < TIER_NR(folders); i++) {
		_cleanup_(close_dir) DIR *dir = NULL;
		_cleanup_free_ char *path = NULL;
		const struct dirent *entry;

		if (asprintf(&path, "%s/%s/%s", tree->sysfs, name, folders[i]) < 0) {
			path = NULL;
			return false;
		}
		dir = opendir(path);
		while (dir && (entry = readdir(dir))) {
			_cleanup_free_ char *below = NULL;

			if (entry->d_name[0] == '.')
				continue;
			if (asprintf(&below, "%s/%s/%s", name, folders[i], entry->d_name) < 0) {
				below = NULL;
				return false;
			}
			if (is_ours(tree, below) ||
			    (depth < HOLDERS_DEEP && is_on_ours(tree, below, depth + 1)))
				return true;
		}
	}
	return false;
}

const char *tier_scan_tree_obstacle(const struct tier_scan_tree *tree, const char *name)
{
	const char *why = obstacle(tree, name);

	if (!why && is_on_ours(tree, name, 0))
		why = "is built on a volume of dm-tier";
	return why;
}

/* All devices ----------------------------------------------------------------------*/

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_device_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Is `below` part of `above`, over any number of devices between? */
static bool is_held_by(const struct tier_scan_tree *tree, const char *below, const char *above,
		       int depth)
{
	_cleanup_(close_dir) DIR *dir = NULL;
	_cleanup_free_ char *path = NULL;
	const struct dirent *entry;

	if (depth >= HOLDERS_DEEP)
		return false;
	if (asprintf(&path, "%s/%s/holders", tree->sysfs, below) < 0) {
		path = NULL;
		return false;
	}
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (!strcmp(entry->d_name, above) ||
		    is_held_by(tree, entry->d_name, above, depth + 1))
			return true;
	}
	return false;
}

/* Metadata has no device_uuid. */
bool tier_scan_is_same(const struct tier_format_identity *a,
		       const struct tier_format_identity *b)
{
	return a->kind == b->kind && !memcmp(a->pool_uuid, b->pool_uuid, 16) &&
	       !memcmp(a->device_uuid, b->device_uuid, 16);
}

static void drop_lower_ones(const struct tier_scan_tree *tree, struct tier_scan *scan)
{
	size_t kept = 0;

	for (size_t i = 0; i < scan->nr_devices; i++) {
		bool lower = false;

		/* Places before i may have other devices by now, but no topmost one is gone. */
		for (size_t j = 0; j < scan->nr_devices && !lower; j++)
			lower = j != i &&
				tier_scan_is_same(&scan->devices[i].identity,
						  &scan->devices[j].identity) &&
				is_held_by(tree, scan->devices[i].kernel_name,
					   scan->devices[j].kernel_name, 0);
		if (!lower)
			scan->devices[kept++] = scan->devices[i];
	}
	scan->nr_devices = kept;
}

static void free_names(struct dirent **names, int count)
{
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

int tier_scan_tree(const struct tier_scan_tree *tree, struct tier_scan *ret_scan)
{
	struct tier_scan scan = {};
	struct dirent **names;
	int count, r;

	count = scandir(tree->sysfs, &names, is_device_name, compare_names);
	if (count < 0)
		return -errno;
	scan.devices = calloc(count + 1, sizeof(*scan.devices));
	if (!scan.devices) {
		free_names(names, count);
		return -ENOMEM;
	}
	for (int i = 0; i < count; i++) {
		struct tier_scan_device *device = &scan.devices[scan.nr_devices];

		if (obstacle(tree, names[i]->d_name))
			continue;
		r = look_at(tree, names[i]->d_name, device);
		if (r)
			scan.nr_unreadable++;
		else if (device->identity.kind != TIER_FORMAT_NONE)
			scan.nr_devices++;
	}
	free_names(names, count);
	drop_lower_ones(tree, &scan);
	*ret_scan = scan;
	return 0;
}

/* The caller frees *ret_active. Without device-mapper nothing is active. */
static int list_active(struct tier_scan_tree *tree, struct tier_dm_device **ret_active)
{
	int r = tier_dm_list(ret_active, &tree->nr_active);

	if (r == -EOPNOTSUPP)
		return 0;
	if (!r)
		tree->active = *ret_active;
	return r;
}

int tier_scan_system(struct tier_scan *ret_scan)
{
	struct tier_scan_tree tree = { .sysfs = "/sys/class/block", .dev = "/dev" };
	_cleanup_free_ struct tier_dm_device *active = NULL;
	int r = list_active(&tree, &active);

	return r ? r : tier_scan_tree(&tree, ret_scan);
}

int tier_scan_obstacle(uint32_t major, uint32_t minor, const char **ret_why)
{
	struct tier_scan_tree tree = { .sysfs = "/sys/dev/block" };
	_cleanup_free_ struct tier_dm_device *active = NULL;
	char number[32];
	int r = list_active(&tree, &active);

	if (r)
		return r;
	snprintf(number, sizeof(number), "%u:%u", major, minor);
	*ret_why = tier_scan_tree_obstacle(&tree, number);
	return 0;
}

void tier_scan_clear(struct tier_scan *scan)
{
	free(scan->devices);
	*scan = (struct tier_scan){};
}

/* Pools ------------------------------------------------------------------------------*/

static struct tier_scan_pool *find_pool(struct tier_scan_pool *pools, size_t *nr_pools,
					const uint8_t *uuid)
{
	for (size_t i = 0; i < *nr_pools; i++)
		if (!memcmp(pools[i].uuid, uuid, 16))
			return &pools[i];
	memcpy(pools[*nr_pools].uuid, uuid, 16);
	return &pools[(*nr_pools)++];
}

static int load_metadata(struct tier_scan_pool *pool, struct tier_meta **ret_meta)
{
	_cleanup_close_ int fd = -1;
	struct tier_meta *meta;
	int r;

	r = tier_format_open(pool->metadata->path, &fd);
	if (r)
		return tier_cause(pool->cause, r, "cannot open %s: %s", pool->metadata->path,
				  strerror(-r));
	r = tier_meta_read(fd, &meta, pool->cause);
	if (r)
		return r;
	r = tier_meta_pool_info(meta, &pool->info);
	if (r) {
		tier_meta_free(meta);
		return tier_cause(pool->cause, r, "%s", strerror(-r));
	}
	tier_meta_facts(meta, &pool->facts);
	*ret_meta = meta;
	return 0;
}

/* Which of the pool's devices are there, and which that are there are not the pool's? */
static void match_devices(const struct tier_scan *scan, struct tier_scan_pool *pool,
			  const struct tier_meta *meta)
{
	for (size_t i = 0; i < scan->nr_devices; i++) {
		const struct tier_scan_device *device = &scan->devices[i];
		size_t m;

		if (device->identity.kind != TIER_FORMAT_DATA ||
		    memcmp(device->identity.pool_uuid, pool->uuid, 16))
			continue;
		for (m = 0; m < pool->info.nr_devices; m++)
			if (!memcmp(device->identity.device_uuid,
				    tier_meta_device_uuid(meta, pool->info.devices[m].idx), 16))
				break;
		if (m == pool->info.nr_devices) {
			pool->nr_foreign++;
		} else if (pool->members[m].device) {
			pool->nr_doubled += !pool->members[m].doubled;
			pool->members[m].doubled = true;
		} else {
			pool->members[m].device = device;
		}
	}
	for (size_t m = 0; m < pool->info.nr_devices; m++) {
		const enum tier_device_state state = pool->info.devices[m].state;

		if (!pool->members[m].device && state != TIER_DEVICE_NEW &&
		    state != TIER_DEVICE_LOST)
			pool->nr_missing++;
	}
}

static void fill_pool(const struct tier_scan *scan, struct tier_scan_pool *pool)
{
	struct tier_meta *meta = NULL;

	for (size_t i = 0; i < scan->nr_devices; i++) {
		const struct tier_scan_device *device = &scan->devices[i];

		if (device->identity.kind != TIER_FORMAT_METADATA ||
		    memcmp(device->identity.pool_uuid, pool->uuid, 16))
			continue;
		if (pool->metadata) {
			pool->error = tier_cause(pool->cause, -ENOTUNIQ,
						 "%s and %s both have the pool's metadata",
						 pool->metadata->path, device->path);
			return;
		}
		pool->metadata = device;
	}
	if (!pool->metadata) {
		pool->error = tier_cause(pool->cause, -ENOENT,
					 "the pool's metadata device was not found");
		return;
	}
	pool->error = load_metadata(pool, &meta);
	if (pool->error)
		return;
	match_devices(scan, pool, meta);
	tier_meta_free(meta);
}

int tier_scan_pools(const struct tier_scan *scan, struct tier_scan_pool **ret_pools,
		    size_t *ret_nr_pools)
{
	struct tier_scan_pool *pools = calloc(scan->nr_devices + 1, sizeof(*pools));
	size_t nr_pools = 0;

	if (!pools)
		return -ENOMEM;
	for (size_t i = 0; i < scan->nr_devices; i++)
		find_pool(pools, &nr_pools, scan->devices[i].identity.pool_uuid);
	for (size_t i = 0; i < nr_pools; i++)
		fill_pool(scan, &pools[i]);
	*ret_pools = pools;
	*ret_nr_pools = nr_pools;
	return 0;
}

void tier_scan_free_pools(struct tier_scan_pool *pools, size_t nr_pools)
{
	for (size_t i = 0; i < nr_pools; i++)
		tier_pool_info_clear(&pools[i].info);
	free(pools);
}
