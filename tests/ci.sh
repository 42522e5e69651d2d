#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ci.sh: setup, lint, every build, then the test command of the README. Prints the closing lines of each step
# and suite, and last "N passed, N failed, N skipped"; the exit code is 0 only if nothing failed. A step counts
# as one test. Logs are in build/ci, those of the suites in build/results.
set -u
cd "$(dirname "$0")/.." || exit 1
# The layout of build/ is ours here; a caller's variables must not move it. TIER_CACHE and the like stay.
unset O MAKEFLAGS MFLAGS MAKELEVEL SAN CC VARIANT KDIR VM_TESTS UNIT_TESTS
export LC_ALL=C
logs=build/ci
mkdir -p $logs
passed=0 failed=0 skipped=0
failed_steps=()
jobs=-j$(nproc)

# Adds the last "N passed, N failed, N skipped" of a log; 1 if there is none.
add_counts() {
	local line
	line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$1" | tail -n 1)
	[ -n "$line" ] || return 1
	read -r p _ f _ s _ <<<"$line"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	[ "$f" -eq 0 ]
}

# step NAME one|suites COMMAND...: a step is one test, or its log's last line says how many
step() {
	local name=$1 kind=$2 log=$logs/$1.log start=$SECONDS code good=1
	shift 2
	echo "=== $name: $*"
	"$@" >"$log" 2>&1 </dev/null
	code=$?
	[ $code -eq 0 ] || good=0
	if [ "$kind" = suites ]; then
		local before=$failed
		add_counts "$log" || good=0
		# Broke before it could count: that is a failure too.
		[ $good -eq 1 ] || [ "$failed" -gt "$before" ] || failed=$((failed + 1))
		grep -aE '^[A-Za-z0-9_.-]+: [0-9]+ passed, |^(not )?ok |^failed suites:|^[0-9]+ passed, ' "$log"
	elif [ $good -eq 1 ]; then
		passed=$((passed + 1))
		tail -n 2 "$log"
	else
		failed=$((failed + 1))
	fi
	if [ $good -eq 0 ]; then
		failed_steps+=("$name")
		echo "--- $name failed (exit code $code), the end of $log:"
		tail -n 60 "$log"
		echo "---"
	fi
	echo "    $name: $([ $good -eq 1 ] && echo passed || echo FAILED) after $((SECONDS - start)) s"
	[ $good -eq 1 ]
}

# A build passes only without a word from the compiler.
silent_build() {
	local log
	log=$(mktemp) || return 1
	if ! make "$jobs" "$@" >"$log" 2>&1; then
		cat "$log"; rm -f "$log"
		return 1
	fi
	if grep -aiE 'warning' "$log"; then
		echo "the build is not silent"
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
	echo "silent"
}

step setup one tests/setup.sh	# make itself may be missing
step build-gcc one silent_build WERROR=1 tests
step build-clang one silent_build O=build/clang CC=clang WERROR=1 tests
step build-san one silent_build O=build/san SAN=1 WERROR=1 tests
step build-modules one silent_build WERROR=1 modules
step lint suites make lint
step unit-san suites make O=build/san SAN=1 check-unit
step check suites make check

# Once more where a reader looks first: at the end.
for name in "${failed_steps[@]}"; do
	grep -aE '^( *\| *)?(not ok|ERROR|WRONG)|\[ +FAILED +\]' $logs/"$name".log build/results/*.log 2>/dev/null | sort -u | head -n 15
done
[ ${#failed_steps[@]} -eq 0 ] || echo "failed steps: ${failed_steps[*]}"
echo "after $((SECONDS / 60)) min $((SECONDS % 60)) s:"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
