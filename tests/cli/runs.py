#!/usr/bin/env python3
"""Compares two runs' folders, for the cases: runs.py RUN OTHER LOSS WEIGHTS [FILE...]

Rows of metrics.jsonl have the same steps and samples and their losses, also of validation, are equal within LOSS,
relative; all tensors of FILE (default checkpoints/last/pretrained_model/model.safetensors) are equal within WEIGHTS,
relative to the largest value of each. Left out are the biases of a vision tower's keys, also in its in_proj_bias:
attention does not depend on them, so that their gradient is rounding alone, of which AdamW makes full steps in one
direction or the other. Prints how far they are apart. Needs nothing but Python.
"""
import array
import json
import pathlib
import sys

from spoil import read_safetensors

KEYS = ("loss", "eval_loss", "eval/loss", "value_mae", "eval/value_mae", "eval/value_spearman",
        "eval/positive_loss")


def rows(run):
    return [json.loads(line) for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()]


def apart(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-12)


def losses(run, other):
    found, expected, worst = rows(run), rows(other), 0.0
    places = [[(row["step"], row.get("samples"), row.get("eval_samples")) for row in x] for x in (found, expected)]
    if places[0] != places[1]:
        sys.exit(f"steps and samples differ: {places[0]}\n{places[1]}")
    for a, b in zip(found, expected):
        for key in KEYS:
            if (key in a) != (key in b):
                sys.exit(f"step {a['step']}: only one run has {key}")
            if key in a:
                worst = max(worst, apart(a[key], b[key]))
    return worst


def tensors(path):
    header, data = read_safetensors(path)
    for name, entry in header.items():
        if name == "__metadata__" or name.endswith("self_attn.k_proj.bias"):
            continue
        begin, end = entry["data_offsets"]
        raw = bytes(data[begin:end])
        if entry["dtype"] == "BF16":  # the upper half of a float32
            raw = b"".join(b"\0\0" + raw[i:i + 2] for i in range(0, len(raw), 2))
        if entry["dtype"] in ("F32", "BF16"):
            values = array.array("f", raw)
            third = len(values) // 3
            yield name, values[:third] + values[2 * third:] if name.endswith("attention.in_proj_bias") else values


def weights(run, other, file):
    found, worst = dict(tensors(pathlib.Path(run) / file)), 0.0
    for name, expected in tensors(pathlib.Path(other) / file):
        largest = max((abs(x) for x in expected), default=0.0) or 1.0
        worst = max(worst, max((abs(a - b) for a, b in zip(found.pop(name), expected)), default=0.0) / largest)
    if found:
        sys.exit(f"{other} lacks {sorted(found)}")
    return worst


def main():
    run, other, loss, weight, *files = sys.argv[1:]
    found = losses(run, other)
    print(f"metrics within {found:.1e}")
    for file in files or ["checkpoints/last/pretrained_model/model.safetensors"]:
        far = weights(run, other, file)
        print(f"{file} within {far:.1e}")
        if not far <= float(weight):
            sys.exit(f"{file}: expected {weight} at most")
    if not found <= float(loss):
        sys.exit(f"metrics: expected {loss} at most")


if __name__ == "__main__":
    main()
