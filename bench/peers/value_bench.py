"""Training steps of RECAP's value model, Flexor against PyTorch, on the same weights and batch, in turns.

    PYTHON bench/peers/value_bench.py export DIR
    PYTHON bench/peers/value_bench.py compare DIR [--flexor build/flexor] [--rounds 3] [--steps 4] [--json FILE]

PYTHON needs torch and safetensors only. `export` writes the workload: DIR/model.safetensors and config.json, which
`flexor bench value` opens, and DIR/batch/batch.safetensors. Its sizes keep the proportions of the real model (SigLIP2-so400m,
Gemma3-270M, expert gemma_1m) at a fraction of the work: 18 Gemma3 layers of which the expert of depth 4 reads the first ones,
three cameras of which one is masked, 200 prompt tokens' share with a short prompt, vision : Gemma3 about 3 : 1.

`compare` runs each side in its own process, round by round, with two threads, and compares the medians of wall seconds a
step. PyTorch runs the layers as the reference does (value_model_torch.py). Losses of all steps must agree to 1e-4.
"""

import argparse
import json
import pathlib
import resource
import sys
import time

SEED, BATCH, PIXELS, PROMPT, REAL_TOKENS = 11, 8, 112, 48, 14
THREADS = 2
BATCH_FILE = "batch/batch.safetensors"
CONFIG = {
    "model_type": "recap_value_model",
    "format_version": 1,
    "architecture": {
        "image_size": PIXELS,
        "vision": {"width": 384, "depth": 13, "num_heads": 6, "mlp_dim": 1536, "patch_size": 14},
        "gemma3": {"vocab_size": 4096, "width": 128, "depth": 18, "mlp_dim": 384, "num_heads": 4, "num_kv_heads": 1,
                   "head_dim": 64, "query_pre_attn_scalar": 64.0, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
                   "full_layers": [5, 11, 17]},
        "expert": {"width": 64, "depth": 4, "mlp_dim": 224, "num_heads": 1, "num_kv_heads": 1, "head_dim": 64},
    },
    "num_bins": 201, "v_min": -1.0, "v_max": 0.0, "max_token_len": PROMPT,
}
CAMERAS = ("base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb")


def shapes():
    """(name, shape) of every parameter."""
    a = CONFIG["architecture"]
    v, g, e = a["vision"], a["gemma3"], a["expert"]
    patches = (PIXELS // v["patch_size"]) ** 2
    tower = "value_expert.vision_tower.vision_model."
    yield tower + "embeddings.patch_embedding.weight", (v["width"], 3, v["patch_size"], v["patch_size"])
    yield tower + "embeddings.patch_embedding.bias", (v["width"],)
    yield tower + "embeddings.position_embedding.weight", (patches, v["width"])
    for i in range(v["depth"]):
        layer = f"{tower}encoder.layers.{i}."
        for name in ("layer_norm1", "layer_norm2"):
            yield f"{layer}{name}.weight", (v["width"],)
            yield f"{layer}{name}.bias", (v["width"],)
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            yield from linear(f"{layer}self_attn.{name}", v["width"], v["width"], True)
        yield from linear(layer + "mlp.fc1", v["width"], v["mlp_dim"], True)
        yield from linear(layer + "mlp.fc2", v["mlp_dim"], v["width"], True)
    yield tower + "post_layernorm.weight", (v["width"],)
    yield tower + "post_layernorm.bias", (v["width"],)
    yield from linear("value_expert.multi_modal_proj", v["width"], g["width"], True)
    yield "value_expert.gemma3.model.embed_tokens.weight", (g["vocab_size"], g["width"])
    for i in range(g["depth"]):
        layer = f"value_expert.gemma3.model.layers.{i}."
        yield from gemma(layer, g)
        for name in ("q_norm", "k_norm"):
            yield f"{layer}self_attn.{name}.weight", (g["head_dim"],)
        for name in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
            yield f"{layer}{name}_layernorm.weight", (g["width"],)
    yield "value_expert.gemma3.model.norm.weight", (g["width"],)
    for i in range(e["depth"]):
        layer = f"value_expert.experts.value.model.layers.{i}."
        yield from gemma(layer, e)
        for name in ("input", "post_attention"):
            yield f"{layer}{name}_layernorm.weight", (e["width"],)
    yield "value_expert.experts.value.model.norm.weight", (e["width"],)
    yield "value_head.cls_embedding.weight", (1, e["width"])
    yield from linear("value_head.value_proj", e["width"], CONFIG["num_bins"], True)


def linear(name, inputs, outputs, bias):
    yield name + ".weight", (outputs, inputs)
    if bias:
        yield name + ".bias", (outputs,)


def gemma(layer, size):
    width, kv = size["width"], size["num_kv_heads"] * size["head_dim"]
    heads = size["num_heads"] * size["head_dim"]
    for name, inputs, outputs in (("self_attn.q_proj", width, heads), ("self_attn.k_proj", width, kv),
                                  ("self_attn.v_proj", width, kv), ("self_attn.o_proj", heads, width),
                                  ("mlp.gate_proj", width, size["mlp_dim"]), ("mlp.up_proj", width, size["mlp_dim"]),
                                  ("mlp.down_proj", size["mlp_dim"], width)):
        yield from linear(layer + name, inputs, outputs, False)


def forward_macs():
    """Multiplications of one sample's forward pass in vision and in Gemma3 as the reference runs them."""
    a = CONFIG["architecture"]
    v, g = a["vision"], a["gemma3"]
    patches = (PIXELS // v["patch_size"]) ** 2
    vision = len(CAMERAS) * v["depth"] * (patches * (4 * v["width"] ** 2 + 2 * v["width"] * v["mlp_dim"]) +
                                          2 * patches ** 2 * v["width"])
    prefix = len(CAMERAS) * patches + PROMPT
    heads = g["num_heads"] * g["head_dim"]
    weights = g["width"] * (2 * heads + 2 * g["num_kv_heads"] * g["head_dim"] + 3 * g["mlp_dim"])
    return vision, g["depth"] * (prefix * weights + 2 * prefix ** 2 * heads)


def export(folder):
    import torch
    from safetensors.torch import save_file
    generator = torch.Generator().manual_seed(SEED)
    weights = {}
    for name, shape in shapes():
        values = torch.randn(shape, generator=generator)
        if "layer_norm" in name or "post_layernorm" in name:
            weights[name] = (1.0 if name.endswith("weight") else 0.0) + 0.1 * values
        elif "norm" in name or name.endswith("bias"):
            weights[name] = 0.1 * values
        else:
            weights[name] = values / max(1, values[0].numel()) ** 0.5
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2))
    batch = {"images." + name: torch.rand((BATCH, 3, PIXELS, PIXELS), generator=generator) * 2 - 1 for name in CAMERAS[:2]}
    batch["images." + CAMERAS[2]] = -torch.ones(BATCH, 3, PIXELS, PIXELS)
    for i, name in enumerate(CAMERAS):
        batch["image_masks." + name] = torch.full((BATCH,), i < 2, dtype=torch.uint8)
    lengths = torch.arange(BATCH) % 4 + REAL_TOKENS - 3
    mask = torch.arange(PROMPT)[None] < lengths[:, None]
    tokens = torch.randint(3, CONFIG["architecture"]["gemma3"]["vocab_size"], (BATCH, PROMPT), generator=generator)
    batch["tokenized_prompt"] = torch.where(mask, tokens, 0)
    batch["tokenized_prompt_mask"] = mask.to(torch.uint8)
    batch["target_values"] = -torch.rand(BATCH, generator=generator)
    (folder / "batch").mkdir(exist_ok=True)
    save_file(batch, folder / BATCH_FILE)
    vision, language = forward_macs()
    print(f"{folder}: {sum(w.numel() for w in weights.values()) / 1e6:.1f} M parameters, "
          f"vision : Gemma3 = {vision / language:.2f} : 1")


def worker(folder, steps, warmup):
    """PyTorch's side; prints one JSON object."""
    import torch
    from safetensors.torch import load_file
    from value_model_torch import ValueModel
    torch.set_num_threads(THREADS)
    config = json.loads((folder / "config.json").read_text())
    model = ValueModel(load_file(folder / "model.safetensors"), config)
    batch = load_file(folder / BATCH_FILE)
    head = [p for name, p in zip(model.names, model.p) if "value_head" in name]
    rest = [p for name, p in zip(model.names, model.p) if "value_head" not in name]
    optimizer = torch.optim.AdamW([{"params": rest, "lr": 5e-5}, {"params": head, "lr": 1e-4}], betas=(0.9, 0.95),
                                  eps=1e-8, weight_decay=1e-10)
    losses, wall, cpu = [], [], []
    for step in range(warmup + steps):
        start, start_cpu = time.perf_counter(), time.process_time()
        loss = model.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step >= warmup:
            wall.append(time.perf_counter() - start)
            cpu.append(time.process_time() - start_cpu)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"losses": losses, "wall_s": wall, "cpu_s": cpu, "peak_rss_gib": rss}))


def compare(options):
    from flexor_runner import HERE, answer, median
    counts = ["--steps", options.steps, "--warmup", 1]
    own_command = [options.flexor, "bench", "value", "--model", options.folder, "--batch",
                   options.folder / BATCH_FILE, "--threads", THREADS, *counts, "--json"]
    peer_command = [sys.executable, HERE / "value_bench.py", "worker", options.folder, *counts]
    rows = []
    for round_number in range(options.rounds):
        own, peer = answer(own_command, THREADS), answer(peer_command, THREADS)
        worst = max(abs(a - b) / abs(b) for a, b in zip(own["losses"], peer["losses"]))
        row = {"own_wall_s": own["step_s"]["median"], "peer_wall_s": median(peer["wall_s"]),
               "own_cpu_s": own["step_cpu_s"]["median"], "peer_cpu_s": median(peer["cpu_s"]),
               "own_rss_gib": own["peak_rss_gib"], "peer_rss_gib": peer["peak_rss_gib"], "loss_difference": worst}
        rows.append(row)
        print(f"round {round_number + 1}: " + ", ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)
    middle = {key: median([row[key] for row in rows]) for key in rows[0]}
    ratios = {"wall": middle["peer_wall_s"] / middle["own_wall_s"], "cpu": middle["peer_cpu_s"] / middle["own_cpu_s"]}
    result = {"workload": "value_training", "batch": BATCH, "threads": THREADS, "rounds": options.rounds, **middle,
              "own_samples_per_s": BATCH / middle["own_wall_s"], "peer_samples_per_s": BATCH / middle["peer_wall_s"],
              "faster_wall": ratios["wall"], "faster_cpu": ratios["cpu"]}
    print(f"Flexor {result['own_samples_per_s']:.2f} samples/s, PyTorch {result['peer_samples_per_s']:.2f}: "
          f"{ratios['wall']:.2f} times as fast ({ratios['cpu']:.2f} by CPU seconds), "
          f"losses differ by at most {max(row['loss_difference'] for row in rows):.1e}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=2))
    if max(row["loss_difference"] for row in rows) > 1e-4:
        sys.exit("error: the two sides did not do the same work")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["export", "worker", "compare"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--flexor", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.what == "export":
        export(options.folder)
    elif options.what == "worker":
        worker(options.folder, options.steps, options.warmup)
    else:
        if options.flexor is None:
            from flexor_runner import FLEXOR
            options.flexor = FLEXOR
        compare(options)


if __name__ == "__main__":
    main()
