#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The short form of `make check-crash`: 200 power cuts of one recording (tests/crash/README.md).
# vm-light: it measures no time
exec "$(dirname "$0")/../crash/run" --points 200
