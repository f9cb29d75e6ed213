"""A run that Flexor wrote goes on in LeRobot: the next steps give the losses and weights that Flexor's own next steps give.

    LEROBOT_PYTHON bench/peers/lerobot_resumes_run.py POLICY BATCH [--flexor build/flexor] [--before 3] [--after 2]

POLICY is a float32 policy folder, BATCH a batch file with `train_noise` and `train_time` for every step (the golden policies
of tests/golden have both). Flexor trains `before + after` steps on the batch and keeps the checkpoint after `before`. LeRobot
reads that checkpoint with its own code (train_config.json, from_pretrained, load_training_state), does the steps that
follow, and both are compared: learning rate, loss, gradient norm of each step, and all weights at the end.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import torch
from flexor_runner import FLEXOR, run
from lerobot_policy import fix_draws, load_policy, plain_folder, train_step
from safetensors.torch import load_file


def train_with_flexor(options, folder):
    steps = options.before + options.after
    run([options.flexor, "train", f"policy.path={options.policy}", f"batch_file={options.batch}", f"output_dir={folder}",
         f"steps={steps}", f"save_freq={options.before}", "log_freq=1", "eval_freq=0", "policy.dtype=float32", "device=cpu"])
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {row["step"]: row for row in rows if "loss" in row}


def resume_with_lerobot(options, checkpoint):
    """Yields (step, learning rate, loss, gradient norm) of the steps after the checkpoint; then the policy is final."""
    from lerobot.common.train_utils import load_training_state
    from lerobot.configs.train import TrainPipelineConfig
    with plain_folder(checkpoint / "pretrained_model") as (folder, _):
        config = TrainPipelineConfig.from_pretrained(folder)
    policy = load_policy(checkpoint / "pretrained_model").train()
    optimizer = config.optimizer.build(policy.get_optim_params())
    schedule = config.scheduler.build(optimizer, config.steps)
    first, optimizer, schedule = load_training_state(checkpoint, optimizer, schedule)
    batch = load_file(options.batch)
    results = []
    for step in range(first, first + options.after):
        fix_draws(policy, batch["train_noise"][step], batch["train_time"][step])
        loss, norm = train_step(policy, batch, optimizer, schedule)
        results.append((step + 1, optimizer.param_groups[0]["lr"], loss, norm))
    return policy, results


def close(what, expected, found, tolerance):
    error = abs(expected - found) / max(abs(expected), 1e-12)
    print(f"  {what:16} Flexor {expected:.8g}  LeRobot {found:.8g}  relative difference {error:.1e}")
    return error <= tolerance


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policy", type=pathlib.Path)
    parser.add_argument("batch", type=pathlib.Path)
    parser.add_argument("--flexor", default=FLEXOR)
    parser.add_argument("--before", type=int, default=3)
    parser.add_argument("--after", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(2)
    good = True
    with tempfile.TemporaryDirectory(prefix="flexor-run-") as scratch:
        folder = pathlib.Path(scratch) / "run"
        rows = train_with_flexor(options, folder)
        policy, results = resume_with_lerobot(options, folder / f"checkpoints/{options.before:06d}")
        for step, rate, loss, norm in results:
            print(f"step {step}")
            good &= close("learning rate", rows[step]["lr"], rate, 1e-6)
            good &= close("loss", rows[step]["loss"], loss, 1e-3)
            good &= close("gradient norm", rows[step]["grad_norm"], norm, 1e-3)
        final = load_file(folder / f"checkpoints/{options.before + options.after:06d}/pretrained_model/model.safetensors")
    own = policy.state_dict()
    worst = max((final[name] - own[name if name in own else f"model.{name}"]).abs().max().item() for name in final)
    print(f"weights: max abs difference {worst:.1e} over {len(final)} tensors")
    good &= worst <= 5e-5
    print("LeRobot goes on where Flexor stopped" if good else "DIFFERENT")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
