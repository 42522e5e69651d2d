#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The harness tests itself: each detector once, with a module that is bad on purpose; every way a run can
# end; disks that survive a kill; files that come back; nothing left behind.
# vm-light: it measures no time that a busy host would spoil
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/vm/hostlib.sh

vm() { tests/vm/run --no-build --quiet --timeout 90 "$@"; }

# ended WHAT WANT CODE LOG: a run must have ended with this exit code
ended() {
	if [ "$3" -eq "$2" ]; then
		pass "$1"
	else
		fail "$1" "exit code $3 instead of $2"$'\n'"$(tail -n 40 "$4")"
	fi
}

# expect WHAT CODE OPTION...: the run must end so
expect() {
	local what=$1 want=$2
	shift 2
	vm "$@" >"$work/log" 2>&1
	ended "$what" "$want" $? "$work/log"
}

# bad KERNEL NAME [KERNEL-ARGUMENTS [SECONDS]]: the bug of that name must trip the detector of that name. These are
# many and each is idle for a while: two guests at a time; all_bad waits for all and counts them.
jobs=()
bad() {
	local kernel=$1 name=$2
	TIER_VM_SLOTS=2 vm --kernel "$kernel" --extra-module "$work/$kernel/tier-bad.ko" --append "${3-}" \
		--expect-splat "$name" -c "modprobe tier-bad bug=$name; sleep ${4-0}" >"$work/$kernel.$name.log" 2>&1 &
	jobs+=("$! $kernel $name")
}
all_bad() {
	local job pid kernel name
	for job in "${jobs[@]}"; do
		read -r pid kernel name <<<"$job"
		wait "$pid"
		ended "detector $name, kernel $kernel" 0 $? "$work/$kernel.$name.log"
	done
}

for kernel in 6.1 6.12; do
	mkdir "$work/$kernel"
	cp tests/vm/bad/* "$work/$kernel"
	check "the bad module compiles for $kernel" make -s -C "$(tests/vm/fetch headers $kernel)" M="$work/$kernel" \
		KCFLAGS=-Werror CONFIG_DEBUG_INFO_BTF_MODULES= modules
done

for name in bug warning panic oops atomic refcount list slab; do
	bad 6.1 $name
done
bad 6.1 hung_task sysctl.kernel.hung_task_timeout_secs=3 10
bad 6.1 lockup watchdog_thresh=2
bad 6.1 rcu "rcupdate.rcu_cpu_stall_timeout=3 watchdog_thresh=60"
bad 6.1 memory slub_debug=FZ
bad 6.12 bug
bad 6.12 memory slab_debug=FZ
all_bad

expect "a splat fails a run that ends with 0" 97 --extra-module "$work/6.1/tier-bad.ko" \
	-c 'modprobe tier-bad bug=warning; exit 0'
expect "a splat that was expected and is not there is a failure" 97 --expect-splat bug -c true
expect "the script's exit code comes back" 7 -c 'exit 7'
expect "a timeout is a failure" 124 --timeout 8 -c 'sleep 1000'
expect "a guest that does not boot is a failure" 96 --boot-timeout 1 -c true
check "... after another try" grep -q 'no boot in 1 s before the guest was up: once more' "$work/log"
expect "a guest that dies is a failure" 96 -c 'echo b >/proc/sysrq-trigger; sleep 60'
expect "a kill that never came is a failure" 95 --kill-on NEVER -c true
expect "a wrong option is an error of its own" 125 --disk ssd=1G,speed=7 -c true

# A clock that is told a wrong rate: twice as fast here, whatever the command says.
khz=$(cd tests/vm && python3 -c 'from harness import accel; print(accel.tsc_khz())')
TIER_ACCEL=tcg expect "a guest whose clock runs wrong gives no verdict" 125 --append "tsc_early_khz=$((khz / 2))" -c 'sleep 16'
check "... and says why" grep -q "the guest's clock ran wrong: [0-9.]* s there, [0-9.]* s here" "$work/log"

expect "6.12 boots with systemd, nothing failed" 0 --kernel 6.12 --systemd \
	-c 'case $(uname -r) in 6.12.*) ;; *) exit 1 ;; esac; [ "$(systemctl is-system-running --wait)" = running ]'

# A file of the host goes in, comes back doubled; script arguments arrive.
mkdir "$work/out"
head -c 5000000 /dev/urandom >"$work/out/in"
cat "$work/out/in" "$work/out/in" >"$work/twice"
cat >"$work/script" <<'S'
cat /host/in /host/in >"/host/$1" && echo "said: $2"
S
expect "files go both ways" 0 --out "$work/out" "$work/script" result "two words"
check "the file came back whole" cmp "$work/twice" "$work/out/result"
check "the output came back" grep -qx "said: two words" "$work/log"
check "so did the console" grep -q "Linux version 6.1" "$work/out/console.log"

expect "a throttle holds within 10 %" 0 --disk slow=1G,iops=200 --disk fast=1G --out "$work/out" -c '
	iops() {
		fio --name=t --filename=/dev/disk/by-id/virtio-$1 --rw=randread --bs=4k --ioengine=libaio --iodepth=8 \
			--direct=1 --runtime=4 --time_based --output-format=json |
			python3 -c "import json, sys; print(int(json.load(sys.stdin)[\"jobs\"][0][\"read\"][\"iops\"]))"
	}
	slow=$(iops slow) fast=$(iops fast)
	echo "iops: slow $slow fast $fast" | tee /host/iops
	[ "$slow" -ge 180 ] && [ "$slow" -le 220 ] && [ "$fast" -gt 1000 ]'
note "$(cat "$work/out/iops")"

expect "a disk's options reach the guest" 0 --disk a=64M,lbs=4096 --disk b=64M,ro --disk c=64M,log="$work/writes" -c '
	d=/dev/disk/by-id/virtio-
	[ "$(blockdev --getss ${d}a)" = 4096 ] && [ "$(blockdev --getro ${d}b)" = 1 ] &&
		dd if=/dev/zero of=${d}c bs=64k count=16 oflag=direct conv=fsync status=none'
check "every write was logged" test "$(stat -c %s "$work/writes")" -gt 1048576

# Killed without warning: what the guest's disk had completed is there in the next run.
expect "the guest is killed at the word" 0 --keep "$work/disks" --disk a=64M --kill-on '^written$' -c '
	echo precious | dd of=/dev/disk/by-id/virtio-a bs=4k conv=sync oflag=direct status=none && echo written && sleep 1000'
expect "a kept disk is found again" 0 --keep "$work/disks" --disk a=64M -c '
	[ "$(head -n 1 /dev/disk/by-id/virtio-a)" = precious ]'

# Counted instructions: the same work takes the same guest time, to the microsecond nearly. What else the guest does
# just then (udev, the workers of a start) comes in between: hence the median, as in the benchmark.
for turn in 1 2; do
	expect "a counted run, number $turn" 0 --icount --out "$work/out" -c '
		python3 -c "
import statistics, time
def work():
    start = time.monotonic_ns()
    sum(range(400000))
    return time.monotonic_ns() - start
print(statistics.median_low(work() for turn in range(7)))" >/host/ns'
	mv "$work/out/ns" "$work/ns$turn"
done
check "two counted runs differ by less than 1 %" awk '{ ns[NR] = $1 } END {
	d = ns[1] - ns[2]; print ns[1], ns[2]; exit !(NR == 2 && ns[1] > 0 && d * d < (ns[1] / 100) ^ 2) }' "$work/ns1" "$work/ns2"
note "guest ns: $(cat "$work/ns1" "$work/ns2" | xargs)"

# Interrupted: it ends, and neither QEMU, nor virtiofsd, nor a folder stays.
O=$work/o tests/vm/run --no-build -c 'echo started; sleep 1000' >"$work/log" 2>&1 &
pid=$!
if wait_for 60 grep -q started "$work/log"; then
	children=$(pgrep -P $pid | xargs)
	kill -TERM $pid
	wait $pid
	check_equal "a terminated run says so" 143 $?
	check_equal "it had QEMU and virtiofsd as children" 2 "$(wc -w <<<"$children")"
	for child in $children; do
		check "its child $child is gone" test ! -e "/proc/$child"
	done
	check_equal "its folder is gone" "" "$(ls "$work/o/vm")"
else
	fail "a run to interrupt starts" "$(cat "$work/log")"
	kill -KILL $pid
fi

# Ctrl-C at a terminal is a SIGINT to all of the foreground's process group; only with job control has one started
# from a script a group of its own. Who ran this may have the signal ignored, which is inherited.
# interrupt WHAT READY COMMAND...: once READY is in its output; its exit code must be 130, and nothing stay
interrupt() {
	local what=$1 ready=$2 group
	shift 2
	set -m
	"$@" >"$work/log" 2>&1 </dev/null &
	group=$!
	set +m
	if ! wait_for 60 grep -q "$ready" "$work/log"; then
		fail "$what: there is something to interrupt" "$(cat "$work/log")"
	fi
	children=$(pgrep -P $group | xargs)
	kill -INT -- -$group
	wait $group
	check_equal "$what, interrupted: exit code" 130 $?
	check_equal "... one line" 1 "$(awk -v ready="$ready" 'seen; $0 ~ ready { seen = 1 }' "$work/log" | wc -l)"
	check "... that says so" grep -q ': interrupted' <(tail -n 1 "$work/log")
	for child in $children; do
		check "... its child $child is gone" test ! -e "/proc/$child"
	done
	check "... nothing of its process group is left" wait_for 10 bash -c "! pgrep -g $group"
}
interrupt "a run" started env --default-signal=INT O="$work/o" tests/vm/run --no-build -c 'echo started; sleep 1000'
check_equal "... its folder is gone" "" "$(ls "$work/o/vm")"
interrupt "what fetches" "building the guest image" env --default-signal=INT TIER_CACHE="$work/cache" tests/vm/fetch image
check_equal "... no half of an image" "" "$(find "$work/cache" -name '*root*' ! -name '*.lock')"
finish
