#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tpreduce: devices leave a pool that is in use, and every byte stays; refused, interrupted, killed, taken back, with
# and without tierd; dead devices.
#
# vm: --systemd --disk ssd=256M --disk hdd=640M --timeout 400
# vm-light: it measures no time
# vm-kernels: 6.1
. /src/tests/vm/pool.sh

column() { "$@" --noheadings | xargs; }
states() { column tps --devices -o dev_idx,dev_state p; }
used() { column tps --devices -o dev_used --units b --nosuffix -S "dev_idx=$1" p; }
left() { [ "$(used "$1")" -le $(($2 * 4194304)) ]; }
sums() { md5sum </dev/mapper/p-v; }
# rate BYTES-A-SECOND MOVES-AT-ONCE
rate() { dmsetup message p 0 set_rate "$1" && dmsetup message p 0 set_moves "$2"; }
# The label is gone, nobody has it open, and it can be used
has_left() { [ -z "$(head -c 4096 "$1" | tr -d '\0')" ] && ! dmsetup table p | grep -qw "$(stat -L -c %Hr:%Lr "$1")"; }
is_free() { has_left "$1" && mkfs.ext4 -q "$1"; }
# extend DEVICE [TIER]: it is a device of the pool again, and gets 8 extents of volume x
extend() {
	tpextend -q --wipesignatures p --tier "${2:-1}:$1" && { [ ! -e /dev/mapper/p-x ] || tvremove -q -y p/x; } &&
		tvcreate -q -V 32m --policy lowest -n x p && dd if=/dev/urandom of=/dev/mapper/p-x bs=4M count=8 oflag=direct status=none
}
# slowly IDX ARGUMENTS...: tpreduce in the background, some of its moves done, some to be done
slowly() {
	local idx=$1 some
	shift
	rate 2097152 1
	some=$(($(used "$idx") / 4194304 - 1))
	# Who is started in the background ignores SIGINT
	background reduce env --default-signal=INT tpreduce p "$@"
	wait_for 20 left "$idx" $some
}

meta=$(make_lv ssd meta 96M) t0=$(make_lv ssd t0 65M) a=$(make_lv hdd a 129M) b=$(make_lv hdd b 129M) c=$(make_lv hdd c 65M)
check "a pool" tpcreate -q -s 4m -m "$meta" p --tier "0:$t0" --tier "1:$a" --tier "1:$b"
tvcreate -q -V 112m --policy lowest -n v p
dd if=/dev/urandom of=/dev/mapper/p-v bs=1M count=112 oflag=direct status=none
before=$(sums)
check "its extents are on both devices" test "$(used 1)" -gt 0 -a "$(used 2)" -gt 0

# Refused before anything moves ------------------------------------------------------------------
exits 5 "$c is no device of pool p" tpreduce p "$c"
exits 5 "9 is no device of pool p" tpreduce p 9
exits 5 "/dev/no/such is no device of pool p" tpreduce p no/such
exits 3 "'1' and 'hdd/a' are the same device" tpreduce p 1 hdd/a
exits 5 "pool p: 28 extents (112.00m) of /dev/mapper/hdd-a, /dev/mapper/hdd-b need a place, and the other devices have room for 15 (60.00m)" \
	tpreduce p "$a" "$b"
exits 5 "would have no device left" tpreduce p 0 1 2
exits 0 "Would move" tpreduce -t p hdd/a
exits 5 "is online and has had no error" tpreduce --lost -y p "$a"
check_equal "nothing has changed" "0 online 1 online 2 online" "$(states)"

# Under I/O --------------------------------------------------------------------------------------
tvcreate -q -V 48m --policy lowest -n io p
background oracle oracle -s /run/state -t 600 -T 2 -p 5 -r 40 -d 5 -f 10 -g 64 -x 4096 /dev/mapper/p-io
wait_for 20 bash -c '[ "$(tvs --noheadings -o vol_used_extents p/io | xargs)" -gt 8 ]'
exits 0 "/dev/mapper/hdd-a has left pool p" tpreduce p "$a"
check_equal "it is no device any more" "0 online 2 online" "$(states)"
check "... and is free for something else" is_free "$a"
stop oracle
ended oracle "no write was lost meanwhile"
check_equal "no byte has changed" "$before" "$(sums)"
tvremove -q -y p/io
exits 5 "$a is no device of pool p" tpreduce p "$a"

# Interrupted, killed, restarted -----------------------------------------------------------------
check "the device again" extend "$a"
check "a drain that takes long" slowly 1 "$a"
check "another command does not wait for it" timeout 20 tvs
check "... not even one that changes something" timeout 20 tvchange -q --policy lowest p/x
kill -INT $!
await reduce
check_equal "Ctrl-C: it ends" 5 $?
check_equal "... says how far it is and how to go on or back" 1 "$(grep -c "of 8 extents have left /dev/mapper/hdd-a, which stays draining" /run/reduce.log)"
check "... with commands" grep -qF "To go on: \`tpreduce p $a\`. To take it back: \`tpreduce --cancel p $a\`." /run/reduce.log
check "another round, killed" slowly 1 "$a"
slay reduce
check_equal "it is draining" "0 online 1 draining 2 online" "$(states)"
check "deactivated" tpchange -q -an p
check "activated" tpchange -q -ay p
check_equal "it still is" "0 online 1 draining 2 online" "$(states)"
check "... on a terminal there is a bar" bash -c "script -qec 'tpreduce p 1' /dev/null >/run/bar && grep -q '##' /run/bar || { cat /run/bar; exit 1; }"
check_equal "the second run has finished it" "0 online 2 online" "$(states)"
check "... and it is free" is_free "$a"

# Taken back -------------------------------------------------------------------------------------
check "the device again" extend "$a"
check "a drain that takes long" slowly 1 1
exits 0 "/dev/mapper/hdd-a is in full use again" tpreduce --cancel p "$a"
await reduce
check_equal "taken back: the drain ends" "5 1" "$? $(grep -c 'another command has taken it back' /run/reduce.log)"
check_equal "... the device is in use" "0 online 1 online 2 online" "$(states)"
exits 0 "is in full use again" tpreduce --cancel p 1
rate 0 4

# Killed between any two of the last steps ---------------------------------------------------------
# last_steps: the numbers of the ioctls that change something, from the one that forgets on
steps() { awk '/ioctl\(/ { n++ } /"forget_device/ { on = 1 } on && (/DM_(TABLE_LOAD|DEV_SUSPEND)/ || /"(forget_device|commit)/) { print n }' /run/trace; }
tpreduce -q p 1
tvremove -q -y p/x
tpextend -q --wipesignatures p --tier "1:$a"	# empty: the same ioctls each time
strace -f -qq -v -e trace=ioctl -s 64 -o /run/trace tpreduce -q p "$a"
nr=0 bad=
for step in $(steps); do
	nr=$((nr + 1))
	tpextend -q --wipesignatures p --tier "1:$a" || bad+="$step: tpextend; "
	{ strace -f -qq -e trace=ioctl -e inject=ioctl:signal=KILL:when="$step" -o /run/trace tpreduce -q p "$a" >/dev/null; } 2>/dev/null
	[ $? -eq 137 ] || bad+="$step: not killed; "
	dmsetup udevcomplete_all -y >/dev/null 2>&1
	said=$(tpreduce -y p "$a" 2>&1) || bad+="$step: $said; "
	[ "$(states)" = "0 online 2 online" ] && has_left "$a" || bad+="$step: $(states); "
done
check_equal "killed before each of its last $nr steps, a second run finishes it" "" "$bad"
check "... there are some" test $nr -ge 5
tpextend -q --wipesignatures p --tier "1:$a"
dmsetup message p 0 set_device 1 draining && dmsetup message p 0 forget_device 1 && tpchange -q -an p && tpchange -q -ay p
exits 5 "is not of pool p, but has its label" tpreduce p "$a"
exits 0 "has left pool p" tpreduce -y p "$a"
check_equal "no byte has changed" "$before" "$(sums)"

# With tierd, and the last device of a tier ---------------------------------------------------------
check "the device again" extend "$a"
check "tierd" systemctl start tierd
check "... has the pool" wait_for 20 tierctl plan p
tvchange -q --policy highest p/x
rate 16777216 4
background tierd tierctl relocate --now p
exits 0 "has left pool p" tpreduce p "$a"
check "... tierd does not mind" wait_for 20 bash -c '[ "$(tps --noheadings -o relocation p | xargs)" = idle ]'
check_equal "... and had nothing to complain of" "" "$(journalctl -q -u tierd _COMM=tierd -p warning -o cat)"
await tierd
systemctl stop tierd
check_equal "a volume's first writes name both tiers" 1,0 "$(column tvs -o vol_placement p/v)"
check "the device again" tpextend -q p --tier "1:$a"
exits 0 "has left pool p" tpreduce p "$t0"
check_equal "... now only the one that is left" 1 "$(column tvs -o vol_placement p/v)"
check_equal "no byte has changed" "$before" "$(sums)"

# A device that dies -------------------------------------------------------------------------------
dmsetup create d --table "0 $((65 << 11)) linear $c 0"
tvremove -q -y p/x
tpreduce -q p "$a"
check "a device more" extend /dev/mapper/d
check_equal "it has all of a volume" "0 1 2 3 4 5 6 7" "$(column tes -o extent -S ext_dev=0 p/x)"
tpextend -q --wipesignatures p --tier "1:$a"
dmsetup suspend --noflush d && dmsetup load d --table "0 $((65 << 11)) error" && dmsetup resume d
check_fails "it dies" dd if=/dev/mapper/p-x of=/dev/null bs=1M iflag=direct
check "tierctl status has its errors" bash -c 'tierctl status p | grep -qE "^  device 0 of tier [0-9] \((online|failed)\): [0-9]+ I/O errors? since activation$"'
exits 5 "of volume p/x for one: src_read_error" tpreduce p 0
exits 5 "Nobody to ask here" tpreduce --lost p /dev/mapper/d
exits 0 "Volume p/x has 8 of its 8 extents on /dev/mapper/d: 0-7" tpreduce --lost -t p 0
check "it is given up" tpreduce --lost -y p /dev/mapper/d
check_equal "... that is its state" "0 lost 1 online 2 online" "$(states)"
check_equal "... which its health says" "device 0 was given up: 8 extents give errors" "$(tps --noheadings -o pool_health p | xargs)"
exits 0 "  device 0 was given up: 8 extents give errors" tierctl status p
check "... and it can be taken away" dmsetup remove d
check_equal "the others' bytes are there" "$before" "$(sums)"
exits 0 "Then \`tpreduce --lost p 0\`" tpreduce --lost p 0
check "deactivated" tpchange -q -an p
check "activated, without --partial" tpchange -q -ay p
check "what was lost is discarded" blkdiscard -f /dev/mapper/p-x
check "... and reads as zeros" cmp -n $((32 << 20)) /dev/mapper/p-x /dev/zero
check "... then the device can be forgotten" wait_for 10 bash -c 'tpreduce --lost -y p 0 | grep -q "Pool p has forgotten "'

# One that is not there any more
tvremove -q -y p/x
tpreduce -q p "$a"
wipefs -q -a "$c"
check "a device more" extend "$c"
check "deactivated" tpchange -q -an p
lvchange -an hdd/c
check "activated without it" tpchange -q -ay --partial p
exits 5 "device 0 of pool p is missing" tpreduce p 0
exits 0 "device 0 of pool p is given up" tpreduce --lost -y p 0
check "its volume goes" tvremove -q -y p/x
check "... and it is forgotten" wait_for 10 bash -c 'tpreduce --lost -y p 0 | grep -q "Pool p has forgotten "'
check "deactivated" tpchange -q -an p
check "activated" tpchange -q -ay p
check_equal "no byte has changed" "$before" "$(sums)"
check "the metadata are sound" bash -c "tpchange -an p && tpcheck $meta && tpremove -y p"
finish
