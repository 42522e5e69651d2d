// SPDX-License-Identifier: GPL-2.0-only
/*
 * What contradicts itself in a state that was put together from parts, decided
 * by time: the newer record is right. Where time does not decide, nothing is
 * thrown away: the slot that loses goes into quarantine, so that what it holds is
 * not overwritten. Only where something is missing may a record be made up: a
 * volume that has slots, a device that the user has given, a size that slots show.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/limits.h>

#include "format_repair.h"
#include "util.h"

/* An owned slot. */
struct owner {
	u64 generation, stamp;
	u32 extent, device, slot;
};

static u64 stamp_of(const struct repair *r, u32 device, u32 slot)
{
	return slot < r->nr_stamps[device] ? r->slot_stamp[device][slot] : 0;
}

/* Whether there may be records that we do not have and that are newer than this one. */
static bool is_gap_behind(const struct repair *r, u64 stamp)
{
	return r->is_incomplete || (r->first_hole && stamp > r->first_hole);
}

/* Owners come sorted by generation: the last answer is mostly the next. */
struct found {
	u64 generation;
	int id;
};

static int find_volume(const struct repair *r, u64 generation, struct found *last)
{
	if (last->generation != generation)
		*last = (struct found){
			generation,
			dm_tier_image_find_generation(r->content->image, generation),
		};
	return last->id;
}

static const char *volume_text(const struct repair *r, u32 id, char *text, size_t size)
{
	return tier_content_volume(r->content->image, id, text, size);
}

static void free_slot(struct repair *r, u32 device, u32 nr, bool quarantine)
{
	struct dm_tier_image_slot *slot = &r->content->image->device[device].slot[nr];

	free(slot->valid);
	*slot = (struct dm_tier_image_slot){ .quarantine = quarantine };
}

/* All owned slots, by volume and extent; of one extent the newest first. */
static int compare_owners(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	if (x->extent != y->extent)
		return x->extent < y->extent ? -1 : 1;
	if (x->stamp != y->stamp)
		return x->stamp > y->stamp ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int list_owners(const struct repair *r, struct owner **ret_owners, size_t *ret_nr)
{
	const struct dm_tier_image *image = r->content->image;
	struct owner *owners;
	size_t nr = 0;

	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++)
		for (u32 s = 0; s < image->device[d].nr_slot; s++)
			nr += image->device[d].slot[s].generation != 0;
	owners = calloc(nr + 1, sizeof(*owners));
	if (!owners)
		return -ENOMEM;
	nr = 0;
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++) {
		for (u32 s = 0; s < image->device[d].nr_slot; s++) {
			const struct dm_tier_image_slot *slot = &image->device[d].slot[s];

			if (slot->generation)
				owners[nr++] = (struct owner){
					slot->generation, stamp_of(r, d, s), slot->extent, d, s
				};
		}
	}
	qsort(owners, nr, sizeof(*owners), compare_owners);
	*ret_owners = owners;
	*ret_nr = nr;
	return 0;
}

/* Devices ---------------------------------------------------------------------------*/

static int add_device(struct repair *r, const struct tier_repair_device *given)
{
	const struct dm_tier_image_device *device = &r->content->image->device[given->idx];
	struct dm_tier_record rec = { .type = DM_TIER_REC_DEVICE };
	char uuid[TIER_UUID_SIZE];

	tier_format_uuid(given->uuid, uuid);
	if (memcmp(given->pool_uuid, r->content->super.uuid, 16)) {
		repair_say(r, DOUBT, true, "the device %s that was given is of another pool", uuid);
		return 0;
	}
	if (device->present) {
		if (memcmp(device->uuid, given->uuid, 16))
			repair_say(r, DOUBT, true, "the device %s that was given says it is device %u, but the pool has another one there",
				   uuid, given->idx);
		return 0;
	}
	if (!r->is_incomplete && !r->first_hole) {
		repair_say(r, DOUBT, true, "the device %s that was given is not of the pool any more: no record is missing",
			   uuid);
		return 0;
	}
	rec.device.idx = given->idx;
	rec.device.tier = given->tier;
	rec.device.slots = tier_format_slots(given->bytes, r->content->super.extent_sectors);
	rec.device.state = DM_TIER_DEV_ONLINE;
	memcpy(rec.device.uuid, given->uuid, 16);
	repair_say(r, MENDED, true, "device %u has a record again: tier %u, %u slots, from its label and size",
		   given->idx, given->tier, rec.device.slots);
	return dm_tier_image_apply(r->content->image, &rec);
}

/* A slot of a volume that there is, within its size. */
static bool is_live(const struct repair *r, const struct dm_tier_image_slot *slot)
{
	const struct dm_tier_image *image = r->content->image;
	const int id = slot->generation ?
		       dm_tier_image_find_generation(image, slot->generation) : -ENOENT;

	return id >= 0 && slot->extent < image->volume[id]->volume.extents;
}

/* Slots in use beyond its end show that it has grown, if that may have been lost. */
static void resolve_range(struct repair *r, u32 d)
{
	struct dm_tier_image_device *device = &r->content->image->device[d];
	const u32 slots = device->slots;

	for (u32 s = slots; s < device->nr_slot; s++) {
		if (!device->slot[s].generation && !device->slot[s].quarantine)
			continue;
		if (stamp_of(r, d, s) > r->device_stamp[d] &&
		    is_gap_behind(r, stamp_of(r, d, s))) {
			device->slots = s + 1;
			continue;
		}
		if (is_live(r, &device->slot[s]))
			repair_say(r, LOST, true, "extent %u of the volume of generation %llu: its slot %u of device %u is not there",
				   device->slot[s].extent, (u64)device->slot[s].generation, s, d);
		free_slot(r, d, s, false);
	}
	if (device->slots != slots)
		repair_say(r, MENDED, true, "device %u has at least %u slots, not %u: they are in use",
			   d, device->slots, slots);
}

static void drop_strange(struct repair *r, u32 d)
{
	struct dm_tier_image_device *device = &r->content->image->device[d];
	u64 lost = 0;

	for (u32 s = 0; s < device->nr_slot; s++) {
		lost += is_live(r, &device->slot[s]);
		free_slot(r, d, s, false);
	}
	if (lost)
		repair_say(r, LOST, true, "%llu extents on device %u, whose record is lost: give the device with --tier",
			   lost, d);
}

static void resolve_twins(struct repair *r, u32 d)
{
	struct dm_tier_image *image = r->content->image;
	const struct dm_tier_record gone = {
		.type = DM_TIER_REC_DEVICE, .tombstone = true, .device = { .idx = d },
	};

	for (u32 k = 0; k < d && image->device[d].present; k++) {
		if (!image->device[k].present ||
		    memcmp(image->device[k].uuid, image->device[d].uuid, 16))
			continue;
		repair_say(r, LOST, true, "device %u, which has the UUID of device %u", d, k);
		dm_tier_image_apply(image, &gone);
	}
}

static int resolve_devices(struct repair *r)
{
	u32 present = 0;
	int ret = 0;

	for (size_t i = 0; i < r->options->nr_devices && !ret; i++)
		ret = add_device(r, &r->options->devices[i]);
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES && !ret; d++) {
		resolve_twins(r, d);
		if (r->content->image->device[d].present)
			resolve_range(r, d);
		else
			drop_strange(r, d);
		present += r->content->image->device[d].present;
	}
	if (!present && !ret)
		repair_say(r, LOST, true, "the records of all devices: give the devices with --tier");
	return ret;
}

/* Volumes ---------------------------------------------------------------------------*/

static bool is_dead(const struct repair *r, u64 generation)
{
	for (size_t i = 0; i < r->nr_dead; i++)
		if (r->dead[i] == generation)
			return true;
	return false;
}

static bool is_taken(const struct dm_tier_image *image, const u8 *uuid)
{
	for (u32 id = 0; id < DM_TIER_MAX_VOLUMES; id++)
		if (image->volume[id] && !memcmp(image->volume[id]->volume.uuid, uuid, 16))
			return true;
	return false;
}

/* Made of the pool's, as there is no other; a generation is never used twice. */
static void make_up_uuid(const struct repair *r, u64 generation, u8 *ret_uuid)
{
	u8 uuid[16];

	memcpy(uuid, r->content->super.uuid, 16);
	for (u32 i = 0; i < 8; i++)
		uuid[8 + i] ^= generation >> 8 * i;
	uuid[0] ^= 0xff;
	for (u32 i = 0; is_taken(r->content->image, uuid); i++)
		memcpy(uuid + 4, &i, sizeof(i));
	memcpy(ret_uuid, uuid, 16);
}

static int make_volume(struct repair *r, u64 generation, u32 extents)
{
	struct dm_tier_record rec = { .type = DM_TIER_REC_VOLUME };
	u32 id = 0;

	while (id < DM_TIER_MAX_VOLUMES && r->content->image->volume[id])
		id++;
	if (id == DM_TIER_MAX_VOLUMES)
		return 0;
	rec.volume.id = id;
	rec.volume.generation = generation;
	rec.volume.extents = extents;
	make_up_uuid(r, generation, rec.volume.uuid);
	rec.volume.label_bytes = snprintf(rec.volume.label, sizeof(rec.volume.label),
					  "name=recovered-%llu", generation);
	repair_say(r, MENDED, true, "the record of a volume is lost, its extents are not: volume %u (recovered-%llu), at least %u extents",
		   id, generation, extents);
	return dm_tier_image_apply(r->content->image, &rec);
}

/* Slots of a volume that has no record: it was deleted, or its record is lost. */
static int find_volumes(struct repair *r)
{
	_cleanup_free_ struct owner *owners = NULL;
	size_t nr, next;
	int ret = list_owners(r, &owners, &nr);

	for (size_t at = 0; at < nr && !ret; at = next) {
		const u64 generation = owners[at].generation;
		bool is_lost = false;

		for (next = at; next < nr && owners[next].generation == generation; next++)
			is_lost |= is_gap_behind(r, owners[next].stamp);
		if (is_lost && !is_dead(r, generation) &&
		    dm_tier_image_find_generation(r->content->image, generation) < 0)
			ret = make_volume(r, generation, owners[next - 1].extent + 1);
	}
	return ret;
}

/* An extent beyond the end, newer than the end: the volume has grown since. */
static int resolve_sizes(struct repair *r)
{
	const struct dm_tier_image *image = r->content->image;
	_cleanup_free_ struct owner *owners = NULL;
	struct found last = { 0 };
	char text[100];
	size_t nr;
	int ret = list_owners(r, &owners, &nr);

	for (size_t i = 0; i < nr && !ret; i++) {
		const struct owner *o = &owners[i];
		const int id = find_volume(r, o->generation, &last);

		if (id < 0 || o->extent < image->volume[id]->volume.extents ||
		    o->stamp <= r->volume_stamp[id] || !is_gap_behind(r, o->stamp))
			continue;
		repair_say(r, MENDED, true, "%s has at least %u extents, not %u: they are in use",
			   volume_text(r, id, text, sizeof(text)), o->extent + 1,
			   image->volume[id]->volume.extents);
		image->volume[id]->volume.extents = o->extent + 1;
	}
	return ret;
}

static void drop_volume(struct repair *r, u32 id, u32 other)
{
	const struct dm_tier_record gone = {
		.type = DM_TIER_REC_VOLUME, .tombstone = true, .volume = { .id = id },
	};

	repair_say(r, LOST, true, "volume %u, which has the generation of volume %u, and that one is newer",
		   id, other);
	dm_tier_image_apply(r->content->image, &gone);
}

static void resolve_volume_twins(struct repair *r, u32 id, u32 other)
{
	struct dm_tier_image *image = r->content->image;
	struct dm_tier_record *a = image->volume[other], *b = image->volume[id];

	if (!a || !b)
		return;
	if (a->volume.generation == b->volume.generation) {
		if (r->volume_stamp[id] > r->volume_stamp[other])
			drop_volume(r, other, id);
		else
			drop_volume(r, id, other);
		return;
	}
	if (memcmp(a->volume.uuid, b->volume.uuid, 16))
		return;
	make_up_uuid(r, b->volume.generation, b->volume.uuid);
	repair_say(r, MENDED, true, "volume %u has a new UUID: it had that of volume %u", id, other);
}

static int resolve_volumes(struct repair *r)
{
	struct dm_tier_image *image = r->content->image;
	u64 highest = 0;
	int ret;

	for (u32 id = 0; id < DM_TIER_MAX_VOLUMES; id++)
		for (u32 other = 0; other < id && image->volume[id]; other++)
			resolve_volume_twins(r, id, other);
	ret = find_volumes(r);
	if (!ret)
		ret = resolve_sizes(r);
	for (u32 id = 0; id < DM_TIER_MAX_VOLUMES; id++)
		if (image->volume[id])
			highest = max(highest, image->volume[id]->volume.generation);
	for (u32 d = 0; d < DM_TIER_MAX_DEVICES; d++)
		for (u32 s = 0; s < image->device[d].nr_slot; s++)
			highest = max(highest, (u64)image->device[d].slot[s].generation);
	if (!r->seen_pool)
		repair_say(r, LOST, true, "the pool's own record: its name; it is called by its UUID");
	if (highest >= image->next_generation) {
		if (highest == U64_MAX)
			return -EUCLEAN;
		repair_say(r, MENDED, true, "the next generation of a volume is %llu, not %llu",
			   highest + 1, (u64)image->next_generation);
		image->next_generation = highest + 1;
	}
	return ret;
}

/* Owners ----------------------------------------------------------------------------*/

static bool same_extent(const struct owner *a, const struct owner *b)
{
	return a->generation == b->generation && a->extent == b->extent;
}

static int resolve_owners(struct repair *r)
{
	_cleanup_free_ struct owner *owners = NULL;
	struct found last = { 0 };
	size_t nr, first = 0;
	char text[100];
	int ret = list_owners(r, &owners, &nr);

	for (size_t i = 1; i < nr && !ret; i++) {
		const struct owner *kept = &owners[first], *o = &owners[i];
		const int id = find_volume(r, o->generation, &last);

		if (!same_extent(kept, o)) {
			first = i;
			continue;
		}
		/* Of a volume that was deleted: all of them are freed. */
		if (id < 0)
			continue;
		volume_text(r, id, text, sizeof(text));
		if (kept->stamp > o->stamp)
			repair_say(r, MENDED, true, "extent %u of %s is in slot %u of device %u (commit %llu), no more in slot %u of device %u (commit %llu)",
				   o->extent, text, kept->slot, kept->device, kept->stamp, o->slot,
				   o->device, o->stamp);
		else
			repair_say(r, DOUBT, true, "extent %u of %s is taken from slot %u of device %u; slot %u of device %u may have it too and is in quarantine",
				   o->extent, text, kept->slot, kept->device, o->slot, o->device);
		free_slot(r, o->device, o->slot, kept->stamp == o->stamp ||
			  r->content->image->device[o->device].slot[o->slot].quarantine);
	}
	return ret;
}

int tier_repair_resolve(struct repair *r)
{
	int ret = resolve_devices(r);

	if (!ret)
		ret = resolve_volumes(r);
	if (!ret)
		ret = resolve_owners(r);
	if (!ret)
		ret = dm_tier_image_check(r->content->image, NULL, NULL, NULL);
	return ret > 0 ? -EUCLEAN : ret;
}

/* Doubt -----------------------------------------------------------------------------*/

/* Extents of one volume, as ranges, in as many lines as it takes. */
struct ranges {
	struct repair *r;
	u32 id;
	u64 count;
	u32 first, last;		/* the open range */
	char text[180];
	size_t length;
};

static void ranges_flush(struct ranges *g)
{
	char volume[100];

	if (!g->length)
		return;
	repair_say(g->r, DOUBT, true, "%s: extents not logged since: %s",
		   volume_text(g->r, g->id, volume, 60), g->text);
	g->length = 0;
}

static void ranges_close(struct ranges *g)
{
	char word[24];
	int length;

	if (!g->count)
		return;
	length = snprintf(word, sizeof(word), g->first == g->last ? "%u" : "%u-%u", g->first,
			  g->last);
	if (g->length + length + 2 > sizeof(g->text))
		ranges_flush(g);
	g->length += snprintf(g->text + g->length, sizeof(g->text) - g->length, "%s%s",
			      g->length ? "," : "", word);
}

static void ranges_add(struct ranges *g, u32 extent)
{
	if (g->count && extent == g->last + 1) {
		g->last = extent;
		g->count++;
		return;
	}
	ranges_close(g);
	g->first = g->last = extent;
	g->count++;
}

static void ranges_end(struct ranges *g)
{
	ranges_close(g);
	ranges_flush(g);
	g->count = 0;
}

/* Any of them may have been moved, discarded, or got more valid regions. */
static int tell_unconfirmed(struct repair *r)
{
	_cleanup_free_ struct owner *owners = NULL;
	struct ranges g = { .r = r };
	struct found last = { 0 };
	size_t nr;
	int ret = list_owners(r, &owners, &nr);

	for (size_t i = 0; i < nr && !ret; i++) {
		const int id = find_volume(r, owners[i].generation, &last);

		if (id < 0 || owners[i].stamp >= r->last_hole)
			continue;
		if (g.count && (u32)id != g.id)
			ranges_end(&g);
		g.id = id;
		ranges_add(&g, owners[i].extent);
	}
	ranges_end(&g);
	return ret;
}

static int compare_displaced(const void *a, const void *b)
{
	const struct repair_owner *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	if (x->extent != y->extent)
		return x->extent < y->extent ? -1 : 1;
	return (x->commit > y->commit) - (x->commit < y->commit);
}

/* What had a slot before a commit beyond the hole, and has none now. */
static int tell_displaced(struct repair *r)
{
	_cleanup_free_ struct owner *owners = NULL;
	struct found last = { 0 };
	size_t nr, at = 0;
	char text[100];
	int ret = list_owners(r, &owners, &nr);

	if (ret || !r->nr_displaced)
		return ret;
	qsort(r->displaced, r->nr_displaced, sizeof(*r->displaced), compare_displaced);
	for (size_t i = 0; i < r->nr_displaced; i++) {
		const struct repair_owner *d = &r->displaced[i];
		const int id = find_volume(r, d->generation, &last);

		while (at < nr && (owners[at].generation < d->generation ||
				   (owners[at].generation == d->generation &&
				    owners[at].extent < d->extent)))
			at++;
		if (at < nr && owners[at].generation == d->generation &&
		    owners[at].extent == d->extent)
			continue;
		if (id < 0 || d->extent >= r->content->image->volume[id]->volume.extents)
			continue;
		repair_say(r, DOUBT, true, "extent %u of %s has no slot any more since commit %llu: discarded, or moved by a lost commit",
			   d->extent, volume_text(r, id, text, sizeof(text)), d->commit);
	}
	return 0;
}

int tier_repair_tell_doubt(struct repair *r)
{
	int ret;

	if (!r->first_hole)
		return 0;
	repair_say(r, DOUBT, true, "what the lost commits changed is not known: extents that no later commit names may have been moved, discarded or written to for the first time");
	ret = tell_displaced(r);
	return ret ?: tell_unconfirmed(r);
}
