// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images without memory: whichever allocation fails, the answer is -ENOMEM, what
 * was applied before is as it was, and a second attempt succeeds.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/slab.h>

static unsigned int until_failure;	/* allocations, this one included; 0 = none fails */

static void *failing_kcalloc(size_t n, size_t size, gfp_t gfp)
{
	if (until_failure && !--until_failure)
		return NULL;
	return calloc(n, size);
}

#define kcalloc failing_kcalloc
#include "../../kernel/dm-tier-image.c"

/* Every kind of record that needs memory, and a check. */
static int build(struct dm_tier_image *image)
{
	const struct dm_tier_record records[] = {
		{ .type = DM_TIER_REC_POOL, .pool = { .next_generation = 9 } },
		{ .type = DM_TIER_REC_DEVICE, .device = { .idx = 1, .slots = 10 } },
		{ .type = DM_TIER_REC_VOLUME, .volume = { .id = 2, .generation = 3, .extents = 5 } },
		{ .type = DM_TIER_REC_SLOT,
		  .slot = { .device = 1, .slot = 1, .generation = 3, .valid = { 1 } } },
		{ .type = DM_TIER_REC_SLOT,
		  .slot = { .device = 1, .slot = 9, .generation = 3, .extent = 4, .full = true } },
	};
	int r;

	for (u32 i = 0; i < ARRAY_SIZE(records); i++) {
		r = dm_tier_image_apply(image, &records[i]);
		if (r)
			return r;
	}
	return dm_tier_image_check(image, NULL, NULL, NULL);
}

static void test_every_allocation(void **state)
{
	struct dm_tier_image *image;
	u32 failed = 0;

	for (u32 nr = 1;; nr++) {
		until_failure = nr;
		image = dm_tier_image_alloc(64);
		if (!image) {
			failed++;
			continue;
		}
		if (!build(image))
			break;
		failed++;
		assert_int_equal(until_failure, 0);
		assert_int_equal(build(image), 0);
		assert_int_equal(image->device[1].slot[1].valid[0], 1);
		assert_true(image->device[1].slot[9].full);
		dm_tier_image_free(image);
	}
	dm_tier_image_free(image);
	/* Image, volume, slots, bitmap, index, hash of owners. */
	assert_int_equal(failed, 6);
}

/* A full slot that becomes partly valid, but there is no memory, stays full. */
static void test_slot_unchanged(void **state)
{
	struct dm_tier_record rec = {
		.type = DM_TIER_REC_SLOT, .slot = { .generation = 3, .full = true },
	};
	struct dm_tier_image *image;

	until_failure = 0;
	image = dm_tier_image_alloc(64);
	assert_int_equal(dm_tier_image_apply(image, &rec), 0);
	rec.slot.full = false;
	rec.slot.generation = 4;
	until_failure = 1;
	assert_int_equal(dm_tier_image_apply(image, &rec), -ENOMEM);
	assert_true(image->device[0].slot[0].full);
	assert_int_equal(image->device[0].slot[0].generation, 3);
	dm_tier_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation),
		cmocka_unit_test(test_slot_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
