/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which pools there are. discover.c is the only user of libudev, whose events say
 * when to look; what there is, device-mapper says (dm.h).
 */
#ifndef TIERD_DISCOVER_H
#define TIERD_DISCOVER_H

#include <stdbool.h>

#include "clock.h"
#include "log.h"
#include "tierd.h"

struct discover;

/* `tierd` and `log` outlive it. -errno if udev cannot be listened to. */
int discover_new(struct tierd *tierd, const struct log_sink *log, struct discover **ret_discover);
/* Closes the backends: after the last use of the pools. NULL is fine. */
void discover_free(struct discover *discover);

/* For poll(): readable when block devices came, changed or went. */
int discover_fd(const struct discover *discover);
/* Take all of these events; true if one was of a device that may be a pool's. */
bool discover_receive(struct discover *discover);

/*
 * Look which pools are active: new ones are added to tierd, gone ones removed.
 * Blocks for an ioctl per dm device. False: a pool could not be read yet (it may
 * just be coming up), scan again in a second or so. What fails for longer is logged,
 * once.
 */
bool discover_scan(struct discover *discover, const struct clock_time *now);

#endif
