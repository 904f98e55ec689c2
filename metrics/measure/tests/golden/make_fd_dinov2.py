"""FD-DINOv2 between two halves of the golden pictures of metrics/pixels (the first six and the last seven by name), and their pixels.

`dgmeval_dinov2_f32_224_chw` in metrics/pixels/tests/golden/prep/expected.json: the picture as dgm-eval's dinov2.py prepares it
without `--clean_resize`: torchvision's Resize of a PIL picture by the bicubic filter, ToTensor and Normalize.
fd_dinov2.json: for `b14` and `l14` with weights by recipe (metrics/extract/tests/golden/dinov2/make.py), `fd`: the equation
|m1 - m2|^2 + Tr(S1 + S2 - 2 (S1 S2)^(1/2)) with sample covariances on features in f64, its last term by the nuclear norm, which is exact
for fewer rows than features; `tool`: dgm-eval's way, the trace of scipy's sqrtm of the product; `f32`: the equation on
features in f32.

Run here: python make_fd_dinov2.py   (torch 2.13, torchvision 0.28, transformers 5.23, scipy 1.17.1, Pillow 13, whose order of passes
is that of Pillow 12 for these pictures)
"""
import hashlib, json, pathlib, sys

import numpy as np
import torch
from PIL import Image
from scipy import linalg
from torchvision.transforms import Compose, InterpolationMode, Normalize, Resize, ToTensor

here = pathlib.Path(__file__).resolve().parent
prep = here.parents[2] / "pixels/tests/golden/prep"
dinov2 = here.parents[2] / "extract/tests/golden/dinov2"
sys.path[:0] = [str(dinov2.parent)]
definitions, _ = (dinov2 / "make.py").read_text().split("with torch.inference_mode()")
exec(definitions)

prepare = Compose([
    Resize((224, 224), InterpolationMode.BICUBIC), ToTensor(),
    Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])
expected = json.loads((prep / "expected.json").read_text())
files = sorted(expected)
pictures = [prepare(Image.open(prep / file).convert("RGB")) for file in files]
for file, picture in zip(files, pictures):
    v = picture.numpy()
    expected[file]["dgmeval_dinov2_f32_224_chw"] = {
        "shape": list(v.shape), "dtype": str(v.dtype), "sha256": hashlib.sha256(v.tobytes()).hexdigest(),
        "mean": float(v.astype(np.float64).mean()), "std": float(v.astype(np.float64).std()),
        "samples": [float(x) for x in v.reshape(-1)[:: v.size // 8][:8]],
    }
lines = [f"{json.dumps(file)}: {json.dumps(expected[file], separators=(',', ':'))}" for file in files]
(prep / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def distances(rows):
    sides = rows[:6], rows[6:]
    means = [side.mean(0) for side in sides]
    roots = [(side - mean) / np.sqrt(len(side) - 1) for side, mean in zip(sides, means)]
    plain = ((means[0] - means[1]) ** 2).sum() + sum((root**2).sum() for root in roots)
    exact = plain - 2 * np.linalg.svd(roots[0] @ roots[1].T, compute_uv=False).sum()
    covariances = [np.cov(side, rowvar=False) for side in sides]
    return float(exact), float(plain - 2 * np.trace(linalg.sqrtm(covariances[0] @ covariances[1]).real))


result = {}
with torch.inference_mode():
    for name, config in [("b14", base), ("l14", large)]:
        net = resample_like_the_release(network(config, "release"))
        rows = lambda kind: torch.cat([net(x[None].to(kind)).pooler_output for x in pictures]).double().numpy()
        single = distances(rows(torch.float32))[0]
        net = net.double()
        exact, tool = distances(rows(torch.float64))
        result[name] = {"fd": exact, "tool": tool, "f32": single}
(here / "fd_dinov2.json").write_text(json.dumps(result, indent=1) + "\n")
print(result)
