#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Inputs of a fuzzer in one file, each behind its length (2 bytes, little-endian).

corpus.py pack DIR FILE     all files of a folder, in order of their content
corpus.py unpack FILE DIR   one file each, named by its number
"""
import os
import struct
import sys


def pack(folder, file):
    inputs = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as source:
            inputs.add(source.read())
    with open(file, "wb") as out:
        for data in sorted(inputs):
            if len(data) < 1 << 16:
                out.write(struct.pack("<H", len(data)) + data)


def unpack(file, folder):
    os.makedirs(folder, exist_ok=True)
    with open(file, "rb") as source:
        data = source.read()
    at = number = 0
    while at < len(data):
        size, = struct.unpack_from("<H", data, at)
        with open(os.path.join(folder, "%05d" % number), "wb") as out:
            out.write(data[at + 2:at + 2 + size])
        at += 2 + size
        number += 1


if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
    sys.exit(__doc__)
{"pack": pack, "unpack": unpack}[sys.argv[1]](*sys.argv[2:])
