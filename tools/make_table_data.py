#!/usr/bin/env python3
"""Writes tests/data/table/*.parquet: the column layouts that recorders, converters and other tools produce.

Usage: tools/make_table_data.py tests/data/table        (needs pyarrow only)
"""

import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq


class Array2D(pa.ExtensionType):
    """Stands for the 2-D extension type that the `datasets` library stores matrices with."""

    def __init__(self):
        super().__init__(pa.list_(pa.list_(pa.float32())), "datasets.features.features.Array2DExtensionType")

    def __arrow_ext_serialize__(self):
        return b"[2, 2]"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


def layouts():
    rows = 4
    vector = [[r + d / 4 for d in range(3)] for r in range(rows)]
    matrix = [[[r, r + 0.25], [r + 0.5, r + 0.75]] for r in range(rows)]
    images = [{"bytes": bytes([1, 2, r]), "path": f"frame_{r}.png"} for r in range(rows - 1)]
    images.append({"bytes": None, "path": "images/last.png"})
    matrices = pa.array(matrix, pa.list_(pa.list_(pa.float32())))
    return pa.table({
        "scalar_f32": pa.array([0.5, 1.5, 2.5, 3.5], pa.float32()),
        "scalar_f64": pa.array([0.1, 0.2, 0.3, 0.4], pa.float64()),
        "half": pa.array([0.5, -1.0, 2.0, 65504.0], pa.float16()),
        "bool": pa.array([True, False, True, True]),
        "int8": pa.array([-128, 0, 1, 127], pa.int8()),
        "uint64": pa.array([0, 1, 2, 2**63 - 1], pa.uint64()),
        "list_f32": pa.array(vector, pa.list_(pa.float32())),
        "large_list_f64": pa.array(vector, pa.large_list(pa.float64())),
        "fixed_f32": pa.array(vector, pa.list_(pa.float32(), 3)),
        "list_of_one": pa.array([[r] for r in range(rows)], pa.list_(pa.int64())),
        "nested": matrices,
        "array2d": pa.ExtensionArray.from_storage(Array2D(), matrices),
        "string": pa.array(["a", "", "ü", "long text"]),
        "large_string": pa.array(["a", "b", "c", "d"], pa.large_string()),
        "dictionary": pa.array(["x", "y", "x", "y"]).dictionary_encode(),
        "texts": pa.array([["a"], [], ["b", "c"], ["d"]], pa.list_(pa.string())),
        "ragged": pa.array([[1], [1, 2], [], [3, 4, 5]], pa.list_(pa.float32())),
        "image": pa.array(images, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        "raw_image": pa.array([b"\x01", b"\x02", b"\x03", b"\x04"], pa.large_binary()),
        "null_number": pa.array([1.0, None, 3.0, 4.0], pa.float32()),
        "null_list": pa.array([[1.0], [2.0], None, [4.0]], pa.list_(pa.float32())),
        "null_inside": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, None], [7.0, 8.0]], pa.list_(pa.float32(), 2)),
        "null_text": pa.array(["a", None, "c", "d"]),
        "time": pa.array([0, 1, 2, 3], pa.timestamp("us")),
    })


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    table = layouts()
    pq.write_table(table, folder / "layouts.parquet")
    pq.write_table(table.select(["scalar_f32", "fixed_f32", "string"]), folder / "row_groups.parquet", row_group_size=3)
    pairs = [[2 * row, 2 * row + 1] for row in range(5)]
    pairs[4][1] = 2**63
    pq.write_table(pa.table({"pairs": pa.array(pairs, pa.list_(pa.uint64()))}), folder / "too_large.parquet", row_group_size=3)


if __name__ == "__main__":
    main()
