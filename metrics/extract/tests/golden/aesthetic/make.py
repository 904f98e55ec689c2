"""expected.json: scores of the three heads of LAION's aesthetic predictor with weights by recipe, for 6 rows by recipe, one of
them zeros. The class is written from the published description: linear layers 768-1024-128-64-16-1 on rows of length 1, with
dropout behind the first three; in the head with ReLU one is behind each layer but the last, before the dropout.

Run here: python make.py   (torch 2.13)
"""
import json
import sys

import numpy as np
import torch
from torch import nn

sys.path.insert(0, "..")
import recipe

torch.set_num_threads(1)
WIDTHS = [768, 1024, 128, 64, 16, 1]
DROPOUT = [0.2, 0.2, 0.1, None, None]


def head(has_relu):
    parts = []
    for at, dropout in enumerate(DROPOUT):
        parts.append(nn.Linear(WIDTHS[at], WIDTHS[at + 1]))
        if has_relu and at < 4:
            parts.append(nn.ReLU())
        if dropout:
            parts.append(nn.Dropout(dropout))
    net = nn.Sequential(*parts).eval()
    for name, parameter in net.named_parameters():
        name, shape = f"layers.{name}", tuple(parameter.shape)
        made = recipe.constant(name, shape, 0.0) if name.endswith(".bias") else recipe.linear(name, shape)
        parameter.data = made
    return net


rows = recipe.tensor("rows", (6, 768), spread=3.0).numpy()
rows[3] = 0.0
length = np.linalg.norm(rows, axis=-1, keepdims=True)
length[length == 0] = 1
unit = torch.from_numpy(rows / length)
result = {}
with torch.inference_mode():
    for name, has_relu in [("linear", False), ("relu", True)]:
        net = head(has_relu)
        result[name] = net(unit)[:, 0].tolist()
        result[f"{name}_keys"] = sorted(net.state_dict())
with open("expected.json", "w") as f:
    json.dump(result, f, indent=1)
