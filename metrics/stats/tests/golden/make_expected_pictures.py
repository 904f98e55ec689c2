"""PSNR and SSIM of scikit-image: python make_expected_pictures.py > expected_pictures.json

Needs numpy and scikit-image 0.26. The pictures are those of README.md.
"""

import json
from importlib.metadata import version

import numpy as np
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity

MASK = (1 << 64) - 1


def uniform(name, n):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    with np.errstate(over="ignore"):
        z = np.uint64(h) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return 2.0 * ((z >> np.uint64(11)).astype(np.float64) / 2.0**53) - 1.0


def picture(width, height):
    y, x, c = np.indices((height, width, 3))
    return (7 * x + 3 * y + 40 * c + x * y // 5) % 256


def noisy(width, height, spread):
    noise = np.floor(uniform("noise", width * height * 3) * spread).astype(int)
    return np.clip(picture(width, height) + noise.reshape(height, width, 3), 0, 255)


def pair(width, height, kind):
    a = picture(width, height)
    if kind == "negative":
        return a, 255 - a
    if kind == "brighter":
        return a, np.clip(a + 30, 0, 255)
    if kind == "flat":
        return np.full_like(a, 10), np.full_like(a, 200)
    return a, noisy(width, height, int(kind))


CASES = [
    (37, 29, "12"),
    (64, 48, "40"),
    (7, 7, "12"),
    (11, 11, "90"),
    (7, 40, "3"),
    (40, 31, "negative"),
    (40, 31, "brighter"),
    (16, 16, "flat"),
]


def values(width, height, kind):
    a, b = (x.astype(np.uint8) for x in pair(width, height, kind))
    answer = {
        "width": width,
        "height": height,
        "kind": kind,
        "mse": float(mean_squared_error(a, b)),
        "psnr": float(peak_signal_noise_ratio(a, b, data_range=255)),
        "uniform": float(structural_similarity(a, b, channel_axis=2, data_range=255)),
    }
    if min(width, height) >= 9:
        answer["uniform_9"] = float(structural_similarity(a, b, win_size=9, channel_axis=2, data_range=255))
    if min(width, height) >= 11:
        wang = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
        answer["gaussian"] = float(structural_similarity(a, b, channel_axis=2, data_range=255, **wang))
    return answer


package = "scikit-image"
print(json.dumps({package: version(package), "pairs": [values(*case) for case in CASES]}, indent=1))
