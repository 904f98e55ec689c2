#!/usr/bin/env python3
"""A sampler of rejection type, for `specimen doctor --lossless --external python3 rejection_sampler.py`.

Replace `verify` by a call of your own sampler. It gets a draft and the distributions of drafter and target as lists of numbers,
and gives how many tokens of the draft it accepts and the token that follows them.

`--mistake residual` draws a rejected token from the target's whole distribution, `--mistake bonus` draws the token behind an
accepted draft from the row before it. Both are found.
"""

import argparse
import json
import random
import sys


def draw(weights, u):
    """The token at `u` in [0, 1) of the cumulative weights."""
    total = sum(weights)
    left = u * total
    for token, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return token
    return max(token for token, weight in enumerate(weights) if weight > 0)


def verify(draft, target, rng, mistake=None):
    """Leviathan et al., arXiv 2211.17192, algorithm 1: `(accepted, token)`."""
    for depth, guess in enumerate(draft):
        p, q = target[depth], guess["distribution"]
        token = guess["token"]
        if rng.random() * q[token] < p[token]:
            continue
        residual = [max(0.0, a - b) for a, b in zip(p, q)]
        if mistake == "residual" or sum(residual) == 0:
            residual = p
        return depth, draw(residual, rng.random())
    row = -2 if mistake == "bonus" and draft else -1
    return len(draft), draw(target[row], rng.random())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mistake", choices=["residual", "bonus"])
    mistake = parser.parse_args().mistake
    for line in sys.stdin:
        step = json.loads(line)
        if step["protocol"] != 1:
            sys.exit(f"protocol {step['protocol']} is unknown; this program speaks 1")
        rng = random.Random(step["seed"])
        accepted, token = verify(step["draft"], step["target"], rng, mistake)
        answer = {"protocol": 1, "id": step["id"], "accepted": accepted, "token": token}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
