/* SPDX-License-Identifier: GPL-2.0-only */
/* The disk as its user sees it while it has power, and the log of what is done to it. */
#ifndef CRASH_DISK_H
#define CRASH_DISK_H

#include "disks.h"
#include "events.h"
#include "nbd.h"

struct disk {
	uint8_t *image[NR_SLICES];
	struct event_log *log;		/* NULL: nothing is logged */
	uint32_t next_request;
};

void disk_init(struct disk *disk, struct event_log *log);
void disk_free(struct disk *disk);

/* Does it and logs that it came; sets the request's tag. */
void disk_request(struct disk *disk, struct nbd_request *request);
/* Logs that it is answered. READ: gets what is there now, which is as good as what was there before. */
void disk_answered(struct disk *disk, const struct nbd_request *request);

#endif
