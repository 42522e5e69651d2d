#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tierctl and the columns that need tierd, with tierd on a real pool.
#
# vm: --systemd --disk ssd=256M --disk hdd=512M --timeout 600
# vm-kernels: 6.1
# vm-light: it measures no time
. /src/tests/vm/lib.sh

column() { "$@" --noheadings | xargs; }
rows() { "$@" --reportformat json | python3 -c 'import json, sys
print(len(list(json.load(sys.stdin)["report"][0].values())[0]))'; }
heat() {
	fio --name=heat --filename=/dev/tier/pool0/vol --rw=randread --bs=4k --number_ios=20000 --offset="$1"m \
		--size="$2"m --norandommap --ioengine=libaio --iodepth=32 --direct=1 --thread --gtod_reduce=1 >/dev/null
}
knows_pool() { [ "$(tps --noheadings -o relocation pool0 2>/dev/null | xargs)" = "${1:-idle}" ]; }

date -s '2031-05-05 12:00:00' >/dev/null	# far from the default window
modprobe dm-tier
tpcreate -q -s 4m -m "$(make_lv ssd meta 80M)" pool0 --tier "0:$(make_lv ssd t0 61M)" --tier "1:$(make_lv hdd t1 301M)"
tvcreate -q -V 160m -n vol --policy lowest pool0
tvcreate -q -V 40m -n other pool0
dd if=/dev/urandom of=/dev/tier/pool0/vol bs=1M oflag=direct status=none
tvchange -q --policy auto pool0/vol
sums=$(md5sum </dev/tier/pool0/vol)

for verb in relocate plan pause resume abort reload; do
	exits 5 "tierd is not running" tierctl $verb
done
exits 5 "tierd is not running" tps -o +relocation
exits 5 "tierd is not running" tes -o +ext_heat pool0
exits 0 "tierd is not running" tierctl status
systemctl start tierd
check "tierd finds the pool" wait_for 10 knows_pool
exits 0 "relocation: idle" tierctl status
exits 0 "window: daily 00:00 8h fast (next, 2031-05-06 00:00:00 to 2031-05-06 08:00:00), rate fast" tierctl status pool0
check_equal "columns of tierd" "pool0 idle daily 00:00 8h fast" "$(column tps -o pool_name,relocation,window pool0)"
check_equal "... a row a tier" "2" "$(rows tps --tiers -o +tier_name,tier_heat,tier_up,tier_down,tier_in,tier_headroom pool0)"
check_equal "... of volumes" "2" "$(rows tvs -o +vol_heat pool0)"

check_equal "a new volume of which tierd knows nothing: heat of its extents" "0 10" \
	"$(tvcreate -q -V 40m -n new pool0; tes -a --reportformat json -o ext_heat pool0/new | python3 -c 'import json, sys
heats = [float(row["ext_heat"]) for row in json.load(sys.stdin)["report"][0]["extent"]]
print(round(sum(heats)) if sum(heats) > 50 else 0, len(heats))')"
tvcreate -q -V 40m -n newer pool0
exits 0 "newer" tierctl heatmap pool0
tvremove -q -y pool0/new pool0/newer

# Ten hot extents at the bottom, for more than a day
exits 0 "How long they take is not known yet" tierctl plan pool0
heat 0 40
heat 0 40
date -s '2031-05-06 20:00:00' >/dev/null
systemctl restart tierd
check "tierd is back" wait_for 10 knows_pool
heat 0 40
check "a plan with moves" wait_for 60 bash -c 'tierctl plan pool0 | grep -q "hotter"'
check_equal "... ten up" 10 "$(rows tierctl plan pool0 -S 'move_from=1 && move_to=0')"
check_equal "... or fewer" 3 "$(rows tierctl plan --max 3 pool0)"
exits 0 "10 moves, 40.00m. How long they take is not known yet" tierctl plan pool0
check_equal "heat and reason of extents" 10 "$(rows tes -o extent,ext_heat,ext_reason -S 'ext_heat>100 && ext_reason=outside_window' pool0/vol)"
check_equal "what is pending" "40.00" "$(column tps -o pending_up --units m --nosuffix pool0)"
check "a heat map of tierd's heat" bash -c "! tierctl heatmap pool0 | grep -q 'tierd is not'"

exits 5 "pool1" tierctl relocate pool1
exits 5 "nope" tierctl relocate pool0/nope
exits 3 "never" tierctl relocate --rate never pool0
exits 3 "is neither" tierctl relocate a/b/c
exits 0 "Would relocate pool0" tierctl relocate -t --now pool0
exits 0 "is paused" tierctl pause pool0
check_equal "... is seen" paused "$(column tps -o relocation pool0)"
exits 5 "paused" tierctl relocate --now pool0
exits 0 "goes on" tierctl resume pool0
exits 0 "has begun" tierctl relocate --now --rate 1MiB pool0
check_equal "... is seen" relocating "$(column tps -o relocation pool0)"
exits 0 "by hand" tierctl status
exits 0 "has ended" tierctl abort pool0
check "... ends" wait_for 10 knows_pool
check "an interrupt ends the waiting only" bash -c 'tierctl relocate --now --rate 1MiB --wait pool0 >/run/wait & sleep 2
	kill -INT $!; wait $!; [ $? -eq 5 ] && grep -q "It goes on" /run/wait'
check_equal "... it goes on" relocating "$(column tps -o relocation pool0)"
tierctl abort -q pool0
wait_for 10 knows_pool
exits 0 "0 failed, 0 left" tierctl relocate --now --wait pool0
check_equal "all ten are up" "10,30" "$(column tvs -o vol_tier_extents pool0/vol)"
check_equal "they are the hot ones" "0 1 2 3 4 5 6 7 8 9" "$(column tes -o extent -S ext_tier=0 pool0/vol)"
check_equal "with their bytes" "$sums" "$(md5sum </dev/tier/pool0/vol)"
exits 0 "10 moves done" tierctl status

echo 'nonsense = 1;' >/etc/tierd.conf
exits 5 "/etc/tierd.conf:1" tierctl reload
exits 0 "the last reload was refused: /etc/tierd.conf:1" tierctl status
echo 'schedule = ( { days = "daily"; start = "00:00"; duration = "8h"; rate = "1MiB"; } );' >/etc/tierd.conf
exits 0 "has read" tierctl reload
tvchange -q --policy lowest pool0/vol
exits 0 "10 moves, 40.00m, about 0:00:40 hours." tierctl plan pool0
exits 0 "10 to come, about 0:00:40 hours" tierctl status
su nobody -s /bin/bash -c 'PATH=$PATH:/usr/sbin:/usr/local/sbin tierctl pause' >/run/nobody 2>&1
code=$?
check_equal "others may change nothing" "5 1" "$code $(grep -c 'only from root' /run/nobody)"

# tierd hangs ------------------------------------------------------------------------------------------
kill -STOP "$(systemctl show -P MainPID tierd)"
start=$SECONDS
exits 0 "tierd is running but does not answer" tierctl status pool0
check "... and that is said within seconds" test $((SECONDS - start)) -le 20
check "... with what the kernel knows" bash -c 'tierctl status pool0 2>/dev/null | grep -q "40.00m"'
kill -CONT "$(systemctl show -P MainPID tierd)"

# Without windows
echo 'schedule = ( );' >/etc/tierd.conf
exits 0 "has read" tierctl reload
exits 0 "nothing moves without" tierctl relocate pool0
exits 0 "window: none" tierctl status
echo 'mode = "measure"; schedule = ( { days = "daily"; start = "00:00"; duration = "24h"; } );' >/etc/tierd.conf
exits 0 "has read" tierctl reload
check "mode measure has no other reason" bash -c 'tierctl status | grep -q "relocation: measure$"'

# A configuration that is wrong: the unit fails once, and says why; one that is right starts it
echo 'nonsense = 1;' >/etc/tierd.conf
check_fails "tierd does not start with it" systemctl restart tierd
sleep 7	# longer than RestartSec
check_equal "... and is not tried again and again" "failed 6 0" \
	"$(systemctl show -P ActiveState tierd) $(systemctl show -P ExecMainStatus tierd) $(systemctl show -P NRestarts tierd)"
check "... the log says where" bash -c 'journalctl -q -u tierd -p err -o cat | grep -q "^/etc/tierd.conf:1: there is no key"'
rm /etc/tierd.conf
check "systemctl start tierd" systemctl start tierd
check "tierd is back" wait_for 10 knows_pool

# Reports that are too large for the memory
tvcreate -q -V 1200g -n huge pool0
check_equal "each extent, as it comes, in little memory" "307200 1" "$(python3 - <<'PY'
import resource, subprocess
lines = subprocess.run(["tes", "-a", "--unbuffered", "--noheadings", "pool0/huge"], stdout=subprocess.PIPE, check=True).stdout.count(b"\n")
print(lines, int(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 64 << 10))
PY
)"
exits 0 "--unbuffered shows them as they come" bash -c 'tes -a pool0/huge >/dev/null'
exits 3 "neither with JSON" tes --unbuffered --reportformat json
exits 5 "7.00e is too large" tvcreate -V 7e -n larger pool0
tvremove -q -y pool0/huge

# A device that is marked as read-only is not written to
tpchange -q -an pool0
blockdev --setro /dev/hdd/t1
exits 5 "/dev/mapper/hdd-t1 is read-only" tpchange -ay pool0
exits 0 "is active" tpchange -ay --readonly pool0
tpchange -q -an pool0
blockdev --setrw /dev/hdd/t1
exits 0 "is active" tpchange -ay pool0

# Nothing is left of a pool that was removed
check "tierd saved its state" wait_for 10 bash -c 'ls /var/lib/tierd/*.[01]'
systemctl stop tierd
check "tpremove" tpremove -q -y pool0
check_equal "... removes what tierd knew, too" "" "$(ls /var/lib/tierd)"
finish
