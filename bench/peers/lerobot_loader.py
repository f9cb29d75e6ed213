"""One measurement of LeRobot's data loader, or of plain libavcodec, as one JSON object.

    LEROBOT_PYTHON bench/peers/lerobot_loader.py DATASET [--workers 2] [--batches 40] [--batch-size 8] [--horizon 50]
    LEROBOT_PYTHON bench/peers/lerobot_loader.py DATASET --plain [--pictures 600]

--plain reads random pictures with libavcodec through PyAV: files opened once, one thread, RGB24, no resize. That is what a
loader can reach on one core.
"""

import argparse
import json
import os
import pathlib
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def loader(options):
    import torch
    from lerobot.datasets import LeRobotDataset
    torch.set_num_threads(2)
    fps = json.loads((options.dataset / "meta/info.json").read_text())["fps"]
    window = {"action": [step / fps for step in range(options.horizon)]}
    dataset = LeRobotDataset("local/bench", root=options.dataset, delta_timestamps=window)
    batches = torch.utils.data.DataLoader(dataset, batch_size=options.batch_size, shuffle=True, num_workers=options.workers,
                                          generator=torch.Generator().manual_seed(0))
    batches = iter(batches)
    for _ in range(2 + 2 * options.workers):  # the workers' start is not measured
        next(batches)
    begin, samples = time.perf_counter(), 0
    for _ in range(options.batches):
        samples += len(next(batches)["action"])
    seconds = time.perf_counter() - begin
    cameras = len(dataset.meta.camera_keys)
    return {"samples_per_s": samples / seconds, "pictures_per_s": cameras * samples / seconds, "workers": options.workers}


def plain(options):
    import av
    import numpy as np
    streams = []
    for path in sorted(options.dataset.rglob("*.mp4")):
        container = av.open(str(path))
        stream = container.streams.video[0]
        stream.thread_count, stream.thread_type = 1, "NONE"
        streams.append((container, stream, round(1 / (stream.time_base * stream.average_rate))))
    random, wall, cpu = np.random.default_rng(0), time.perf_counter(), time.process_time()
    for index in range(options.pictures):
        container, stream, tick = streams[index % len(streams)]
        wanted = int(random.integers(stream.frames)) * tick
        container.seek(wanted, stream=stream, backward=True)
        for frame in container.decode(stream):
            if frame.pts >= wanted:
                frame.to_ndarray(format="rgb24")
                break
    return {"pictures_per_s": options.pictures / (time.perf_counter() - wall),
            "pictures_per_cpu_s": options.pictures / (time.process_time() - cpu)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--horizon", type=int, default=50)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--pictures", type=int, default=600)
    options = parser.parse_args()
    print(json.dumps(plain(options) if options.plain else loader(options)))


if __name__ == "__main__":
    main()
