// SPDX-License-Identifier: GPL-2.0-only
/*
 * Emptying devices: rounds. A round lists what lies on them, queues it in the kernel
 * a few at a time and hears from the ring of finished moves how each ended. Another
 * round follows as long as one achieves something, so whatever was overlooked or
 * moved by others meanwhile is found by looking again, not by bookkeeping.
 */
#include "drain.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drain_show.h"
#include "policy.h"
#include "reduce.h"
#include "util.h"

#define RUNS_AT_ONCE	4096
#define RING_AT_ONCE	256
/* In the kernel, which runs a few of them (4, or what tierd has set) at once: all that goes on after a kill -9. */
#define MAX_FLIGHTS	16
#define POLL_NS		(100 * 1000 * 1000)
#define MAX_TRIES	5	/* of an extent in a round; each waits a second longer */
/* With no extent left on them, until the last slots are free. */
#define MAX_IDLE_NS	INT64_C(60000000000)
#define MAX_WAITS	30	/* seconds for a free slot */

struct job {
	uint32_t volume;
	uint64_t extent;
	enum tier_policy policy;
	uint32_t from_tier;
	uint32_t to_tier;
	uint32_t without;		/* tiers that have just had no slot: a bit mask */
	unsigned int tries, waits;
	int64_t not_before_ns;
	uint64_t id;			/* of the move, when it is in the kernel */
};

struct drain {
	const struct drain_request *request;
	const struct tier_backend *backend;
	struct cli *cli;
	struct tier_pool_info info;	/* of the last look */
	uint64_t left_slots;		/* on the devices */
	uint64_t last_left_slots;
	int64_t idle_since_ns;
	uint64_t since;			/* of the ring of finished moves */
	struct drain_show show;
	/* Of the round: */
	struct job *jobs;		/* a queue: what has to be tried again comes to its end */
	size_t nr_jobs, max_jobs, next;
	struct job flights[MAX_FLIGHTS];
	size_t nr_flights;
	size_t nr_done, nr_others, nr_failed;
	enum tier_reason reason;	/* of the first that failed, and that one: */
	struct job failed;
};

static void drain_clear(struct drain *drain)
{
	tier_pool_info_clear(&drain->info);
	free(drain->jobs);
}

static enum cli_exit lost_pool(const struct drain *drain, int error)
{
	return cli_failed(drain->cli, drain->request->next, "pool %s: %s: %s",
			  drain->request->pool->info.name, "its extents cannot be moved any more",
			  error == -ENODEV ? "it was deactivated" : cli_reason(error));
}

/* The extents ----------------------------------------------------------------*/

static int see_runs(const struct cli_pool *pool, const struct tier_volume_info *volume,
		    int (*see)(void *ctx, const struct tier_map_run *run), void *ctx)
{
	uint64_t extents = volume->sectors / pool->info.extent_sectors, next = 0;
	_cleanup_free_ struct tier_map_run *runs = calloc(RUNS_AT_ONCE, sizeof(*runs));
	size_t nr;
	int r = runs ? 0 : -ENOMEM;

	while (!r && next < extents) {
		r = pool->backend.ops->read_map(pool->backend.ctx, volume->id, next, extents - next,
						runs, RUNS_AT_ONCE, &nr, &next);
		for (size_t i = 0; !r && i < nr; i++)
			r = see(ctx, &runs[i]);
	}
	return r;
}

static int add_job(struct drain *drain, const struct job *job)
{
	size_t max = drain->max_jobs ? 2 * drain->max_jobs : 256;
	struct job *jobs;

	if (drain->nr_jobs == drain->max_jobs) {
		jobs = reallocarray(drain->jobs, max, sizeof(*jobs));
		if (!jobs)
			return -ENOMEM;
		drain->jobs = jobs;
		drain->max_jobs = max;
	}
	drain->jobs[drain->nr_jobs++] = *job;
	return 0;
}

struct listing {
	struct drain *drain;
	struct job job;			/* but for the extent */
};

static int list_run(void *ctx, const struct tier_map_run *run)
{
	struct listing *listing = ctx;
	struct job job = listing->job;
	int r = 0;

	if (run->device == TIER_NO_DEVICE || !listing->drain->request->leaving[run->device])
		return 0;
	job.from_tier = run->tier;
	for (uint64_t i = 0; !r && i < run->count; i++) {
		job.extent = run->first + i;
		r = add_job(listing->drain, &job);
	}
	return r;
}

static int by_turn(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	int turns = tier_reduce_turn(x->policy) - tier_reduce_turn(y->policy);

	if (turns)
		return turns;
	if (x->volume != y->volume)
		return x->volume < y->volume ? -1 : 1;
	return x->extent < y->extent ? -1 : x->extent > y->extent;
}

static int list_jobs(struct drain *drain)
{
	int r = 0;

	drain->nr_jobs = drain->next = 0;
	drain->nr_done = drain->nr_others = drain->nr_failed = 0;
	for (size_t i = 0; !r && i < drain->info.nr_volumes; i++) {
		const struct tier_volume_info *volume = &drain->info.volumes[i];
		struct tier_label_policy policy;
		struct listing listing = { .drain = drain };

		/* A default of tierd.conf is not known here: auto. What does not parse moves least. */
		if (tier_label_policy(volume->label, time(NULL), &policy))
			policy.policy = TIER_POLICY_NONE;
		listing.job.volume = volume->id;
		listing.job.policy = policy.policy;
		r = see_runs(drain->request->pool, volume, list_run, &listing);
		/* Removed or made smaller just now: the next round sees what is there. */
		if (r == -ENOENT || r == -ERANGE)
			r = 0;
	}
	qsort(drain->jobs, drain->nr_jobs, sizeof(*drain->jobs), by_turn);
	return r;
}

struct text {
	uint32_t idx;
	unsigned int runs_left;
	int64_t extents;
	uint64_t first, end;		/* of the run that is being put together */
	FILE *to;			/* NULL: only counted */
	const char *comma;
};

static void end_run(struct text *text)
{
	if (text->first == text->end || !text->to)
		return;
	if (!text->runs_left--) {
		fputs(",...", text->to);
		text->to = NULL;
	} else if (text->end == text->first + 1) {
		fprintf(text->to, "%s%" PRIu64, text->comma, text->first);
	} else {
		fprintf(text->to, "%s%" PRIu64 "-%" PRIu64, text->comma, text->first,
			text->end - 1);
	}
	text->comma = ",";
}

static int text_run(void *ctx, const struct tier_map_run *run)
{
	struct text *text = ctx;

	if (run->device != text->idx)
		return 0;
	text->extents += (int64_t)run->count;
	if (text->end != run->first) {
		end_run(text);
		text->first = run->first;
	}
	text->end = run->first + run->count;
	return 0;
}

int64_t drain_list_extents(const struct cli_pool *pool, const struct tier_volume_info *volume,
			   uint32_t idx, unsigned int max_runs, char *ret_text, size_t size)
{
	_cleanup_fclose_ FILE *to = ret_text ? fmemopen(ret_text, size, "w") : NULL;
	struct text text = { .idx = idx, .runs_left = max_runs, .to = to, .comma = "" };
	int r = ret_text && !to ? -ENOMEM : 0;

	if (!r)
		r = see_runs(pool, volume, text_run, &text);
	if (r)
		return r;
	end_run(&text);
	return text.extents;
}

/* A round --------------------------------------------------------------------*/

static int again(struct drain *drain, struct job *job, unsigned int seconds)
{
	job->not_before_ns = drain_now_ns() + seconds * INT64_C(1000000000);
	return add_job(drain, job);
}

static void fail(struct drain *drain, const struct job *job, enum tier_reason reason)
{
	if (!drain->nr_failed++) {
		drain->failed = *job;
		drain->reason = reason;
	}
}

/* No slot on the tier that was chosen: another one, or all of them once more, later. */
static int no_room(struct drain *drain, struct job *job, uint32_t tier)
{
	job->without |= 1U << tier;
	if (job->without != (1U << TIER_MAX_TIERS) - 1)
		return again(drain, job, 0);
	job->without = 0;
	if (++job->waits < MAX_WAITS)
		return again(drain, job, 1);
	fail(drain, job, TIER_REASON_NO_SPACE);
	return 0;
}

static int move_failed(struct drain *drain, struct job *job, enum tier_reason reason)
{
	if (reason == TIER_REASON_NO_SPACE)
		return no_room(drain, job, job->to_tier);
	/* What cannot be read once takes its time to be read again: a matter of the next round. */
	if (reason == TIER_REASON_SRC_READ_ERROR || ++job->tries >= MAX_TRIES) {
		fail(drain, job, reason);
		return 0;
	}
	return again(drain, job, job->tries);
}

static int move_ended(struct drain *drain, const struct tier_finished_move *move)
{
	for (size_t i = 0; i < drain->nr_flights; i++) {
		struct job job = drain->flights[i];

		if (job.id != move->id)
			continue;
		drain->flights[i] = drain->flights[--drain->nr_flights];
		if (move->result && move->reason != TIER_REASON_GONE)
			return move_failed(drain, &job, move->reason);
		drain->nr_done++;
		return 0;
	}
	return 0;
}

static int see_ended(struct drain *drain)
{
	_cleanup_free_ struct tier_finished_move *moves = calloc(RING_AT_ONCE, sizeof(*moves));
	struct tier_finished_head head;
	size_t nr = RING_AT_ONCE;
	int r = moves ? 0 : -ENOMEM;

	while (!r && nr == RING_AT_ONCE) {
		r = drain->backend->ops->read_finished(drain->backend->ctx, drain->since, &head,
						       moves, RING_AT_ONCE, &nr);
		if (r)
			return r;
		/* Lost, or another life of the pool: the next round sees what has become of them. */
		if (head.lost || head.last_seq < drain->since) {
			drain->nr_others += drain->nr_flights;
			drain->nr_flights = 0;
			drain->since = head.last_seq;
			return 0;
		}
		for (size_t i = 0; !r && i < nr; i++) {
			r = move_ended(drain, &moves[i]);
			drain->since = moves[i].seq;
		}
	}
	return r;
}

/* Slots that are left, less those that our moves will take and have not yet. */
static void get_room(const struct drain *drain, struct tier_reduce_room *ret_room)
{
	uint64_t queued[TIER_MAX_TIERS] = { 0 }, reserved[TIER_MAX_TIERS] = { 0 };

	tier_reduce_room(drain->info.devices, drain->info.nr_devices, drain->request->leaving,
			 ret_room);
	for (size_t i = 0; i < drain->info.nr_devices; i++)
		reserved[drain->info.devices[i].tier] += drain->info.devices[i].reserved_slots;
	for (size_t i = 0; i < drain->nr_flights; i++)
		queued[drain->flights[i].to_tier]++;
	for (int tier = 0; tier < TIER_MAX_TIERS; tier++) {
		uint64_t taken = queued[tier] > reserved[tier] ? queued[tier] - reserved[tier] : 0;
		uint64_t *slots = &ret_room->free_slots[tier];

		*slots = *slots > taken ? *slots - taken : 0;
	}
}

/* 1: the next one; 0: not now; -errno of the pool. */
static int hand_over(struct drain *drain, struct job *job)
{
	const struct tier_backend *backend = drain->backend;
	struct tier_target to = { 0 };
	struct tier_reduce_room room;
	int r;

	get_room(drain, &room);
	r = tier_reduce_tier(&room, job->policy, job->from_tier, job->without);
	if (r < 0) {
		job->without = (1U << TIER_MAX_TIERS) - 1;
		r = no_room(drain, job, 0);
		return r ? r : 1;
	}
	job->to_tier = to.index = (uint32_t)r;
	r = backend->ops->migrate(backend->ctx, job->volume, job->extent, to, true, &job->id);
	switch (-r) {
	case 0:
		drain->flights[drain->nr_flights++] = *job;
		return 1;
	case EAGAIN:
		return 0;
	case ENOSPC:
	case ENXIO:
		r = no_room(drain, job, job->to_tier);
		return r ? r : 1;
	case EBUSY:	/* tierd moves it */
		drain->nr_others++;
		return 1;
	case EALREADY:
	case ENODATA:
	case ENOENT:
	case ERANGE:
		drain->nr_done++;
		return 1;
	default:
		return r;
	}
}

static int hand_over_all(struct drain *drain)
{
	int r = 1;

	while (r > 0 && drain->next < drain->nr_jobs && drain->nr_flights < MAX_FLIGHTS) {
		struct job job = drain->jobs[drain->next];

		if (job.not_before_ns > drain_now_ns())
			return 0;
		r = hand_over(drain, &job);
		drain->next += r > 0;
	}
	return r < 0 ? r : 0;
}

/* Looking and waiting --------------------------------------------------------*/

static int look(struct drain *drain)
{
	struct tier_pool_info info;
	int r = drain->backend->ops->read_pool(drain->backend->ctx, &info);

	if (r)
		return r;
	tier_pool_info_clear(&drain->info);
	drain->info = info;
	drain->left_slots = 0;
	for (size_t i = 0; i < info.nr_devices; i++) {
		const struct tier_device_info *device = &info.devices[i];

		if (drain->request->leaving[device->idx])
			drain->left_slots += device->used_slots + device->reserved_slots +
					     device->parked_slots;
	}
	return 0;
}

/* Someone has said `tpreduce --cancel`. */
static bool is_taken_back(const struct drain *drain)
{
	for (size_t i = 0; i < drain->info.nr_devices; i++)
		if (drain->request->leaving[drain->info.devices[i].idx] &&
		    drain->info.devices[i].state == TIER_DEVICE_ONLINE)
			return true;
	return false;
}

/* A moment, or less when a signal comes: true for one that ends us. */
static bool is_interrupted(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP };
	const struct timespec pause = { .tv_nsec = POLL_NS };
	sigset_t set;
	int got;

	sigemptyset(&set);
	for (size_t i = 0; i < TIER_NR(signals); i++)
		sigaddset(&set, signals[i]);
	got = sigtimedwait(&set, NULL, &pause);
	if (got == SIGTSTP)
		raise(SIGSTOP);
	return got > 0 && got != SIGTSTP;
}

/* What it has asked for ends with it; one that is too late for it is done. */
static enum cli_exit say_interrupted(struct drain *drain)
{
	const struct tier_backend *backend = drain->backend;
	const char *what = drain->request->what;
	uint64_t done = drain->show.total_extents - drain->left_slots;

	for (size_t i = 0; i < drain->nr_flights; i++)
		backend->ops->cancel(backend->ctx, drain->flights[i].volume,
				     drain->flights[i].extent);
	drain_show_end(&drain->show);
	return cli_failed(drain->cli, drain->request->next,
			  "interrupted: %" PRIu64 " of %" PRIu64 " extents have left %s, which stays draining",
			  done, drain->show.total_extents, what);
}

static enum cli_exit say_failed(struct drain *drain)
{
	const struct cli_pool *pool = drain->request->pool;
	bool is_unreadable = drain->reason == TIER_REASON_SRC_READ_ERROR;
	char name[TIER_NAME_SIZE] = "?";

	drain_show_end(&drain->show);
	for (size_t i = 0; i < drain->info.nr_volumes; i++)
		if (drain->info.volumes[i].id == drain->failed.volume)
			cli_volume_name(&drain->info.volumes[i], name);
	return cli_failed(drain->cli, is_unreadable ? drain->request->next_unreadable :
						     drain->request->next,
			  "%zu extents cannot leave %s, extent %" PRIu64 " of volume %s/%s for one: %s",
			  drain->nr_failed, drain->request->what, drain->failed.extent,
			  pool->info.name, name, tier_reason_word(drain->reason));
}

static enum cli_exit say_stuck(struct drain *drain)
{
	drain_show_end(&drain->show);
	return cli_failed(drain->cli, drain->request->next,
			  "no extent is left on %s, but %" PRIu64 " slots are not free yet: I/O to a device hangs (`dmesg`), or another command moves",
			  drain->request->what, drain->left_slots);
}

/* One look and what follows from it; CLI_DONE: they are empty. */
static enum cli_exit step(struct drain *drain)
{
	int r = see_ended(drain);

	if (!r)
		r = look(drain);
	if (!r && is_taken_back(drain)) {
		drain_show_end(&drain->show);
		return cli_failed(drain->cli, NULL, "%s is in use again: another command has taken it back",
				  drain->request->what);
	}
	if (!r)
		r = hand_over_all(drain);
	if (r) {
		drain_show_end(&drain->show);
		return lost_pool(drain, r);
	}
	drain_show(&drain->show, drain->left_slots);
	if (!drain->left_slots)
		return CLI_DONE;
	if (drain->left_slots != drain->last_left_slots || drain->nr_jobs)
		drain->idle_since_ns = drain_now_ns();
	drain->last_left_slots = drain->left_slots;
	if (drain_now_ns() - drain->idle_since_ns > MAX_IDLE_NS)
		return say_stuck(drain);
	return is_interrupted() ? say_interrupted(drain) : CLI_OK;
}

static enum cli_exit round_of_moves(struct drain *drain)
{
	enum cli_exit code;
	int r = list_jobs(drain);

	if (r)
		return lost_pool(drain, r);
	/* At least one look: what is empty, or is being freed, has no jobs. */
	do
		code = step(drain);
	while (!code && (drain->nr_flights || drain->next < drain->nr_jobs));
	return code;
}

static bool is_hopeless(const struct drain *drain)
{
	return drain->nr_failed && !drain->nr_done && !drain->nr_others;
}

enum cli_exit drain_devices(struct cli *cli, const struct drain_request *request)
{
	_cleanup_(drain_clear) struct drain drain = {
		.request = request,
		.backend = &request->pool->backend,
		.cli = cli,
	};
	struct tier_finished_head head;
	enum cli_exit code = CLI_OK;
	size_t nr;
	int r = drain.backend->ops->read_finished(drain.backend->ctx, 0, &head, NULL, 0, &nr);

	if (!r)
		r = look(&drain);
	if (r)
		return lost_pool(&drain, r);
	drain.since = head.last_seq;
	drain_show_begin(&drain.show, cli, drain.left_slots, drain.info.extent_sectors);
	while (!code) {
		code = round_of_moves(&drain);
		if (!code && is_hopeless(&drain))
			return say_failed(&drain);
	}
	if (code == CLI_DONE) {
		drain_show_end(&drain.show);
		code = CLI_OK;
	}
	return code;
}
