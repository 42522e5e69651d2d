#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Man pages of the commands: each is there, its markup is clean, and it has every option that -h shows.
. "$(dirname "$0")/../vm/checks.sh"
man=$(dirname "$0")/../../man

# text PAGE: as a reader sees it, without bold, in one line
text() { groff -man -Tascii -P-cbou "$1" 2>/dev/null | tr -s ' \n' '  ' | sed 's/- //g'; }
# options: long ones and letters on stdin, one a line
options() { grep -oE '(^|[^-[:alnum:]])--?[[:alpha:]][[:alpha:]]*' | grep -oE -- '--?[[:alpha:]]+' | sort -u; }
help_options() { sed -n 's/^  \(\(-.,\|   \) --[a-z]*\|-.\).*/\1/p' | options; }

common=$(tpcreate -h | help_options | grep -xE -- '-[hqtvy]|--(help|quiet|test|verbose|yes|version)')
for page in "$man"/*.[578]; do
	check "markup of ${page##*/}" test -z "$(groff -man -ww -z -Tascii "$page" 2>&1)"
done
for applet in tpcreate tpextend tpreduce tpchange tpremove tps tpcheck tpdump tprestore tprepair tvcreate tvextend tvchange tvremove tvrename tvs tes; do
	page=$man/$applet.8
	if ! [ -e "$page" ]; then
		fail "$applet.8 is there"
		continue
	fi
	shown=$($applet -h | help_options)
	documented=$(text "$page" | options)
	missing=$(comm -23 <(echo "$shown") <(echo "$documented"))
	check_equal "$applet.8 has every option" "" "$missing"
done
documented=$(text "$man/tierctl.8" | options)
for verb in relocate plan status pause resume abort reload heatmap; do
	shown=$(tierctl $verb -h | help_options)
	# those of reports are in tps(8)
	[ $verb != plan ] || documented+=$'\n'$(text "$man/tps.8" | options)
	check_equal "tierctl.8 has every option of $verb" "" "$(comm -23 <(echo "$shown") <(echo "$documented" | sort -u))"
	check "tierctl.8 describes $verb" grep -qE "^\.B(R)? .*$verb" "$man/tierctl.8"
done
check_equal "tierctl.8 has the common options" "" "$(comm -23 <(echo "$common") <(text "$man/tierctl.8" | options))"

# dm-tier(7): every message and every reason of the contract
contract=$(dirname "$0")/../../include/dm-tier.h
for message in $(sed -n '/^ \* Messages (to the pool)/,/^ \*\/$/p' "$contract" | grep -oE '\b[a-z]+_(volume|label|pool_label|placement|all|rate|moves|device|quarantine|water|reserve)\b' | sort -u) \
	migrate cancel commit checkpoint volumes devices moves map counters; do
	check "dm-tier.7 has $message" grep -q "$message" "$man/dm-tier.7"
done
while read -r reason; do
	check "dm-tier.7 has the reason $reason" grep -q "\b$reason\b" "$man/dm-tier.7"
done < <(sed -n 's/^\tX([A-Z_]*,.*"\([a-z_]*\)").*/\1/p' "$contract")
finish
