#!/usr/bin/env python3
"""make_full_weights.py SAFETENSORS FOLDER: its tensors as RLinf keeps them, FOLDER/model_state_dict/full_weights.pt.

Needs torch. A leading "model." of the names, which LeRobot's policies have and RLinf's have not, is left out, and actions get
openpi's 32 dimensions.
make_full_weights.py --same SAFETENSORS SAFETENSORS PART: the tensors of both whose names hold PART are the same bytes.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from spoil import read_safetensors  # noqa: E402

ACTION_DIM = 32


def tensors(path):
    header, data = read_safetensors(path)
    return {name.removeprefix("model."): (entry, data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def write(path, folder):
    import torch
    state = {}
    for name, (entry, raw) in tensors(path).items():
        assert entry["dtype"] == "F32", (name, entry)
        tensor = torch.frombuffer(bytearray(raw), dtype=torch.float32).reshape(entry["shape"]).clone()
        if name == "action_in_proj.weight":
            tensor = torch.nn.functional.pad(tensor, (0, ACTION_DIM - tensor.shape[1]))
        elif name.startswith("action_out_proj."):
            more = torch.zeros((ACTION_DIM - tensor.shape[0], *tensor.shape[1:]))
            tensor = torch.cat([tensor, more])
        state[name] = tensor
    target = folder / "model_state_dict"
    target.mkdir(parents=True)
    torch.save(state, target / "full_weights.pt")


def same(path, other, part):
    a, b = tensors(path), tensors(other)
    names = [name for name in a if part in name]
    changed = [name for name in names if a[name][1] != b[name][1]]
    if not names or changed:
        sys.exit(f"{len(names)} tensors, {len(changed)} differ: {changed[:3]}")


if __name__ == "__main__":
    if sys.argv[1] == "--same":
        same(*sys.argv[2:])
    else:
        write(sys.argv[1], pathlib.Path(sys.argv[2]))
