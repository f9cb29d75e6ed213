#!/usr/bin/env python3
"""Kills one rank of a training at a random time, again and again: bench/kill_ranks.py FLEXOR DATASET [ROUNDS [SEED]]

A run of two or three ranks (tests/cli/assets/tiny.yaml, 60 steps, a checkpoint every 5) is killed once in every round:
a random rank, by SIGKILL, when a random step is written to metrics.jsonl. The others must end with exit code 1 and one
message that names the rank, within TIMEOUT_S; nothing half-written may stay behind under a checkpoint's name; the same
command with resume=auto must end with the bytes of a run that nobody killed. Every round takes the next strategy; ddp
has two ranks, since with more of them the order of its sums is learnt anew by every process. Prints one line a round.
"""
import filecmp
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS, TIMEOUT_S = 60, 20
RANKS = {"ddp": 2, "zero1": 3, "zero2": 3, "zero3": 3}
FILES = ("pretrained_model/model.safetensors", "training_state/optimizer_state.safetensors")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(flexor, dataset, folder, strategy, resume):
    """The ranks of a run; what rank N says on stderr goes to folder.N."""
    port, ranks, world = str(free_port()), [], RANKS[strategy]
    for rank in range(world):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=port, OMP_NUM_THREADS="1")
        command = [flexor, "train", "--config", str(ROOT / "tests/cli/assets/tiny.yaml"), f"dataset.root={dataset}",
                   f"output_dir={folder}", f"steps={STEPS}", "save_freq=5", "batch_size=2",
                   f"parallel.strategy={strategy}", f"dist.timeout_s={TIMEOUT_S}", f"resume={resume}"]
        ranks.append(subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=open(f"{folder}.{rank}", "wb")))
    return ranks


def rows(folder):
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_one(ranks, folder, victim, step, delay):
    """Seconds from the kill until the last of the others has ended."""
    while rows(folder) < step:
        if any(rank.poll() is not None for rank in ranks):
            sys.exit(f"a rank ended before step {step}")
        time.sleep(0.002)
    time.sleep(delay)
    ranks[victim].send_signal(signal.SIGKILL)
    start_s = time.monotonic()
    for rank in ranks:
        rank.wait(timeout=TIMEOUT_S + 20)
    return time.monotonic() - start_s


def errors(folder, rank):
    text = pathlib.Path(f"{folder}.{rank}").read_text()
    return [line for line in text.splitlines() if line.startswith("error: ")]


def round_of(flexor, dataset, folder, strategy, whole, draw):
    victim, step = draw.randrange(RANKS[strategy]), draw.randrange(1, STEPS - 5)
    ranks = start(flexor, dataset, folder, strategy, "auto")
    seconds = kill_one(ranks, folder, victim, step, draw.uniform(0, 0.02))
    for rank, process in enumerate(ranks):
        if rank == victim:
            continue
        said = errors(folder, rank)
        names = "rank 0 or the launcher" if victim == 0 else f"rank {victim}"
        if process.returncode != 1 or len(said) != 1 or not (names in said[0] or f"rank {victim} " in said[0]):
            sys.exit(f"rank {rank} ended with {process.returncode} and said {said}; rank {victim} was killed")
    left = [str(path) for path in folder.rglob("*.tmp*")]
    if seconds > TIMEOUT_S or (left and victim != 0):  # rank 0 writes: its unfinished folder has no checkpoint's name
        sys.exit(f"{seconds:.1f} s, left behind: {left}")
    for rank in start(flexor, dataset, folder, strategy, "auto"):
        if rank.wait(timeout=120) != 0:
            sys.exit(f"resuming failed: {[errors(folder, r) for r in range(RANKS[strategy])]}")
    for name in FILES:
        if not filecmp.cmp(folder / "checkpoints/last" / name, whole / "checkpoints/last" / name, shallow=False):
            sys.exit(f"{name} is not what a run has that nobody killed")
    print(f"{strategy}: rank {victim} killed in step {step + 1}, others ended after {seconds:.2f} s, resumed to the same bytes",
          flush=True)
    return seconds


def main():
    flexor, dataset = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    with tempfile.TemporaryDirectory() as name:
        folder, whole, seconds = pathlib.Path(name), {}, []
        for strategy in RANKS:
            whole[strategy] = folder / f"whole_{strategy}"
            if any(rank.wait() != 0 for rank in start(flexor, dataset, whole[strategy], strategy, "false")):
                sys.exit(f"the run that nobody kills failed: {errors(whole[strategy], 0)}")
        for number in range(rounds):
            strategy = list(RANKS)[number % len(RANKS)]
            seconds.append(round_of(flexor, dataset, folder / f"cut{number}", strategy, whole[strategy], draw))
        print(f"{rounds} rounds: others ended after {statistics.median(seconds):.2f} s (median), {max(seconds):.2f} s (worst)")


if __name__ == "__main__":
    main()
