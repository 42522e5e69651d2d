#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lint-layers.sh [O]: the rules of the house that a script can check. Errors fail; sizes only warn.
#
#  1 every source file has its SPDX line
#  2 layers: kernel/ includes only its own headers and dm-tier.h; lib/ includes lib/, dm-tier.h and the kernel's pure
#    headers (code that exists once); daemon/ and cli/ include lib/ and themselves, never each other
#  3 one includer each: libdevmapper, libudev, libconfig; one file that knows a kernel version
#  4 pure files: only harmless headers; their objects (if O is given) call nothing but memory, string and
#    arithmetic functions and each other, and have no writable data
#  5 names: kernel symbols begin with dm_tier_, the library's with tier_
#  6 no typedef of a struct, no BUG_ON, no unbounded string functions, no marks of unfinished work
#  7 a function that a comment names, as name(), is somewhere
set -u
cd "$(dirname "$0")/.." || exit 1
out=${1-}
findings=$(mktemp) || exit 1
trap 'rm -f "$findings"' EXIT

# In a file, as much of this runs in subshells.
error() { echo "error: $*" >>"$findings"; }
# Each line on stdin is a finding.
errors_of() { local line; while IFS= read -r line; do error "$1: $line"; done; }

shopt -s nullglob
kernel=(kernel/*.[ch])
lib=(lib/*.[ch])
daemon=(daemon/*.[ch])
cli=(cli/*.[ch])
c_files=("${kernel[@]}" include/*.h "${lib[@]}" lib/kshim/*/*.h "${daemon[@]}" "${cli[@]}" tests/*/*.[ch])

# The library is pure but for these; a new file is pure until it is named here.
impure_lib=" dm scan probe format trace util "
kernel_pure=" args map heat format image replay types "
# Functions of the kernel's own that user space has to bring; the table of crc32c is computed once, before main().
shim=" crc32c "

is_pure() {	# FILE
	local name=${1##*/}
	name=${name%.*}
	case $1 in
	lib/*) [[ $impure_lib != *" ${name%%_*} "* ]] ;;
	kernel/*) [[ $kernel_pure == *" ${name#dm-tier-} "* ]] ;;
	*) false ;;
	esac
}

# 1 ------------------------------------------------------------------------------------------------
for file in "${c_files[@]}" Makefile kernel/Kbuild tests/*.sh tests/*/*.sh tests/*/*.py; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-only' || error "no SPDX line: $file"
done

# 2 ------------------------------------------------------------------------------------------------
quoted() { grep -Hno '^[ ]*#[ ]*include[ ]*"[^"]*"' "$@" /dev/null | sed 's/#.*"\(.*\)"/\1/'; }

check_layer() {	# LAYER "FOLDERS THAT MAY BE INCLUDED" FILES...
	local layer=$1 allowed=$2 place header folder
	shift 2
	while IFS= read -r place; do
		header=${place##*:}
		for folder in $allowed; do
			[ -e "$folder/$header" ] && continue 2
		done
		[ "$layer" = lib ] && is_pure "kernel/$header" && continue
		error "layers: $layer may not include \"$header\": ${place%:*}"
	done < <(quoted "$@")
}
check_layer kernel "kernel include" "${kernel[@]}"
check_layer lib "lib include" "${lib[@]}"
check_layer daemon "daemon lib include" "${daemon[@]}"
check_layer cli "cli lib include" "${cli[@]}"
grep -Hn 'include *<' include/*.h | grep -v '<linux/types.h>' | errors_of "the contract includes only <linux/types.h>"

# 3 ------------------------------------------------------------------------------------------------
only_in() {	# WHAT REGEX ALLOWED-FILES...
	local what=$1 regex=$2 file
	shift 2
	while IFS= read -r file; do
		[[ " $* " == *" $file "* ]] || error "$what may be used only in $*: $file"
	done < <(grep -lE "$regex" "${kernel[@]}" "${lib[@]}" "${daemon[@]}" "${cli[@]}" /dev/null)
}
only_in libdevmapper '# *include *<libdevmapper.h>' lib/dm.c cli/report.c
only_in libudev '# *include *<libudev.h>' daemon/discover.c
only_in libconfig '# *include *<libconfig.h>' daemon/config.c daemon/config_file.c
only_in "the kernel's version" 'LINUX_VERSION_CODE|<linux/version.h>' kernel/dm-tier-compat.h

# 4 ------------------------------------------------------------------------------------------------
lib_headers=' assert ctype errno inttypes limits math stdarg stdbool stddef stdint stdio stdlib string strings endian '
kernel_headers=' atomic bitops bitmap build_bug byteorder crc32c errno kernel limits list log2 math64 mm minmax sort slab sprintf
	string types unaligned overflow compiler kstrtox ctype bits sched crc32 '
for file in "${lib[@]}" "${kernel[@]}"; do
	is_pure "$file" || continue
	while IFS=: read -r line header; do
		case $file in
		lib/*) allowed=$lib_headers; name=${header%.h} ;;
		*) allowed=$kernel_headers; name=${header%.h}; name=${name##*/} ;;
		esac
		[[ $allowed == *[[:space:]]"$name"[[:space:]]* ]] || error "purity: $file:$line includes <$header>"
	done < <(grep -no '^[ ]*#[ ]*include[ ]*<[^>]*>' "$file" | sed 's/#.*<\(.*\)>/\1/')
done

# stdio.h is there for snprintf, stdlib.h for strtoull and qsort: what is really called is seen in the objects.
calls='^(bcmp|mem(cpy|set|cmp|move|chr|mem)|str(n?len|n?cmp|n?casecmp|r?chr|chrnul|c?spn|str|dup|ndup|pbrk|tod|tou?ll?|sep|tok_r|verscmp)|v?snprintf'
calls+='|v?sscanf|stpn?cpy|qsort|qsort_r|bsearch|abs|(exp2?|pow|log2?|log1p|expm1|sqrt|floor|ceil|l?l?round|fmin|fmax|fabs|ldexp|frexp)f?|[cm]alloc'
calls+='|realloc|reallocarray|free|abort|__assert_fail|__errno_location|__ctype_(b|tolower|toupper)_loc|__(mem|str|st|v?sn|isoc99).*|_GLOBAL_OFFSET_TABLE_'
calls+='|crc32c|kshim_.*|(dm_)?tier_.*)$'
if [ -n "$out" ]; then
	for object in "$out"/lib/*.o "$out"/kernel/*.o; do
		source=${object#"$out"/}
		source=${source%.o}.c
		[ -e "$source" ] || continue
		name=${source##*/}
		[[ $shim != *" ${name%.c} "* ]] || continue
		if is_pure "$source"; then
			nm -u "$object" | awk '{ print $2 }' | grep -vE "$calls" | errors_of "purity: $source calls"
			# .data.rel.ro is constant: tables of pointers in position independent code
			objdump -t "$object" | awk '$0 ~ / O \.(data|bss|tdata|tbss)/ && $0 !~ / O \.data\.rel\.ro/ { print $NF }' |
				errors_of "purity: $source has the variable"
		fi
		case $source in
		lib/*) prefix=tier_ ;;
		*) prefix=dm_tier_ ;;
		esac
		nm -g --defined-only "$object" | awk '{ print $3 }' | grep -v "^$prefix" |
			errors_of "names: $source exports (not $prefix...)"
	done
fi

# 6 ------------------------------------------------------------------------------------------------
sources=("${kernel[@]}" include/*.h "${lib[@]}" "${daemon[@]}" "${cli[@]}")
grep -HnE 'typedef +(struct|union|enum)' "${sources[@]}" /dev/null | errors_of "typedef"
grep -HnE '\bBUG(_ON)?\(' "${kernel[@]}" /dev/null | errors_of "BUG_ON in the kernel"
grep -HnE '\b(strcpy|strcat|sprintf|gets|system|popen|atoi|atol|alloca)\(' "${sources[@]}" /dev/null | errors_of "unsafe function"
grep -HnE '\b(TODO|FIXME|XXX|HACK)\b' "${sources[@]}" tests/*.sh tests/*/* Makefile 2>/dev/null |
	grep -v '^tests/lint-layers.sh:' | errors_of "unfinished"

# 7 ------------------------------------------------------------------------------------------------
python3 - "${c_files[@]}" <<'PY' | errors_of "comment"
import re, sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
texts = {path: open(path, encoding="utf-8").read() for path in sys.argv[1:]}
words = {word for text in texts.values() for word in re.findall(r"\w+", COMMENT.sub("", text))}
for path, text in texts.items():
    for comment in COMMENT.finditer("" if path.startswith("tests/vm/bad/") else text):
        for name in re.finditer(r"\b([a-z]\w+)\(\)", comment[0]):
            if name[1] not in words:
                line = text.count("\n", 0, comment.start() + name.start()) + 1
                print(f"{path}:{line}: there is no {name[1]}()")
PY

# sizes --------------------------------------------------------------------------------------------
for file in "${sources[@]}"; do
	lines=$(wc -l <"$file")
	[ "$lines" -le 600 ] || echo "warning: size: $file has $lines lines (one subject a file?)"
	awk -v file="$file" -v limit=60 '
		/^[a-zA-Z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
		/^{/ { start = NR }
		/^}/ && start { n = NR - start - 1; max = name ~ /_ctr$/ ? 80 : limit
			if (n > max) printf "size: %s:%d: %s() has %d lines\n", file, start, name, n; start = 0 }
	' "$file" | while IFS= read -r line; do echo "warning: $line"; done
done

cat "$findings"
[ ! -s "$findings" ]
