// SPDX-License-Identifier: GPL-2.0-only
/* How far a drain is. */
#include "drain_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S	INT64_C(1000000000)
#define BAR_WIDTH	30

int64_t drain_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void drain_show_begin(struct drain_show *show, struct cli *cli, uint64_t extents,
		      uint64_t extent_sectors)
{
	*show = (struct drain_show){
		.cli = cli,
		.total_extents = extents,
		.extent_sectors = extent_sectors,
		.is_terminal = isatty(STDOUT_FILENO),
		.begin_ns = drain_now_ns(),
	};
}

/* "12 of 40 extents, 192.00m moved, about 0:30 left" */
static void describe(const struct drain_show *show, uint64_t done, char *ret_text, size_t size)
{
	uint64_t left = show->total_extents - done;
	uint64_t seconds = (uint64_t)(drain_now_ns() - show->begin_ns) / NS_PER_S;
	char estimate[CLI_ESTIMATE_TEXT] = "", moved[CLI_SIZE_TEXT];

	/* The first seconds tell nothing. */
	if (done && left && seconds >= 5)
		cli_estimate(seconds * left / done + 1, estimate);
	snprintf(ret_text, size, "%" PRIu64 " of %" PRIu64 " extents, %s moved%s%s", done,
		 show->total_extents, cli_size(done * show->extent_sectors, moved), estimate,
		 *estimate ? " more" : "");
}

static void show_bar(struct drain_show *show, uint64_t done)
{
	char text[128], bar[BAR_WIDTH + 1];
	uint64_t filled = show->total_extents ? done * BAR_WIDTH / show->total_extents : BAR_WIDTH;

	for (unsigned int i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[BAR_WIDTH] = '\0';
	describe(show, done, text, sizeof(text));
	/* To the end of the line, as it may have been longer. */
	printf("\r[%s] %s\033[K", bar, text);
	fflush(stdout);
	show->is_open = true;
}

void drain_show(struct drain_show *show, uint64_t left)
{
	uint64_t done = left < show->total_extents ? show->total_extents - left : 0;
	unsigned int tenths = show->total_extents ? (unsigned int)(10 * done / show->total_extents) : 10;
	char text[128];

	if (show->cli->quiet || !show->total_extents)
		return;
	if (show->is_terminal) {
		if (drain_now_ns() - show->shown_ns >= NS_PER_S / 2 || !left)
			show_bar(show, done);
		else
			return;
		show->shown_ns = drain_now_ns();
		return;
	}
	if (tenths == show->shown_tenths)
		return;
	show->shown_tenths = tenths;
	describe(show, done, text, sizeof(text));
	printf("%s\n", text);
	fflush(stdout);
}

void drain_show_end(struct drain_show *show)
{
	if (show->is_open)
		putchar('\n');
	show->is_open = false;
}
