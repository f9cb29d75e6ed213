"""LeRobot opens what RECAP's steps leave: datasets with returns and advantages, and the checkpoints of step 4.

    LEROBOT_PYTHON bench/peers/recap_lerobot.py FLEXOR SFT ROLLOUT TOKENIZER

SFT and ROLLOUT are LeRobot datasets (v2.x ones are converted to v3.0 first, which LeRobot reads), TOKENIZER a folder with tokenizer.json. Both are
copied, labelled by a tiny value model and trained on. After returns and after advantages LeRobotDataset must give the frames, tasks and
pictures that it gave before. Each kind of policy (pi0.5 with and without the state in its prompt, pi0) is opened with its processors; from
what LeRobot's preprocessor makes of raw observations LeRobot and `flexor predict` must give the same actions.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from convert_check import compare_opened
from flexor_runner import run
from lerobot_policy import fix_draws, load_policy, model_inputs, plain_folder
from safetensors.torch import load_file, save_file

CONFIGS = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/cli/assets"
POLICIES = {"pi05": ["config_name: pi05"], "pi05 without state": ["config_name: pi05_libero"], "pi0": ["config_name: pi0"]}


def as_v30(flexor, source, target):
    version = json.loads((source / "meta/info.json").read_text())["codebase_version"]
    if version == "v3.0":
        shutil.copytree(source, target)
    else:
        run([flexor, "-q", "dataset", "convert", source, target, "--to", "v3.0"])
    subprocess.run(["chmod", "-R", "u+w", target], check=True)


def raw_observations(config, state_dim):
    """Two observations as a robot gives them."""
    generator = torch.Generator().manual_seed(0)
    batch = {"task": ["pick up the red cube", "stack"], "observation.state": torch.rand((2, state_dim), generator=generator)}
    for name, feature in config["input_features"].items():
        if feature["type"] == "VISUAL":
            batch[name] = torch.rand((2, *feature["shape"]), generator=generator)
    return batch


def pipeline(folder, name, **converters):
    import lerobot.policies.pi0.processor_pi0  # registers the step that ends a prompt with a newline
    import lerobot.policies.pi05.processor_pi05  # noqa: F401
    from lerobot.processor import PolicyProcessorPipeline
    overrides = {}
    if name == "policy_preprocessor":
        overrides = {"tokenizer_processor": {"tokenizer_name": str(folder / "tokenizer")}}
    return PolicyProcessorPipeline.from_pretrained(folder, config_filename=f"{name}.json", overrides=overrides, **converters)


def compare_policy(flexor, checkpoint, kind):
    from lerobot.processor.converters import policy_action_to_transition, transition_to_policy_action
    config = json.loads((checkpoint / "config.json").read_text())
    state_dim = config["input_features"]["observation.state"]["shape"][0]
    raw = raw_observations(config, state_dim)
    steps = [step["registry_name"] for step in json.loads((checkpoint / "policy_preprocessor.json").read_text())["steps"]]
    with plain_folder(checkpoint) as (folder, _):
        (folder / "tokenizer").symlink_to((checkpoint / "tokenizer").resolve())
        batch = pipeline(folder, "policy_preprocessor")(dict(raw))
        post = pipeline(folder, "policy_postprocessor", to_transition=policy_action_to_transition,
                        to_output=transition_to_policy_action)
        policy = load_policy(checkpoint).eval()
        noise = torch.randn((2, config["chunk_size"], config["max_action_dim"]), generator=torch.Generator().manual_seed(1))
        fix_draws(policy, noise)
        inputs = {name: value for name, value in model_inputs(batch).items() if torch.is_tensor(value)}
        normalized = policy.predict_action_chunk(inputs).float()
        physical = None if config.get("use_relative_actions") else post(normalized).float()
    with tempfile.TemporaryDirectory() as scratch:
        save_file({**{name: value.contiguous() for name, value in inputs.items()}, "noise": noise}, f"{scratch}/batch.safetensors")
        run([flexor, "predict", "--policy", checkpoint, "--batch", f"{scratch}/batch.safetensors", "-o", f"{scratch}/out.safetensors"])
        found = load_file(f"{scratch}/out.safetensors")
    width = normalized.shape[-1]
    error = (normalized - found["actions_normalized"][..., :width]).abs().max().item()
    assert error <= 2e-5, (kind, error)
    result = {"policy": kind, "steps": [step for step in steps if "new_line" in step or "state_tokenizer" in step],
              "tokens": int(inputs["observation.language.attention_mask"].sum()), "normalised actions": error}
    if physical is not None:
        result["actions"] = (physical - found["actions"]).abs().max().item()
        assert result["actions"] <= 2e-5 * max(1.0, physical.abs().max().item()), (kind, result)
    print(json.dumps(result), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("flexor", "sft", "rollout", "tokenizer"):
        parser.add_argument(name, type=pathlib.Path)
    options = parser.parse_args()
    flexor = options.flexor.resolve()
    with tempfile.TemporaryDirectory(prefix="flexor-recap-") as scratch:
        folder = pathlib.Path(scratch)
        for name in ("sft", "rollout"):
            as_v30(flexor, getattr(options, name), folder / f"{name}_before")
            shutil.copytree(folder / f"{name}_before", folder / name)
        tokenizer = str(options.tokenizer.resolve())
        os.chdir(folder)
        command = [flexor, "-q", "recap", "run", "--config", f"{CONFIGS}/recap_value.yaml,{CONFIGS}/recap_policy.yaml",
                   f"value.actor.model.tokenizer_path={tokenizer}", f"policy.actor.model.tokenizer_path={tokenizer}", "value.actor.model.architecture.gemma3.vocab_size=640"]
        options.pictures = 3
        for step in ("returns", "advantages"):
            run([*command, "--to", step])
            for name in ("sft", "rollout"):
                frames, pictures = compare_opened(folder / f"{name}_before", folder / name, options)
                print(json.dumps({"after": step, "dataset": name, "frames": frames, "pictures": pictures, "equal": True}), flush=True)
        for kind, openpi in POLICIES.items():
            run([*command, f"policy.actor.model.openpi={{{', '.join(openpi)}, positive_only_conditional: false}}"])
            compare_policy(flexor, folder / "out/policy/checkpoints/last/pretrained_model", kind)


if __name__ == "__main__":
    main()
