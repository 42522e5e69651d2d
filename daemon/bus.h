/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tierd on the system bus. This header is the specification of the interface;
 * tierctl and anything else that talks to tierd is written from it.
 *
 *	name		org.dmtier.Tierd1
 *	path		/org/dmtier/Tierd1
 *	interface	org.dmtier.Tierd1
 *
 * Everyone may read; methods marked [root] are for root. A `pool` is the name
 * of an active pool, a `volume` is `<pool>/<name>` (`<pool>/<uuid>` works too and
 * is how a volume without a name is called). Times are seconds since 1970
 * (type x), 0 = never or not known. Sizes are bytes, rates bytes per second.
 * A reason is a word of lib/reason.h, "-" for none. Heat is a number of weighted
 * I/Os per day, the number that the ranking uses.
 *
 * METHODS
 *
 * Relocate(s target, b now, s rate) -> ()					[root]
 *	Collects the counters, folds them and plans. `target` is a pool, a volume,
 *	or "" for all pools. With `now` the moves start at once, outside of windows
 *	too, and go on until the plan is done; it returns when the first of them
 *	have been handed to the kernel, it does not wait for the end. Without `now`
 *	they keep to the windows: in an open one they start at once (it also takes
 *	back an Abort), else when the next one opens.
 *	`rate`: "" (that of the window; fast with `now` outside of one), "fast",
 *	"medium", "slow", or bytes per second with an optional unit as in
 *	tierd.conf(5) ("100MiB"); it holds until this relocation ends.
 *	Errors: NoSuchPool NoSuchVolume InvalidArgs Paused MeasureOnly Unavailable.
 *
 * Pause(s pool) -> ()								[root]
 * Resume(s pool) -> ()								[root]
 *	Pause cancels the moves under way and starts none until Resume, whatever
 *	window opens; it survives a restart. Counters are collected all the time.
 *	Resume goes on where the windows, or the relocation by hand that was
 *	paused, allow. "" = all pools. Both may be repeated.
 *	Errors: NoSuchPool Unavailable (the flag could not be saved).
 *
 * Abort(s pool) -> ()								[root]
 *	Ends the relocation that is running: cancels its moves, and starts no more
 *	until the next window opens or someone calls Relocate. Nothing running:
 *	no error, nothing happens. "" = all pools. Errors: NoSuchPool.
 *
 * Plan(s pool, u max) -> (a(stuuudds) moves, t total, t bytes, t seconds)
 *	What a relocation that starts now would do, in the order it would do it: a
 *	dry run (counters are collected and folded first). At most `max` moves are
 *	listed, 0 or more than 65536 = 65536; `total` is how many there are, `bytes`
 *	how much they copy, `seconds` an estimate at the rate of the open or next
 *	window (0 if nothing is to be moved). What comes out of it is also what the
 *	properties say is pending.
 *	A move: s volume (name, or uuid if it has none; without the pool), t extent,
 *	u from tier, u to tier, u to device idx (4294967295 = whichever the
 *	kernel takes), d heat, d threshold it had to beat, s reason.
 *	Errors: NoSuchPool Unavailable.
 *
 * Extents(s volume, t first, t count) -> (a(tds) extents, t next)
 *	Heat and reason of the extents first .. first + count - 1 in ascending
 *	order. Left out: extents without heat and without a reason. At most 262144
 *	entries; `next` is the first extent not looked at (first + count, or the end
 *	of the volume, when all were): call again from there.
 *	An entry: t extent, d heat, s reason (why the last plan moves it, or why it
 *	stays though one might expect a move). A volume that was made since the
 *	last plan, or had no extents then, gets one now. Errors: NoSuchPool NoSuchVolume Unavailable.
 *
 * Reload() -> ()								[root]
 *	Reads tierd.conf again, as SIGHUP does. If it is in error the old one stays
 *	in force and the error says where: "<file>:<line>: <what>". Error: Config.
 *
 * PROPERTIES (read-only; Properties.GetAll answers from one snapshot)
 *
 * Version	s	of tierd
 * ConfigFile	s	that is in force
 * ConfigError	s	"" or why the last reload was refused, "<file>:<line>: <what>"
 * Pools	aa{sv}	a row for each active pool
 * Tiers	aa{sv}	a row for each tier of each pool
 * Volumes	aa{sv}	a row for each volume of each pool
 *
 * A row is a dictionary with these keys, always all of them. New keys may come;
 * a client skips those it does not know. Rows are in order of pool name, then
 * tier, or volume id.
 *
 * Pools:
 *	name			s
 *	uuid			s
 *	mode			s	rw | out_of_space | meta_ro | fail, as the kernel says
 *	state			s	one of
 *		idle		nothing is being moved; `reason` outside_window if something
 *				waits for the next window, throttled if it waits out errors
 *		relocating	moves are under way
 *		stopping	moves are being cancelled
 *		paused		by Pause (reason paused)
 *		measure		the configuration says mode = "measure": counts and plans only
 *		error		no move is possible; `reason` and `detail` say why
 *	reason			s
 *	detail			s	a sentence for people, "" when there is nothing to say
 *	by_hand			b	a relocation asked for with Relocate(now) is running
 *	window			s	the open or the next one as in tierd.conf:
 *					"daily 00:00 8h fast"; "" = there is none
 *	window_open		b
 *	window_start		x
 *	window_end		x
 *	rate			s	in force for moves: fast | medium | slow | bytes per second
 *	rate_bytes_per_s	t	the same as a number, 0 = no limit
 *	extent_bytes		t
 *	active_moves		t	in the kernel, queued ones included
 *	pending_moves		t	planned, not in the kernel yet
 *	pending_up_bytes	t	of the last plan, what has been done taken off;
 *	pending_down_bytes	t	moves inside a tier are in neither
 *	pending_side_bytes	t	... but here
 *	pending_seconds		t	estimate for them at the rate of the open or next window
 *	begin			x	of the relocation that runs, or the last one
 *	end			x	0 while it runs
 *	up_bytes		t	moved by it
 *	down_bytes		t
 *	side_bytes		t
 *	up_moves		t	done, to a higher tier
 *	down_moves		t
 *	side_moves		t
 *	done_moves		t	sum of the three
 *	failed_moves		t	given up after retries
 *	retried_moves		t	attempts that failed and were or will be repeated
 *	heat_since		x	when counting began (young pools rank badly)
 *	last_collect		x	of the counters
 *
 * Tiers:
 *	pool			s
 *	tier			u
 *	name			s	of tierd.conf, else the number as text
 *	devices			u
 *	online_devices		u
 *	total_bytes		t
 *	used_bytes		t
 *	free_bytes		t	that a move could take now
 *	headroom_bytes		t	that the plan leaves free
 *	heat			d	sum over its extents
 *	up_bytes		t	pending: out of this tier to a higher one,
 *	down_bytes		t	... to a lower one,
 *	in_bytes		t	... into this tier from others
 *	reason			s	device_missing: none of its devices is online;
 *					no_space: it has no free slot; else "-"
 *
 * Volumes:
 *	pool			s
 *	name			s	uuid if it has none
 *	id			u
 *	uuid			s
 *	policy			s	in force now
 *	policy_from		s	pin | label | config | default; error: the label does
 *					not parse, so nothing of the volume moves
 *	pin_until		x	end of the pin, 0 = not pinned
 *	size_bytes		t
 *	allocated_bytes		t	whole extents
 *	heat			d	sum over its extents
 *
 * SIGNALS
 *
 * org.freedesktop.DBus.Properties.PropertiesChanged, with Pools, Tiers and
 * Volumes as invalidated (without values), at most once a second while moves run
 * and at every change of a pool's state.
 *
 * ERRORS: org.dmtier.Tierd1.Error.<word above>, InvalidArgs and AccessDenied from
 * org.freedesktop.DBus.Error. The message is a full sentence that names the
 * object, the cause and the next step: print it as it is.
 */
#ifndef TIERD_BUS_H
#define TIERD_BUS_H

#define BUS_NAME		"org.dmtier.Tierd1"
#define BUS_PATH		"/org/dmtier/Tierd1"
#define BUS_INTERFACE		"org.dmtier.Tierd1"
#define BUS_ERROR(word)		"org.dmtier.Tierd1.Error." word

#define BUS_MAX_PLAN_MOVES	65536
#define BUS_MAX_EXTENTS		262144

/* ---- the server's side (bus.c; its only user is loop.c) ---- */

struct bus;
struct clock_time;
struct config_error;
struct log_sink;
struct sd_event;
struct tierd;

/* What the server needs of the loop that it runs in. */
struct bus_host {
	struct tierd *tierd;
	const struct log_sink *log;
	struct sd_event *event;
	void (*now)(void *ctx, struct clock_time *ret_now);
	/* A call did something: when is the next tick due? */
	void (*wake)(void *ctx);
	/* Read the configuration again. 0 or -errno with *ret_error. */
	int (*reload)(void *ctx, struct config_error *ret_error);
	/* Why the last reload failed, "" = it did not. */
	const char *(*config_error)(void *ctx);
	/* The name is taken: another tierd is running. */
	void (*lost_name)(void *ctx);
	void *ctx;
};

/*
 * Serve on the system bus as soon, as long and as often as there is one; never
 * waits for it. `host` is copied.
 */
int bus_new(const struct bus_host *host, struct bus **ret_bus);
void bus_free(struct bus *bus);		/* NULL is fine; sends what is left to send */

/* What the properties show may have changed: tell, at most once a second. */
void bus_tell(struct bus *bus);

#endif
