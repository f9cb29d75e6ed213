"""Makes a large LeRobot v3.0 dataset without pictures, to measure what reads every number.

    python3 tools/make_large_table.py DIR [--frames 1000000] [--state 14] [--action 14] [--episode 500]
                                          [--row-group episode|file]

Smooth random curves in float32; action dim 0 is constant, action dim 1 is 1 in a hundredth of the frames. Files of at most 100 MB, a
row group an episode (as LeRobot records) or a file (as its converter writes). Needs numpy and pyarrow.
"""

import argparse
import json
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FPS = 50
FILE_BYTES = 100 * 2**20


def fixed_list(values):
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def episode_table(episode, length, first, state, action):
    rng = np.random.default_rng(episode)
    time = np.arange(length)[:, None] / FPS
    curves = rng.uniform(0.2, 1.5, state + action) * np.sin(0.9 * time + rng.uniform(0, 6, state + action))
    curves = (curves + rng.normal(0, 0.02, curves.shape)).astype(np.float32)
    curves[:, state] = 0.5
    if action > 1:
        curves[:, state + 1] = rng.random(length) < 0.01
    frames = np.arange(length)
    return pa.table({
        "observation.state": fixed_list(curves[:, :state]), "action": fixed_list(curves[:, state:]),
        "timestamp": pa.array((frames / FPS).astype(np.float32)), "frame_index": pa.array(frames),
        "episode_index": pa.array(np.full(length, episode)), "index": pa.array(first + frames),
        "task_index": pa.array(np.zeros(length, np.int64))})


class FileSeries:
    """data/chunk-000/file-000.parquet and so on, a new one when the limit is reached."""

    def __init__(self, root, per_file):
        self.root, self.per_file, self.number, self.writer, self.pending, self.bytes = root, per_file, -1, None, [], 0

    def add(self, table):
        if self.writer is None or self.bytes >= FILE_BYTES:
            self.close()
            self.number, self.bytes = self.number + 1, 0
            path = self.root / f"data/chunk-000/file-{self.number:03d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            self.writer = pq.ParquetWriter(path, table.schema, compression="snappy")
        self.bytes += table.nbytes
        if self.per_file:
            self.pending.append(table)
        else:
            self.writer.write_table(table)
        return self.number

    def close(self):
        if self.writer is not None:
            if self.pending:
                whole = pa.concat_tables(self.pending)
                self.writer.write_table(whole, row_group_size=len(whole))
            self.writer.close()
        self.writer, self.pending = None, []


def write_meta(root, options, lengths, files):
    scalar = {"shape": [1], "names": None}
    features = {
        "observation.state": {"dtype": "float32", "shape": [options.state], "names": [f"s{i}" for i in range(options.state)]},
        "action": {"dtype": "float32", "shape": [options.action], "names": [f"a{i}" for i in range(options.action)]},
        "timestamp": {"dtype": "float32", **scalar},
        **{name: {"dtype": "int64", **scalar} for name in ("frame_index", "episode_index", "index", "task_index")}}
    info = {"codebase_version": "v3.0", "robot_type": "bench", "total_episodes": len(lengths), "total_frames": sum(lengths),
            "total_tasks": 1, "chunks_size": 1000, "data_files_size_in_mb": 100, "video_files_size_in_mb": 200, "fps": FPS,
            "splits": {"train": f"0:{len(lengths)}"},
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "video_path": None, "features": features}
    (root / "meta/episodes/chunk-000").mkdir(parents=True)
    (root / "meta/info.json").write_text(json.dumps(info, indent=4))
    pq.write_table(pa.table({"task_index": pa.array([0]), "task": pa.array(["move"])}), root / "meta/tasks.parquet")
    ends = np.cumsum(lengths)
    zeros = np.zeros(len(lengths), np.int64)
    pq.write_table(pa.table({
        "episode_index": pa.array(np.arange(len(lengths))), "tasks": pa.array([["move"]] * len(lengths)),
        "length": pa.array(lengths), "data/chunk_index": pa.array(zeros), "data/file_index": pa.array(files),
        "dataset_from_index": pa.array(ends - lengths), "dataset_to_index": pa.array(ends),
        "meta/episodes/chunk_index": pa.array(zeros), "meta/episodes/file_index": pa.array(zeros)}),
        root / "meta/episodes/chunk-000/file-000.parquet")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path, help="folder to write; must not exist")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--state", type=int, default=14, help="dimensions of observation.state")
    parser.add_argument("--action", type=int, default=14, help="dimensions of action")
    parser.add_argument("--episode", type=int, default=500, help="frames of an episode")
    parser.add_argument("--row-group", choices=("episode", "file"), default="episode")
    options = parser.parse_args()
    options.root.mkdir(parents=True)
    series, lengths, files, first = FileSeries(options.root, options.row_group == "file"), [], [], 0
    while first < options.frames:
        length = min(options.episode, options.frames - first)
        files.append(series.add(episode_table(len(lengths), length, first, options.state, options.action)))
        lengths.append(length)
        first += length
    series.close()
    write_meta(options.root, options, lengths, files)
    print(f"{options.root}: {first} frames, {len(lengths)} episodes, {files[-1] + 1} files")


if __name__ == "__main__":
    main()
