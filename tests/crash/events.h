/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log of a disk: every request as it came, with its data, and every answer
 * that was given, in one order over all slices.  A file of these, or memory.
 */
#ifndef CRASH_EVENTS_H
#define CRASH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum event_type { EVENT_WRITE = 1, EVENT_ZERO, EVENT_DISCARD, EVENT_FLUSH, EVENT_DONE };

struct event {
	uint16_t type, slice;
	uint32_t request;	/* which one came, or is done; counts up */
	uint64_t offset, bytes;	/* multiples of a sector */
	uint8_t data[];		/* of a WRITE */
};

struct event_log {
	const struct event **event;
	size_t count, room;
	/* private */
	void *map;
	size_t map_bytes;
	FILE *file;
	bool owns_events;
};

/* Appends to the file (NULL: to memory), 0 or -errno. */
int events_create(struct event_log *log, const char *path);
int events_add(struct event_log *log, const struct event *head, const void *data);
/* What was added is in the file: 0 or -errno. */
int events_finish(struct event_log *log);

/* A whole file; a part of an event at its end is ignored. */
int events_open(struct event_log *log, const char *path);
void events_close(struct event_log *log);

#endif
