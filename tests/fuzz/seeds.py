"""seeds.py DATASETS TABLES OUT: the small files of tests/data as seeds, one folder a target."""
import pathlib
import struct
import json
import sys

datasets, tables, out = (pathlib.Path(argument) for argument in sys.argv[1:4])
MAX_BYTES = 65536


def put(target, name, content):
    folder = out / target
    folder.mkdir(parents=True, exist_ok=True)
    if len(content) <= MAX_BYTES:
        (folder / name).write_bytes(content)


for path in sorted([*datasets.rglob("*.parquet"), *tables.rglob("*.parquet")]):
    put("parquet", "-".join(path.parts[-5:]), path.read_bytes())
for number, name in enumerate(["info.json", "tasks.jsonl", "episodes.jsonl", "episodes_stats.jsonl", "stats.json"]):
    for path in sorted(datasets.rglob(name)):
        lines = path.read_bytes().splitlines(keepends=True)
        content = b"".join(lines[:3]) if name.endswith("stats.jsonl") else path.read_bytes()
        put("metadata", f"{path.parent.parent.name}-{name}", bytes([number]) + content)
for number, dtype in enumerate(["F32", "BF16", "I64", "BOOL", "F8_E4M3"]):
    size = {"F32": 4, "BF16": 2, "I64": 8, "BOOL": 1, "F8_E4M3": 1}[dtype]
    header = {"__metadata__": {"format": "pt"}, "a": {"dtype": dtype, "shape": [2, 3], "data_offsets": [0, 6 * size]},
              "b": {"dtype": dtype, "shape": [], "data_offsets": [6 * size, 7 * size]}}
    text = json.dumps(header).encode()
    put("safetensors", f"small-{dtype}", struct.pack("<Q", len(text)) + text + bytes(7 * size))
put("safetensors", "index", json.dumps({"metadata": {"total_size": 24}, "weight_map": {"a": "model.safetensors"}}).encode())
