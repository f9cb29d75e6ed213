"""Opens a policy folder with LeRobot's own classes, at any size, and repeats a training step or a sample with it.

LeRobot fixes the sizes of pi0 and pi0.5 in its code. Flexor's `config.json` may carry one more object, `architecture`,
with other sizes (that is how tiny policies are made); here LeRobot's classes are told those sizes before they are built.
Everything else is LeRobot's. Works with LeRobot 0.6.1 (`pip install 'lerobot[pi,training,dataset]==0.6.1'`), offline.
"""

import contextlib
import json
import os
import pathlib
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from safetensors import safe_open


def policy_classes(kind):
    """(module, configuration class, policy class) of "pi0" or "pi05"."""
    if kind == "pi0":
        import lerobot.policies.pi0.modeling_pi0 as module
        from lerobot.policies.pi0.configuration_pi0 import PI0Config
        return module, PI0Config, module.PI0Policy
    import lerobot.policies.pi05.modeling_pi05 as module
    from lerobot.policies.pi05.configuration_pi05 import PI05Config
    return module, PI05Config, module.PI05Policy


def set_sizes(module, sizes):
    """Makes the module build its networks with the sizes of an `architecture` object."""
    def gemma(variant):
        part = sizes["paligemma" if variant == "gemma_2b" else "action_expert"]
        return module.GemmaConfig(*(part[key] for key in (
            "width", "depth", "mlp_dim", "num_heads", "num_kv_heads", "head_dim")))

    def with_config(cls, change):
        cls = getattr(cls, "unsized", cls)

        def build(config):
            change(config)
            return cls(config=config)
        build.unsized = cls
        return build

    def change_vlm(config):
        vision, vocabulary = sizes["vision"], sizes["vocab_size"]
        config._vocab_size = config.image_token_index = config.text_config.vocab_size = vocabulary
        for name, value in (("hidden_size", vision["width"]), ("num_hidden_layers", vision["depth"]),
                            ("num_attention_heads", vision["num_heads"]), ("intermediate_size", vision["mlp_dim"]),
                            ("patch_size", vision["patch_size"]), ("projection_dim", sizes["paligemma"]["width"])):
            setattr(config.vision_config, name, value)

    def change_expert(config):
        config.vocab_size = sizes["vocab_size"]

    module.get_gemma_config = gemma
    module.PaliGemmaForConditionalGenerationWithPiGemma = with_config(
        module.PaliGemmaForConditionalGenerationWithPiGemma, change_vlm)
    module.PiGemmaForCausalLM = with_config(module.PiGemmaForCausalLM, change_expert)


@contextlib.contextmanager
def plain_folder(folder):
    """A copy of the policy folder (links) whose JSON files lack `architecture`; yields (path, architecture or None)."""
    folder = pathlib.Path(folder).resolve()
    with tempfile.TemporaryDirectory(prefix="lerobot-policy-") as scratch:
        scratch = pathlib.Path(scratch)
        architecture = None
        for file in folder.iterdir():
            if file.name in ("config.json", "train_config.json"):
                content = json.loads(file.read_text())
                for part in (content, content.get("policy") or {}):
                    architecture = part.pop("architecture", None) or architecture
                (scratch / file.name).write_text(json.dumps(content, indent=4))
            elif file.is_file():
                (scratch / file.name).symlink_to(file)
        yield scratch, architecture


def load_policy(folder, dtype=None):
    """LeRobot's `from_pretrained` on a folder; every tensor of the file must have arrived."""
    kind = json.loads((pathlib.Path(folder) / "config.json").read_text())["type"]
    module, _, policy_class = policy_classes(kind)
    from lerobot.configs import PreTrainedConfig
    with plain_folder(folder) as (path, architecture):
        if architecture:
            set_sizes(module, architecture)
        config = PreTrainedConfig.from_pretrained(path)
        config.device = "cpu"
        if dtype:
            config.dtype = dtype
        with contextlib.redirect_stdout(None):
            policy = policy_class.from_pretrained(path, config=config)
        check_loaded(policy, path / "model.safetensors")
    return policy


def check_loaded(policy, file):
    """LeRobot goes on with random weights when it cannot read the file: compare every tensor."""
    loaded = policy.state_dict()
    with safe_open(file, "pt") as written:
        for name in written.keys():
            found = loaded.get(name, loaded.get(f"model.{name}"))
            if found is None or not torch.equal(found, written.get_tensor(name).to(found.dtype)):
                raise SystemExit(f"error: LeRobot did not load {name} from {file}")


def fix_draws(policy, noise, time=None):
    """Replaces the policy's random draws by given ones."""
    policy.model.sample_noise = lambda shape, device: noise
    if time is not None:
        policy.model.sample_time = lambda batch, device: time


def model_inputs(batch):
    """The entries of a batch file that LeRobot's policy takes."""
    return {name: value for name, value in batch.items() if name.startswith("observation.") or name == "action"}


def optimizer_and_schedule(policy, steps=30000):
    """AdamW and the schedule of the policy's preset."""
    optimizer = policy.config.get_optimizer_preset().build(policy.get_optim_params())
    return optimizer, policy.config.get_scheduler_preset().build(optimizer, steps)


def train_step(policy, batch, optimizer, schedule, autocast=False):
    """One step as `lerobot-train` does it; returns (loss, gradient norm before clipping)."""
    with torch.autocast("cpu", dtype=torch.bfloat16) if autocast else contextlib.nullcontext():
        loss, _ = policy(model_inputs(batch))
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), policy.config.optimizer_grad_clip_norm)
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()
    return loss.item(), norm.item()
