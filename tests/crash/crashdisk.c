// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disk of the crash test, and its judge (README.md):
 *
 *	crashdisk record SOCKET LOG SEED
 *	crashdisk verify [-p POINT] LOG SEED POINTS
 *	crashdisk activate [-p POINT] [-e EVERY] [-a CUTS] SOCKET LOG SEED POINTS
 *
 * record: serves an empty disk and writes its log, until SIGTERM.  verify: judges
 * the power cuts 0 .. POINTS - 1 of a seed, or one.  activate: serves every
 * EVERY-th (20) of them to a guest, with CUTS (3) more cuts while it is activated.
 *
 * The last line is "points=N failures=N" or "activated=N again=N failures=N"; each
 * failure has a line "FAIL point=P event=E ...".  Exit code: 0, 1 there were
 * failures, 2 the test itself cannot run.
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "activate.h"
#include "disk.h"

static unsigned long long number(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (end == text || *end)
		errx(2, "%s is not a number", text);
	return value;
}

/* Record ---------------------------------------------------------------------------*/

struct recorder {
	struct disk disk;
	struct event_log log;
	struct rng rng;
};

/*
 * Some answers are late, so that requests are under way together and end in
 * another order. The journal is quick: it tells what has happened until now.
 */
static uint64_t record_request(void *ctx, struct nbd_request *request)
{
	struct recorder *r = ctx;
	unsigned int how = rng_below(&r->rng, 100);

	disk_request(&r->disk, request);
	if (request->slice >= NR_POOL_SLICES || how < 50)
		return 0;
	if (how < 85)
		return rng_below(&r->rng, 1000);
	/* A read so late that what it reads may have been moved away and given to another. */
	if (request->type == NBD_READ)
		return rng_below(&r->rng, 100000);
	return rng_below(&r->rng, how < 98 ? 5000 : 30000);
}

static void record_answered(void *ctx, const struct nbd_request *request)
{
	struct recorder *r = ctx;

	disk_answered(&r->disk, request);
}

static int record(const char *socket, const char *path, uint64_t seed)
{
	struct recorder r = { .rng = { seed } };
	const struct nbd_server server = { record_request, record_answered, &r };
	int error = events_create(&r.log, path);

	if (error)
		errx(2, "%s: %s", path, strerror(-error));
	disk_init(&r.disk, &r.log);
	nbd_serve(&server, socket);
	error = events_finish(&r.log);
	if (error)
		errx(2, "%s: %s", path, strerror(-error));
	printf("events=%zu\n", r.log.count);
	events_close(&r.log);
	disk_free(&r.disk);
	return 0;
}

/* Verify ---------------------------------------------------------------------------*/

static void say_failed(const struct point *point, const char *where, const char *verdict)
{
	printf("FAIL point=%llu event=%zu %s: %s\n", (unsigned long long)point->number, point->at,
	       where, verdict);
	fflush(stdout);
}

static int verify(const char *path, const struct selection *selection)
{
	char verdict[VERDICT_SIZE];
	struct walk walk;
	uint64_t failures = 0;
	size_t i;

	walk_begin(&walk, path, selection);
	for (i = 0; i < walk.nr_points; i++) {
		walk_to(&walk, &walk.point[i]);
		if (!judge_pool(&walk.cut, &walk.knowledge, verdict)) {
			failures++;
			say_failed(&walk.point[i], "cut", verdict);
		}
		cut_undo(&walk.cut);
	}
	printf("points=%zu failures=%llu\n", walk.nr_points, (unsigned long long)failures);
	walk_end(&walk);
	return failures != 0;
}

static int activate(const char *socket, const char *path, const struct selection *selection,
		    uint64_t cuts_again)
{
	struct walk walk;
	struct activate a = {
		.walk = &walk, .socket = socket, .cuts_again = cuts_again, .failed = say_failed,
	};

	walk_begin(&walk, path, selection);
	activate_serve(&a);
	if (a.activated != walk.nr_points) {
		printf("FAIL of %zu points the guest has activated %llu\n", walk.nr_points,
		       (unsigned long long)a.activated);
		a.failures++;
	}
	printf("activated=%llu again=%llu failures=%llu\n", (unsigned long long)a.activated,
	       (unsigned long long)a.again, (unsigned long long)a.failures);
	walk_end(&walk);
	return a.failures != 0;
}

int main(int argc, char **argv)
{
	struct selection selection = { .every = 1 };
	uint64_t cuts_again = 3, every = 20;
	const char *what = argc > 1 ? argv[1] : "";
	int option, left;

	while ((option = getopt(argc - 1, argv + 1, "p:e:a:")) != -1) {
		if (option == 'p') {
			selection.one = true;
			selection.only = number(optarg);
		} else if (option == 'e') {
			every = number(optarg);
		} else if (option == 'a') {
			cuts_again = number(optarg);
		} else {
			return 2;
		}
	}
	argv += 1 + optind;
	left = argc - 1 - optind;
	if (strcmp(what, "record") && left >= 3) {
		selection.seed = number(argv[left - 2]);
		selection.points = number(argv[left - 1]);
	}
	if (!strcmp(what, "record") && left == 3)
		return record(argv[0], argv[1], number(argv[2]));
	if (!strcmp(what, "verify") && left == 3)
		return verify(argv[0], &selection);
	if (!strcmp(what, "activate") && left == 4 && every) {
		selection.every = every;
		return activate(argv[0], argv[1], &selection, cuts_again);
	}
	errx(2, "usage: see the head of crashdisk.c");
}
