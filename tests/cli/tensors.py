#!/usr/bin/env python3
"""Looks into safetensors, for the cases: tensors.py has FILE NAME [SIZES or DTYPE] | near FILE NAME FILE NAME RTOL ATOL

Fails with a message unless it is so. Needs nothing but Python.
"""
import math
import struct
import sys

from spoil import entry_of, read_safetensors

FORMATS = {"F32": "f", "F64": "d", "I64": "q", "I32": "i", "U8": "B", "BOOL": "?"}


def has(path, name, *facts):
    entry = entry_of(read_safetensors(path)[0], name)
    if facts and not facts[0].isdigit():
        if entry["dtype"] != facts[0]:
            sys.exit(f"{name} is {entry['dtype']}, not {facts[0]}")
    elif facts and entry["shape"] != [int(size) for size in facts]:
        sys.exit(f"{name} has shape {entry['shape']}, not {facts}")


def values(path, name):
    header, data = read_safetensors(path)
    entry = entry_of(header, name)
    begin, end = entry["data_offsets"]
    code = FORMATS[entry["dtype"]]
    return entry["shape"], struct.unpack(f"<{(end - begin) // struct.calcsize(code)}{code}", data[begin:end])


def near(path, name, other_path, other_name, rtol, atol):
    shape, found = values(path, name)
    other_shape, expected = values(other_path, other_name)
    if shape != other_shape:
        sys.exit(f"{name} has shape {shape}, {other_name} {other_shape}")
    for index, (a, b) in enumerate(zip(found, expected)):
        if not abs(a - b) <= float(atol) + float(rtol) * abs(b) or math.isnan(a):
            sys.exit(f"{name}[{index}] is {a}, {other_name} {b}")


if __name__ == "__main__":
    {"has": has, "near": near}[sys.argv[1]](*sys.argv[2:])
