"""Golden values of the LLaMA-like models, in f32 on a CPU with torch 2.13 and transformers 5.23.

The target and head of LlamaGen are written out here from their equations (rotation of adjacent pairs, zero tables,
masks); every layer of theirs is asserted to be what `LlamaDecoderLayer` of transformers makes (`llama_layers.py`).
Embeddings, the projection of captions, the prefix, `fc` and the output heads are written out and nothing more, as are
Janus' aligner and head. Janus' backbone, the picture decoder and T5 are transformers' own.

    python make.py        writes the .safetensors files beside it
"""

import math

import torch
import torch.nn.functional as F
from llama_layers import decoder_layer
from recipe import weight
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaModel, T5Config, T5EncoderModel
from transformers.models.janus.configuration_janus import JanusVQVAEConfig
from transformers.models.janus.modeling_janus import JanusVQVAE
from transformers.models.t5.modeling_t5 import T5Attention

torch.set_grad_enabled(False)

# A tree below the token of the last slot: parent (-1: the root) and token of every node.
PARENTS = [-1, -1, 0, 0, 2, 1]
NODES = [5, 31, 7, 2, 38, 7]


def rms(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w


def ancestors(node):
    path = []
    while node >= 0:
        path.append(node)
        node = PARENTS[node]
    return path[::-1]


class LlamaGen:
    """Three layers of width 32 with two heads, a 3 by 3 image behind 6 slots."""

    d, heads, ffn, vocab, slots, d_caption, grid, eps, n_layers = 32, 2, 48, 40, 6, 10, 3, 1e-5, 3
    # Layers that transformers made too, and the largest difference.
    n_held, farthest = 0, 0.0

    def __init__(self, layout):
        self.layout = layout

    def matrix(self, name, *shape):
        return weight(name, *shape)

    def name(self, original, hugging_face):
        return original if self.layout == "original" else hugging_face

    def table(self, positions):
        """Angles of adjacent pairs, and 0 where neither cosine nor sine is left."""
        quarter = self.d // self.heads // 4
        frequencies = [10000.0 ** (-2 * j / (2 * quarter)) for j in range(quarter)]
        cos, sin = [], []
        for position in positions:
            cell = position - self.slots
            angles = [cell // self.grid * f for f in frequencies] + [cell % self.grid * f for f in frequencies]
            cos.append([math.cos(a) if cell >= 0 else 0.0 for a in angles])
            sin.append([math.sin(a) if cell >= 0 else 0.0 for a in angles])
        return torch.tensor(cos), torch.tensor(sin)

    def turn(self, x, positions):
        cos, sin = (t[None, :, None, :] for t in self.table(positions))
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)

    def layer(self, x, prefix, names, positions, mask, eps, input_norm=True):
        d, heads, entered = self.d, self.heads, x
        b, n, _ = x.shape
        get = lambda name, *shape: weight(prefix + name, *shape)
        h = rms(x, get(names["norm1"], d), eps) if input_norm else x
        if "qkv" in names:
            q, k, v = (h @ get(names["qkv"], 3 * d, d).T).chunk(3, -1)
        else:
            q, k, v = (h @ get(f"self_attn.{part}_proj.weight", d, d).T for part in "qkv")
        q, k, v = (t.view(b, n, heads, d // heads) for t in (q, k, v))
        q, k = self.turn(q, positions), self.turn(k, positions)
        scores = torch.einsum("bqhc,bkhc->bhqk", q, k) / math.sqrt(d // heads) + mask
        context = torch.einsum("bhqk,bkhc->bqhc", scores.softmax(-1), v).reshape(b, n, d)
        x = x + context @ get(names["out"], d, d).T
        h = rms(x, get(names["norm2"], d), eps)
        gate, up = h @ get(names["gate"], self.ffn, d).T, h @ get(names["up"], self.ffn, d).T
        out = x + (F.silu(gate) * up) @ get(names["down"], d, self.ffn).T
        self.hold(out, entered, get, names, positions, mask, eps, input_norm)
        return out

    def hold(self, out, entered, get, names, positions, mask, eps, input_norm):
        """Asserts that transformers' layer makes `out` of `entered` too."""
        d, ffn = self.d, self.ffn
        if "qkv" in names:
            q, k, v = get(names["qkv"], 3 * d, d).chunk(3)
        else:
            q, k, v = (get(f"self_attn.{part}_proj.weight", d, d) for part in "qkv")
        theirs = decoder_layer(
            entered, *self.table(positions), mask, heads=self.heads, ffn=ffn, eps=eps, q=q, k=k, v=v,
            o=get(names["out"], d, d), gate=get(names["gate"], ffn, d), up=get(names["up"], ffn, d),
            down=get(names["down"], d, ffn), norm1=get(names["norm1"], d) if input_norm else None,
            norm2=get(names["norm2"], d),
        )
        LlamaGen.n_held += 1
        LlamaGen.farthest = max(LlamaGen.farthest, float((out - theirs).abs().max()))
        assert LlamaGen.farthest < 1e-5, LlamaGen.farthest

    HF = {
        "norm1": "input_layernorm.weight", "norm2": "post_attention_layernorm.weight",
        "out": "self_attn.o_proj.weight", "gate": "mlp.gate_proj.weight", "up": "mlp.up_proj.weight",
        "down": "mlp.down_proj.weight",
    }
    ORIGINAL = {
        "norm1": "attention_norm.weight", "norm2": "ffn_norm.weight", "qkv": "attention.wqkv.weight",
        "out": "attention.wo.weight", "gate": "feed_forward.w1.weight", "up": "feed_forward.w3.weight",
        "down": "feed_forward.w2.weight",
    }

    def prefix(self, caption):
        base = self.name("cls_embedding.", "model.cls_embedding.")
        nothing = weight(base + "uncond_embedding", self.slots, self.d_caption)
        padded = torch.cat([torch.zeros(self.slots - len(caption), self.d_caption), caption])
        rows = torch.stack([padded, nothing])
        hidden = F.gelu(rows @ weight(base + "cap_proj.fc1.weight", self.d, self.d_caption).T, approximate="tanh")
        return hidden @ weight(base + "cap_proj.fc2.weight", self.d, self.d).T

    def forward(self, caption, tokens):
        """Features and logits of all slots, both guidance rows."""
        table = weight(self.name("tok_embeddings.weight", "model.embed_tokens.weight"), self.vocab, self.d)
        x = torch.cat([self.prefix(caption), table[tokens].expand(2, -1, -1)], 1)
        n, pads = x.shape[1], self.slots - len(caption)
        mask = torch.full((n, n), -math.inf).triu(1)
        mask[:, :pads] = -math.inf
        mask.fill_diagonal_(0.0)
        names = self.ORIGINAL if self.layout == "original" else self.HF
        for i in range(self.n_layers):
            x = self.layer(x, self.name("", "model.") + f"layers.{i}.", names, range(n), mask, self.eps)
        x = rms(x, weight(self.name("norm.weight", "model.norm.weight"), self.d), self.eps)
        return x, x @ self.head().T

    def head(self):
        return weight(self.name("output.weight", "lm_head.weight"), self.vocab, self.d)

    def draft(self, features, tokens, n_known):
        """Logits of LANTERN's head after the last of `tokens`. The slots of the prefix hold token 0; the first
        `n_known` tokens are paired with features of the target, the others with what the head predicted."""
        table = weight("embed_tokens.weight", self.vocab, self.d)
        ids = [0] * (self.slots - 1) + tokens
        known = self.slots - 1 + n_known
        fed = features[:, :known]
        while True:
            n = fed.shape[1]
            x = torch.cat([table[ids[:n]].expand(2, -1, -1), fed], -1)
            x = x @ weight("fc.weight", self.d, 2 * self.d).T + weight("fc.bias", self.d)
            mask = torch.full((n, n), -math.inf).triu(1)
            # Slot p holds the token of position p + 1.
            x = self.layer(x, "layers.0.", self.HF, range(1, n + 1), mask, 1e-6, input_norm=False)
            if n == len(ids):
                return x[:, -1] @ self.head().T
            fed = torch.cat([fed, x[:, -1:]], 1)


def tree_logits(logits_after, tokens):
    """Logits of the root and of every node, each from a plain forward over its path."""
    paths = [[]] + [[NODES[at] for at in ancestors(node)] for node in range(len(NODES))]
    return torch.stack([logits_after(tokens + path) for path in paths], 1)


def llamagen(layout):
    model = LlamaGen(layout)
    caption = weight("caption embed", 4, model.d_caption)
    tokens = [3, 17, 39, 0, 22, 8, 11, 30]
    features, logits = model.forward(caption, tokens)
    known = tokens[:3]
    some, _ = model.forward(caption, known)
    drafts = [model.draft(some, known, 3), model.draft(some, known + [5], 3), model.draft(some, known + [5, 7], 3)]
    return {
        "tokens": torch.tensor(tokens),
        "features": features,
        "logits": logits,
        "tree_logits": tree_logits(lambda path: model.forward(caption, path)[1][:, -1], known),
        "draft_logits": torch.stack(drafts, 1),
    }


class Janus:
    """Two layers of width 32 with two heads, 50 words, a 3 by 3 image."""

    d, vocab, words, codes, pad = 32, 40, 50, 8, 7

    def __init__(self, layout):
        original = layout == "original"
        base = "language_model.model." if original else "model.language_model."
        config = LlamaConfig(
            vocab_size=self.words, hidden_size=self.d, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-6,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, attn_implementation="eager",
        )
        self.model = LlamaModel(config).eval()
        state = {name: weight(base + name, *value.shape) for name, value in self.model.state_dict().items()}
        self.model.load_state_dict(state)
        self.table = weight("gen_embed.weight" if original else "model.generation_embeddings.weight",
                            self.vocab, self.codes)
        self.aligner = (["gen_aligner.layers.0", "gen_aligner.layers.2"] if original else
                        ["model.generation_aligner.fc1", "model.generation_aligner.hidden_layers.0"])
        self.head = (["gen_head.output_mlp_projector", "gen_head.vision_head"] if original else
                     ["model.generation_head.proj_out", "model.generation_head.vision_head"])

    def mlp(self, x, names, n_in, n_out):
        first, second = names
        x = F.linear(x, weight(first + ".weight", self.d, n_in), weight(first + ".bias", self.d))
        return F.linear(F.gelu(x), weight(second + ".weight", n_out, self.d), weight(second + ".bias", n_out))

    def forward(self, words, tokens):
        rows = torch.tensor([words, [words[0]] + [self.pad] * (len(words) - 2) + [words[-1]]])
        x = self.model.embed_tokens(rows)
        if tokens:
            image = self.mlp(self.table[tokens], self.aligner, self.codes, self.d)
            x = torch.cat([x, image.expand(2, -1, -1)], 1)
        features = self.model(inputs_embeds=x, use_cache=False).last_hidden_state
        return features, self.mlp(features, self.head, self.d, self.vocab)


def janus(layout):
    model = Janus(layout)
    words, tokens = [1, 20, 33, 49, 9], [3, 17, 39, 0, 22, 8, 11, 30]
    features, logits = model.forward(words, tokens)
    return {
        "words": torch.tensor(words),
        "tokens": torch.tensor(tokens),
        "features": features,
        "logits": logits,
        "tree_logits": tree_logits(lambda path: model.forward(words, path)[1][:, -1], tokens[:3]),
    }


def renamed(name):
    """The name in LlamaGen's and Janus' own files of a tensor of transformers' tokenizer."""
    for ours, theirs in [("mid.0", "mid.block_1"), ("mid.1", "mid.attn_1"), ("mid.2", "mid.block_2")]:
        name = name.replace("decoder." + theirs, "decoder." + ours)
    if name.startswith("decoder.up."):
        name = name.replace("decoder.up.", "decoder.conv_blocks.").replace(".block.", ".res.")
    return name


def vq16(layout):
    config = JanusVQVAEConfig(
        embed_dim=8, num_embeddings=40, double_latent=False, latent_channels=16, in_channels=3, out_channels=3,
        base_channels=32, channel_multiplier=[1, 1, 2], num_res_blocks=2, dropout=0.0,
    )
    config.num_patches = 3
    model = JanusVQVAE(config).eval()
    rename = renamed if layout == "original" else lambda name: name
    state = {name: weight(rename(name), *value.shape) for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    # Three rows of five tokens, which the model's own entrance does not take.
    tokens = torch.tensor([[7, 0, 39, 12, 5], [5, 5, 21, 33, 2], [1, 30, 18, 9, 38]])
    table = F.normalize(model.quantize.embedding.weight, p=2, dim=-1)
    codes = table[tokens][None].permute(0, 3, 1, 2).contiguous()
    square = tokens[:, :3].reshape(1, 9)
    by_entrance = model.quantize.get_codebook_entry(square)
    assert torch.equal(by_entrance, table[square].view(1, 3, 3, 8).permute(0, 3, 1, 2))
    return {"tokens": tokens[None], "pixels": model.decoder(model.post_quant_conv(codes))}


def t5():
    config = T5Config(
        vocab_size=60, d_model=24, d_kv=8, d_ff=32, num_layers=2, num_heads=2, feed_forward_proj="gated-gelu",
        relative_attention_num_buckets=32, relative_attention_max_distance=128, layer_norm_epsilon=1e-6,
    )
    model = T5EncoderModel(config).eval()
    state = {name: weight(name, *value.shape) for name, value in model.state_dict().items()}
    state["encoder.embed_tokens.weight"] = state["shared.weight"]
    model.load_state_dict(state)
    ids = torch.tensor([[(7 * i + 3) % 60 for i in range(21)] + [1] + [0] * 5])
    mask = torch.tensor([[1] * 22 + [0] * 5])
    features = model(input_ids=ids, attention_mask=mask).last_hidden_state
    distances = torch.arange(-140, 141)
    buckets = T5Attention._relative_position_bucket(distances, bidirectional=True, num_buckets=32, max_distance=128)
    return {"words": ids[0, :22], "features": features[0, :22], "distances": distances, "buckets": buckets}


def main():
    for layout in ["original", "hugging_face"]:
        for make in [llamagen, janus, vq16]:
            tensors = {name: tensor.contiguous() for name, tensor in make(layout).items()}
            save_file(tensors, f"{make.__name__}_{layout}.safetensors")
    save_file({name: tensor.contiguous() for name, tensor in t5().items()}, "t5.safetensors")
    print(f"{LlamaGen.n_held} layers of LlamaGen are those of transformers within {LlamaGen.farthest:.1e}")


if __name__ == "__main__":
    main()
