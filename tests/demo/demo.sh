#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# demo.sh: dm-tier at work, in a guest with three throttled disks; `make demo` builds what it needs and starts it.
# guest.py says what is done, report.py what has to come out. Leaves in build/demo: result.json, heatmap.svg (after
# relocation), heatmap-before.svg, console.log. Changes nothing of the host; the guest ends with this script.
set -eu
cd "$(dirname "$0")/../.."
out=${O:-build}/demo
ssd_MBps=200
mkdir -p "$out"
rm -f "$out"/result.json "$out"/heatmap*.svg

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	echo "demo: the guest's shared folder needs root: sudo"
	as_root=(sudo env O="${O:-build}")
	for name in TIER_CACHE TIER_ACCEL TIER_VM_SLOTS; do
		[ -z "${!name-}" ] || as_root+=("$name=${!name}")
	done
fi
trap 'echo "demo: interrupted" >&2; exit 130' INT
start=$SECONDS
echo "demo: about four minutes from here on"
"${as_root[@]}" tests/vm/run --kernel 6.1 --systemd --no-build --quiet --timeout 900 --out "$out" \
	--disk ssd=1G,bps=${ssd_MBps}M --disk sas=2G,bps=60M --disk nl=5G,bps=20M \
	-c 'exec python3 /src/tests/demo/guest.py'
if [ ${#as_root[@]} -gt 0 ]; then
	sudo chown -R "$(id -u):$(id -g)" "$out"
fi
python3 tests/demo/report.py "$out/result.json" $((SECONDS - start)) $ssd_MBps
echo "demo: $out/result.json, $out/heatmap.svg"
