#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The largest pool: 64 devices in 8 tiers, 4,096 volumes, 1,048,576 extents of 1 GiB. How long it takes to make and to load,
# what it takes of RAM, and how fast it answers. The data devices are zeros but for their labels; the extents' places are
# restored from a text, in an order that leaves no two neighbours. 64 large volumes, which have most of the extents, are
# active.
#
# vm: --disk meta=1G --disk labels=64M --mem 4096 --timeout 900
. /src/tests/vm/pool.sh

devices=64 tiers=8 volumes=4096 large=64 small_extents=16 total=1048576
large_extents=$(((total - (volumes - large) * small_extents) / large))
slots=16640						# of a device
extent_sectors=$((2 << 20))

mib=2048
data_devices() {
	local i
	for ((i = 0; i < devices; i++)); do
		printf '0 %d linear %s %d\n%d %d zero\n' $mib "$(disk labels)" $((i * mib)) \
			$mib $((slots * extent_sectors)) | dmsetup create "z$i" || return
	done
	udevadm settle
}
names=()
for ((i = 0; i < devices; i++)); do names+=("$((i * tiers / devices)):/dev/mapper/z$i"); done

# The empty pool's text and all that it is to hold.
fill() {
	python3 - "$volumes" "$large" "$large_extents" "$small_extents" "$devices" <<'PY'
import sys

volumes, large, large_extents, small_extents, devices = map(int, sys.argv[1:])
for line in open("/run/empty"):
    if line.startswith("pool "):
        line = line.replace(" next_generation=1 ", f" next_generation={volumes + 1} ")
    if line == "end\n":
        break
    print(line, end="")
extents = []
for v in range(volumes):
    size = large_extents if v < large else small_extents
    extents += [(v + 1, e) for e in range(size)]
    print(f"volume id={v} uuid=aabbccdd-0000-0000-0000-{v:012d} generation={v + 1} extents={size} placement=auto label=-")
total = len(extents)
for d in range(devices):
    for slot in range(total // devices):
        generation, e = extents[(slot * devices + d) * 611953 % total]     # odd: each comes once
        print(f"slot device={d} slot={slot} generation={generation} extent={e} valid=full")
print("end")
PY
}
restore_ms=0 check_ms=0 dump_ms=0 load_ms=0 status_ms=0 activate_ms=0 touch_ms=0
write_full() { fill >/run/full; }
milliseconds() {	# NAME COMMAND...: sets it
	local begin
	begin=$(date +%s%N)
	"${@:2}" || return
	printf -v "$1" %d $((($(date +%s%N) - begin) / 1000000))
}
available_kib() { awk '/^MemAvailable/ { print $2 }' /proc/meminfo; }

check "devices of 16 TiB" data_devices
check "an empty pool on them" pool_format -e $((extent_sectors / 2)) -r 1024 -l 65536 "$(disk meta)" "${names[@]}"
check "its text" tpdump -o /run/empty "$(disk meta)"
check "and that of the full one" write_full
check "restored" milliseconds restore_ms tprestore -y -i /run/full -o "$(disk meta)"
check "checked" milliseconds check_ms tpcheck "$(disk meta)"
check "dumped" milliseconds dump_ms tpdump -o /run/again "$(disk meta)"
check "it is the same text" cmp /run/full /run/again

check "its table" bash -c "dmsetup create tp --notable && dmsetup load tp --table '$(pool_table)'"
sync
echo 3 >/proc/sys/vm/drop_caches
before=$(available_kib)
check "loaded" milliseconds load_ms dmsetup resume tp
check "in less than 5 seconds" test "$load_ms" -lt 5000
after=$(available_kib)
check "status" milliseconds status_ms dmsetup status tp

activate() {
	local v
	for ((v = 0; v < large; v++)); do volume_up "$v" || return; done
}
check "the large volumes active" milliseconds activate_ms activate
volume_devices=()
for ((v = 0; v < large; v++)); do volume_devices+=("/dev/mapper/v$v"); done
check "a read of each extent" milliseconds touch_ms scale touch $((extent_sectors * 512)) 1 "${volume_devices[@]}"
numbers() {	# POOL [SINCE [VOLUMES]]: has the words of its line by got
	scale "$@" >/run/scale.log
	account scale
}
numbers tp
check_equal "all extents" $total "$(got extents)"
check_equal "no two are neighbours on a device" $total "$(got runs)"
check_equal "the counters of all that were read" $((large * large_extents)) "$(got counters)"
numbers tp 0 $large
check_equal "the same in the large volumes" $((large * large_extents)) "$(got counters)"
all_ms=$(got counters_ms) generation=$(got generation)
check "a read of each 100th extent" scale touch $((extent_sectors * 512)) 100 "${volume_devices[@]}"
numbers tp "$generation" $large
changed=$((large * large_extents / 100 + 1))
# What was folded by the call that gave the generation may come once more.
check "the counters of those since" test "$(got counters)" -ge $changed -a "$(got counters)" -le $((changed + 1024))
check "they take a 20th of the time of all, at most" test $(($(got counters_ms) * 20)) -le "$all_ms"
note "devices=$devices tiers=$tiers volumes=$volumes restore_ms=$restore_ms check_ms=$check_ms dump_ms=$dump_ms load_ms=$load_ms" \
	"bytes_per_extent=$(((before - after) * 1024 / total)) status_ms=$status_ms" \
	"activate_ms=$activate_ms touch_ms=$touch_ms"
finish
