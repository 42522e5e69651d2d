// SPDX-License-Identifier: GPL-2.0-only
/* Folding of the per-CPU counters; the counting itself is in the header. */
#include "dm-tier-heat.h"

void dm_tier_heat_flush_line(struct dm_tier_heat_line *line, u64 generation)
{
	struct dm_tier_counters *counters = line->counters;
	int i;

	if (!counters)
		return;
	line->counters = NULL;
	for (i = 0; i < NR_COUNTERS; i++) {
		if (line->count[i])
			atomic64_add(line->count[i], &counters->count[i]);
		line->count[i] = 0;
	}
	/*
	 * A CPU may stamp with an older generation than another just did: both
	 * counts are in before the scan that follows the newer generation, so
	 * the older stamp loses nothing.
	 */
	WRITE_ONCE(counters->stamp, generation);
}
