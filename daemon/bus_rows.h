/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of tierd.h as dictionaries on the bus: the keys of bus.h. For bus.c only. */
#ifndef TIERD_BUS_ROWS_H
#define TIERD_BUS_ROWS_H

#include <systemd/sd-bus.h>

struct tierd;

/* Append an aa{sv}. >= 0 or -errno as sd-bus. */
int bus_append_pools(sd_bus_message *reply, const struct tierd *tierd);
int bus_append_tiers(sd_bus_message *reply, const struct tierd *tierd);
int bus_append_volumes(sd_bus_message *reply, const struct tierd *tierd);

/* Append a string that others may have made: it has to be UTF-8. NULL is "". */
int bus_append_text(sd_bus_message *reply, const char *text);

#endif
