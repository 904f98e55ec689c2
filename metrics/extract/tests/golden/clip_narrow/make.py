"""Embeddings and cosines of a narrow CLIP with the real vocabulary, on real photos and their captions.

Towers of width 128 and depth 2, patches of 32 in 224 pixels, 49,408 words, 77 tokens, a joint space of 64; weights by
recipe under the names of each layout. The reference is transformers' CLIPModel; values of the OpenAI layout are those
of the same network with the weights that the recipe gives to OpenAI's names. Pixels are those of open_clip: Pillow
bicubic of the shorter side to 224, centre crop, mean and deviation; ids are those of open_clip's tokenizer.

Run: python make.py PHOTOS VOCABULARY   (the folder with captions_photos40_longest1.json and coco_val2017, and
bpe_simple_vocab_16e6.txt.gz; torch 2.13, transformers 5.23, open_clip 3.3, ftfy 6.3.1, Pillow 13)
"""
import importlib.util
import json
import os
import sys

import numpy as np
import torch
import torchvision.transforms as T
from PIL import Image
from transformers import CLIPConfig, CLIPModel

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, ".."))
import recipe
from clip_recipe import made

torch.set_num_threads(1)
photos, vocabulary = sys.argv[1:]
file = os.path.join(os.path.dirname(importlib.util.find_spec("open_clip").origin), "tokenizer.py")
spec = importlib.util.spec_from_file_location("open_clip_tokenizer", file)
tokenizer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tokenizer)
tokenizer = tokenizer.SimpleTokenizer(vocabulary)

shape = dict(hidden_size=128, intermediate_size=512, num_hidden_layers=2, num_attention_heads=2, hidden_act="quick_gelu",
             projection_dim=64)
config = CLIPConfig(
    text_config=dict(vocab_size=49408, max_position_embeddings=77, eos_token_id=49407, bos_token_id=49406, **shape),
    vision_config=dict(image_size=224, patch_size=32, **shape), projection_dim=64)


def openai_name(name):
    """The name of a tensor of transformers in OpenAI's layout; of queries, keys and values, that of all three."""
    pairs = [
        ("vision_model.embeddings.class_embedding", "visual.class_embedding"),
        ("vision_model.embeddings.position_embedding.weight", "visual.positional_embedding"),
        ("vision_model.embeddings.patch_embedding", "visual.conv1"),
        ("vision_model.pre_layrnorm", "visual.ln_pre"), ("vision_model.post_layernorm", "visual.ln_post"),
        ("vision_model.encoder.layers", "visual.transformer.resblocks"), ("visual_projection.weight", "visual.proj"),
        ("text_model.embeddings.token_embedding", "token_embedding"),
        ("text_model.embeddings.position_embedding.weight", "positional_embedding"),
        ("text_model.final_layer_norm", "ln_final"), ("text_model.encoder.layers", "transformer.resblocks"),
        ("text_projection.weight", "text_projection"), ("layer_norm1", "ln_1"), ("layer_norm2", "ln_2"),
        ("mlp.fc1", "mlp.c_fc"), ("mlp.fc2", "mlp.c_proj"), ("self_attn.out_proj", "attn.out_proj"),
    ]
    for theirs, ours in pairs:
        name = name.replace(theirs, ours)
    for part in "qkv":
        name = name.replace(f"self_attn.{part}_proj.", "attn.in_proj_")
    return name


def network(layout):
    net = CLIPModel(config).eval()
    for name, parameter in net.named_parameters():
        shape = tuple(parameter.shape)
        fan_in = int(np.prod(shape[1:]))
        if layout == "hf":
            parameter.data = made(name, shape, fan_in)
            continue
        ours = openai_name(name)
        if "in_proj_" in ours:
            part = "qkv".index(name.split("self_attn.")[1][0])
            parameter.data = made(ours, (3 * shape[0], *shape[1:]), fan_in).chunk(3)[part].clone()
        elif ours in ("visual.proj", "text_projection"):
            parameter.data = made(ours, shape[::-1], fan_in).T.contiguous()
        else:
            parameter.data = made(ours, shape, fan_in)
    return net


with open(os.path.join(photos, "captions_photos40_longest1.json")) as f:
    coco = json.load(f)
captions = {c["image_id"]: c["caption"] for c in coco["annotations"]}
images = sorted(coco["images"], key=lambda image: image["id"])
prepare = T.Compose([
    T.Resize(224, interpolation=T.InterpolationMode.BICUBIC), T.CenterCrop(224), lambda image: image.convert("RGB"),
    T.ToTensor(), T.Normalize((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))])
pixels = torch.stack([prepare(Image.open(os.path.join(photos, "coco_val2017", image["file_name"]))) for image in images])
ids = tokenizer([captions[image["id"]] for image in images])
result = {"ids": [image["id"] for image in images]}
with torch.inference_mode():
    for layout in ["hf", "openai"]:
        net = network(layout)
        found = []
        for name, output in [("image", net.get_image_features(pixel_values=pixels)), ("text", net.get_text_features(input_ids=ids))]:
            output = output if torch.is_tensor(output) else output.pooler_output
            recipe.save(os.path.join(here, f"{layout}_{name}.npy"), output)
            found.append(torch.nn.functional.normalize(output.double(), dim=-1))
        result[f"{layout}_cosines"] = (found[0] * found[1]).sum(-1).tolist()
        result[f"{layout}_logit_scale"] = net.logit_scale.item()
with open(os.path.join(here, "expected.json"), "w") as f:
    json.dump(result, f, indent=1)
