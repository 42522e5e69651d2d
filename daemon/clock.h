/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One instant on the two clocks that tierd needs: CLOCK_BOOTTIME, which never
 * steps and runs on through suspend, for ages and time-outs; CLOCK_REALTIME for
 * windows and for people. Only loop.c reads clocks, everyone else is handed this.
 */
#ifndef TIERD_CLOCK_H
#define TIERD_CLOCK_H

#include <stdint.h>

#define CLOCK_NS_PER_S		INT64_C(1000000000)
#define CLOCK_NEVER		INT64_MAX
#define CLOCK_BOOT_ID_SIZE	37

struct clock_time {
	int64_t boot_ns;
	int64_t real_s;
};

#endif
