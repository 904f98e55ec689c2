"""expected.json: the distances of the package lpips (version 0.1 of the heads) with weights by recipe, for three pairs of
pictures by recipe: the sum and the part of each layer. `smallest` has the least pixels along an edge of square pictures that
the package takes.

Run here: python make.py   (torch 2.13, torchvision 0.28, lpips 0.1.4)
"""
import json
import sys

import lpips
import numpy as np
import torch

sys.path.insert(0, "..")
import recipe

torch.set_num_threads(1)
SIZES = [[64, 48], [37, 61], [96, 96]]


def bytes_of(name, n):
    return np.floor((recipe.uniform(name, n) + 1.0) * 128.0).astype(np.uint8)


def pair(index, width, height):
    """Two pictures that differ in the bytes of every third pixel."""
    n = width * height * 3
    a, b = bytes_of(f"a{index}", n), bytes_of(f"b{index}", n)
    return [x.reshape(height, width, 3) for x in (a, np.where(np.arange(n) // 3 % 3 == 0, b, a))]


def net_of(name):
    net = lpips.LPIPS(pretrained=False, net=name, pnet_rand=True, verbose=False)
    for key, parameter in net.named_parameters():
        shape = tuple(parameter.shape)
        if key.startswith("net.slice"):
            key = "features." + key.split(".", 2)[2]
        if key.startswith("lin"):
            made = recipe.constant(key, shape, 0.1)
        elif key.endswith(".bias"):
            made = recipe.constant(key, shape, 0.0)
        else:
            made = recipe.convolution(key, shape)
        parameter.data = made
    return net


def smallest(net):
    for side in range(1, 64):
        try:
            with torch.inference_mode():
                net(torch.zeros(1, 3, side, side), torch.zeros(1, 3, side, side))
            return side
        except RuntimeError:
            continue


result = {"sizes": SIZES}
for name in ["alex", "vgg", "squeeze"]:
    net = net_of(name)
    distances, layers = [], []
    for index, (width, height) in enumerate(SIZES):
        with torch.inference_mode():
            value, parts = net(*[lpips.im2tensor(x) for x in pair(index, width, height)], retPerLayer=True)
        distances.append(value.item())
        layers.append([part.item() for part in parts])
    result[name] = {"distances": distances, "layers": layers, "smallest": smallest(net)}
with open("expected.json", "w") as f:
    json.dump(result, f, indent=1)
