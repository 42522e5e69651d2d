#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's part of h_restart.sh: restart.sh make|after|load|end
. /src/tests/vm/pool.sh

state=$(disk state)
# shellcheck disable=SC2034 # pool.sh uses it
pool_line="0 2048 tier-pool $(disk meta) 4 $(disk a) $(disk b0) $(disk b1) $(disk c)"
load=(-T 4 -F 30 -d 4 -f 15 -g 64 -x 1024 -s "$state" /dev/mapper/v0)
sums() { for d in meta a b0 b1 c; do dd if="$(disk $d)" bs=1M iflag=direct status=none | sha256sum; done; }

# What was acknowledged is there; the pool is sound.
sound() {
	check "$1: no damage" tpcheck -q "$(disk meta)"
	check "$1: the pool comes up" pool_up
	check "$1: the volume comes up" volume_up 0
	check_equal "$1: rw, nothing to be repaired" "rw 0" "$(pool_value mode) $(pool_value needs_check)"
	check "$1: all answers agree" answers check
	check "$1: what was acknowledged is there, and nothing else" oracle -c -s "$state" /dev/mapper/v0
}

case $1 in
make)
	check "a pool" pool_format "$(disk meta)" 0:"$(disk a)" 1:"$(disk b0)" 1:"$(disk b1)" 2:"$(disk c)"
	check "it comes up" pool_up
	check "a volume" volume_new 0 48
	background oracle oracle -t 600 "${load[@]}"
	wait_for 10 bash -c '[ "$(dmsetup message tp 0 volumes | cut -d" " -f6)" -gt 40 ]'
	check "moves" mover -n 100 -d tp 0
	stop oracle
	ended oracle "the oracle finds no error"
	checked
	map_of 0 >/host/map
	dd if=/dev/mapper/v0 bs=1M iflag=direct status=none | sha256sum >/host/sum
	check "deactivated" pool_down
	sound "activated"
	check_equal "the same bytes" "$(cat /host/sum)" "$(dd if=/dev/mapper/v0 bs=1M iflag=direct status=none | sha256sum)"
	check_equal "each extent is where it was" "$(cat /host/map)" "$(map_of 0)"
	check "deactivated" pool_down
	;;
after)
	sound "after a reboot"
	check_equal "the same bytes" "$(cat /host/sum)" "$(dd if=/dev/mapper/v0 bs=1M iflag=direct status=none | sha256sum)"
	check_equal "each extent is where it was" "$(cat /host/map)" "$(map_of 0)"
	check "deactivated" pool_down
	;;
load)	# until the host kills us
	before=$(sums)
	check "read-only after a crash" pool_up read_only
	check "its volume" volume_up 0
	cp "$state" /run/state
	check "what was acknowledged is there, read-only" oracle -c -s /run/state /dev/mapper/v0
	check "away" pool_down
	check_equal "nothing was written" "$before" "$(sums)"
	sound "after a crash"
	[ "${failed:-0}" -eq 0 ] || exit 1
	background oracle oracle -j -t 600 "${load[@]}"
	background mover mover -n 1000000 -d -R "$2" tp 0
	sleep "$3"
	running oracle && running mover && echo "now"
	sleep 600
	;;
end)
	sound "after a crash"
	check "deactivated" pool_down
	sound "activated"
	check "moves go on" mover -n 50 tp 0
	check "writes, too" oracle -t 3 "${load[@]}"
	checked
	check "deactivated" pool_down
	;;
esac
finish
