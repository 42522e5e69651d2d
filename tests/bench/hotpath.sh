#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# hotpath.sh [ROUNDS]: what an I/O through a volume costs, against the bare device, dm-linear, dm-thin and dm-cache.
#
# One guest runs all of it (hotpath_guest.sh) in counted-instruction mode: guest time is the number of instructions,
# so a busy host changes nothing and 1 % means something. hotpath_report.py takes the medians, writes
# build/bench/hotpath.json, prints the table and the bars, and fails if one is missed.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-3}
out=${O:-build}/bench
mkdir -p "$out"
rm -f "$out/hotpath.json"
echo "hotpath: $rounds rounds in a guest that counts instructions; this takes some minutes"
tests/vm/run --kernel 6.1 --icount --mem 2048 --timeout 3600 --quiet tests/bench/hotpath_guest.sh "$rounds" | tee "$out/hotpath.log"
python3 tests/bench/hotpath_report.py "$out/hotpath.json" <"$out/hotpath.log"
