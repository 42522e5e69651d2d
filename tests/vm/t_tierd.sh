#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tierd as a service: it finds pools, relocates when the clock reaches a window, keeps heat over restarts and
# kill -9, leaves moves to end cleanly, and is on good terms with systemd, journal and bus.
#
# vm: --systemd --disk ssd=256M --disk hdd=512M --timeout 600
# vm-light: it measures no time
# vm-kernels: 6.1
. /src/tests/vm/lib.sh

extents=40	# of 4 MiB

property() { busctl --json=short get-property org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 "$1"; }
call() { busctl --json=short call org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 "$@"; }
# pool KEY: of the first pool; nothing if there is none
pool() {
	property Pools | python3 -c 'import json, sys
rows = json.load(sys.stdin)["data"]
print(rows[0][sys.argv[1]]["data"] if rows else "")' "$1"
}
pool_is() { [ "$(pool "$1")" = "$2" ]; }
# heats: of each extent of the volume, as of now
heats() {
	call Plan su pool0 1 >/dev/null && call Extents stt pool0/vol 0 "$extents" | python3 -c 'import json, sys
heat = {extent: heat for extent, heat, reason in json.load(sys.stdin)["data"][0]}
print(*[round(heat.get(extent, 0), 3) for extent in range(int(sys.argv[1]))])' "$extents"
}
# same_heats BEFORE NOW PERCENT
same_heats() {
	python3 - "$@" <<'PY'
import sys
before, now = ([float(word) for word in text.split()] for text in sys.argv[1:3])
# What is hardly used is left out: udev and LVM look at the first and the last extent of every new device.
worst = max(abs(a - b) / a * 100 for a, b in zip(before, now, strict=True) if a > 500)
print("differs by", worst, "%", before, now)
sys.exit(worst > float(sys.argv[3]) or max(before) < 1000)
PY
}
logged() { journalctl -q -u tierd --since "$since" -o cat | grep -qE -- "$1"; }
# tiers FIRST LAST: the tiers on which these extents lie
tiers() {
	dmsetup message pool0 0 map 0 "$1" $(($2 - $1 + 1)) | awk '{ for (i = 0; i < $2; i++) printf "%s", $3 } END { print "" }'
}
no_moves() { [ -z "$(dmsetup message pool0 0 moves)" ]; }
some_moves() { ! no_moves; }
sums() { md5sum </dev/mapper/pool0-vol; }
# heat FIRST COUNT: 8,000 random reads of each of these extents; what udev reads of a new device is nothing to it
heat() {
	fio --name=heat --filename=/dev/mapper/pool0-vol --rw=randread --bs=4k --io_size=$(($2 * 32))m --offset=$(($1 * 4))m \
		--size=$(($2 * 4))m --norandommap --ioengine=libaio --iodepth=32 --direct=1 --thread --gtod_reduce=1 >/dev/null
}
pid() { systemctl show -P MainPID tierd; }
restarts() { systemctl show -P NRestarts tierd; }

date -s '2031-05-05 12:00:00' >/dev/null
since=$(date '+%F %T')
modprobe dm-tier

# Alone ----------------------------------------------------------------------------------------
check "systemctl start tierd" systemctl start tierd
check_equal "it is ready, with a status" "no pool is active" "$(systemctl show -P StatusText tierd)"
check_equal "it is watched" 3min "$(systemctl show -P WatchdogUSec tierd)"
check "its memory is locked" awk '/^VmLck/ { exit !($2 > 0) }' "/proc/$(pid)/status"
check_fails "a second one refuses" tierd
check "and says why" bash -c 'tierd 2>&1 | grep -q "another tierd is running"'

# A pool comes ---------------------------------------------------------------------------------
meta=$(make_lv ssd meta 96M) t0=$(make_lv ssd t0 65M) t1=$(make_lv hdd t1 305M)
check "tpcreate" tpcreate -q -s 4m -m "$meta" pool0 --tier "0:$t0" --tier "1:$t1"
check "tierd finds it" wait_for 10 logged 'pool0: found, 2 devices'
check "and counts" wait_for 10 bash -c '[ "$(busctl get-property org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 Pools | grep -o "last_collect\" x [0-9]*" | cut -d" " -f3)" -gt 0 ]'
check_equal "its window is the default" "daily 00:00 8h fast" "$(pool window)"
check_equal "it opens at midnight, local time" "$(date -d '2031-05-06 00:00' +%s)" "$(pool window_start)"

check "a volume at the bottom" tvcreate -q -V $((extents * 4))m --policy lowest -n vol pool0
check "filled" dd if=/dev/urandom of=/dev/mapper/pool0-vol bs=1M count=$((extents * 4)) oflag=direct status=none
check_equal "all on tier 1" "$(printf '1%.0s' $(seq $extents))" "$(tiers 0 $((extents - 1)))"
before=$(sums)
tvchange -q --policy auto pool0/vol
heat 10 5

# The window -----------------------------------------------------------------------------------
check "a plan for five extents" bash -c '[ "$(busctl --json=short call org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 Plan su pool0 0 | python3 -c "import json, sys; print(json.load(sys.stdin)[\"data\"][1])")" = 5 ]'
check_equal "that wait for the window" "idle outside_window 5" "$(pool state) $(pool reason) $(pool pending_moves)"
check_equal "nothing has moved" 11111 "$(tiers 10 14)"
date -s '2031-05-06 00:00:00' >/dev/null
check "the clock is set to midnight: relocation begins" wait_for 10 logged 'pool0: relocation begins, a window opened'
check "the five move up" wait_for 30 bash -c "[ \"\$(dmsetup message pool0 0 map 0 10 5 | awk '\$3 == 0 { n += \$2 } END { print n }')\" = 5 ]"
check "nothing else does" test "$(tiers 0 9)$(tiers 15 $((extents - 1)))" = "$(printf '1%.0s' $(seq $((extents - 5))))"
check "the bus says so" wait_for 5 pool_is up_moves 5
check_equal "no byte has changed" "$before" "$(sums)"
check "a journal entry for programs" bash -c 'journalctl -q -u tierd -o json MESSAGE_ID=c2cecaecd98d4bc1993431b98881d9e8 TIERD_POOL=pool0 | grep -q TIERD_BYTES'
check_equal "each move has an entry with all its fields" "10:1>0:hotter:4194304 11:1>0:hotter:4194304 12:1>0:hotter:4194304 13:1>0:hotter:4194304 14:1>0:hotter:4194304" \
	"$(journalctl -q -u tierd -o json -p info MESSAGE_ID=69efc8fb90c94a4ba18806c3de870cdf TIERD_POOL=pool0 TIERD_VOLUME=vol | python3 -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(*sorted("{TIERD_EXTENT}:{TIERD_FROM}>{TIERD_TO}:{TIERD_REASON}:{TIERD_BYTES}".format(**row) for row in rows))')"
date -s '2031-05-06 09:00:00' >/dev/null
check "the window closes" wait_for 10 logged 'relocation ended \(the window closed\): 5 moves up \(20MiB\), 0 down'

# Restarts -------------------------------------------------------------------------------------
known=$(heats)
check "systemctl restart tierd" systemctl restart tierd
check "is back" wait_for 10 pool_is name pool0
check "heat survives it" same_heats "$known" "$(heats)" 1
touch /run/began
check "its state is saved" wait_for 90 bash -c '[ -n "$(find /var/lib/tierd -type f -newer /run/began)" ]'
heat 30 2
known=$(heats)
count=$(restarts)
kill -9 "$(pid)"
check "killed: systemd starts it again" wait_for 20 bash -c "[ \"\$(systemctl show -P NRestarts tierd)\" -gt $count ] && systemctl is-active -q tierd"
check "it finds the pool again" wait_for 10 pool_is name pool0
check "heat survives kill -9, with what came in after the last save" same_heats "$known" "$(heats)" 2

# Moves end cleanly when tierd dies --------------------------------------------------------------
heat 20 5
check "relocate now, slowly" call Relocate sbs pool0 true 1MiB
check "moves are under way" wait_for 10 some_moves
kill -9 "$(pid)"
check "tierd dies: they just finish" wait_for 30 no_moves
check "they did not fail" bash -c "dmsetup message pool0 0 moves since 0 | awk 'NR > 1 && \$7 != \"done\" { bad = 1 } END { exit bad || NR < 3 }'"
check_equal "no byte has changed" "$before" "$(sums)"
check "tierd comes back" wait_for 20 pool_is state idle

# By hand, and the end ---------------------------------------------------------------------------
check "relocate now" call Relocate sbs pool0/vol true 1MiB
check "moves are under way" wait_for 10 some_moves
check_equal "by hand, outside of the window" "relocating True False" "$(pool state) $(pool by_hand) $(pool window_open)"
check "pause" call Pause s pool0
check "ends them" wait_for 5 pool_is state paused
check "in the kernel too" no_moves
check "resume" call Resume s pool0
check "goes on" wait_for 10 some_moves
start=$SECONDS
check "systemctl stop with moves under way" systemctl stop tierd
check "takes seconds" test $((SECONDS - start)) -le 6
check "and leaves none" no_moves
check_equal "a clean end" success "$(systemctl show -P Result tierd)"
systemctl start tierd

# Configuration ----------------------------------------------------------------------------------
printf 'hysteresis = 3;\nhalf_live = "2h";\n' >/etc/tierd.conf
systemctl reload tierd
check "a bad configuration is refused, with line and hint" wait_for 5 logged '/etc/tierd.conf:2: there is no key "half_live" here; did you mean "half_life"\?'
check "the bus has it too" wait_for 5 bash -c 'busctl get-property org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 ConfigError | grep -q half_live'
check_equal "the old one is in force" "daily 00:00 8h fast" "$(pool window)"
echo 'schedule = ( { days = "mon-fri"; start = "21:00"; duration = "2h"; rate = "slow"; } );' >/etc/tierd.conf
check "Reload by bus" call Reload
check "a good one is taken" wait_for 5 pool_is window "weekdays 21:00 2h slow"
echo 'mode = "nothing";' >/etc/tierd.conf
check "Reload by bus tells what is wrong" bash -c 'busctl call org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 Reload 2>&1 | grep -q "tierd.conf:1: \"mode\" is \"nothing\""'
timedatectl set-timezone America/New_York 2>/dev/null || ln -sf /usr/share/zoneinfo/America/New_York /etc/localtime
call Plan su pool0 1 >/dev/null
check "a time zone that changes is noticed" wait_for 65 pool_is window_start "$(TZ=America/New_York date -d '21:00' +%s)"
ln -sf /usr/share/zoneinfo/UTC /etc/localtime

# Policies of tierd.conf ---------------------------------------------------------------------------
policy() { tvs --noheadings -o vol_policy,vol_policy_from,vol_placement "pool0/$1" | xargs; }
policy_is() { [ "$(policy "$1")" = "$2" ]; }
conf_policies() {
	echo "policy = \"$1\"; pools = ( { name = \"pool0\"; volumes = ( { name = \"listed\"; policy = \"$2\"; } ); } );" >/etc/tierd.conf
	systemctl reload tierd
}
conf_policies lowest highest
check "tvcreate without --policy: that of tierd.conf, at once" \
	bash -c '(tvcreate -V 8m -n listed pool0 && tvcreate -V 8m -n plain pool0) >/run/said'
check_equal "... as it says" "policy highest (tierd.conf). policy lowest (tierd.conf)." "$(grep -o 'policy .*' /run/said | xargs)"
check_equal "... tvs has them, and first writes follow" "highest config 0,1 lowest default 1,0" "$(policy listed) $(policy plain)"
check_equal "... nothing is in the labels" "name=listed name=plain" \
	"$(tvs --noheadings -o vol_label -S 'vol_name=listed || vol_name=plain' | xargs)"
conf_policies start-highest lowest
check "a reload changes them" wait_for 10 policy_is listed "lowest config 1,0"
check_equal "... both" "start-highest default 0,1" "$(policy plain)"
tpchange -q -ay pool0; tvrename -q pool0/plain pool0/flat
check_equal "... and commands that have nothing to do with policy leave them" "lowest config 1,0 start-highest default 0,1" \
	"$(policy listed) $(policy flat)"
check "a policy of its own wins" tvchange -q --policy highest pool0/listed
check_equal "... at once" "highest label 0,1" "$(policy listed)"
since=$(date '+%F %T')
systemctl reload tierd
check "... and tierd says that the line in tierd.conf is void" \
	wait_for 10 logged 'volume listed has the policy highest of its own, so its line in tierd.conf is void'
call Plan su pool0 1 >/dev/null
check_equal "... once, of no other volume" 1 "$(journalctl -q -u tierd --since "$since" -o cat | grep -c 'is void')"
check_equal "tvchange --policy default: tierd.conf again, at once" "Volume pool0/listed has the policy default, which is lowest; it acts at the next relocation." \
	"$(tvchange --policy default pool0/listed)"
check_equal "... for first writes, too" "lowest config 1,0" "$(policy listed)"
systemctl stop tierd
check_equal "without tierd nobody knows" "default default" "$(tvs --noheadings -o vol_policy,vol_policy_from pool0/listed | xargs)"
systemctl start tierd
tvremove -q -y pool0/listed pool0/flat
rm /etc/tierd.conf
check_equal "tierd -C without a file: the defaults" "/etc/tierd.conf is not there: the defaults are in force" "$(tierd -C 2>&1)"
check "... that holds" tierd -C
cp /src/conf/tierd.conf /etc/tierd.conf
check_equal "... with one" "/etc/tierd.conf: ok" "$(tierd -C)"
tierd -C /etc/not-there >/run/said 2>&1
check_equal "one that is named must be there" 5 $?
systemctl reload tierd
since=$(date '+%F %T')

# Others than root -------------------------------------------------------------------------------
check "anyone may read" runuser -u nobody -- busctl get-property org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 Pools
check_fails "but not change" runuser -u nobody -- busctl call org.dmtier.Tierd1 /org/dmtier/Tierd1 org.dmtier.Tierd1 Pause s pool0

# The pool goes and comes --------------------------------------------------------------------------
known=$(heats)
check "tpchange -an" tpchange -q -an pool0
check "tierd lets it go" wait_for 10 pool_is name ""
check "tpchange -ay" tpchange -q -ay pool0
check "tierd has it again" wait_for 10 pool_is name pool0
wait_for 10 heats
check "heat survives that" same_heats "$known" "$(heats)" 1
check_equal "no byte has changed" "$before" "$(sums)"

# Watchdog and bus ---------------------------------------------------------------------------------
mkdir -p /run/systemd/system/tierd.service.d
printf '[Service]\nWatchdogSec=2s\nRestartSec=1s\n' >/run/systemd/system/tierd.service.d/test.conf
systemctl daemon-reload
systemctl restart tierd
sleep 5	# more than two of its periods
check "it feeds the watchdog" test "$(restarts)" = 0
count=$(restarts)
kill -STOP "$(pid)"
check "when it hangs it is killed and started again" wait_for 30 bash -c "[ \"\$(systemctl show -P NRestarts tierd)\" -gt $count ] && systemctl is-active -q tierd"
check "as the journal tells" wait_for 5 bash -c 'journalctl -q -b -o cat -u tierd | grep -q "Watchdog timeout"'
check "and works" wait_for 10 pool_is name pool0
systemctl restart dbus
check "it finds its way back to a bus that was restarted" wait_for 20 pool_is name pool0

# The log ------------------------------------------------------------------------------------------
# The guest was installed with DESTDIR, so this is left to it.
check "the catalog explains" bash -c 'journalctl --update-catalog && journalctl -x -q -u tierd | grep -q "Relocation of pool pool0 begins"'
systemctl stop tierd
check_equal "nothing worse than a warning was logged but the configuration" "" \
	"$(journalctl -q -u tierd _COMM=tierd -p err -o cat | grep -v 'tierd.conf:')"
check "tpchange -an" tpchange -q -an pool0
finish
