#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands that are killed at any of their steps and repeated, interrupted, locked out, refused half way.
#
# vm: --disk meta=128M --disk t0=256M --disk t1=256M --disk k4=256M,lbs=4096 --timeout 1800
# vm-light: it measures no time
# vm-kernels: 6.1
. /src/tests/vm/lib.sh

modprobe dm-tier
meta=$(disk meta) t0=$(disk t0) t1=$(disk t1)
pool=(tpcreate -q -y -s 16m -m "$meta" p --tier "0:$t0")
column() { "$@" --noheadings | xargs; }
# What is there: "name tables" of all dm devices
devices() { dmsetup info -c --noheadings --separator ' ' -o name,tables_loaded | grep -v '^No dev' | sort | xargs; }
sectors() { blockdev --getsz "/dev/mapper/$1"; }


# steps COMMAND...: which of its ioctls change something, as numbers
steps() {
	strace -f -qq -e trace=ioctl -o /run/trace "$@" >/run/steps.log 2>&1 || cat /run/steps.log
	awk '/ioctl\(/ { n++ }
		/DM_(DEV_CREATE|TABLE_LOAD|DEV_SUSPEND|DEV_REMOVE|DEV_RENAME)/ { print n }
		/DM_TARGET_MSG/ && !/"(volumes|devices|map |moves|counters)/ { print n }' /run/trace
}
# killed STEP COMMAND...: it is, before that ioctl
killed() {
	local step=$1 code
	shift
	{ strace -f -qq -e trace=ioctl -e inject=ioctl:signal=KILL:when="$step" -o /run/trace "$@" >/dev/null; } 2>/dev/null
	code=$?
	dmsetup udevcomplete_all -y >/dev/null 2>&1
	[ $code -eq 137 ]
}
# cut_short SETUP COMMAND REPEAT EXPECTED UNDO: COMMAND is killed before each of its steps, what REPEAT says has to
# match, on one line
cut_short() {
	local setup=$1 command=$2 repeat=$3 expected=$4 undo=$5 step output bad='' nr=0
	eval "$setup"
	# shellcheck disable=SC2086 # words are what it is for
	steps $command >/run/points
	eval "$undo"
	while read -r step; do
		nr=$((nr + 1))
		eval "$setup"
		# shellcheck disable=SC2086
		killed "$step" $command || bad+="before ioctl $step: not killed"$'\n'
		output=$(eval "$repeat" 2>&1 | xargs -d '\n')
		grep -qE -- "$expected" <<<"$output" || bad+="before ioctl $step: $output"$'\n'
		eval "$undo"
	done </run/points
	[ $nr -gt 0 ] || bad="no step was found: $(cat /run/steps.log)"
	if [ -z "$bad" ]; then
		pass "$command, killed before each of $nr steps; then $repeat"
	else
		fail "$command, killed before some steps; then $repeat" "$bad"
	fi
}
new="tvcreate -q -V 64m -n v p" gone="exec 9<&-; tvremove -q -y p/v 2>/dev/null" hold="exec 9</dev/mapper/p-v"

# Killed and repeated ----------------------------------------------------------------------------
check "a pool" "${pool[@]}"
tvcreate -q -V 64m -n v p
cut_short "tpchange -q -an p" "tpchange -ay p" "tpchange -ay p; devices" 'is active.* p [^ N]+ p-v [^ N]+$' true
cut_short "tpchange -q -ay p" "tpchange -an p" "tpchange -an p; devices" 'not active any more. $|^ *$' true
tpchange -q -ay p
tvremove -q -y p/v
cut_short true "tvcreate -V 64m -n v --policy lowest p" "tvchange -ay p/v; column tvs -o vol_state,vol_placement p/v" \
	'^[^:]*active 0$|has no volume' "$gone"
cut_short "$new; tvchange -q -an p/v" "tvchange -ay p/v" "tvremove -y p/v; devices" ' p [^ N]+$' "$gone"
cut_short "$new; $hold" "tvextend -L 128m p/v" "tvextend -L 128m p/v; sectors p-v" 'is 128.00m now. 262144$' "$gone"
cut_short "$new; $hold" "tvrename p/v w" "tvrename p/v w; devices; column tvs -o vol_name p" \
	"(is called w now.|no volume .v.*) p [^ N]+ p-w [^ N]+ w$" "exec 9<&-; tvremove -q -y p/w 2>/dev/null"

# The others that finish it
$new
tvrename p/v w >/dev/null && dmsetup rename p-w p-v
dmsetup load p-v --table "$(dmsetup table p-v | sed 's/^0 [0-9]*/0 32768/')" && dmsetup resume p-v
dmsetup suspend --noflush p-v
check "tpchange -ay of an active pool" timeout 60 tpchange -ay p
check_equal "... gives a volume's device its name and size, and resumes it" "131072 Active" \
	"$(sectors p-w) $(dmsetup info -c --noheadings -o suspended p-w)"
dmsetup rename p-w p-v
exits 0 "Would rename /dev/mapper/p-v to p-w" tvchange -t -ay p/w
check "tvchange -ay" tvchange -ay p/w
check_equal "... the same" "p Live p-w Live" "$(devices)"
tvremove -q -y p/w

# Extending by a device --------------------------------------------------------------------------
exits 5 "has logical blocks of 4096 bytes, pool p of 512" tpextend --tier "1:$(disk k4)" p
exits 5 "has logical blocks of 4096 bytes" tpextend -t --tier "1:$(disk k4)" p
check_equal "... and was not touched" "" "$(head -c 1M "$(disk k4)" | tr -d '\0')"
steps tpextend --tier "1:$t1" p >/run/points
load=$(awk '/ioctl\(/ { n++ } /DM_TABLE_LOAD/ { print n; exit }' /run/trace)
check_equal "a device more" "online online" "$(column tps --devices -o dev_state p)"
tpremove -q -y p
check "the pool again" "${pool[@]}"
strace -f -qq -e trace=ioctl -e inject=ioctl:error=EIO:when="$load" -o /run/trace tpextend --tier "1:$t1" p >/run/log 2>&1
check_equal "a table that is refused: tpextend fails" "5 1" "$? $(grep -c 'cannot be reloaded' /run/log)"
check_equal "... the pool forgets the device" "online" "$(column tps --devices -o dev_state p)"
check_equal "... and the device the pool" "" "$(head -c 1M "$t1" | tr -d '\0')"
killed "$load" tpextend --tier "1:$t1" p
check_equal "cut short before the table the device is recorded" "online new" "$(column tps --devices -o dev_state p)"
dmsetup create blocker --table "0 2048 linear $t1 0"
tpchange -q -an p
exits 0 "was never taken into use" tpchange -ay p
check_equal "... which does not keep the pool down" "online new" "$(column tps --devices -o dev_state p)"
dmsetup remove blocker
# While writes wait for space, of which there is none
tvcreate -q -V 256m -n full p
dd if=/dev/zero of=/dev/mapper/p-full bs=1M count=256 oflag=direct conv=nocreat 2>/run/dd &
writer=$!
check "a pool is full" wait_for 60 bash -c '[ "$(tps --noheadings -o pool_mode p | xargs)" = out_of_space ]'
check "tvextend of a volume whose writes wait" tvextend -L +16m p/full
check "... they wait on" kill -0 $writer
exits 0 "is in tier 1 of pool p now" tpextend --tier "1:$t1" p
check_equal "... and the command can be repeated" "online online" "$(column tps --devices -o dev_state p)"
check "... what waited for space has got it" wait $writer

# What a scan would not find again ---------------------------------------------------------------
tvcreate -q -V 64m -n v p
before=$(md5sum </dev/mapper/p-v)
exits 5 "/dev/mapper/p-v is a pool or volume of dm-tier" tpextend -y p --tier 1:mapper/p-v
exits 5 "/dev/tier/p/v is a pool or volume of dm-tier" tpcreate -y -s 16m -m "$(disk k4)" q --tier 0:tier/p/v
exits 5 "/dev/tier/p/v is a pool or volume of dm-tier" tpcreate -y -s 16m -m tier/p/v q --tier "0:$(disk k4)"
dmsetup create over --table "0 65536 linear /dev/mapper/p-v 0"
exits 5 "/dev/mapper/over is built on a volume of dm-tier" tpextend -y p --tier 1:mapper/over
dmsetup remove over
check_equal "... and nothing was written" "$before" "$(md5sum </dev/mapper/p-v)"

# All are looked at first ------------------------------------------------------------------------
tvcreate -q -V 16m -n a p
eval "$hold"
exits 5 "volume p/v is in use" tvchange -an --policy highest p/a p/v
check_equal "... and nothing was done to the others" "active default" "$(column tvs -o vol_state,vol_policy p/a)"
exec 9<&-
dd if="$meta" of="$(disk k4)" bs=1M conv=fsync status=none
exits 5 "are copies of each other" tpremove -y p
check_equal "... and both are as they were" "0 active" "$(cmp -n 4096 "$meta" "$(disk k4)"; echo "$? $(column tps -o pool_state p)")"
tpchange -q -an p
check_equal "... and the pool is called doubled" doubled "$(column tps -o pool_state)"
exits 5 "are copies of each other" tpremove -y "$(column tps -o pool_uuid)"
dd if=/dev/zero of="$(disk k4)" bs=1M count=2 conv=fsync status=none
check "activate it, named twice" tpchange -ay p p

# Locks and signals ------------------------------------------------------------------------------
chmod 1777 /run/lock
su nobody -s /bin/bash -c 'exec 9>/run/lock/dm-tier.lock && flock 9 && echo locked && exec sleep 600' >/run/nobody &
nobody=$!
check "someone has a lock" wait_for 60 grep -q locked /run/nobody
check "... which stops nobody" timeout 60 tvcreate -q -V 16m -n w p
kill $nobody
exec 9>/run/dm-tier.lock
flock 9
tvremove -q -y p/w >/run/log 2>&1 9<&- &
waiter=$!
check "who waits for another command says so" wait_for 60 grep -q "waiting for another command" /run/log
exec 9<&-
wait $waiter
check_equal "... and then does what it should" 0 $?
step=$(steps tvcreate -V 16m -n w p | sed -n 2p)
tvremove -q -y p/w
strace -f -qq -e trace=ioctl -e inject=ioctl:signal=TERM:when="$step"+ -o /run/trace tvcreate -q -V 16m -n w p
check_equal "signals do not cut a command short" "0 active" "$? $(column tvs -o vol_state p/w)"

# Standard files that are closed -----------------------------------------------------------------
mkfs.ext4 -q "$(disk k4)"
before=$(md5sum <"$(disk k4)")
tpcreate -s 16m -m "$(disk k4)" q --tier "0:$(disk k4)" <&- >&- 2>&-
check_equal "closed standard files: refused" 5 $?
check_equal "... and no message goes to the disk" "$before" "$(md5sum <"$(disk k4)")"

check "the end" tpremove -y p
finish
