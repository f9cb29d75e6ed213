#!/usr/bin/env python3
"""Writes a pi0 or pi0.5 policy folder with random weights, of the real size or any other, for benchmarks.

    .deps/venv/bin/python tools/make_random_policy.py --type pi05 --dtype bfloat16 OUT

OUT gets config.json, model.safetensors (streamed: the memory stays small; 7.2 GB for the real pi0.5 in bfloat16) and
inputs_b<B>.safetensors, a batch that `flexor bench` and `flexor predict` take. The weights are normal with the
standard deviation 1/sqrt(inputs), norms are the identity: activations stay finite, actions mean nothing.
"""
import argparse
import ctypes
import json
import pathlib
import struct

import torch

REAL = {
    "vocab_size": 257152,
    "vision": {"width": 1152, "depth": 27, "num_heads": 16, "mlp_dim": 4304, "patch_size": 14},
    "paligemma": {"width": 2048, "depth": 18, "mlp_dim": 16384, "num_heads": 8, "num_kv_heads": 1, "head_dim": 256},
    "action_expert": {"width": 1024, "depth": 18, "mlp_dim": 4096, "num_heads": 8, "num_kv_heads": 1, "head_dim": 256},
}
DTYPES = {"float32": (torch.float32, "F32"), "bfloat16": (torch.bfloat16, "BF16")}


def linear(name, rows, columns, bias):
    yield f"{name}.weight", [rows, columns]
    if bias:
        yield f"{name}.bias", [rows]


def vision_tensors(prefix, size, image, out_width):
    width, patch = size["width"], size["patch_size"]
    tower = f"{prefix}.model.vision_tower.vision_model"
    yield f"{tower}.embeddings.patch_embedding.weight", [width, 3, patch, patch]
    yield f"{tower}.embeddings.patch_embedding.bias", [width]
    yield f"{tower}.embeddings.position_embedding.weight", [(image // patch) ** 2, width]
    for i in range(size["depth"]):
        layer = f"{tower}.encoder.layers.{i}"
        for norm in ("layer_norm1", "layer_norm2"):
            yield f"{layer}.{norm}.weight", [width]
            yield f"{layer}.{norm}.bias", [width]
        for projection in ("k_proj", "v_proj", "q_proj", "out_proj"):
            yield from linear(f"{layer}.self_attn.{projection}", width, width, True)
        yield from linear(f"{layer}.mlp.fc1", size["mlp_dim"], width, True)
        yield from linear(f"{layer}.mlp.fc2", width, size["mlp_dim"], True)
    yield f"{tower}.post_layernorm.weight", [width]
    yield f"{tower}.post_layernorm.bias", [width]
    yield from linear(f"{prefix}.model.multi_modal_projector.linear", out_width, width, True)


def gemma_tensors(prefix, size, condition_width):
    width, heads = size["width"], size["num_heads"] * size["head_dim"]
    kv = size["num_kv_heads"] * size["head_dim"]

    def norm(name):
        if condition_width:
            return linear(f"{name}.dense", 3 * width, condition_width, True)
        return iter([(f"{name}.weight", [width])])

    for i in range(size["depth"]):
        layer = f"{prefix}.layers.{i}"
        yield from linear(f"{layer}.self_attn.q_proj", heads, width, False)
        yield from linear(f"{layer}.self_attn.k_proj", kv, width, False)
        yield from linear(f"{layer}.self_attn.v_proj", kv, width, False)
        yield from linear(f"{layer}.self_attn.o_proj", width, heads, False)
        yield from linear(f"{layer}.mlp.gate_proj", size["mlp_dim"], width, False)
        yield from linear(f"{layer}.mlp.up_proj", size["mlp_dim"], width, False)
        yield from linear(f"{layer}.mlp.down_proj", width, size["mlp_dim"], False)
        yield from norm(f"{layer}.input_layernorm")
        yield from norm(f"{layer}.post_attention_layernorm")
    yield from norm(f"{prefix}.norm")


def policy_tensors(kind, sizes, image, max_dim):
    """Names and shapes as LeRobot writes them."""
    vlm, expert = sizes["paligemma"], sizes["action_expert"]
    root = "model.paligemma_with_expert"
    yield f"{root}.paligemma.lm_head.weight", [sizes["vocab_size"], vlm["width"]]
    yield from vision_tensors(f"{root}.paligemma", sizes["vision"], image, vlm["width"])
    yield f"{root}.paligemma.model.language_model.embed_tokens.weight", [sizes["vocab_size"], vlm["width"]]
    yield from gemma_tensors(f"{root}.paligemma.model.language_model", vlm, 0)
    yield f"{root}.gemma_expert.lm_head.weight", [sizes["vocab_size"], expert["width"]]
    yield from gemma_tensors(f"{root}.gemma_expert.model", expert, expert["width"] if kind == "pi05" else 0)
    width = expert["width"]
    yield from linear("model.action_in_proj", width, max_dim, True)
    yield from linear("model.action_out_proj", max_dim, width, True)
    if kind == "pi0":
        yield from linear("model.state_proj", width, max_dim, True)
        yield from linear("model.action_time_mlp_in", width, 2 * width, True)
        yield from linear("model.action_time_mlp_out", width, width, True)
    else:
        yield from linear("model.time_mlp_in", width, width, True)
        yield from linear("model.time_mlp_out", width, width, True)


def fill(name, shape, noise):
    """A tensor of `shape` cut from the block `noise`, which is repeated where it is too short."""
    count = torch.Size(shape).numel()
    if len(shape) == 1:
        is_layer_norm = "layer_norm" in name or "post_layernorm" in name
        return torch.ones(shape) if is_layer_norm and name.endswith("weight") else torch.zeros(shape)
    inputs = count // shape[0] if "embed" not in name else shape[-1]
    repeats = -(-count // noise.numel())
    return (noise.repeat(repeats)[:count] * inputs**-0.5).view(shape)


def write_safetensors(path, entries, make):
    """Streams tensors: `entries` are (name, shape, dtype tag, item bytes) in file order, `make(name, shape)` gives one."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, tag, item_bytes in entries:
        end = offset + torch.Size(shape).numel() * item_bytes
        header[name] = {"dtype": tag, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, shape, _, _ in entries:
            tensor = make(name, shape).contiguous()
            out.write((ctypes.c_char * tensor.nbytes).from_address(tensor.data_ptr()))


def feature(kind, shape):
    return {"type": kind, "shape": shape}


def write_batch(path, args, cameras, generator):
    """The batch as `flexor bench` takes it: pictures float 0..1, a prompt, state and actions, noise and time."""
    b, image, length = args.batch, args.image, args.prompt_tokens
    mask = torch.ones(b, length, dtype=torch.bool)
    tensors = {f"observation.images.{name}": torch.rand(b, 3, image, image, generator=generator) for name in cameras}
    tensors |= {
        "observation.state": torch.rand(b, args.dims, generator=generator) * 2 - 1,
        "action": torch.rand(b, args.chunk, args.dims, generator=generator) * 2 - 1,
        "noise": torch.randn(b, args.chunk, args.max_dim, generator=generator),
        "time": torch.rand(b, generator=generator) * 0.999 + 0.001,
        "observation.language.tokens": torch.randint(4, args.vocab, (b, length), generator=generator),
        "observation.language.attention_mask": mask,
    }
    tags = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL"}
    entries = [(name, list(tensor.shape), tags[tensor.dtype], tensor.dtype.itemsize)
               for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize)]
    write_safetensors(path, entries, lambda name, _: tensors[name])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--type", choices=["pi0", "pi05"], default="pi05")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="bfloat16")
    parser.add_argument("--architecture", type=pathlib.Path, help="JSON with the sizes; default: the real ones")
    parser.add_argument("--image", type=int, default=224, help="picture side in pixels")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--prompt-tokens", type=int, default=20)
    parser.add_argument("--dims", type=int, default=14, help="state and action dimensions of the robot")
    parser.add_argument("--chunk", type=int, default=50)
    parser.add_argument("--max-dim", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    sizes = json.loads(args.architecture.read_text()) if args.architecture else REAL
    args.vocab = sizes["vocab_size"]
    generator = torch.Generator().manual_seed(args.seed)
    cameras = ["base_0_rgb", "left_wrist_0_rgb"]
    features = {f"observation.images.{name}": feature("VISUAL", [3, args.image, args.image])
                for name in cameras + ["right_wrist_0_rgb"]}
    features["observation.state"] = feature("STATE", [args.dims])
    config = {
        "type": args.type,
        "input_features": features,
        "output_features": {"action": feature("ACTION", [args.dims])},
        "dtype": args.dtype,
        "chunk_size": args.chunk,
        "n_action_steps": args.chunk,
        "max_state_dim": args.max_dim,
        "max_action_dim": args.max_dim,
        "image_resolution": [args.image, args.image],
        "tokenizer_max_length": 200 if args.type == "pi05" else 48,
    }
    if args.architecture:
        config["architecture"] = sizes
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "config.json").write_text(json.dumps(config, indent=4))
    noise = torch.randn(1 << 24, generator=generator)
    tensors = list(policy_tensors(args.type, sizes, args.image, args.max_dim))
    dtype, tag = DTYPES[args.dtype]
    entries = [(name, shape, tag, dtype.itemsize) for name, shape in tensors]
    write_safetensors(args.out / "model.safetensors", entries, lambda name, shape: fill(name, shape, noise).to(dtype))
    write_batch(args.out / f"inputs_b{args.batch}.safetensors", args, cameras, generator)
    count = sum(torch.Size(shape).numel() for _, shape in tensors)
    print(f"{args.out}: {args.type}, {count:,} parameters in {len(tensors)} tensors, {args.dtype}")


if __name__ == "__main__":
    main()
