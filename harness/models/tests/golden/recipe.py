"""Weights that follow from the names of their tensors: `tests/suite/golden.rs` makes the same ones, so that none are
stored. Norm weights are about 1, biases and tables are far from 0, so that a forgotten one shows."""

import math

import numpy
import torch


def uniform(name, n):
    """`n` values in [-1, 1), exact in f32: the top 24 bits of splitmix64, from the FNV-1a hash of `name` on."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) % 2**64
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(seed) + numpy.arange(1, n + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z = z ^ (z >> numpy.uint64(31))
    return (z >> numpy.uint64(40)).astype(numpy.float64) / 2.0**23 - 1.0


def centre_and_spread(name, shape):
    if "norm" in name and name.endswith("weight"):
        return 1.0, 0.3
    if name.endswith(".bias"):
        return 0.0, 0.2
    if name.endswith(".running_var"):
        return 1.0, 0.3
    if name.endswith(".running_mean"):
        return 0.0, 0.2
    if "embed" in name or "shared" in name or "relative_attention_bias" in name:
        return 0.0, 1.0
    return 0.0, math.sqrt(3.0 / math.prod(shape[1:]))


def weight(name, *shape):
    centre, spread = centre_and_spread(name, shape)
    values = centre + spread * uniform(name, math.prod(shape))
    return torch.tensor(values.astype(numpy.float32)).reshape(shape)
