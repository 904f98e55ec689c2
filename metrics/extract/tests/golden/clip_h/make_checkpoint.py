"""hps.pt: a checkpoint as xswu/HPSv2 publishes them, at a small size: the state dict of open_clip's CLIP in f16 below
`state_dict`. One block of one head in each tower, 600 words, weights by recipe.

Run here: python make_checkpoint.py   (torch 2.13, open_clip 3.3)
"""
import pathlib, sys

import numpy as np
import open_clip
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from clip_recipe import made

net = open_clip.model.CLIP(
    embed_dim=16, vision_cfg=dict(image_size=224, layers=1, width=80, head_width=80, patch_size=14, mlp_ratio=0.25),
    text_cfg=dict(context_length=77, vocab_size=600, width=64, heads=1, layers=1))
state = {}
for name, tensor in net.state_dict().items():
    shape = tuple(tensor.shape)
    fan_in = shape[0] if name in ("visual.proj", "text_projection") else int(np.prod(shape[1:]))
    state[name] = made(name, shape, fan_in).half()
torch.save({"state_dict": state}, "hps.pt")
