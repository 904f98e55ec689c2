"""Pictures a second of processor time, on one thread, of Pillow and clean-fid: what `cargo bench -p specimen-pixels`
is held against. Needs Pillow, numpy and torch; clean-fid's `clean` resize is three lines of Pillow and stands here.

    python metrics/pixels/benches/reference.py FOLDER_OF_JPEGS
"""
import glob
import io
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
from PIL import Image, features

AT_LEAST = 200
SIDE = (299, 299)


def bench(name, work, items):
    for item in items[:3]:
        work(item)
    rounds = -(-AT_LEAST // len(items))
    start = time.process_time()
    for _ in range(rounds):
        for item in items:
            work(item)
    spent = time.process_time() - start
    print(f"{name:34s} {rounds * len(items) / spent:8.1f} pictures a CPU-second", flush=True)


def decode(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def clean(pixels):
    planes = pixels.astype(np.float32)
    one = lambda plane: np.asarray(Image.fromarray(plane).resize(SIDE, resample=Image.BICUBIC)).clip(0, 255)
    return np.stack([one(np.ascontiguousarray(planes[:, :, at])) for at in range(3)], axis=2)


files = [open(path, "rb").read() for path in sorted(glob.glob(sys.argv[1] + "/*.jpg"))]
images = [decode(data) for data in files]
turbo = features.check_feature("libjpeg_turbo")
print(f"Pillow {Image.__version__}, libjpeg-turbo: {turbo}, {len(files)} file(s)")
bench("decode", decode, files)
bench("clean-fid's clean resize to 299", clean, images)
bench("decode and clean resize", lambda data: clean(decode(data)), files)
