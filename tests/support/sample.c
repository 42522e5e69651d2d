// SPDX-License-Identifier: GPL-2.0-only
/* A pool whose metadata have everything, see sample.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

#include "format_tools.h"
#include "sample.h"

#define RECORDS_A_BLOCK 4	/* so that a checkpoint has several */

#define MUST(condition)						\
	do {							\
		if (!(condition)) {				\
			perror(#condition);			\
			abort();				\
		}						\
	} while (0)

void sample_read(const struct sample *sample, u64 block, void *ret_data)
{
	MUST(!tier_format_read_blocks(sample->image.format.metadata.fd, block, 1, ret_data));
}

void sample_write(const struct sample *sample, u64 block, const void *data)
{
	MUST(!tier_format_write_blocks(sample->image.format.metadata.fd, block, 1, data));
}

u64 sample_ckpt_block(const struct sample *sample, u64 index)
{
	return dm_tier_area_start(&sample->super, sample->super.ckpt[0].area) + index;
}

u64 sample_log_block(const struct sample *sample, u64 position)
{
	return dm_tier_log_start(&sample->super) + position;
}

void sample_commit(struct sample *sample, const struct dm_tier_record *records, size_t nr,
		   u32 blocks, u32 flags)
{
	const u64 start = ring_commit(&sample->ring, records, nr, blocks, flags);

	for (u64 p = start; p != sample->ring.position; p = (p + 1) % sample->ring.nr)
		sample_write(sample, sample_log_block(sample, p), ring_block(&sample->ring, p));
}

/* Checkpoints ------------------------------------------------------------------*/

struct writer {
	struct sample *sample;
	struct dm_tier_ckpt_ref ref;
	u32 records;			/* in the open block */
	u64 block[DM_TIER_BLOCK_BYTES / 8];
};

static void writer_close(struct writer *w)
{
	if (!w->records)
		return;
	dm_tier_ckpt_seal(w->block, w->sample->super.uuid, w->ref.id, w->ref.blocks);
	sample_write(w->sample, dm_tier_area_start(&w->sample->super, w->ref.area) + w->ref.blocks,
		     w->block);
	w->ref.blocks++;
	w->records = 0;
}

static void writer_add(struct writer *w, const struct dm_tier_record *rec)
{
	if (w->records == RECORDS_A_BLOCK)
		writer_close(w);
	if (!w->records)
		dm_tier_block_begin(w->block);
	MUST(dm_tier_block_add(w->block, rec));
	w->records++;
}

static void add_slots(struct writer *w, const struct dm_tier_image_device *device, u32 idx)
{
	for (u32 s = 0; s < device->nr_slot; s++) {
		const struct dm_tier_image_slot *slot = &device->slot[s];
		struct dm_tier_record rec = SLOT(.device = idx, .slot = s);

		if (!slot->generation && !slot->quarantine)
			continue;
		rec.slot.generation = slot->generation;
		rec.slot.extent = slot->extent;
		rec.slot.full = slot->full;
		rec.slot.quarantine = slot->quarantine;
		if (slot->valid)
			memcpy(rec.slot.valid, slot->valid, sizeof(rec.slot.valid));
		writer_add(w, &rec);
	}
}

static void add_all(struct writer *w, const struct dm_tier_image *image)
{
	struct dm_tier_record rec = POOL(.next_generation = image->next_generation,
					 .label_bytes = image->pool_label_bytes);

	memcpy(rec.pool.label, image->pool_label, image->pool_label_bytes);
	writer_add(w, &rec);
	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++) {
		const struct dm_tier_image_device *device = &image->device[i];

		if (!device->present)
			continue;
		rec = (struct dm_tier_record)DEVICE(.idx = i, .tier = device->tier,
						    .slots = device->slots,
						    .state = device->state,
						    .reserve_slots = device->reserve_slots);
		memcpy(rec.device.uuid, device->uuid, 16);
		writer_add(w, &rec);
	}
	for (u32 i = 0; i < DM_TIER_MAX_VOLUMES; i++)
		if (image->volume[i])
			writer_add(w, image->volume[i]);
	for (u32 i = 0; i < DM_TIER_MAX_DEVICES; i++)
		add_slots(w, &image->device[i], i);
}

void sample_checkpoint(struct sample *sample)
{
	struct writer w = { .sample = sample, .ref = ring_ref(&sample->ring) };
	struct tier_meta *meta;
	u32 place;

	MUST(!tier_meta_read(sample->image.format.metadata.fd, &meta, NULL));
	sample->super = meta->super.super;
	w.ref.id = sample->super.ckpt[0].id + 1;
	w.ref.area = !sample->super.ckpt[0].area;
	w.ref.blocks = 0;
	add_all(&w, meta->image);
	writer_close(&w);
	place = !meta->super.place;
	tier_meta_free(meta);

	sample->super.version++;
	sample->super.final_seq = sample->ring.commit;
	sample->super.ckpt[1] = sample->super.ckpt[0];
	sample->super.ckpt[0] = w.ref;
	pool_image_write_super(&sample->image, place, &sample->super);
}

/* The pool -----------------------------------------------------------------------*/

static const struct dm_tier_record first[] = {
	POOL(.next_generation = 10, .label_bytes = 10, .label = "name=pool0"),
	VOLUME(.id = 4095, .extents = 9, .generation = 9, .uuid = "uuid of a volume",
	       .label_bytes = 26, .label = "name=big;note=50% \n of \"it\""),
	VOLUME(.id = 3, .extents = 100, .generation = 2, .tiers = 2, .placement = { 2, 0 },
	       .label_bytes = 9, .label = "name=some"),
	SLOT(.device = 0, .slot = 0, .generation = 9, .extent = 6, .full = true),
	SLOT(.device = 1, .slot = 3, .generation = 9, .extent = 0, .valid = { 0x80a5 }),
};

static const struct dm_tier_record second[] = {
	SLOT(.device = 1, .slot = 0, .generation = 2, .extent = 99, .full = true),
	SLOT(.device = 1, .slot = 1, .quarantine = true),
	/* Of a volume that was deleted. */
	SLOT(.device = 1, .slot = 2, .generation = 8, .extent = 99, .full = true),
	SLOT(.device = 2, .slot = 0, .generation = 9, .extent = 1),
	SLOT(.device = 2, .slot = 1, .generation = 2, .extent = 7, .valid = { 0x7 },
	     .quarantine = true),
};

/* A move, of both records; in order. */
static const struct dm_tier_record moved[] = {
	SLOT(.device = 0, .slot = 1, .generation = 9, .extent = 0, .valid = { 0x80a5 }),
	SLOT(.device = 1, .slot = 3),
};

static const struct dm_tier_record third[] = {
	VOLUME(.id = 4095, .extents = 9, .generation = 9, .uuid = "uuid of a volume",
	       .label_bytes = 8, .label = "name=big"),
	SLOT(.device = 2, .slot = 2, .generation = 9, .extent = 8, .valid = { 1 }),
	DEVICE(.idx = 2, .tier = 2, .slots = 5, .state = DM_TIER_DEV_DRAINING,
	       .uuid = { 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2,
			 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2, 0xd2 }),
};

void sample_create(struct sample *sample)
{
	memset(sample, 0, sizeof(*sample));
	pool_image_create(&sample->image);
	MUST(!tier_format_pool(&sample->image.format, NULL));
	pool_image_read_ring(&sample->image, &sample->ring);
	sample->super = pool_image_super(&sample->image, 1);
	sample->start[1] = 0;
	sample->start[2] = sample->ring.position;
	sample_commit(sample, first, ARRAY_SIZE(first), 1, 0);
	sample->start[3] = sample->ring.position;
	sample_commit(sample, second, ARRAY_SIZE(second), 3, 0);
	sample_checkpoint(sample);
	sample->start[4] = sample->ring.position;
	sample_commit(sample, moved, ARRAY_SIZE(moved), 1, 0);
	sample->start[5] = sample->ring.position;
	sample_commit(sample, third, ARRAY_SIZE(third), 2, 0);
	sample->start[6] = sample->ring.position;
	sample_commit(sample, NULL, 0, 1, DM_TIER_LOG_ACTIVATE);
	sample->start[7] = sample->ring.position;
	sample_commit(sample, NULL, 0, 1, 0);
	sample->start[8] = sample->ring.position;
	MUST(sample->ring.commit == SAMPLE_LAST && sample->super.ckpt[0].seq == SAMPLE_SEQ);
}

void sample_remove(struct sample *sample)
{
	ring_clear(&sample->ring);
	pool_image_remove(&sample->image);
}

char *sample_dump(int fd)
{
	struct tier_content *content;
	struct tier_meta *meta;
	char *text = NULL;
	size_t bytes;
	FILE *to;

	MUST(!tier_meta_read(fd, &meta, NULL));
	MUST(!tier_content_of_meta(meta, &content));
	tier_meta_free(meta);
	to = open_memstream(&text, &bytes);
	MUST(to && !tier_content_print(content, to, NULL) && !fclose(to));
	tier_content_free(content);
	return text;
}
