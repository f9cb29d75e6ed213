#!/usr/bin/env python3
"""Breaks inputs in one precise way, for the cases: spoil.py WAY FILE [arguments]. Run it without arguments for the ways.

Parquet files need pyarrow; safetensors and JSON need nothing.
"""
import json
import os
import pathlib
import struct
import sys


def parquet():
    import pyarrow
    import pyarrow.parquet
    return pyarrow, pyarrow.parquet


def drop_column(path, name):
    """Parquet without one column."""
    _, pq = parquet()
    table = pq.read_table(path)
    pq.write_table(table.drop_columns([name]), path)


def nan(path, name, row, dim="0"):
    """Parquet with a NaN in one value of a list column."""
    pa, pq = parquet()
    table = pq.read_table(path)
    column = table.column(name)
    values = column.to_pylist()
    values[int(row)][int(dim)] = float("nan")
    index = table.schema.get_field_index(name)
    pq.write_table(table.set_column(index, table.schema.field(index), pa.array(values, type=column.type)), path)


def drop_rows(path, count):
    """Parquet without its last rows."""
    _, pq = parquet()
    table = pq.read_table(path)
    pq.write_table(table.slice(0, table.num_rows - int(count)), path)


def truncate(path, fraction):
    """A file cut off after a part of its bytes."""
    os.truncate(path, int(os.path.getsize(path) * float(fraction)))


def lfs_pointer(path):
    """What git leaves of a file when LFS is not installed."""
    size = os.path.getsize(path)
    pathlib.Path(path).write_text("version https://git-lfs.github.com/spec/v1\n"
                                  f"oid sha256:{'0123456789abcdef' * 4}\nsize {size}\n", encoding="ascii")


def read_safetensors(path):
    raw = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8:8 + length]), raw[8 + length:]


def write_safetensors(path, header, data):
    """Lays the kept tensors out again; offsets in `header` are those of the old data."""
    body, out = bytearray(), {}
    for name, entry in header.items():
        if name == "__metadata__":
            out[name] = entry
            continue
        begin, end = entry["data_offsets"]
        out[name] = dict(entry, data_offsets=[len(body), len(body) + end - begin])
        body += data[begin:end]
    text = json.dumps(out).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + bytes(body))


def entry_of(header, name):
    if name not in header:
        sys.exit(f"no tensor {name}; there are {', '.join(list(header)[:20])} ...")
    return header[name]


def drop_tensor(path, name):
    """Safetensors without one tensor."""
    header, data = read_safetensors(path)
    entry_of(header, name)
    del header[name]
    write_safetensors(path, header, data)


def reshape_tensor(path, name, *shape):
    """Safetensors with one tensor of another shape; as many values as before, or a part of them."""
    header, data = read_safetensors(path)
    entry = entry_of(header, name)
    count = 1
    for size in shape:
        count *= int(size)
    begin, end = entry["data_offsets"]
    old = 1
    for size in entry["shape"]:
        old *= size
    width = (end - begin) // old
    if count > old:
        sys.exit(f"{name} has {old} values, {count} wanted")
    entry.update(shape=[int(size) for size in shape], data_offsets=[begin, begin + count * width])
    write_safetensors(path, header, data)


def rename_tensor(path, name, new_name):
    """Safetensors with one tensor under another name."""
    header, data = read_safetensors(path)
    entry_of(header, name)
    write_safetensors(path, {new_name if key == name else key: value for key, value in header.items()}, data)


def nan_tensor(path, name, index):
    """Safetensors with one float32 value replaced by NaN."""
    header, data = read_safetensors(path)
    offset = entry_of(header, name)["data_offsets"][0] + 4 * int(index)
    write_safetensors(path, header, data[:offset] + struct.pack("<f", float("nan")) + data[offset + 4:])


def retype_tensor(path, name, dtype):
    """Safetensors with the bytes of one tensor called another type of the same width: I32 for F32."""
    header, data = read_safetensors(path)
    entry_of(header, name)["dtype"] = dtype
    write_safetensors(path, header, data)


def set_json(path, key, value):
    """JSON with one entry (a.b.c; numbers index arrays) replaced; VALUE is JSON."""
    whole = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    node, keys = whole, key.split(".")
    for part in keys[:-1]:
        node = node[int(part)] if isinstance(node, list) else node[part]
    last = int(keys[-1]) if isinstance(node, list) else keys[-1]
    node[last] = json.loads(value)
    pathlib.Path(path).write_text(json.dumps(whole, indent=4), encoding="utf-8")


def del_json(path, key):
    """JSON or JSON lines without one entry (a.b.c; in every line where it exists)."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    lines = text.splitlines() if path.endswith(".jsonl") else [text]
    result = []
    for line in lines:
        whole = json.loads(line)
        node, keys = whole, key.split("/")
        for part in keys[:-1]:
            node = node.get(part, {})
        node.pop(keys[-1], None)
        result.append(json.dumps(whole, indent=None if path.endswith(".jsonl") else 4))
    pathlib.Path(path).write_text("\n".join(result) + "\n", encoding="utf-8")


WAYS = {function.__name__.replace("_", "-"): function
        for function in (drop_column, nan, drop_rows, truncate, lfs_pointer, drop_tensor, reshape_tensor, rename_tensor, nan_tensor,
                         retype_tensor, set_json, del_json)}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in WAYS:
        sys.exit("\n".join([__doc__] + [f"  {name:16} {way.__doc__}" for name, way in WAYS.items()]))
    WAYS[sys.argv[1]](*sys.argv[2:])
