"""Class tokens of a DINOv2 of toy width, and of ViT-B/14 and ViT-L/14, with weights by recipe. Those of the published
shapes are computed in f64, so that they hold no rounding of the reference's own; how far its f32 is from them is printed.

The reference is transformers' Dinov2Model. Its positions are resampled here as facebookresearch/dinov2 resamples them
(`scale_factor` of the new side plus 0.1), which transformers does not. Weights by recipe follow the names of each
layout, so each layout has its own values.

Run here: python make.py   (torch 2.13, transformers 5.23)
"""
import sys

import torch
from torch.nn.functional import interpolate
from transformers import Dinov2Config, Dinov2Model

sys.path.insert(0, "..")
import recipe

torch.set_num_threads(1)


def release_name(name):
    """The name of a tensor of transformers in the release; of queries, keys and values, that of all three."""
    pairs = [
        ("embeddings.cls_token", "cls_token"), ("embeddings.position_embeddings", "pos_embed"),
        ("embeddings.patch_embeddings.projection", "patch_embed.proj"), ("encoder.layer.", "blocks."),
        ("attention.attention.query", "attn.qkv"), ("attention.attention.key", "attn.qkv"),
        ("attention.attention.value", "attn.qkv"), ("attention.output.dense", "attn.proj"),
        ("layer_scale1.lambda1", "ls1.gamma"), ("layer_scale2.lambda1", "ls2.gamma"), ("layernorm", "norm"),
    ]
    for theirs, ours in pairs:
        name = name.replace(theirs, ours)
    return name


def file_name(name):
    """The name of a tensor of transformers 5 in the files of the hub, which keep those of transformers 4."""
    parts = {"q_proj": "attention.query", "k_proj": "attention.key", "v_proj": "attention.value", "o_proj": "output.dense"}
    for new, old in parts.items():
        name = name.replace(f"attention.{new}", f"attention.{old}")
    return name


def made(name, shape):
    if "cls_token" in name or "pos" in name.split(".")[-1]:
        return recipe.tensor(name, shape, spread=0.5)
    if "gamma" in name or "lambda1" in name or ("norm" in name and name.endswith("weight")):
        return recipe.constant(name, shape, 1.0)
    if name.endswith("bias"):
        return recipe.constant(name, shape, 0.0)
    return recipe.linear(name, shape)


def network(config, layout):
    net = Dinov2Model(config).eval()
    for name, parameter in net.named_parameters():
        name = file_name(name)
        shape = tuple(parameter.shape)
        if name.endswith("mask_token"):
            continue
        parts = ["query", "key", "value"]
        part = [i for i, p in enumerate(parts) if f"attention.attention.{p}" in name]
        if layout == "release" and part:
            whole = made(release_name(name), (3 * shape[0], *shape[1:]))
            parameter.data = whole.chunk(3)[part[0]].clone()
        else:
            parameter.data = made(release_name(name) if layout == "release" else name, shape)
    return net


def resample_like_the_release(net):
    def positions(embeddings, height, width):
        learned = net.embeddings.position_embeddings
        grid = int((learned.shape[1] - 1) ** 0.5)
        down, across = height // 14, width // 14
        if (down, across) == (grid, grid):
            return learned
        picture = learned[:, 1:].reshape(1, grid, grid, -1).permute(0, 3, 1, 2)
        scale = ((down + 0.1) / grid, (across + 0.1) / grid)
        new = interpolate(picture, scale_factor=scale, mode="bicubic")
        assert new.shape[-2:] == (down, across)
        return torch.cat((learned[:, :1], new.permute(0, 2, 3, 1).flatten(1, 2)), 1)

    net.embeddings.interpolate_pos_encoding = positions
    return net


toy = Dinov2Config(hidden_size=48, num_hidden_layers=2, num_attention_heads=3, mlp_ratio=4, image_size=70, patch_size=14)
base = Dinov2Config(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, mlp_ratio=4, image_size=518, patch_size=14)
large = Dinov2Config(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, mlp_ratio=4, image_size=518, patch_size=14)
with torch.inference_mode():
    for layout in ["release", "hf"]:
        for size, shape in [("native", (70, 70)), ("resampled", (42, 56))]:
            net = resample_like_the_release(network(toy, layout))
            pictures = recipe.tensor("pictures", (3, 3, *shape), spread=2.0)
            recipe.save(f"toy_{layout}_{size}.npy", net(pictures).pooler_output)
    for name, config in [("b14", base), ("l14", large)]:
        net = resample_like_the_release(network(config, "release"))
        pictures = recipe.tensor("pictures", (1, 3, 224, 224), spread=2.0)
        single = net(pictures).pooler_output
        if name == "b14":
            theirs = (network(config, "release")(pictures).pooler_output - single).abs().max().item()
            print("transformers' own resampling moves features by at most", theirs, "of", single.abs().max().item())
        double = net.double()(pictures.double()).pooler_output
        recipe.save(f"{name}_release.npy", double)
        print(name, "in f32 is off by", ((single - double).abs().max() / double.abs().max()).item(), "of the largest value")
