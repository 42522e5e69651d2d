#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The verdict of the demonstration: when it says yes, NO, or nothing.
. "$(dirname "$0")/../vm/checks.sh"
report=$(dirname "$0")/../demo/report.py
work=$(mktemp -d) || exit 1
at_end rm -rf "$work"

# result RAW ALONE SHARE ERRORS: as guest.py writes it
result() {
	printf '{"jobs": [{"job": 1, "before_MBps": 2.5, "after_MBps": 40.0}, {"job": 2, "before_MBps": 0.0, "after_MBps": 2.5}],
		"job1_alone_MBps": %s, "tier0_raw_MBps": %s, "job1_tier0_share": %s, "moves": {"up": 40, "down": 3, "failed": 0},
		"verify_errors": %s}' "$2" "$1" "$3" "$4" >"$work/result.json"
}
# judged WHAT CODE LAST-LINE SECONDS: the report has to end so
judged() {
	python3 "$report" "$work/result.json" "$4" 200 >"$work/said" 2>&1
	check_equal "$1: exit code" "$2" $?
	check "$1: says so" grep -q "^demo: $3" <(tail -n 1 "$work/said")
}
result 195.1 180.0 1.0 0
judged "all holds" 0 "it works" 280
check_equal "the time is in the result, and nothing else changed" "280 195.1" "$(python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
print(r["seconds"], r["tier0_raw_MBps"])' "$work/result.json")"
check "the rates are shown" grep -q '^ *1 *2.5 *40.0 *x 16.0$' "$work/said"
judged "too slow" 1 FAILED 360
result 195.1 175.0 1.0 0
judged "job 1 below 90 % of the bare disk" 1 FAILED 280
result 195.1 180.0 0.9 0
judged "an extent of job 1 elsewhere" 1 FAILED 280
result 195.1 180.0 1.0 1
judged "a wrong byte" 1 FAILED 280
check "... which is named" grep -q '^ *NO *no byte is wrong (1 errors)' "$work/said"
result 99.9 180.0 1.0 0
judged "a bare disk at less than half its throttle" 2 "this machine was too busy to say anything" 280
check_fails "... is not judged by its rates" grep -qE '^ *(yes|NO) .*(MB/s| s,)' "$work/said"
result 100.0 95.0 1.0 0
judged "at half" 0 "it works" 280
result 12.7 21.2 1.0 1
judged "wrong bytes on a busy machine are no matter of time" 1 FAILED 280
finish
