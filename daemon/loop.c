// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event loop. Whatever happens (a timer, a dm event, a device, a call on the
 * bus, a signal, a clock that was set) leads to a tick of tierd and a new timer.
 * See loop.h.
 */
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <time.h>

#include "bus.h"
#include "discover.h"
#include "dm.h"
#include "tierd.h"
#include "util.h"

#define RESCAN_NS	(60 * CLOCK_NS_PER_S)	/* in case an event was missed */
#define RETRY_NS	CLOCK_NS_PER_S		/* a pool was found that cannot be read yet */
#define STOP_NS		(5 * CLOCK_NS_PER_S)	/* for moves to end when we have to */

struct loop {
	const struct loop_options *options;
	const struct log_sink *log;
	struct tierd *tierd;
	struct discover *discover;
	struct bus *bus;
	sd_event *event;
	sd_event_source *tick;
	int state_dirfd;
	int dm_fd;
	int clock_fd;
	bool wants_scan;
	int64_t scan_ns;		/* when the next one is due anyway */
	int64_t leave_ns;		/* not 0: we leave, at the latest then */
	int exit_code;
	char config_error[sizeof(((struct config_error *)NULL)->text)];
	char status[256];		/* told to the service manager last */
};

/* ---------------------------------------------------------------- clocks */

static void read_clocks(void *ctx, struct clock_time *ret_now)
{
	struct timespec boot, real;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &real);
	*ret_now = (struct clock_time) {
		.boot_ns = boot.tv_sec * CLOCK_NS_PER_S + boot.tv_nsec,
		.real_s = real.tv_sec,
	};
}

static int64_t local_offset(void *ctx, int64_t utc_s)
{
	time_t t = utc_s;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

static const struct tier_time_zone local_zone = { .offset_s = local_offset };

/* Readable when someone sets the real time clock. */
static int arm_clock_fd(int fd)
{
	/* As far away as it gets: only the setting matters. */
	const struct itimerspec never = { .it_value.tv_sec = INT64_MAX / CLOCK_NS_PER_S };

	return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) ?
	       -errno : 0;
}

/* ---------------------------------------------------------------- telling the service manager */

static void tell_status(struct loop *loop)
{
	char status[sizeof(loop->status)] = "no pool is active";
	struct tierd_pool_row row;
	size_t used = 0;

	for (size_t i = 0; tierd_pool_row(loop->tierd, i, &row) && used < sizeof(status); i++) {
		used += snprintf(status + used, sizeof(status) - used, "%s%s: %s", i ? "; " : "",
				 row.name, row.state);
		if (used < sizeof(status) && row.active_moves + row.pending_moves)
			used += snprintf(status + used, sizeof(status) - used,
					 ", %llu moves under way, %llu to come",
					 (unsigned long long)row.active_moves,
					 (unsigned long long)row.pending_moves);
	}
	if (!strcmp(status, loop->status))
		return;
	memcpy(loop->status, status, sizeof(status));
	sd_notifyf(false, "STATUS=%s", status);
}

/* ---------------------------------------------------------------- the tick */

static int set_timer(struct loop *loop, int64_t at_ns)
{
	int r;

	r = sd_event_source_set_time(loop->tick, at_ns > 0 ? at_ns / 1000 + 1 : 0);
	return r < 0 ? r : sd_event_source_set_enabled(loop->tick, SD_EVENT_ONESHOT);
}

static void leave_if_done(struct loop *loop, const struct clock_time *now)
{
	if (!loop->leave_ns)
		return;
	if (tierd_is_idle(loop->tierd) || now->boot_ns >= loop->leave_ns)
		sd_event_exit(loop->event, loop->exit_code);
}

static void tick(struct loop *loop)
{
	struct tierd_next next;
	struct clock_time now;
	int r;

	tzset();	/* the time zone may have been changed under us */
	read_clocks(NULL, &now);
	if (loop->wants_scan || now.boot_ns >= loop->scan_ns) {
		loop->scan_ns = now.boot_ns +
				(discover_scan(loop->discover, &now) ? RESCAN_NS : RETRY_NS);
		loop->wants_scan = false;
		tierd_look(loop->tierd);
	}
	tierd_tick(loop->tierd, &now, &next);
	loop->wants_scan = next.has_lost_pools;
	if (loop->wants_scan)
		next.at_ns = now.boot_ns;
	if (loop->scan_ns < next.at_ns)
		next.at_ns = loop->scan_ns;
	if (loop->leave_ns && loop->leave_ns < next.at_ns)
		next.at_ns = loop->leave_ns;
	r = set_timer(loop, next.at_ns);
	if (r < 0) {
		log_plain(loop->log, LOG_INTERNAL_EVENT, LOG_ERR, NULL, "no timer: %s", strerror(-r));
		sd_event_exit(loop->event, r);
	}
	if (loop->bus)
		bus_tell(loop->bus);
	tell_status(loop);
	leave_if_done(loop, &now);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	tick(userdata);
	return 0;
}

/* A call on the bus: it did what it had to; what is due next may have changed. */
static void wake(void *ctx)
{
	struct loop *loop = ctx;

	set_timer(loop, 0);
}

static int on_dm_event(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct loop *loop = userdata;
	int r;

	/* Armed before looking, so that nothing is missed in between. */
	r = tier_dm_events_arm(fd);
	if (r) {
		log_plain(loop->log, LOG_INTERNAL_EVENT, LOG_WARNING, NULL,
			  "device-mapper events are lost: %s; looking regularly instead",
			  strerror(-r));
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	}
	tierd_look(loop->tierd);
	tick(loop);
	return 0;
}

static int on_device(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct loop *loop = userdata;

	if (discover_receive(loop->discover)) {
		loop->wants_scan = true;
		tick(loop);
	}
	return 0;
}

static int on_clock_set(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct loop *loop = userdata;
	uint64_t expirations;
	int r;

	/* Fails with ECANCELED: that is the news. */
	if (read(fd, &expirations, sizeof(expirations)) < 0 && errno == EAGAIN)
		return 0;
	r = arm_clock_fd(fd);
	if (r) {
		log_plain(loop->log, LOG_INTERNAL_EVENT, LOG_WARNING, NULL,
			  "a clock that is set will be noticed late: %s", strerror(-r));
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	}
	tick(loop);
	return 0;
}

/* ---------------------------------------------------------------- reload and end */

static int reload(void *ctx, struct config_error *ret_error)
{
	struct loop *loop = ctx;
	const struct loop_options *options = loop->options;
	struct config *config;
	struct clock_time now;
	int r;

	r = config_load(options->config_path, &config, ret_error);
	if (r == -ENOENT && options->config_may_miss)
		r = config_new(options->config_path, &config);
	read_clocks(NULL, &now);
	if (r) {
		snprintf(loop->config_error, sizeof(loop->config_error), "%s", ret_error->text);
		log_plain(loop->log, LOG_CONFIG_REFUSED_EVENT, LOG_ERR, NULL,
			  "%s; the configuration before it stays in force", ret_error->text);
		return r;
	}
	loop->config_error[0] = '\0';
	tierd_set_config(loop->tierd, config, &now);
	log_plain(loop->log, LOG_CONFIG_LOADED_EVENT, LOG_INFO, NULL, "%s is in force",
		  options->config_path);
	wake(loop);
	return 0;
}

static const char *config_error(void *ctx)
{
	return ((struct loop *)ctx)->config_error;
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct loop *loop = userdata;
	struct config_error error;
	uint64_t usec = 0;

	sd_event_now(loop->event, CLOCK_MONOTONIC, &usec);
	sd_notifyf(false, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)usec);
	reload(loop, &error);
	sd_notify(false, "READY=1");
	return 0;
}

static void leave(struct loop *loop, int exit_code)
{
	struct clock_time now;

	if (loop->leave_ns)
		return;
	sd_notify(false, "STOPPING=1");
	read_clocks(NULL, &now);
	loop->exit_code = exit_code;
	loop->leave_ns = now.boot_ns + STOP_NS;
	tierd_leave(loop->tierd);
	wake(loop);
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	leave(userdata, 0);
	return 0;
}

static void lost_name(void *ctx)
{
	struct loop *loop = ctx;

	log_plain(loop->log, LOG_INTERNAL_EVENT, LOG_ERR, NULL,
		  "the name " BUS_NAME " is taken: another tierd is running");
	leave(loop, -EEXIST);
}

/* ---------------------------------------------------------------- begin */

/* Ours alone: two daemons would work against each other. */
static int open_state(struct loop *loop)
{
	const char *path = loop->options->state_path;

	if (mkdir(path, 0700) && errno != EEXIST) {
		int r = -errno;

		log_plain(loop->log, LOG_INTERNAL_EVENT, LOG_ERR, NULL, "%s cannot be made: %s", path,
			  strerror(-r));
		return r;
	}
	loop->state_dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (loop->state_dirfd < 0 || flock(loop->state_dirfd, LOCK_EX | LOCK_NB)) {
		int r = -errno;

		log_plain(loop->log, LOG_INTERNAL_EVENT, LOG_ERR, NULL, "%s cannot be used: %s", path,
			  r == -EWOULDBLOCK ? "another tierd is running" : strerror(-r));
		return r;
	}
	return 0;
}

/* 36 characters, as the kernel writes it. */
static int get_boot_id(char *ret_text, size_t size)
{
	sd_id128_t id;
	int r;

	r = sd_id128_get_boot(&id);
	if (r < 0)
		return r;
	snprintf(ret_text, size, SD_ID128_UUID_FORMAT_STR, SD_ID128_FORMAT_VAL(id));
	return 0;
}

static int add_signals(struct loop *loop)
{
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		return -errno;
	r = sd_event_add_signal(loop->event, NULL, SIGTERM, on_end, loop);
	if (r >= 0)
		r = sd_event_add_signal(loop->event, NULL, SIGINT, on_end, loop);
	if (r >= 0)
		r = sd_event_add_signal(loop->event, NULL, SIGHUP, on_reload, loop);
	return r;
}

/* They only make it quicker: without device-mapper there are no pools either, yet. */
static int add_dm_events(struct loop *loop)
{
	int r;

	r = tier_dm_events_open(&loop->dm_fd);
	if (!r)
		r = tier_dm_events_arm(loop->dm_fd);
	if (r) {
		log_plain(loop->log, LOG_INTERNAL_EVENT, LOG_WARNING, NULL,
			  "no device-mapper events: %s; looking regularly instead", strerror(-r));
		return 0;
	}
	return sd_event_add_io(loop->event, NULL, loop->dm_fd, EPOLLIN, on_dm_event, loop);
}

static int add_sources(struct loop *loop)
{
	int r;

	r = sd_event_add_time(loop->event, &loop->tick, CLOCK_BOOTTIME, 0, 1000, on_timer, loop);
	if (r < 0)
		return r;
	r = discover_new(loop->tierd, loop->log, &loop->discover);
	if (r)
		return r;
	r = sd_event_add_io(loop->event, NULL, discover_fd(loop->discover), EPOLLIN, on_device, loop);
	if (r < 0)
		return r;
	r = add_dm_events(loop);
	if (r < 0)
		return r;
	loop->clock_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->clock_fd < 0)
		return -errno;
	r = arm_clock_fd(loop->clock_fd);
	if (r)
		return r;
	return sd_event_add_io(loop->event, NULL, loop->clock_fd, EPOLLIN, on_clock_set, loop);
}

static int begin(struct loop *loop)
{
	const struct bus_host host = {
		.log = loop->log, .now = read_clocks, .wake = wake, .reload = reload,
		.config_error = config_error, .lost_name = lost_name, .ctx = loop,
	};
	struct bus_host with_tierd = host;
	char boot_id[CLOCK_BOOT_ID_SIZE];
	struct tierd_setup setup = {
		.config = loop->options->config,
		.store_ops = &store_system_ops,
		.log = loop->log,
		.zone = &local_zone,
		.boot_id = boot_id,
	};
	int r;

	r = get_boot_id(boot_id, sizeof(boot_id));
	if (r)
		return r;
	setup.state_dirfd = loop->state_dirfd;
	r = tierd_new(&setup, &loop->tierd);
	if (r)
		return r;
	r = sd_event_default(&loop->event);
	if (r >= 0)
		r = add_signals(loop);
	if (r >= 0)
		r = add_sources(loop);
	if (r >= 0)
		r = sd_event_set_watchdog(loop->event, true);
	if (r < 0)
		return r;
	with_tierd.tierd = loop->tierd;
	with_tierd.event = loop->event;
	return bus_new(&with_tierd, &loop->bus);
}

static void end(struct loop *loop)
{
	struct clock_time now;

	read_clocks(NULL, &now);
	if (loop->tierd)
		tierd_save(loop->tierd, &now);
	bus_free(loop->bus);
	tierd_free(loop->tierd);
	discover_free(loop->discover);
	sd_event_source_unref(loop->tick);
	sd_event_unref(loop->event);
	tier_cleanup_close(&loop->clock_fd);
	tier_cleanup_close(&loop->dm_fd);
	tier_cleanup_close(&loop->state_dirfd);
}

int loop_run(const struct loop_options *options)
{
	struct loop loop = {
		.options = options, .log = options->log,
		.state_dirfd = -1, .dm_fd = -1, .clock_fd = -1, .wants_scan = true,
	};
	int r;

	/* If memory runs short because a swap lies on a tier, we must not be swapped out ourselves. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		log_plain(loop.log, LOG_INTERNAL_EVENT, LOG_WARNING, NULL,
			  "memory cannot be locked: %s", strerror(errno));
	r = open_state(&loop);
	if (!r) {
		r = begin(&loop);
		if (r)
			log_plain(loop.log, LOG_INTERNAL_EVENT, LOG_ERR, NULL, "cannot begin: %s",
				  strerror(-r));
	}
	if (!r) {
		tick(&loop);
		log_plain(loop.log, LOG_STARTED_EVENT, LOG_INFO, NULL, "tierd " TIER_VERSION " is ready");
		sd_notify(false, "READY=1");
		r = sd_event_loop(loop.event);
		log_plain(loop.log, LOG_STOPPED_EVENT, LOG_INFO, NULL, "tierd ends");
	} else {
		config_free(loop.tierd ? NULL : options->config);
	}
	end(&loop);
	return r;
}
