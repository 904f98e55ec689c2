"""Weights by recipe, as `src/recipe_weights.rs` makes them: value i of a tensor comes from its name and i alone."""
import numpy as np
import torch

GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def uniform(name, n):
    """n doubles in [-1, 1): SplitMix64 from the FNV-1a hash of the name."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) & MASK
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53 * 2.0 - 1.0


def tensor(name, shape, centre=0.0, spread=1.0):
    values = centre + spread * uniform(name, int(np.prod(shape)))
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


def convolution(name, shape):
    """A weight that keeps the scale of what a ReLU follows."""
    return tensor(name, shape, spread=np.sqrt(6.0 / np.prod(shape[1:])))


def linear(name, shape):
    """A weight that keeps the scale of what it sums."""
    return tensor(name, shape, spread=np.sqrt(3.0 / np.prod(shape[1:])))


def constant(name, shape, value):
    return tensor(name, shape, centre=value, spread=0.1)


def save(path, features):
    np.save(path, np.ascontiguousarray(features.detach().float().numpy()))
