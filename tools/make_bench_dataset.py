"""Makes the data of the loader benchmark: 640x480 pictures, two cameras, 30 fps, long enough that nothing stays cached.

    python3 tools/make_bench_dataset.py DIR [--codec h264|av1] [--episodes 40] [--frames 300] [--size 640x480]

Moving, slowly turning test pictures with sensor noise: they cost a decoder about what a real camera's pictures cost. Every
second picture is a key frame (crf 30), as LeRobot records. state has 8, action 7 dimensions. About 3 MB an episode.
"""

import argparse

import numpy as np

from lerobot_writer import DatasetWriter

FPS = 30
CAMERAS = ("observation.images.top", "observation.images.wrist")


def moving_pictures(size, episode, camera):
    """Arguments that make ffmpeg draw the pictures of one episode and camera."""
    hue, angle = (53 * episode + 90 * camera) % 360, 0.05 * (episode % 5)
    picture = (f"testsrc2=size={size}:rate={FPS},hue=h={hue},rotate=a={angle}+0.04*sin(0.8*t):c=gray,"
               f"noise=alls=6:allf=t+u:all_seed={2 * episode + camera},"
               f"trim=start_frame={FPS * (episode % 4)},setpts=PTS-STARTPTS")
    return ["-f", "lavfi", "-i", picture]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", help="folder to write; must not exist or be empty")
    parser.add_argument("--codec", choices=("h264", "av1"), default="h264")
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--frames", type=int, default=300, help="frames of an episode; even")
    parser.add_argument("--size", default="640x480")
    options = parser.parse_args()
    size = tuple(map(int, options.size.split("x")))
    writer = DatasetWriter(options.root, "bench", FPS,
                           {"observation.state": (np.float32, [f"s{i}" for i in range(8)]),
                            "action": (np.float32, [f"a{i}" for i in range(7)])},
                           dict.fromkeys(CAMERAS, size), options.codec)
    for episode in range(options.episodes):
        rng = np.random.default_rng(episode)
        time = np.arange(options.frames)[:, None] / FPS
        curves = rng.uniform(0.2, 1.5, 15) * np.sin(0.9 * time + rng.uniform(0, 6, 15))
        curves += rng.normal(0, 0.02, curves.shape)
        videos = {name: moving_pictures(options.size, episode, index) for index, name in enumerate(CAMERAS)}
        writer.add_episode(f"task {episode % 3}", {"observation.state": curves[:, :8], "action": curves[:, 8:]}, videos)
        print(f"episode {episode + 1} of {options.episodes}", flush=True)
    print(f"{options.root}: {sum(writer.lengths)} frames, {writer.finish() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
