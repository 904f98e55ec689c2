"""The scores of ImageReward (image-reward 1.5) with weights by recipe, and the ids of its tokenizer.

expected.json: ids of texts in the small vocabulary beside this file by the tokenizer of transformers 4.36 that the package
opens (the slow one); scores of a narrow network of the package's classes, and of the published shape, for golden pictures of
`metrics/pixels` with texts; the SHA-256 of the pixels that the package makes of them; the names of all tensors. Pictures are
read by the package's own `score`, one at a time.

Run here: python make.py REFERENCE
REFERENCE is a folder with the package and what it needs: see package.py. With torch 2.13, torchvision 0.28, Pillow 13.
"""
import hashlib
import json
import os
import sys
import tempfile

import numpy as np
import torch

os.environ["IMAGEREWARD_REFERENCE"] = os.path.abspath(sys.argv[1])
from package import MED, ImageReward, Narrow, fill, vit, vocabulary

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
