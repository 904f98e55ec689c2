"""Weights by recipe of a CLIP, under the names of transformers or of OpenAI and open_clip."""
import numpy as np

import recipe


def made(name, shape, fan_in):
    last = name.split(".")[-1]
    if name == "logit_scale":
        return recipe.constant(name, shape, 2.6)
    if "embedding" in name and "patch" not in name:
        return recipe.tensor(name, shape, spread=0.5)
    if ("ln_" in name or "norm" in name or "layrnorm" in name) and last == "weight":
        return recipe.constant(name, shape, 1.0)
    if last.endswith("bias"):
        return recipe.constant(name, shape, 0.0)
    return recipe.tensor(name, shape, spread=np.sqrt(3.0 / fan_in))
