// SPDX-License-Identifier: GPL-2.0-only
/* Heat per extent; heat.h is the contract. Rule numbers: tierd.conf(5), POLICY RULES. */
#include "heat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_HOUR	(3600 * INT64_C(1000000000))
#define NS_PER_MINUTE	(60 * INT64_C(1000000000))
#define NS_PER_DAY	(24 * NS_PER_HOUR)

/* Far below anything that a ranking could see; keeps denormals (slow) out. */
#define HEAT_FLOOR	1e-20f
#define HEAT_CEILING	1e30f

void tier_heat_config_init(struct tier_heat_config *config)
{
	*config = (struct tier_heat_config) {
		.nr_terms = 1,
		.half_life_ns = { NS_PER_DAY, NS_PER_DAY, NS_PER_DAY },
		.read_weight = 1,
		.write_weight = 1,
		.sequential_weight = 0.001,
		.large_weight = 1,
		.fold_ns = NS_PER_HOUR,
		.watch_ns = NS_PER_DAY,
	};
}

double tier_heat_decay(int64_t span_ns, int64_t half_life_ns)
{
	return span_ns > 0 ? exp2(-(double)span_ns / (double)half_life_ns) : 1;
}

int tier_heat_volume_init(struct tier_heat_volume *volume, const struct tier_heat_config *config,
			  uint64_t nr_extents, bool is_new, int64_t now_ns)
{
	struct tier_heat_volume result = {
		.nr_terms = config->nr_terms,
		.is_new = is_new,
		.epoch_ns = now_ns,
		.scale_ns = now_ns,
		.collected_ns = now_ns,
	};
	int r;

	if (config->nr_terms < 1 || config->nr_terms > TIER_HEAT_TERMS)
		return -EINVAL;
	r = tier_heat_volume_resize(&result, nr_extents);
	if (r) {
		tier_heat_volume_clear(&result);
		return r;
	}
	*volume = result;
	return 0;
}

void tier_heat_volume_clear(struct tier_heat_volume *volume)
{
	for (uint32_t term = 0; term < TIER_HEAT_TERMS; term++)
		free(volume->heat[term]);
	free(volume->born);
	free(volume->base);
	memset(volume, 0, sizeof(*volume));
}

/*
 * Make room for `count` elements. A shrink never fails: if the allocator cannot
 * give a smaller block, the old one still serves.
 */
static int resize_array(void **array, uint64_t count, size_t size, bool is_shrink)
{
	void *bigger;

	if (count > SIZE_MAX / size)
		return -ENOMEM;
	bigger = realloc(*array, (count ? count : 1) * size);
	if (!bigger)
		return is_shrink ? 0 : -ENOMEM;
	*array = bigger;
	return 0;
}

int tier_heat_volume_resize(struct tier_heat_volume *volume, uint64_t nr_extents)
{
	bool is_shrink = volume->born && nr_extents <= volume->nr_extents;
	uint64_t old = volume->nr_extents;

	for (uint32_t term = 0; term < volume->nr_terms; term++)
		if (resize_array((void **)&volume->heat[term], nr_extents, sizeof(float), is_shrink))
			return -ENOMEM;
	if (resize_array((void **)&volume->born, nr_extents, sizeof(*volume->born), is_shrink) ||
	    resize_array((void **)&volume->base, nr_extents, sizeof(*volume->base), is_shrink))
		return -ENOMEM;

	for (uint64_t extent = old; extent < nr_extents; extent++) {
		for (uint32_t term = 0; term < volume->nr_terms; term++)
			volume->heat[term][extent] = 0;
		volume->born[extent] = TIER_HEAT_UNALLOCATED;
		volume->base[extent] = (struct tier_heat_base) { 0 };
	}
	volume->nr_extents = nr_extents;
	return 0;
}

void tier_heat_shift(struct tier_heat_volume *volume, int64_t delta_ns)
{
	volume->epoch_ns += delta_ns;
	volume->scale_ns += delta_ns;
	volume->collected_ns += delta_ns;
}

/* Another volume under the same id. */
static void forget(struct tier_heat_volume *volume, int64_t now_ns)
{
	for (uint32_t term = 0; term < volume->nr_terms; term++)
		memset(volume->heat[term], 0, volume->nr_extents * sizeof(float));
	for (uint64_t extent = 0; extent < volume->nr_extents; extent++)
		volume->born[extent] = TIER_HEAT_UNALLOCATED;
	volume->mapped = false;
	volume->is_new = true;
	volume->epoch_ns = now_ns;
	volume->scale_ns = now_ns;
	volume->collected_ns = now_ns;
}

/* Bring all heats to `now_ns`, so that the gains of later rounds stay near 1. */
static void rescale(struct tier_heat_volume *volume, const struct tier_heat_config *config,
		    int64_t now_ns)
{
	for (uint32_t term = 0; term < volume->nr_terms; term++) {
		float factor = (float)tier_heat_decay(now_ns - volume->scale_ns,
						      config->half_life_ns[term]);
		float *heat = volume->heat[term];

		for (uint64_t extent = 0; extent < volume->nr_extents; extent++) {
			float value = heat[extent] * factor;

			heat[extent] = value < HEAT_FLOOR ? 0 : value;
		}
	}
	volume->scale_ns = now_ns;
}

/* Mean decay of what came evenly over the last span_ns: the integral of 2^(-t / half_life). */
static double mean_decay(int64_t span_ns, int64_t half_life_ns)
{
	double x = M_LN2 * (double)span_ns / (double)half_life_ns;

	return x > 1e-9 ? -expm1(-x) / x : 1;
}

void tier_heat_begin(struct tier_heat_volume *volume, const struct tier_heat_config *config,
		     const struct tier_counter_head *head, bool is_measured, int64_t now_ns,
		     struct tier_heat_round *ret_round)
{
	bool is_first = !volume->volume_generation;
	struct tier_heat_round round = {
		.now_ns = now_ns,
		.next_since = head->counter_generation,
		.is_measured = is_measured,
	};

	if (!is_first && volume->volume_generation != head->volume_generation)
		forget(volume, now_ns);
	if (volume->volume_generation != head->volume_generation ||
	    volume->instance != head->instance)
		memset(volume->base, 0, volume->nr_extents * sizeof(*volume->base));
	volume->volume_generation = head->volume_generation;
	volume->instance = head->instance;

	/* A clock that went back is the caller's error; time just stands still for it. */
	if (now_ns < volume->collected_ns)
		round.now_ns = volume->collected_ns;
	if (round.now_ns - volume->scale_ns >= config->fold_ns)
		rescale(volume, config, round.now_ns);
	for (uint32_t term = 0; term < volume->nr_terms; term++) {
		int64_t half_life_ns = config->half_life_ns[term];

		round.gain[term] = (float)(mean_decay(round.now_ns - volume->collected_ns,
						      half_life_ns) /
					   tier_heat_decay(round.now_ns - volume->scale_ns,
							   half_life_ns));
	}
	*ret_round = round;
}

/* Weighted I/Os of one delta (1.1); 0 if any counter went back. */
static double weigh(const struct tier_heat_config *config, const struct tier_heat_base *base,
		    const struct tier_counter *counter)
{
	uint64_t reads, writes, ios;
	double sequential, large;

	if (counter->reads < base->reads || counter->writes < base->writes ||
	    counter->sequential_ios < base->sequential_ios ||
	    counter->large_ios < base->large_ios)
		return 0;
	reads = counter->reads - base->reads;
	writes = counter->writes - base->writes;
	ios = reads + writes;
	if (!ios)
		return 0;
	/* The kernel's counters are not read in one instant: clamp the shares to 1. */
	sequential = fmin(1, (double)(counter->sequential_ios - base->sequential_ios) / (double)ios);
	large = fmin(1, (double)(counter->large_ios - base->large_ios) / (double)ios);
	return ((double)reads * config->read_weight + (double)writes * config->write_weight) *
	       (1 - sequential + sequential * config->sequential_weight) *
	       (1 - large + large * config->large_weight);
}

int tier_heat_count(struct tier_heat_volume *volume, const struct tier_heat_config *config,
		    const struct tier_heat_round *round, const struct tier_counter *counters,
		    size_t nr_counters)
{
	for (size_t i = 0; i < nr_counters; i++) {
		const struct tier_counter *counter = &counters[i];
		struct tier_heat_base *base;
		float weight;

		if (counter->extent >= volume->nr_extents)
			return -ERANGE;
		base = &volume->base[counter->extent];
		weight = round->is_measured ? (float)weigh(config, base, counter) : 0;
		for (uint32_t term = 0; term < volume->nr_terms; term++) {
			float *heat = &volume->heat[term][counter->extent];

			*heat = fminf(*heat + weight * round->gain[term], HEAT_CEILING);
		}
		*base = (struct tier_heat_base) {
			.reads = counter->reads,
			.writes = counter->writes,
			.sequential_ios = counter->sequential_ios,
			.large_ios = counter->large_ios,
		};
	}
	return 0;
}

void tier_heat_end(struct tier_heat_volume *volume, const struct tier_heat_round *round)
{
	volume->collected_ns = round->now_ns;
	volume->since = round->next_since;
}

void tier_heat_map(struct tier_heat_volume *volume, uint64_t first, uint64_t count,
		   bool is_allocated, int64_t now_ns)
{
	uint64_t end = first + count;
	uint32_t born;

	if (end > volume->nr_extents)
		end = volume->nr_extents;
	if (!volume->mapped && !volume->is_new)
		born = TIER_HEAT_BORN_BEFORE;
	else
		born = (uint32_t)(1 + (now_ns - volume->epoch_ns) / NS_PER_MINUTE);

	for (uint64_t extent = first; extent < end; extent++) {
		if (!is_allocated) {
			for (uint32_t term = 0; term < volume->nr_terms; term++)
				volume->heat[term][extent] = 0;
			volume->born[extent] = TIER_HEAT_UNALLOCATED;
		} else if (volume->born[extent] == TIER_HEAT_UNALLOCATED) {
			volume->born[extent] = born;
		}
	}
	if (end == volume->nr_extents)
		volume->mapped = true;
}

double tier_heat_now(const struct tier_heat_volume *volume, const struct tier_heat_config *config,
		     uint64_t extent, int64_t now_ns)
{
	return volume->heat[0][extent] *
	       tier_heat_decay(now_ns - volume->scale_ns, config->half_life_ns[0]);
}

/*
 * From a decayed sum to I/Os per day (1.4). A steady r per day makes a sum of
 * r * half_life / ln 2 * (1 - 2^(-age / half_life)).
 */
static float per_day(const struct tier_heat_config *config, uint32_t term, int64_t age_ns,
		     double decay)
{
	double half_life_ns = (double)config->half_life_ns[term];

	if (age_ns < NS_PER_DAY)
		age_ns = NS_PER_DAY;
	return (float)(decay * M_LN2 * NS_PER_DAY / half_life_ns /
		       -expm1(-M_LN2 * (double)age_ns / half_life_ns));
}

void tier_heat_rank(const struct tier_heat_volume *volume, const struct tier_heat_config *config,
		    int64_t now_ns, float *ret_heat)
{
	bool is_watched = now_ns - volume->epoch_ns >= config->watch_ns;
	uint32_t last_born = TIER_HEAT_UNALLOCATED;
	float factor[TIER_HEAT_TERMS] = { 0 };
	double decay[TIER_HEAT_TERMS];

	for (uint32_t term = 0; term < volume->nr_terms; term++)
		decay[term] = tier_heat_decay(now_ns - volume->scale_ns,
					      config->half_life_ns[term]) / volume->nr_terms;

	for (uint64_t extent = 0; extent < volume->nr_extents; extent++) {
		uint32_t born = volume->born[extent];
		float heat = 0;

		if (born == TIER_HEAT_UNALLOCATED) {
			ret_heat[extent] = 0;
			continue;
		}
		/* Extents are born in crowds: the factors are worth keeping. */
		if (born != last_born) {
			int64_t age_ns = now_ns - volume->epoch_ns;

			if (born != TIER_HEAT_BORN_BEFORE)
				age_ns -= (int64_t)(born - 1) * NS_PER_MINUTE;
			for (uint32_t term = 0; term < volume->nr_terms; term++)
				factor[term] = per_day(config, term, age_ns, decay[term]);
			last_born = born;
		}
		for (uint32_t term = 0; term < volume->nr_terms; term++)
			heat += volume->heat[term][extent] * factor[term];
		/* Never used since counting began: cold, or not seen at work yet (1.5)? */
		if (heat <= 0 && born == TIER_HEAT_BORN_BEFORE && !is_watched)
			heat = TIER_HEAT_UNKNOWN;
		ret_heat[extent] = heat;
	}
}
