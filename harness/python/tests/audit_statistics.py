"""Statistics of the audit, written from docs/how-we-measure.md: intervals, tests, and what one would notice."""

import math
from functools import cache
from itertools import combinations_with_replacement, product
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist()
LEAST = 6  # observations for a bootstrap
DRAWS = 20_000  # resamples here; the program draws 2,000 or more


def p_value(t, v):
    """Two-sided, of Student's t: the tail is integrated, so that small ones keep their digits."""
    x = np.linspace(math.atan(abs(t) / math.sqrt(v)), math.pi / 2, 8001)
    y = np.cos(x) ** (v - 1)
    area = (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum()) * (x[1] - x[0]) / 3
    return 2 * area * math.exp(math.lgamma((v + 1) / 2) - math.lgamma(v / 2)) / math.sqrt(math.pi)


def solve(f, low, high):
    """Where a rising function is 0."""
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return (low + high) / 2


@cache
def t_quantile(p, v):
    return solve(lambda t: 1 - p - p_value(t, v) / 2, 0.0, 1e4)


def student(x, alpha):
    """Mean and the ends of its interval, as a tuning has them: of six observations or more."""
    if len(x) < LEAST:
        return [float(np.mean(x)) if len(x) else None, None, None]
    middle, reach = float(np.mean(x)), t_quantile(1 - alpha / 2, len(x) - 1) * np.std(x, ddof=1) / math.sqrt(len(x))
    return [middle, middle - reach, middle + reach]


@cache
def detectable(v):
    """Standard errors of a difference that a t-test at 5 % finds with 80 % power: noncentral t."""
    t, (nodes, parts) = t_quantile(0.975, v), np.polynomial.legendre.leggauss(400)
    s = 4 * nodes + 4
    log = (v - 1) * np.log(s) - v * s * s / 2 + v / 2 * math.log(v) - (v / 2 - 1) * math.log(2) - math.lgamma(v / 2)
    share, phi = np.exp(log) * 4 * parts, np.vectorize(NORMAL.cdf)
    return solve(lambda d: (share * (phi(d - t * s) + phi(-d - t * s))).sum() - 0.8, 0.0, 50.0)


@cache
def resamples(n):
    """Resamples of n observations as counts, and in how many ways each is drawn."""
    if n > 8:
        return np.random.default_rng(1).multinomial(n, [1 / n] * n, DRAWS), np.ones(DRAWS)
    counts = np.array([np.bincount(c, minlength=n) for c in combinations_with_replacement(range(n), n)])
    return counts, np.array([math.factorial(n) / math.prod(math.factorial(int(x)) for x in c) for c in counts])


def bca(statistic, n):
    """The ends of the interval: of all resamples a number each, else the range in which 2,000 draws leave it."""
    if n < LEAST:
        return [None, None]
    est, jack = statistic(np.ones((1, n)))[0], statistic(1 - np.eye(n))
    counts, ways = resamples(n)
    drawn, near = statistic(counts), 1e-12 * abs(est)
    below = (ways[drawn < est - near].sum() + ways[abs(drawn - est) <= near].sum() / 2) / ways.sum()
    if np.ptp(drawn) <= near or not 0 < below < 1:
        return [est, est]
    order, d = np.argsort(drawn), jack.mean() - jack
    drawn, total = drawn[order], np.cumsum(ways[order])
    a, v, z = (d**3).sum() / (6 * (d**2).sum() ** 1.5), n - 1, NORMAL.inv_cdf(0.975)
    # Student's quantile by three terms of Cornish and Fisher; the page names them.
    t = z + (z**3 + z) / 4 / v + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / v**2
    t = (t + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / v**3) * math.sqrt(n / v)

    def end(side, errors):
        z0 = NORMAL.inv_cdf(min(max(below + errors * math.sqrt(below * (1 - below) / 2000), 1e-6), 1 - 1e-6))
        level = NORMAL.cdf(z0 + (z0 + side * t) / (1 - a * (z0 + side * t)))
        level += errors * (math.sqrt(level * (1 - level) / 2000) + 2e-4)
        at = min(max(level, 0), 1) * (total[-1] - 1)
        left, right = (drawn[min(np.searchsorted(total, k, "right"), len(drawn) - 1)] for k in (int(at), int(at) + 1))
        return left + (at - int(at)) * (right - left)

    return [end(side, 0) if n <= 8 else (end(side, -4), end(side, 4)) for side in (-1, 1)]


def hettmansperger_sheather(x):
    x, n = sorted(x), len(x)
    cover = [1 - sum(math.comb(n, j) for j in range(k)) / 2 ** (n - 1) for k in range(n // 2 + 2)]
    k = max(k for k in range(1, n // 2 + 1) if cover[k] >= 0.95)
    i = (cover[k] - 0.95) / (cover[k] - cover[k + 1])
    f = (n - k) * i / (k + (n - 2 * k) * i)
    return [(1 - f) * x[k - 1] + f * x[k], (1 - f) * x[n - k] + f * x[n - k - 1]]


def ends_of(x):
    return x if isinstance(x, tuple) else (x, x)


def distance(ends):
    """The interval of the distance from 0, of one whose ends may be ranges."""
    if ends[0] is None:
        return [None, None]
    found = [sorted(map(abs, pair)) if pair[0] * pair[1] > 0 else [0.0, max(map(abs, pair))]
             for pair in product(*map(ends_of, ends))]
    return [(min(x), max(x)) for x in zip(*found)]


def holm(ps):
    """Corrected p values by name."""
    out, most = {}, 0.0
    for k, name in enumerate(sorted(ps, key=ps.get)):
        most = out[name] = max(most, min(1.0, ps[name] * (len(ps) - k)))
    return out
