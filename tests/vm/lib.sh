# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What guest suites (t_*.sh) share; sourced by them in the guest:  . /src/tests/vm/lib.sh
#
#   check "what must hold" command...       passes if the command succeeds
#   check_fails "what" command...           passes if it fails with an exit code (not by a signal)
#   check_equal "what" expected actual
#   pass "what" / fail "what" [detail]      a verdict reached in another way
#   skip "what" "why"                       only for what this machine cannot do
#   note text...                            a line in the log
#   disk NAME                               the device of --disk NAME=...
#   make_lv DISK LV SIZE                    an LVM logical volume on that disk, prints /dev/<disk>/<lv>
#   wait_for SECONDS command...             until the command succeeds, or fail (return 1)
#   at_end command...                       do this at the end, last one first, whatever happens
#   finish                                  the last line of every suite
#
# A suite that ends without finish (an error, a signal) counts as failed. At the end the dm devices that
# the suite made are removed; one that cannot be removed is a failure.
set -u

passed=0 failed=0 skipped=0 finished=0
end_commands=()

note() { echo "# $*"; }
pass() { passed=$((passed + 1)); echo "ok - $1"; }
skip() { skipped=$((skipped + 1)); echo "ok - $1 # SKIP $2"; }
fail() {
	failed=$((failed + 1))
	echo "not ok - $1"
	[ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/#   /'
}

# The command runs in this shell, so that it may set variables; its output is shown if it fails.
check() {
	local what=$1 code output=/run/check.$$
	shift
	"$@" >"$output" 2>&1
	code=$?
	if [ "$code" -eq 0 ]; then
		pass "$what"
	else
		fail "$what" "exit code $code of: $*"$'\n'"$(tail -n 20 "$output")"
	fi
	return "$code"
}

check_fails() {
	local what=$1 code output=/run/check.$$
	shift
	"$@" >"$output" 2>&1
	code=$?
	if [ "$code" -gt 0 ] && [ "$code" -lt 126 ]; then
		pass "$what"
		return 0
	fi
	fail "$what" "expected an error, got exit code $code of: $*"$'\n'"$(tail -n 20 "$output")"
	return 1
}

check_equal() {
	if [ "$2" = "$3" ]; then
		pass "$1"
		return 0
	fi
	fail "$1" "expected: $2"$'\n'"     got: $3"
	return 1
}

disk() { echo "/dev/disk/by-id/virtio-$1"; }

# make_lv DISK LV SIZE [lvcreate option...]: the volume group has the disk's name and is made on demand
make_lv() {
	local name=$1 lv=$2 size=$3
	shift 3
	if ! vgs "$name" >/dev/null 2>&1; then
		vgcreate -q "$name" "$(disk "$name")" >&2 || return 1
	fi
	lvcreate -q -y -Wn -Zn -n "$lv" -L "$size" "$@" "$name" >&2 || return 1
	echo "/dev/$name/$lv"
}

wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
}

at_end() { end_commands+=("$*"); }
finish() { finished=1; exit "$((failed > 0))"; }

on_exit() {
	local code=$? i
	trap - EXIT
	[ "$finished" -eq 1 ] || fail "the suite ran to its end" "it ended early with exit code $code"
	for ((i = ${#end_commands[@]} - 1; i >= 0; i--)); do
		eval "${end_commands[i]}"
	done
	remove_dm || fail "no dm device is left behind" "$(dmsetup info -c 2>&1)"
	echo "$passed passed, $failed failed, $skipped skipped"
	exit "$((failed > 0))"
}

# Volumes sit on pools, pools on LVs: repeat while one more goes.
remove_dm() {
	local before=-1 now
	while now=$(dmsetup ls 2>/dev/null | grep -cv '^No devices'); [ "$now" -ne 0 ] && [ "$now" -ne "$before" ]; do
		before=$now
		dmsetup ls 2>/dev/null | cut -f1 | while read -r name; do
			timeout 30 dmsetup remove "$name" >/dev/null 2>&1
		done
		udevadm settle
	done
	[ "$now" -eq 0 ]
}
trap on_exit EXIT
