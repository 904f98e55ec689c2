"""Makes torch_bilinear.json and torch_u8.json beside it: torch.nn.functional.interpolate on small pictures, on a CPU; `u8` is the same on bytes, and torch_u8.json
has the SHA-256 of the pictures in prep/, read by Pillow and squashed to 299x299.

Needs torch (made with 2.13.0), numpy and Pillow (13.0.0); one thread, so that the digits do not depend on the machine's cores.
"""
import hashlib, json, pathlib
import numpy as np, torch
import torch.nn.functional as F
from PIL import Image

torch.set_num_threads(1)
CASES = [(7, 5, 11, 9), (7, 5, 3, 2), (13, 8, 5, 17), (1, 1, 4, 3), (6, 6, 6, 6), (19, 4, 1, 1), (31, 23, 8, 8)]
cases = []
for index, (width, height, to_width, to_height) in enumerate(CASES):
    pixels = np.random.RandomState(index).randint(0, 256, (height, width, 3)).astype(np.uint8)
    x = torch.from_numpy(pixels).permute(2, 0, 1)[None].float()
    for kind, options in [
        ("plain", dict(align_corners=False)),
        ("corners", dict(align_corners=True)),
        ("antialias", dict(align_corners=False, antialias=True)),
    ]:
        y = F.interpolate(x, size=(to_height, to_width), mode="bilinear", **options)[0]
        cases.append(dict(kind=kind, width=width, height=height, to_width=to_width, to_height=to_height,
                          pixels=pixels.reshape(-1).tolist(), planes=[float(v) for v in y.reshape(-1)]))
    bytes_in = torch.from_numpy(pixels)[None].permute(0, 3, 1, 2)
    y = F.interpolate(bytes_in, size=(to_height, to_width), mode="bilinear", align_corners=False)[0]
    cases.append(dict(kind="u8", width=width, height=height, to_width=to_width, to_height=to_height,
                      pixels=pixels.reshape(-1).tolist(), planes=[float(v) for v in y.reshape(-1)]))
lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
text = f'{{"torch":"{torch.__version__}","cases":[\n{lines}\n]}}\n'
pathlib.Path(__file__).with_name("torch_bilinear.json").write_text(text)

def squashed(path):
    pixels = torch.from_numpy(np.array(Image.open(path).convert("RGB")))[None].permute(0, 3, 1, 2)
    return F.interpolate(pixels, size=(299, 299), mode="bilinear", align_corners=False)[0].permute(1, 2, 0)

here = pathlib.Path(__file__).parent
pictures = sorted(json.loads((here / "prep/expected.json").read_text()))
digests = {name: hashlib.sha256(squashed(here / "prep" / name).contiguous().numpy().tobytes()).hexdigest() for name in pictures}
(here / "torch_u8.json").write_text(json.dumps(digests, indent=1) + "\n")
