/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A format with tiny areas and a tiny log, put before every source of a fuzzer
 * (-include), so that one execution takes microseconds. All code is the real one.
 */
#ifndef TESTS_FUZZ_SMALL_H
#define TESTS_FUZZ_SMALL_H

#include "backend.h"
#include "dm-tier.h"

#undef DM_TIER_SUPER_BLOCK_1
#define DM_TIER_SUPER_BLOCK_1		4
#undef DM_TIER_AREA_BLOCK
#define DM_TIER_AREA_BLOCK		8
#undef DM_TIER_COMMIT_BLOCKS
#define DM_TIER_COMMIT_BLOCKS		4
#undef TIER_MAX_VOLUMES
#define TIER_MAX_VOLUMES		64
#undef DM_TIER_MAX_VOLUMES
#define DM_TIER_MAX_VOLUMES		64
/* Else one hostile record is half a GiB of slots: valid, but not worth a fuzzer's time. */
#undef DM_TIER_MAX_DEVICE_SLOTS
#define DM_TIER_MAX_DEVICE_SLOTS	64U

#endif
