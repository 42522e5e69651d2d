#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lint.sh: every static check. Each counts as one test of the suite "lint"; a tool that is not installed is a
# failure, not a skip. LINT_BASE=<commit> says since when lines count as changed for clang-format.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/vm/checks.sh
out=${O:-build}
tmp=$(mktemp -d) || exit 1
at_end rm -rf "$tmp"
shopt -s nullglob

run() {	# WHAT FUNCTION
	if "$2" >"$tmp/log" 2>&1; then
		pass "$1"
		grep -E '^warning: ' "$tmp/log"
	else
		fail "$1" "$(tail -n 60 "$tmp/log")"
	fi
}

layers() {
	MAKEFLAGS='' make -s O="$out" SAN=0 user >&2 && tests/lint-layers.sh "$out"
}

# Compilers call different functions for the same code.
layers_clang() {
	MAKEFLAGS='' make -s O="$out/lint-clang" CC=clang SAN=0 user >&2 && tests/lint-layers.sh "$out/lint-clang" | grep -v '^warning: '
	return "${PIPESTATUS[0]}"
}

shell() {
	local scripts
	mapfile -t scripts < <(git ls-files -co --exclude-standard | while read -r file; do
		case $file in *.sh) echo "$file" ;; *.[ch]|*.py|*.md) ;; *) head -c 40 "$file" 2>/dev/null | grep -aqE '^#!.*\b(ba)?sh' && echo "$file" ;; esac
	done)
	# SC1091: the guest sees the tree as /src, so its scripts source /src/..., which is not there here.
	# SC2016: scripts for the guest are passed in single quotes, and mean it.  SC2317: functions called by name.
	shellcheck -e SC1091,SC2016,SC2317 "${scripts[@]}"
}

# Suppressed: GNU C's arithmetic on void pointers; one array used for two types (-fno-strict-aliasing); equal
# starting values; and where cppcheck does not see that a buffer is filled through a struct.
run_cppcheck() {	# INCLUDES... -- FILES...
	local includes=()
	while [ "$1" != -- ]; do includes+=("$1"); shift; done
	shift
	[ $# -eq 0 ] || cppcheck -q --std=c11 --language=c --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=arithOperationsOnVoidPointer --suppress=invalidPointerCast --suppress=duplicateAssignExpression \
		--suppress='*:*/lib/kshim/*' --suppress=uninitvar:lib/table.c \
		--template='{file}:{line}: {severity}: {message} [{id}]' -D_GNU_SOURCE -D__x86_64__ "${includes[@]}" "$@"
}
cppcheck_user() { run_cppcheck -Ilib -Iinclude -Idaemon -Icli -- lib/*.c daemon/*.c cli/*.c; }
cppcheck_kernel() { run_cppcheck -Ilib/kshim -Ikernel -Iinclude -D__KERNEL__ --include=tests/lint-kernel.h -- kernel/*.c; }

# Only what concerns our files counts: the kernel's own headers are not ours to mend.
sparse_module() {
	local kernel log=$tmp/sparse
	for kernel in 6.1 6.12; do
		MAKEFLAGS='' make O="$out" modules KERNELS="$kernel" VARIANT=sparse C=2 CF=-D__CHECK_ENDIAN__ >"$log" 2>&1 ||
			{ cat "$log"; return 1; }
		if grep -E 'dm-tier[^ ]*: (warning|error):' "$log"; then
			return 1
		fi
	done
}

# clang-format has opinions on tables that a human aligned for a reason, so it advises; LINT_FORMAT=strict insists.
changed_format() {
	local base=${LINT_BASE-} diff
	if [ -z "$base" ]; then
		base=$(git merge-base HEAD origin/main 2>/dev/null)
		# On main itself: the last commit and what is not committed yet
		[ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse -q --verify HEAD~1) || return 0
	fi
	diff=$(git clang-format --diff --extensions c,h "$base" -- kernel lib daemon cli include tests) || [ -n "$diff" ] || return 1
	case $diff in
	""|"no modified files to format"|"clang-format did not modify any files") return 0 ;;
	esac
	mkdir -p "$out" && echo "$diff" >"$out/format.diff"
	echo "warning: clang-format would change $(grep -c '^+[^+]' <<<"$diff") lines since ${base:0:12}, see $out/format.diff"
	[ "${LINT_FORMAT-}" != strict ]
}

# checkpatch over whole files. What it cannot know: __has_include, and that user space is not the kernel, for which
# only the rules of layout count.
checkpatch() {
	local script line place findings=0
	script=$(tests/vm/fetch checkpatch) || return 1
	while IFS= read -r line; do
		place=${line%%: *}
		sed -n "${place##*:}p" "${place%:*}" 2>/dev/null | grep -q '__has_include' && continue
		echo "$line"
		findings=$((findings + 1))
	done < <(perl "$script" --no-tree --no-summary --terse --show-types --max-line-length=100 "$@" | grep -E '(ERROR|WARNING|CHECK):')
	[ "$findings" -eq 0 ]
}
kernel_style() {
	local files=(kernel/*.[ch] include/*.h)
	[ ${#files[@]} -eq 0 ] || checkpatch -f "${files[@]}" \
		--ignore FILE_PATH_CHANGES,LINUX_VERSION_CODE,SPDX_LICENSE_TAG,PREFER_PACKED,MACRO_ARG_REUSE,COMPLEX_MACRO
}
user_style() {
	local files=(lib/*.[ch] daemon/*.[ch] cli/*.[ch] tests/*/*.[ch])
	[ ${#files[@]} -eq 0 ] || checkpatch -f "${files[@]}" --types CODE_INDENT,TRAILING_WHITESPACE,LONG_LINE,SPACE_BEFORE_TAB,\
OPEN_BRACE,ELSE_AFTER_BRACE,TRAILING_STATEMENTS,POINTER_LOCATION,SWITCH_CASE_INDENT_LEVEL,INDENTED_LABEL,DOS_LINE_ENDINGS,\
RETURN_PARENTHESES,LEADING_SPACE,MULTILINE_DEREFERENCE,NEW_TYPEDEFS,FUNCTION_WITHOUT_ARGS
}

python_sources() {
	local files
	mapfile -t files < <(git ls-files -co --exclude-standard | while read -r file; do
		case $file in *.py) echo "$file" ;; *.*) ;; *) head -c 40 "$file" 2>/dev/null | grep -aq '^#!.*python3' && echo "$file" ;; esac
	done)
	[ ${#files[@]} -eq 0 ] || python3 - "${files[@]}" <<-'PY'
		import ast, sys
		for path in sys.argv[1:]:
		    ast.parse(open(path, encoding="utf-8").read(), path)
	PY
}

run "layers, purity, names" layers
run "the same, as clang compiles it" layers_clang
run "shellcheck" shell
run "python files parse" python_sources
run "cppcheck: user space" cppcheck_user
run "cppcheck: kernel" cppcheck_kernel
run "sparse: the module, endian checks on" sparse_module
run "checkpatch: kernel and contract" kernel_style
run "checkpatch: layout of user space" user_style
run "clang-format: changed lines" changed_format
finish
