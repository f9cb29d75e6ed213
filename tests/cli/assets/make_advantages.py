#!/usr/bin/env python3
"""make_advantages.py FILE ROWS [nan]: an advantages sidecar of one episode, scores 0, 1, 2, ... in a fixed disorder."""
import sys

import pyarrow as pa
import pyarrow.parquet as pq

path, rows = sys.argv[1], int(sys.argv[2])
scores = [float(i * 97 % rows) for i in range(rows)]
if len(sys.argv) > 3:
    scores[3] = float("nan")
pq.write_table(pa.table({
    "episode_index": pa.array([0] * rows, pa.int64()),
    "frame_index": pa.array(range(rows), pa.int64()),
    "advantage_continuous": pa.array(scores, pa.float64()),
    "value_current": pa.array([-0.5] * rows, pa.float64()),
    "advantage": pa.array([False] * rows),
}), path)
