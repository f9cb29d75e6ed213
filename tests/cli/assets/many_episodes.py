"""many_episodes.py DIR [EPISODES]: a v2.1 dataset without cameras, all episodes in one folder, two frames each."""
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

root, episodes = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10000
(root / "meta").mkdir(parents=True)
(root / "data/chunk-000").mkdir(parents=True)
feature = lambda dtype, width=1: {"dtype": dtype, "shape": [width], "names": None}
info = {"codebase_version": "v2.1", "robot_type": "reach2d", "total_episodes": episodes, "total_frames": 2 * episodes,
        "total_tasks": 1, "total_videos": 0, "total_chunks": 1, "chunks_size": episodes, "fps": 10,
        "splits": {"train": f"0:{episodes}"}, "video_path": None,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "features": {"observation.state": feature("float32", 2), "action": feature("float32", 2),
                     "timestamp": feature("float32"), "frame_index": feature("int64"), "episode_index": feature("int64"),
                     "index": feature("int64"), "task_index": feature("int64")}}
(root / "meta/info.json").write_text(json.dumps(info))
(root / "meta/tasks.jsonl").write_text(json.dumps({"task_index": 0, "task": "go"}) + "\n")
(root / "meta/episodes.jsonl").write_text(
    "".join(json.dumps({"episode_index": e, "tasks": ["go"], "length": 2}) + "\n" for e in range(episodes)))
vector = pa.list_(pa.float32())
for episode in range(episodes):
    values = [[episode / episodes, 0.5], [0.25, episode / episodes]]
    table = pa.table({"observation.state": pa.array(values, vector), "action": pa.array(values, vector),
                      "timestamp": pa.array([0, 0.1], pa.float32()), "frame_index": [0, 1],
                      "episode_index": [episode] * 2, "index": [2 * episode, 2 * episode + 1], "task_index": [0, 0]})
    pq.write_table(table, root / f"data/chunk-000/episode_{episode:06d}.parquet")
