#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# clean.sh O: remove what was built, keep what was fetched (the cache of guest image, kernels, headers).
set -eu
out=${1:?}
[ -d "$out" ] || exit 0
find "$out" -mindepth 1 -maxdepth 1 ! -name cache -exec rm -rf {} +
rmdir "$out" 2>/dev/null || echo "kept $out/cache (guest image, kernels, headers); remove it by hand"
