"""Flexor's loader, LeRobot's DataLoader and plain libavcodec on the same files, run in turns.

    python3 bench/peers/loader_side_by_side.py DATASET --lerobot-python PYTHON [--flexor build/flexor] [--rounds 3]

DATASET: for example what tools/make_bench_dataset.py wrote. Random access, 50-step action windows, batches of 8, two
decoding threads (Flexor) or worker processes (LeRobot). Flexor delivers uint8 224x224 after resize_with_pad; LeRobot float32
pictures of the recorded size, whose resize is left to the model.
"""

import argparse

from flexor_runner import FLEXOR, HERE, answer, median


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("--lerobot-python", required=True)
    parser.add_argument("--flexor", default=FLEXOR)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=40)
    options = parser.parse_args()
    worker = [options.lerobot_python, HERE / "lerobot_loader.py", options.dataset]
    own = [options.flexor, "bench", "loader", "--dataset", options.dataset, "--batch-size", 8, "--num-workers", 2,
           "--steps", options.batches, "--json"]
    sides = {"flexor": own, "LeRobot": [*worker, "--batches", options.batches], "plain libavcodec": [*worker, "--plain"]}
    results = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, command in sides.items():
            results[name].append(answer(command))
    middle = lambda name, key: median([result[key] for result in results[name]])
    for name in sides:
        rate = f"{middle(name, 'pictures_per_s'):8.1f} pictures/s"
        cpu = f"{middle(name, 'pictures_per_cpu_s'):8.1f} per CPU second" if "pictures_per_cpu_s" in results[name][0] else ""
        print(f"{name:18} {rate}  {cpu}")
    print(f"flexor / LeRobot            {middle('flexor', 'pictures_per_s') / middle('LeRobot', 'pictures_per_s'):.2f}")
    print("flexor / plain, per CPU s   "
          f"{middle('flexor', 'pictures_per_cpu_s') / middle('plain libavcodec', 'pictures_per_cpu_s'):.2f}")


if __name__ == "__main__":
    main()
