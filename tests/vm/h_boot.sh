#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A pool on LVM volumes comes back by itself at the boot of a machine with systemd, and when its devices go and come;
# on another machine it stays down until it is taken over.
# vm-light: it measures no time
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/vm/hostlib.sh

# guest WHAT OPTION...: a run of boot.sh; its checks count here
guest() {
	local what=$1
	shift
	tests/vm/run --no-build --quiet --timeout 240 --keep "$work/disks" --disk ssd=256M --disk hdd=256M "$@" \
		tests/vm/boot.sh "$what" >"$work/log" 2>&1 </dev/null
	code=$?
	grep -E '^(ok|not ok|#|vm:|  \|)' "$work/log"
	passed=$((passed + $(grep -c '^ok' "$work/log"))) failed=$((failed + $(grep -c '^not ok' "$work/log")))
	check_equal "guest: $what" 0 $code
}
guest make
guest found --systemd
guest foreign --systemd --append systemd.machine_id=0000000000000000000000000000000b
finish
