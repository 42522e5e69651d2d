/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O counters per extent.  The fast path adds to a small direct-mapped table
 * of its CPU; what falls out of it, or is folded, goes to the extent's own
 * counters.  They are exact once I/O is quiet and folded.
 *
 * A stamp says in which counter generation an extent's counters last changed.
 */
#ifndef DM_TIER_HEAT_H
#define DM_TIER_HEAT_H

#include <linux/atomic.h>
#include <linux/types.h>
#include "dm-tier.h"

enum dm_tier_counter {
	COUNT_READS,
	COUNT_WRITES,
	COUNT_READ_SECTORS,
	COUNT_WRITE_SECTORS,
	COUNT_SEQUENTIAL,
	COUNT_LARGE,
	NR_COUNTERS
};

struct dm_tier_counters {
	atomic64_t count[NR_COUNTERS];
	u64 stamp;			/* counter generation of the last change, 0 = never */
};

/* One extent being counted on one CPU: a cache line. */
struct dm_tier_heat_line {
	struct dm_tier_counters *counters;	/* whose; NULL = empty */
	u64 count[NR_COUNTERS];
	u64 next_sector;		/* where a sequential bio would start */
};

#define HEAT_LINES	512

/*
 * Of one CPU.  A slow bio is counted whole before it is cut to its first
 * region; what the cut leaves over comes again as [cut_next, cut_end) of the
 * same volume and is no new I/O.
 */
struct dm_tier_heat {
	struct dm_tier_heat_line *line;	/* HEAT_LINES of them */
	u64 cut_next, cut_end;
	u32 cut_volume;
};

/*
 * Empties a line into its extent's counters.  Preemption is off, on the CPU
 * of the line, or that CPU is offline.
 */
void dm_tier_heat_flush_line(struct dm_tier_heat_line *line, u64 generation);

/* Is this what a cut left over, and so no new I/O?  Once for each cut. */
static inline bool dm_tier_heat_is_rest(struct dm_tier_heat *heat, u32 volume, u64 sector,
					u32 sectors)
{
	if (likely(sector != heat->cut_next) || volume != heat->cut_volume ||
	    sector + sectors != heat->cut_end)
		return false;
	heat->cut_next = ~0ULL;
	return true;
}

/*
 * Counts one bio that starts at @sector of its volume.  Preemption is off, so
 * the lines of this CPU are ours; nothing here is atomic or shared.
 */
static inline void dm_tier_heat_count(struct dm_tier_heat *heat,
				      struct dm_tier_counters *counters,
				      u32 volume, u32 extent, const u64 *generation,
				      bool write, u64 sector, u32 sectors)
{
	struct dm_tier_heat_line *line =
		&heat->line[(extent + volume * 37) % HEAT_LINES];

	if (dm_tier_heat_is_rest(heat, volume, sector, sectors))
		return;
	if (unlikely(line->counters != counters)) {
		dm_tier_heat_flush_line(line, READ_ONCE(*generation));
		line->counters = counters;
		line->next_sector = ~0ULL;
	}
	line->count[COUNT_READS + write]++;
	line->count[COUNT_READ_SECTORS + write] += sectors;
	line->count[COUNT_SEQUENTIAL] += sector == line->next_sector;
	line->count[COUNT_LARGE] += sectors > DM_TIER_LARGE_SECTORS;
	line->next_sector = sector + sectors;
}

/* Notes that of the bio [@sector, @end), just counted, @done sectors go now. */
static inline void dm_tier_heat_cut(struct dm_tier_heat *heat, u32 volume, u64 sector,
				    u64 end, u32 done)
{
	heat->cut_volume = volume;
	heat->cut_next = sector + done;
	heat->cut_end = end;
}

/*
 * The same of all CPUs, for the slow path: the task that submits what a cut has
 * left over may run on another CPU by then, or others cut on its CPU meanwhile.
 * Under a lock of the caller's; all zero = empty.  Only what the fast path takes
 * on another CPU than that of the cut is counted once more.
 */
#define HEAT_CUTS	32

struct dm_tier_cuts {
	struct {
		u64 next, end;
		u32 volume;
	} cut[HEAT_CUTS];
	u32 at;
};

static inline bool dm_tier_cuts_take(struct dm_tier_cuts *cuts, u32 volume, u64 sector, u64 end)
{
	u32 i;

	for (i = 0; i < HEAT_CUTS; i++)
		if (cuts->cut[i].next == sector && cuts->cut[i].end == end &&
		    cuts->cut[i].volume == volume) {
			cuts->cut[i].end = 0;
			return true;
		}
	return false;
}

static inline void dm_tier_cuts_add(struct dm_tier_cuts *cuts, u32 volume, u64 next, u64 end)
{
	u32 i = cuts->at++ % HEAT_CUTS;

	/* The fast path takes what it meets without a word: no cut is noted twice. */
	dm_tier_cuts_take(cuts, volume, next, end);
	cuts->cut[i].volume = volume;
	cuts->cut[i].next = next;
	cuts->cut[i].end = end;
}

#endif /* DM_TIER_HEAT_H */
