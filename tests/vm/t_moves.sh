#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Moves under I/O lose nothing: fio with verify and our own oracle write while extents move up, down and sideways;
# with discards, flushes and FUA; with two devices a tier; with suspends.
#
# vm: --disk meta=64M --disk a0=64M --disk a1=64M --disk b0=64M --disk b1=64M --disk c0=64M --disk c1=64M --timeout 480
# vm-kernels: 6.1 6.12
. /src/tests/vm/pool.sh

fio_verify() {	# NAME DEVICE OPTION...: random writes of 4 KiB, all verified, some while others are still to come
	touch /run/moving
	background "$1" fio_rounds --name="$1" --filename="$2" --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --bs=4k \
		--size=16m --verify=crc32c --verify_fatal=1 --verify_backlog=512 --output-format=normal "${@:3}"
}
fio_rounds() {	# until all moves are made, however fast this host is
	while [ -e /run/moving ]; do
		fio "$@" || return
	done
}

# many MOVER...: each made at least so many moves, nearly all of which succeeded
many() {	# LEAST NAME WHERE
	account "$2"
	check "$3: $1 moves or more" test "$(got queued)" -ge "$1"
	check "$3: up, down and sideways" test "$(got up)" -ge 20 -a "$(got down)" -ge 20 -a "$(got sideways)" -ge 20
	check "$3: 95 % of the moves succeed" share 95 "$(got "done")" "$(got queued)"
}

new_pool() {	# TIER:DISK...
	local device devices=()
	rm -f /run/state
	for device; do devices+=("${device%%:*}:$(disk "${device#*:}")"); done
	pool_format "$(disk meta)" "${devices[@]}" && pool_up
}

# What a volume's oracle and fio have written is there after the pool was away.
comes_back() {
	checked "$1: all answers agree"
	check "$1: deactivated" pool_down
	check "$1: activated" pool_up
	volume_up 0
	check "$1: the oracle's data are there afterwards" oracle -c -s /run/state -o 24576 /dev/mapper/v0
	check "$1: all answers agree afterwards" answers check
	pool_down
}

# plain -------------------------------------------------------------------------------------------------

check "a pool of three tiers" new_pool 0:a0 1:b0 1:b1 2:c0
check "a volume" volume_new 0 48
fio_verify fio /dev/mapper/v0
background oracle oracle -s /run/state -t 600 -T 2 -o 24576 /dev/mapper/v0
# The volume with the fewest has so many extents.
allocated() { [ "$(msg volumes | cut -d' ' -f6 | sort -n | head -n 1)" -ge "$1" ]; }
check "some extents have data" wait_for 10 allocated 28
background mover mover -n 400 -k 4 tp 0
ended mover "plain: every move ends once, where it says" 120
rm /run/moving
ended fio "plain: fio finds no error" 120
stop oracle
ended oracle "plain: the oracle finds no error"
many 200 mover plain
account oracle
comes_back plain

# Two devices a tier; discards, flushes and FUA -----------------------------------------------------------

check "a pool with two devices a tier" new_pool 0:a0 0:a1 1:b0 1:b1 2:c0 2:c1
check "a volume for fio" volume_new 0 24
check "a volume for the oracle" volume_new 1 24
fio_verify fio /dev/mapper/v0 --fsync=64
background oracle oracle -s /run/state -t 600 -T 3 -r 30 -d 4 -f 20 -F 50 -g 64 /dev/mapper/v1
wait_for 10 allocated 10
background mover mover -n 240 -k 4 tp 0
background mover1 mover -n 240 -k 4 -d -R 2 tp 1
ended mover "fsync: every move ends once, where it says" 120
ended mover1 "discards, FUA: every move ends once" 120
rm /run/moving
ended fio "discards, fsync: fio finds no error" 120
stop oracle
ended oracle "discards, FUA: the oracle finds no error"
many 200 mover "fsync, two devices a tier"
many 200 mover1 "discards and FUA, two devices a tier"
account oracle
check "there were discards, FUA writes and flushes" test "$(got discards)" -gt 50 -a "$(got fua)" -gt 50 -a "$(got flushes)" -gt 20

# Whole extents vanish below their moves.
background oracle oracle -s /run/state -t 600 -T 3 -r 30 -d 10 -F 50 -g 64 -x 1024 /dev/mapper/v1
background mover mover -n 300 -d -R 3 tp 1
ended mover "discarded extents: every move ends once"
stop oracle
ended oracle "discarded extents: the oracle finds no error"
account mover
check "discarded extents: a move fails because its extent is gone, or not at all" \
	test "$(got queued)" -eq $(($(got "done") + $(got gone)))
checked
pool_down

# More writes than a move can follow, unless it is forced; cancelled moves ---------------------------------------------

check "a pool" new_pool 0:a0 1:b0
check "a volume of one extent" volume_new 0 1
background oracle oracle -s /run/state -t 600 -T 4 -r 10 /dev/mapper/v0
regions() { [ "$(extent_of 0 0 | cut -d' ' -f4)" = 16 ]; }
check "all of it is written" wait_for 10 regions
msg set_rate 1000000
tier=$(extent_of 0 0 | cut -d' ' -f1)
check_equal "writes are faster than the move: it gives up" "failed not_converging" "$(moved 0 0 $((1 - tier)) | cut -d' ' -f1,2)"
check "forced, it slows writes down" msg migrate 0 0 $((1 - tier)) force
check "and ends" wait_for 20 quiet
check_equal "as done" "done -" "$(msg moves since 2 | tail -n 1 | cut -d' ' -f7,8)"
note "$(msg moves since 1 | tail -n +2 | tr '\n' ';')"
msg set_rate 0
background mover mover -n 200 -f tp 0
ended mover "forced moves: every one ends once, where it says"
account mover
check "forced moves: 95 % succeed" share 95 "$(got "done")" "$(got queued)"
stop oracle
ended oracle "forced moves: the oracle finds no error"
volumes_down
check "a volume" volume_new 1 24
background oracle oracle -s /run/state1 -t 600 -T 2 -F 100 /dev/mapper/v1
wait_for 10 bash -c '[ "$(dmsetup message tp 0 volumes | grep ^1 | cut -d" " -f6)" = 24 ]'
background mover mover -n 500 -c 4 -R 4 tp 1
ended mover "cancelled moves: every one ends once, where it says"
stop oracle
ended oracle "cancelled moves: the oracle finds no error"
account mover
check "cancelled moves: some were, some were not" test "$(got cancelled)" -ge 20 -a "$(got "done")" -ge 20
check_equal "cancelled moves: the others are done" "$(got queued)" $(($(got "done") + $(got cancelled)))
checked
pool_down

# Suspends ----------------------------------------------------------------------------------------------

check "a pool for suspends" new_pool 0:a0 0:a1 1:b0 1:b1
check "its volume" volume_new 0 48
fio_verify fio /dev/mapper/v0
background oracle oracle -s /run/state -t 600 -T 2 -F 100 -o 24576 /dev/mapper/v0
wait_for 10 allocated 28
background mover mover -n 1000 tp 0
suspends=0
while running mover; do
	for what in "tp" "v0" "--noflush tp" "--noflush v0"; do
		# shellcheck disable=SC2086 # an option, perhaps
		{ dmsetup suspend $what && dmsetup resume "${what##* }"; } || fail "suspend $what"
		suspends=$((suspends + 1))
		sleep 1
	done
done
ended mover "suspends: every move ends once, where it says"
rm /run/moving
ended fio "suspends: fio finds no error" 120
stop oracle
ended oracle "suspends: the oracle finds no error"
account mover
note "suspends: $suspends"
check "suspends: there were some" test $suspends -ge 4
check "suspends: 200 moves or more" test "$(got queued)" -ge 200
# A kernel that finds bugs may take longer to freeze than the deadline lets it.
# shellcheck disable=SC2154 # checks.sh sets it
late=$((slowness > 1 ? $(got deadline) : 0))
check "suspends: a move is done or ends as suspended" test "$(got queued)" -eq $(($(got "done") + $(got suspended) + late))
checked
pool_down
finish
