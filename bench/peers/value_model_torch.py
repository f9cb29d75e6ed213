"""The layers of RECAP's value model in PyTorch, run as the reference runs them: every camera through SigLIP whether it is
masked or not, all Gemma3 layers under a dense additive mask, then the critic expert on the cached keys and values.

Written from the architecture's description, on PyTorch's own kernels (scaled_dot_product_attention, layer_norm, gelu).
"""

import math

import torch
import torch.nn.functional as F

MASKED = -2.3819763e38
EPS = 1e-6


class ValueModel(torch.nn.Module):
    def __init__(self, weights, config):
        super().__init__()
        self.names = list(weights)
        self.p = torch.nn.ParameterList([torch.nn.Parameter(weights[name].clone()) for name in self.names])
        self.place = {name: i for i, name in enumerate(self.names)}
        self.config = config

    def w(self, name):
        return self.p[self.place[name]]

    def linear(self, x, name):
        bias = self.place.get(name + ".bias")
        return F.linear(x, self.w(name + ".weight"), None if bias is None else self.p[bias])

    def rms(self, x, name):
        unit = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)
        return unit * (1 + self.w(name + ".weight"))

    # ---- SigLIP: [N, 3, S, S] in [-1, 1] -> [N, P, W]
    def vision(self, pixels):
        size = self.config["architecture"]["vision"]
        base = "value_expert.vision_tower.vision_model."
        h = F.conv2d(pixels, self.w(base + "embeddings.patch_embedding.weight"),
                     self.w(base + "embeddings.patch_embedding.bias"), stride=size["patch_size"])
        h = h.flatten(2).transpose(1, 2) + self.w(base + "embeddings.position_embedding.weight")
        n, patches, width = h.shape
        heads = size["num_heads"]
        split = lambda x: x.view(n, patches, heads, width // heads).transpose(1, 2)
        for i in range(size["depth"]):
            layer = f"{base}encoder.layers.{i}."
            x = self.layer_norm(h, layer + "layer_norm1")
            q, k, v = (split(self.linear(x, f"{layer}self_attn.{name}_proj")) for name in "qkv")
            attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, patches, width)
            h = h + self.linear(attended, layer + "self_attn.out_proj")
            x = self.layer_norm(h, layer + "layer_norm2")
            h = h + self.linear(F.gelu(self.linear(x, layer + "mlp.fc1"), approximate="tanh"), layer + "mlp.fc2")
        return self.layer_norm(h, base + "post_layernorm")

    def layer_norm(self, x, name):
        return F.layer_norm(x, (x.shape[-1],), self.w(name + ".weight"), self.w(name + ".bias"), EPS)

    # ---- Gemma3: keys and values of all layers
    def gemma3(self, h, pad):
        size = self.config["architecture"]["gemma3"]
        positions = pad.long().cumsum(1) - 1
        allowed = pad[:, None, :, None] & pad[:, None, None, :]
        mask = torch.where(allowed, 0.0, MASKED)  # [B, 1, P, P]
        ropes = {True: rope(positions, size["head_dim"], size["rope_theta"]),
                 False: rope(positions, size["head_dim"], size["rope_local_base_freq"])}
        cache = []
        for i in range(size["depth"]):
            layer = f"value_expert.gemma3.model.layers.{i}."
            tables = ropes[i in size["full_layers"]]
            x = self.rms(h, layer + "input_layernorm")
            q, k, v = (self.heads(x, f"{layer}self_attn.{name}_proj", size["head_dim"]) for name in "qkv")
            q = turn(self.rms(q, layer + "self_attn.q_norm"), tables)
            k = turn(self.rms(k, layer + "self_attn.k_norm"), tables)
            cache.append((k, v))
            scale = size["query_pre_attn_scalar"] ** -0.5
            attended = self.attend(q, k, v, mask, scale)
            h = h + self.rms(self.linear(attended, layer + "self_attn.o_proj"), layer + "post_attention_layernorm")
            x = self.rms(h, layer + "pre_feedforward_layernorm")
            h = h + self.rms(self.mlp(x, layer + "mlp."), layer + "post_feedforward_layernorm")
        return cache, self.rms(h, "value_expert.gemma3.model.norm")

    def heads(self, x, name, head_dim):
        y = self.linear(x, name)
        return y.view(*y.shape[:2], -1, head_dim).transpose(1, 2)  # [B, H, L, E]

    def attend(self, q, k, v, mask, scale):
        groups = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(groups, 1) for x in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
        return out.transpose(1, 2).flatten(2)

    def mlp(self, x, name):
        gate = F.gelu(self.linear(x, name + "gate_proj"), approximate="tanh")
        return self.linear(gate * self.linear(x, name + "up_proj"), name + "down_proj")

    # ---- critic expert: one [CLS] token
    def expert(self, cache, pad):
        size = self.config["architecture"]["expert"]
        batch = pad.shape[0]
        tables = rope(pad.long().sum(1, keepdim=True), size["head_dim"], 1e4)
        keys = torch.cat([pad, pad.new_ones(batch, 1)], 1)
        mask = torch.where(keys, 0.0, MASKED)[:, None, None, :]
        h = self.w("value_head.cls_embedding.weight")[None].expand(batch, 1, -1)
        for i in range(size["depth"]):
            layer = f"value_expert.experts.value.model.layers.{i}."
            x = self.rms(h, layer + "input_layernorm")
            q, k, v = (self.heads(x, f"{layer}self_attn.{name}_proj", size["head_dim"]) for name in "qkv")
            q, k = turn(q, tables), turn(k, tables)
            k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
            attended = self.attend(q, k, v, mask, size["head_dim"] ** -0.5)
            h = h + self.linear(attended, layer + "self_attn.o_proj")
            x = self.rms(h, layer + "post_attention_layernorm")
            h = h + self.mlp(x, layer + "mlp.")
        return self.rms(h, "value_expert.experts.value.model.norm")[:, -1]

    def forward(self, batch):
        cameras = sorted(name[len("images."):] for name in batch if name.startswith("images."))
        embeddings, pads = [], []
        for camera in cameras:
            features = self.linear(self.vision(batch["images." + camera]), "value_expert.multi_modal_proj")
            embeddings.append(features)
            pads.append(batch["image_masks." + camera].bool()[:, None].expand(-1, features.shape[1]))
        table = self.w("value_expert.gemma3.model.embed_tokens.weight")
        embeddings.append(F.embedding(batch["tokenized_prompt"], table, padding_idx=0) * math.sqrt(table.shape[1]))
        pads.append(batch["tokenized_prompt_mask"].bool())
        cache, prefix = self.gemma3(torch.cat(embeddings, 1), torch.cat(pads, 1))
        hidden = self.expert(cache, torch.cat(pads, 1))
        return self.linear(hidden, "value_head.value_proj"), prefix

    def loss(self, batch):
        logits, prefix = self(batch)
        low, high, bins = self.config["v_min"], self.config["v_max"], self.config["num_bins"]
        place = (batch["target_values"].clamp(low, high) - low) / ((high - low) / (bins - 1))
        lower, upper = place.floor().clamp(0, bins - 1), place.ceil().clamp(0, bins - 1)
        weights = torch.zeros_like(logits)
        weights.scatter_add_(1, lower.long()[:, None], torch.where(lower == upper, 1.0, upper - place)[:, None])
        weights.scatter_add_(1, upper.long()[:, None], torch.where(lower == upper, 0.0, place - lower)[:, None])
        loss = -(weights * F.log_softmax(logits, -1)).sum(-1).mean()
        return loss + 0.0 * prefix.sum()  # as the reference: every parameter is part of the graph


def rope(positions, head_dim, base):
    frequency = 1.0 / base ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    angle = (positions[..., None].float() * frequency)[:, None]  # [B, 1, L, E/2]
    return torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)


def turn(x, tables):
    half = x.shape[-1] // 2
    return x * tables[0] + torch.cat([-x[..., half:], x[..., :half]], -1) * tables[1]
