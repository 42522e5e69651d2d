// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dm-tier-format.h"
#include "judge.h"

#define NO_SLOT		UINT32_MAX

struct view {
	const struct cut *cut;
	struct knowledge *knowledge;
	char *verdict;
	struct dm_tier_super super;
	struct dm_tier_image *image;
	struct dm_tier_log_end end;
};

__attribute__((format(printf, 2, 3)))
static bool wrong(char *verdict, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(verdict, VERDICT_SIZE, format, args);
	va_end(args);
	return false;
}

/* Metadata -----------------------------------------------------------------------*/

static const void *block(const struct view *v, u64 number)
{
	return v->cut->image[SLICE_META] + number * DM_TIER_BLOCK_BYTES;
}

static bool read_super(struct view *v)
{
	static const u64 places[] = { DM_TIER_SUPER_BLOCK_0, DM_TIER_SUPER_BLOCK_1 };
	struct dm_tier_super super;
	bool found = false;
	int i, r;

	for (i = 0; i < 2; i++) {
		r = dm_tier_super_decode_at(block(v, places[i]), places[i], &super);
		if (r == -EBADMSG)
			continue;
		if (r)
			return wrong(v->verdict, "superblock %d: %s", i, strerror(-r));
		if (!found || super.version > v->super.version)
			v->super = super;
		found = true;
	}
	if (!found)
		return wrong(v->verdict, "no valid superblock");
	if (dm_tier_super_blocks(&v->super) * DM_TIER_BLOCK_BYTES > slices[SLICE_META].bytes)
		return wrong(v->verdict, "the superblock is of a larger device");
	return true;
}

static int apply(void *ctx, const struct dm_tier_record *rec)
{
	return dm_tier_image_apply(ctx, rec);
}

static int apply_block(struct dm_tier_image *image, const void *data)
{
	struct dm_tier_record rec;
	u32 offset = 0;
	int r;

	while ((r = dm_tier_block_next(data, &offset, &rec)) > 0) {
		r = dm_tier_image_apply(image, &rec);
		if (r)
			return r;
	}
	return r;
}

/* No crash makes the older checkpoint necessary: the newest has to be whole. */
static bool read_checkpoint(struct view *v)
{
	const struct dm_tier_ckpt_ref *ref = &v->super.ckpt[0];
	u64 i, start = dm_tier_area_start(&v->super, ref->area);
	int r = ref->id && ref->blocks <= v->super.area_blocks ? 0 : -EINVAL;

	for (i = 0; !r && i < ref->blocks; i++) {
		r = dm_tier_ckpt_decode(block(v, start + i), v->super.uuid, ref->id, i);
		if (!r)
			r = apply_block(v->image, block(v, start + i));
	}
	if (r)
		return wrong(v->verdict, "checkpoint %llu: %s", ref->id, strerror(-r));
	return true;
}

static bool read_log(struct view *v)
{
	const struct dm_tier_ckpt_ref *ref = &v->super.ckpt[0];
	u64 used;
	int r = dm_tier_log_replay(block(v, dm_tier_log_start(&v->super)), v->super.log_blocks,
				   v->super.uuid, ref, v->super.final_seq, apply, v->image,
				   &v->end);

	if (r)
		return wrong(v->verdict, "the log: %s", strerror(-r));
	if (v->end.damaged)
		return wrong(v->verdict, "the log has a hole at commit %llu",
			     v->end.damage_commit);
	used = (v->end.position + v->super.log_blocks - ref->position) % v->super.log_blocks;
	if (used + 1 >= v->super.log_blocks)
		return wrong(v->verdict, "no room in the log to activate the pool");
	return true;
}

static bool load(struct view *v)
{
	int r;

	if (!read_super(v))
		return false;
	v->image = dm_tier_image_alloc(v->super.extent_sectors / v->super.region_sectors);
	if (!v->image)
		err(2, "memory");
	if (!read_checkpoint(v) || !read_log(v))
		return false;
	r = dm_tier_image_check(v->image, NULL, NULL, NULL);
	if (r < 0)
		errx(2, "%s", strerror(-r));
	if (r)
		return wrong(v->verdict, "%d structural faults at commit %llu", r, v->end.commit);
	return true;
}

/* Volumes ------------------------------------------------------------------------*/

/* The number at the end of its UUID. */
static u32 life_of(const struct dm_tier_record *rec)
{
	const u8 *uuid = rec->volume.uuid;

	return (u32)uuid[12] << 24 | uuid[13] << 16 | uuid[14] << 8 | uuid[15];
}

/* May it be there, and of this size? Its life, or NULL and what is wrong. */
static struct knowledge_life *check_volume(struct knowledge *k, u32 life, u32 extents,
					   char *verdict)
{
	struct knowledge_life *l = knowledge_find(k, life);

	if (!l) {
		wrong(verdict, "volume %#x is there, but was deleted or never made", life);
		return NULL;
	}
	if (extents < l->least || extents > l->most) {
		wrong(verdict, "volume %#x has %u extents, not %u to %u", life, extents, l->least,
		      l->most);
		return NULL;
	}
	l->seen = true;
	return l;
}

static bool check_missing(struct knowledge *k, char *verdict)
{
	uint32_t i;

	for (i = 0; i < MAX_LIVES; i++)
		if (k->life[i].life && k->life[i].must && !k->life[i].seen)
			return wrong(verdict, "volume %#x is lost", k->life[i].life);
	return true;
}

static void none_seen(struct knowledge *k)
{
	uint32_t i;

	for (i = 0; i < MAX_LIVES; i++)
		k->life[i].seen = false;
}

static bool check_sector(const struct knowledge_life *l, u32 number, const struct sector *sector,
			 const char *where, u32 slot, char *verdict)
{
	const char *what = knowledge_check(l, number, sector);

	if (!what)
		return true;
	return wrong(verdict, "volume %#x sector %u: %s: %s %#x:%u write %#x; durable %#x, zeroed "
		     "%#x; %s slot %u", l->life, number, what,
		     sector->kind == SECTOR_DATA ? "data" : "no data", sector->life, sector->number,
		     sector->write, l->durable[number], l->zeroed[number], where, slot);
}

static bool check_extent(struct view *v, const struct knowledge_life *l, u32 extent, u32 device,
			 u32 slot)
{
	static const struct sector zeros = { SECTOR_ZEROS };
	const struct dm_tier_image_slot *s = &v->image->device[device].slot[slot];
	const struct sector *look = &v->cut->look[SLICE_DATA + device][DM_TIER_DATA_SECTOR +
								       slot * EXTENT_SECTORS];
	u32 i, number = extent * EXTENT_SECTORS;

	for (i = 0; i < EXTENT_SECTORS; i++) {
		u32 region = i / v->super.region_sectors;
		bool valid = s->full || (s->valid[region / 64] >> region % 64 & 1);

		if (!check_sector(l, number + i, valid ? &look[i] : &zeros,
				  slices[SLICE_DATA + device].name, slot, v->verdict))
			return false;
	}
	return true;
}

static bool check_unallocated(struct view *v, const struct knowledge_life *l, u32 extent)
{
	static const struct sector zeros = { SECTOR_ZEROS };
	u32 i;

	for (i = 0; i < EXTENT_SECTORS; i++)
		if (!check_sector(l, extent * EXTENT_SECTORS + i, &zeros, "no", 0, v->verdict))
			return false;
	return true;
}

struct place {
	u32 device, slot;
};

static void find_places(struct view *v, u64 generation, u32 extents, struct place *place)
{
	u32 d, s;

	for (s = 0; s < extents; s++)
		place[s] = (struct place){ NO_SLOT, NO_SLOT };
	for (d = 0; d < NR_DATA; d++) {
		const struct dm_tier_image_device *device = &v->image->device[d];

		for (s = 0; s < device->nr_slot; s++)
			if (device->slot[s].generation == generation)
				place[device->slot[s].extent] = (struct place){ d, s };
	}
}

static bool check_contents(struct view *v, const struct dm_tier_record *rec)
{
	struct place place[MAX_EXTENTS];
	struct knowledge_life *l = check_volume(v->knowledge, life_of(rec), rec->volume.extents,
						v->verdict);
	u32 i;

	if (!l)
		return false;
	find_places(v, rec->volume.generation, rec->volume.extents, place);
	for (i = 0; i < rec->volume.extents; i++)
		if (!(place[i].slot == NO_SLOT ? check_unallocated(v, l, i) :
		      check_extent(v, l, i, place[i].device, place[i].slot)))
			return false;
	return true;
}

bool judge_pool(const struct cut *cut, struct knowledge *k, char *ret_verdict)
{
	struct view v = { .cut = cut, .knowledge = k, .verdict = ret_verdict };
	bool good = load(&v);
	u32 i;

	none_seen(k);
	for (i = 0; good && i < DM_TIER_MAX_VOLUMES; i++)
		if (v.image->volume[i])
			good = check_contents(&v, v.image->volume[i]);
	good = good && check_missing(k, ret_verdict);
	dm_tier_image_free(v.image);
	return good;
}

/* Reports ------------------------------------------------------------------------*/

static bool judge_report_volume(const struct report_volume *rv, const struct sector *look,
				uint64_t count, struct knowledge *k, char *verdict)
{
	struct knowledge_life *l = check_volume(k, rv->life, rv->extents, verdict);
	uint32_t i, sectors = rv->extents * EXTENT_SECTORS;

	if (!l)
		return false;
	if (rv->first > count || sectors > count - rv->first)
		return wrong(verdict, "the report is too short");
	for (i = 0; i < sectors; i++)
		if (!check_sector(l, i, &look[rv->first + i], "read by the kernel, no", 0, verdict))
			return false;
	return true;
}

bool judge_report(const void *report, uint64_t bytes, struct knowledge *k, char *ret_verdict)
{
	const struct report *head = report;
	const struct sector *look = (const void *)((const char *)report + SECTOR);
	uint32_t i;

	if (head->magic != REPORT_MAGIC || head->nr_volumes > MAX_VOLUMES)
		return wrong(ret_verdict, "no report of the guest");
	if (strncmp(head->mode, "rw", sizeof(head->mode)) || head->needs_check)
		return wrong(ret_verdict, "the kernel: mode %.30s, needs_check %u (%.100s)",
			     head->mode, head->needs_check, head->why);
	none_seen(k);
	for (i = 0; i < head->nr_volumes; i++)
		if (!judge_report_volume(&head->volume[i], look,
					 (bytes - SECTOR) / sizeof(struct sector), k, ret_verdict))
			return false;
	return check_missing(k, ret_verdict);
}
