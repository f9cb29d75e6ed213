"""One measurement of LeRobot, printed as one JSON object with the keys of `flexor bench`.

    LEROBOT_PYTHON bench/peers/lerobot_worker.py train|sample --policy DIR --batch FILE [--dtype D] [--threads N]
                                                 [--steps N] [--warmup N]

dtype: float32, bfloat16 (a bf16 policy), or bfloat16_autocast (the same under autocast, as `lerobot-train` runs it).
"""

import argparse
import json
import os
import resource
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from lerobot_policy import fix_draws, load_policy, model_inputs, optimizer_and_schedule, train_step
from safetensors.torch import load_file


def spread(values):
    values = sorted(values)
    return {"min": values[0], "median": values[len(values) // 2], "max": values[-1], "n": len(values)}


def measure(steps, warmup, step):
    """Runs step() and returns the wall and CPU seconds of the measured ones and all results."""
    wall, cpu, results = [], [], []
    for index in range(warmup + steps):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        results.append(step())
        if index >= warmup:
            wall.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - begin_cpu)
    return wall, cpu, results


def train(options, policy, batch):
    fix_draws(policy, batch["noise"], batch["time"])
    optimizer, schedule = optimizer_and_schedule(policy)
    policy.train()
    autocast = options.dtype == "bfloat16_autocast"
    wall, cpu, results = measure(options.steps, options.warmup,
                                 lambda: train_step(policy, batch, optimizer, schedule, autocast))
    return {"step_s": spread(wall), "step_cpu_s": spread(cpu), "losses": [loss for loss, _ in results],
            "samples_per_s": len(batch["action"]) / spread(wall)["median"]}


def sample(options, policy, batch):
    fix_draws(policy, batch["noise"])
    inputs = {name: value for name, value in model_inputs(batch).items() if name != "action"}
    wall, cpu, results = measure(options.steps, options.warmup, lambda: policy.predict_action_chunk(inputs))
    actions = results[-1].float()
    return {"latency_s": spread(wall), "latency_cpu_s": spread(cpu), "out_mean": actions.mean().item(),
            "out_std": actions.std().item()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=("train", "sample"))
    parser.add_argument("--policy", required=True)
    parser.add_argument("--batch", required=True)
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "bfloat16_autocast"), default="float32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    # LeRobot's trainer runs a bf16 policy under autocast; its weights are the ones a bf16 policy has.
    policy = load_policy(options.policy, "float32" if options.dtype == "float32" else "bfloat16")
    result = {"train": train, "sample": sample}[options.job](options, policy, load_file(options.batch))
    result.update(dtype=options.dtype, threads=options.threads,
                  peak_rss_gib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
