# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What suites on the host (h_*.sh) share: the checks of checks.sh, and a private folder $work that is removed
# at the end. Sourced from the top of the tree:  . tests/vm/hostlib.sh
. tests/vm/checks.sh
mkdir -p "${O:-build}/vm"
work=$(mktemp -d "$(realpath "${O:-build}")/vm/${0##*/}.XXXXXX") || exit 1
at_end rm -rf "$work"
