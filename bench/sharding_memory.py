#!/usr/bin/env python3
"""Peak memory of each rank of a training, for every strategy, beside the arithmetic of docs/parallel.md.

Usage: sharding_memory.py --flexor build/flexor [--ranks 1,2,4] [--dtypes float32,bfloat16] [--tolerance 0.15]

Trains a pi0.5 of about 80 million parameters for three steps on the smallest data, and the smallest pi0.5 the same way;
the difference of the two peaks (anonymous memory of the process) is the model's. Exits with 1 if a rank is further from
the arithmetic than the tolerance. Needs about 5 GB for four ranks.
"""
import argparse
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
LARGE = {"vision": {"width": 64, "depth": 1, "num_heads": 2, "mlp_dim": 64, "patch_size": 14},
         "paligemma": {"width": 640, "depth": 16, "mlp_dim": 2048, "num_heads": 4, "num_kv_heads": 1, "head_dim": 64},
         "action_expert": {"width": 256, "depth": 16, "mlp_dim": 1024, "num_heads": 4, "num_kv_heads": 1, "head_dim": 64}}
SMALL = {"vision": LARGE["vision"],
         "paligemma": {"width": 32, "depth": 2, "mlp_dim": 32, "num_heads": 4, "num_kv_heads": 1, "head_dim": 8},
         "action_expert": {"width": 16, "depth": 2, "mlp_dim": 32, "num_heads": 4, "num_kv_heads": 1, "head_dim": 8}}
STRATEGIES = ("ddp", "zero1", "zero2", "zero3")


def count(sizes):
    """Parameters of all layers, and of one: norms and the small projections left out."""
    def layer(s, condition):
        heads = s["num_heads"] * s["head_dim"], s["num_kv_heads"] * s["head_dim"]
        return s["width"] * (2 * heads[0] + 2 * heads[1] + 3 * s["mlp_dim"]) + condition * 2 * (s["width"] + 1) * 3 * s["width"]
    one = layer(sizes["paligemma"], 0) + layer(sizes["action_expert"], 1)
    return one * sizes["paligemma"]["depth"], one


def expected(strategy, dtype, ranks, total, block):
    """Bytes of a rank, by docs/parallel.md."""
    weight = 4 if dtype == "float32" else 2
    state = 8 if dtype == "float32" else 12  # moments, and masters
    sums = 4  # gradients that the optimizer takes
    if strategy in ("none", "ddp"):
        return total * (weight + sums + state)
    if strategy == "zero1":  # and a block's gradients, received
        return total * (2 * weight + (sums + state) / ranks) + block * weight
    if strategy == "zero2":  # and the gradients of a block: as they come, sent, received
        return total * (weight + (sums + state) / ranks) + 3 * block * weight
    return total * (weight + sums + state) / ranks + 5 * block * weight  # and the weights of two blocks


def peak_of(command, ranks):
    """Largest anonymous memory of each rank, bytes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes, peaks = [], [0] * ranks
    for rank in range(ranks):
        env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="PASSIVE")
        if ranks > 1:
            env.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        processes.append(subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    while any(process.poll() is None for process in processes):
        for rank, process in enumerate(processes):
            try:
                for line in open(f"/proc/{process.pid}/status"):
                    if line.startswith("RssAnon"):
                        peaks[rank] = max(peaks[rank], int(line.split()[1]) * 1024)
            except (FileNotFoundError, ProcessLookupError):
                pass
        time.sleep(0.003)
    for process in processes:
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{process.stderr.read()[-2000:]}")
    return peaks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flexor", required=True)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--dtypes", default="float32,bfloat16")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--tolerance", type=float, default=0.15)
    options = parser.parse_args()
    total, block = count(LARGE)
    failed = False
    print(f"{total / 1e6:.1f} million parameters, {block / 1e6:.1f} a block\n")
    print("| dtype | ranks | strategy | expected MB | measured MB (worst rank) | difference |\n| --- | --- | --- | --- | --- | --- |")
    for dtype in options.dtypes.split(","):
        for ranks in map(int, options.ranks.split(",")):
            for strategy in options.strategies.split(",") if ranks > 1 else ["none"]:
                grown = []
                for sizes in (LARGE, SMALL):
                    with tempfile.TemporaryDirectory() as folder:
                        command = [options.flexor, "train", "--config", str(TESTS / "cli/assets/tiny.yaml"),
                                   f"dataset.root={TESTS / 'data/datasets/v21_h264'}", f"output_dir={folder}/run", "steps=3",
                                   "batch_size=1", "dataset.eval_split=0", "save_freq=0", f"policy.dtype={dtype}", f"parallel.strategy={strategy}"]
                        command += [f"policy.architecture.{part}.{key}={value}" for part, keys in sizes.items()
                                    for key, value in keys.items()]
                        grown.append(peak_of(command, ranks))
                measured = max(large - small for large, small in zip(*grown))
                wanted = expected(strategy, dtype, ranks, total, block)
                off = measured / wanted - 1
                failed = failed or abs(off) > options.tolerance
                print(f"| {dtype} | {ranks} | {strategy} | {wanted / 1e6:.0f} | {measured / 1e6:.0f} | {off:+.1%} |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
