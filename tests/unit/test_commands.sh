#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Every command that a message tells somebody to run exists, with its options: those in double quotes in
# tierd.catalog, and those in `backquotes` in the strings of the CLI, the daemon and the library.
. "$(dirname "$0")/../vm/checks.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d) || exit 1
at_end rm -rf "$tmp"

# quoted: each command once, "<file>\t<command>"; %s and the like are words
quoted() {
	python3 - "$top" <<'PY'
import pathlib, re, sys
top = pathlib.Path(sys.argv[1])
found = set()
catalog = (top / "systemd/tierd.catalog").read_text()
for text in re.findall(r'"([^"]*)"', catalog):
    found.add(("tierd.catalog", " ".join(text.split())))
for path in sorted([*top.glob("cli/*.[ch]"), *top.glob("daemon/*.[ch]"), *top.glob("lib/*.[ch]")]):
    # comments away, but not what looks like one in a string; macros between strings are words
    tokens = re.findall(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|\w+|[^\w\s]', path.read_text(), re.S)
    tokens = [t for t in tokens if not t.startswith(("/*", "//"))]
    text = ""
    for token in [*tokens, ";"]:
        if token.startswith('"'):
            text += token[1:-1]
        elif not (text and re.fullmatch(r"(?:PRI|TIER_|BUS_)\w+", token)):
            for command in re.findall(r"`([^`]*)`", text):
                command = re.sub(r"%[-+ #0-9.*]*[a-z]+", "word", command.replace("\\n", " "))
                found.add((path.name, " ".join(command.split())))
            text = ""
for file, command in sorted(found):
    print(f"{file}\t{command}")
PY
}

applets="tpcreate tpextend tpreduce tpchange tpremove tps tpcheck tpdump tprestore tprepair tvcreate tvextend tvremove tvrename tvchange tvs tes"
# Of others, which are not built here; and what is quoted for other reasons.
others="systemctl journalctl udevadm systemd-machine-id-setup dmsetup modprobe lsblk vgchange lvchange wipefs blkdiscard blockdev dd fstrim dmesg"
no_commands="|No space left on device|volumes|"

# has_option HELP WORD: -a, -ay (a letter and its value), --long, --long=value
has_option() {
	local option=${2%%=*}
	[[ $option == --* ]] || option=${option:0:2}
	grep -qE -- "^  *(-., )?$option( |$)|^  *$option," "$1"
}

# exists COMMAND...: its program, verb and options do; "..." stands for whatever follows
exists() {
	local word
	case " $applets tierctl tierd " in *" $1 "*) ;; *) return 1 ;; esac
	if [ "$1" = tierctl ]; then
		[ $# -gt 1 ] || return 0
		if [ "$2" = -h ]; then return 0; fi
		tierctl "$2" -h >"$tmp/help" 2>&1 || return 1
		shift
	else
		"$1" -h >"$tmp/help" 2>&1 || return 1
	fi
	shift
	for word; do
		case $word in
		-) ;;
		-*) has_option "$tmp/help" "$word" || return 1 ;;
		esac
	done
}

quoted >"$tmp/quoted"
check "there are some of the catalog" test "$(grep -c '^tierd.catalog' "$tmp/quoted")" -ge 10
check "and of the CLI" test "$(grep -vc '^tierd.catalog' "$tmp/quoted")" -ge 30
while IFS=$'\t' read -r file command; do
	read -ra words <<<"$command"
	case " $others " in *" ${words[0]} "*) continue ;; esac
	[[ $no_commands != *"|$command|"* ]] || continue
	# An option alone is one of the reports.
	[[ $command != -* ]] || words=(tps "${words[@]}")
	check "$file: $command" exists "${words[@]}"
done <"$tmp/quoted"
# It can fail
check_fails "no such program" exists tpshow -a
check_fails "no such option" exists tps -a
check_fails "no such long option" exists tps --device
check_fails "no such command" exists tierctl state
finish
