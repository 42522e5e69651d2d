// SPDX-License-Identifier: GPL-2.0-only
/* Pools come and go. See discover.h. */
#include "discover.h"

#include <errno.h>
#include <libudev.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"
#include "util.h"

/* So long a new pool may be unreadable before that is an error. */
#define PATIENCE_NS	(10 * CLOCK_NS_PER_S)

/* A tier-pool device that was seen. */
struct known {
	char dm_name[TIER_NAME_SIZE];
	uint32_t major;
	uint32_t minor;
	bool is_added;			/* tierd has it: */
	char pool[TIER_NAME_SIZE];
	struct tier_backend backend;
	int64_t failed_ns;		/* ... or not, since */
	bool is_logged;
	bool is_present;		/* in the scan that goes on */
};

struct discover {
	struct tierd *tierd;
	const struct log_sink *log;
	struct udev *udev;
	struct udev_monitor *monitor;
	struct known *known;
	size_t nr_known;
	int scan_error;			/* of the last scan, logged */
};

int discover_new(struct tierd *tierd, const struct log_sink *log, struct discover **ret_discover)
{
	struct discover *discover = calloc(1, sizeof(*discover));

	if (!discover)
		return -ENOMEM;
	discover->tierd = tierd;
	discover->log = log;
	discover->udev = udev_new();
	if (discover->udev)
		discover->monitor = udev_monitor_new_from_netlink(discover->udev, "udev");
	if (!discover->monitor ||
	    udev_monitor_filter_add_match_subsystem_devtype(discover->monitor, "block", "disk") < 0 ||
	    udev_monitor_enable_receiving(discover->monitor) < 0) {
		int r = errno ? -errno : -ENOMEM;

		discover_free(discover);
		return r;
	}
	*ret_discover = discover;
	return 0;
}

void discover_free(struct discover *discover)
{
	if (!discover)
		return;
	for (size_t i = 0; i < discover->nr_known; i++)
		tier_dm_backend_close(&discover->known[i].backend);
	free(discover->known);
	udev_monitor_unref(discover->monitor);
	udev_unref(discover->udev);
	free(discover);
}

int discover_fd(const struct discover *discover)
{
	return udev_monitor_get_fd(discover->monitor);
}

bool discover_receive(struct discover *discover)
{
	struct udev_device *device;
	bool is_dm = false;

	while ((device = udev_monitor_receive_device(discover->monitor))) {
		const char *name = udev_device_get_sysname(device);

		is_dm |= name && !strncmp(name, "dm-", 3);
		udev_device_unref(device);
	}
	return is_dm;
}

static struct known *find_known(struct discover *discover, const struct tier_dm_device *device)
{
	for (size_t i = 0; i < discover->nr_known; i++) {
		struct known *known = &discover->known[i];

		if (device->kind == TIER_DM_POOL && known->major == device->major &&
		    known->minor == device->minor && !strcmp(known->dm_name, device->name))
			return known;
	}
	return NULL;
}

static struct known *new_known(struct discover *discover, const struct tier_dm_device *device)
{
	struct known *known = reallocarray(discover->known, discover->nr_known + 1, sizeof(*known));

	if (!known)
		return NULL;
	discover->known = known;
	known = &known[discover->nr_known++];
	*known = (struct known) { .major = device->major, .minor = device->minor };
	memcpy(known->dm_name, device->name, sizeof(known->dm_name));
	return known;
}

static void forget(struct discover *discover, size_t i, const struct clock_time *now)
{
	struct known *known = &discover->known[i];

	if (known->is_added)
		tierd_remove_pool(discover->tierd, known->pool, now);
	tier_dm_backend_close(&known->backend);
	discover->nr_known--;
	memmove(known, known + 1, (discover->nr_known - i) * sizeof(*known));
}

static void add(struct discover *discover, struct known *known, const struct clock_time *now)
{
	struct tier_backend backend;
	int r;

	r = tier_dm_backend_open(known->dm_name, &backend);
	if (!r) {
		r = tierd_add_pool(discover->tierd, &backend, now, known->pool);
		if (r)
			tier_dm_backend_close(&backend);
	}
	if (!r) {
		known->backend = backend;
		known->is_added = true;
		return;
	}
	/* While its metadata are being loaded a pool has nothing to tell either. */
	if (!known->failed_ns)
		known->failed_ns = now->boot_ns;
	if (known->is_logged || now->boot_ns - known->failed_ns < PATIENCE_NS)
		return;
	known->is_logged = true;
	log_plain(discover->log, LOG_POOL_ERROR_EVENT, LOG_ERR, NULL,
		  "pool device %s cannot be used: %s", known->dm_name,
		  r == -EEXIST ? "another pool has the same name" :
		  r == -ENODATA ? TIER_NOT_LOADED_TEXT : strerror(-r));
}

static bool is_patient(const struct known *known)
{
	return !known->is_added && !known->is_logged;
}

static void see_device(struct discover *discover, const struct tier_dm_device *device,
		       const struct clock_time *now)
{
	struct known *known;

	if (device->kind != TIER_DM_POOL)
		return;
	known = find_known(discover, device);
	if (!known)
		known = new_known(discover, device);
	if (!known)
		return;		/* no memory: the next scan */
	known->is_present = true;
	if (!known->is_added)
		add(discover, known, now);
}

bool discover_scan(struct discover *discover, const struct clock_time *now)
{
	_cleanup_free_ struct tier_dm_device *devices = NULL;
	bool is_complete = true;
	size_t nr_devices;
	int r;

	for (size_t i = discover->nr_known; i-- > 0;)
		if (discover->known[i].is_added &&
		    tierd_pool_is_lost(discover->tierd, discover->known[i].pool))
			forget(discover, i, now);
	r = tier_dm_list(&devices, &nr_devices);
	if (r && r != discover->scan_error)
		log_plain(discover->log, LOG_POOL_ERROR_EVENT, LOG_ERR, NULL,
			  "pools cannot be listed: %s", strerror(-r));
	discover->scan_error = r;
	if (r)
		return true;
	/* First those that are gone: one may come back under another pool's name. */
	for (size_t i = 0; i < discover->nr_known; i++)
		discover->known[i].is_present = false;
	for (size_t i = 0; i < nr_devices; i++) {
		struct known *known = find_known(discover, &devices[i]);

		if (known)
			known->is_present = true;
	}
	for (size_t i = discover->nr_known; i-- > 0;)
		if (!discover->known[i].is_present)
			forget(discover, i, now);
	for (size_t i = 0; i < nr_devices; i++)
		see_device(discover, &devices[i], now);
	for (size_t i = 0; i < discover->nr_known; i++)
		is_complete &= !is_patient(&discover->known[i]);
	return is_complete;
}
