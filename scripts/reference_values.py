"""What a reference tool says of the three pictures of `specimen doctor --weights`, for who has published weights.

usage: python scripts/reference_values.py PROTOCOL [--heads] [FILE]

PROTOCOL is one of those in metrics/measure/answers/published.toml. Prints its entry for that file: paste it there in place of
the one that is `unknown`, or send it to us. Each tool finds or downloads its weights as it always does. FILE is the head of
`aesthetic-*` (.pth) or the checkpoint of `hpsv2.*` (.pt), which have no place of their own. Of `tf1`, `lantern-pr`, `fd-dinov2`
(a folder) and protocols of a CLIP score and of CMMD it takes the place of the published weights; others take none. `--heads`: the heads of the package lpips on a trunk by recipe.

Needs torch, torchvision, Pillow and of the following what the protocol names: pytorch-fid, torch-fidelity, open_clip_torch,
transformers, hpsv2, image-reward, lpips. The answer says the versions.
"""
import hashlib, importlib.metadata, importlib.util, pathlib, sys, tempfile, types

import numpy as np
import torch
from PIL import Image

PIXELS_SHA256 = "6829408b3d12caa2baae890ec8680071ce9312e3718588de178c7cfe3ccfde15"
PROMPTS = ["an orange disc before a blue sky", "a chessboard in cream and green", "waves of coloured stripes"]
MEAN, DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
ROOT = pathlib.Path(__file__).resolve().parent.parent


def drawn():
    """The pictures, [72, 96, 3] in bytes."""
    y, x = np.mgrid[0:72, 0:96]
    inside, even = (x - 34) ** 2 + (y - 40) ** 2 < 22 * 22, (x // 12 + y // 12) % 2 == 0
    value = (x * x * 3 + y * y * 5 + x * y * 7) % 256
    full = lambda number: np.full_like(x, number)
    planes = [
        [np.where(inside, a, b) for a, b in [(full(220), 60 + x), (60 + y, 120 + y), (full(40), 230 - y)]],
        [np.where(even, a, b) for a, b in [(240 - x, 20 + x), (full(235), full(90)), (full(215), 60 + y)]],
        [value, (value + 2 * x) % 256, 255 - value],
    ]
    return [np.stack(three, -1).astype(np.uint8) for three in planes]


PICTURES = drawn()
found = hashlib.sha256(b"".join(picture.tobytes() for picture in PICTURES)).hexdigest()
assert found == PIXELS_SHA256, f"the pictures are others: {found}"
IMAGES = [Image.fromarray(picture) for picture in PICTURES]


def tensor(output):
    return output if torch.is_tensor(output) else output.pooler_output


def summary(rows):
    """Of each row the root mean square, the first, the middle and the last number, and a sum with a weight for each place."""
    rows = rows.double().reshape(3, -1)
    n = rows.shape[1]
    weighted = (rows * ((torch.arange(n) * 40503 % 65536).double() / 32768 - 1)).sum(1) / n**0.5
    return torch.stack([rows.square().mean(1).sqrt(), rows[:, 0], rows[:, n // 2], rows[:, -1], weighted], 1).flatten().tolist()


def cosines(images, texts):
    images, texts = images.double(), texts.double()
    return ((images * texts).sum(-1) / images.norm(dim=-1) / texts.norm(dim=-1)).tolist()


def of_file(net, file):
    net.load_state_dict(torch.load(file, weights_only=True))
    return net.eval()


# One function a tool: a network with its weights to the values.
def pytorch_fid(net):
    return summary(net(torch.stack([torch.from_numpy(p).permute(2, 0, 1) / 255 for p in PICTURES]))[0])


def torch_fidelity(net):
    return summary(net(torch.stack([torch.from_numpy(p).permute(2, 0, 1) for p in PICTURES]))[0])


def imagenet(images):
    import torchvision.transforms as T

    normal = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    return torch.stack([normal(T.ToTensor()(image)) for image in images])


def vgg16(net):
    x = imagenet([image.resize((224, 224), Image.BILINEAR) for image in IMAGES])
    x = net.avgpool(net.features(x)).flatten(1)
    return summary(net.classifier[:4](x))


def dinov2(net):
    """`net` of transformers, whose positions are resampled here as facebookresearch/dinov2 resamples them."""
    learned = net.embeddings.position_embeddings
    grid = int((learned.shape[1] - 1) ** 0.5)
    picture = learned[:, 1:].reshape(1, grid, grid, -1).permute(0, 3, 1, 2)
    new = torch.nn.functional.interpolate(picture, scale_factor=(16.1 / grid, 16.1 / grid), mode="bicubic")
    whole = torch.cat((learned[:, :1], new.permute(0, 2, 3, 1).flatten(1, 2)), 1)
    net.embeddings.interpolate_pos_encoding = lambda embeddings, height, width: whole
    return summary(net(imagenet([image.resize((224, 224), Image.BICUBIC) for image in IMAGES])).pooler_output)


def clip_pixels(images, side=224):
    import torchvision.transforms as T

    steps = [T.Resize(side, interpolation=T.InterpolationMode.BICUBIC), T.CenterCrop(side), T.ToTensor(), T.Normalize(MEAN, DEVIATION)]
    return torch.stack([T.Compose(steps)(image) for image in images])


def clipscore(net, tokenizer):
    texts = tokenizer(["A photo depicts " + prompt for prompt in PROMPTS])
    return cosines(net.encode_image(clip_pixels(IMAGES)), net.encode_text(texts))


def cmmd(net):
    middle = [image.crop((12, 0, 84, 72)).resize((336, 336), Image.BICUBIC) for image in IMAGES]
    return summary(net.encode_image(clip_pixels(middle, 336)))


def torchmetrics_clip(net, tokenizer, squash=False):
    from transformers import CLIPImageProcessorPil

    images = [torch.from_numpy(picture).permute(2, 0, 1) for picture in PICTURES]
    if squash:
        # In bytes, as the script of SJD does before torchmetrics.
        images = [torch.nn.functional.interpolate(image[None], (299, 299), mode="bilinear")[0] for image in images]
    images = [Image.fromarray(image.permute(1, 2, 0).numpy()) for image in images]
    pixels = CLIPImageProcessorPil()(images=images, return_tensors="pt").pixel_values
    texts = tokenizer(PROMPTS, padding=True, return_tensors="pt")
    return cosines(tensor(net.get_image_features(pixel_values=pixels)), tensor(net.get_text_features(**texts)))


def aesthetic_head(has_relu):
    """The published class: linear layers with dropout between them, and in the third head ReLU."""
    from torch import nn

    widths, dropouts, parts = [768, 1024, 128, 64, 16, 1], [0.2, 0.2, 0.1, None, None], []
    for at, dropout in enumerate(dropouts):
        parts += [nn.Linear(widths[at], widths[at + 1])]
        parts += [nn.ReLU()] if has_relu and at < 4 else []
        parts += [nn.Dropout(dropout)] if dropout else []
    head = nn.Module()
    head.layers = nn.Sequential(*parts)
    return head.eval()


def aesthetic(net, head):
    rows = net.encode_image(clip_pixels(IMAGES))
    return head.layers(rows / rows.norm(dim=-1, keepdim=True))[:, 0].tolist()


def pickscore(net, tokenizer):
    from transformers import CLIPImageProcessorPil

    images = tensor(net.get_image_features(**CLIPImageProcessorPil()(images=IMAGES, return_tensors="pt")))
    texts = tokenizer(PROMPTS, padding=True, truncation=True, max_length=77, return_tensors="pt")
    texts = tensor(net.get_text_features(**texts))
    images, texts = images / torch.norm(images, dim=-1, keepdim=True), texts / torch.norm(texts, dim=-1, keepdim=True)
    return (net.logit_scale.exp() * (texts @ images.T)).diagonal().tolist()


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


def hpsv2(net, tokenize):
    prepare = hpsv2_module("transform").image_transform(224, is_train=False, resize_longest_max=True)
    images = net.encode_image(torch.stack([prepare(image) for image in IMAGES]), normalize=True)
    return (images @ net.encode_text(tokenize(PROMPTS), normalize=True).T * 100).diagonal().tolist()


def imagereward(model):
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{at}.png" for at in range(3)]
        for image, path in zip(IMAGES, paths):
            image.save(path)
        return [model.score(prompt, path) for prompt, path in zip(PROMPTS, paths)]


def lpips(net):
    import lpips as package

    pictures = [package.im2tensor(picture) for picture in PICTURES]
    return [net(pictures[at], pictures[(at + 1) % 3]).item() for at in range(3)]


def lpips_trunk_by_recipe(net):
    """Gives the trunk weights made from the names of its tensors, as `src/recipe_weights.rs` does."""
    sys.path.insert(0, str(ROOT / "metrics/extract/tests/golden"))
    import recipe

    for key, parameter in net.named_parameters():
        if key.startswith("net.slice"):
            name = "features." + key.split(".", 2)[2]
            made = recipe.constant if name.endswith(".bias") else recipe.convolution
            parameter.data = made(name, tuple(parameter.shape), *([0.0] if name.endswith(".bias") else []))
    return net


def open_clip_model(name, file=None):
    import open_clip

    net = open_clip.create_model(name, pretrained=file or "openai")
    return net.eval(), open_clip.get_tokenizer(name)


def hf_clip(repo, file):
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

    net = of_file(CLIPModel(CLIPConfig.from_pretrained(repo)), file) if file else CLIPModel.from_pretrained(repo)
    return net.eval(), CLIPTokenizer.from_pretrained(repo)


def values(protocol, file, heads):
    """Opens the published network of `protocol`; returns the values and the packages that made them."""
    if protocol == "pytorch-fid":
        from pytorch_fid.inception import InceptionV3

        return pytorch_fid(InceptionV3([3]).eval()), ["pytorch-fid"]
    if protocol == "tf1":
        from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3

        net = FeatureExtractorInceptionV3("inception-v3-compat", ["2048"], feature_extractor_weights_path=file)
        return torch_fidelity(net.eval()), ["torch-fidelity"]
    if protocol == "lantern-pr":
        import torchvision

        net = of_file(torchvision.models.vgg16(), file) if file else torchvision.models.vgg16(weights="IMAGENET1K_V1")
        return vgg16(net.eval()), ["torchvision"]
    if protocol == "fd-dinov2":
        from transformers import Dinov2Model

        return dinov2(Dinov2Model.from_pretrained(file or "facebook/dinov2-large").eval()), ["transformers"]
    if protocol == "clipscore":
        return clipscore(*open_clip_model("ViT-B-32-quickgelu", file)), ["open_clip_torch"]
    if protocol == "cmmd":
        return cmmd(open_clip_model("ViT-L-14-336-quickgelu", file)[0]), ["open_clip_torch"]
    if protocol in ("torchmetrics-clip", "sjd-clip"):
        repo = {"torchmetrics-clip": "openai/clip-vit-large-patch14", "sjd-clip": "openai/clip-vit-base-patch16"}[protocol]
        return torchmetrics_clip(*hf_clip(repo, file), squash=protocol == "sjd-clip"), ["transformers"]
    if protocol.startswith("aesthetic-"):
        head = of_file(aesthetic_head(protocol.endswith("-relu")), file)
        return aesthetic(open_clip_model("ViT-L-14-quickgelu")[0], head), ["open_clip_torch"]
    if protocol == "pickscore":
        from transformers import AutoTokenizer, CLIPModel

        net = CLIPModel.from_pretrained("yuvalkirstain/PickScore_v1").eval()
        return pickscore(net, AutoTokenizer.from_pretrained("laion/CLIP-ViT-H-14-laion2B-s32B-b79K")), ["transformers"]
    if protocol in ("hpsv2.0", "hpsv2.1"):
        import open_clip

        net = open_clip.create_model("ViT-H-14", pretrained=None)
        net.load_state_dict(torch.load(file, weights_only=True)["state_dict"])
        return hpsv2(net.eval(), hpsv2_module("tokenizer").tokenize), ["hpsv2", "open_clip_torch", "torchvision"]
    if protocol == "imagereward":
        import ImageReward

        return imagereward(ImageReward.load("ImageReward-v1.0", device="cpu")), ["image-reward", "transformers"]
    if protocol.startswith("lpips-"):
        import lpips as package

        name = protocol.removeprefix("lpips-")
        net = package.LPIPS(net=name, pnet_rand=heads, verbose=False).eval()
        return lpips(lpips_trunk_by_recipe(net) if heads else net), ["lpips", "torchvision"]
    raise SystemExit(f"{protocol} is none of metrics/measure/answers/published.toml")


def entry(protocol, of, reference, command, numbers, rest=""):
    return (f'[[answer]]\nprotocol  = "{protocol}"\nof        = "{of}"\nreference = "{reference}"\ncommand   = "{command}"\n'
            f'tolerance = 1e-4\nvalues    = [{", ".join(repr(float(number)) for number in numbers)}]\n{rest}')


def kind(protocol, heads):
    if protocol.startswith("lpips-"):
        return "distances-by-heads" if heads else "distances"
    return "features" if protocol in ("pytorch-fid", "tf1", "lantern-pr", "fd-dinov2", "cmmd") else "scores"


def check_file(protocol, file):
    """Refuses a file that would be ignored, and asks for one that is needed."""
    is_needed = protocol.startswith(("aesthetic-", "hpsv2."))
    if is_needed and file is None:
        raise SystemExit(f"{protocol} needs its FILE: python scripts/reference_values.py {protocol} FILE")
    if file is not None and protocol.startswith(("pytorch-fid", "pickscore", "imagereward", "lpips-")):
        raise SystemExit(f"{protocol} takes no FILE: the tool finds its weights itself")


def main():
    words = [word for word in sys.argv[1:] if word != "--heads"]
    heads = "--heads" in sys.argv
    if not words:
        raise SystemExit(__doc__)
    file = words[1] if len(words) > 1 else None
    check_file(words[0], file)
    torch.set_num_threads(1)
    with torch.inference_mode():
        numbers, packages = values(words[0], file, heads)
    versions = [f"{package} {importlib.metadata.version(package)}" for package in [*packages, "torch"]]
    options = [*(["FILE"] if file else []), *(["--heads"] if heads else [])]
    command = " ".join(["python scripts/reference_values.py", words[0], *options])
    print(entry(words[0], kind(words[0], heads), ", ".join(versions), command, numbers), end="")


if __name__ == "__main__":
    main()
