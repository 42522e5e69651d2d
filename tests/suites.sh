#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# suites.sh unit PROGRAM...          run unit suites (cmocka programs or scripts)
# suites.sh build NAME COMMAND...   a build as a suite of one test; exit code 1 if it fails
# suites.sh vm [SUITE...]           run guest suites tests/vm/t_*.sh and host-driven ones tests/vm/h_*.sh, or these,
#                                   among which may be long ones, l_*.sh; with VM_KERNELS
#                                   a guest suite is called <suite>@<kernels>
# suites.sh verdict                 add up; the last line is "N passed, N failed, N skipped"
#
# What runs is shown as it begins ("<suite> ...") and as it ends, with its counts and seconds.
# Every suite leaves one line "<suite>: N passed, N failed, N skipped" in $O/results/<suite>.txt and its
# output in $O/results/<suite>.log. A script states its count in a last line of that form (with or
# without the name); of a cmocka program it is read from its summary. A suite that ends without its
# line, or with a non-zero code and no failure counted, counts as one failure.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
out=${O:-build}
results=$out/results
mkdir -p "$results" || exit 1

# count LOG CODE: "passed failed skipped" of a finished suite
count() {
	python3 - "$1" "$2" <<'PY'
import re, sys

text = open(sys.argv[1], errors="replace").read()
code = int(sys.argv[2])
line = re.findall(r"^(?:\S+: )?(\d+) passed, (\d+) failed, (\d+) skipped$", text, re.M)
if line:
    passed, failed, skipped = map(int, line[-1])
elif "[==========]" in text:
    def cmocka(word):
        return sum(map(int, re.findall(r"^\[ +%s +\] (\d+) test" % word, text, re.M)))
    passed, failed, skipped = cmocka("PASSED"), cmocka("FAILED"), cmocka("SKIPPED")
    if not re.search(r"^\[==========\] .* run\.$", text, re.M):
        failed += 1     # died on the way
else:
    passed, failed, skipped = 0, 1, 0
if code and not failed:
    failed = 1
print(passed, failed, skipped)
PY
}

group=
pair=()
# Ended from outside: pass it on to the suites that run, and wait until they have cleaned up.
interrupted() {
	trap '' INT TERM HUP
	if [ -n "$group" ]; then
		kill -TERM -- "-$group" 2>/dev/null
		wait "$group"
	fi
	if [ ${#pair[@]} -gt 0 ]; then
		kill -TERM "${pair[@]}" 2>/dev/null
		wait "${pair[@]}"
	fi
	exit "$1"
}
take_signals() {
	trap 'interrupted 129' HUP
	trap 'interrupted 130' INT
	trap 'interrupted 143' TERM
}
take_signals

# run SUITE COMMAND...: returns 0 if nothing failed
run() {
	local suite=$1 log=$results/$1.log code passed failed skipped start=$SECONDS
	shift
	rm -f "$results/$suite.txt"
	echo "$suite ..."
	# In a process group of its own, so that all of it can be ended (below).
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	group=$!
	set +m
	wait $group
	code=$?
	group=
	read -r passed failed skipped < <(count "$log" "$code")
	echo "$suite: ${passed:-0} passed, ${failed:-1} failed, ${skipped:-0} skipped" >"$results/$suite.txt"
	echo "$(cat "$results/$suite.txt") ($((SECONDS - start)) s)"
	if [ "${failed:-1}" -ne 0 ]; then
		echo "--- $suite failed (exit code $code); the end of $log:"
		grep -aE '\[ +FAILED +\]|^not ok|FAIL|error:|Error' "$log" | head -n 20 | sed 's/^/  | /'
		tail -n 25 "$log" | sed 's/^/  /'
		echo "---"
		return 1
	fi
}

run_unit() { run "$(basename "$1" .sh)" "$1"; }

run_vm() {
	local suite=$1
	case $suite in
	t_* | l_*) run "$suite${VM_KERNELS:+@${VM_KERNELS// /+}}" tests/vm/suite "tests/vm/$suite.sh" ;;
	*) run "$suite" "tests/vm/$suite.sh" ;;
	esac
}

one_of_two() {	# in the background
	pair=()
	take_signals
	"$@"
}

# two_at_a_time FUNCTION SUITE...: those that leave a processor idle and measure no time
two_at_a_time() {
	local function=$1 suite
	for suite in "${@:2}"; do
		if [ ${#pair[@]} -eq 2 ]; then
			wait -n "${pair[@]}"
			kill -0 "${pair[0]}" 2>/dev/null && pair=("${pair[0]}") || pair=("${pair[1]}")
		fi
		one_of_two "$function" "$suite" &
		pair+=($!)
	done
	[ ${#pair[@]} -eq 0 ] || wait "${pair[@]}"
	pair=()
}

verdict() {
	local files
	files=$(find "$results" -name '*.txt')
	if [ -z "$files" ]; then
		echo "no suite left a result in $results" >&2
		echo "0 passed, 1 failed, 0 skipped"
		return 1
	fi
	# shellcheck disable=SC2086 # one path a word: our own names
	cat $files | awk -F'[:,]' '{
		split($2, p, " "); split($3, f, " "); split($4, s, " ")
		passed += p[1]; failed += f[1]; skipped += s[1]
		if (f[1]) bad = bad " " $1
	} END {
		if (bad) print "failed suites:" bad
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed != 0
	}'
}

cd "$top" || exit 1
what=${1:?}
shift
case $what in
unit)
	# As a user of the installed tools would: the built programs come first in the PATH.
	built=$(realpath "$out")
	export PATH=$built:$PATH TIER_BUILD=$built
	alone=() light=()
	for program; do
		case $program in
		*/test_plan_scale | */test_make.sh) alone+=("$program") ;;	# measures time; builds in parallel
		*) light+=("$program") ;;
		esac
	done
	[ "$(nproc)" -ge 2 ] || alone+=("${light[@]}") light=()
	for program in "${alone[@]}"; do run_unit "$program"; done
	two_at_a_time run_unit "${light[@]}"
	;;
build)
	suite=$1
	shift
	run "$suite" bash -c '"$@" && echo "1 passed, 0 failed, 0 skipped"' build "$@" || exit 1
	;;
vm)
	export TIER_NO_BUILD=1	# make has done it
	if [ $# -eq 0 ]; then
		for script in tests/vm/t_*.sh tests/vm/h_*.sh; do
			[ -e "$script" ] && set -- "$@" "$(basename "$script" .sh)"
		done
	fi
	light=()
	for suite; do
		if [ ! -e "tests/vm/$suite.sh" ]; then
			echo "$suite: 0 passed, 1 failed, 0 skipped" | tee "$results/$suite.txt"
			echo "no such suite: tests/vm/$suite.sh" >&2
		elif grep -q '^# vm-light:' "tests/vm/$suite.sh" && [ "$(nproc)" -ge 2 ]; then
			light+=("$suite")
		else
			run_vm "$suite"
		fi
	done
	export TIER_VM_SLOTS=2
	two_at_a_time run_vm "${light[@]}"
	;;
verdict)
	verdict
	exit
	;;
*)
	echo "suites.sh: what is '$what'?" >&2
	exit 2
	;;
esac
exit 0	# failures are the verdict's to tell
