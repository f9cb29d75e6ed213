#!/usr/bin/env python3
"""What `flexor plan` predicts beside what training takes: peak memory of the fullest rank minus what the process had
before there was a model.

    plan_memory.py MID [--flexor build/flexor] [--only pi05,pi0] [--dtypes float32,bfloat16] [--strategies none,zero2@2] [--json FILE]

MID is the folder of bench/peers/make_workload.py. The measured peak is VmHWM of the process after the second step (the
first one has no moments during its backward pass) minus its VmRSS before the model is built, as the run's own log says;
pages of files that are mapped and touched count, and so does the heap with its holes. Exits with 1 if a row is further off
than --tolerance.
"""
import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile


def launch(command, ranks, folder):
    """Runs the ranks; what rank 0 logged."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(ranks):
        env = dict(os.environ, OMP_NUM_THREADS=str(max(1, 2 // ranks)), OMP_WAIT_POLICY="PASSIVE")
        if ranks > 1:
            env.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        log = open(folder / f"log{rank}", "w+")
        processes.append((subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=log), log))
    for process, log in processes:
        if process.wait() != 0:
            log.seek(0)
            sys.exit(f"{' '.join(command)} failed:\n{log.read()[-2000:]}")
    return (folder / "log0").read_text()


def logged_bytes(text, step, key):
    line = [l for l in text.splitlines() if re.search(r"\bmemory\b", l) and f" step={step} " in l][-1]
    return float(re.search(key + r"=([0-9.]+)", line).group(1)) * 2**20


def row(flexor, mid, policy, dtype, strategy, batch):
    name, _, ranks = strategy.partition("@")
    ranks = int(ranks or 1)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        keys = [f"policy.path={mid}/{policy}_mid", f"batch_file={mid}/{policy}_mid/inputs_b{batch}.safetensors",
                f"batch_size={batch}", f"policy.dtype={dtype}", f"parallel.strategy={name}", "steps=2", "save_freq=0",
                "log_freq=1", f"output_dir={folder}/run"]
        plan = json.loads(subprocess.run([flexor, "plan", *keys, "--ranks", str(ranks), "--memory", "1TiB", "--json"], check=True,
                                         stdout=subprocess.PIPE).stdout)
        log = launch([flexor, "train", *keys], ranks, folder)
    return {"model": policy, "dtype": dtype, "ranks": ranks, "strategy": name, "batch_size": batch,
            "predicted": plan["peak_bytes"], "measured": logged_bytes(log, 2, "measured_peak_mib"),
            "first_predicted": plan["first_step_bytes"], "first_measured": logged_bytes(log, 1, "measured_peak_mib")}


def value_row(flexor, folder, precision):
    """The workload of value_bench.py; `flexor bench value` says both figures."""
    out = subprocess.run([flexor, "bench", "value", "--model", folder, "--batch", f"{folder}/batch/batch.safetensors", "--precision",
                          precision, "--steps", "2", "--warmup", "1", "--json"], check=True, stdout=subprocess.PIPE,
                         env=dict(os.environ, OMP_WAIT_POLICY="PASSIVE"))
    found = json.loads(out.stdout)
    return {"model": "value", "dtype": precision, "ranks": 1, "strategy": "none", "batch_size": found["batch"],
            "predicted": found["predicted_peak_bytes"], "measured": found["peak_bytes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mid")
    parser.add_argument("--flexor", default="build/flexor")
    parser.add_argument("--only", default="pi05,pi0")
    parser.add_argument("--dtypes", default="float32,bfloat16")
    parser.add_argument("--strategies", default="none,zero2@2,zero3@2")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--value", help="folder of `value_bench.py export`: its rows too")
    parser.add_argument("--tolerance", type=float, default=0.10)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    print("| model | dtype | ranks, strategy | predicted MiB | measured MiB | measured / predicted |\n| --- | --- | --- | --- | --- | --- |")

    def add(one):
        rows.append(one)
        print(f"| {one['model']} | {one['dtype']} | {one['ranks']}, {one['strategy']} | {one['predicted'] / 2**20:.0f} | "
              f"{one['measured'] / 2**20:.0f} | {one['measured'] / one['predicted']:.3f} |", flush=True)

    for policy in filter(None, options.only.split(",")):
        for strategy in options.strategies.split(","):
            for dtype in options.dtypes.split(","):
                add(row(options.flexor, options.mid, policy, dtype, strategy, options.batch))
    for precision in ("fp32", "bf16") if options.value else ():
        add(value_row(options.flexor, options.value, precision))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2))
    sys.exit(any(abs(one["measured"] / one["predicted"] - 1) > options.tolerance for one in rows))


if __name__ == "__main__":
    main()
