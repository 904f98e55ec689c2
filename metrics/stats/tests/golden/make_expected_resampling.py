"""Values for the bootstrap and the interval of a median, written out from their formulas:
python make_expected_resampling.py > expected_resampling.json

Needs scipy (normal and binomial laws). The stream is SplitMix64 from a scrambled seed, as `counter_rng.rs` says; resample
`r` of `n` observations draws its slot `s` with counter `r n + s`; of few observations all resamples are made. The interval is BCa (Efron 1987) with the tails of
Student's t to the third order (Abramowitz and Stegun 26.7.5), widened by sqrt(n / (n - 1)). Which resamples are below the
value, and which are ties, is counted with fractions: sums in floating point break ties by their order.
"""

import itertools
import json
import math
from fractions import Fraction

from scipy.stats import norm

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def finalise(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def bits(seed, counter):
    return finalise((finalise(seed ^ GAMMA) + (counter + 1) * GAMMA) & MASK)


def quantile(ordered, p):
    place = (len(ordered) - 1) * p
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def expanded_tail(n, tail):
    z, nu = -norm.ppf(tail), n - 1
    t = z + (z**3 + z) / (4 * nu)
    t += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu**2)
    t += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * nu**3)
    return norm.cdf(-t * math.sqrt(n / nu))


def drawn_resamples(n, seed, resamples):
    for r in range(resamples):
        yield [(bits(seed, r * n + s) * n) >> 64 for s in range(n)]


def bootstrap(values, statistic, exact, chosen, level, is_drawn=True):
    """`chosen`: the indices of each resample. All resamples are a population, those drawn are a sample of it. `exact` of
    fractions orders resamples as `statistic` does."""
    n = len(values)
    fractions = [Fraction(str(value)) for value in values]
    value, of_all = statistic(values), exact(fractions)
    chosen = list(chosen)
    drawn = [statistic([values[i] for i in indices]) for indices in chosen]
    places = [exact([fractions[i] for i in indices]) for indices in chosen]
    resamples = len(drawn)
    mean = sum(drawn) / resamples
    error = math.sqrt(sum((x - mean) ** 2 for x in drawn) / (resamples - is_drawn))
    drawn.sort()
    share = (sum(x < of_all for x in places) + sum(x <= of_all for x in places)) / 2
    bias = norm.ppf(min(max(share, 0.5), resamples - 0.5) / resamples)
    without = [statistic(values[:i] + values[i + 1 :]) for i in range(n)]
    centre = sum(without) / n
    cubes = sum((centre - x) ** 3 for x in without)
    squares = sum((centre - x) ** 2 for x in without)
    acceleration = cubes / (6 * squares**1.5)
    tail = expanded_tail(n, (1 - level) / 2)

    def end(p):
        shifted = bias + norm.ppf(p)
        return quantile(drawn, norm.cdf(bias + shifted / (1 - acceleration * shifted)))

    return {"value": value, "standard_error": error, "lower": end(tail), "upper": end(1 - tail)}


def median_interval(values, level):
    """Hettmansperger and Sheather 1986, with exact binomials."""
    n, ordered = len(values), sorted(values)
    level = Fraction(level)

    def coverage(k):
        return 1 - 2 * sum(Fraction(math.comb(n, i), 2**n) for i in range(k))

    k = max(k for k in range(1, n // 2 + 1) if coverage(k) >= level)
    narrow = coverage(k + 1) if k + 1 <= n // 2 else Fraction(0)
    share = (coverage(k) - level) / (coverage(k) - narrow)
    inner = (n - k) * share / (k + (n - 2 * k) * share)
    inner = float(inner)
    lower = (1 - inner) * ordered[k - 1] + inner * ordered[k]
    upper = (1 - inner) * ordered[n - k] + inner * ordered[n - k - 1]
    return {"lower": lower, "upper": upper}


def mean(x):
    return sum(x) / len(x)


def geometric_mean(x):
    return math.exp(sum(math.log(v) for v in x) / len(x))


SKEWED = [0.2, 0.5, 0.7, 1.1, 1.2, 1.9, 2.4, 4.7, 9.5]

print(
    json.dumps(
        {
            "splitmix64_from_0": [finalise((k + 1) * GAMMA & MASK) for k in range(4)],
            "values": SKEWED,
            "bootstrap_mean": bootstrap(SKEWED, mean, sum, drawn_resamples(9, 5, 2000), 0.9),
            "bootstrap_geometric_mean": bootstrap(
                SKEWED, geometric_mean, math.prod, drawn_resamples(9, 6, 2000), 0.95
            ),
            "bootstrap_all_resamples": bootstrap(
                SKEWED[3:], mean, sum, itertools.product(range(6), repeat=6), 0.95, is_drawn=False
            ),
            "medians": [
                [level, n, median_interval([k * k * 0.5 for k in range(n)], level)]
                for level, n in ((0.95, 7), (0.95, 10), (0.9, 11), (0.8, 20), (0.5, 2))
            ],
        },
        indent=1,
    )
)
