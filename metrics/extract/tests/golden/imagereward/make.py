"""The scores of ImageReward (image-reward 1.5) with weights by recipe, and the ids of its tokenizer.

expected.json: ids of texts in the small vocabulary beside this file by the tokenizer of transformers 4.36 that the package
opens (the slow one); scores of a narrow network of the package's classes, and of the published shape, for golden pictures of
`metrics/pixels` with texts; the SHA-256 of the pixels that the package makes of them; the names of all tensors. Pictures are
read by the package's own `score`, one at a time.

Run here: python make.py REFERENCE
REFERENCE is a folder with image-reward 1.5, timm 0.6.13, transformers 4.36.2, tokenizers 0.15.2 and huggingface_hub 0.20.3
(pip install --no-deps --target REFERENCE); with torch 2.13, torchvision 0.28, Pillow 13. Of fairscale only a wrapper is
imported that is not used; a stand-in takes its place.
"""
import hashlib
import json
import os
import shutil
import sys
import tempfile
import types

import numpy as np
import torch

sys.path.insert(0, "..")
import recipe

reference = os.path.abspath(sys.argv[1])
sys.path.insert(0, reference)
for name in ["fairscale", "fairscale.nn", "fairscale.nn.checkpoint", "fairscale.nn.checkpoint.checkpoint_activations"]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["fairscale.nn.checkpoint.checkpoint_activations"].checkpoint_wrapper = lambda module: module
# Without the packages' __init__, which import what trains and other scores.
for name in ["ImageReward", "ImageReward.models"]:
    package = types.ModuleType(name)
    package.__path__ = [os.path.join(reference, *name.split("."))]
    sys.modules[name] = package
import transformers
from transformers import BertTokenizer

from_pretrained = BertTokenizer.from_pretrained
vocabulary = {"folder": "."}
BertTokenizer.from_pretrained = classmethod(lambda cls, name: from_pretrained(vocabulary["folder"]))

from ImageReward.ImageReward import MLP, ImageReward
from ImageReward.models.BLIP import med, vit

torch.set_num_threads(1)
PREP = "../../../../pixels/tests/golden/prep"
PICTURES = ["rgb_120x203.png", "odd_161x120_444.jpg", "coco_640x427_420.jpg"]
N_TOKENS = 35
TEXTS = [
    "a red star on the sea", "Two SMALL cats, and a dog!", "A café at night…", "naïve Ångström résumé", "", "   \t\n  ",
    "a walking dog's hotel-street (running) [the] star", "星 一 猫a一b", "ſtraße ß İstanbul ıI", "한 하", "xyz Я α Ω ﬁ ５",
    "a\u200bred\u00adstar\u0000\ufffd\x07sky", "emoji 🙂 sky\u2028sea", "a [MASK] star [SEP] [cls] [DEC][ENC] b", "x" * 101 + " star",
    "x" * 100 + " star", "don’t “quote” – it — costs € 12.50 & 7%",
    " ".join(["a bright star"] * 12), " ".join(["walking"] * 20), "a " * 33, "a " * 34, "e\u0301te\u0301 ﾊﾝ 〇 々 \U00020000",
]
MED = dict(
    architectures=["BertModel"], attention_probs_dropout_prob=0.1, hidden_act="gelu", hidden_dropout_prob=0.1, hidden_size=768,
    initializer_range=0.02, intermediate_size=3072, layer_norm_eps=1e-12, max_position_embeddings=512, model_type="bert",
    num_attention_heads=12, num_hidden_layers=12, pad_token_id=0, type_vocab_size=2, vocab_size=30524, encoder_width=768,
    add_cross_attention=True)


class Narrow(ImageReward):
    """The package's class with a smaller network in it."""

    def __init__(self, n_words):
        torch.nn.Module.__init__(self)
        self.device = "cpu"
        self.blip = torch.nn.Module()
        self.blip.visual_encoder = vit.VisionTransformer(img_size=224, patch_size=16, embed_dim=128, depth=2, num_heads=2)
        config = dict(MED, hidden_size=64, intermediate_size=192, num_attention_heads=1, num_hidden_layers=3,
                      max_position_embeddings=40, vocab_size=n_words)
        config = med.BertConfig(**config)
        config.encoder_width = 128
        self.blip.text_encoder = med.BertModel(config=config, add_pooling_layer=False)
        self.blip.vision_proj = torch.nn.Linear(128, 32)
        self.blip.text_proj = torch.nn.Linear(64, 32)
        from ImageReward.ImageReward import _transform
        from ImageReward.models.BLIP.blip import init_tokenizer
        self.blip.tokenizer = init_tokenizer()
        self.preprocess = _transform(224)
        self.mlp = MLP(64)
        self.mean, self.std = 0.16717362830052426, 1.0333394966054072


def fill(model):
    """Weights by recipe, by the names of the checkpoint."""
    for name, parameter in model.named_parameters():
        shape = tuple(parameter.shape)
        if name.endswith(("cls_token", "pos_embed", "word_embeddings.weight", "position_embeddings.weight")):
            made = recipe.tensor(name, shape, spread=0.5)
        elif name.endswith(".bias"):
            made = recipe.constant(name, shape, 0.0)
        elif len(shape) == 1:
            made = recipe.constant(name, shape, 1.0)
        else:
            made = recipe.linear(name, shape)
        parameter.data = made
    return model.eval()


def scores(model, texts):
    with torch.inference_mode():
        return [[model.score(text, f"{PREP}/{picture}") for text in texts] for picture in PICTURES]


def pattern(names):
    """Names with their numbers, as the catalog writes them."""
    return sorted({".".join("#" if part.isdigit() else part for part in name.split(".")) for name in names})


result = {"texts": TEXTS}
tokenizer = vit and __import__("ImageReward.models.BLIP.blip", fromlist=["x"]).init_tokenizer()
encoded = [tokenizer(text, padding="max_length", truncation=True, max_length=N_TOKENS) for text in TEXTS]
result["ids"] = [[id for id, seen in zip(one.input_ids, one.attention_mask) if seen] for one in encoded]
assert all(len(one.input_ids) == N_TOKENS for one in encoded)
result["n_words"] = len(tokenizer)

narrow = fill(Narrow(len(tokenizer)))
result["narrow_texts"] = [0, 1, 4, 17]
result["narrow_scores"] = scores(narrow, [TEXTS[at] for at in result["narrow_texts"]])
result["pictures"] = PICTURES
from PIL import Image
result["pixels_sha256"] = [
    hashlib.sha256(np.ascontiguousarray(narrow.preprocess(Image.open(f"{PREP}/{picture}")).numpy()).tobytes()).hexdigest()
    for picture in PICTURES]
if "--weights" in sys.argv:
    torch.save(narrow.state_dict(), sys.argv[sys.argv.index("--weights") + 1])
result["names"] = pattern(narrow.state_dict())
result["n_narrow"] = sum(p.numel() for p in narrow.parameters())

# The published shape, whose vocabulary is the small one behind numbered words.
with tempfile.TemporaryDirectory() as folder:
    small = open("vocab.txt", encoding="utf-8").read().splitlines()
    rest = [f"word{at}" for at in range(30522 - len(small))]
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(small + rest) + "\n")
    with open(f"{folder}/med_config.json", "w") as file:
        json.dump(MED, file)
    vocabulary["folder"] = folder
    full = fill(ImageReward(f"{folder}/med_config.json"))
result["published_scores"] = [row[:] for row in scores(full, [TEXTS[at] for at in result["narrow_texts"][:2]])]
assert pattern(full.state_dict()) == result["names"]
left_out = ("blip.vision_proj.", "blip.text_proj.")
result["n_published"] = sum(p.numel() for name, p in full.named_parameters() if not name.startswith(left_out))
with open("expected.json", "w") as file:
    json.dump(result, file, indent=1)
    file.write("\n")
