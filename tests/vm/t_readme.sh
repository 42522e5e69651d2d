#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The README's tour, "Two minutes", as it stands there: each line of its code block runs, in order and at its true
# sizes (the disks are sparse), with tierd as its unit starts it. What the README says of a command is checked by
# its after_<command>; a command without one fails, so the tour cannot grow unseen.
#
# vm: --systemd --disk ssd=101G --disk sas=301G --disk nl=901G --timeout 600
# vm-kernels: 6.1
# vm-light: it measures no time
. /src/tests/vm/lib.sh

said=/run/said	# by the command that ran last
column() { "$@" --noheadings | xargs; }
# tiers: on which tier each extent of the volume lies, one line an extent
tiers() { column tes -o ext_tier pool0/data | tr ' ' '\n'; }
sums() { (cd /mnt && find . -type f -print0 | sort -z | xargs -0 md5sum); }
is_idle() { [ "$(column tps -o relocation pool0)" = idle ]; }
shows() { grep -qE -- "$1" "$said"; }

tour() { sed -n '/^## Two minutes$/,/^## /p' /src/README.md | awk '/^```/ { inside = !inside; next } inside && NF'; }

# What holds after each, called with its words ---------------------------------------------------------------

after_lvcreate() { check_equal "... of that size" "${3%[gm]}.00" "$(column lvs --units "${3: -1}" --nosuffix -o lv_size "$6/$5")"; }
after_tpcreate() {
	check_equal "... of these three devices, each on its tier" "0 /dev/mapper/vg_ssd-t0 1 /dev/mapper/vg_sas-t1 2 /dev/mapper/vg_nl-t2" \
		"$(column tps --devices -o tier,dev_path pool0)"
	check "... tierd finds it" wait_for 10 is_idle
}
after_tvcreate() {
	check_equal "... of that size, thin" "500.00 0" "$(column tvs -o vol_size,vol_used_extents --units g --nosuffix pool0/data)"
}
after_mkfs.xfs() {
	used=$(column tvs -o vol_used_extents pool0/data)
	check "... what was written has its place, and only that" test "$used" -gt 0 -a "$used" -lt 500
}
after_mount() {
	check_equal "... is mounted" xfs "$(findmnt -no FSTYPE /mnt)"
	for i in 1 2 3 4 5 6 7 8; do	# each folder in another allocation group
		mkdir /mnt/$i && dd if=/dev/urandom of=/mnt/$i/file bs=1M count=4 status=none
	done
	sync -f /mnt
	sums=$(sums)
	check_equal "... holds files" 8 "$(wc -l <<<"$sums")"
}
after_tps() {
	if [ "${2:-}" = --tiers ]; then
		check_equal "... shows the three tiers with their space" "0 99.00g 1 299.00g 2 899.00g" \
			"$(awk '$1 == "pool0" { print $2, $4 }' "$said" | xargs)"
	else
		check "... shows the pool, its tiers and devices" shows '^ *pool0 +active +rw +3 +3 +1 '
	fi
}
after_tvs() {
	check "... shows the policy" shows "^ *data +pool0 +open +${policy:-auto} "
	check_equal "... and what lies on which tier" "$(for t in 0 1 2; do tiers | grep -c "^$t$"; done | xargs | tr ' ' ,)" \
		"$(awk '$1 == "data" { print $NF }' "$said")"
}
after_tes() {
	check_equal "... shows each extent with a tier, heat and a reason" "$(column tvs -o vol_used_extents pool0/data)" \
		"$(awk 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$(at["Tier"]) ~ /^[0-2]$/ && $(at["Heat"]) ~ /^[0-9.]+$/ && $(at["Reason"]) ~ /^[a-z_]+$/' "$said" | wc -l)"
}
after_tvchange() {
	policy=$3
	check_equal "... is its policy" "$policy" "$(column tvs -o vol_policy pool0/data)"
	check_equal "... and nothing has moved yet" "$before" "$(tiers)"
	below=$(grep -vc '^0$' <<<"$before")
	check "... there is something to move" test "$below" -gt 0
}
after_tierctl() {
	case $2 in
	plan)
		check_equal "... lists every extent that is not on tier 0" "$below" "$(grep -c '^ *pool0 ' "$said")"
		check "... and that no relocation has been measured yet" shows "^$below moves, [0-9.]+[mg]. How long they take is not known yet"
		;;
	relocate)
		check "... comes to its end" wait_for 300 is_idle
		check_equal "... all is on tier 0" 0 "$(tiers | grep -vc '^0$')"
		check_equal "... with every byte" "$sums" "$(sums)"
		;;
	status)
		check "... tells of the pool" shows '^pool pool0: rw, 1 volume, '
		check "... and of the relocation" shows "up, 0 down, $below moves done, 0 failed"
		;;
	heatmap)
		check "... draws the volume on its tier" shows '^pool pool0, 20[0-9: -]+$'
		check "... with heat of tierd" bash -c "grep -q data $said && ! grep -q 'tierd is not' $said"
		;;
	*) fail "t_readme.sh has a check for: $*" ;;
	esac
}
after_umount() { check_fails "... is not mounted" findmnt /mnt; }
after_tpchange() {
	case $2 in
	-an) check_equal "... leaves no device" "" "$(dmsetup ls --target tier | grep -v '^No devices')$(dmsetup ls --target tier-pool | grep -v '^No devices')" ;;
	-ay)
		check "... tierd has it again" wait_for 10 is_idle
		mount /dev/tier/pool0/data /mnt
		check_equal "... with every byte" "$sums" "$(sums)"
		umount /mnt
		check_equal "... where it lay" 0 "$(tiers | grep -vc '^0$')"
		;;
	*) fail "t_readme.sh has a check for: $*" ;;
	esac
}

# The tour ---------------------------------------------------------------------------------------------------

date -s '2031-05-05 12:00:00' >/dev/null	# far from the default window
for name in ssd sas nl; do
	vgcreate -q "vg_$name" "$(disk $name)" >/dev/null
done
check "tierd runs" systemctl start tierd
policy=
mapfile -t lines < <(tour)
check "the README has a tour" test "${#lines[@]}" -gt 10
for line in "${lines[@]}"; do
	command=${line%%#*}
	read -ra words <<<"$command"
	before=$(tiers 2>/dev/null)
	eval "$command" >"$said" 2>&1 </dev/null
	code=$?
	sed 's/^/#   /' "$said"
	check_equal "${words[*]}" 0 $code
	if [ "$(type -t "after_${words[0]}")" = function ]; then
		"after_${words[0]}" "${words[@]}"
	else
		fail "t_readme.sh has a check for: ${words[*]}"
	fi
done
for word in lvcreate tpcreate tvcreate mkfs.xfs mount tps tvs tes tvchange tierctl tpchange; do
	check "the tour has $word" grep -q "^$word " <(printf '%s \n' "${lines[@]}")
done
check_equal "tierd had nothing to complain of" "" "$(journalctl -q -u tierd _COMM=tierd -p warning -o cat)"
tpremove -q -y pool0
finish
