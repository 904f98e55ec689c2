"""Values of the reference tools between two halves of the photos: the first and the last twenty by name.

usage: python make_halves.py PHOTOS > halves.json      (about ten minutes on one core)
torch 2.13.0, torchvision 0.28.0, pytorch-fid 0.3.0, clean-fid 0.1.35, torch-fidelity 0.4.0, torchmetrics 1.9.0,
scipy 1.17.1, Pillow 13.0.0. Weights are those by recipe (metrics/extract/tests/golden/recipe.py), loaded into each tool
through its own loader. clean-fid's TorchScript file is not there; its network is the same architecture on (x - 128) / 128,
handed in as `custom_feat_extractor`, and its inner resize in `legacy_tensorflow` is torch-fidelity's.
"""
import json, os, shutil, sys, tempfile
from pathlib import Path

import numpy as np
import torch
import torchvision.transforms as T
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[3] / "extract/tests/golden"))
import recipe
import cleanfid.fid as clean_fid
import pytorch_fid.inception as inception
import torch_fidelity
from pytorch_fid.fid_score import calculate_fid_given_paths, get_activations
from torch_fidelity.interpolate_compat_tensorflow import interpolate_bilinear_2d_like_tensorflow1x as tf1
from torchmetrics.image.fid import FrechetInceptionDistance


def weight(name, shape):
    if name.endswith("num_batches_tracked"):
        return torch.zeros(shape, dtype=torch.long)
    if name.endswith(("conv.weight", "fc.weight")):
        return recipe.convolution(name, shape)
    if name.endswith("running_var"):
        return recipe.tensor(name, shape, centre=1.0, spread=0.5)
    return recipe.tensor(name, shape, centre=1.0 if name.endswith("bn.weight") else 0.0, spread=0.1)


def lantern(picture):
    picture = Image.fromarray(picture)
    picture = T.functional.center_crop(picture, min(picture.size))
    return np.array(picture.resize((256, 256), Image.LANCZOS))


torch.set_grad_enabled(False)
folder = Path(tempfile.mkdtemp())
photos = sorted(Path(sys.argv[1]).iterdir())
assert len(photos) == 40
for name, half in (("real", photos[:20]), ("generated", photos[20:])):
    (folder / name).mkdir()
    for photo in half:
        shutil.copy(photo, folder / name)
real, generated = str(folder / "real"), str(folder / "generated")

net = inception._inception_v3(num_classes=1008, aux_logits=False, weights=None)
state = {name: weight(name, tuple(value.shape)) for name, value in net.state_dict().items()}
torch.save(state, folder / "recipe.pth")
inception.load_state_dict_from_url = lambda *args, **kwargs: state
plain = inception.InceptionV3([3], resize_input=False, normalize_input=False).eval()
features = lambda x: plain(x)[0].flatten(1)
cpu = torch.device("cpu")


def clean(mode, network, **options):
    return float(clean_fid.compute_fid(real, generated, mode=mode, custom_feat_extractor=network, num_workers=0,
                                       batch_size=1, device=cpu, verbose=False, **options))


def torchmetrics_fid():
    metric = FrechetInceptionDistance(feature=2048, feature_extractor_weights_path=str(folder / "recipe.pth"))
    for side, is_real in ((real, True), (generated, False)):
        for name in sorted(os.listdir(side)):
            pixels = torch.from_numpy(np.array(Image.open(f"{side}/{name}").convert("RGB")))
            metric.update(pixels.permute(2, 0, 1)[None], real=is_real)
    return float(metric.compute())


def exact():
    """The distance of pytorch-fid's features by the nuclear norm, exact for fewer rows than features."""
    model = inception.InceptionV3([3]).eval()
    means, roots = [], []
    for side in (real, generated):
        rows = get_activations(sorted(Path(side).iterdir()), model, 1, 2048, cpu, 0)
        means.append(rows.mean(0))
        roots.append((rows - means[-1]) / np.sqrt(len(rows) - 1))
    trace = sum((root**2).sum() for root in roots)
    nuclear = np.linalg.svd(roots[0] @ roots[1].T, compute_uv=False).sum()
    return float(((means[0] - means[1]) ** 2).sum() + trace - 2 * nuclear)


to_net = lambda x: (x - 128) / 128
fid = {
    "pytorch-fid": float(calculate_fid_given_paths([real, generated], 1, cpu, 2048, num_workers=0)),
    "clean": clean("clean", lambda x: features(to_net(x))),
    "clean-legacy-pytorch": clean("legacy_pytorch", lambda x: features(2 * (x / 255) - 1)),
    "clean-legacy-tf": clean("legacy_tensorflow", lambda x: features(
        to_net(tf1(x.float(), size=(299, 299), align_corners=False)))),
    "lantern": clean("clean", lambda x: features(to_net(x)), custom_image_tranform=lantern),
}
options = dict(input1=generated, input2=real, cuda=False, batch_size=1, verbose=False, cache=False,
               feature_extractor_weights_path=str(folder / "recipe.pth"))
fidelity = torch_fidelity.calculate_metrics(fid=True, isc=True, isc_splits=10, **options)
# Precision and recall would be those of VGG16 otherwise.
fidelity |= torch_fidelity.calculate_metrics(prc=True, feature_extractor="inception-v3-compat", **options)
fidelity = {name: float(value) for name, value in fidelity.items()}
fid["tf1"] = fidelity["frechet_inception_distance"]
fid["torchmetrics-1.8"] = torchmetrics_fid()
print(json.dumps({"fid": fid, "exact": {"pytorch-fid": exact()}, "torch_fidelity": fidelity}, indent=1))
shutil.rmtree(folder)
