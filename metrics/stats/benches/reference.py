"""The reference tools on features of the sizes that benches/sets.rs uses: processor time of SciPy's matrix root, which
pytorch-fid and clean-fid take, and of prdc.

Needs numpy, scipy, scikit-learn and prdc. Run once with OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 and once without: prdc
starts eight jobs, and with threads of their own each they spin against each other.
"""

import contextlib
import io
import time

import numpy as np
from prdc import compute_prdc
from scipy.linalg import sqrtm

N, D, K = 5000, 2048, 3


def features(rng, mix, scale, shift):
    """Features at least 0 with a few strong directions and noise in all, [N, D]."""
    rows = scale * rng.standard_normal((N, mix.shape[0])) @ mix + 0.1 * rng.standard_normal((N, D)) + shift
    return np.maximum(rows, 0)


def timed(name, call):
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:24} wall {wall:6.2f} s  processor {cpu:6.2f} s  {value}", flush=True)


def moments(a, b):
    return [(x.mean(0), np.cov(x, rowvar=False)) for x in (a, b)]


def frechet(both):
    (m1, s1), (m2, s2) = both
    root = sqrtm(s1 @ s2)
    root = root[0] if isinstance(root, tuple) else root
    return ((m1 - m2) ** 2).sum() + np.trace(s1) + np.trace(s2) - 2 * np.trace(root.real)


def silent_prdc(a, b):
    with contextlib.redirect_stdout(io.StringIO()):
        return {name: float(value) for name, value in compute_prdc(a, b, K).items()}


def main():
    rng = np.random.default_rng(3)
    mix = rng.standard_normal((64, D)) / 8
    real, generated = features(rng, mix, 1.0, 0.0), features(rng, mix, 0.97, 0.01)
    both = moments(real, generated)
    timed("moments by numpy", lambda: len(moments(real, generated)))
    timed("distance by scipy sqrtm", lambda: frechet(both))
    timed("prdc", lambda: silent_prdc(real.astype(np.float32), generated.astype(np.float32)))


if __name__ == "__main__":
    main()
