"""Writes a LeRobot v3.0 dataset: one Parquet file, one video per camera, statistics with quantiles.

Needs numpy, pyarrow and the ffmpeg program. Used by the scripts that make the bundled demonstration data and the
data of the loader benchmark.
"""

import json
import pathlib
import subprocess
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
ENCODERS = {
    "h264": ["-c:v", "libx264", "-threads", "2"],
    "av1": ["-c:v", "libsvtav1", "-preset", "12"],
}
COUNTERS = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64",
            "task_index": "int64"}


def statistics(values):
    """Per-dimension statistics of [N, D] as stats.json has them."""
    values = np.asarray(values, np.float64).reshape(len(values), -1)
    result = {name: getattr(values, name)(axis=0).tolist() for name in ("min", "max", "mean", "std")}
    result["count"] = [len(values)]
    result.update({name: np.quantile(values, q, axis=0).tolist() for name, q in QUANTILES.items()})
    return result


def picture_statistics(pictures):
    """Per-channel statistics in 0..1, shape (3, 1, 1), of a few uint8 pictures [N, H, W, 3]."""
    flat = statistics(pictures.reshape(-1, 3) / 255.0)
    result = {name: [[[v]] for v in values] for name, values in flat.items() if name != "count"}
    result["count"] = [len(pictures)]
    return result


def run_ffmpeg(arguments, **kwargs):
    subprocess.run(["ffmpeg", "-v", "error", *([] if "input" in kwargs else ["-nostdin"]), "-y", *arguments], check=True,
                   **kwargs)


class DatasetWriter:
    """Collects episodes with add_episode() and writes the tables in finish()."""

    def __init__(self, root, robot_type, fps, features, cameras, codec="h264", crf=30):
        """features: name -> (numpy dtype, names of the dimensions or None); cameras: name -> (width, height)."""
        self.root, self.fps, self.codec, self.crf = pathlib.Path(root), fps, codec, crf
        self.robot_type, self.features, self.cameras = robot_type, features, cameras
        if self.root.exists() and any(self.root.iterdir()):
            raise SystemExit(f"error: {self.root} is not empty")
        self.root.mkdir(parents=True, exist_ok=True)
        self.columns = {name: [] for name in [*features, *COUNTERS]}
        self.lengths, self.episode_tasks, self.tasks = [], [], []
        self.clips = {camera: [] for camera in cameras}
        self.samples = {camera: [] for camera in cameras}
        self.scratch = tempfile.TemporaryDirectory(prefix="lerobot-writer-")

    def add_episode(self, task, values, videos):
        """values: feature -> [T, D]; videos: camera -> uint8 [T, H, W, 3], or ffmpeg input arguments that make T pictures."""
        length, episode, first = len(next(iter(values.values()))), len(self.lengths), sum(self.lengths)
        if task not in self.tasks:
            self.tasks.append(task)
        for name, (dtype, _) in self.features.items():
            self.columns[name].append(np.asarray(values[name], dtype).reshape(length, -1))
        frames = np.arange(length)
        counters = {"timestamp": frames / self.fps, "frame_index": frames, "episode_index": np.full(length, episode),
                    "index": first + frames, "task_index": np.full(length, self.tasks.index(task))}
        for name, dtype in COUNTERS.items():
            self.columns[name].append(counters[name].astype(dtype).reshape(length, 1))
        for camera, source in videos.items():
            self._encode(camera, episode, length, source)
        self.lengths.append(length)
        self.episode_tasks.append(task)

    def _encode(self, camera, episode, length, source):
        path = pathlib.Path(self.scratch.name, f"{camera}.{episode:06d}.mp4")
        width, height = self.cameras[camera]
        given = {}
        if isinstance(source, np.ndarray):
            self.samples[camera].append(source[:: max(1, length // 4)])
            given["input"] = source.tobytes()
            source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(self.fps), "-i", "-"]
        # Every second picture is a key frame, as LeRobot's recorder does; the time base is the one its files have.
        run_ffmpeg([*source, "-frames:v", str(length), *ENCODERS[self.codec], "-pix_fmt", "yuv420p", "-g", "2", "-crf",
                    str(self.crf), "-video_track_timescale", str(self.fps * (1024 if self.fps < 20 else 512)), str(path)],
                   **given)
        self.clips[camera].append(path)

    def _join_clips(self, camera):
        """One file of all episodes, the packets copied."""
        target = self.root / f"videos/{camera}/chunk-000/file-000.mp4"
        target.parent.mkdir(parents=True)
        listing = pathlib.Path(self.scratch.name, "list.txt")
        listing.write_text("".join(f"file '{clip}'\n" for clip in self.clips[camera]))
        run_ffmpeg(["-f", "concat", "-safe", "0", "-i", str(listing), "-c", "copy", "-movflags", "faststart", str(target)])
        self._check_times(target)

    def _check_times(self, video):
        """Frame k of the file must be shown at k / fps exactly."""
        shown = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "packet=pts", "-of", "csv=p=0", str(video)],
                               check=True, capture_output=True, text=True).stdout.split()
        times = np.sort([int(text.strip(",")) for text in shown])
        if len(times) != sum(self.lengths) or np.any(times != times[1] * np.arange(len(times))):
            raise SystemExit(f"error: {video}: the pictures are not evenly spaced")

    def _sampled(self, camera):
        """A few pictures for the statistics; of videos that ffmpeg itself made, decoded ones."""
        if self.samples[camera]:
            return np.concatenate(self.samples[camera])
        width, height = self.cameras[camera]
        raw = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(self.clips[camera][0]), "-frames:v", "8", "-f",
                              "rawvideo", "-pix_fmt", "rgb24", "-"], check=True, capture_output=True).stdout
        return np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)

    def _write_frames(self):
        path = self.root / "data/chunk-000/file-000.parquet"
        path.parent.mkdir(parents=True)
        tables = []
        for parts in zip(*self.columns.values()):
            arrays = []
            for part in parts:
                flat = pa.array(part.reshape(-1))
                arrays.append(flat if part.shape[1] == 1 else pa.FixedSizeListArray.from_arrays(flat, part.shape[1]))
            tables.append(pa.table(arrays, names=list(self.columns)))
        with pq.ParquetWriter(path, tables[0].schema, compression="snappy") as writer:
            for table in tables:  # one row group per episode
                writer.write_table(table)

    def _write_episodes(self):
        ends = np.cumsum(self.lengths)
        starts = ends - self.lengths
        zeros = [0] * len(self.lengths)
        columns = {"episode_index": list(range(len(zeros))), "tasks": [[task] for task in self.episode_tasks],
                   "length": self.lengths, "data/chunk_index": zeros, "data/file_index": zeros,
                   "dataset_from_index": starts.tolist(), "dataset_to_index": ends.tolist()}
        for camera in self.cameras:
            columns[f"videos/{camera}/chunk_index"] = zeros
            columns[f"videos/{camera}/file_index"] = zeros
            columns[f"videos/{camera}/from_timestamp"] = (starts / self.fps).tolist()
            columns[f"videos/{camera}/to_timestamp"] = (ends / self.fps).tolist()
        columns["meta/episodes/chunk_index"] = columns["meta/episodes/file_index"] = zeros
        path = self.root / "meta/episodes/chunk-000/file-000.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table(columns), path, compression="snappy")

    def _write_tasks(self):
        table = pa.table({"task_index": pa.array(range(len(self.tasks)), pa.int64()), "task": self.tasks})
        described = [{"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": None}
                     for name, kind, numpy in (("task_index", "int64", "int64"), ("task", "unicode", "object"))]
        pandas = {"index_columns": ["task"], "column_indexes": [], "columns": described, "pandas_version": "2.0.0"}
        pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(pandas)}), self.root / "meta/tasks.parquet")

    def _info(self):
        features = {name: {"dtype": np.dtype(dtype).name, "shape": [self.columns[name][0].shape[1]], "names": names}
                    for name, (dtype, names) in self.features.items()}
        for camera, (width, height) in self.cameras.items():
            features[camera] = {
                "dtype": "video", "shape": [height, width, 3], "names": ["height", "width", "channels"],
                "info": {"video.height": height, "video.width": width, "video.codec": self.codec,
                         "video.pix_fmt": "yuv420p", "video.is_depth_map": False, "video.fps": self.fps,
                         "video.channels": 3, "has_audio": False}}
        features.update({name: {"dtype": dtype, "shape": [1], "names": None} for name, dtype in COUNTERS.items()})
        return {
            "codebase_version": "v3.0", "robot_type": self.robot_type, "total_episodes": len(self.lengths),
            "total_frames": sum(self.lengths), "total_tasks": len(self.tasks), "chunks_size": 1000,
            "data_files_size_in_mb": 100, "video_files_size_in_mb": 200, "fps": self.fps,
            "splits": {"train": f"0:{len(self.lengths)}"},
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4", "features": features}

    def finish(self):
        """Writes everything; returns the size in bytes."""
        (self.root / "meta").mkdir()
        stats = {name: statistics(np.concatenate(parts)) for name, parts in self.columns.items()}
        for camera in self.cameras:
            self._join_clips(camera)
            stats[camera] = picture_statistics(self._sampled(camera))
        self._write_frames()
        self._write_episodes()
        self._write_tasks()
        (self.root / "meta/info.json").write_text(json.dumps(self._info(), indent=4) + "\n")
        (self.root / "meta/stats.json").write_text(json.dumps(stats, indent=4) + "\n")
        self.scratch.cleanup()
        return sum(file.stat().st_size for file in self.root.rglob("*") if file.is_file())
