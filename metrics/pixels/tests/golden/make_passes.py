"""Adds to passes.json what the Pillow at hand makes of sizes at which the order of its resize passes matters.

    python make_passes.py   (made with Pillow 12.2.0, once with Pillow 13.0.0, with numpy)
"""
import json, pathlib
import numpy as np
from PIL import Image, __version__

from formula import FILTERS, picture, sha

# Width and height before and after: at and beyond each version's border, both sides shrinking, one side growing.
SIZES = [
    (50, 60, 40, 40), (50, 61, 40, 40), (64, 96, 48, 24), (20, 90, 50, 30), (30, 47, 45, 41), (120, 200, 61, 47),
    (3, 300, 2, 100), (3, 301, 2, 100), (3, 301, 1, 298), (3, 301, 7, 150), (2, 250, 30, 240), (96, 64, 24, 48),
]

rows = []
for width, height, to_width, to_height in SIZES:
    image = picture(width, height)
    for name in FILTERS:
        kind = getattr(Image.Resampling, name.upper())
        u8 = np.asarray(Image.fromarray(image).resize((to_width, to_height), kind))
        channels = [Image.fromarray(image[:, :, c].astype(np.float32), mode="F") for c in range(3)]
        f32 = np.stack([np.asarray(c.resize((to_width, to_height), kind)) for c in channels], -1)
        rows.append(dict(width=width, height=height, to_width=to_width, to_height=to_height, filter=name,
                         u8=sha(u8), f32=sha(f32)))

path = pathlib.Path(__file__).with_name("passes.json")
made = json.loads(path.read_text()) if path.exists() else {}
made[__version__] = rows
lists = [f'"{version}":[\n' + ",\n".join(json.dumps(row, separators=(",", ":")) for row in made[version]) + "\n]"
         for version in sorted(made)]
path.write_text("{" + ",\n".join(lists) + "}\n")
