/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Serves a recording's power cuts to a guest, one after the other (report.h): its
 * kernel activates the pool, reads all, deactivates it.  Judged are what it has
 * read, the pool as it was left, and a few more power cuts in between.
 */
#ifndef CRASH_ACTIVATE_H
#define CRASH_ACTIVATE_H

#include "walk.h"

/* Called for each verdict that is not good. @again: a cut while it was activated. */
struct activate {
	struct walk *walk;
	const char *socket;
	uint64_t cuts_again;		/* for each point */
	void (*failed)(const struct point *point, const char *where, const char *verdict);
	/* results */
	uint64_t activated, again, failures;
};

/* Until SIGTERM. */
void activate_serve(struct activate *a);

#endif
