"""What transformers 5.23 and diffusers 0.42 compute of a small Chameleon: expected.safetensors, meta.safetensors.

usage: python make.py      (torch 2.13, on a CPU, beside this file)

Weights are made by a rule (`values`) that recipe.rs repeats, so only Meta's layout is stored. The logits are those of
`lm_head` on the last hidden state: the class for generation overwrites the logits of image tokens.
"""
import math
import pathlib

import numpy as np
import torch
from diffusers import VQModel
from safetensors.torch import save_file
from transformers import ChameleonConfig, ChameleonForConditionalGeneration, DynamicCache
from transformers.models.chameleon.modeling_chameleon import ChameleonDecoderLayer

HERE = pathlib.Path(__file__).parent
D, HEADS, D_HEAD, D_FFN, LAYERS, WORDS = 16, 2, 8, 24, 2, 48
PREFIX, PADS = 9, [0, 4]
CODES = [7, 4, 11, 9, 5, 10, 6, 8]  # words of the codes, in the order of the codebook


def values(name, shape):
    """Weights by a rule: splitmix64 of the FNV-1a of the name and the index, uniform, scaled by what it is."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) % 2**64
    n = math.prod(shape)
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    u = (z >> np.uint64(40)).astype(np.float32) / np.float32(2**23) - np.float32(1)
    if "norm" in name and name.endswith("weight"):
        u = np.float32(1) + np.float32(0.3) * u
    elif name.endswith("bias"):
        u = np.float32(0.3) * u
    else:
        gain = 4.0 if name == "lm_head.weight" else 1.0
        u = np.float32(gain * math.sqrt(3 / math.prod(shape[1:]))) * u
    return torch.from_numpy(u.reshape(shape))


def fill(module, prefix="", rename=lambda name: name):
    for name, tensor in module.named_parameters():
        tensor.data = values(prefix + rename(name), list(tensor.shape))


def one_row(model):
    """The norms of queries and keys as a file with one row for all heads has them."""
    for layer in model.model.layers:
        for norm in (layer.self_attn.q_norm, layer.self_attn.k_norm):
            for tensor in (norm.weight, norm.bias):
                tensor.data = tensor.data[:1].repeat(HEADS, 1)
    return model


def chameleon(swin=False):
    config = ChameleonConfig(
        vocab_size=WORDS, hidden_size=D, intermediate_size=D_FFN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS, max_position_embeddings=64, swin_norm=swin, attn_implementation="eager",
        vocabulary_map={"<image>": 40, **{f"IMGIMG{chr(65 + i)}Z": word for i, word in enumerate(CODES)}},
        vq_config=dict(embed_dim=4, num_embeddings=8, latent_channels=4, resolution=32, base_channels=32,
                       channel_multiplier=[1], num_res_blocks=1),
        pad_token_id=1, bos_token_id=0, eos_token_id=2)
    model = ChameleonForConditionalGeneration(config).eval()
    fill(model.lm_head, "lm_head.")
    fill(model.model.layers, "model.layers.")
    fill(model.model.norm, "model.norm.")
    fill(model.model.embed_tokens, "model.embed_tokens.")
    return model


def additive(visible):
    """[b, n, m] booleans to an additive mask of four axes."""
    return torch.where(visible, 0.0, torch.finfo(torch.float32).min)[:, None]


def hidden_pads(visible):
    """`visible` [n, m] for each row, its padding hidden."""
    rows = visible[None].repeat(len(PADS), 1, 1)
    for row, pads in zip(rows, PADS):
        row[:, :pads] = False
    return rows


rng = np.random.default_rng(5)
prompt = torch.from_numpy(rng.integers(12, 40, (2, PREFIX)))
prompt[0, 0] = 0
prompt[1, :PADS[1]] = 1
CHAIN = [3, 0, 6]  # codes taken in before the tree
TREE, PARENT = [5, 1, 7, 2, 2, 4], [-1, 0, 0, 1, 2, 4]
DEPTH = [0, 1, 1, 2, 2, 3]
word = lambda codes: torch.tensor([CODES[code] for code in codes])[None].repeat(2, 1)


def ancestors():
    seen = torch.eye(len(TREE), dtype=torch.bool)
    for node, parent in enumerate(PARENT):
        if parent >= 0:
            seen[node] |= seen[parent]
    return seen


TREE_MASK = torch.cat([torch.ones(len(TREE), PREFIX + len(CHAIN), dtype=torch.bool), ancestors()], 1)


@torch.no_grad()
def target(model, out, name):
    cache = DynamicCache(config=model.config)
    causal = torch.ones(PREFIX + len(CHAIN), PREFIX + len(CHAIN), dtype=torch.bool).tril()
    start = torch.tensor(PADS)[:, None]
    everywhere = torch.arange(PREFIX + len(CHAIN))[None]
    ids = torch.cat([prompt, word(CHAIN)], 1)
    run = lambda ids, mask, at: model.model(
        input_ids=ids, attention_mask=additive(hidden_pads(mask)), position_ids=(at - start).clamp(min=0),
        past_key_values=cache, use_cache=True).last_hidden_state
    first = run(ids, causal, everywhere)
    tree = run(word(TREE), TREE_MASK, PREFIX + len(CHAIN) + torch.tensor(DEPTH)[None])
    for part, features in (("chain", first), ("tree", tree)):
        out[f"{name}.{part}.features"] = features
        out[f"{name}.{part}.logits"] = model.lm_head(features)[..., CODES]
    return first, tree


@torch.no_grad()
def head(model, features, out):
    """fc and one layer as it is, over whole sequences: slot s joins word s + 1 and feature s."""
    layer = ChameleonDecoderLayer(model.config, 0).eval()
    fill(layer, "layers.0.")
    fc_weight, fc_bias = values("fc.weight", [D, 2 * D]), values("fc.bias", [D])
    words = torch.cat([prompt, word(CHAIN)], 1)[:, 1:]
    slots = words.shape[1]
    run = lambda words, features, mask, at: (
        lambda x: layer(x, attention_mask=additive(mask), position_ids=at,
                        position_embeddings=model.model.rotary_emb(x, at)))(
        torch.nn.functional.linear(torch.cat([model.model.embed_tokens(words), features], -1), fc_weight, fc_bias))
    only = lambda out: out[0] if isinstance(out, tuple) else out
    at = torch.arange(slots)[None].repeat(2, 1)
    chain = only(run(words, features[:, :slots], hidden_pads(torch.ones(slots, slots, dtype=torch.bool).tril()), at))
    # The root joins the last feature; the nodes below join what the head predicted at their parents. Slots are rerun
    # as whole sequences along every path, so no mask of a tree is involved.
    tree = []
    for node in range(len(TREE)):
        path, at_node = [], node
        while at_node >= 0:
            path.insert(0, at_node)
            at_node = PARENT[at_node]
        joined = [features[:, :slots + 1]]
        for depth in range(1, len(path)):
            joined.append(tree[path[depth - 1]][:, None])
        all_words = torch.cat([words, word([TREE[n] for n in path])], 1)
        n = all_words.shape[1]
        mask = hidden_pads(torch.ones(n, n, dtype=torch.bool).tril())
        at = torch.arange(n)[None].repeat(2, 1)
        tree.append(only(run(all_words, torch.cat(joined, 1), mask, at))[:, -1])
    for part, predicted in (("chain", chain), ("tree", torch.stack(tree, 1))):
        out[f"head.{part}.features"] = predicted
        out[f"head.{part}.logits"] = model.lm_head(predicted)[..., CODES]


@torch.no_grad()
def picture(out):
    """taming's decoder in diffusers, whose levels count from the coarsest."""
    model = VQModel(up_block_types=("UpDecoderBlock2D",) * 3, down_block_types=("DownEncoderBlock2D",) * 3,
                    block_out_channels=(32, 32, 64), latent_channels=8, vq_embed_dim=4, num_vq_embeddings=16,
                    layers_per_block=1, mid_block_add_attention=True, norm_num_groups=32).eval()
    mid = {"mid_block.resnets.0": "mid.block_1", "mid_block.resnets.1": "mid.block_2", "mid_block.attentions.0": "mid.attn_1",
           "conv_norm_out": "norm_out", "conv_shortcut": "nin_shortcut", "group_norm": "norm", "to_q": "q", "to_k": "k",
           "to_v": "v", "to_out.0": "proj_out", "upsamplers.0.conv": "upsample.conv"}

    def rename(name):
        for level in range(3):
            name = name.replace(f"up_blocks.{level}.resnets.", f"up.{2 - level}.block.")
            name = name.replace(f"up_blocks.{level}.", f"up.{2 - level}.")
        for diffusers, taming in mid.items():
            name = name.replace(diffusers, taming)
        return name

    for name, tensor in model.decoder.named_parameters():
        name, shape = "decoder." + rename(name), list(tensor.shape)
        is_conv = ".attn_1." in name and len(shape) == 2  # stored as a convolution of width 1
        tensor.data = values(name, shape + [1, 1] if is_conv else shape).reshape(shape)
    for name, tensor in model.post_quant_conv.named_parameters():
        tensor.data = values("post_quant_conv." + name, list(tensor.shape))
    codebook = values("quantize.embedding.weight", [16, 4])
    codes = torch.from_numpy(rng.integers(0, 16, (1, 3, 5)))
    vectors = codebook[codes].permute(0, 3, 1, 2)
    out["picture.codes"] = codes
    out["picture.pixels"] = model.decode(vectors, force_not_quantize=True).sample


def meta(model):
    """The one-row model under Meta's names: rows that an angle mixes side by side."""
    pairs = lambda rows, heads: rows.view(heads, 2, D_HEAD // 2, -1).transpose(1, 2).reshape(rows.shape)
    names = {"o_proj": "wo", "v_proj": "wv", "gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"}
    out = {"tok_embeddings.weight": model.model.embed_tokens.weight, "norm.weight": model.model.norm.weight,
           "output.weight": model.lm_head.weight}
    for i, layer in enumerate(model.model.layers):
        at, mlp = f"layers.{i}.", layer.mlp
        out[at + "attention_norm.weight"] = layer.input_layernorm.weight
        out[at + "ffn_norm.weight"] = layer.post_attention_layernorm.weight
        for part in ("gate_proj", "up_proj", "down_proj"):
            out[at + f"feed_forward.{names[part]}.weight"] = getattr(mlp, part).weight
        for part in ("v_proj", "o_proj"):
            out[at + f"attention.{names[part]}.weight"] = getattr(layer.self_attn, part).weight
        for letter in "qk":
            out[at + f"attention.w{letter}.weight"] = pairs(getattr(layer.self_attn, letter + "_proj").weight, HEADS)
            norm = getattr(layer.self_attn, letter + "_norm")
            for part in ("weight", "bias"):
                row = getattr(norm, part)[0]
                out[at + f"attention.{letter}_normalization.{part}"] = pairs(row[:, None], 1)[:, 0]
    out["rope.freqs"] = torch.arange(D_HEAD // 2, dtype=torch.float32)
    return {name: tensor.detach().contiguous().clone() for name, tensor in out.items()}


out = {"prompt": prompt, "chain": torch.tensor(CHAIN), "tree": torch.tensor(TREE), "depth": torch.tensor(DEPTH),
       "tree_visible": TREE_MASK.to(torch.uint8)}
rows = chameleon()
features, tree_features = target(rows, out, "rows")
# What the root of the tree joins is the feature of the newest token taken in.
head(rows, features, out)
shared = one_row(chameleon())
target(shared, out, "shared")
target(chameleon(swin=True), out, "swin")
picture(out)
save_file({name: tensor.contiguous().clone() for name, tensor in out.items()}, HERE / "expected.safetensors")
save_file(meta(shared), HERE / "meta.safetensors")
