"""Weights by recipe of the Inception network of FID: what tools are compared with that were never given the published ones.

usage: python inception_recipe.py OUT.safetensors

Needs torch, torchvision and pytorch-fid 0.3.0, which knows the names and shapes; downloads nothing. The same tensors come
from `src/recipe_weights.rs`.
"""
import json
import struct
import sys

import numpy as np
import pytorch_fid.inception as inception
import torch

import recipe


def weight(name, shape):
    if name.endswith("num_batches_tracked"):
        return torch.zeros(shape, dtype=torch.long)
    if name.endswith(("conv.weight", "fc.weight")):
        return recipe.convolution(name, shape)
    if name.endswith("running_var"):
        return recipe.tensor(name, shape, centre=1.0, spread=0.5)
    return recipe.tensor(name, shape, centre=1.0 if name.endswith("bn.weight") else 0.0, spread=0.1)


def state():
    """Every tensor of the published file by its name there."""
    net = inception._inception_v3(num_classes=1008, aux_logits=False, weights=None)
    return {name: weight(name, tuple(value.shape)) for name, value in net.state_dict().items()}


def write(path, tensors):
    """A safetensors file: length of the header, header, numbers."""
    header, bodies, at = {}, [], 0
    for name, tensor in tensors.items():
        kind = {torch.float32: "F32", torch.int64: "I64"}[tensor.dtype]
        body = np.ascontiguousarray(tensor.numpy()).tobytes()
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [at, at + len(body)]}
        bodies.append(body)
        at += len(body)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.writelines(bodies)


if __name__ == "__main__":
    write(sys.argv[1], state())
