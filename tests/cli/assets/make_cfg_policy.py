#!/usr/bin/env python3
"""make_cfg_policy.py GOLDEN FOLDER: the policy of tests/golden/recap/cfg_policy_tiny as a policy folder, and its batch.

FOLDER gets config.json, model.safetensors (without the lm_heads, which nothing reads) and batch.safetensors, under LeRobot's names;
pictures go from [-1, 1] to [0, 1]. The guided prompts keep their names.
"""
import json
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from spoil import read_safetensors, write_safetensors  # noqa: E402

CAMERAS = ("base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb")
NAMES = {"tokenized_prompt": "observation.language.tokens", "tokenized_prompt_mask": "observation.language.attention_mask",
         "state": "observation.state"}


def write_batch(golden, path):
    header, data = read_safetensors(golden / "inputs.safetensors")
    out, body = {}, bytearray(data)
    for name, entry in header.items():
        camera = name.removeprefix("images.")
        begin, end = entry["data_offsets"]
        if camera != name:
            if not data[header[f"image_masks.{camera}"]["data_offsets"][0]]:
                continue
            values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
            body[begin:end] = struct.pack(f"<{len(values)}f", *((value + 1) / 2 for value in values))
            out[f"observation.images.{camera}"] = entry
        elif name in NAMES or name == "noise" or "guidance_prompt" in name:
            out[NAMES.get(name, name)] = entry
    write_safetensors(path, out, bytes(body))


def write_config(meta, path):
    vision, side, dim = meta["vision"], meta["vision"]["image_size"], meta["action_dim"]
    features = {f"observation.images.{camera}": {"type": "VISUAL", "shape": [3, side, side]} for camera in CAMERAS}
    features["observation.state"] = {"type": "STATE", "shape": [dim]}
    path.write_text(json.dumps({
        "type": "pi05", "input_features": features, "output_features": {"action": {"type": "ACTION", "shape": [dim]}},
        "dtype": "float32", "chunk_size": meta["action_horizon"], "n_action_steps": meta["action_horizon"],
        "max_state_dim": dim, "max_action_dim": dim, "num_inference_steps": meta["num_steps"], "image_resolution": [side, side],
        "tokenizer_max_length": meta["max_token_len"],
        "normalization_mapping": {"VISUAL": "IDENTITY", "STATE": "QUANTILES", "ACTION": "QUANTILES"},
        "architecture": {"vocab_size": meta["vocab_size"],
                         "vision": {"width": vision["hidden_size"], "depth": vision["num_hidden_layers"],
                                    "num_heads": vision["num_attention_heads"], "mlp_dim": vision["intermediate_size"],
                                    "patch_size": vision["patch_size"]},
                         "paligemma": meta["paligemma_text"], "action_expert": meta["action_expert"]}}, indent=4))


if __name__ == "__main__":
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    sizes = json.loads((source / "config.json").read_text())
    write_config(sizes, folder / "config.json")
    shutil.copyfile(source / "weights.safetensors", folder / "model.safetensors")
    write_batch(source, folder / "batch.safetensors")
