/* SPDX-License-Identifier: GPL-2.0-only */
/* The inputs of tests/fuzz/fuzz_format.c. */
#ifndef TESTS_FUZZ_FORMAT_H
#define TESTS_FUZZ_FORMAT_H

#include <stdint.h>
#include <linux/types.h>

enum fuzz_target {
	FUZZ_SUPER,	/* a block */
	FUZZ_LABEL,	/* a sector */
	FUZZ_BLOCK,	/* a log or checkpoint block */
	FUZZ_REPLAY,	/* seq and position of the checkpoint, then blocks of a ring */
	FUZZ_ARGS,	/* a word, or some with spaces between */
	FUZZ_TARGETS
};

#define FUZZ_RING_BLOCKS 8

/* Log and checkpoint blocks are read as of this pool. */
extern const uint8_t fuzz_uuid[16];

#endif
