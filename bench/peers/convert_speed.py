"""Conversion v2.1 -> v3.0 with video: flexor, `cp -r`, and LeRobot's converter, in turn, each ended by a sync.

    LEROBOT_PYTHON bench/peers/convert_speed.py FLEXOR WORK [--episodes 80] [--rounds 5] [--source DATASET]

Makes WORK/v21 once unless --source names a v2.1 dataset: 80 episodes of 300 frames, 2 cameras of 640 x 480, h264 with g=2 (about
250 MB; tools/make_bench_dataset.py). Every measurement starts with the files in the page cache and nothing left to write.
Prints one JSON object: wall and CPU seconds of each, of the start of the program alone, and ratios of medians. LeRobot is
timed inside Python, without its imports (4 s and more); flexor as a process, its start included.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

LEROBOT = """
import logging, pathlib, sys, time
logging.disable(logging.CRITICAL)
import lerobot.scripts.convert_dataset_v21_to_v30 as convert
convert.tqdm.tqdm = lambda items, **_: items
begin, cpu = time.perf_counter(), time.process_time()
convert.convert_dataset("local/bench", root=sys.argv[1], push_to_hub=False)
import subprocess
subprocess.run(["sync", "-f", sys.argv[1]], check=True)
print(time.perf_counter() - begin, time.process_time() - cpu)
"""


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(*commands):
    """Wall and CPU seconds."""
    begin, cpu = time.perf_counter(), children_cpu()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin, children_cpu() - cpu


class Round:
    def __init__(self, options, source):
        self.options, self.source, self.target = options, source, options.work / "out"

    def clean(self):
        for path in (self.target, self.target.with_name("out_old"), self.target.with_name("out_v30")):
            shutil.rmtree(path, ignore_errors=True)
        subprocess.run(["sync", "-f", str(self.options.work)], check=True)
        subprocess.run(["cat", *map(str, self.source.rglob("*.mp4"))], check=True, stdout=subprocess.DEVNULL)

    def start(self):
        return timed([self.options.flexor, "--version"])

    def cp(self):
        return timed(["cp", "-r", self.source, self.target], ["sync", "-f", self.target])

    def flexor(self):
        return timed([self.options.flexor, "-q", "dataset", "convert", self.source, self.target, "--to", "v3.0"],
                     ["sync", "-f", self.options.work])

    def lerobot(self):
        shutil.copytree(self.source, self.target)  # it works in place; the copy is not measured
        subprocess.run(["sync", "-f", str(self.options.work)], check=True)
        done = subprocess.run([sys.executable, "-c", LEROBOT, str(self.target)], check=True, capture_output=True, text=True,
                              env=dict(os.environ, HF_HUB_OFFLINE="1"))
        return tuple(map(float, done.stdout.strip().splitlines()[-1].split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flexor", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--episodes", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=[], help="what not to measure: lerobot")
    options = parser.parse_args()
    source = options.source or options.work / "v21"
    if not source.exists():
        made, tool = options.work / "made", pathlib.Path(__file__).parents[2] / "tools/make_bench_dataset.py"
        subprocess.run([sys.executable, tool, made, "--episodes", str(options.episodes)], check=True)
        subprocess.run([options.flexor, "-q", "dataset", "convert", made, source, "--to", "v2.1"], check=True)
        shutil.rmtree(made)
    rounds, names = Round(options, source), [n for n in ("start", "cp", "flexor", "lerobot") if n not in options.without]
    measured = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            rounds.clean()
            measured[name].append(getattr(rounds, name)())
    rounds.clean()
    wall = {name: statistics.median(w for w, _ in values) for name, values in measured.items()}
    result = {"megabytes": round(sum(p.stat().st_size for p in source.rglob("*") if p.is_file()) / 1e6, 1),
              "wall_s": {name: [round(w, 2) for w, _ in values] for name, values in measured.items()},
              "cpu_s": {name: round(statistics.median(c for _, c in values), 2) for name, values in measured.items()},
              "median_wall_s": {name: round(seconds, 2) for name, seconds in wall.items()}, "load": round(os.getloadavg()[0], 1),
              "flexor_beyond_start_over_cp": round((wall["flexor"] - wall["start"]) / wall["cp"], 2)}
    if "lerobot" in wall:
        result["lerobot_over_flexor"] = round(wall["lerobot"] / wall["flexor"], 2)
        result["lerobot_over_flexor_beyond_start"] = round(wall["lerobot"] / (wall["flexor"] - wall["start"]), 2)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
