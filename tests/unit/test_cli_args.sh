#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Command lines of the CLI that are refused before it looks at the system: exit code 3, a message that
# names the object, a next step, and nothing on the standard output. Needs neither root nor the module.
. "$(dirname "$0")/../vm/checks.sh"
tmp=$(mktemp -d) || exit 1
at_end rm -rf "$tmp"

# refused CODE WORDS-OF-THE-MESSAGE COMMAND...
refused() {
	local want=$1 words=$2 code
	shift 2
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	code=$?
	if [ "$code" -ne "$want" ]; then
		fail "$*" "exit code $code, not $want: $(cat "$tmp/err")"
	elif [ -s "$tmp/out" ]; then
		fail "$*" "it wrote to the standard output: $(cat "$tmp/out")"
	elif ! grep -qF -- "$words" "$tmp/err"; then
		fail "$*" "the message does not have '$words': $(cat "$tmp/err")"
	elif [ "$(wc -l <"$tmp/err")" -lt 2 ]; then
		fail "$*" "the message has no next step: $(cat "$tmp/err")"
	else
		pass "refused: $*"
	fi
}
bad() { refused 3 "$@"; }

version=$(sed -n 's/^VERSION := //p' Makefile)

applets="tpcreate tpextend tpreduce tpchange tpremove tps tpcheck tpdump tprestore tprepair tvcreate tvextend tvchange tvremove tvrename tvs tes"
verbs="relocate plan status pause resume abort reload heatmap"

# Every command, both ways it is called ---------------------------------------------------------
for applet in $applets; do
	check "$applet -h" bash -c "$applet -h | grep -q '^Usage: $applet '"
	check "tierctl $applet --help is the same" cmp <($applet -h) <(tierctl "$applet" --help)
	check_equal "$applet --version" "$applet (dm-tier) $version" "$($applet --version)"
	bad "there is no option '--nonsense'" "$applet" --nonsense
	bad "there is no option '-Z'" "$applet" -Z
done
for verb in $verbs; do
	check "tierctl $verb -h" bash -c "tierctl $verb -h | grep -q '^Usage: tierctl $verb '"
	bad "there is no option '--nonsense'" tierctl "$verb" --nonsense
done
check "tierctl -h lists every command" bash -c "for c in $applets $verbs; do tierctl -h | grep -q \"^  \$c \" || exit 1; done"
for command in tvs plan; do
	check "tierctl help $command" cmp <(tierctl $command -h) <(tierctl help $command)
	check "tierctl -h $command" cmp <(tierctl $command -h) <(tierctl -h $command)
done
check_equal "tierctl version" "$(tierctl --version)" "$(tierctl version)"
refused 2 "there is no command 'nonsense'" tierctl nonsense
refused 2 "there is no command 'nonsense'" tierctl help nonsense
bad "options come after a command, '-v' comes before" tierctl -v tvs
bad "options come after a command, '--nonsense' comes before" tierctl --nonsense
tierctl >"$tmp/out" 2>&1
check_equal "tierctl alone shows the commands, and it is no command" 3 $?
check_fails "a full disk is a failure" bash -c 'tpcreate -h >/dev/full'

check "tierctl help --help is tierctl -h" cmp <(tierctl -h) <(tierctl help --help)
for usage in "tpcreate -m DEVICE --tier TIER:DEVICE... [options] POOL" "tvcreate -n NAME -V SIZE [options] POOL" \
	"tvextend -L SIZE [options] POOL/VOLUME" "tprestore -o DEVICE [options]" "tprepair -i DEVICE -o DEVICE [options]"; do
	check_equal "the usage has what is needed" "Usage: $usage" "$(${usage%% *} -h | grep ^Usage)"
done
check "tvextend -h explains sizes" grep -q ^Sizes: <(tvextend -h)
check_fails "... tvs -h, which takes none, does not" grep -q ^Sizes: <(tvs -h)
check_fails "no command has exit code 2" grep -q "2 no such command" <(tvs -h)

# Words -----------------------------------------------------------------------------------------
for applet in tpcreate tpextend tpremove tpcheck tpdump tvcreate tvextend tvchange tvremove; do
	bad "is missing" "$applet"
done
bad "NEW_NAME is missing" tvrename p/v
bad "'b' is one word too many" tpcreate a b
bad "'q' is one word too many" tpextend p q
bad "'q' is one word too many" tpremove p q
bad "'q' is one word too many" tvcreate -n v -V 1g p q
bad "'w' is one word too many" tvrename p/v u w
bad "'q' is one word too many" tierctl relocate p q
bad "'q' is one word too many" tierctl pause p q
bad "'q' is one word too many" tierctl reload q

# tpcreate --------------------------------------------------------------------------------------
bad "pool p has no devices" tpcreate -m vg/m p
bad "pool p has no metadata device" tpcreate --tier 0:vg/a p
bad "'8:vg/a' is not a tier" tpcreate -m vg/m --tier 8:vg/a p
bad "'-1:vg/a' is not a tier" tpcreate -m vg/m --tier -1:vg/a p
bad "'vg/a' is not a tier" tpcreate -m vg/m --tier vg/a p
bad "'0:' is not a tier" tpcreate -m vg/m --tier 0: p
bad "'' is not the path of a device" tpcreate -m '' --tier 0:vg/a p
for extent in 0 3m 512k 32g x -1m 1z 1e3m 0x10m 1.5.5m 1mm '' ' 1m' 999999999999e; do
	bad "'$extent' is not the size of an extent" tpcreate -s "$extent" -m vg/m --tier 0:vg/a p
done
for region in 0 2k 3k 100k x; do
	bad "'$region' is not the size of a region" tpcreate --region "$region" -m vg/m --tier 0:vg/a p
done
bad "a region of 2.00m does not fit" tpcreate -s 1m --region 2m -m vg/m --tier 0:vg/a p
bad "a region of 4.00k does not fit" tpcreate -s 1g --region 4k -m vg/m --tier 0:vg/a p
for name in . .. control 'a b' a/b 'a%b' ä "$(printf 'a%.0s' {1..128})" -p ''; do
	bad "the pool name '$name'" tpcreate -m vg/m --tier 0:vg/a -- "$name"
done
# shellcheck disable=SC2046 # words are what it is for
bad "at most 64 devices" tpcreate -m vg/m $(printf -- '--tier 0:vg/%d ' {1..65}) p
bad "'--tier' needs a value" tpcreate p --tier
bad "'-m' needs a value" tpcreate p -m
bad "--wipesignatures=3" tpcreate --wipesignatures=3 p

# tpextend, tpchange ----------------------------------------------------------------------------
bad "'9:x' is not a tier" tpextend --tier 9:x p
bad "nothing to change" tpchange p
bad "-a cannot be 'x'" tpchange -ax p
bad "--partial and --readonly" tpchange -an --partial p
bad "--partial and --readonly" tpchange -an --readonly p

# tvcreate, tvextend, tvchange, tvrename --------------------------------------------------------
bad "the volume has no name" tvcreate -V 1g p
bad "volume v has no size" tvcreate -n v p
for size in 0 x 1x -5g 1.g.5 1gg '' 5ib 99999999999999999999g nan inf 1e9; do
	bad "'$size' is not the size of a volume" tvcreate -n v -V "$size" p
	bad "'$size' is not the size of a volume" tvextend -L "$size" p/v
done
bad "'+' is not the size of a volume" tvextend -L + p/v
bad "no new size for volume p/v" tvextend p/v
bad "there is no policy 'best'" tvcreate -n v -V 1g --policy best p
bad "there is no policy 'Highest'" tvchange --policy Highest p/v
bad "the volume name 'a/b'" tvcreate -n a/b -V 1g p
bad "nothing to change" tvchange p/v
bad "-a cannot be 'ey'" tvchange -aey p/v
bad "nothing to change" tpchange p
bad "--import does not go with -an" tpchange --import -an p
bad "--import does not go with -an and --sysinit" tpchange --import --sysinit p
bad "ways to activate" tpchange --import --partial p
bad "which pool" tpchange --import
bad "which pool" tpchange --import -ay
bad "the default cannot be for a time" tvchange --policy default --for 3d p/v
bad "there is no policy 'default'" tvcreate -n v -V 1g --policy default p
bad "which policy" tvchange --for 3d p/v
for time in 3 d 3x 0d -1d 3dd 99999999d 600w ''; do
	bad "'$time' is not a time" tvchange --policy highest --for "$time" p/v
done
bad "cannot go to another pool" tvrename p/v q/w
bad "the volume name '-w'" tvrename -- p/v -w

# tpcheck, tpdump, tprestore, tprepair -----------------------------------------------------------
bad "'b' is one word too many" tpcheck a b
bad "'b' is one word too many" tpdump a b
bad "'a' is one word too many" tprestore -o vg/m a
bad "'a' is one word too many" tprepair -i vg/m -o vg/n a
bad "'' is not the path of a device" tpcheck ''
bad "'' is not the name of a file" tpdump -o '' vg/m
bad "there is no device to write to" tprestore
bad "'' is not the path of a device" tprestore -o ''
bad "'' is not the name of a file" tprestore -i '' -o vg/m
bad "'x' is not the size of a log" tprestore --logsize x -o vg/m
bad "there are no metadata to repair" tprepair -o vg/m
bad "there is no device to write to" tprepair -i vg/m
bad "'3m' is not the size of an extent" tprepair -s 3m -i vg/m -o vg/n
bad "'3k' is not the size of a region" tprepair --region 3k -i vg/m -o vg/n
bad "'8:vg/a' is not a tier" tprepair --tier 8:vg/a -i vg/m -o vg/n
refused 5 "/no/such" tpcheck /no/such
refused 5 "/no/such" tpdump /no/such
refused 5 "/no/such" tprepair -i /no/such -o /no/such/other
refused 5 "/no/such" tprestore -i /no/such -o /no/such/other
exits 5 "/dev/no/such cannot be read" tierctl identify no/such
refused 5 "neither a block device nor a file" tpcheck /dev/null

# reports ---------------------------------------------------------------------------------------
for report in tps tvs tes; do
	check "$report -o help lists the columns" bash -c "$report -o help | grep -q pool_name"
	check "$report -S help tells how to select" bash -c "$report -S help | grep -q '>='"
	bad "nonsense" "$report" -o nonsense
	bad "nonsense" "$report" -o +nonsense
	bad "nonsense" "$report" -O nonsense
	bad "nonsense" "$report" -S 'nonsense=1'
	bad "there is no unit 'x'" "$report" --units x
	bad "there is no unit 'gg'" "$report" --units gg
	bad "there is no unit ''" "$report" --units ''
	bad "there is no report format 'json_std'" "$report" --reportformat json_std
done
# A report on what there is here, or a failure to find that out; but a selection that can be made.
for report in tps tvs tes "tierctl plan"; do
	example=$($report -h | sed -n "s/.*rows that match, as '\(.*\)'$/\1/p")
	$report -S "$example" >"$tmp/out" 2>&1
	code=$?
	check "$report -S '$example', as its help says" test -n "$example" -a "$code" -ne 3
done
for report in tps tvs tes; do
	check_equal "$report -o help: each word once" "" "$($report -o help | sed -n 's/^  \([a-z_]*\) *- .*/\1/p' | sort | uniq -d)"
done
bad "vol_name" tps -o vol_name
bad "dev_path" tvs -o dev_path
bad "Unrecognised" tierctl plan -o nonsense

# tierctl ---------------------------------------------------------------------------------------
bad "'' is not a rate" tierctl relocate --rate ''
bad "'p/v/w' is neither a pool nor a volume" tierctl relocate p/v/w
for max in 0 -1 x 100000 '' 1.5; do
	bad "'$max' is not a number of moves" tierctl plan --max "$max"
done

# tierd that is not there: what needs it says so
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$tmp/no-bus
for verb in relocate plan pause resume abort reload; do
	refused 5 "tierd" tierctl "$verb"
done
finish
