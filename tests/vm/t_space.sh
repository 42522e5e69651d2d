#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Space: where first writes go, what happens when there is none, and that freed space gives nothing away.
#
# vm: --disk meta=64M --disk a=64M --disk b=64M --disk c=64M --disk d=64M --timeout 480
# vm-light: it measures no time
. /src/tests/vm/pool.sh

mib=2048	# sectors; an extent
# A device's first MiB is its label: n + 1 MiB are n slots.
slice a0 $((9 * mib)) a
slice a1 $((9 * mib)) a $((9 * mib))
slice b0 $((9 * mib)) b
slice c0 $((17 * mib)) c
slice d0 $((9 * mib)) d
a0=/dev/mapper/a0 a1=/dev/mapper/a1 b0=/dev/mapper/b0 c0=/dev/mapper/c0 d0=/dev/mapper/d0

head -c 1048576 /dev/urandom >/run/data
# put ID EXTENT [COUNT]: whole extents of data;  touch_extent ID EXTENT: 4 KiB at its start
put() { dd if=/run/data of="/dev/mapper/v$1" bs=1M seek="$2" count=1 oflag=direct conv=notrunc status=none; }
touch_extent() { dd if=/run/data of="/dev/mapper/v$1" bs=4k seek=$(($2 * 256)) count=1 oflag=direct conv=notrunc status=none; }
same() { dd if="/dev/mapper/v$1" bs=1M skip="$2" count=1 iflag=direct status=none | cmp - /run/data; }
tier_of() { extent_of "$1" "$2" | cut -d' ' -f1; }
device_of() { extent_of "$1" "$2" | cut -d' ' -f2; }
volume_mode() { dmsetup status "v$1" | cut -d' ' -f4; }
used() { echo "$(pool_value used 0) $(pool_value used 1) $(pool_value used 2) $(pool_value used 3)"; }
# took COMMAND...: prints how many seconds it took, and its exit code
took() {
	local start=$SECONDS
	"$@" >/run/took.log 2>&1
	echo "$? $((SECONDS - start))"
}
full() { grep -q "No space left on device" /run/took.log; }

# Placement: tier 0 has devices 0 and 1 of 8 slots, tier 1 device 2 of 8, tier 2 device 3 of 16 ---------------

pool_format "$(disk meta)" 0:$a0 0:$a1 1:$b0 2:$c0
check "a pool" pool_up no_space_timeout 4
check_equal "it has these slots" "8 8 8 16" "$(for i in 0 1 2 3; do pool_value slots $i; done | xargs)"

check "a volume" volume_new 0 96
for i in 0 1 2 3; do touch_extent 0 $i; done
# 16, 8 and 15 are open to first writes: the slowest tier has a slot in reserve.
check_equal "auto: the tier with most free slots, the faster one of two; and its emptiest device" "2 1 0 1" "$(used)"
check "placement on tier 1" msg set_placement 0 1
for i in 10 11 12; do touch_extent 0 $i; done
check_equal "set_placement: the tier that was named" "1 1 1" "$(tier_of 0 10) $(tier_of 0 11) $(tier_of 0 12)"
check "placement on tier 0" msg set_placement 0 0
for i in $(seq 20 25); do touch_extent 0 "$i"; done
check_equal "within a tier always the emptiest device" "5 4 3 1" "$(used)"
check "placement on 1, then 2" msg set_placement 0 1,2
for i in $(seq 30 35); do touch_extent 0 "$i"; done
check_equal "the first tier with a slot, in the order that was named" "5 4 8 2" "$(used)"
check "placement on auto again" msg set_placement 0 auto
touch_extent 0 40
check_equal "auto: the tier with most free slots" 2 "$(tier_of 0 40)"
check_equal "the map tells valid regions" "1" "$(extent_of 0 40 | cut -d' ' -f4)"
checked

# Full -----------------------------------------------------------------------------------------------------

check "another volume, on auto" volume_new 1 4
check "placement on tier 1, which is full" msg set_placement 0 1
background writer took touch_extent 0 50
check "a write without space waits, the mode says so" wait_for 5 bash -c 'dmsetup status tp | grep -q " out_of_space "'
check "the other volume finds a slot" touch_extent 1 0
check_equal "the pool's mode is that of the one that waits" out_of_space "$(pool_value mode)"
check_equal "a volume's is its own" "out_of_space rw" "$(volume_mode 0) $(volume_mode 1)"
check "overwrites go on meanwhile" timeout 2 dd if=/run/data of=/dev/mapper/v0 bs=4k count=1 oflag=direct conv=notrunc status=none
check "so do reads" timeout 2 dd if=/dev/mapper/v0 of=/dev/null bs=1M count=64 iflag=direct status=none
ended writer "it ends"
read -r code seconds <<<"$(tail -n 1 /run/writer.log)"
check_equal "it fails" 1 "$code"
check "after the timeout of 4 s (it took $seconds)" test "$seconds" -ge 3 -a "$seconds" -le 7
check "with ENOSPC" full
check_equal "the next would find none either: the mode says so" out_of_space "$(pool_value mode)"
check "the log, too" logged "no free slot where a volume may write: first writes fail"
check "the other volume finds one more" touch_extent 1 1
check_equal "the mode is not its own" out_of_space "$(pool_value mode)"
check "the other volume goes" dmsetup remove v1
check "and is deleted" msg delete_volume 1
check "its slots are free" wait_for 10 quiet
check "a flush succeeds after that" timeout 5 blockdev --flushbufs /dev/mapper/v0

check "time enough for what follows" pool_reload no_space_timeout 60
background writer took touch_extent 0 50
wait_for 5 bash -c 'dmsetup status tp | grep -q " out_of_space "'
check "a volume whose writes wait can be suspended without flush" timeout 5 dmsetup suspend --noflush v0
check "and resumed" dmsetup resume v0
check "placement elsewhere" msg set_placement 0 auto
ended writer "a waiting write goes on when another tier is named"
read -r code seconds <<<"$(tail -n 1 /run/writer.log)"
check_equal "it succeeds" 0 "$code"
check_equal "the mode is rw again" rw "$(pool_value mode)"

check "reload with error_if_no_space" pool_reload error_if_no_space
check_equal "the table says so" "error_if_no_space" "$(dmsetup table tp | awk '{ print $NF }')"
msg set_placement 0 1
read -r code seconds <<<"$(took touch_extent 0 51)"
check_equal "a write without space fails" 1 "$code"
check "at once (it took $seconds)" test "$seconds" -le 2
check "with ENOSPC, too" full
check_equal "the mode says so" out_of_space "$(pool_value mode)"
check "placement elsewhere ends it" msg set_placement 0 auto
check_equal "the mode is rw" rw "$(pool_value mode)"
msg set_placement 0 1
check_fails "once more" touch_extent 0 51
check_equal "the mode says so" out_of_space "$(pool_value mode)"
check "the volume is not used any more" volumes_down
check_equal "so it lacks nothing" rw "$(pool_value mode)"
check "it comes back" volume_up 0

# A move with no free slot ------------------------------------------------------------------------------------

touch_extent 0 0	# overwritten, on tier 0
check_equal "a move to a full tier fails, and says why" "failed no_space" "$(moved 0 0 1 | cut -d' ' -f1,2)"
check_equal "a move to a full device, too" "failed no_space" "$(moved 0 0 dev:2 | cut -d' ' -f1,2)"
check_equal "its extent is where it was" 0 "$(tier_of 0 0)"
# Now every slot of the pool.
msg set_placement 0 auto
i=52
while [ $i -lt 90 ] && touch_extent 0 $i 2>/dev/null; do i=$((i + 1)); done
check_equal "first writes leave the reserve" "8 8 8 15" "$(used)"
check "reserve of the lowest tier given up" msg set_reserve 3 0
touch_extent 0 $i
check_equal "all slots are taken" "8 8 8 16" "$(used)"
check_equal "that is no error yet" rw "$(pool_value mode)"
check_fails "the next write fails" touch_extent 0 $((i + 1))
check_equal "now the mode says so" out_of_space "$(pool_value mode)"
for tier in 1 2; do
	check_equal "no free slot anywhere: a move to tier $tier fails with its reason" "failed no_space" "$(moved 0 0 $tier | cut -d' ' -f1,2)"
done
check "with force as well" msg migrate 0 0 2 force
wait_for 10 quiet
check_equal "moves that end make no space" out_of_space "$(pool_value mode)"
check_equal "its reason" no_space "$(msg moves since 0 | tail -n 1 | cut -d' ' -f8)"
checked

# A device more ----------------------------------------------------------------------------------------------

check "writes wait again" pool_reload no_space_timeout 60
background writer took touch_extent 0 95
check "one waits" wait_for 5 bash -c 'dmsetup status tp | grep -q " out_of_space "'
check_equal "a device is added" 4 "$(msg add_device 05050505-0505-0505-0505-050505050505 1 8)"
check_equal "it is new" new "$(pool_value state 4)"
check "it gets its label" tierlabel 4 $d0
pool_line="${pool_line/pool $(disk meta) 4/pool $(disk meta) 5} $d0"
check "the table is reloaded with it" pool_reload no_space_timeout 60
ended writer "the write that waited goes on" 10
read -r code seconds <<<"$(tail -n 1 /run/writer.log)"
check_equal "without an error" 0 "$code"
check_equal "on the new device" 4 "$(device_of 0 95)"
check_equal "which is online" online "$(pool_value state 4)"
check_equal "the mode is rw" rw "$(pool_value mode)"
check_equal "a move finds space now" "done -" "$(moved 0 0 1 | cut -d' ' -f1,2)"
checked
check "deactivated" pool_down
check "activated with the new device" pool_up
volume_up 0
check_equal "what was written is there" "$(head -c 4096 /run/data | sha256sum)" "$(dd if=/dev/mapper/v0 bs=4k skip=$((95 * 256)) count=1 iflag=direct status=none | sha256sum)"
checked

# Growing one: the slice below grows, then the record
volumes_down
check "the pool is away" pool_down
check "the disk below grows" bash -c "dmsetup suspend d0 && dmsetup load d0 --table '0 $((13 * mib)) linear $(disk d) 0' && dmsetup resume d0"
check "the pool comes up" pool_up
check "grow_device" msg grow_device 4 12
check_equal "more slots" 12 "$(pool_value slots 4)"

# Nothing of the old is read by the new ---------------------------------------------------------------------

check "the volume is deleted" msg delete_volume 0
check "and its slots come free" wait_for 10 bash -c '[ "$(dmsetup message tp 0 devices | awk "{ n += \$6 } END { print n }")" = 0 ]'
check "a volume over the whole pool" volume_new 1 50
check "full of data of its own" oracle -s /run/one -V 1 -i -t 0 /dev/mapper/v1
check "flushed" msg commit
volumes_down
check "deleted" msg delete_volume 1
check "another one: at once, nothing was waited for" volume_new 2 50
check "in which regions are written in part: the rest reads as zeros, nothing of the deleted volume's" \
	oracle -s /run/two -V 2 -b 3 -T 4 -t 5 /dev/mapper/v2
check "with moves" bash -c 'oracle -s /run/two -V 2 -b 3 -T 4 -t 4 /dev/mapper/v2 & mover -n 60 tp 2 && wait $!'
checked

# Regions -----------------------------------------------------------------------------------------------------

volumes_down
msg delete_volume 2
check "a volume" volume_new 0 8
v0=/dev/mapper/v0
check_equal "a fresh volume reads as zeros" "$(head -c 8388608 /dev/zero | sha256sum)" "$(dd if=$v0 bs=1M count=8 iflag=direct status=none | sha256sum)"
check "4 KiB in the middle of a region" dd if=/run/data of=$v0 bs=4k seek=7 count=1 oflag=direct conv=notrunc status=none
{ head -c 28672 /dev/zero; head -c 4096 /run/data; head -c 1015808 /dev/zero; } >/run/want
check "the rest of the region reads as zeros, and the extent" bash -c "dd if=$v0 bs=1M count=1 iflag=direct status=none | cmp - /run/want"
check "512 bytes in another region" dd if=/run/data of=$v0 bs=512 seek=$((3 * 128 + 5)) count=1 oflag=direct conv=notrunc status=none
dd if=/run/data of=/run/want bs=512 seek=$((3 * 128 + 5)) count=1 conv=notrunc status=none
check "reads over valid and fresh regions" bash -c "dd if=$v0 bs=1M count=1 iflag=direct status=none | cmp - /run/want"
check "reads over half of each" bash -c "dd if=$v0 bs=4k skip=5 count=60 iflag=direct status=none | cmp - <(dd if=/run/want bs=4k skip=5 count=60 status=none)"
check_equal "two regions are valid" 2 "$(extent_of 0 0 | cut -d' ' -f4)"
check "a write over a valid and three fresh regions" dd if=/run/data of=$v0 bs=192k seek=1 count=1 oflag=direct conv=notrunc status=none
dd if=/run/data of=/run/want bs=192k seek=1 count=1 conv=notrunc status=none
check "it reads back" bash -c "dd if=$v0 bs=1M count=1 iflag=direct status=none | cmp - /run/want"
check_equal "four are valid" 4 "$(extent_of 0 0 | cut -d' ' -f4)"

# Discards
put 0 1
check "discard of a region and parts of its neighbours" blkdiscard -o $((1048576 + 61440)) -l $((65536 + 8192)) $v0
cp /run/data /run/want
dd if=/dev/zero of=/run/want bs=64k seek=1 count=1 conv=notrunc status=none
check "only the region reads as zeros" bash -c "dd if=$v0 bs=1M skip=1 count=1 iflag=direct status=none | cmp - /run/want"
check_equal "15 are valid" 15 "$(extent_of 0 1 | cut -d' ' -f4)"
check "discard of the extent" blkdiscard -o 1048576 -l 1048576 $v0
check_equal "its slot is free" "- - 0" "$(extent_of 0 1 | cut -d' ' -f2-)"
check "it reads as zeros" bash -c "dd if=$v0 bs=1M skip=1 count=1 iflag=direct status=none | cmp - <(head -c 1048576 /dev/zero)"
put 0 1
check "and can be written again" same 0 1

# Two discards of half an extent each, while it moves
msg set_rate 100000
id=$(msg migrate 0 1 $(($(tier_of 0 1) ? 0 : 1)))
check "the first half of an extent that moves" blkdiscard -o 1048576 -l 524288 $v0
check "and the second: nothing of it is left" timeout 5 blkdiscard -o 1572864 -l 524288 $v0
check_equal "its move ended at once: gone" gone "$(msg moves since 0 | awk -v id="$id" '$2 == id { print $8 }')"
check_equal "and it has no slot" "- - 0" "$(extent_of 0 1 | cut -d' ' -f2-)"
msg set_rate 0
put 0 1
check "it can be written again" same 0 1
# Moves and discards of the same few extents, all the time: none is left behind empty
check "all is discarded" blkdiscard $v0
check "moves while extents are written and discarded" bash -c '
	mover -n 1000000 -d tp 0 >/run/mover.log & mover=$!
	oracle -s /run/churn -t 8 -T 4 -d 30 -g 64 -x 1024 -l 8192 '$v0' >/run/churn.log; r=$?
	kill $mover; wait $mover || r=$?; exit $r'
note "$(tail -n 1 /run/churn.log)" "$(tail -n 1 /run/mover.log)"
wait_for 10 quiet
check_equal "no extent has a slot but nothing valid" "" "$(map_of 0 | awk '$4 != "-" && !$6')"
check "all is discarded" blkdiscard $v0
put 0 1

# Shrink and grow
volumes_down
check "shrink" msg resize_volume 0 $((4 * mib))
put_beyond() { volume_up 0; ! touch_extent 0 5; }
check "what is beyond its end is gone" put_beyond
volumes_down
check "grow" msg resize_volume 0 $((8 * mib))
volume_up 0
check "what was within is there" same 0 1
check "what is beyond the old end reads as zeros" bash -c "dd if=$v0 bs=1M skip=4 count=4 iflag=direct status=none | cmp - <(head -c 4194304 /dev/zero)"
checked
check "away" pool_down
check "back" pool_up
volume_up 0
check "the same after a restart" same 0 1
checked
pool_down
finish
