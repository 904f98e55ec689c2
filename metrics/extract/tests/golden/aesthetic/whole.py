"""Aesthetic scores of the golden pictures of metrics/pixels by the whole reference, at published shape and with weights by recipe:
open_clip's ViT-L-14 with OpenAI's activation and preprocessing, and the heads of make.py. For a record, not for a test: the
weights take 1.2 GB.

Run here: python whole.py FOLDER   (torch 2.13, torchvision 0.28, open_clip 3.3, Pillow 13). It writes into FOLDER the pictures as
RGB (`pictures/*.png`), tower and head together (`linear.safetensors`, `relu.safetensors`) and `scores.json`.
"""
import json
import pathlib
import sys

import numpy as np
import open_clip
import torch
from PIL import Image
from safetensors.torch import save_file

out = pathlib.Path(sys.argv[1])
from make import head, recipe
from clip_recipe import made

prep = pathlib.Path("../../../../pixels/tests/golden/prep")
(out / "pictures").mkdir(parents=True, exist_ok=True)
net = open_clip.create_model("ViT-L-14", force_quick_gelu=True).eval()
for name, parameter in net.named_parameters():
    shape = tuple(parameter.shape)
    fan_in = shape[0] if name in ("visual.proj", "text_projection") else int(np.prod(shape[1:]))
    parameter.data = made(name, shape, fan_in)
vision = {name: value for name, value in net.named_parameters() if name.startswith("visual.")}
transform = open_clip.transform.image_transform(
    224, is_train=False, mean=open_clip.OPENAI_DATASET_MEAN, std=open_clip.OPENAI_DATASET_STD)
names, rows = [], []
with torch.inference_mode():
    for file in sorted(prep.glob("*_*.*")):
        picture = Image.open(file).convert("RGB")
        picture.save(out / "pictures" / f"{file.stem}_{file.suffix[1:]}.png")
        names.append(f"{file.stem}_{file.suffix[1:]}.png")
        row = net.encode_image(transform(picture)[None])
        rows.append(row / row.norm(dim=-1, keepdim=True))
    scores = {"files": names}
    for name, has_relu in [("linear", False), ("relu", True)]:
        last = head(has_relu)
        scores[name] = last(torch.cat(rows))[:, 0].tolist()
        tensors = vision | {name: value for name, value in last.named_parameters()}
        tensors = {key if "visual" in key else f"layers.{key}": value.contiguous() for key, value in tensors.items()}
        save_file(tensors, out / f"{name}.safetensors")
(out / "scores.json").write_text(json.dumps(scores, indent=1) + "\n")
