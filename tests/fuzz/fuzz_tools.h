/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inputs of tests/fuzz/fuzz_tools.c. The first byte picks what it is: text
 * for tprestore, or what is done to the metadata of a sample pool, one operation
 * after the other, each of FUZZ_OP_BYTES bytes, some with data behind.
 */
#ifndef TESTS_FUZZ_TOOLS_H
#define TESTS_FUZZ_TOOLS_H

#include <stddef.h>
#include <stdint.h>

enum fuzz_input { FUZZ_TEXT, FUZZ_IMAGE, FUZZ_INPUTS };

/* kind, block, at (2 bytes), value */
#define FUZZ_OP_BYTES	5

enum fuzz_op {
	FUZZ_SET,		/* a byte; the crc is wrong then */
	FUZZ_FORGE,		/* a byte, and the crc is right */
	FUZZ_FORGE_WIDE,	/* 8 bytes of the same value */
	FUZZ_SWAP,		/* with block `at` */
	FUZZ_COPY,		/* to block `at` */
	FUZZ_ZERO,
	FUZZ_UNREADABLE,
	FUZZ_COMMIT,		/* value * 8 bytes of records follow */
	FUZZ_CHECKPOINT,	/* the same, into a block of a checkpoint */
	FUZZ_CHAIN,		/* the log: as if one writer had written all of it */
	FUZZ_CUT,		/* the device ends here */
	FUZZ_OPS
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text of the sample pool: what to begin with. */
const char *fuzz_sample_text(void);

/* Blocks of the metadata device. */
uint64_t fuzz_blocks(void);

#endif
