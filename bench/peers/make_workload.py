"""Writes the MID workload of the train and sample benchmarks: DIR/{pi0,pi05}_mid/{model.safetensors, config.json, inputs_*}.

    LEROBOT_PYTHON bench/peers/make_workload.py DIR        (about 0.8 GB)

LeRobot's own classes at a size between toy and real: a SigLIP of 6 layers and width 384 at 224 pixels, a PaliGemma of
6 layers and width 512, an action expert of 6 layers and width 256, vocabulary 32768: 104 M parameters. Two cameras and
a missing third, 20 prompt tokens, 50 actions of 14 of 32 dimensions. Weights and inputs come from fixed seeds.
"""

import argparse
import json
import pathlib
import re

import torch
from lerobot_policy import policy_classes, set_sizes
from safetensors.torch import save_file

SEED, PIXELS, PROMPT, CHUNK, DIMS, MAX_DIMS = 7, 224, 20, 50, 14, 32
SIZES = {
    "vocab_size": 32768,
    "vision": {"width": 384, "depth": 6, "num_heads": 6, "mlp_dim": 1536, "patch_size": 14},
    "paligemma": {"width": 512, "depth": 6, "mlp_dim": 4096, "num_heads": 8, "num_kv_heads": 1, "head_dim": 64},
    "action_expert": {"width": 256, "depth": 6, "mlp_dim": 1024, "num_heads": 8, "num_kv_heads": 1, "head_dim": 64},
}
CAMERAS = [f"observation.images.{name}" for name in ("base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb")]


def make_policy(kind):
    from lerobot.configs import FeatureType, PolicyFeature
    module, config_class, policy_class = policy_classes(kind)
    set_sizes(module, SIZES)
    inputs = {name: PolicyFeature(type=FeatureType.VISUAL, shape=(3, PIXELS, PIXELS)) for name in CAMERAS}
    inputs["observation.state"] = PolicyFeature(type=FeatureType.STATE, shape=(DIMS,))
    config = config_class(
        dtype="float32", device="cpu", chunk_size=CHUNK, n_action_steps=CHUNK, max_state_dim=MAX_DIMS,
        max_action_dim=MAX_DIMS, image_resolution=(PIXELS, PIXELS), tokenizer_max_length=PROMPT, input_features=inputs,
        output_features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(DIMS,))})
    policy = policy_class(config)
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            weight.copy_(draw(name, weight.shape, generator))
    return policy


def draw(name, shape, generator):
    """No weight is left at 0 or 1: norms near their neutral value, matrices scaled by their fan-in."""
    values = torch.randn(shape, generator=generator)
    if re.search(r"layer_norm\d\.weight|post_layernorm\.weight", name):
        return 1 + 0.1 * values
    if re.search(r"layernorm\.weight|\.norm\.weight|\.bias$", name):
        return 0.1 * values
    return values / max(1, values[0].numel()) ** 0.5


def make_inputs(batch):
    generator = torch.Generator().manual_seed(SEED + batch)
    normal = lambda *shape: torch.randn(shape, generator=generator)
    result = {name: torch.rand((batch, 3, PIXELS, PIXELS), generator=generator) for name in CAMERAS[:2]}
    result["observation.language.tokens"] = torch.randint(3, SIZES["vocab_size"], (batch, PROMPT), generator=generator)
    result["observation.language.attention_mask"] = torch.ones((batch, PROMPT), dtype=torch.bool)
    result["observation.state"] = normal(batch, DIMS)
    result["action"] = normal(batch, CHUNK, DIMS)
    result["noise"] = normal(batch, CHUNK, MAX_DIMS)
    result["time"] = torch.rand((batch,), generator=generator) ** (1 / 1.5) * 0.999 + 0.001
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    for kind in ("pi0", "pi05"):
        folder = options.folder / f"{kind}_mid"
        folder.mkdir(parents=True, exist_ok=True)
        make_policy(kind).save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(dict(config, architecture=SIZES), indent=4) + "\n")
        for batch in (4, 1):
            save_file(make_inputs(batch), folder / f"inputs_b{batch}.safetensors")
        print(folder)


if __name__ == "__main__":
    main()
