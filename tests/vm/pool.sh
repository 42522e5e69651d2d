# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What suites of the module share, on top of lib.sh:  . /src/tests/vm/pool.sh
#
# The pool is /dev/mapper/tp, volume <id> is /dev/mapper/v<id>; made with plain dmsetup. `tierformat` gives
# device i the UUID of bytes i + 1.
#
#   pool_format [OPTION...] META TIER:DEV...  formats; $pool_line is the table line without features
#   pool_up [FEATURE...]             the pool from $pool_line
#   pool_reload [FEATURE...]         another table from $pool_line: load, suspend, resume
#   volume_new ID EXTENTS [LABEL]    makes a volume and activates it
#   volume_up ID [ro]                activates it
#   volumes_down, pool_down          away with the volumes; with them and the pool
#   msg WORD...                      a message to the pool, its answer
#   slice NAME SECTORS [DISK [FIRST]]  a dm-linear device on a disk (NAME)
#   pool_value KEY [IDX]             a field of the pool's status, or of one device in it: the names are below
#   map_of ID                        its map, all of it
#   extent_of ID EXTENT              "tier device slot valid-regions" of one extent
#   checked [WHAT]                   a check: all answers follow the grammar and agree with each other
#   logged WORDS                     a condition: the kernel's log has these words
#   quiet                            a condition: no move is queued or active, no slot is on its way
#   moved VOLUME EXTENT TARGET [SECONDS]  moves an extent, waits; prints "result reason bytes passes freeze-us";
#                                    tries again if a freeze met its deadline
#   home VOLUME EXTENT TIER          a condition: the extent is on that tier, moved if need be
#
#   background NAME COMMAND...       starts it; its output goes to /run/NAME.log
#   stop NAME, slay NAME             SIGTERM to it; SIGKILL, and it is gone
#   blocked NAME                     a condition: it waits for I/O
#   ended NAME WHAT [SECONDS]        a check: it has ended well, in time
#   await NAME                       waits until it has ended, well or not
#   account NAME                     notes the last line of its output, words of name=number ...
#   got WORD                         ... and this is the number, 0 if it is not there
#   share PERCENT N OF               a condition: N is at least that much of OF
. /src/tests/vm/lib.sh
extent_sectors=2048
pool_line=

modprobe dm-tier || { fail "the module loads"; exit 1; }

# The pool -----------------------------------------------------------------------------------------------

msg() { dmsetup message tp 0 "$*"; }

pool_format() {
	pool_line=$(tierformat "$@") || return 1
	extent_sectors=$(cut -d' ' -f2 <<<"$pool_line")
}
pool_table() { echo "$pool_line${1:+ $# $*}"; }
pool_up() { dmsetup create tp --table "$(pool_table "$@")"; }
pool_reload() {
	dmsetup load tp --table "$(pool_table "$@")" && dmsetup suspend tp && dmsetup resume tp
}

volume_uuid() { printf 'aabbccdd-0000-0000-0000-%012d' "$1"; }
volume_new() {
	msg create_volume "$1" $(($2 * extent_sectors)) "$(volume_uuid "$1")" "${3:--}" && volume_up "$1"
}
volume_table() {
	local sectors
	sectors=$(msg volumes | awk -v id="$1" '$1 == id { print $4 }') && [ -n "$sectors" ] || return 1
	echo "0 $sectors tier /dev/mapper/tp $1"
}
volume_up() {
	local table
	table=$(volume_table "$1") && dmsetup create "v$1" ${2:+--readonly} --table "$table" && udevadm settle
}
volumes_down() {
	local name
	udevadm settle
	for name in $(dmsetup ls --target tier 2>/dev/null | sed -n 's/^\(v[0-9]*\)\t.*/\1/p'); do
		dmsetup remove --retry "$name" || return 1
	done
}
pool_down() { volumes_down && udevadm settle && dmsetup remove --retry tp; }

slice() {
	dmsetup create "$1" --table "0 $2 linear $(disk "${3:-$1}") ${4:-0}" && udevadm settle
}

# Asking it ----------------------------------------------------------------------------------------------

answers() { /src/tests/vm/answers.py "$1" tp; }
pool_value() {
	dmsetup status tp | awk -v key="$1" -v idx="${2:-}" '{
		split("mode commit log needs_check extent_sectors region_sectors", head)
		split("idx tier state slots used reserved quarantined parked ios sectors errors", device)
		split("queued active done cancelled failed bytes", moves)
		for (i = 1; i <= 6; i++) value[head[i]] = $(3 + i)
		for (d = 0; d < $10; d++) {
			for (i = 1; i <= 11; i++) value[$(11 + 11 * d) "." device[i]] = $(10 + 11 * d + i)
			going += $(16 + 11 * d) + $(18 + 11 * d)
		}
		at = 10 + 11 * $10
		for (i = 1; i <= 6; i++) value[moves[i]] = $(at + i)
		for (i = at + 8; i < NF; i += 2) value[$i] = $(i + 1)
		value["going"] = going + value["queued"] + value["active"]
		key = idx == "" ? key : idx "." key
		if (!(key in value)) exit 1
		print value[key]
	}'
}
map_of() {
	msg map "$1" 0 "$(msg volumes | awk -v id="$1" -v size="$extent_sectors" '$1 == id { print $4 / size }')"
}
extent_of() { msg map "$1" "$2" 1 | cut -d' ' -f3-; }
logged() { dmesg | grep -qF -- "$1"; }
quiet() { [ "$(pool_value going)" = 0 ]; }
# Freed slots are on their way for up to a second.
checked() {
	local what=${1:-the pool answers by the grammar, and without contradictions}
	wait_for 10 quiet && msg commit
	if wait_for 5 answers check; then
		pass "$what"
	else
		check "$what" answers check
	fi
}

move_ended() { msg moves since 0 | awk -v id="$1" 'NR > 1 && $2 == id { found = 1 } END { exit !found }'; }
moved() {
	local id tries answer
	for tries in 1 2 3; do
		id=$(msg migrate "$1" "$2" "$3") || return 1
		wait_for "${4:-30}" move_ended "$id" || return 1
		answer=$(msg moves since 0 | awk -v id="$id" 'NR > 1 && $2 == id { print $7, $8, $9, $10, $11 }')
		[[ $answer == "failed deadline"* ]] || break
		note "try $tries: a freeze took too long: the host is busy" >&2
	done
	echo "$answer"
}
home() {
	[ "$(extent_of "$1" "$2" | cut -d' ' -f1)" = "$3" ] || [[ $(moved "$1" "$2" "$3") == "done - "* ]]
}

# In the background --------------------------------------------------------------------------------------

declare -A background_pid
# A program is only running when it is no shell any more, whose traps are those of this suite.
exec_done() { [ "$(readlink "/proc/$1/exe")" != "$(readlink /proc/$$/exe)" ]; }
background() {
	local name=$1
	shift
	"$@" >"/run/$name.log" 2>&1 &
	background_pid[$name]=$!
	[ "$(type -t "$1")" != file ] || wait_for 10 exec_done $!
}
stop() { kill -TERM "${background_pid[$1]}" 2>/dev/null; }
slay() {
	kill -KILL "${background_pid[$1]}"
	wait "${background_pid[$1]}" 2>/dev/null
}
running() { kill -0 "${background_pid[$1]}" 2>/dev/null; }
blocked() { grep -q '^State:.D' "/proc/${background_pid[$1]}/status"; }
not_running() { ! running "$1"; }
ended() {
	local code
	if ! wait_for "${3:-60}" not_running "$1"; then
		fail "$2" "$1 hangs"
		echo w >/proc/sysrq-trigger	# who is blocked, to the console
		kill -KILL "${background_pid[$1]}"
		return 1
	fi
	wait "${background_pid[$1]}"
	code=$?
	if [ $code -eq 0 ]; then
		pass "$2"
	else
		fail "$2" "exit code $code of $1"$'\n'"$(tail -n 20 "/run/$1.log")"
	fi
	return $code
}
await() { wait "${background_pid[$1]}"; }
stop_all() {
	local name
	for name in "${!background_pid[@]}"; do
		running "$name" && kill -KILL "${background_pid[$name]}"
		wait "${background_pid[$name]}" 2>/dev/null
	done
}
at_end stop_all

declare -A numbers
account() {
	local word
	numbers=()
	for word in $(tail -n 1 "/run/$1.log"); do
		[[ $word =~ ^[a-z_]+=[0-9]+$ ]] && numbers[${word%%=*}]=${word#*=}
	done
	note "$1: $(tail -n 1 "/run/$1.log")"
}
got() { echo "${numbers[$1]:-0}"; }
share() { [ $(($2 * 100)) -ge $(($1 * $3)) ]; }
