// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "sector.h"

void disk_init(struct disk *disk, struct event_log *log)
{
	uint32_t i;

	*disk = (struct disk){ .log = log, .next_request = 1 };
	for (i = 0; i < NR_SLICES; i++) {
		disk->image[i] = calloc(1, slices[i].bytes);
		if (!disk->image[i])
			err(2, "memory");
	}
}

void disk_free(struct disk *disk)
{
	uint32_t i;

	for (i = 0; i < NR_SLICES; i++)
		free(disk->image[i]);
}

static void add_event(struct disk *disk, const struct event *event, const void *data)
{
	int r = disk->log ? events_add(disk->log, event, data) : 0;

	if (r)
		errx(2, "the log: %s", strerror(-r));
}

void disk_request(struct disk *disk, struct nbd_request *request)
{
	uint8_t *at = disk->image[request->slice] + request->offset;
	struct event event = {
		.slice = request->slice, .offset = request->offset, .bytes = request->bytes,
		.request = disk->next_request,
	};
	uint64_t i;

	switch (request->type) {
	case NBD_READ:
		return;
	case NBD_WRITE:
		event.type = EVENT_WRITE;
		memcpy(at, request->data, request->bytes);
		break;
	case NBD_ZERO:
		event.type = EVENT_ZERO;
		memset(at, 0, request->bytes);
		break;
	case NBD_TRIM:
		event.type = EVENT_DISCARD;
		for (i = 0; i < request->bytes; i += SECTOR)
			sector_discard((uint64_t *)(at + i), event.request);
		break;
	case NBD_FLUSH:
		event.type = EVENT_FLUSH;
		break;
	default:
		errx(2, "a request of type %u", request->type);
	}
	request->tag = disk->next_request++;
	add_event(disk, &event, request->data);
}

void disk_answered(struct disk *disk, const struct nbd_request *request)
{
	const struct event event = {
		.type = EVENT_DONE, .slice = request->slice, .request = request->tag,
	};

	if (request->type == NBD_READ) {
		memcpy(request->data, disk->image[request->slice] + request->offset, request->bytes);
		return;
	}
	add_event(disk, &event, NULL);
}
