#!/usr/bin/env python3
"""make_labels.py DATASET TAG [LEFT_OUT]: labels of all frames but the last LEFT_OUT, every third one positive."""
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

root, tag = pathlib.Path(sys.argv[1]), sys.argv[2]
left_out = int(sys.argv[3]) if len(sys.argv) > 3 else 0
files = sorted((root / "data").rglob("*.parquet"))
table = pa.concat_tables([pq.read_table(f, columns=["episode_index", "frame_index"]) for f in files])
table = table.slice(0, table.num_rows - left_out)
frames = table.column("frame_index").to_pylist()
pq.write_table(table.append_column("advantage", pa.array([f % 3 == 0 for f in frames])),
               root / "meta" / f"advantages_{tag}.parquet")
