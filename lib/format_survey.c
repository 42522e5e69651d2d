// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading a device of which parts cannot be read, and the list of findings. What
 * is read is not judged here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "format_survey.h"
#include "util.h"

#define CHUNK_BLOCKS	256		/* read at once, of the ring */

/* Reading --------------------------------------------------------------------*/

bool tier_survey_is_bad(const struct tier_survey *survey, u64 block)
{
	return block >= survey->blocks || survey->bad[block / 8] & 1 << block % 8;
}

void tier_survey_read(struct tier_survey *survey, u64 block, u64 count, void *ret_blocks)
{
	const u64 there = block < survey->blocks ? min(count, survey->blocks - block) : 0;
	u8 *to = ret_blocks;

	memset(to + there * DM_TIER_BLOCK_BYTES, 0, (count - there) * DM_TIER_BLOCK_BYTES);
	if (!there || !tier_format_read_blocks(survey->fd, block, there, to))
		return;
	/* One of them: which? */
	for (u64 i = 0; i < there; i++) {
		if (!tier_format_read_blocks(survey->fd, block + i, 1,
					     to + i * DM_TIER_BLOCK_BYTES))
			continue;
		memset(to + i * DM_TIER_BLOCK_BYTES, 0, DM_TIER_BLOCK_BYTES);
		survey->bad[(block + i) / 8] |= 1 << (block + i) % 8;
	}
}

static bool is_blank(const void *block)
{
	const u8 *b = block;

	return !*b && !memcmp(b, b + 1, DM_TIER_BLOCK_BYTES - 1);
}

static void read_place(struct tier_survey *survey, u32 nr, void *block)
{
	struct tier_survey_place *place = &survey->place[nr];

	if (tier_format_super_block(nr) >= survey->blocks) {
		place->error = -ENXIO;
		return;
	}
	place->error = tier_format_read_blocks(survey->fd, tier_format_super_block(nr), 1, block);
	if (place->error)
		return;
	place->blank = is_blank(block);
	place->error = dm_tier_super_decode_at(block, tier_format_super_block(nr), &place->super);
}

int tier_survey_open(int fd, struct tier_survey *ret_survey)
{
	_cleanup_free_ void *block = tier_format_alloc_blocks(1);
	const off_t bytes = lseek(fd, 0, SEEK_END);

	*ret_survey = (struct tier_survey){ .fd = fd, .newest = -1 };
	if (bytes < 0)
		return -errno;
	ret_survey->blocks = bytes / DM_TIER_BLOCK_BYTES;
	ret_survey->bad = calloc(ret_survey->blocks / 8 + 1, 1);
	if (!block || !ret_survey->bad)
		return -ENOMEM;
	for (u32 nr = 0; nr < 2; nr++) {
		const struct tier_survey_place *place = &ret_survey->place[nr];

		read_place(ret_survey, nr, block);
		if (place->error ||
		    (ret_survey->newest >= 0 &&
		     place->super.version <= ret_survey->super.version))
			continue;
		ret_survey->newest = nr;
		ret_survey->super = place->super;
	}
	return 0;
}

void tier_survey_clear(struct tier_survey *survey)
{
	free(survey->bad);
	free(survey->ring);
	*survey = (struct tier_survey){ .newest = -1 };
}

int tier_survey_read_ring(struct tier_survey *survey)
{
	const u64 start = dm_tier_log_start(&survey->super), blocks = survey->super.log_blocks;

	survey->ring = tier_format_alloc_blocks(blocks);
	if (!survey->ring)
		return -ENOMEM;
	for (u64 at = 0; at < blocks; at += CHUNK_BLOCKS)
		tier_survey_read(survey, start + at, min_t(u64, CHUNK_BLOCKS, blocks - at),
				 survey->ring + at * DM_TIER_BLOCK_BYTES);
	return 0;
}

const void *tier_survey_ring_block(const struct tier_survey *survey, u64 position)
{
	return survey->ring + position % survey->super.log_blocks * DM_TIER_BLOCK_BYTES;
}

bool tier_survey_block_ok(const void *block)
{
	struct dm_tier_record rec;
	u32 offset = 0;
	int r;

	while ((r = dm_tier_block_next(block, &offset, &rec)) > 0)
		;
	return !r;
}

/* Findings -------------------------------------------------------------------*/

void tier_findings_clear(struct tier_findings *findings)
{
	free(findings->list);
	*findings = (struct tier_findings){ 0 };
}

void tier_find(struct tier_findings *findings, enum tier_finding_kind kind, bool is_damage,
	       const char *format, ...)
{
	struct tier_finding *finding, *grown;
	va_list args;

	if (is_damage)
		findings->nr_damages++;
	else
		findings->nr_notes++;
	if (findings->nr == TIER_MAX_FINDINGS)
		return;
	if (!(findings->nr & (findings->nr - 1))) {
		grown = reallocarray(findings->list, findings->nr ? 2 * findings->nr : 1,
				     sizeof(*grown));
		if (!grown) {
			findings->no_memory = true;
			return;
		}
		findings->list = grown;
	}
	finding = &findings->list[findings->nr++];
	finding->kind = kind;
	finding->is_damage = is_damage;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

void tier_find_unreadable(struct tier_findings *findings, const struct tier_survey *survey)
{
	u64 first = 0, count = 0;

	for (u64 block = 0; block <= survey->blocks; block++) {
		if (block < survey->blocks && tier_survey_is_bad(survey, block)) {
			if (!count++)
				first = block;
			continue;
		}
		if (count == 1)
			tier_find(findings, TIER_FOUND_UNREADABLE, true,
				  "block %llu cannot be read", first);
		else if (count)
			tier_find(findings, TIER_FOUND_UNREADABLE, true,
				  "%llu blocks from block %llu on cannot be read", count, first);
		count = 0;
	}
}
