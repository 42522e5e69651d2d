/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of pools and volumes, and the names of their dm devices. Pure.
 *
 * Names have LVM's character set: A-Z a-z 0-9 + _ . -, not beginning with a
 * dash, not "." or ".." or "control". In a dm name a dash of the user's is doubled, so that
 * the single one between pool and volume can be told: volume `b` of pool `a` is
 * a-b, pool `a-b` is a--b.
 */
#ifndef TIER_NAME_H
#define TIER_NAME_H

#include <stddef.h>

/*
 * 0 or -EINVAL with *ret_reason (may be NULL) = a constant phrase, like "must
 * not begin with '-'".
 */
int tier_name_check(const char *name, const char **ret_reason);

/*
 * -ENAMETOOLONG: `size` is too small (TIER_NAME_SIZE is device-mapper's limit);
 * -EINVAL: no device can have that name.
 */
int tier_name_pool_to_dm(const char *pool, char *ret_name, size_t size);
int tier_name_volume_to_dm(const char *pool, const char *volume, char *ret_name, size_t size);

/*
 * The pool's name out of its device's. A name that tier_name_pool_to_dm() cannot
 * have made (someone else's) is taken as it is. Never fails; cut at `size`.
 */
void tier_name_dm_to_pool(const char *dm_name, char *ret_pool, size_t size);

/*
 * Cut "<pool>" or "<pool>/<volume>", optionally with /dev/tier/ in front,
 * in two: *ret_volume is "" if there is none. -EINVAL for more slashes or
 * empty parts, -ENAMETOOLONG; the parts are not checked further.
 */
int tier_name_split(const char *word, char *ret_pool, char *ret_volume, size_t size);

#endif
