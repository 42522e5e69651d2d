#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's part of a recording: record.sh first|again SEED OPERATIONS REGION_KIB
. /src/tests/vm/pool.sh

# shellcheck disable=SC2034 # pool.sh uses it
pool_line="0 2048 tier-pool $(disk meta) 4 $(disk a) $(disk b0) $(disk b1) $(disk c)"

case $1 in
first)	# until the host kills us
	check "a pool" pool_format -r "$4" "$(disk meta)" 0:"$(disk a)" 1:"$(disk b0)" 1:"$(disk b1)" 2:"$(disk c)"
	check "it comes up" pool_up
	[ "${failed:-0}" -eq 0 ] && crash_load -k 1 "$2" "$3" "$(disk journal)"
	fail "the load goes on" "it has ended with exit code $?"
	;;
again)
	check "it comes up after a crash" pool_up
	check_equal "rw, nothing to be repaired" "rw 0" "$(pool_value mode) $(pool_value needs_check)"
	if crash_load 2 "$2" "$3" "$(disk journal)"; then
		pass "the load has seen no error"
	else
		fail "the load has seen no error" "exit code $?"
	fi
	check "deactivated" pool_down
	;;
esac
finish
