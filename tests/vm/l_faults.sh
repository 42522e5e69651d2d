#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each part of the metadata device fails, cannot flush, or hangs, at rest and in the middle of I/O and moves; single
# regions of the data devices, and whole devices that vanish or hang. What has nothing to do with it goes on, what was
# flushed stays, and when the fault is over the pool is as before.
#
# vm: --disk meta=64M --disk a=64M --disk b=64M --timeout 1800
. /src/tests/vm/pool.sh

mib=2048
meta_sectors=$((48 * mib)) data_sectors=$((17 * mib))
slice m0 $meta_sectors meta
slice a0 $data_sectors a
slice b0 $data_sectors b

# now NAME TABLE-LINE...: switches what lies below the pool, without waiting for anyone
now() {
	printf '%s\n' "${@:2}" | dmsetup load "$1" && dmsetup suspend --noflush --nolockfs "$1" && dmsetup resume "$1"
}
# lines DISK SECTORS START LENGTH: that part gives errors for reads and writes
lines() {
	[ "$3" -eq 0 ] || echo "0 $3 linear $(disk "$1") 0"
	echo "$3 $4 error"
	[ $(($3 + $4)) -ge "$2" ] || echo "$(($3 + $4)) $(($2 - $3 - $4)) linear $(disk "$1") $(($3 + $4))"
}
bad() {	# NAME DISK SECTORS START LENGTH
	local table
	mapfile -t table < <(lines "${@:2}")
	now "$1" "${table[@]}"
}
meta_good() { now m0 "0 $meta_sectors linear $(disk meta) 0"; }
good() { now "${1}0" "0 $data_sectors linear $(disk "$1") 0"; }
hang() { dmsetup suspend --noflush --nolockfs "$1"; }
flows() { dmsetup resume "$1"; }

check "a pool" pool_format /dev/mapper/m0 0:/dev/mapper/a0 1:/dev/mapper/b0
# Where the parts are: sectors, as include/dm-tier.h has it.
read -r area log_blocks < <(od -An -t u8 -j 72 -N 16 /dev/mapper/m0 | xargs)
area=$((area * 8)) areas=$((512 * 8))
declare -A start=([super0]=0 [super1]=$((256 * 8)) [area0]=$areas [area1]=$((areas + area)) [log]=$((areas + 2 * area)))
declare -A length=([super0]=8 [super1]=8 [area0]=$area [area1]=$area [log]=$((log_blocks * 8)))
break_meta() {	# PART, or "flush"
	if [ "$1" = flush ]; then	# a tail behind all that is used gets them as well
		now m0 "0 $meta_sectors linear $(disk meta) 0" \
			"$meta_sectors 2048 flakey $(disk meta) $meta_sectors 0 3600 1 error_writes"
	else
		bad m0 meta $meta_sectors "${start[$1]}" "${length[$1]}"
	fi
}
mode() { [ "$(pool_value mode)" = "$1" ]; }
flush() { timeout 20 python3 -c 'import os, sys; os.fsync(os.open(sys.argv[1], os.O_RDWR))' "/dev/mapper/v$1"; }
image=/run/image
head -c $((16 * 1048576)) /dev/urandom >$image
block() { dd if=$image of="/dev/mapper/v$1" bs=4k skip="$2" seek="$2" count=1 oflag=direct conv=notrunc status=none; }
block_same() { cmp <(dd if="/dev/mapper/v$1" bs=4k skip="$2" count=1 iflag=direct status=none) <(dd if=$image bs=4k skip="$2" count=1 status=none); }
back() {	# WHAT: deactivated and activated; whole
	checked "$1: the answers agree"
	check "$1: away" pool_down
	check "$1: back" pool_up
	for v in 0 1 2; do volume_up $v; done
	check "$1: what was flushed is there" oracle -c -s /run/state /dev/mapper/v2
}

check "it comes up" pool_up
for v in 0 1 2; do check "volume $v" volume_new $v 8; done
msg set_placement 0 0
msg set_placement 1 1
for v in 0 1; do for e in 0 1 2 3; do block $v $((e * 256)); done; flush $v; done
check "a third one with data" oracle -j -s /run/state -i -t 0 /dev/mapper/v2
next=1		# a block that no one has written yet, in a region of its own
fresh() { next=$((next + 16)); }

# Parts of the metadata device, at rest ------------------------------------------------------------------------------

for part in log flush; do
	break_meta $part
	fresh
	check "$part: a first write" block 0 $next
	check_fails "$part: a flush of it" flush 0
	check "$part: meta_ro" wait_for 10 mode meta_ro
	check "$part: what is there is read" block_same 0 $next
	check "$part: and written" block 0 0
	check "$part: a volume without changes flushes" flush 1
	check_fails "$part: a first write has no commit to wait for" block 0 $((next + 16))
	check_fails "$part: no checkpoint" msg checkpoint
	meta_good
	check "$part: it heals" wait_for 10 mode rw
	check "$part: a flush" flush 0
	check "$part: and a first write" block 0 $((next + 16))
	fresh
	back "$part"
	check "$part: so is the first volume's" block_same 0 $next
done

for part in super0 super1 area0 area1; do
	break_meta $part
	# Each goes to the other place and area than the one before.
	failures=0
	# shellcheck disable=SC2034 # it counts
	for turn in 1 2; do msg checkpoint 2>/dev/null || failures=$((failures + 1)); done
	check "$part: a checkpoint of two fails, or both" test $failures -ge 1
	check_equal "$part: that is no matter of the log" rw "$(pool_value mode)"
	fresh
	check "$part: a first write" block 0 $next
	check "$part: a flush of it" flush 0
	check "$part: an extent moves" home 0 0 1
	check "$part: and back" home 0 0 0
	check "$part: the pool can go while it lasts" pool_down
	meta_good
	check "$part: it comes back" pool_up
	for v in 0 1 2; do volume_up $v; done
	check "$part: what was flushed is there" block_same 0 $next
	check "$part: a checkpoint" msg checkpoint
	check "$part: and one to the other area" msg checkpoint
	back "$part"
done

# It hangs ------------------------------------------------------------------------------------------------------------

fresh
hang m0
check "hang: a first write" timeout 10 dd if=$image of=/dev/mapper/v0 bs=4k skip=$next seek=$next count=1 oflag=direct conv=notrunc status=none
check "hang: it is read" block_same 0 $next
background flush flush 0
check "hang: a volume without changes flushes" flush 1
check "hang: its flush waits" running flush
check "hang: the pool answers" timeout 10 dmsetup status tp
flows m0
ended flush "hang: and succeeds when it goes on"
hang m0
background checkpoint dmsetup message tp 0 checkpoint
check "hang: I/O goes on during a checkpoint that hangs" block 0 0
check "hang: the checkpoint waits" running checkpoint
flows m0
ended checkpoint "hang: and succeeds"
back hang

# In the middle of it all ------------------------------------------------------------------------------------------------

busy() { [ "$(msg moves | wc -l)" -ge 4 ]; }
checkpoints() { while [ -e /run/on ]; do msg checkpoint; sleep 0.2; done 2>/dev/null; true; }
for part in log flush super0 super1 area0 area1; do
	touch /run/on
	background oracle oracle -e -j -s /run/state -t 600 -T 3 -p 20 -F 100 -f 10 -d 3 -g 64 /dev/mapper/v2
	msg set_rate 8000000	# so that some moves are always under way
	background mover mover -n 1000000 -d tp 2
	background checkpoints checkpoints
	# shellcheck disable=SC2034 # it counts
	for turn in 1 2 3; do
		wait_for 20 busy
		break_meta $part
		case $part in
		log | flush) wait_for 10 mode meta_ro || fail "$part: it becomes meta_ro" ;;
		*) wait_for 10 logged checkpoint: || fail "$part: a checkpoint fails" ;;
		esac
		meta_good
		wait_for 10 mode rw || fail "$part: it becomes rw again"
		dmesg -C
	done
	rm /run/on
	ended checkpoints "$part: checkpoints end"
	msg set_rate 0
	stop mover
	ended mover "$part: every move ends once, where it says"
	account mover
	stop oracle
	ended oracle "$part: the oracle finds no error" 120
	account oracle
	back "busy, $part"
done

# Data devices ---------------------------------------------------------------------------------------------------------

# One region of one extent of volume 0: only who reads or writes it notices.
check "an extent" home 0 1 0
for e in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do block 0 $((256 + e * 16)); done
flush 0
slot=$(extent_of 0 1 | cut -d' ' -f3)
bad a0 a $data_sectors $(((slot + 1) * mib + 5 * 128)) 128
check_fails "region: its read fails" block_same 0 $((256 + 5 * 16))
check_fails "region: so does its write" block 0 $((256 + 5 * 16))
check "region: its neighbours are read" bash -c "$(declare -f block_same); image=$image; block_same 0 $((256 + 4 * 16)) && block_same 0 $((256 + 6 * 16))"
check "region: and written" block 0 $((256 + 4 * 16))
check_equal "region: the extent stays where it is" "failed src_read_error" "$(moved 0 1 1 | cut -d' ' -f1,2)"
check "region: flushes go on" flush 0
check_equal "region: the device is online" online "$(pool_value state 0)"
good a
check_equal "region: when it heals the extent moves" "done -" "$(moved 0 1 1 | cut -d' ' -f1,2)"
for e in 0 5 15; do check "region: with its data" block_same 0 $((256 + e * 16)); done

# A whole device vanishes under I/O and moves, and comes back; one that hangs.
for fault in vanishes hangs; do
	background oracle oracle -e -j -s /run/state -t 600 -T 3 -p 20 -F 100 /dev/mapper/v2
	msg set_rate 8000000
	background mover mover -n 1000000 tp 2
	for device in a b; do
		wait_for 20 busy
		index=$([ $device = a ] && echo 0 || echo 1)
		errors=$(pool_value errors "$index")
		if [ $fault = vanishes ]; then
			now "${device}0" "0 $data_sectors error"
		else
			hang "${device}0"
		fi
		has_errors() { [ "$(pool_value errors "$index")" -gt "$errors" ]; }
		[ $fault = hangs ] || check "$device $fault: errors are counted" wait_for 20 has_errors
		other=$((1 - index))	# volume 0 lies on device 0, volume 1 on device 1
		[ "$other" = 0 ] && home 0 0 0
		check "$device $fault: a volume on the other is read" timeout 10 dd if="/dev/mapper/v$other" of=/dev/null bs=4k count=1 iflag=direct status=none
		check "$device $fault: the pool answers" timeout 10 dmsetup status tp
		check_equal "$device $fault: its metadata can be written" rw "$(pool_value mode)"
		if [ $fault = vanishes ]; then good $device; else flows "${device}0"; fi
		online() { [ "$(pool_value state "$index")" = online ]; }
		check "$device $fault: it is online again" wait_for 20 online
	done
	msg set_rate 0
	stop mover
	ended mover "$fault: every move ends once, where it says"
	account mover
	stop oracle
	ended oracle "$fault: the oracle finds no error" 120
	back "$fault"
done
pool_down
finish
