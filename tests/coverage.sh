#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How much of the kernel's pure files their unit tests reach: coverage.sh OUT FILE.c...
#
# OUT is a build with --coverage whose tests have run. A branch counts when it was taken at least once. Fails if a file
# has less than COVERAGE_MIN (90) percent; OUT/FILE.c.gcov then says which lines: "branch N never executed" or "taken 0".
set -u
out=$1
shift
least=${COVERAGE_MIN:-90}
failed=0

printf '%-28s %8s %10s\n' file lines branches
for file; do
	name=$(basename "$file" .c)
	if ! report=$(gcov -b -c -o "$out/kernel/$name.gcda" "$file" 2>&1); then
		echo "coverage: gcov $file: $report" >&2
		exit 1
	fi
	for other in *.gcov; do
		case $other in
		"$name.c.gcov") mv "$other" "$out/" ;;
		*) rm -f "$other" ;;
		esac
	done
	read -r lines branches < <(awk -v file="File '$file'" '
		/^File / { mine = $0 == file }
		mine && /^Lines executed:/ { sub(/.*:/, ""); lines = $1 }
		mine && /^Taken at least once:/ { sub(/.*:/, ""); branches = $1 }
		END { print lines + 0, branches + 0 }' <<<"$report")
	printf '%-28s %7s%% %9s%%\n' "$file" "$lines" "$branches"
	if ! awk -v have="$branches" -v least="$least" 'BEGIN { exit !(have >= least) }'; then
		failed=$((failed + 1))
	fi
done
echo "$(($# - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
