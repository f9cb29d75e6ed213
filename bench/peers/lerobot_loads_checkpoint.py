"""A checkpoint that Flexor wrote, opened by LeRobot's `from_pretrained`, gives the actions that `flexor predict` gives.

    LEROBOT_PYTHON bench/peers/lerobot_loads_checkpoint.py CHECKPOINT [--flexor build/flexor] [--batch-size 2]

CHECKPOINT is a `pretrained_model` folder. The inputs are random (normalised, tokenised) with the shapes that the policy's
configuration names. Compared are the normalised actions and, through LeRobot's postprocessor, those in physical units.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import torch
from flexor_runner import FLEXOR, run
from lerobot_policy import fix_draws, load_policy, model_inputs, plain_folder
from safetensors.torch import load_file, save_file


def random_batch(config, size):
    generator = torch.Generator().manual_seed(0)
    batch = {}
    for name, feature in config["input_features"].items():
        if feature["type"] == "VISUAL" and "empty_camera" not in name:
            batch[name] = torch.rand((size, *feature["shape"]), generator=generator)
        elif feature["type"] == "STATE":
            batch[name] = torch.randn((size, *feature["shape"]), generator=generator)
    length = config["tokenizer_max_length"]
    vocabulary = config.get("architecture", {}).get("vocab_size", 257152)
    mask = torch.arange(length).expand(size, length) < length - torch.arange(size)[:, None] % max(1, length // 2)
    tokens = torch.randint(3, vocabulary, (size, length), generator=generator)
    batch["observation.language.tokens"] = tokens * mask
    batch["observation.language.attention_mask"] = mask
    batch["noise"] = torch.randn((size, config["chunk_size"], config["max_action_dim"]), generator=generator)
    return batch


def unnormalized(folder, actions):
    """Actions after LeRobot's own postprocessor."""
    from lerobot.processor import PolicyProcessorPipeline
    from lerobot.processor.converters import policy_action_to_transition, transition_to_policy_action
    pipeline = PolicyProcessorPipeline.from_pretrained(
        folder, config_filename="policy_postprocessor.json", to_transition=policy_action_to_transition,
        to_output=transition_to_policy_action)
    return pipeline(actions)


def report(what, expected, found, rtol, atol):
    error = (expected - found).abs()
    good = bool((error <= atol + rtol * expected.abs()).all())
    print(f"{what:24} max abs difference {error.max().item():.2e}   {'same' if good else 'DIFFERENT'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("--flexor", default=FLEXOR)
    parser.add_argument("--batch-size", type=int, default=2)
    options = parser.parse_args()
    config = json.loads((options.checkpoint / "config.json").read_text())
    batch = random_batch(config, options.batch_size)
    policy = load_policy(options.checkpoint).eval()
    fix_draws(policy, batch["noise"])
    expected = policy.predict_action_chunk(model_inputs(batch)).float()
    with tempfile.TemporaryDirectory(prefix="flexor-predict-") as scratch:
        inputs, output = f"{scratch}/batch.safetensors", f"{scratch}/actions.safetensors"
        save_file({name: value.contiguous() for name, value in batch.items()}, inputs)
        run([options.flexor, "predict", "--policy", options.checkpoint, "--batch", inputs, "-o", output])
        found = load_file(output)
    tolerance = (1e-4, 2e-5) if config["dtype"] == "float32" else (0.0, 1e-2)
    good = report("normalised actions", expected, found["actions_normalized"][..., :expected.shape[-1]].float(), *tolerance)
    if config.get("use_relative_actions"):
        print("actions, physical units  not compared: relative actions need the raw state, which a prepared batch lacks")
        return 0 if good else 1
    with plain_folder(options.checkpoint) as (folder, _):
        physical = unnormalized(folder, expected)
    scale = max(1.0, physical.abs().max().item())
    good &= report("actions, physical units", physical.float(), found["actions"].float(), tolerance[0], tolerance[1] * scale)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
