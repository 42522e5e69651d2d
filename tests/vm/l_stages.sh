#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A move is held at each of its stages while everything else that can happen to a pool happens; then it is released.
# Whatever was asked ends as it should, every byte of the volume is right, and the pool's answers agree.
#
# vm: --disk meta=64M --disk a=64M --disk b=64M --timeout 1200
. /src/tests/vm/pool.sh

# What lies below: metadata m0; device 0 is a0 = a_lo (slots 0-7) and a_hi (8-15); device 1 is b0.
mib=2048
slice m0 $((48 * mib)) meta
slice a_lo $((9 * mib)) a
slice a_hi $((8 * mib)) a $((9 * mib))
dmsetup create a0 --table "0 $((9 * mib)) linear /dev/mapper/a_lo 0
$((9 * mib)) $((8 * mib)) linear /dev/mapper/a_hi 0"
slice b0 $((17 * mib)) b

# Volume 0 has 16 extents, of which /run/image says what they hold; extents 12 to 15 were never written.
check "a pool" pool_format /dev/mapper/m0 0:/dev/mapper/a0 1:/dev/mapper/b0
check "it comes up" pool_up
check "a volume" volume_new 0 16
msg set_placement 0 0
{ head -c $((12 * 1048576)) /dev/urandom; head -c $((4 * 1048576)) /dev/zero; } >/run/image
check "its data" dd if=/run/image of=/dev/mapper/v0 bs=1M count=12 oflag=direct conv=notrunc status=none
same_data() { timeout 60 cmp <(dd if=/dev/mapper/v0 bs=1M iflag=direct status=none) /run/image; }
check "as they were written" same_data

# Stages -------------------------------------------------------------------------------------------------------------
# hold_STAGE EXTENT puts its move into that stage and keeps it there; release_STAGE lets it go.

# pick LOW HIGH: an extent of volume 0 on device 0, in these slots
pick() {
	map_of 0 | awk -v low="$1" -v high="$2" '$4 == 0 { for (i = 0; i < $2; i++) if ($5 + i >= low && $5 + i <= high) { print $1 + i; exit } }'
}
stage() { msg moves | awk -v extent="$1" '$3 == extent { print $6 }'; }
reached() { # EXTENT STAGE, without the pauses of wait_for
	local tries
	for tries in $(seq 300); do
		[ "$(stage "$1")" = "$2" ] && return 0
	done
	note "after $tries tries: '$(stage "$1")' instead of $2"
	return 1
}
hang() { dmsetup suspend --noflush --nolockfs "$1"; }
flows() { dmsetup resume "$1"; }
start() { msg migrate 0 "$1" 1 >/dev/null; }
# io read|write EXTENT: one I/O that hangs with what it lies on; what a write writes is there already
io() {
	local before
	before=$(pool_value ios 0)
	if [ "$1" = read ]; then
		dd if=/dev/mapper/v0 of=/dev/null bs=64k skip=$(($2 * 16)) count=1 iflag=direct status=none &
	else
		dd if=/run/image of=/dev/mapper/v0 bs=64k skip=$(($2 * 16)) seek=$(($2 * 16)) count=1 oflag=direct conv=notrunc status=none &
	fi
	io_pid=$!
	issued() { [ "$(pool_value ios 0)" -gt "$before" ]; }
	wait_for 10 issued
}
io_ended() { wait "$io_pid" 2>/dev/null; }	# with an error, where its volume was taken away

hold_copy() { msg set_rate 60000; start "$1"; reached "$1" copy; }
release_copy() { msg set_rate 0; }

hold_hung() { hang b0; start "$1"; reached "$1" copy; }	# its copies hang in the destination
release_hung() { flows b0; }

hold_freeze() {	# which waits for all I/O of the source
	hang a_hi
	io write "$(pick 8 15)"
	start "$1"
	reached "$1" freeze
}
release_freeze() { flows a_hi; io_ended; }

hold_commit() { hang m0; start "$1"; reached "$1" commit; }
release_commit() { flows m0; }

hold_retire() {	# which waits for reads of the old slot
	hang m0
	start "$1"
	reached "$1" commit
	hang a_lo
	io read "$1"
	flows m0
	reached "$1" retire
}
release_retire() { flows a_lo; io_ended; }

# Actions ------------------------------------------------------------------------------------------------------------
# act_NAME EXTENT runs in the background while the move is held; after_NAME EXTENT, if there, when all is over.
# Those of $refused must fail.

refused="remove_pool unload delete_live shrink_live forget"

act_suspend_pool() { dmsetup suspend tp && dmsetup resume tp; }
act_noflush_pool() { dmsetup suspend --noflush tp && dmsetup resume tp; }
act_suspend_volume() { dmsetup suspend v0 && dmsetup resume v0; }
act_noflush_volume() { dmsetup suspend --noflush v0 && dmsetup resume v0; }
act_reload_pool() {	# its devices in the other order
	dmsetup load tp --table "$(dmsetup table tp | awk '{ t = $6; $6 = $7; $7 = t; print }')" &&
		dmsetup suspend tp && dmsetup resume tp
}
act_reload_volume() { dmsetup load v0 --table "$(dmsetup table v0)" && dmsetup suspend v0 && dmsetup resume v0; }
act_remove_volume() {	# with I/O in flight it may be in use, and only its table goes
	if [ "$hold" = freeze ] || [ "$hold" = retire ]; then
		dmsetup remove --force v0
		return 0
	fi
	dmsetup remove --retry v0
}
after_remove_volume() { dmsetup info v0 >/dev/null 2>&1 && dmsetup remove --retry v0; volume_up 0; }
act_force_pool() { ! dmsetup remove --force tp; }
after_force_pool() { dmsetup remove --retry v0 && dmsetup remove --retry tp && pool_up && volume_up 0; }
act_remove_pool() { dmsetup remove tp; }
act_unload() { rmmod dm-tier; }
act_delete_live() { msg delete_volume 0; }
act_shrink_live() { msg resize_volume 0 $((8 * mib)); }
act_grow() { msg resize_volume 0 $((32 * mib)) && msg resize_volume 0 $((16 * mib)); }
act_forget() { msg forget_device 1; }
act_drain() { msg set_device 1 draining && msg set_device 1 online; }
act_cancel() { if [ "$hold" = retire ]; then ! msg cancel 0 "$1"; else msg cancel 0 "$1"; fi; }	# it is done by then
act_cancel_all() { msg cancel_all; }
act_create_delete() { msg create_volume 9 "$mib" "$(volume_uuid 9)" && msg delete_volume 9; }
act_commit() { msg commit; }
act_checkpoint() { msg checkpoint; }
act_flush() { python3 -c 'import os; os.fsync(os.open("/dev/mapper/v0", os.O_RDWR))'; }
act_storm() {
	local i
	for i in $(seq 20); do
		dmsetup status >/dev/null && dmsetup table >/dev/null && msg volumes >/dev/null && msg devices >/dev/null &&
			msg moves >/dev/null && msg moves since 0 >/dev/null && msg map 0 0 16 >/dev/null &&
			msg counters 0 0 16 >/dev/null && msg counters 0 0 16 since "$i" >/dev/null &&
			msg set_label 0 "label$i" && msg set_moves $((1 + i % 8)) && msg set_low_water 0 1 &&
			msg set_reserve 1 $((i % 2)) || return 1
	done
}
# These change data: /run/new is what is to be.
change() { cp /run/image /run/new; }
act_write() {
	change
	head -c 262144 /dev/urandom | dd of=/run/new bs=64k seek=$(($1 * 16 + 3)) conv=notrunc status=none iflag=fullblock
	dd if=/run/new of=/dev/mapper/v0 bs=64k skip=$(($1 * 16 + 3)) seek=$(($1 * 16 + 3)) count=4 oflag=direct,dsync conv=notrunc status=none
}
act_discard_part() {
	change
	dd if=/dev/zero of=/run/new bs=64k seek=$(($1 * 16 + 5)) count=4 conv=notrunc status=none
	blkdiscard -o $((($1 * 16 + 5) * 65536)) -l 262144 /dev/mapper/v0
}
act_discard_all() {
	change
	dd if=/dev/zero of=/run/new bs=1M seek="$1" count=1 conv=notrunc status=none
	blkdiscard -o $(($1 * 1048576)) -l 1048576 /dev/mapper/v0
}
after_write() { mv /run/new /run/image; }
after_discard_part() { mv /run/new /run/image; }
after_discard_all() {
	mv /run/new /run/image
	same_data || return 1
	dd if=/dev/urandom of=/run/image bs=1M seek="$1" count=1 conv=notrunc iflag=fullblock status=none
	dd if=/run/image of=/dev/mapper/v0 bs=1M skip="$1" seek="$1" count=1 oflag=direct conv=notrunc status=none
}

# All of them ----------------------------------------------------------------------------------------------------------

all_home() {	# every extent on device 0
	local extent
	wait_for 20 quiet || return 1
	for extent in $(map_of 0 | awk '$4 == 1 { for (i = 0; i < $2; i++) print $1 + i }'); do
		home 0 "$extent" 0 || return 1
	done
	wait_for 20 quiet
}

# The action gets half a second to get as far as it can while the move is held; it may well wait for the move.
given_time() { not_running action || [ $((tries += 1)) -gt 4 ]; }

run_one() { # STAGE ACTION
	local what="$2 while a move is held in $1" extent code tries=0 since
	hold=$1
	extent=$(pick 0 7)
	[ -n "$extent" ] || { fail "$what" "no extent in the lower slots"; return; }
	since=$(msg moves since 0 | head -n 1 | cut -d' ' -f2)
	"hold_$1" "$extent" || fail "$what" "the move does not get there: $(msg moves; msg moves since "$since" | tail -n +2)"
	background action "act_$2" "$extent"
	wait_for 2 given_time
	"release_$1"
	if ! wait_for 60 not_running action; then
		fail "$what" "it hangs"
		echo w >/proc/sysrq-trigger
		return 1
	fi
	await action
	code=$?
	case " $refused " in
	*" $2 "*) [ $code -ne 0 ] || fail "$what" "it was not refused" ;;
	*) [ $code -eq 0 ] || fail "$what" "exit code $code: $(cat /run/action.log)" ;;
	esac
	if [ "$(type -t "after_$2")" = function ]; then
		"after_$2" "$extent" || fail "$what" "what follows it fails"
	fi
	wait_for 20 quiet || fail "$what" "the move does not end: $(dmsetup status tp; msg moves)"
	if ! same_data; then
		fail "$what" "the data are wrong"
		return 1
	fi
	msg moves since "$since" 2>/dev/null | tail -n +2 | cut -d' ' -f7,8 >>"/run/ends.$1"
	checked "$what"
	all_home || fail "$what" "no way back"
}

for stage in copy hung freeze commit retire; do
	for action in suspend_pool noflush_pool suspend_volume noflush_volume reload_pool reload_volume remove_volume \
		force_pool remove_pool unload delete_live shrink_live grow forget drain cancel cancel_all create_delete commit \
		checkpoint flush storm write discard_part discard_all; do
		run_one $stage $action
	done
	note "$stage: $(sort /run/ends.$stage | uniq -c | xargs)"
done
pool_down
check "the module unloads" modprobe -r dm-tier
finish
