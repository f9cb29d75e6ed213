"""Flexor and LeRobot on the same training step and the same sample, run in turns; prints ratios.

    python3 bench/peers/side_by_side.py WORKLOAD --lerobot-python PYTHON [--flexor build/flexor] [--rounds 3] [--json FILE]
                                        [--only train_pi05_float32 ...]

WORKLOAD is what make_workload.py wrote; PYTHON is an interpreter with LeRobot 0.6.1. In every round each side runs once,
in its own process, with two threads. What is compared is the median over the rounds of CPU seconds (both threads
together): they hardly depend on what else the machine does. The work is the same when the losses (or the mean and
deviation of the sampled actions) agree; otherwise the line says so and the exit code is 1.
"""

import argparse
import json
import pathlib
import sys

from flexor_runner import FLEXOR, HERE, answer, median

# job -> (LeRobot's dtype, Flexor's options, relative tolerance of the losses, of mean and deviation)
TRAIN = {
    "float32": ("float32", ["--dtype", "float32"], 1e-4),
    "bfloat16": ("bfloat16", ["--dtype", "bfloat16", "--master-dtype", "none"], 5e-3),
    "bfloat16_autocast": ("bfloat16_autocast", ["--dtype", "bfloat16_autocast"], 5e-3),
    "bfloat16_master": (None, ["--dtype", "bfloat16", "--master-dtype", "float32"], None),  # LeRobot has no such mode
}
SAMPLE = {"float32": ("float32", 1e-3), "bfloat16": ("bfloat16", 1e-2)}


def jobs():
    for kind in ("pi05", "pi0"):
        yield from ((f"train_{kind}_{dtype}", "train", kind, dtype) for dtype in TRAIN)
        yield from ((f"sample_{kind}_{dtype}", "sample", kind, dtype) for dtype in SAMPLE)


def commands(options, job, kind, dtype):
    """(LeRobot's command or None, Flexor's command)."""
    policy = options.workload / f"{kind}_mid"
    batch = policy / ("inputs_b4.safetensors" if job == "train" else "inputs_b1.safetensors")
    counts = ["--steps", options.steps if job == "train" else options.samples, "--warmup", 1, "--threads", 2]
    common = [job, "--policy", policy, "--batch", batch, *counts]
    theirs, ours = (TRAIN[dtype][0], TRAIN[dtype][1]) if job == "train" else (SAMPLE[dtype][0], ["--dtype", dtype])
    peer = [options.lerobot_python, HERE / "lerobot_worker.py", *common, "--dtype", theirs] if theirs else None
    return peer, [options.flexor, "bench", *common, *ours, "--json"]


def same_work(job, dtype, peer, own):
    """None when both did the same work, else what differs."""
    if job == "train":
        pairs, tolerance = list(zip(peer["losses"], own["losses"])), TRAIN[dtype][2]
    else:
        pairs, tolerance = [(peer[key], own[key]) for key in ("out_mean", "out_std")], SAMPLE[dtype][1]
    scale = (lambda a: abs(a)) if job == "train" else (lambda a: 1.0)
    worst = max(pairs, key=lambda pair: abs(pair[0] - pair[1]) / scale(pair[0]))
    return None if abs(worst[0] - worst[1]) <= tolerance * scale(worst[0]) else f"{worst[0]} against {worst[1]}"


def compare(options, name, job, kind, dtype):
    peer_command, own_command = commands(options, job, kind, dtype)
    peers, owns = [], []
    for _ in range(options.rounds):
        if peer_command:
            peers.append(answer(peer_command))
        owns.append(answer(own_command))
    cpu, wall = ("step_cpu_s", "step_s") if job == "train" else ("latency_cpu_s", "latency_s")
    middle = lambda results, key: median([result[key]["median"] for result in results])
    memory = lambda results: median([result["peak_rss_gib"] for result in results])
    row = {"job": name, "cpu_s": middle(owns, cpu), "wall_s": middle(owns, wall), "peak_rss_gib": memory(owns)}
    if peers:
        row.update(peer_cpu_s=middle(peers, cpu), peer_wall_s=middle(peers, wall), peer_peak_rss_gib=memory(peers))
        row["cpu_ratio"] = row["cpu_s"] / row["peer_cpu_s"]
        row["memory_ratio"] = row["peak_rss_gib"] / row["peer_peak_rss_gib"]
        row["differs"] = same_work(job, dtype, peers[-1], owns[-1])
    return row


def line(row):
    text = f"{row['job']:28} {row['cpu_s']:8.3f} CPU s {row['peak_rss_gib']:6.2f} GiB"
    if "cpu_ratio" not in row:
        return text
    text += (f"   LeRobot {row['peer_cpu_s']:8.3f} CPU s {row['peer_peak_rss_gib']:6.2f} GiB   {1 / row['cpu_ratio']:5.2f}x as"
             f" fast, {row['memory_ratio']:.2f} of the memory")
    return text + (f"   NOT THE SAME WORK: {row['differs']}" if row["differs"] else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", type=pathlib.Path)
    parser.add_argument("--lerobot-python", required=True)
    parser.add_argument("--flexor", default=FLEXOR)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3, help="training steps measured in a round")
    parser.add_argument("--samples", type=int, default=5, help="samples measured in a round")
    parser.add_argument("--only", nargs="*", help="names of jobs, such as sample_pi0_bfloat16")
    parser.add_argument("--json", type=pathlib.Path, help="also write all rows there")
    options = parser.parse_args()
    rows = []
    for name, job, kind, dtype in jobs():
        if not options.only or name in options.only:
            rows.append(compare(options, name, job, kind, dtype))
            print(line(rows[-1]), flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if not rows or any(row.get("differs") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
