// SPDX-License-Identifier: GPL-2.0-only
/* The simulated pool: devices, volumes, first writes, counters. sim.h is the contract. */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"
#include "policy.h"
#include "sim_internal.h"

static void *must_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		abort();
	return memory;
}

struct tier_sim *tier_sim_new(uint64_t extent_sectors, uint64_t region_sectors)
{
	struct tier_sim *sim = must_alloc(1, sizeof(*sim));

	if (!region_sectors || extent_sectors % region_sectors)
		abort();
	sim->extent_sectors = extent_sectors;
	sim->region_sectors = region_sectors;
	sim->mode = TIER_POOL_RW;
	sim->instance = 1;
	sim->next_generation = 1;
	sim->counter_generation = 1;
	sim->at_once = 1;
	sim->speed_bytes_per_s = 500000000;
	sim->next_move_id = 1;
	return sim;
}

void tier_sim_free(struct tier_sim *sim)
{
	if (!sim)
		return;
	for (uint32_t i = 0; i < sim->nr_devices; i++)
		free(sim->devices[i].slots);
	for (uint32_t i = 0; i < sim->nr_volumes; i++)
		free(sim->volumes[i].extents);
	free(sim);
}

struct tier_backend tier_sim_backend(struct tier_sim *sim)
{
	return (struct tier_backend) { .ops = &tier_sim_ops, .ctx = sim };
}

uint32_t tier_sim_add_device(struct tier_sim *sim, uint32_t tier, uint64_t slots)
{
	uint32_t idx = sim->nr_devices;
	struct sim_device *device = &sim->devices[idx];

	if (idx == TIER_MAX_DEVICES || tier >= TIER_MAX_TIERS || slots > UINT32_MAX)
		abort();
	device->info = (struct tier_device_info) {
		.idx = idx,
		.tier = tier,
		.state = TIER_DEVICE_ONLINE,
		.total_slots = slots,
	};
	snprintf(device->info.uuid, sizeof(device->info.uuid),
		 "00000000-0000-4000-8000-d%011u", idx);
	device->slots = must_alloc(slots, 1);
	sim->nr_devices++;
	return idx;
}

void tier_sim_set_device_state(struct tier_sim *sim, uint32_t idx, enum tier_device_state state)
{
	sim->devices[idx].info.state = state;
}

void tier_sim_set_device_errors(struct tier_sim *sim, uint32_t idx, uint64_t errors)
{
	sim->devices[idx].info.errors = errors;
}

void tier_sim_set_mode(struct tier_sim *sim, enum tier_pool_mode mode)
{
	sim->mode = mode;
}

/* As the command line and the daemon do it. */
static struct tier_placement placement_for(const struct tier_sim *sim, const char *label)
{
	struct tier_device_info devices[TIER_MAX_DEVICES];
	struct tier_placement placement;
	struct tier_label_policy policy;

	if (tier_label_policy(label, 0, &policy))
		abort();
	for (uint32_t i = 0; i < sim->nr_devices; i++)
		devices[i] = sim->devices[i].info;
	tier_placement_of_policy(policy.policy, devices, sim->nr_devices, &placement);
	return placement;
}

uint32_t tier_sim_add_volume(struct tier_sim *sim, uint64_t extents, const char *label)
{
	struct sim_volume *volume;
	uint32_t id = 0;

	while (id < sim->nr_volumes && sim->volumes[id].is_used)
		id++;
	if (id == TIER_MAX_VOLUMES || strlen(label) >= TIER_LABEL_SIZE)
		abort();
	if (id == sim->nr_volumes)
		sim->nr_volumes++;
	volume = &sim->volumes[id];
	*volume = (struct sim_volume) {
		.is_used = true,
		.nr_extents = extents,
		.extents = must_alloc(extents, sizeof(*volume->extents)),
		.info = {
			.id = id,
			.generation = sim->next_generation++,
			.sectors = extents * sim->extent_sectors,
			.placement = placement_for(sim, label),
		},
	};
	snprintf(volume->info.uuid, sizeof(volume->info.uuid),
		 "00000000-0000-4000-8000-e%011u", (unsigned int)volume->info.generation);
	strcpy(volume->info.label, label);
	for (uint64_t i = 0; i < extents; i++) {
		volume->extents[i].device = TIER_SIM_NOWHERE;
		volume->extents[i].counter.extent = i;
	}
	return id;
}

void tier_sim_remove_volume(struct tier_sim *sim, uint32_t id)
{
	struct sim_volume *volume = sim_volume(sim, id);

	if (!volume)
		abort();
	for (uint64_t i = 0; i < volume->nr_extents; i++)
		tier_sim_discard(sim, id, i);
	free(volume->extents);
	memset(volume, 0, sizeof(*volume));
}

void tier_sim_set_policy(struct tier_sim *sim, uint32_t id, const char *label)
{
	struct sim_volume *volume = sim_volume(sim, id);

	if (!volume || strlen(label) >= TIER_LABEL_SIZE)
		abort();
	strcpy(volume->info.label, label);
	volume->info.placement = placement_for(sim, label);
}

void tier_sim_reload(struct tier_sim *sim)
{
	sim_cancel_moves(sim, UINT32_MAX, -1);
	tier_sim_settle(sim);
	sim->instance++;
	sim->counter_generation = 1;
	sim->last_seq = 0;
	for (uint32_t i = 0; i < sim->nr_devices; i++)
		sim->devices[i].info.errors = 0;
	for (uint32_t v = 0; v < sim->nr_volumes; v++) {
		struct sim_volume *volume = &sim->volumes[v];

		for (uint64_t i = 0; i < volume->nr_extents; i++) {
			volume->extents[i].counter = (struct tier_counter) { .extent = i };
			volume->extents[i].stamp = 0;
		}
	}
}

struct sim_volume *sim_volume(struct tier_sim *sim, uint32_t volume)
{
	if (volume >= sim->nr_volumes || !sim->volumes[volume].is_used)
		return NULL;
	return &sim->volumes[volume];
}

static uint64_t *slot_count(struct sim_device *device, enum sim_slot state)
{
	switch (state) {
	case SIM_SLOT_USED:
		return &device->info.used_slots;
	case SIM_SLOT_RESERVED:
		return &device->info.reserved_slots;
	case SIM_SLOT_QUARANTINED:
		return &device->info.quarantined_slots;
	case SIM_SLOT_FREE:
		break;
	}
	return NULL;
}

void sim_set_slot(struct sim_device *device, uint32_t slot, enum sim_slot state)
{
	uint64_t *count = slot_count(device, device->slots[slot]);

	if (count)
		(*count)--;
	device->slots[slot] = (uint8_t)state;
	count = slot_count(device, state);
	if (count)
		(*count)++;
}

uint64_t sim_free_slots(const struct sim_device *device)
{
	return device->info.state == TIER_DEVICE_ONLINE ? tier_device_free_slots(&device->info) : 0;
}

bool sim_take_slot(struct sim_device *device, enum sim_slot as, uint32_t *ret_slot)
{
	for (uint64_t i = 0; i < device->info.total_slots; i++) {
		uint64_t slot = (device->next_slot + i) % device->info.total_slots;

		if (device->slots[slot] != SIM_SLOT_FREE)
			continue;
		device->next_slot = slot + 1;
		sim_set_slot(device, (uint32_t)slot, as);
		*ret_slot = (uint32_t)slot;
		return true;
	}
	return false;
}

struct sim_device *sim_emptiest(struct tier_sim *sim, uint32_t tier, bool is_first_write)
{
	struct sim_device *best = NULL;
	uint64_t best_free = 0;

	for (uint32_t i = 0; i < sim->nr_devices; i++) {
		struct sim_device *device = &sim->devices[i];
		uint64_t free_slots = sim_free_slots(device);

		if (device->info.tier != tier)
			continue;
		if (is_first_write)
			free_slots -= free_slots < device->reserve_slots ? free_slots :
									   device->reserve_slots;
		if (free_slots > best_free) {
			best = device;
			best_free = free_slots;
		}
	}
	return best;
}

/* Where a first write of this volume goes; NULL: nowhere. */
static struct sim_device *place(struct tier_sim *sim, const struct tier_placement *placement)
{
	uint64_t free_slots[TIER_MAX_TIERS] = { 0 };
	uint32_t best = 0;

	for (uint32_t t = 0; !placement->is_auto && t < placement->nr_tiers; t++) {
		struct sim_device *device = sim_emptiest(sim, placement->tiers[t], true);

		if (device)
			return device;
	}
	if (!placement->is_auto)
		return NULL;
	for (uint32_t i = 0; i < sim->nr_devices; i++) {
		struct sim_device *device = &sim->devices[i];
		uint64_t count = sim_free_slots(device);

		free_slots[device->info.tier] += count < device->reserve_slots ? 0 :
						 count - device->reserve_slots;
	}
	for (uint32_t t = 1; t < TIER_MAX_TIERS; t++)
		if (free_slots[t] > free_slots[best])
			best = t;
	return sim_emptiest(sim, best, true);
}

int tier_sim_io(struct tier_sim *sim, uint32_t id, uint64_t at, const struct tier_sim_io *io)
{
	struct sim_volume *volume = sim_volume(sim, id);
	uint32_t regions = (uint32_t)(sim->extent_sectors / sim->region_sectors);
	struct sim_extent *extent;
	uint64_t written;

	if (!volume || at >= volume->nr_extents || io->sequential > io->reads + io->writes)
		abort();
	extent = &volume->extents[at];
	if (io->writes && extent->device == TIER_SIM_NOWHERE) {
		struct sim_device *device = place(sim, &volume->info.placement);

		if (!device || !sim_take_slot(device, SIM_SLOT_USED, &extent->slot))
			return -ENOSPC;
		extent->device = device->info.idx;
		volume->info.allocated_extents++;
	}
	written = (io->writes * io->sectors + sim->region_sectors - 1) / sim->region_sectors;
	if (extent->device != TIER_SIM_NOWHERE)
		extent->valid_regions = (uint32_t)(extent->valid_regions + written > regions ?
						   regions : extent->valid_regions + written);
	extent->counter.reads += io->reads;
	extent->counter.writes += io->writes;
	extent->counter.read_sectors += io->reads * io->sectors;
	extent->counter.write_sectors += io->writes * io->sectors;
	extent->counter.sequential_ios += io->sequential;
	if (io->sectors > 128)
		extent->counter.large_ios += io->reads + io->writes;
	extent->stamp = sim->counter_generation;
	return 0;
}

void sim_drop_slot(struct tier_sim *sim, struct sim_volume *volume, struct sim_extent *extent)
{
	sim_set_slot(&sim->devices[extent->device], extent->slot, SIM_SLOT_FREE);
	extent->device = TIER_SIM_NOWHERE;
	extent->valid_regions = 0;
	volume->info.allocated_extents--;
}

void tier_sim_discard(struct tier_sim *sim, uint32_t id, uint64_t at)
{
	struct sim_volume *volume = sim_volume(sim, id);
	struct sim_extent *extent = &volume->extents[at];

	if (extent->device == TIER_SIM_NOWHERE)
		return;
	sim_cancel_moves(sim, id, (int64_t)at);
	tier_sim_advance(sim, 0);
	sim_drop_slot(sim, volume, extent);
}

uint64_t sim_extent_bytes(const struct tier_sim *sim, const struct sim_extent *extent)
{
	return extent->valid_regions * sim->region_sectors << 9;
}

int64_t tier_sim_now_ns(const struct tier_sim *sim)
{
	return sim->now_ns;
}

void tier_sim_set_speed(struct tier_sim *sim, uint64_t bytes_per_s)
{
	sim->speed_bytes_per_s = bytes_per_s;
}

void tier_sim_fail_moves(struct tier_sim *sim, uint32_t idx, enum tier_reason reason,
			 unsigned int count)
{
	sim->devices[idx].fail_reason = reason;
	sim->devices[idx].fail_count = count;
}

uint32_t tier_sim_device_of(const struct tier_sim *sim, uint32_t volume, uint64_t extent)
{
	return sim->volumes[volume].extents[extent].device;
}

uint32_t tier_sim_tier_of(const struct tier_sim *sim, uint32_t volume, uint64_t extent)
{
	uint32_t idx = tier_sim_device_of(sim, volume, extent);

	return idx == TIER_SIM_NOWHERE ? TIER_SIM_NOWHERE : sim->devices[idx].info.tier;
}

uint64_t tier_sim_count_on(const struct tier_sim *sim, uint32_t volume, uint64_t first,
			   uint64_t count, uint32_t tier)
{
	uint64_t on = 0;

	for (uint64_t extent = first; extent < first + count; extent++)
		on += tier_sim_tier_of(sim, volume, extent) == tier;
	return on;
}

uint64_t tier_sim_nr_migrates(const struct tier_sim *sim)
{
	return sim->nr_migrates;
}

static const char *check_device(const struct tier_sim *sim, const struct sim_device *device)
{
	uint64_t used = 0, reserved = 0, quarantined = 0, owned = 0;

	for (uint64_t slot = 0; slot < device->info.total_slots; slot++) {
		used += device->slots[slot] == SIM_SLOT_USED;
		reserved += device->slots[slot] == SIM_SLOT_RESERVED;
		quarantined += device->slots[slot] == SIM_SLOT_QUARANTINED;
	}
	for (uint32_t v = 0; v < sim->nr_volumes; v++)
		for (uint64_t i = 0; i < sim->volumes[v].nr_extents; i++)
			owned += sim->volumes[v].extents[i].device == device->info.idx;
	if (used != device->info.used_slots || reserved != device->info.reserved_slots ||
	    quarantined != device->info.quarantined_slots)
		return "a device's counts do not match its slots";
	if (owned != used)
		return "slots in use and extents on a device differ in number";
	return NULL;
}

const char *tier_sim_check(const struct tier_sim *sim)
{
	for (uint32_t v = 0; v < sim->nr_volumes; v++) {
		const struct sim_volume *volume = &sim->volumes[v];
		uint64_t allocated = 0;

		for (uint64_t i = 0; i < volume->nr_extents; i++) {
			const struct sim_extent *extent = &volume->extents[i];

			if (extent->device == TIER_SIM_NOWHERE)
				continue;
			allocated++;
			if (sim->devices[extent->device].slots[extent->slot] != SIM_SLOT_USED)
				return "an extent's slot is not in use";
		}
		if (allocated != volume->info.allocated_extents)
			return "a volume's number of allocated extents is wrong";
	}
	for (uint32_t i = 0; i < sim->nr_devices; i++) {
		const char *broken = check_device(sim, &sim->devices[i]);

		if (broken)
			return broken;
	}
	return NULL;
}

uint64_t tier_rng_next(struct tier_rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint64_t tier_rng_below(struct tier_rng *rng, uint64_t limit)
{
	return tier_rng_next(rng) % limit;
}

double tier_rng_unit(struct tier_rng *rng)
{
	return ((double)(tier_rng_next(rng) >> 11) + 0.5) / 9007199254740992.0;
}
