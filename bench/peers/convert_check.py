"""Opens a dataset and what flexor made of it with LeRobot, and compares every value and the pictures.

    LEROBOT_PYTHON bench/peers/convert_check.py FLEXOR SOURCE [SOURCE...] [--keep DIR] [--pictures 12]

A v3.0 source is read as it is; one of v2.x, which LeRobot no longer reads, is compared with its own Parquet files and
videos. Each source is converted to v3.0 (and through v2.1 to v3.0 once more), opened with LeRobotDataset, and compared: every
column of every frame exactly, tasks, and some pictures of every episode exactly (edges included).
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import av
import numpy as np
import pyarrow.parquet as pq
import torch
from lerobot.datasets.lerobot_dataset import LeRobotDataset

NUMBERING = ("index", "episode_index", "task_index")


class Recorded:
    """A v2.x dataset by its own files."""

    def __init__(self, root):
        self.root, self.info = root, json.loads((root / "meta/info.json").read_text())
        lines = lambda name: [json.loads(line) for line in (root / "meta" / name).read_text().splitlines() if line.strip()]
        self.episodes = sorted(lines("episodes.jsonl"), key=lambda e: e["episode_index"])
        self.tasks = {t["task_index"]: t["task"] for t in lines("tasks.jsonl")}

    def path(self, template, episode, **more):
        return self.root / template.format(episode_chunk=episode // self.info["chunks_size"], episode_index=episode, **more)

    def columns(self, episode):
        table = pq.read_table(self.path(self.info["data_path"], episode))
        return {name: table.column(name).to_pylist() for name in table.column_names}

    def pictures(self, episode, camera, wanted):
        path = self.path(self.info["video_path"], episode, video_key=camera)
        if not path.exists():
            return None
        with av.open(str(path)) as container:
            frames = enumerate(container.decode(container.streams.video[0]))
            return {i: frame.to_ndarray(format="rgb24") for i, frame in frames if i in wanted}


def close(a, b):
    return np.array_equal(np.asarray(a), np.asarray(b))


def picture(value):
    return (value.permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()


def edges(length, count):
    return sorted({0, 1, length - 2, length - 1, *np.linspace(0, length - 1, count).astype(int).tolist()} & set(range(length)))


def compare_recorded(root, converted, options):
    source, dataset = Recorded(root), LeRobotDataset("local/check", root=converted)
    first, compared = 0, 0
    for episode in source.episodes:
        number, length = episode["episode_index"], episode["length"]
        columns = source.columns(number)
        offset = columns["timestamp"][0] if abs(columns["timestamp"][0]) > 1e-4 else 0
        rows = dataset.hf_dataset[first:first + length]
        for name, values in columns.items():
            if name in NUMBERING or name not in rows:
                continue
            found = np.stack([np.asarray(v) for v in rows[name]])
            if name == "timestamp" and offset:
                assert np.allclose(found, np.asarray(values) - offset, atol=1e-4), (root, number, name)
            else:
                assert close(found, np.asarray(values).astype(found.dtype)), (root, number, name)
        assert close(torch.stack(list(rows["index"])), np.arange(first, first + length))
        wanted = edges(length, options.pictures)
        for camera in dataset.meta.video_keys:
            recorded = source.pictures(number, camera, set(wanted))
            for i in wanted:
                item = dataset[first + i]
                assert item["task"] == source.tasks[columns["task_index"][i]]
                assert close(picture(item[camera]), recorded[i]), (root, number, camera, i)
                compared += 1
        first += length
    assert len(dataset) == first
    return first, compared


def compare_opened(root, converted, options):
    before, after = LeRobotDataset("local/before", root=root), LeRobotDataset("local/after", root=converted)
    assert len(before) == len(after) and before.meta.total_episodes == after.meta.total_episodes
    for name in before.hf_dataset.column_names:
        a, b = before.hf_dataset.with_format(None)[name], after.hf_dataset.with_format(None)[name]
        assert list(a) == list(b) or name == "task_index", (root, name)
    compared = 0
    for number in range(before.meta.total_episodes):
        episode = before.meta.episodes[number]
        start, end = episode["dataset_from_index"], episode["dataset_to_index"]
        for i in edges(end - start, options.pictures):
            a, b = before[start + i], after[start + i]
            assert a["task"] == b["task"]
            for camera in before.meta.camera_keys:
                assert torch.equal(a[camera], b[camera]), (root, number, camera, i)
                compared += 1
    return len(before), compared


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flexor", type=pathlib.Path)
    parser.add_argument("sources", type=pathlib.Path, nargs="+")
    parser.add_argument("--pictures", type=int, default=12, help="pictures of each episode and camera")
    parser.add_argument("--keep", type=pathlib.Path, help="where to leave the converted datasets")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        for root in options.sources:
            steps = [(root, folder / f"{root.name}_v30", "v3.0"), (folder / f"{root.name}_v30", folder / f"{root.name}_v21", "v2.1"),
                     (folder / f"{root.name}_v21", folder / f"{root.name}_again", "v3.0")]
            for source, target, version in steps:
                subprocess.run([options.flexor, "-q", "dataset", "convert", source, target, "--to", version], check=True,
                               stdout=subprocess.DEVNULL)
            is_v3 = json.loads((root / "meta/info.json").read_text())["codebase_version"] == "v3.0"
            compare = compare_opened if is_v3 else compare_recorded
            for target in (steps[0][1], steps[2][1]):
                frames, pictures = compare(root, target, options)
                print(json.dumps({"dataset": root.name, "converted": target.name, "frames": frames, "pictures": pictures,
                                  "equal": True}), flush=True)


if __name__ == "__main__":
    main()
