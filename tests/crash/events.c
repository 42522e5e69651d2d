// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events.h"

static size_t data_bytes(const struct event *event)
{
	return event->type == EVENT_WRITE ? event->bytes : 0;
}

static int index_event(struct event_log *log, const struct event *event)
{
	const struct event **grown;

	if (log->count == log->room) {
		log->room = log->room ? 2 * log->room : 4096;
		grown = realloc(log->event, log->room * sizeof(struct event *));
		if (!grown)
			return -ENOMEM;
		log->event = grown;
	}
	log->event[log->count++] = event;
	return 0;
}

int events_create(struct event_log *log, const char *path)
{
	*log = (struct event_log){ .owns_events = !path };
	if (!path)
		return 0;
	log->file = fopen(path, "we");
	return log->file ? 0 : -errno;
}

int events_add(struct event_log *log, const struct event *head, const void *data)
{
	struct event *event;
	int r;

	if (log->file) {
		if (fwrite(head, sizeof(*head), 1, log->file) != 1 ||
		    (data_bytes(head) && fwrite(data, head->bytes, 1, log->file) != 1))
			return -EIO;
		log->count++;
		return 0;
	}
	event = malloc(sizeof(*event) + data_bytes(head));
	if (!event)
		return -ENOMEM;
	*event = *head;
	if (data_bytes(head))
		memcpy(event->data, data, head->bytes);
	r = index_event(log, event);
	if (r)
		free(event);
	return r;
}

int events_finish(struct event_log *log)
{
	int r = 0;

	if (log->file && fclose(log->file))
		r = -errno;
	log->file = NULL;
	return r;
}

int events_open(struct event_log *log, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
	const char *at, *end;
	struct stat st;

	*log = (struct event_log){ 0 };
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !st.st_size) {
		close(fd);
		return -EINVAL;
	}
	log->map_bytes = st.st_size;
	log->map = mmap(NULL, log->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (log->map == MAP_FAILED) {
		log->map = NULL;
		return -errno;
	}
	at = log->map;
	end = at + log->map_bytes;
	while (!r && (size_t)(end - at) >= sizeof(struct event)) {
		const struct event *event = (const void *)at;

		if ((size_t)(end - at) < sizeof(*event) + data_bytes(event))
			break;
		r = index_event(log, event);
		at += sizeof(*event) + data_bytes(event);
	}
	return r;
}

void events_close(struct event_log *log)
{
	size_t i;

	for (i = 0; log->owns_events && i < log->count; i++)
		free((void *)log->event[i]);
	free(log->event);
	if (log->map)
		munmap(log->map, log->map_bytes);
	if (log->file)
		fclose(log->file);
	*log = (struct event_log){ 0 };
}
