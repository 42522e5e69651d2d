#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Devices that fail below a pool: the metadata (meta_ro), a data device's flush, writes and reads of moves.
# What can go on goes on, what cannot errors, and when it heals nothing is lost.
#
# vm: --disk meta=64M --disk a=160M --disk b=64M --timeout 480
# vm-light: what a busy host does to a freeze it tries again
. /src/tests/vm/pool.sh

mib=2048
meta_sectors=$((48 * mib)) data_sectors=$((17 * mib))	# 16 slots
slice m0 $meta_sectors meta
slice a0 $data_sectors a
slice b0 $data_sectors b

# now NAME TABLE-LINE...: switches what lies below the pool, without waiting for anyone
now() {
	printf '%s\n' "${@:2}" | dmsetup load "$1" && dmsetup suspend --noflush --nolockfs "$1" && dmsetup resume "$1"
}
meta_good() { now m0 "0 $meta_sectors linear $(disk meta) 0"; }
meta_bad() { now m0 "0 $meta_sectors error"; }
good() { now "${1}0" "0 $data_sectors linear $(disk "$1") 0"; }
# Only flushes fail: a tail behind the pool's slots gets them as well.
flush_bad() {
	now "${1}0" "0 $data_sectors linear $(disk "$1") 0" \
		"$data_sectors 2048 flakey $(disk "$1") $data_sectors 0 3600 1 error_writes"
}
# Slots FIRST .. FIRST + COUNT - 1 of it fail.
slots_bad() {
	local start=$((($2 + 1) * mib)) end=$((($2 + $3 + 1) * mib)) lines=()
	lines+=("0 $start linear $(disk "$1") 0" "$start $((end - start)) error")
	[ $end -lt $data_sectors ] && lines+=("$end $((data_sectors - end)) linear $(disk "$1") $end")
	now "${1}0" "${lines[@]}"
}

head -c 1048576 /dev/urandom >/run/data
head -c 1048576 /dev/urandom >/run/data2
put() { dd if="${3:-/run/data}" of="/dev/mapper/v$1" bs=1M seek="$2" count=1 oflag=direct conv=notrunc status=none; }
block() { dd if=/run/data of="/dev/mapper/v$1" bs=4k seek="$2" count=1 oflag=direct conv=notrunc status=none; }
same() { dd if="/dev/mapper/v$1" bs=1M skip="$2" count=1 iflag=direct status=none | cmp - "${3:-/run/data}"; }
flush() { timeout 20 python3 -c 'import os, sys; os.fsync(os.open(sys.argv[1], os.O_RDWR))' "/dev/mapper/v$1"; }
mode() { [ "$(pool_value mode)" = "$1" ]; }
refused() { dmsetup message tp 0 "$1" 2>&1 | grep -q "Read-only file system"; }

check "a pool" pool_format /dev/mapper/m0 0:/dev/mapper/a0 1:/dev/mapper/b0
check "it comes up" pool_up
check "volume 0 on the first device" volume_new 0 8
msg set_placement 0 0
check "volume 1 on the second" volume_new 1 8
msg set_placement 1 1
for i in 0 1 2; do put 0 $i; put 1 $i; done
block 0 $((3 * 256))
check "all is flushed" flush 0
check "of both" flush 1
check "and durable" msg commit

# The metadata device --------------------------------------------------------------------------------------------

meta_bad
check "a first write, not flushed" block 0 $((4 * 256))
check "the pool notices: meta_ro" wait_for 10 mode meta_ro
check "overwrites of valid regions go on" put 0 0 /run/data2
check "so do reads" same 0 1
check_equal "what was written just before is read" "$(head -c 4096 /run/data | sha256sum)" \
	"$(dd if=/dev/mapper/v0 bs=4k skip=1024 count=1 iflag=direct status=none | sha256sum)"
check_fails "a first write errors" block 0 $((5 * 256))
check_fails "in an extent that has a slot as well" block 0 $((3 * 256 + 100))
check_fails "a flush errors: the volume has changes" flush 0
check "a flush of the volume without changes succeeds" flush 1
check "so does an overwrite with FUA there" dd if=/run/data of=/dev/mapper/v1 bs=4k count=1 oflag=direct,dsync conv=notrunc status=none
check "no volume can be made" refused "create_volume 7 2048 $(volume_uuid 7)"
check "no extent moves" refused "migrate 0 0 1"
check "commit says so" refused commit
check_equal "the volumes' mode is the pool's" meta_ro "$(dmsetup status v0 | cut -d' ' -f4)"
meta_good
check "it heals" wait_for 10 mode rw
check "the flush succeeds" flush 0
check "first writes as well" put 0 5
check_equal "moves, too" "done -" "$(moved 0 0 1 | cut -d' ' -f1,2)"
lost_nothing() {
	same 0 0 /run/data2 && same 0 1 && same 0 2 && same 0 5 && same 1 0 && same 1 1 && same 1 2 &&
		[ "$(dd if=/dev/mapper/v0 bs=4k skip=1024 count=1 iflag=direct status=none | sha256sum)" = "$(head -c 4096 /run/data | sha256sum)" ]
}
check "nothing is lost" lost_nothing
checked
check "away" pool_down
check "back" pool_up
volume_up 0
volume_up 1
check "nothing is lost after a restart" lost_nothing
checked

# In the middle of moves and writes
check "a volume for the oracle" volume_new 2 8
background oracle oracle -e -j -s /run/state -i -t 600 -T 3 -p 20 -F 100 -f 10 /dev/mapper/v2
wait_for 10 bash -c '[ "$(dmsetup message tp 0 volumes | grep ^2 | cut -d" " -f6)" = 8 ]'
msg set_rate 8000000	# so that some are always under way
background mover mover -n 1000000 tp 2
# shellcheck disable=SC2034 # it counts
for turn in 1 2 3 4; do
	wait_for 10 bash -c '[ "$(dmsetup message tp 0 moves | wc -l)" -ge 4 ]'
	meta_bad
	wait_for 10 mode meta_ro || fail "it becomes meta_ro"
	meta_good
	wait_for 10 mode rw || fail "it becomes rw again"
done
msg set_rate 0
stop mover
ended mover "every move ends once, where it says"
account mover
check "some failed" test "$(got meta_error)" -gt 0
check_equal "and only because of the metadata, or for want of time" "$(got queued)" \
	$(($(got "done") + $(got meta_error) + $(got not_converging) + $(got deadline)))
stop oracle
ended oracle "the oracle finds no error"
account oracle
checked

# Deactivated while it is meta_ro: what was flushed is there
background oracle oracle -e -j -s /run/state -t 600 -T 3 -F 50 -f 10 -d 3 -g 64 /dev/mapper/v2
msg migrate 2 0 "$(extent_of 2 0 | awk '{ print 1 - $1 }')" >/dev/null
meta_bad
check "meta_ro" wait_for 10 mode meta_ro
slay oracle	# so that its state is that of the last flush
check "the volumes go away" timeout 30 dmsetup remove v0 v1 v2
check "so does the pool" timeout 30 dmsetup remove tp
meta_good
check "it comes back" pool_up
for i in 0 1 2; do volume_up $i; done
check "what was flushed is there" oracle -c -s /run/state /dev/mapper/v2
check "and the others' data" lost_nothing
checked
dmsetup remove v2
msg delete_volume 2

# A data device that cannot flush -----------------------------------------------------------------------------------

put 0 3
flush 0
check_equal "where they are" "0 1" "$(extent_of 0 3 | cut -d' ' -f1) $(extent_of 1 1 | cut -d' ' -f1)"
flush_bad a
block 0 $((3 * 256))
check_fails "a flush of the volume on it errors" flush 0
block 0 $((4 * 256 + 100))
check_fails "with first writes as well" flush 0
check_equal "it has failed" failed "$(pool_value state 0)"
check "and counts errors" test "$(pool_value errors 0)" -gt 0
check_equal "that is no matter of the metadata" rw "$(pool_value mode)"
check "the other volume writes" block 1 $((5 * 256))
check "and flushes" flush 1
check_equal "an extent can move off it" "done -" "$(moved 0 3 1 | cut -d' ' -f1,2)"
check "with its data" same 0 3
check "nothing moves to it" bash -c '! dmsetup message tp 0 migrate 1 1 0 >/dev/null 2>&1'
good a
block 0 $((4 * 256 + 200))
check "when it heals, a flush succeeds" flush 0
online() { [ "$(pool_value state "$1")" = online ]; }
check "it is online again" wait_for 10 online 0
check_equal "and takes moves" "done -" "$(moved 0 3 0 | cut -d' ' -f1,2)"
checked
check "away" pool_down
check "back" pool_up
volume_up 0
volume_up 1
check "what was written meanwhile is there" bash -c '
	for at in 1024 1124 1224; do dd if=/dev/mapper/v0 bs=4k skip=$at count=1 iflag=direct status=none | cmp - <(head -c 4096 /run/data) || exit; done'
check "and the rest" lost_nothing

# What was written before an activation may be in a cache still: the first flush after it covers that.
put 0 3
check "away" pool_down
check "back" pool_up
volume_up 0
volume_up 1
flush_bad a
check_fails "a flush after an activation covers what was written before it" flush 0
good a
check "and succeeds when the device can" flush 0

# A flush of the module's own that fails may have lost what a volume has written before: its next flush says so.
check "all is flushed" flush 0
block 0 $((3 * 256 + 17))
flush_bad a
check_equal "a move to the device fails in its commit" "failed dst_write_error" "$(moved 1 1 0 | cut -d' ' -f1,2)"
good a
check "it heals" wait_for 10 online 0
check "a volume that has not written there flushes" flush 1
# With dsync a write has FUA, and if it succeeds there is a flush.
fua() { dd if=/run/data of=/dev/mapper/v0 bs=4k seek=$((3 * 256)) count=1 oflag=direct,dsync conv=notrunc status=none; }
check_fails "one that has is told, by a write with FUA" fua
check_fails "and by a flush" fua
check "once each" fua
check "really" flush 0

# Copies of a move may be lost by it as well.
block 0 $((3 * 256 + 17))
msg set_rate 1000
check "a move to the device begins" msg migrate 1 1 0
copying() { msg moves | grep -q ' copy '; }
check "it copies" wait_for 10 copying
flush_bad a
check_fails "a flush of the device fails meanwhile" flush 0
good a
check "it heals" wait_for 10 online 0
check "and can be flushed" flush 0
msg set_rate 0
check "the move ends" wait_for 30 quiet
check_equal "not as done" "failed dst_write_error" "$(msg moves since 0 | tail -n 1 | cut -d' ' -f7,8)"
check_equal "but when it is repeated" "done -" "$(moved 1 1 0 | cut -d' ' -f1,2)"
check "and back" home 1 1 1

# A flush that fails in the middle of moves to the device
background oracle oracle -e -s /run/state3 -t 600 -T 2 -F 100 -o 6144 /dev/mapper/v1
msg set_rate 1000	# none can end before the device is bad
for i in 0 1 2; do check "extent $i starts to move" msg migrate 1 $i 0; done
flush_bad a
msg set_rate 0
check "they end" wait_for 30 quiet
check_equal "as what they are" "" "$(msg moves since 0 | tail -n +2 | cut -d' ' -f7,8 |
	grep -v -e '^done -$' -e '^failed dst_write_error$' -e '^failed deadline$' | sort -u)"
good a
stop oracle
ended oracle "the oracle finds no error"
check "no data are lost" lost_nothing
checked

# Writes of a move --------------------------------------------------------------------------------------------------------

for i in 0 1 2 3 4 5; do check "extent $i of the first volume is on tier 0" home 0 $i 0; done
for i in 0 1 2; do check "extent $i of the second on tier 1" home 1 $i 1; done
msg commit
wait_for 5 answers check
highest=$( (map_of 0; map_of 1) | awk '$4 == 1 && $5 + $2 > n { n = $5 + $2 } END { print n + 0 }')
free=$((16 - $(pool_value used 1)))
bad=$((16 - highest))
note "device 1: slots from $highest on are bad, $free are free"
slots_bad b "$highest" $bad
since=$(msg moves since 0 | head -n 1 | cut -d' ' -f2)
tries=0
while [ "$(pool_value quarantined 1)" -lt $bad ] && [ $tries -lt 20 ]; do
	tries=$((tries + 1))
	answer=$(moved 0 1 1 | cut -d' ' -f1,2)
	# It found a good one: back, for another try.
	[ "$answer" != "done -" ] || check "back to tier 0" home 0 1 0
done
check_equal "every bad slot is in quarantine" $bad "$(pool_value quarantined 1)"
check_equal "each move to one failed, and said so" "$bad" "$(msg moves since "$since" | tail -n +2 | cut -d' ' -f8 | grep -c dst_write_error)"
check "the extent has stayed whole" same 0 1
check "nobody else noticed" lost_nothing
check_equal "no device is said to have failed" online "$(pool_value state 1)"
check "durable" msg commit
check "away" pool_down
check "back" pool_up
volume_up 0
volume_up 1
check_equal "quarantine is remembered" $bad "$(pool_value quarantined 1)"
good b
check "another chance" msg clear_quarantine 1
check_equal "none is in quarantine" 0 "$(pool_value quarantined 1)"
check_equal "and a move succeeds" "done -" "$(moved 0 1 1 | cut -d' ' -f1,2)"
check "with its data" same 0 1
checked

# Reads of a move ------------------------------------------------------------------------------------------------------------

check "it is on tier 0" home 0 2 0
read -r tier device slot _ <<<"$(extent_of 0 2)"
check_equal "an extent on the first device" 0 "$device"
slots_bad a "$slot" 1
check_equal "a move of an extent that cannot be read fails, and says so" "failed src_read_error" "$(moved 0 2 1 | cut -d' ' -f1,2)"
check_equal "it has stayed" "$tier $device $slot" "$(extent_of 0 2 | cut -d' ' -f1-3)"
check_fails "its reads fail" same 0 2
check "others' don't" same 0 5
check_equal "no slot of the destination is blamed" 0 "$(pool_value quarantined 1)"
good a
check "when it heals it is whole" same 0 2
check_equal "and moves" "done -" "$(moved 0 2 1 | cut -d' ' -f1,2)"
check "with its data" lost_nothing
checked
pool_down

# Metadata that cannot be read: an activation tries again, and then refuses -------------------------------------------

check "the whole device" meta_bad
dmesg -C
background activation pool_up
check "it tries again" wait_for 10 logged "error -5; trying again"
check "it heals" meta_good
ended activation "the pool comes up"
check "away" pool_down

# The superblock can be read, what follows cannot: met only when the table is resumed.
check "the log" now m0 "0 4096 linear $(disk meta) 0" "4096 $((meta_sectors - 4096)) error"
dmesg -C
background activation pool_up
check "it tries again" wait_for 10 logged "error -5; trying again"
check "it heals" meta_good
ended activation "the pool comes up"
check "away" pool_down

# A reload reads nothing that the pool knows: it may be how a device that cannot answer is got rid of.
check "the pool comes up" pool_up
check "the superblocks" now m0 "0 4096 error" "4096 $((meta_sectors - 4096)) linear $(disk meta) 4096"
check "and a label" now a0 "0 $mib error" "$mib $((data_sectors - mib)) linear $(disk a) $mib"
check "a reload with devices that cannot be read there" pool_reload no_space_timeout 30
check_equal "it is in force" "2 no_space_timeout 30" "$(dmsetup table tp | awk '{ print $(NF - 2), $(NF - 1), $NF }')"
check "one heals" good a
check "the other" meta_good
check "away" pool_down

check "the log, and it does not heal" now m0 "0 4096 linear $(disk meta) 0" "4096 $((meta_sectors - 4096)) error"
# shellcheck disable=SC2154 # pool.sh sets it
check_fails "the pool is refused" timeout 60 dmsetup create tp --table "$pool_line"
check "with its reason" logged "Reading the log failed"
check "nothing of it is left" bash -c '! dmsetup info tp'
check "it heals" meta_good
check "the pool comes up" pool_up
volume_up 0
volume_up 1
check "no data are lost" lost_nothing
checked
pool_down

# Many changes on a device that cannot flush: what has no place left fails, and nothing hangs -------------------------

dmsetup remove a0
data_sectors=$((121 * mib))
slice a0 $data_sectors a
check "another pool" pool_format /dev/mapper/m0 0:/dev/mapper/a0 1:/dev/mapper/b0
check "it comes up" pool_up
check "a volume" volume_new 0 120
msg set_placement 0 0
# A region of each extent; prints how many writes succeeded and failed.
regions() {
	timeout 60 python3 - "$1" <<'P'
import mmap, os, sys
fd = os.open("/dev/mapper/v0", os.O_RDWR | os.O_DIRECT)
block = mmap.mmap(-1, 4096)
good = bad = 0
for extent in range(120):
    try:
        os.pwritev(fd, [block], extent * 1048576 + int(sys.argv[1]) * 65536)
        good += 1
    except OSError:
        bad += 1
print(good, bad)
P
}
check_equal "120 extents" "120 0" "$(regions 0)"
check "durable" msg commit
flush_bad a
block 0 $((3 * 16))
check_fails "the device cannot flush" flush 0
read -r good bad <<<"$(regions 5)"
note "$good first writes succeeded, $bad failed"
check "some succeed" test "${good:-0}" -gt 0
check "what has no place fails" test "${bad:-0}" -gt 0
check_equal "the other device does not notice" rw "$(pool_value mode)"
check "the volume can be suspended" timeout 20 dmsetup suspend v0
check "and resumed" dmsetup resume v0
good a
check "when it heals, a flush succeeds" wait_for 20 flush 0
check_equal "and every first write" "120 0" "$(regions 6)"
check "flushed" flush 0
checked
pool_down
finish
