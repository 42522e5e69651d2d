#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tables change while I/O and moves go on: suspend, reload, other orders of devices, refusals, removal, also by
# force, module unload, read-only.
#
# vm: --disk meta=64M --disk a=64M --disk b=64M --disk c=64M --disk d=64M --timeout 480
# vm-light: it measures no time
. /src/tests/vm/pool.sh

a=$(disk a) b=$(disk b) c=$(disk c) meta=$(disk meta)
load_on() {	# I/O and moves on volume 0
	background oracle oracle -s /run/state -t 600 -T 3 -F 200 -d 3 -f 5 -g 64 "$@" /dev/mapper/v0
	wait_for 10 bash -c '[ "$(dmsetup message tp 0 volumes | cut -d" " -f6)" -gt 20 ]'
	background mover mover -n 1000000 -d tp 0
}
load_off() {	# WHAT
	stop mover
	ended mover "$1: every move ends once"
	stop oracle
	ended oracle "$1: the oracle finds no error"
	account mover
}
same_data() { check "$1: the oracle's data are there" oracle -c -s /run/state /dev/mapper/v0; }

check "a pool" pool_format "$meta" 0:"$a" 1:"$b" 1:"$c"
check "it comes up" pool_up
check "a volume" volume_new 0 32

# Live -------------------------------------------------------------------------------------------------------
load_on
check "suspend and resume the pool" bash -c 'dmsetup suspend tp && dmsetup resume tp'
check "without flush" bash -c 'dmsetup suspend --noflush tp && dmsetup resume tp'
check "the volume" bash -c 'dmsetup suspend v0 && dmsetup resume v0'
check "without flush" bash -c 'dmsetup suspend --noflush v0 && dmsetup resume v0'
check "twice is as good as once" bash -c 'dmsetup suspend tp && dmsetup suspend tp && dmsetup resume tp && dmsetup resume tp'
check "I/O goes on while the pool is suspended" bash -c 'dmsetup suspend tp; timeout 5 dd if=/dev/mapper/v0 of=/dev/null bs=1M count=1 iflag=direct status=none; r=$?; dmsetup resume tp; exit $r'
check "the pool's own table, again" bash -c 'dmsetup load tp --table "$(dmsetup table tp)" && dmsetup suspend tp && dmsetup resume tp'
for order in "$c $a $b" "$b $c $a"; do
	pool_line="0 2048 tier-pool $meta 3 $order"
	check "the devices in another order" pool_reload
	check_equal "the same devices" "0 0 online 1 1 online 2 1 online" "$(msg devices | awk '{ print $1, $3, $4 }' | xargs)"
done
check "with features" pool_reload error_if_no_space
check "and without" pool_reload
check "the volume's own table, again" bash -c 'dmsetup load v0 --table "$(dmsetup table v0)" && dmsetup suspend v0 && dmsetup resume v0'
check_fails "a table that names a device twice is refused" dmsetup load tp --table "0 2048 tier-pool $meta 3 $a $b $b"
check_fails "so is one with another metadata device" dmsetup load tp --table "0 2048 tier-pool $(disk d) 3 $a $b $c"
check_fails "so is read_only" dmsetup load tp --table "$(pool_table read_only)"
check_fails "so is a table for another name" dmsetup create tp1 --table "$pool_line"
check "a volume to be misused" volume_new 2 8
check_equal "a device more" 3 "$(msg add_device 04040404-0404-0404-0404-040404040404 1 4)"
check "its label" tierlabel 3 /dev/mapper/v2
check_fails "a pool on a volume of its own is refused" dmsetup load tp --table "0 2048 tier-pool $meta 4 $a $b $c /dev/mapper/v2"
check "away with both" bash -c 'dmsetup remove --retry v2 && dmsetup message tp 0 delete_volume 2 && dmsetup message tp 0 forget_device 3'
check_fails "a table of the volume that is too long, too" dmsetup load v0 --table "0 131072 tier /dev/mapper/tp 0"
check_fails "the pool cannot be removed: it is in use" dmsetup remove tp
check_fails "nor the module" rmmod dm_tier
check "an inactive table of a volume counts as live" bash -c '
	dmsetup create v1 --notable && dmsetup message tp 0 create_volume 1 2048 aabbccdd-0000-0000-0000-000000000001 &&
	dmsetup load v1 --table "0 2048 tier /dev/mapper/tp 1" && ! dmsetup message tp 0 delete_volume 1 &&
	dmsetup clear v1 && dmsetup message tp 0 delete_volume 1 && dmsetup remove v1'
load_off live
check "there were moves" test "$(got "done")" -ge 20
checked

# Removal in the middle of moves --------------------------------------------------------------------------------
move_all() {
	local extent
	for extent in $(seq 0 31); do
		msg migrate 0 "$extent" "$(extent_of 0 "$extent" | awk '{ print 1 - $1 }')" >/dev/null
	done
}
for turn in 1 2 3; do
	msg set_rate 20000000
	check "moves are queued" move_all
	check "the volume goes away in the middle of its moves" volumes_down
	check "they are over" wait_for 10 quiet
	check "it comes back" volume_up 0
	same_data "turn $turn"
	volumes_down
	check "moves without an active volume" move_all
	check "the pool goes away in the middle of moves" timeout 20 dmsetup remove tp
	[ $turn -eq 1 ] && check "the module can go at once" modprobe -r dm-tier
	check "the pool comes back" pool_up
	check "so does the volume" volume_up 0
	same_data "turn $turn"
	checked
done

# Deletion, shrinking and draining in the middle of moves -----------------------------------------------------------
volumes_down
reasons() { msg moves since "$1" | tail -n +2 | cut -d' ' -f8 | sort -u | xargs; }
next_seq() { msg moves since 0 | head -n 1 | cut -d' ' -f2; }
check "a volume" volume_new 1 16
check "with data" oracle -s /run/state1 -i -t 0 /dev/mapper/v1
volumes_down
for what in "resize_volume 1 16384" "delete_volume 1"; do
	since=$(next_seq)
	msg set_rate 1000000
	for extent in $(seq 0 7); do
		msg migrate 1 "$extent" "$(extent_of 1 "$extent" | awk '{ print 1 - $1 }')" >/dev/null
		[ "$what" = "delete_volume 1" ] || msg migrate 1 $((extent + 8)) "$(extent_of 1 $((extent + 8)) | awk '{ print 1 - $1 }')" >/dev/null
	done
	check "$what in the middle of its moves" timeout 10 dmsetup message tp 0 "$what"
	msg set_rate 0
	check "$what: they are over" wait_for 10 quiet
	check "$what: done, or gone" test "$(reasons "$since" | sed 's/-//; s/ //g')" = gone
done
check "its slots come free" wait_for 10 bash -c '[ -z "$(dmsetup message tp 0 volumes | grep ^1)" ]'
volume_up 0
same_data "deletion of another"
background oracle oracle -s /run/state -t 600 -T 3 -F 200 /dev/mapper/v0
since=$(next_seq)
msg set_rate 4000000
check "moves are queued" move_all
check "one device is draining in the middle of moves to it" msg set_device 2 draining
msg set_rate 0
check "they are over" wait_for 20 quiet
check "it takes nothing" bash -c '! dmsetup message tp 0 migrate 0 0 dev:2 2>/dev/null'
for extent in $(seq 0 31); do
	[ "$(extent_of 0 "$extent" | cut -d' ' -f2)" != 2 ] || msg migrate 0 "$extent" dev:1 force >/dev/null
done
check "what was on it moves away" wait_for 30 quiet
drained() { [ "$(pool_value used 2)" = 0 ]; }
check "it is empty" wait_for 10 drained
check "it can be forgotten" msg forget_device 2
pool_line="0 2048 tier-pool $meta 2 $a $b"
check "the pool without it" pool_reload
stop oracle
ended oracle "draining: the oracle finds no error"
checked
note "reasons: $(reasons "$since")"
check_equal "it comes back as a new one" 2 "$(msg add_device 03030303-0303-0303-0303-030303030303 1 63)"
pool_line="0 2048 tier-pool $meta 3 $a $b $c"
check "with another table" pool_reload
check_equal "online" online "$(pool_value state 2)"
checked

# By force --------------------------------------------------------------------------------------------------------
load_on -e
check_fails "remove --force takes the table away, but the device is still in use" timeout 30 dmsetup remove --force tp
check "a read fails and does not hang" bash -c '! timeout 10 dd if=/dev/mapper/v0 of=/dev/null bs=1M count=1 iflag=direct status=none; [ $? -ne 124 ]'
stop oracle
ended oracle "by force: I/O ends in errors" 30
account oracle
check "there were errors" test "$(got errors)" -gt 0
stop mover
await mover
check "the volume can be removed" timeout 20 dmsetup remove v0
check "the pool can be removed" timeout 20 dmsetup remove tp
check "the pool comes back" pool_up
check "so does the volume" volume_up 0
same_data "by force"
checked

# A table that is refused only when it is resumed: dm gives the old one up all the same -------------------------------
load_on -e
check_fails "a table without one of the devices is refused" dmsetup load tp --table "0 2048 tier-pool $meta 2 $a $b"
check_equal "a device more" 3 "$(msg add_device 04040404-0404-0404-0404-040404040404 1 8)"
check "its label" tierlabel 3 "$(disk d)"
check "a table with it" dmsetup load tp --table "0 2048 tier-pool $meta 4 $a $b $c $(disk d)"
check "which is a member no more" msg forget_device 3
check_fails "it is refused" bash -c 'dmsetup suspend tp && dmsetup resume tp'
check "I/O ends in errors" bash -c '! timeout 10 dd if=/dev/mapper/v0 of=/dev/null bs=1M count=1 iflag=direct status=none; [ $? -ne 124 ]'
stop oracle
ended oracle "refused: the oracle finds no error" 30
stop mover
await mover
check "the volume can be removed" timeout 20 dmsetup remove v0
check "a good table" dmsetup load tp --table "$pool_line"
check "brings the pool back" dmsetup resume tp
check "and the volume" volume_up 0
same_data refused
checked
check "away" pool_down

# Another pool's metadata device hangs --------------------------------------------------------------------------------
check "a pool" pool_up
slice m2 65536 d
slice d2 63488 d 65536
other=$(tierformat -u 0xcd /dev/mapper/m2 0:/dev/mapper/d2)
check_fails "it does not become another one" dmsetup load tp --table "$other"
check "the table of another pool" bash -c "dmsetup create tp2 --notable && dmsetup load tp2 --table '$other'"
check "its metadata device hangs" dmsetup suspend m2
background resume dmsetup resume tp2
check "so does its activation" wait_for 10 blocked resume
check_fails "another table of it is not taken meanwhile" timeout 20 dmsetup create tp3 --table "$other"
check "a volume of the first pool comes meanwhile" timeout 20 dmsetup create v0 --table "$(volume_table 0)"
check "a table of it is loaded again" timeout 20 dmsetup load tp --table "$pool_line"
check "and resumed" timeout 20 bash -c 'dmsetup suspend tp && dmsetup resume tp'
check "and all of it can go" timeout 20 bash -c 'udevadm settle; dmsetup remove --retry v0 && dmsetup remove --retry tp'
check "the other one is still being activated" blocked resume
check "its metadata device answers" dmsetup resume m2
ended resume "it is active"
check_equal "rw" "0 2048 tier-pool rw" "$(dmsetup status tp2 | cut -d' ' -f1-4)"
check "away" bash -c 'udevadm settle; dmsetup remove --retry tp2 && dmsetup remove --retry d2 && dmsetup remove --retry m2'

# A device that leaves a live pool does not come back into it: what was in its cache may be gone.
check "a pool" pool_up
check "a reload without a device" bash -c "dmsetup load tp --table '0 2048 tier-pool $meta 2 $a $b 1 partial' && dmsetup suspend tp && dmsetup resume tp"
check_equal "it is missing" missing "$(pool_value state 2)"
check_fails "it does not come back" dmsetup load tp --table "$pool_line"
check "away" pool_down
check "but with an activation" pool_up
check_equal "it is online" online "$(pool_value state 2)"
check "away" pool_down

# Read only -----------------------------------------------------------------------------------------------------------
sums() { for d in "$meta" "$a" "$b" "$c"; do blockdev --flushbufs "$d"; dd if="$d" bs=1M iflag=direct status=none | sha256sum; done; }
before=$(sums)
check "read_only" pool_up read_only
check "a volume on it" volume_up 0
same_data "read_only"
check_fails "a write fails" dd if=/dev/zero of=/dev/mapper/v0 bs=4k count=1 oflag=direct status=none
check_fails "a large one over many regions, too" dd if=/dev/zero of=/dev/mapper/v0 bs=1M count=1 oflag=direct status=none
check "a flush succeeds" python3 -c 'import os; os.fsync(os.open("/dev/mapper/v0", os.O_RDWR))'
blkdiscard -o 0 -l 1048576 /dev/mapper/v0 2>/dev/null
for message in "create_volume 5 2048 aabbccdd-0000-0000-0000-000000000005" "delete_volume 0" "set_label 0 x" "checkpoint" \
	"migrate 0 0 1" "set_placement 0 auto" "set_device 0 draining" "resize_volume 0 2048"; do
	check "$message: Read-only file system" bash -c "dmsetup message tp 0 $message 2>&1 | grep -q 'Read-only file system'"
done
same_data "read_only, after all that"
sleep 2.5	# longer than the commit period: it must not commit
check "a read-only volume on it" bash -c 'dmsetup remove v0'
volume_up 0 ro
same_data "read-only volume"
check "away" pool_down
check_equal "not one byte of any device has changed" "$before" "$(sums)"
check "rw again" pool_up
volume_up 0
same_data "rw again"
checked
pool_down
check "the module unloads" modprobe -r dm-tier
finish
