#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# model.sh [quick]: the protocols as models, searched exhaustively by spin; see README.md.
#
# Each model must hold as the code is, and be violated with each rule taken out. Every search is one test. Its
# folder is $O/model/<model><switches>: the verifier's words in pan.log, a violation of what should hold step by
# step in trail.log. "quick": the small searches only. MODEL="log -DCRASHES=1": this search and nothing else.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/vm/checks.sh
top=$PWD
out=${O:-build}/model
memory_mb=2000
quick=0
[ "${1-}" = quick ] && quick=1

if ! command -v spin >/dev/null || ! command -v gcc >/dev/null; then
	echo "model.sh: spin or gcc is missing: tests/setup.sh spin" >&2
	exit 1
fi

# search MODEL SWITCHES...: runs the verifier in a folder of its own, whose name is left in $dir
search() {
	local model=$1 optimize=-O2 name
	shift
	name=$model$(printf '%s' "$@")
	dir=$out/${name//-D/.}
	rm -rf "$dir"
	mkdir -p "$dir" && dir=$(realpath "$dir") || return 1
	# Of a short search most is the compiler's time.
	[ $quick -eq 1 ] && optimize=-O0
	(cd "$dir" && cp "$top/tests/model/$model.pml" . && spin -a "$@" "$model.pml" &&
		gcc $optimize -w -DSAFETY -DCOLLAPSE -DMEMLIM=$memory_mb -o pan pan.c) >"$dir/build.log" 2>&1 || return 1
	(cd "$dir" && ./pan -m10000 >pan.log 2>&1)
}

# A search counts only if it was complete.
complete() {
	grep -q 'errors: 0$' "$1" &&
		! grep -qE 'Search not completed|search depth too small|MEMLIM|max search depth|aborted|out of memory' "$1"
}

figures() {
	awk '/states, stored/ { s = $1 } /depth reached/ { sub(",", "", $0); for (i = 1; i < NF; i++) if ($i == "reached") d = $(i + 1) }
		/elapsed time/ { t = $4 } END { printf "%d states, depth %d, %.1f s", s, d, t }' "$1"
}

holds() {
	local what="$*: holds"
	if search "$@" && complete "$dir/pan.log"; then
		pass "$what ($(figures "$dir/pan.log"))"
		return
	fi
	if [ -e "$dir/$1.pml.trail" ]; then
		(cd "$dir" && spin -t -p -g "${@:2}" "$1.pml" >trail.log 2>&1)
		fail "$what" "$(grep -hE 'pan:' "$dir/pan.log" | head -n 1), see $dir/trail.log"
	else
		fail "$what" "$(tail -n 20 "$dir/build.log" "$dir/pan.log" 2>&1)"
	fi
}

# The rule that is taken out comes first.
broken() {
	local rule=$1 what found
	shift
	what="$1 without a rule ($rule): a violation is found"
	search "$@" -D"$rule"
	found=$(sed -n 's/^pan:1: \(assertion violated .*\)$/\1/p' "$dir/pan.log" 2>/dev/null | head -n 1)
	if [ -n "$found" ] && [ -e "$dir/$1.pml.trail" ]; then
		pass "$what (${found##*(}"
	else
		fail "$what" "$(tail -n 20 "$dir/build.log" "$dir/pan.log" 2>&1)"
	fi
}

if [ -n "${MODEL-}" ]; then
	# shellcheck disable=SC2086 # a model and its switches, one a word
	holds $MODEL
	finish
fi

# The rules of check-mutations, then those that only a model can break.
broken SKIP_DATA_FLUSH commit
broken PUBLISH_BEFORE_COMMIT move
broken REUSE_BEFORE_FREE commit -DOPS1=1
broken DIRTY_AT_SUBMISSION move
broken FUA_BEFORE_COMMIT commit -DSHARED -DFRESH
broken NO_CRC_CHAIN log
broken SKIP_ZEROING commit
broken FREE_WITHOUT_SECOND_DRAIN move -DW0=0 -DR=1 -DFLUSHES=0
if [ $quick -eq 0 ]; then
	broken NO_CRC_CHAIN commit -DOPS1=1
	broken DIRTY_AT_SUBMISSION commit -DSHARED -DFRESH
	broken SKIP_DATA_FLUSH move
	broken NO_REREAD move
	broken FREE_WITHOUT_DRAIN commit -DCROSS -DOPS1=1
	for rule in NO_REWRITE LATE_START NO_AREA_FLUSH SAME_PLACE; do
		broken $rule log
	done
fi

holds commit -DSHARED -DFRESH
holds commit -DOPS1=1
holds move
holds move -DW0=0 -DW1=1 -DREUSES=0
holds log -DCOMMITS=2 -DCHECKPOINTS=1
if [ $quick -eq 0 ]; then
	holds commit -DOPS1=1 -DFLUSH_ERRORS=1
	holds commit -DCROSS -DOPS1=1
	holds commit -DSHARED -DFRESH -DFLUSH_ERRORS=1
	holds commit -DSHARED -DFRESH -DMETA_ERRORS=1
	holds move -DR=1
	holds move -DR=1 -DMOVES=2 -DREUSES=2 -DFLUSHES=0
	holds move -DW0=2 -DABORTS
	holds move -DMOVES=2 -DFUA -DFLUSH_ERRORS=1
	holds move -DW1=1 -DREUSES=0 -DFLUSHES=0 -DFUA -DABORTS
	holds move -DW0=0 -DW1=2 -DREUSES=0
	holds move -DW0=0 -DW1=2 -DREUSES=0 -DFLUSHES=0 -DFUA -DABORTS -DMOVES=2 -DFLUSH_ERRORS=2
	holds log
	holds log -DCOMMITS=3 -DCHECKPOINTS=1 -DCRASHES=3
	# No rules: crashes alone need neither, see README.md.
	holds log -DNO_PREV_CRC -DNO_INCARNATION
fi
finish
