#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The Makefile: each target that README.md or `make help` names runs the scripts it is for, in their order, and
# nothing else; no target does anything under -n; uninstall takes away all that install has brought.
. "$(dirname "$0")/../vm/checks.sh"
top=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d) || exit 1
at_end rm -rf "$work"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES O V

# A copy in which every script of tests/ tells that it was run instead of doing its work.
tree=$work/tree ran=$work/ran
mkdir "$tree"
for entry in "$top"/*; do
	case ${entry##*/} in build*) ;; *) cp -R "$entry" "$tree/" ;; esac
done
find "$tree/tests" -type f -perm -u+x | while read -r script; do
	printf '#!/bin/sh\necho "$0" >>%s\n' "$ran" >"$script"
done
state() { find "$tree" -printf '%p %s %T@\n' | sort; }
untouched=$(state)

# dry TARGET: what make would run. pkg-config's answers are of no interest.
dry() { make -C "$tree" --no-print-directory -n PKG_CONFIG=true O=o "$1" 2>&1; }

# scripts: of the commands on stdin those that are a script of tests/; of suites.sh also what it is told to do
scripts() {
	sed -e 's/; */\n/g' | sed -E -e 's/^[[:space:]]*((if|then) )?//' -e 's/^([A-Z_]+=("[^"]*"|[^ ]*) )*//' |
		grep '^tests/' | sed -E 's,^tests/(suites\.sh [a-z]+|setup\.sh --[a-z]+|[^ ]+).*,\1,' | xargs
}

# What every target is for.
declare -A scripts_of=(
	[all]="" [help]="" [modules]="" [install]="" [modules_install]="" [dkms]="" [uninstall]=""
	[user]="" [tests]="" [install-user]="" [dkms-source]="" [setup-build]="setup.sh --build"
	[setup]="setup.sh" [clean]="clean.sh" [lint]="lint.sh" [coverage]="suites.sh unit coverage.sh" [fuzz]="fuzz/run"
	[check]="setup.sh suites.sh unit suites.sh build suites.sh vm suites.sh verdict"
	[check-unit]="suites.sh unit suites.sh verdict"
	[check-vm]="suites.sh vm suites.sh verdict"
	[check-long]="suites.sh vm suites.sh verdict"
	[check-crash]="crash/run" [check-kill]="vm/h_restart.sh" [check-mutations]="mutations/run" [check-model]="setup.sh model/model.sh"
	[check-debug]="setup.sh suites.sh vm suites.sh vm suites.sh verdict"
	[check-matrix]="suites.sh vm suites.sh verdict"
	[demo]="setup.sh --demo demo/demo.sh" [bench]="bench/hotpath.sh"
)
# And a command of those that run no script.
declare -A command_of=(
	[all]="-o o/tierctl" [help]="^sed .* Makefile" [modules]="M=.*modules/6.12|kdir=.*headers 6.12"
	[install]="for p in o/tierd o/tierctl; do install" [modules_install]="updates/dm-tier.ko" [dkms]="dkms install"
	[user]="-o o/tierd" [tests]="-o o/tests/unit/test_args" [dkms-source]="usr/src/dm-tier-0" [check-long]="l_scale l_stages"
	[install-user]="for p in o/tierd o/tierctl; do install" [uninstall]="rm -f" [demo]="headers 6.1" [bench]="headers 6.1"
)

for target in "${!scripts_of[@]}"; do
	said=$(dry "$target")
	check_equal "make $target runs its scripts" "${scripts_of[$target]}" "$(scripts <<<"$said")"
	if [ -n "${command_of[$target]-}" ]; then
		check "make $target does its work" grep -qE -e "${command_of[$target]}" <<<"$said"
	fi
done
# What was built under one spelling would not be built anew under another.
check "O=o and O=<absolute> are the same to make" cmp <(dry user) <(make -C "$tree" --no-print-directory -n PKG_CONFIG=true O="$tree/o" user 2>&1)
check "under -n no script ran" test ! -e "$ran"
check_equal "under -n nothing was written" "" "$(diff <(echo "$untouched") <(state))"

# Targets by name: `make a b` of code and text, "make a, b", and what the line goes on with.
named() {
	grep -oE '\bmake( [a-z][a-z_-]*,?| [A-Z]+=("[^"]*"|\S*)){1,4}' | grep -oE ' [a-z][a-z_-]*' | sort -u
}
for target in $(make -C "$tree" -s help | sed -n '/^  make/ s/  [^ m].*//p' | named) $(grep -E '^make |`make|&& .*make' "$top/README.md" | named); do
	check "make $target, which the README or make help has, is known here" test -n "${scripts_of[$target]+known}"
done
# Every target but those that only other targets ask for, and every variable that has a default.
help=$(make -C "$tree" -s help)
for target in $(make -C "$tree" -pn PKG_CONFIG=true O=o help | sed -n 's/^\.PHONY: //p' | tr ' ' '\n' | sort -u); do
	case $target in check-all | guest-programs | module-*) continue ;; esac
	check "make help has the target $target" grep -qwE -e "make.*[ /(]$target" <<<"$help"
done
for variable in $(sed -nE 's/^([A-Za-z_]+) \?=.*/\1/p' "$top/Makefile") VM_KERNELS LINT_BASE; do
	check "make help has the variable $variable" grep -qw -e "$variable" <<<"$help"
done
check_equal "check-long runs every long suite" "$(cd "$top/tests/vm" && echo l_*.sh | sed 's/\.sh//g')" \
	"$(dry check-long | sed -n 's,^tests/suites.sh vm ,,p')"

# A suite that does not exist: said before anything is built.
for options in "check-unit UNIT_TESTS=nonsense" "check-vm VM_TESTS=nonsense" "check-debug DEBUG_TESTS=nonsense" \
	"check-debug KCSAN_TESTS=nonsense" "check-matrix MATRIX_TESTS=nonsense" "bench BENCH=nonsense"; do
	# shellcheck disable=SC2086 # words
	make -C "$tree" --no-print-directory PKG_CONFIG=true O=o2 $options >"$work/said" 2>&1
	check_equal "make $options is refused" 2 $?
	check_equal "... at once" 1 "$(grep -c . "$work/said")"
	check "... by its name" grep -q "no such suite: nonsense\." "$work/said"
done

# What setup installs ---------------------------------------------------------------------------------------------
# The true script in the copy, on a machine that has nothing: apt-get tells.
cp "$top/tests/setup.sh" "$tree/tests/"
mkdir "$work/bin"
printf '#!/bin/sh\nexit 1\n' | tee "$work/bin/dpkg-query" >"$work/bin/apt-cache"
printf '#!/bin/sh\necho "$@"\n' >"$work/bin/apt-get"
printf '#!/bin/sh\necho 0\n' >"$work/bin/id"
chmod +x "$work/bin/"*
: >"$ran"
installs() { PATH=$work/bin:$PATH "$tree/tests/setup.sh" "$@" 2>&1; }
said=$(installs --build)
for package in build-essential pkg-config libdevmapper-dev libblkid-dev uuid-dev libsystemd-dev libudev-dev libconfig-dev; do
	check "setup-build installs $package" grep -qw -e "$package" <<<"$said"
done
check_equal "... nothing that only tests need" "" "$(grep -oE 'qemu|mmdebstrap|clang|cppcheck|sparse|cmocka' <<<"$said")"
check_equal "... and fetches nothing" "" "$(cat "$ran")"
check "setup installs what tests need" grep -q 'libconfig-dev.*clang.*cppcheck.*mmdebstrap' <<<"$(installs)"
check "... and fetches kernels and image" grep -q vm/fetch "$ran"

# Installation and back ------------------------------------------------------------------------------------------
check "make install makes the catalog known" grep -q "journalctl --update-catalog" <(dry install)
check "make uninstall makes it forgotten" grep -q "journalctl --update-catalog" <(dry uninstall)
for target in install uninstall; do
	check_equal "... make $target with DESTDIR leaves the host's alone" 0 "$(DESTDIR=/x dry $target | grep -c update-catalog)"
done
root=$work/root kernel=$(uname -r)
mkdir -p "$work/o/modules/$kernel" "$root/lib/modules/$kernel/updates" "$root/etc"
echo module >"$work/o/modules/$kernel/dm-tier.ko"
# What is built is at hand; it stands for an out folder of its own with a module of this kernel in it.
for file in "$TIER_BUILD"/{tierd,tierctl}; do ln -s "$file" "$work/o/"; done
in_root() { make -C "$top" -s O="$work/o" DESTDIR="$root" -o user -o module-host "$@"; }
files() { (cd "$root" && find . ! -type d | sort); }
check "make install, dkms-source" in_root install dkms-source
for file in ./usr/sbin/{tierd,tierctl,tvs} ./etc/tierd.conf ./usr/share/man/man7/dm-tier.7 ./usr/lib/systemd/system/tierd.service \
	./usr/src/dm-tier-0.1.0/{dkms.conf,Kbuild} "./lib/modules/$kernel/updates/dm-tier.ko" \
	./usr/share/doc/dm-tier/examples/continuous.conf; do
	check "... brings $file" grep -qx -e "$file" <(files)
done
check "make uninstall" in_root uninstall
check_equal "... leaves no file" "" "$(files)"
check_equal "... and no folder of its own" "" "$(cd "$root" && find . -name '*tier*')"
check "make install again" in_root install
echo "# mine" >>"$root/etc/tierd.conf"
in_root uninstall >"$work/said" 2>&1
check_equal "make uninstall leaves a tierd.conf that was changed" ./etc/tierd.conf "$(files)"
check "... and says so" grep -qxF "kept $root/etc/tierd.conf, as it was changed" "$work/said"
in_root uninstall
rm "$work/o/modules/$kernel/dm-tier.ko"
in_root install >"$work/said" 2>&1
check "make install without a module says so" grep -q "^no module of $kernel is built" "$work/said"
check_equal "... and installs none" "" "$(files | grep '\.ko$')"
finish
