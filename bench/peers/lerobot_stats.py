"""Statistics of a few episodes by LeRobot's augment_dataset_quantile_stats, as one JSON object.

    LEROBOT_PYTHON bench/peers/lerobot_stats.py DATASET [--episodes 1] [--every-frame]

What its script does for each episode, without the upload that ends it. --every-frame decodes all pictures, as releases up to 0.6.0 do
(0.4.4 knows nothing else); without it the pictures are sampled, as newer ones do.
"""

import argparse
import json
import os
import resource
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def episode_function(every_frame):
    try:
        from lerobot.scripts.augment_dataset_quantile_stats import process_single_episode
    except ImportError:  # 0.4
        from lerobot.datasets.v30.augment_dataset_quantile_stats import process_single_episode
        if not every_frame:
            raise SystemExit("this release computes every frame: give --every-frame")
        return process_single_episode
    return lambda dataset, episode: process_single_episode(dataset, episode, use_sampling=not every_frame)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("--episodes", type=int, default=1)
    parser.add_argument("--every-frame", action="store_true")
    options = parser.parse_args()
    import torch
    from lerobot import __version__
    from lerobot.datasets.lerobot_dataset import LeRobotDataset
    torch.set_num_threads(2)
    process_episode = episode_function(options.every_frame)
    dataset = LeRobotDataset("local/bench", root=options.dataset)
    dataset[0]  # opens the videos
    wall, cpu = time.perf_counter(), time.process_time()
    statistics = [process_episode(dataset, episode) for episode in range(options.episodes)]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    camera = dataset.meta.camera_keys[0]
    print(json.dumps({
        "lerobot": __version__, "s_per_episode": wall / options.episodes, "cpu_s_per_episode": cpu / options.episodes,
        "pictures": sum(int(episode[camera]["count"][0]) for episode in statistics) * len(dataset.meta.camera_keys),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))


if __name__ == "__main__":
    main()
