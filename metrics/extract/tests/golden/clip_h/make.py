"""Embeddings and scores of a narrow ViT-H/14 (towers of depth 2 and two heads, heads of 80 for pictures and of 64 for texts,
the exact GELU, a joint space of 64, patches of 14 in 224 pixels, 49,408 words), with weights by recipe under the names of
transformers and of open_clip.

`*_image.npy` and `*_text.npy`: embeddings of three pictures by recipe and of the texts, by transformers' CLIPModel and by
open_clip's CLIP. expected.json: texts with their ids by the tokenizer of hpsv2 and by transformers' with PickScore's
settings, and scores of five pictures of metrics/pixels, text by text: `pickscore` as its README computes it (with the image
processor on Pillow, which transformers 4 has), `hpsv2_antialias` and `hpsv2_plain` as hpsv2's `evaluate` does, with
torchvision's default from 0.17 on and before.

Run: python make.py bpe_simple_vocab_16e6.txt.gz; with a folder behind it the towers are of full width and depth, and all that
is made goes into that folder, the weights too (`hf.safetensors`, `open_clip.safetensors`, 4 GB each).   (torch 2.13, torchvision 0.28, transformers 5.23, open_clip 3.3,
hpsv2 1.2.0 without its requirements, ftfy 6.3.1, Pillow 13)
"""
import functools, gzip, importlib.util, json, pathlib, sys, types

import numpy as np
import open_clip
import torch
import torchvision.transforms.functional as TF
from PIL import Image
from safetensors.torch import save_file
from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, CLIPTokenizer

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import recipe
from clip_recipe import made

torch.set_num_threads(1)
vocabulary = sys.argv[1]
is_full = len(sys.argv) > 2
out = pathlib.Path(sys.argv[2]) if is_full else here
# Width, depth and heads of the tower of pictures and of that of texts; the joint space.
VISION, TEXT, JOINT = ((1280, 32, 16), (1024, 24, 16), 1024) if is_full else ((160, 2, 2), (128, 2, 2), 64)
FILES = ["coco_640x427_420.jpg", "odd_161x120_444.jpg", "rgb_120x203.png", "gray_120x203.jpg", "tiny_33x17.png"]
TEXTS = [
    "a red car on a street", " ".join(["a very long text about nothing, word by word"] * 12),
    "Caf\u00c3\u00a9 &amp; a <|endoftext|> cat", "a <end_of_text> b", "don\u00e2\u20ac\u2122t stop, it's 1950 \u00bd",
]


def hpsv2_module(name):
    """A module of hpsv2's open_clip without the package, whose __init__ needs much more."""
    folder = pathlib.Path(importlib.util.find_spec("hpsv2").submodule_search_locations[0]) / "src/open_clip"
    if "hps" not in sys.modules:
        sys.modules["hps"] = types.ModuleType("hps")
        sys.modules["hps"].__path__ = [str(folder)]
    spec = importlib.util.spec_from_file_location(f"hps.{name}", folder / f"{name}.py")
    module = sys.modules[f"hps.{name}"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hf_tokenizer():
    merges = [tuple(line.split()) for line in gzip.open(vocabulary).read().decode().split("\n")[1:48895]]
    letters = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters = [chr(c) for c in letters] + [chr(256 + i) for i in range(256 - len(letters))]
    words = letters + [c + "</w>" for c in letters] + ["".join(pair) for pair in merges]
    words += ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={word: i for i, word in enumerate(words)}, merges=merges)


def filled(net, name, fan_in):
    for parameter_name, parameter in net.named_parameters():
        shape = tuple(parameter.shape)
        parameter.data = made(parameter_name, shape, fan_in(parameter_name, shape))
    if is_full:
        save_file(dict(net.named_parameters()), out / f"{name}.safetensors")
    return net.eval()


def of_hf():
    def shape(width, depth, heads):
        return dict(hidden_size=width, intermediate_size=4 * width, num_hidden_layers=depth, num_attention_heads=heads,
                    hidden_act="gelu", projection_dim=JOINT)

    text = dict(vocab_size=49408, max_position_embeddings=77, eos_token_id=49407, bos_token_id=49406, **shape(*TEXT))
    net = CLIPModel(CLIPConfig(text_config=text, vision_config=dict(image_size=224, patch_size=14, **shape(*VISION)),
                               projection_dim=JOINT))
    return filled(net, "hf", lambda name, shape: int(np.prod(shape[1:])))


def of_open_clip():
    (width, layers, _), (text_width, text_layers, text_heads) = VISION, TEXT
    net = open_clip.model.CLIP(
        embed_dim=JOINT, vision_cfg=dict(image_size=224, layers=layers, width=width, head_width=80, patch_size=14),
        text_cfg=dict(context_length=77, vocab_size=49408, width=text_width, heads=text_heads, layers=text_layers))
    joint = ("visual.proj", "text_projection")
    return filled(net, "open_clip", lambda name, shape: shape[0] if name in joint else int(np.prod(shape[1:])))


def tensor(output):
    return output if torch.is_tensor(output) else output.pooler_output


pictures = [Image.open(here / "../../../../pixels/tests/golden/prep" / name) for name in FILES]
uniform = recipe.tensor("pixels", (3, 3, 224, 224))
tokenizer, gzip_open = hf_tokenizer(), gzip.open
gzip.open = lambda _: gzip_open(vocabulary)  # The wheel lacks its vocabulary.
hps_tokenizer = hpsv2_module("tokenizer")
gzip.open = gzip_open
hf_texts = tokenizer(TEXTS, padding=True, truncation=True, max_length=77, return_tensors="pt")
hps_texts = hps_tokenizer.tokenize(TEXTS)
end = lambda ids, last: [int(i) for i in ids[:last]]
result = {"files": FILES, "texts": TEXTS}
result["pickscore_ids"] = [end(ids, int(mask.sum())) for ids, mask in zip(hf_texts.input_ids, hf_texts.attention_mask)]
result["hpsv2_ids"] = [end(ids, int((ids != 0).sum())) for ids in hps_texts]
with torch.inference_mode():
    net = of_hf()
    recipe.save(out / "hf_image.npy", tensor(net.get_image_features(pixel_values=uniform)))
    texts = tensor(net.get_text_features(**hf_texts))
    recipe.save(out / "hf_text.npy", texts)
    images = CLIPImageProcessorPil()(images=[picture.convert("RGB") for picture in pictures], return_tensors="pt")
    images = tensor(net.get_image_features(**images))
    images, texts = images / torch.norm(images, dim=-1, keepdim=True), texts / torch.norm(texts, dim=-1, keepdim=True)
    result["pickscore"] = (net.logit_scale.exp() * (texts @ images.T)).diagonal().tolist()

    del net
    net = of_open_clip()
    recipe.save(out / "open_clip_image.npy", net.encode_image(uniform))
    recipe.save(out / "open_clip_text.npy", net.encode_text(hps_texts))
    transform = hpsv2_module("transform")
    prepare = transform.image_transform(224, is_train=False, resize_longest_max=True)
    for kind, antialias in [("antialias", True), ("plain", False)]:
        transform.F = types.SimpleNamespace(resize=functools.partial(TF.resize, antialias=antialias), pad=TF.pad)
        images = net.encode_image(torch.stack([prepare(picture) for picture in pictures]), normalize=True)
        texts = net.encode_text(hps_texts, normalize=True)
        result[f"hpsv2_{kind}"] = (images @ texts.T * 100).diagonal().tolist()
(out / "expected.json").write_text(json.dumps(result, indent=1) + "\n")
