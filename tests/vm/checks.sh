# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks and their count, for suites in the guest (through lib.sh) and on the host (through hostlib.sh).
#
#   check "what must hold" command...       passes if the command succeeds
#   check_fails "what" command...           passes if it fails with an exit code (not by a signal)
#   check_equal "what" expected actual
#   exits CODE "words" command...           passes if it ends with that code, and its output has the words
#   pass "what" / fail "what" [detail]      a verdict reached in another way
#   skip "what" "why"                       only for what this machine cannot do
#   note text...                            a line in the log
#   wait_for SECONDS command...             until the command succeeds; 1 if it does not in time (six times as long
#                                           on a kernel that finds bugs)
#   at_end command...                       do this at the end, last one first, whatever happens
#   finish                                  the last line of every suite
#
# A suite that ends without finish (an error, a signal) counts as failed.
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
	local what=$1 code output=${TMPDIR:-/tmp}/check.$$
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
	local what=$1 code output=${TMPDIR:-/tmp}/check.$$
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

exits() {
	local want=$1 words=$2 output code
	shift 2
	output=$("$@" 2>&1 </dev/null)
	code=$?
	if [ $code -eq "$want" ] && grep -qF -- "$words" <<<"$output"; then
		pass "exit code $want, '$words': $*"
	else
		fail "exit code $want, '$words': $*" "exit code $code: $output"
	fi
}

check_equal() {
	if [ "$2" = "$3" ]; then
		pass "$1"
		return 0
	fi
	fail "$1" "expected: $2"$'\n'"     got: $3"
	return 1
}

case $(uname -r) in *-debug | *-kcsan) slowness=6 ;; *) slowness=1 ;; esac
wait_for() {
	local deadline=$((SECONDS + $1 * slowness))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
}

at_end() {
	if [ $# -eq 1 ]; then
		end_commands+=("$1")
	else
		end_commands+=("$(printf '%q ' "$@")")
	fi
}
finish() { finished=1; exit "$((failed > 0))"; }

on_exit() {
	local code=$? i
	trap - EXIT
	[ "$finished" -eq 1 ] || fail "the suite ran to its end" "it ended early with exit code $code"
	for ((i = ${#end_commands[@]} - 1; i >= 0; i--)); do
		eval "${end_commands[i]}"
	done
	rm -f "${TMPDIR:-/tmp}/check.$$"
	echo "$passed passed, $failed failed, $skipped skipped"
	exit "$((failed > 0))"
}
trap on_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
