/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Percent-encoding of text in messages and answers (dm-tier.h), by the kernel's
 * own code; and making text of others' fit to be shown. Pure.
 */
#ifndef TIER_TEXT_H
#define TIER_TEXT_H

#include <stddef.h>

#define TIER_ENCODED_SIZE	601	/* with the NUL, of a text of TIER_LABEL_SIZE */

/* -ENAMETOOLONG: more than TIER_LABEL_SIZE - 1 bytes. `ret_word`: TIER_ENCODED_SIZE. */
int tier_text_encode(const char *text, char *ret_word);

/* -EINVAL: not what encode makes. `ret_text`: TIER_LABEL_SIZE. */
int tier_text_decode(const char *word, char *ret_text);

/*
 * A ? for each byte that is a control character or no part of a character of UTF-8
 * (D-Bus takes nothing else, terminals obey the former). In place.
 */
void tier_text_clean(char *text);

#endif
