#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pool that fills up says so: in the journal, in tierctl status, in the selection of dm-tier(7), MONITORING.
#
# vm: --systemd --disk ssd=192M --disk hdd=352M --timeout 420
# vm-kernels: 6.1
# vm-light: it measures no time
. /src/tests/vm/lib.sh

# logged MESSAGE_ID-OR-FIELD...: how many entries of tierd there are with these
logged() { journalctl -q -u tierd -o cat "$@" | grep -c .; }
said() { [ "$(logged "MESSAGE_ID=$1")" = "$2" ]; }
filling=$(sed -n 's/.*POOL_FILLING,.*"\(.*\)".*/\1/p' /src/daemon/log.h)
full=$(sed -n 's/.*POOL_FULL,.*"\(.*\)".*/\1/p' /src/daemon/log.h)
back=$(sed -n 's/.*POOL_SPACE_BACK,.*"\(.*\)".*/\1/p' /src/daemon/log.h)
found=$(sed -n 's/.*VOLUME_FOUND,.*"\(.*\)".*/\1/p' /src/daemon/log.h)
errors=$(sed -n 's/.*DEVICE_ERRORS,.*"\(.*\)".*/\1/p' /src/daemon/log.h)
gone=$(sed -n 's/.*VOLUME_GONE,.*"\(.*\)".*/\1/p' /src/daemon/log.h)
# write FIRST COUNT: something into these extents of 4 MiB
write() {
	python3 - "$@" <<'PY'
import mmap, os, sys
device = os.open("/dev/tier/pool0/vol", os.O_WRONLY | os.O_DIRECT)
for extent in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
    os.pwrite(device, mmap.mmap(-1, 4096), extent << 22)
PY
}
status() { tierctl status pool0; }
shows() { status | grep -qF -- "$1"; }
monitor=$(sed -n '/^\.SH MONITORING/,/^\.SH /s/^\(tps .*\)$/\1/p' /src/man/dm-tier.7 | sed 's/\\-/-/g')
alarms() { bash -c "$monitor" 2>&1; }

check "the page has a selection to watch with" test -n "$monitor"
modprobe dm-tier
check "tierd runs" systemctl start tierd
check "tpcreate" tpcreate -q -s 4m -m "$(make_lv ssd meta 80M)" pool0 --tier "0:$(make_lv ssd t0 84M)" --tier "1:$(make_lv hdd t1 324M)"
check "tierd finds it" wait_for 10 bash -c 'journalctl -q -u tierd -o cat | grep -q "pool0: found, 2 devices, 0 volumes"'
check "tvcreate" tvcreate -q -V 800m -n vol pool0
check "the volume that came later is told" wait_for 10 said "$found" 1
check_equal "... with its name" 1 "$(logged "MESSAGE_ID=$found" TIERD_VOLUME=vol)"
check "tierctl status counts it" shows "1 volume, extents"

# 100 slots, of which one is in reserve ----------------------------------------------------------------
write 0 70
check "status says how full it is" shows "70 % of 400.00m used, 116.00m left for first writes"
check_equal "nothing to be told" "" "$(alarms)"
write 70 12
check "82 % is a warning, without waiting for the counters" wait_for 70 said "$filling" 1
check_equal "... with its priority and pool" 1 "$(logged -p warning "MESSAGE_ID=$filling" TIERD_POOL=pool0)"
check "the selection shows the pool, with both devices" test "$(alarms | grep -c 'pool0 *active *rw *82.00')" = 2
write 82 17
check_equal "all but the reserve" "99.00" "$(tps --noheadings -o pool_used_percent pool0 | xargs)"
check "status: full" shows "FULL: first writes wait for space, and fail after no_space_timeout"
check_equal "no_space_timeout 3" 0 "$(table=$(dmsetup table pool0) && dmsetup load pool0 --table "$table 2 no_space_timeout 3" && dmsetup suspend pool0 && dmsetup resume pool0; echo $?)"
write 99 1 2>/run/write &
writer=$!
check "a first write waits: so does its mode say" wait_for 3 shows "pool pool0: out_of_space"
check "the journal has an error, at once" wait_for 3 said "$full" 1
check_fails "the write fails" wait $writer
check "... with ENOSPC" grep -q 'No space left on device' /run/write
check "status: full all the same" shows "FULL: first writes wait"
check "writes to what is there go on" write 0 99
check_equal "the error is said once" 1 "$(logged -p err "MESSAGE_ID=$full")"
check "after a restart it is said once more" systemctl restart tierd
check "... it is" wait_for 10 said "$full" 2
check "space is given back" blkdiscard -o $((50 << 22)) -l $((40 << 22)) /dev/tier/pool0/vol
check "the journal tells" wait_for 70 said "$back" 1
check "status is quiet" bash -c '! tierctl status pool0 | grep -q FULL'
check_equal "so is the selection" "" "$(alarms)"
check "a first write succeeds" write 99 1

# A device that has errors -----------------------------------------------------------------------------
table=$(dmsetup table hdd-t1)
becomes() { dmsetup suspend --noflush hdd-t1 && dmsetup load hdd-t1 --table "$1" && dmsetup resume hdd-t1; }
check_fails "none: status has no such line" shows "  device 1"
check "it dies" becomes "0 $((324 << 11)) error"
check_fails "... reads fail" dd if=/dev/tier/pool0/vol of=/dev/null bs=4M iflag=direct
check "the journal tells within a minute" wait_for 70 said "$errors" 1
check_equal "... as a warning" 1 "$(logged -p warning "MESSAGE_ID=$errors" TIERD_POOL=pool0)"
check "so does status" bash -c "tierctl status pool0 | grep -q '^  device 1 of tier 1 (.*): [0-9]* I/O errors* since activation'"
check "it is back" becomes "$table"

check "tvremove" tvremove -q -y pool0/vol
check "is told" wait_for 10 said "$gone" 1
# The guest was installed with DESTDIR, so this is left to it.
check "the catalog explains" bash -c "journalctl --update-catalog && journalctl -x -q -u tierd MESSAGE_ID=$full | grep -q 'Pool pool0 is full'"
check "an inactive pool is no good one" bash -c "tpchange -q -an pool0 && $monitor | grep -q 'pool0 *inactive'"
systemctl stop tierd
check "tpremove" tpremove -q -y pool0
finish
