"""Makes torch_bicubic.json and hpsv2.json beside it.

torch_bicubic.json: torch.nn.functional.interpolate(mode="bicubic") of small float pictures (bytes / 255) on a CPU, with and
without antialias. hpsv2.json: what the package hpsv2 itself makes of the pictures in prep/ (its `image_transform` with
`resize_longest_max`, as `hpsv2.score` builds it): size and every 997th value of the planes, under `antialias`, torchvision's
default from 0.17 on, and under `plain`, its default before. Of RGBA the package keeps four planes; the first three are taken.

Needs torch (made with 2.13.0), torchvision (0.28.0), hpsv2 (1.2.0; its other requirements are not needed), numpy and
Pillow (13.0.0); one thread, so that the digits do not depend on the machine's cores.
"""
import functools, importlib.util, json, pathlib, sys, types
import numpy as np, torch
import torch.nn.functional as F
import torchvision.transforms.functional as TF
from PIL import Image

torch.set_num_threads(1)
here = pathlib.Path(__file__).parent
CASES = [(7, 5, 11, 9), (7, 5, 3, 2), (13, 8, 5, 17), (1, 1, 4, 3), (6, 6, 6, 6), (19, 4, 1, 1), (31, 23, 8, 8), (97, 3, 24, 1)]
cases = []
for index, (width, height, to_width, to_height) in enumerate(CASES):
    pixels = np.random.RandomState(index).randint(0, 256, (height, width, 3)).astype(np.uint8)
    x = torch.from_numpy(pixels).permute(2, 0, 1)[None].float().div(255)
    for kind, antialias in [("plain", False), ("antialias", True)]:
        y = F.interpolate(x, size=(to_height, to_width), mode="bicubic", align_corners=False, antialias=antialias)[0]
        cases.append(dict(kind=kind, width=width, height=height, to_width=to_width, to_height=to_height,
                          pixels=pixels.reshape(-1).tolist(), planes=[float(v) for v in y.reshape(-1)]))
lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
(here / "torch_bicubic.json").write_text(f'{{"torch":"{torch.__version__}","cases":[\n{lines}\n]}}\n')

# The module of the package without the package, whose __init__ needs much more.
folder = pathlib.Path(importlib.util.find_spec("hpsv2").submodule_search_locations[0]) / "src/open_clip"
package = types.ModuleType("hps")
package.__path__ = [str(folder)]
sys.modules["hps"] = package
spec = importlib.util.spec_from_file_location("hps.transform", folder / "transform.py")
transform = importlib.util.module_from_spec(spec)
sys.modules["hps.transform"] = transform
spec.loader.exec_module(transform)
prepare = transform.image_transform(224, is_train=False, resize_longest_max=True)
result = {}
for kind, antialias in [("antialias", True), ("plain", False)]:
    transform.F = types.SimpleNamespace(resize=functools.partial(TF.resize, antialias=antialias), pad=TF.pad)
    for name in sorted(json.loads((here / "prep/expected.json").read_text())):
        planes = prepare(Image.open(here / "prep" / name))[:3].contiguous().numpy()
        values = [float(v) for v in planes.reshape(-1)[::997]]
        result.setdefault(name, {})[kind] = dict(shape=list(planes.shape), values=values)
(here / "hpsv2.json").write_text(json.dumps(result, separators=(",", ":")).replace("},", "},\n") + "\n")
