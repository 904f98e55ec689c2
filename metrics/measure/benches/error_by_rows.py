"""How far the value of each tool is from exact arithmetic on the same features, by the number of rows.

    python error_by_rows.py crops PHOTOS 300            # real/ and generated/: 300 crops each of two halves of the photos
    specimen stats real -o real.npz --kind features --weights recipe.safetensors      # and generated likewise
    OMP_NUM_THREADS=1 python error_by_rows.py real.npz generated.npz 20 50 100 300 1000 2500

`recipe.safetensors` is that of `metrics/extract/tests/golden/inception_recipe.py`. More rows than a file has are drawn:
from the mean and covariance of its rows, with noise of 2 % of their spread in every direction.

Exact is the trace of the root as the nuclear norm of the product of the two centred blocks of rows, in f64, where there
are no more rows than features, and SciPy's eigenvalues of a symmetric product where there are more. Each tool's own
function gets mean and covariance as the tool computes them; clean-fid takes the root that pytorch-fid takes. The rows are
written too (`real-20.npy`), for `specimen fid`. Needs numpy, scipy, pillow, torch, pytorch-fid, torch-fidelity and
torchmetrics.
"""

import os
import sys
import warnings

import numpy as np
import scipy.linalg


def crops(folder, n):
    from PIL import Image

    files = sorted(os.listdir(folder))
    half, rng = len(files) // 2, np.random.default_rng(7)
    for name, some in (("real", files[:half]), ("generated", files[half:])):
        os.makedirs(name, exist_ok=True)
        photos = [Image.open(os.path.join(folder, file)).convert("RGB") for file in some]
        for at in range(n):
            photo = photos[at % len(photos)]
            side = int(min(photo.size) * rng.uniform(0.3, 1))
            x, y = (int(rng.integers(0, extent - side + 1)) for extent in photo.size)
            box = (x, y, x + side, y + side)
            photo.resize((299, 299), Image.BICUBIC, box).save(f"{name}/{at:04}.png")


def rows(kept, n, rng):
    """The first `n` rows of `kept`, or as many drawn ones, [n, d]."""
    if n <= len(kept):
        return kept[:n]
    mean = kept.mean(0, dtype=np.float64)
    centred = kept.astype(np.float64) - mean
    drawn = rng.standard_normal((n, len(kept))) @ centred / np.sqrt(len(kept) - 1)
    return (mean + drawn + 0.02 * centred.std() * rng.standard_normal(drawn.shape)).astype(np.float32)


def exact(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    n, m = len(a) - 1, len(b) - 1
    mean = ((a.mean(0) - b.mean(0)) ** 2).sum()
    a, b = a - a.mean(0), b - b.mean(0)
    spread = (a**2).sum() / n + (b**2).sum() / m
    if len(a) <= a.shape[1]:
        root = np.linalg.svd(a @ b.T, compute_uv=False).sum() / np.sqrt(n * m)
    else:
        lower = scipy.linalg.cholesky(a.T @ a / n, lower=True)
        values = scipy.linalg.eigvalsh(lower.T @ (b.T @ b / m) @ lower)
        root = np.sqrt(np.maximum(values, 0)).sum()
    return mean + spread - 2 * root


def of_pytorch_fid(a, b):
    from pytorch_fid.fid_score import calculate_frechet_distance

    a, b = a.astype(np.float64), b.astype(np.float64)
    moments = [part for x in (a, b) for part in (np.mean(x, axis=0), np.cov(x, rowvar=False))]
    return float(calculate_frechet_distance(*moments))


def of_torch_fidelity(a, b):
    from torch_fidelity.metric_fid import fid_statistics_to_metric

    both = [{"mu": np.mean(x, axis=0), "sigma": np.cov(x, rowvar=False)} for x in (a, b)]
    return float(next(iter(fid_statistics_to_metric(*both, verbose=False).values())))


def of_torchmetrics(a, b):
    """As `FrechetInceptionDistance`: sums in f64, the result in f32."""
    import torch
    from torchmetrics.image.fid import _compute_fid

    def moments(x):
        x = torch.from_numpy(x).double()
        n, total = len(x), x.sum(0)
        mean = total / n
        return mean, (x.t() @ x - n * mean[:, None] * mean[None, :]) / (n - 1)

    (m1, s1), (m2, s2) = moments(a), moments(b)
    return float(_compute_fid(m1, s1, m2, s2).to(torch.float32))


TOOLS = {"pytorch-fid": of_pytorch_fid, "torch-fidelity": of_torch_fidelity, "torchmetrics": of_torchmetrics}


def main():
    if sys.argv[1] == "crops":
        return crops(sys.argv[2], int(sys.argv[3]))
    warnings.simplefilter("ignore")
    kept = [np.load(name)["feats"] for name in sys.argv[1:3]]
    for n in map(int, sys.argv[3:]):
        rng = np.random.default_rng(3)
        a, b = (rows(one, n, rng) for one in kept)
        np.save(f"real-{n}.npy", a)
        np.save(f"generated-{n}.npy", b)
        value = exact(a, b)
        print(f"{n:6} exact {value:.9f}", end="", flush=True)
        for name, tool in TOOLS.items():
            print(f"  {name} {tool(a, b) / value - 1:+.1e}", end="", flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
