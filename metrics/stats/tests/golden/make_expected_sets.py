"""Values of the reference implementations for statistics of sets: python make_expected_sets.py > expected_sets.json

Needs numpy, scipy, torch, prdc 0.2, clean-fid 0.1.35 and torch-fidelity 0.4.0. Inputs are the matrices of README.md.
What no package computes (f64 KID of a subset, realism, the unit-row kernels) is written out in f64 from its formula.
"""

import contextlib
import io
import json
import warnings
from importlib.metadata import version

import numpy as np
import torch

warnings.filterwarnings("ignore")
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


def recipe(tag, n, d, shift, scale):
    k = 16
    w = uniform(f"W{d}", k * d).reshape(k, d)
    z = uniform(tag + "z", n * k).reshape(n, k)
    e = uniform(tag + "e", n * d).reshape(n, d)
    return np.maximum(scale * z @ w + 0.3 * e + 0.3 + shift, 0).astype(np.float32)


SETS = {
    "a": recipe("a", 300, 64, 0, 1.0),
    "b": recipe("b", 256, 64, 0.05, 0.9),
    "c_lowrank": recipe("c", 40, 64, 0.02, 1.0),
    "d_lowrank": recipe("d", 50, 64, 0, 1.1),
    "e2048": recipe("e", 60, 2048, 0, 1.0),
    "f2048": recipe("f", 50, 2048, 0.03, 1.0),
}
# Each row of b twice, so that distances tie.
SETS["b_twice"] = np.repeat(SETS["b"][:100], 2, axis=0)


def kid(x, y):
    x, y = x.astype(np.float64), y.astype(np.float64)
    kernel = lambda p, q: (p @ q.T / x.shape[1] + 1) ** 3
    xx, yy, n, m = kernel(x, x), kernel(y, y), len(x), len(y)
    return (xx.sum() - np.trace(xx)) / (n * (n - 1)) + (yy.sum() - np.trace(yy)) / (m * (m - 1)) - 2 * kernel(x, y).mean()


def kid_subsets(x, y, subsets, size):
    rng = np.random.RandomState(2020)
    draw = lambda: (rng.choice(len(x), size, replace=False), rng.choice(len(y), size, replace=False))
    values = np.array([kid(x[i], y[j]) for i, j in (draw() for _ in range(subsets))])
    return {"mean": values.mean(), "deviation": values.std()}


def clean_fid_kid(x, y, subsets, size, seed):
    from cleanfid.fid import kernel_distance

    np.random.seed(seed)
    return kernel_distance(x.astype(np.float64), y.astype(np.float64), num_subsets=subsets, max_subset_size=size)


def torch_fidelity_kid(x, y, subsets, size):
    from torch_fidelity.metric_kid import kid_features_to_metric

    value = kid_features_to_metric(
        torch.from_numpy(x), torch.from_numpy(y), kid_subsets=subsets, kid_subset_size=size, kid_kernel="poly",
        kid_kernel_poly_degree=3, kid_kernel_poly_gamma=None, kid_kernel_poly_coef0=1, rng_seed=2020, verbose=False,
    )
    return {"mean": value["kernel_inception_distance_mean"], "deviation": value["kernel_inception_distance_std"]}


def squared(x, y):
    """Exact to rounding and exactly equal for equal pairs of rows, which a matrix product does not promise."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    return np.array([((row - y) ** 2).sum(1) for row in x])


def radii(x, k):
    return np.sort(squared(x, x), axis=1)[:, k]


def prdc_by_definition(real, fake, k, inside):
    d, r, f = squared(real, fake), radii(real, k)[:, None], radii(fake, k)[None]
    return {
        "precision": inside(d, r).any(0).mean(),
        "recall": inside(d, f).any(1).mean(),
        "density": inside(d, r).sum(0).mean() / k,
        "coverage": inside(d, r).any(1).mean(),
    }


def prdc_package(real, fake, k):
    from prdc import compute_prdc

    with contextlib.redirect_stdout(io.StringIO()):
        return {name: float(value) for name, value in compute_prdc(real, fake, k).items()}


def torch_fidelity_precision_recall(real, fake, k):
    from torch_fidelity.metric_prc import calculate_precision_recall_full

    precision, recall = calculate_precision_recall_full(torch.from_numpy(fake), torch.from_numpy(real), k)
    return {"precision": float(precision), "recall": float(recall)}


def realism(real, fake, k):
    r = np.sqrt(radii(real, k))
    kept = r <= np.median(r)
    return (r[kept, None] / np.sqrt(squared(real[kept], fake))).max(0)[:8].tolist()


def unit(x):
    x = x.astype(np.float64)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def cmmd(x, y):
    x, y = unit(x), unit(y)
    kernel = lambda p, q: np.expm1(-squared(p, q) / 200.0).mean()
    return 1000 * (kernel(x, x) + kernel(y, y) - 2 * kernel(x, y))


def vendi(x):
    x = unit(x)
    w = np.linalg.eigvalsh(x @ x.T / len(x))
    w = w[w > 0]
    return np.exp(-(w * np.log(w)).sum())


def inception_score(logits, splits, shuffle):
    from torch_fidelity.metric_isc import isc_features_to_metric

    value = isc_features_to_metric(torch.from_numpy(logits), splits, shuffle, 2020)
    return {"mean": value["inception_score_mean"], "deviation": value["inception_score_std"]}


def frechet(x, y):
    x, y = x.astype(np.float64), y.astype(np.float64)
    xc, yc, n, m = x - x.mean(0), y - y.mean(0), len(x) - 1, len(y) - 1
    nuclear = np.linalg.svd(xc @ yc.T, compute_uv=False).sum() / np.sqrt(n * m)
    return ((x.mean(0) - y.mean(0)) ** 2).sum() + (xc**2).sum() / n + (yc**2).sum() / m - 2 * nuclear


def fid_infinity(x, y, sizes):
    values = [frechet(x, y[:n]) for n in sizes]
    slope, intercept = np.polyfit(1 / np.array(sizes), values, 1)
    return {"sizes": sizes, "values": values, "slope": slope, "value": intercept}


def main():
    out = {"versions": {name: version(name) for name in ["numpy", "scipy", "torch", "prdc", "clean-fid", "torch-fidelity"]}}
    rng = np.random.RandomState(2020)
    out["random_state_2020"] = {"choice_300_40": rng.choice(300, 40, replace=False).tolist(),
                                "then_choice_256_40": rng.choice(256, 40, replace=False).tolist()}
    pairs = [("a", "b"), ("a", "a"), ("c_lowrank", "d_lowrank"), ("e2048", "f2048"), ("b_twice", "b_twice"), ("b", "b_twice")]
    out["pairs"] = {}
    for p, q in pairs:
        x, y = SETS[p], SETS[q]
        entry = {"cmmd": cmmd(x, y)}
        entry["kid_subsets_10_of_40"] = {"f64": kid_subsets(x, y, 10, 40), "torch_fidelity": torch_fidelity_kid(x, y, 10, 40)}
        entry["clean_fid_kid_10_of_45_seed_7"] = clean_fid_kid(x, y, 10, 45, 7)
        for k in (3, 5):
            entry[f"prdc_k{k}"] = {
                "open": prdc_by_definition(x, y, k, np.less),
                "closed": prdc_by_definition(x, y, k, np.less_equal),
            }
            if "twice" not in p + q:
                # Distances that tie come out of the packages' matrix products at random.
                entry[f"prdc_k{k}"]["prdc_package"] = prdc_package(x, y, k)
                entry[f"prdc_k{k}"]["torch_fidelity"] = torch_fidelity_precision_recall(x, y, k)
        if p != q and "twice" not in q:
            entry["realism_k3_first8"] = realism(x, y, 3)
        out["pairs"][f"{p}|{q}"] = entry
    out["vendi"] = {name: vendi(SETS[name]) for name in SETS}
    logits = SETS["a"] * 4
    out["inception_score_of_4a"] = {"as_given_10": inception_score(logits, 10, False),
                                    "shuffled_10": inception_score(logits, 10, True),
                                    "as_given_7": inception_score(logits, 7, False)}
    out["fid_infinity_a_b"] = fid_infinity(SETS["a"], SETS["b"], [100, 139, 178, 217, 256])
    print(json.dumps(out, indent=1, default=float))


main()
