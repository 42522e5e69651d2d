// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device-mapper ioctls; the only file that includes libdevmapper's ioctl side.
 * What they mean for a pool is in dm_backend.c.
 *
 * libdevmapper reports every failure through its log callback, also those that
 * a caller expects (a full queue, a device that has gone). The callback here
 * keeps the last sentence, for failures that have no errno; nothing is printed.
 */
#include "dm.h"

#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dm_kmsg.h"
#include "table.h"
#include "util.h"

#define CONTROL_NODE	"/dev/mapper/control"
#define LOG_ERROR	3	/* libdevmapper's levels are those of syslog */

static char last_error[TIER_CAUSE_SIZE];

__attribute__((format(printf, 5, 6)))
static void keep_error(int level, const char *file, int line, int dm_errno_or_class,
		       const char *format, ...)
{
	va_list arguments;

	if ((level & 7) > LOG_ERROR)
		return;
	va_start(arguments, format);
	vsnprintf(last_error, sizeof(last_error), format, arguments);
	va_end(arguments);
}

static void task_cleanup(struct dm_task **task)
{
	if (*task)
		dm_task_destroy(*task);
}

#define _cleanup_task_ _cleanup_(task_cleanup)

/* For failures of libdevmapper that did not get as far as an ioctl. */
static int no_errno(int otherwise)
{
	_cleanup_close_ int fd = -1;

	if (geteuid())
		return -EPERM;
	/* The node may be there without a driver: libdevmapper makes it itself. */
	fd = open(CONTROL_NODE, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -EOPNOTSUPP : otherwise;
}

static int task_new(int type, const char *name, struct dm_task **ret_task)
{
	struct dm_task *task;

	/* Each time: reports (dm_report) have a callback of their own. */
	dm_log_with_errno_init(keep_error);
	last_error[0] = '\0';
	task = dm_task_create(type);
	if (!task)
		return no_errno(-ENOMEM);
	if (name && !dm_task_set_name(task, name)) {
		dm_task_destroy(task);
		return -EINVAL;
	}
	*ret_task = task;
	return 0;
}

static int task_run(struct dm_task *task)
{
	int error;

	if (dm_task_run(task))
		return 0;
	error = dm_task_get_errno(task);
	if (error == ENXIO)
		return -ENODEV;
	return error ? -error : no_errno(-EIO);
}

/* Tasks of a batch share a cookie, which is 0 until there is one. */
static bool is_batch;
static uint32_t batch_cookie;

void tier_dm_batch_begin(void)
{
	is_batch = true;
	batch_cookie = 0;
}

int tier_dm_batch_end(void)
{
	is_batch = false;
	/* Without udev this is where libdevmapper makes and removes the nodes. */
	return dm_udev_wait(batch_cookie) ? 0 : -EIO;
}

/* Run a task that makes udev act, and wait until it has; in a batch, at its end. */
static int task_run_udev(struct dm_task *task, bool is_private)
{
	uint16_t flags = !is_private ? 0 : DM_UDEV_DISABLE_SUBSYSTEM_RULES_FLAG |
					   DM_UDEV_DISABLE_DISK_RULES_FLAG |
					   DM_UDEV_DISABLE_OTHER_RULES_FLAG;
	uint32_t cookie = 0;
	int r;

	if (!dm_task_set_cookie(task, is_batch ? &batch_cookie : &cookie, flags))
		return -EIO;
	r = task_run(task);
	if (is_batch)
		return r;
	/* Also after a failure: it is what removes the cookie's semaphore. */
	if (!dm_udev_wait(cookie) && !r)
		r = -EIO;
	return r;
}

/* INFO of a device that must be there. */
static int task_info(struct dm_task *task, struct dm_info *ret_info)
{
	struct dm_info info;

	if (!dm_task_get_info(task, &info))
		return -EIO;
	if (!info.exists)
		return -ENODEV;
	*ret_info = info;
	return 0;
}

static int read_info(const char *name, struct dm_info *ret_info)
{
	_cleanup_task_ struct dm_task *task = NULL;
	int r = task_new(DM_DEVICE_INFO, name, &task);

	if (!r)
		r = task_run(task);
	return r ? r : task_info(task, ret_info);
}

int tier_dm_exists(const char *name, bool *ret_exists)
{
	struct dm_info info;
	int r = read_info(name, &info);

	if (r && r != -ENODEV)
		return r;
	*ret_exists = !r;
	return 0;
}

int tier_dm_open_count(const char *name, int32_t *ret_count)
{
	struct dm_info info;
	int r = read_info(name, &info);

	if (!r)
		*ret_count = info.open_count;
	return r;
}

static const char *const targets[] = {
	[TIER_DM_POOL] = TIER_TARGET_POOL,
	[TIER_DM_VOLUME] = TIER_TARGET_VOLUME,
};

/* Parameters of the one target of a table or status. -ENODEV: it is another one. */
static int one_target(struct dm_task *task, const char *target, uint64_t *ret_sectors,
		      char **ret_params)
{
	uint64_t start, sectors;
	char *type = NULL, *params = NULL, *copy;

	if (dm_get_next_target(task, NULL, &start, &sectors, &type, &params) || !type)
		return -ENODEV;		/* several targets, or none: no live table */
	if (strcmp(type, target))
		return -ENODEV;
	copy = strdup(params ? params : "");
	if (!copy)
		return -ENOMEM;
	if (ret_sectors)
		*ret_sectors = sectors;
	*ret_params = copy;
	return 0;
}

static int read_params(int type, enum tier_dm_kind kind, const char *name, char **ret_params)
{
	_cleanup_task_ struct dm_task *task = NULL;
	struct dm_info info;
	int r = task_new(type, name, &task);

	if (!r && (!dm_task_no_flush(task) || !dm_task_no_open_count(task)))
		r = -EIO;
	if (!r)
		r = task_run(task);
	if (!r)
		r = task_info(task, &info);
	return r ? r : one_target(task, targets[kind], NULL, ret_params);
}

int tier_dm_table(enum tier_dm_kind kind, const char *name, char **ret_params)
{
	return read_params(DM_DEVICE_TABLE, kind, name, ret_params);
}

int tier_dm_status(enum tier_dm_kind kind, const char *name, char **ret_params)
{
	return read_params(DM_DEVICE_STATUS, kind, name, ret_params);
}

/* What its live table says: -ENODEV if it is none of ours. */
static int describe_table(const char *name, struct tier_dm_device *device)
{
	_cleanup_task_ struct dm_task *task = NULL;
	_cleanup_free_ char *params = NULL;
	struct tier_volume_table volume;
	int r = task_new(DM_DEVICE_TABLE, name, &task);

	if (!r)
		r = task_run(task);
	if (r)
		return r;
	device->kind = TIER_DM_POOL;
	r = one_target(task, TIER_TARGET_POOL, &device->sectors, &params);
	if (r != -ENODEV)
		return r;
	device->kind = TIER_DM_VOLUME;
	r = one_target(task, TIER_TARGET_VOLUME, &device->sectors, &params);
	if (!r)
		r = tier_table_parse_volume(params, &volume);
	if (r)
		return r;
	device->pool_major = volume.pool.major;
	device->pool_minor = volume.pool.minor;
	device->volume = volume.volume;
	return 0;
}

/*
 * What a device is, if it is one of ours: -ENODEV if not. Foreign UUIDs are not
 * looked into; a device without a UUID may be ours, made by hand.
 */
static int describe(const char *name, struct tier_dm_device *ret_device)
{
	_cleanup_task_ struct dm_task *info_task = NULL;
	struct tier_dm_device device = { .kind = TIER_DM_UNFINISHED };
	struct dm_info info;
	const char *uuid;
	int r;

	r = task_new(DM_DEVICE_INFO, name, &info_task);
	if (!r)
		r = task_run(info_task);
	if (!r)
		r = task_info(info_task, &info);
	if (r)
		return r;
	uuid = dm_task_get_uuid(info_task);
	uuid = uuid ? uuid : "";
	if (*uuid && strncmp(uuid, TIER_DM_UUID_PREFIX, strlen(TIER_DM_UUID_PREFIX)))
		return -ENODEV;
	if (info.live_table)
		r = describe_table(name, &device);
	else
		r = *uuid ? 0 : -ENODEV;
	if (r)
		return r;
	snprintf(device.name, sizeof(device.name), "%s", name);
	snprintf(device.uuid, sizeof(device.uuid), "%s", uuid);
	device.major = info.major;
	device.minor = info.minor;
	device.event_nr = info.event_nr;
	device.open_count = info.open_count;
	device.suspended = info.suspended;
	device.read_only = info.read_only;
	*ret_device = device;
	return 0;
}

int tier_dm_list(struct tier_dm_device **ret_devices, size_t *ret_nr_devices)
{
	_cleanup_task_ struct dm_task *task = NULL;
	_cleanup_free_ struct tier_dm_device *devices = NULL;
	size_t nr_devices = 0, room = 0;
	struct dm_names *names;
	int r = task_new(DM_DEVICE_LIST, NULL, &task);

	if (!r)
		r = task_run(task);
	if (r)
		return r;
	names = dm_task_get_names(task);
	if (!names)
		return -EIO;
	/* An empty list is one entry without a device number. */
	while (names->dev) {
		if (nr_devices == room) {
			struct tier_dm_device *more;

			room = room ? 2 * room : 16;
			more = reallocarray(devices, room, sizeof(*devices));
			if (!more)
				return -ENOMEM;
			devices = more;
		}
		r = describe(names->name, &devices[nr_devices]);
		if (r && r != -ENODEV)
			return r;
		nr_devices += !r;
		if (!names->next)
			break;
		names = (struct dm_names *)((char *)names + names->next);
	}
	*ret_devices = devices;
	*ret_nr_devices = nr_devices;
	devices = NULL;
	return 0;
}

int tier_dm_message(const char *name, const char *message, char **ret_answer)
{
	_cleanup_task_ struct dm_task *task = NULL;
	const char *answer;
	bool exists;
	char *copy;
	int r = task_new(DM_DEVICE_TARGET_MSG, name, &task);

	if (r)
		return r;
	if (!dm_task_set_sector(task, 0) || !dm_task_set_message(task, message))
		return -ENOMEM;
	r = task_run(task);
	if (r == -ENODEV) {
		/* The kernel says ENXIO both for this device and for one that the message names. */
		int r2 = tier_dm_exists(name, &exists);

		return !r2 && exists ? -ENXIO : -ENODEV;
	}
	if (r || !ret_answer)
		return r;
	answer = dm_task_get_message_response(task);
	copy = strdup(answer ? answer : "");
	if (!copy)
		return -ENOMEM;
	*ret_answer = copy;
	return 0;
}

/* Load a table; on failure with the kernel's words, or libdevmapper's. */
static int load(const struct tier_dm_table_line *line, const char *devno, char *ret_cause)
{
	_cleanup_task_ struct dm_task *task = NULL;
	_cleanup_close_ int kmsg = -1;
	int r = task_new(DM_DEVICE_RELOAD, line->name, &task);

	if (r)
		return r;
	if (!dm_task_add_target(task, 0, line->sectors, line->target, line->params) ||
	    (line->read_only && !dm_task_set_ro(task)))
		return -ENOMEM;
	if (ret_cause && tier_kmsg_open(&kmsg))
		kmsg = -1;	/* no sentence then; the errno has to do */
	r = task_run(task);
	if (r && ret_cause &&
	    (kmsg < 0 || !tier_kmsg_cause(kmsg, devno, line->target, ret_cause,
					  TIER_CAUSE_SIZE)))
		snprintf(ret_cause, TIER_CAUSE_SIZE, "%s", last_error);
	return r;
}

/* Make the loaded table live; its refusals come out of the module's preresume. */
static int activate(const struct tier_dm_table_line *line, const char *devno, char *ret_cause)
{
	_cleanup_task_ struct dm_task *task = NULL;
	_cleanup_close_ int kmsg = -1;
	int r = task_new(DM_DEVICE_RESUME, line->name, &task);

	if (r)
		return r;
	/*
	 * The old table is suspended without flushing what is above: writes that wait for
	 * space wait on with the new one, instead of failing, and a filesystem that is
	 * full of them is not waited for.
	 */
	if (!dm_task_no_flush(task) || !dm_task_skip_lockfs(task))
		return -EIO;
	if (ret_cause && tier_kmsg_open(&kmsg))
		kmsg = -1;
	r = task_run_udev(task, line->is_private);
	if (r && ret_cause &&
	    (kmsg < 0 || !tier_kmsg_cause(kmsg, devno, line->target, ret_cause,
					  TIER_CAUSE_SIZE)))
		snprintf(ret_cause, TIER_CAUSE_SIZE, "%s", last_error);
	return r;
}

static int device_numbers(struct dm_task *task, char *ret_devno, size_t size)
{
	struct dm_info info;
	int r = task_info(task, &info);

	if (!r)
		snprintf(ret_devno, size, "%u:%u", info.major, info.minor);
	return r;
}

int tier_dm_create(const struct tier_dm_table_line *line, char *ret_cause)
{
	_cleanup_task_ struct dm_task *task = NULL;
	char devno[32];
	int r;

	if (ret_cause)
		*ret_cause = '\0';
	r = task_new(DM_DEVICE_CREATE, line->name, &task);
	if (!r && line->uuid && !dm_task_set_uuid(task, line->uuid))
		r = -EINVAL;
	if (!r)
		r = task_run(task);
	if (r == -EBUSY)
		return -EEXIST;		/* dm's word for a name or UUID that is taken */
	if (r) {
		if (ret_cause)
			snprintf(ret_cause, TIER_CAUSE_SIZE, "%s", last_error);
		return r;
	}
	r = device_numbers(task, devno, sizeof(devno));
	if (!r)
		r = load(line, devno, ret_cause);
	if (!r)
		r = activate(line, devno, ret_cause);
	if (r)
		tier_dm_remove(line->name);	/* it has no live table: nobody can hold it */
	return r;
}

/*
 * A refused activation has already destroyed the old table and left the device
 * suspended with the new one: I/O would wait for ever. Load the old one again.
 */
static void restore(const struct tier_dm_table_line *line, const char *devno,
		    uint64_t old_sectors, const char *old_params, char *ret_cause)
{
	struct tier_dm_table_line old = *line;
	size_t used;
	int r;

	old.sectors = old_sectors;
	old.params = old_params;
	r = load(&old, devno, NULL);
	if (!r)
		r = activate(&old, devno, NULL);
	if (!r || !ret_cause)
		return;
	used = strlen(ret_cause);
	snprintf(ret_cause + used, TIER_CAUSE_SIZE - used,
		 "; its old table could not be restored either (%s): it stays suspended",
		 strerror(-r));
}

int tier_dm_reload(const struct tier_dm_table_line *line, char *ret_cause)
{
	_cleanup_task_ struct dm_task *task = NULL;
	_cleanup_free_ char *old_params = NULL;
	uint64_t old_sectors;
	char devno[32];
	int r;

	if (ret_cause)
		*ret_cause = '\0';
	r = task_new(DM_DEVICE_TABLE, line->name, &task);
	if (!r)
		r = task_run(task);
	if (!r)
		r = device_numbers(task, devno, sizeof(devno));
	if (!r)
		r = one_target(task, line->target, &old_sectors, &old_params);
	if (!r)
		r = load(line, devno, ret_cause);
	if (r)
		return r;
	r = activate(line, devno, ret_cause);
	if (r)
		restore(line, devno, old_sectors, old_params, ret_cause);
	return r;
}

int tier_dm_suspend(const char *name, bool noflush)
{
	_cleanup_task_ struct dm_task *task = NULL;
	int r = task_new(DM_DEVICE_SUSPEND, name, &task);

	if (!r && noflush && (!dm_task_no_flush(task) || !dm_task_skip_lockfs(task)))
		r = -EIO;
	return r ? r : task_run(task);
}

int tier_dm_resume(const char *name)
{
	_cleanup_task_ struct dm_task *task = NULL;
	int r = task_new(DM_DEVICE_RESUME, name, &task);

	return r ? r : task_run_udev(task, false);
}

int tier_dm_remove(const char *name)
{
	_cleanup_task_ struct dm_task *task = NULL;
	int r = task_new(DM_DEVICE_REMOVE, name, &task);

	/* udev opens devices behind everyone's back; libdevmapper waits up to 5 s. */
	if (!r && !dm_task_retry_remove(task))
		r = -EIO;
	return r ? r : task_run_udev(task, false);
}

int tier_dm_rename(const char *name, const char *new_name)
{
	_cleanup_task_ struct dm_task *task = NULL;
	int r = task_new(DM_DEVICE_RENAME, name, &task);

	if (!r && !dm_task_set_newname(task, new_name))
		r = -EINVAL;
	if (!r)
		r = task_run_udev(task, false);
	return r == -EBUSY ? -EEXIST : r;
}

int tier_dm_events_open(int *ret_fd)
{
	int fd = open(CONTROL_NODE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	int r;

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? -errno : -EOPNOTSUPP;
	r = tier_dm_events_arm(fd);
	if (r) {
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int tier_dm_events_arm(int fd)
{
	/* libdevmapper keeps its own descriptor to itself, so this one ioctl is made by hand. */
	struct dm_ioctl request = {
		.version = { DM_VERSION_MAJOR, 0, 0 },
		.data_size = sizeof(request),
	};

	if (ioctl(fd, DM_DEV_ARM_POLL, &request))
		return errno == ENOTTY ? -EOPNOTSUPP : -errno;
	return 0;
}
