"""values.toml: what the reference tools say of the pictures of `specimen doctor --weights` by networks with weights by recipe.
Networks are narrow but Inception and the trunks of LPIPS. Each goes through the function of `scripts/reference_values.py` that
makes values of the published one.

Run: python make.py REFERENCE VOCABULARY [FOLDER]   (torch 2.13, torchvision 0.28, transformers 5.23, open_clip 3.3, hpsv2 1.2.0
without its requirements, pytorch-fid 0.3.0, torch-fidelity 0.4.0, lpips 0.1.4; Pillow 13). REFERENCE is that of
metrics/extract/tests/golden/imagereward/package.py, VOCABULARY bpe_simple_vocab_16e6.txt.gz. With FOLDER, VGG16 and DINOv2 of
published shape are done too, and values and weights go into FOLDER, for
`specimen doctor --weights --values FOLDER/values.toml`.
"""
import gzip, importlib.metadata, os, pathlib, subprocess, sys, tempfile

here = pathlib.Path(__file__).resolve().parent
root = here.parents[4]
golden = root / "metrics/extract/tests/golden"
sys.path[:0] = [str(golden), str(golden / "imagereward"), str(root / "scripts")]
reference, vocabulary = sys.argv[1:3]
out = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] != "imagereward" else None
import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)
import numpy as np

import reference_values as values

entries = []


def note(protocol, packages, numbers, weights):
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in [*packages.split(), "torch"])
    heads = protocol == "imagereward" and "image-reward 1.5, transformers 4.36.2" or versions
    entries.append(values.entry(protocol, values.kind(protocol, False), heads, "metrics/measure/tests/golden/published_answers/make.py",
                                numbers, f'weights   = "{weights}"\n'))


if sys.argv[-1] == "imagereward":
    # In a process of its own: the package needs transformers 4.
    os.environ["IMAGEREWARD_REFERENCE"] = os.path.abspath(reference)
    from package import Narrow, fill

    from ImageReward.models.BLIP.blip import init_tokenizer

    net = fill(Narrow(len(init_tokenizer())))
    note("imagereward", "", values.imagereward(net), "imagereward.safetensors")
    print(entries[0], end="")
    sys.exit()

import open_clip
from safetensors.torch import save_file
from transformers import CLIPConfig, CLIPModel, CLIPTokenizer, Dinov2Config, Dinov2Model

import inception_recipe, recipe
from clip_recipe import made


def written(net, weights):
    if out:
        save_file({name: x.contiguous() for name, x in (net if isinstance(net, dict) else dict(net.named_parameters())).items()}, out / weights)


def open_clip_narrow(patch, side, joint, quick_gelu, width=128, head_width=64):
    """Towers of depth 2 and two heads in open_clip's layout."""
    text = dict(context_length=77, vocab_size=49408, width=128, heads=2, layers=2)
    vision = dict(image_size=side, layers=2, width=width, head_width=head_width, patch_size=patch)
    net = open_clip.model.CLIP(embed_dim=joint, vision_cfg=vision, text_cfg=text, quick_gelu=quick_gelu)
    for name, parameter in net.named_parameters():
        shape = tuple(parameter.shape)
        fan_in = shape[0] if name in ("visual.proj", "text_projection") else int(np.prod(shape[1:]))
        parameter.data = made(name, shape, fan_in)
    return net.eval()


def hf_narrow(patch, activation, width=128):
    """The same in the layout of transformers."""
    shape = lambda width: dict(hidden_size=width, intermediate_size=4 * width, num_hidden_layers=2, num_attention_heads=2,
                               hidden_act=activation, projection_dim=64)
    text = dict(vocab_size=49408, max_position_embeddings=77, eos_token_id=49407, bos_token_id=49406, **shape(128))
    net = CLIPModel(CLIPConfig(text_config=text, vision_config=dict(image_size=224, patch_size=patch, **shape(width)), projection_dim=64))
    for name, parameter in net.named_parameters():
        parameter.data = made(name, tuple(parameter.shape), int(np.prod(parameter.shape[1:])))
    return net.eval()


def hf_tokenizer():
    merges = [tuple(line.split()) for line in gzip.open(vocabulary).read().decode().split("\n")[1:48895]]
    letters = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters = [chr(c) for c in letters] + [chr(256 + i) for i in range(256 - len(letters))]
    words = letters + [c + "</w>" for c in letters] + ["".join(pair) for pair in merges]
    return CLIPTokenizer(vocab={word: i for i, word in enumerate(words + ["<|startoftext|>", "<|endoftext|>"])}, merges=merges)


def imagenet_by_recipe(net):
    for name, parameter in net.named_parameters():
        shape = tuple(parameter.shape)
        parameter.data = recipe.constant(name, shape, 0.0) if name.endswith(".bias") else recipe.convolution(name, shape)
    return net.eval()


state = inception_recipe.state()
written({name: x for name, x in state.items() if not name.endswith("num_batches_tracked")}, "inception.safetensors")
import pytorch_fid.inception

pytorch_fid.inception.load_state_dict_from_url = lambda *_, **__: state
note("pytorch-fid", "pytorch-fid", values.pytorch_fid(pytorch_fid.inception.InceptionV3([3]).eval()), "inception.safetensors")
from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3

with tempfile.TemporaryDirectory() as folder:
    torch.save(state, f"{folder}/inception.pth")
    net = FeatureExtractorInceptionV3("inception-v3-compat", ["2048"], feature_extractor_weights_path=f"{folder}/inception.pth")
note("tf1", "torch-fidelity", values.torch_fidelity(net), "inception.safetensors")

net = open_clip_narrow(32, 224, 64, True)
written(net, "clip-b32.safetensors")
note("clipscore", "open_clip_torch", values.clipscore(net, open_clip.get_tokenizer("ViT-B-32")), "clip-b32.safetensors")
net = open_clip_narrow(14, 336, 64, True)
written(net, "clip-l14-at336.safetensors")
note("cmmd", "open_clip_torch", values.cmmd(net), "clip-l14-at336.safetensors")
net = open_clip_narrow(14, 224, 768, True)
for name, has_relu in [("aesthetic-sac-logos-ava1", False), ("aesthetic-ava-logos-relu", True)]:
    head = values.aesthetic_head(has_relu)
    for key, parameter in head.named_parameters():
        parameter.data = recipe.constant(key, tuple(parameter.shape), 0.0) if key.endswith(".bias") else recipe.linear(key, tuple(parameter.shape))
    written({**dict(net.named_parameters()), **dict(head.named_parameters())}, f"{name}.safetensors")
    note(name, "open_clip_torch", values.aesthetic(net, head), f"{name}.safetensors")
for protocol, patch in [("torchmetrics-clip", 14), ("sjd-clip", 16)]:
    net = hf_narrow(patch, "quick_gelu")
    written(net, f"{protocol}.safetensors")
    note(protocol, "transformers", values.torchmetrics_clip(net, hf_tokenizer(), protocol == "sjd-clip"), f"{protocol}.safetensors")
net = hf_narrow(14, "gelu", 160)
written(net, "pickscore.safetensors")
note("pickscore", "transformers", values.pickscore(net, hf_tokenizer()), "pickscore.safetensors")
net, gzip_open = open_clip_narrow(14, 224, 64, False, 160, 80), gzip.open
written(net, "hps.safetensors")
gzip.open = lambda _: gzip_open(vocabulary)  # The wheel of hpsv2 lacks its vocabulary.
tokenize = values.hpsv2_module("tokenizer").tokenize
gzip.open = gzip_open
for protocol in ["hpsv2.0", "hpsv2.1"]:
    note(protocol, "hpsv2 open_clip_torch torchvision", values.hpsv2(net, tokenize), "hps.safetensors")

import lpips

for name in ["alex", "squeeze"]:
    net = values.lpips_trunk_by_recipe(lpips.LPIPS(pretrained=False, net=name, pnet_rand=True, verbose=False)).eval()
    for key, parameter in net.named_parameters():
        if key.startswith("lin"):
            parameter.data = recipe.constant(key, tuple(parameter.shape), 0.1)
    named = lambda key: "features." + key.split(".", 2)[2] if key.startswith("net.slice") else key
    written({named(key): x for key, x in net.named_parameters()}, f"lpips-{name}.safetensors")
    note(f"lpips-{name}", "lpips torchvision", values.lpips(net), f"lpips-{name}.safetensors")

if out:
    import torchvision

    net = imagenet_by_recipe(torchvision.models.vgg16())
    written(net, "vgg16.safetensors")
    note("lantern-pr", "torchvision", values.vgg16(net), "vgg16.safetensors")
    net = Dinov2Model(Dinov2Config(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, image_size=518, patch_size=14)).eval()
    parts = {"q_proj": "attention.query", "k_proj": "attention.key", "v_proj": "attention.value", "o_proj": "output.dense"}
    tensors = {}
    for name, parameter in net.named_parameters():
        # The name in the files of the hub.
        for new, old in parts.items():
            name = name.replace(f"attention.{new}", f"attention.{old}")
        shape, last = tuple(parameter.shape), name.split(".")[-1]
        if "cls_token" in name or "pos" in last:
            parameter.data = recipe.tensor(name, shape, spread=0.5)
        elif "lambda1" in name or ("norm" in name and last == "weight"):
            parameter.data = recipe.constant(name, shape, 1.0)
        elif last == "bias":
            parameter.data = recipe.constant(name, shape, 0.0)
        elif "mask_token" not in name:
            parameter.data = recipe.linear(name, shape)
        tensors[name] = parameter.data
    written(tensors, "dinov2.safetensors")
    note("fd-dinov2", "transformers", values.dinov2(net), "dinov2.safetensors")

alone = subprocess.run([sys.executable, __file__, reference, vocabulary, "imagereward"], capture_output=True, text=True, check=True)
text = "schema = 1\n# Made by make.py with weights by recipe.\n\n" + "\n".join([*entries, *([] if out else [alone.stdout])])
((out or here) / "values.toml").write_text(text)
