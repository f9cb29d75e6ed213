"""Flexor's dataset statistics and LeRobot's on the same dataset, run in turns.

    python3 bench/peers/stats_side_by_side.py DATASET --lerobot-python PYTHON [--flexor build/flexor] [--rounds 3] [--episodes 1]

DATASET: for example what tools/make_bench_dataset.py wrote. Flexor reads all of it with two threads, start of the program included; LeRobot
--episodes of it, since a whole dataset would take an hour. Printed are seconds and CPU seconds an episode, sampled pictures and every frame.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import time

from flexor_runner import FLEXOR, HERE, answer, median


def flexor(options, method, episodes):
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(options.flexor), "dataset", "stats", str(options.dataset), "--method", method, "--threads", "2", "--json"],
                   check=True, capture_output=True, env=dict(os.environ, OMP_NUM_THREADS="2"))
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"s_per_episode": wall / episodes, "cpu_s_per_episode": cpu / episodes}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=pathlib.Path)
    parser.add_argument("--lerobot-python", required=True)
    parser.add_argument("--flexor", default=FLEXOR)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=1, help="that LeRobot computes")
    options = parser.parse_args()
    episodes = json.loads((options.dataset / "meta/info.json").read_text())["total_episodes"]
    worker = [options.lerobot_python, HERE / "lerobot_stats.py", options.dataset, "--episodes", options.episodes]
    for name, method, flags in (("sampled", "lerobot", []), ("every frame", "lerobot-0.4", ["--every-frame"])):
        own, other = [], []
        for _ in range(options.rounds):
            own.append(flexor(options, method, episodes))
            other.append(answer([*worker, *flags]))
        middle = lambda results, key: median([result[key] for result in results])
        for label, results in (("flexor", own), ("LeRobot", other)):
            print(f"{name:12} {label:8} {middle(results, 's_per_episode'):8.3f} s, {middle(results, 'cpu_s_per_episode'):8.3f} CPU s an episode")
        print(f"{name:12} LeRobot / flexor  {middle(other, 's_per_episode') / middle(own, 's_per_episode'):.1f} (CPU "
              f"{middle(other, 'cpu_s_per_episode') / middle(own, 'cpu_s_per_episode'):.1f}), peak of LeRobot "
              f"{middle(other, 'peak_gib'):.2f} GiB, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
