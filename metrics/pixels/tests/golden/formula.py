"""The picture that is a formula, Pillow's filters, and the digest that pictures are compared by."""
import hashlib
import numpy as np

FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def picture(width, height):
    i = np.arange(width * height * 3, dtype=np.uint64)
    return (((i * 2654435761) >> 13) & 255).astype(np.uint8).reshape(height, width, 3)
