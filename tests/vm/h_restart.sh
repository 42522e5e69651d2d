#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A pool is deactivated and activated, in one guest and in the next: all bytes are compared. Then the guest is killed
# in the middle of moves, writes, discards and flushes, again and again: what a flush or a FUA write has acknowledged
# must be there, and nothing that was never written.
#
# KILLS (3; make check-kill: 100) is how often, SEED (1) chooses the moments.
# vm-light: it measures no time
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/vm/hostlib.sh

# guest CODE OPTION... -- PHASE...: a run of restart.sh; its checks count here
guest() {
	local want=$1 code options=() n f
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	tests/vm/run --no-build --quiet --timeout 120 --keep "$work/disks" --out "$work/out" --disk meta=64M --disk a=32M \
		--disk b0=32M --disk b1=32M --disk c=48M --disk state=8M "${options[@]}" tests/vm/restart.sh "$@" \
		>"$work/log" 2>&1 </dev/null
	code=$?
	grep -E '^(ok|not ok|#|WRONG|vm:|  \|)' "$work/log"
	n=$(grep -c '^ok' "$work/log")
	f=$(grep -c '^not ok' "$work/log")
	passed=$((passed + n)) failed=$((failed + f))
	check_equal "guest: $*" "$want" "$code"
}

guest 0 -- make
guest 0 -- after
kills=${KILLS:-3}
RANDOM=${SEED:-1}
note "$kills kills, seed ${SEED:-1}"
for ((turn = 1; turn <= kills; turn++)); do
	moment=$((RANDOM % 3)).$(printf %03d $((RANDOM % 1000)))
	note "kill $turn, after $moment s"
	guest 0 --kill-on '^now$' -- load $((turn * 1000 + ${SEED:-1})) "$moment"
	if [ "$failed" -ne 0 ]; then
		rm -rf "${O:-build}/killed" && mv "$work/disks" "${O:-build}/killed"
		note "the disks are kept in ${O:-build}/killed"
		finish
	fi
done
guest 0 -- end
finish
