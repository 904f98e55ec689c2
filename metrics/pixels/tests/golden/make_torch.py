"""Makes torch_bilinear.json beside it: torch.nn.functional.interpolate on small pictures, on a CPU.

Needs torch (made with 2.13.0) and numpy; one thread, so that the digits do not depend on the machine's cores.
"""
import json, pathlib
import numpy as np, torch
import torch.nn.functional as F

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
lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
text = f'{{"torch":"{torch.__version__}","cases":[\n{lines}\n]}}\n'
pathlib.Path(__file__).with_name("torch_bilinear.json").write_text(text)
