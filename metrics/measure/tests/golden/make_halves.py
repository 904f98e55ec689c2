"""Values of the reference tools between two halves of the photos: the first and the last twenty by name.

usage: python make_halves.py PHOTOS > halves.json      (about a quarter of an hour on one core)
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
import inception_recipe
import cleanfid.fid as clean_fid
import pytorch_fid.inception as inception
import torch_fidelity
from pytorch_fid.fid_score import calculate_fid_given_paths, get_activations
from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3
from torch_fidelity.interpolate_compat_tensorflow import interpolate_bilinear_2d_like_tensorflow1x as tf1
from torchmetrics.image.fid import FrechetInceptionDistance


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

state = inception_recipe.state()
torch.save(state, folder / "recipe.pth")
inception.load_state_dict_from_url = lambda *args, **kwargs: state
plain = inception.InceptionV3([3], resize_input=False, normalize_input=False).eval()
features = lambda x: plain(x)[0].flatten(1)
cpu = torch.device("cpu")


def pictures(side):
    """Bytes of each picture, [1, 3, height, width], in the order of the names."""
    for name in sorted(os.listdir(side)):
        pixels = torch.from_numpy(np.array(Image.open(f"{side}/{name}").convert("RGB")))
        yield pixels.permute(2, 0, 1)[None]


def exact(rows_of):
    """The distance of the tool's own features by the nuclear norm, exact for fewer rows than features."""
    means, roots = [], []
    for side in (real, generated):
        rows = np.asarray(rows_of(side), dtype=np.float64)
        assert rows.shape == (20, 2048)
        means.append(rows.mean(0))
        roots.append((rows - means[-1]) / np.sqrt(len(rows) - 1))
    trace = sum((root**2).sum() for root in roots)
    nuclear = np.linalg.svd(roots[0] @ roots[1].T, compute_uv=False).sum()
    return float(((means[0] - means[1]) ** 2).sum() + trace - 2 * nuclear)


to_net = lambda x: (x - 128) / 128
clean_kinds = {
    "clean": ("clean", lambda x: features(to_net(x)), None),
    "clean-legacy-pytorch": ("legacy_pytorch", lambda x: features(2 * (x / 255) - 1), None),
    "clean-legacy-tf": ("legacy_tensorflow", lambda x: features(
        to_net(tf1(x.float(), size=(299, 299), align_corners=False))), None),
    "lantern": ("clean", lambda x: features(to_net(x)), lantern),
}
alone = dict(num_workers=0, batch_size=1, device=cpu, verbose=False)
fid = {"pytorch-fid": float(calculate_fid_given_paths([real, generated], 1, cpu, 2048, num_workers=0))}
own = inception.InceptionV3([3]).eval()
true = {"pytorch-fid": exact(lambda side: get_activations(sorted(Path(side).iterdir()), own, 1, 2048, cpu, 0))}
for protocol, (mode, network, transform) in clean_kinds.items():
    fid[protocol] = float(clean_fid.compute_fid(
        real, generated, mode=mode, custom_feat_extractor=network, custom_image_tranform=transform, **alone))
    true[protocol] = exact(lambda side: clean_fid.get_folder_features(
        side, network, mode=mode, custom_image_tranform=transform, **alone))
options = dict(input1=generated, input2=real, cuda=False, batch_size=1, verbose=False, cache=False,
               feature_extractor_weights_path=str(folder / "recipe.pth"))
fidelity = torch_fidelity.calculate_metrics(fid=True, isc=True, isc_splits=10, **options)
# Precision and recall would be those of VGG16 otherwise.
fidelity |= torch_fidelity.calculate_metrics(prc=True, feature_extractor="inception-v3-compat", **options)
fidelity = {name: float(value) for name, value in fidelity.items()}
fid["tf1"] = fidelity["frechet_inception_distance"]
compat = FeatureExtractorInceptionV3("inception-v3-compat", ["2048"], str(folder / "recipe.pth"))
true["tf1"] = exact(lambda side: torch.cat([compat(pixels)[0] for pixels in pictures(side)]))
metric = FrechetInceptionDistance(feature=2048, feature_extractor_weights_path=str(folder / "recipe.pth"))
for side, is_real in ((real, True), (generated, False)):
    for pixels in pictures(side):
        metric.update(pixels, real=is_real)
fid["torchmetrics-1.8"] = float(metric.compute())
true["torchmetrics-1.8"] = exact(lambda side: torch.cat([metric.inception(pixels) for pixels in pictures(side)]))
print(json.dumps({"fid": fid, "exact": true, "torch_fidelity": fidelity}, indent=1))
shutil.rmtree(folder)
