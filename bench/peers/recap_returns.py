"""Step 1 of RECAP beside the function of RLinf that does the same, in turns: wall seconds, CPU seconds, peak memory; the sidecars are compared.

    PYTHON bench/peers/recap_returns.py FOLDER --flexor build/flexor [--rlinf CHECKOUT] [--rounds 5] [--episodes 4096] [--frames 1561874]

FOLDER gets the workload on the first run: a rollout dataset in LeRobot's v2.1 layout, one Parquet file an episode, with state and action
beside the index columns. CHECKOUT is a working tree of RLinf; without it only Flexor is measured. PYTHON needs numpy, pyarrow and tqdm;
hydra and omegaconf, which RLinf's file imports but the function does not use, may be missing. Needs no network and no GPU.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import types

FUNCTION = "examples/offline_rl/advantage_labeling/recap/process/compute_returns.py"


def make(root, episodes, frames):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    random = np.random.default_rng(0)
    lengths = random.multinomial(frames - episodes, [1 / episodes] * episodes) + 1
    (root / "meta").mkdir(parents=True)
    start, lines = 0, []
    for episode, length in enumerate(lengths.tolist()):
        success = bool(random.random() < 0.5)
        rows = np.arange(length)
        table = pa.table({
            "state": pa.FixedSizeListArray.from_arrays(pa.array(random.standard_normal(8 * length, dtype=np.float32)), 8),
            "actions": pa.FixedSizeListArray.from_arrays(pa.array(random.standard_normal(7 * length, dtype=np.float32)), 7),
            "timestamp": pa.array((rows / 10).astype(np.float32)),
            "frame_index": pa.array(rows),
            "episode_index": pa.array(np.full(length, episode)),
            "index": pa.array(start + rows),
            "task_index": pa.array(np.zeros(length, np.int64)),
            "is_success": pa.array([success] * length),
        })
        folder = root / f"data/chunk-{episode // 1000:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / f"episode_{episode:06d}.parquet")
        lines.append(json.dumps({"episode_index": episode, "tasks": ["put the cup on the plate"], "length": length}))
        start += length
    (root / "meta/episodes.jsonl").write_text("\n".join(lines) + "\n")
    (root / "meta/tasks.jsonl").write_text('{"task_index": 0, "task": "put the cup on the plate"}\n')
    (root / "meta/info.json").write_text(json.dumps({"codebase_version": "v2.1", "total_episodes": episodes,
                                                     "total_frames": start, "fps": 10, "features": {}}, indent=2))


def reference(root, checkout):
    """Calls RLinf's own function; prints its wall time."""
    for name in ("hydra", "omegaconf"):
        if importlib.util.find_spec(name) is None:
            stub = types.ModuleType(name)
            stub.main = lambda *a, **k: (lambda f: f)
            stub.DictConfig = stub.OmegaConf = object
            sys.modules[name] = stub
    spec = importlib.util.spec_from_file_location("compute_returns", checkout / FUNCTION)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    begin = time.perf_counter()
    module.process_dataset(dataset_path=root, output_path=None, dataset_type="rollout", gamma=1.0, failure_reward=-300.0,
                           num_workers=128, tag="reference")
    print(json.dumps({"inside_s": time.perf_counter() - begin}))


def measured(command):
    begin, process = time.perf_counter(), subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"exit {os.waitstatus_to_exitcode(status)}: {' '.join(map(str, command))}")
    return {"wall_s": time.perf_counter() - begin, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024}


def equal(root):
    import pyarrow.parquet as pq
    keys = [("episode_index", "ascending"), ("frame_index", "ascending")]
    ours, theirs = (pq.read_table(root / f"meta/returns_{tag}.parquet").sort_by(keys) for tag in ("flexor", "reference"))
    return ours.replace_schema_metadata(None).equals(theirs.replace_schema_metadata(None))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--flexor", type=pathlib.Path)
    parser.add_argument("--rlinf", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=4096)
    parser.add_argument("--frames", type=int, default=1561874)
    parser.add_argument("--as-reference", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_reference:
        reference(options.folder, options.rlinf)
        return
    if not options.folder.exists():
        make(options.folder, options.episodes, options.frames)
    commands = {"flexor": [options.flexor, "recap", "returns", "tag=flexor", "data.failure_reward=-300",
                           f"data.train_data_paths=[{{dataset_path: {options.folder}, type: rollout}}]"]}
    if options.rlinf:
        commands["reference"] = [sys.executable, __file__, options.folder, "--rlinf", options.rlinf, "--as-reference"]
    for command in commands.values():
        measured(command)  # fills the page cache
    rounds = {side: [] for side in commands}
    for _ in range(options.rounds):
        for side, command in commands.items():
            rounds[side].append(measured(command))
    result = {side: {key: statistics.median(r[key] for r in values) for key in values[0]} for side, values in rounds.items()}
    result["rounds"], result["load"] = options.rounds, os.getloadavg()[0]
    if options.rlinf:
        result["wall_ratio"] = result["flexor"]["wall_s"] / result["reference"]["wall_s"]
        result["equal"] = equal(options.folder)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
