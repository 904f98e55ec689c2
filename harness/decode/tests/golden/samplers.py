#!/usr/bin/env python3
"""Writes `samplers.json`: the laws that the logits warpers of transformers make of rows of logits.

    python harness/decode/tests/golden/samplers.py        (torch 2.13.0, transformers 5.23.0)

Warpers run as `generate` orders them (temperature, top-k, top-p) and with top-p before top-k, as EAGLE and LANTERN put
the same classes together. `cases` stay away from where rounding decides; `edges` are where the two rules differ: mass
above a token that is exactly `top_p`, and equal logits across the boundary.
"""
import json
import pathlib

import torch
from transformers.generation.logits_process import (
    LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)

N = 24


def law(logits, temperature, top_k, top_p, order):
    top_k_warper = [TopKLogitsWarper(top_k)] if top_k else []
    top_p_warper = [TopPLogitsWarper(top_p)] if top_p < 1 else []
    filters = top_k_warper + top_p_warper if order == "top-k-first" else top_p_warper + top_k_warper
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature), *filters])
    return warpers(torch.zeros(1, 0, dtype=torch.long), logits[None].clone())[0].softmax(-1)


def is_clear(logits, temperature, top_k, top_p, order):
    """Whether no token is near the boundary of top-p, and no tie lies across it."""
    if top_p == 1:
        return True
    scores = logits / temperature
    if order == "top-k-first" and top_k:
        scores = TopKLogitsWarper(top_k)(None, scores[None])[0]
    mass = scores.double().softmax(-1).sort(descending=True).values
    above = mass.cumsum(-1) - mass
    n_kept = int((above < top_p).sum())
    tied = n_kept < len(mass) and mass[n_kept] > 0 and mass[n_kept - 1] == mass[n_kept]
    return bool(((above - top_p).abs() > 1e-4).all()) and not tied


def numbers(row):
    return [float(f"{x:.9g}") for x in row.tolist()]


def main():
    torch.manual_seed(20)
    rows = {
        "random": 2 * torch.randn(N),
        "flat": 0.3 * torch.randn(N),
        "peaked": 6 * torch.randn(N),
        # Whole numbers: many ties, at the k-th value too.
        "tied": (torch.randn(N) * 1.5).round(),
    }
    cases = []
    for name, row in rows.items():
        for temperature in (1.0, 0.7, 1.6):
            for top_k in (0, 1, 4, 10, 100):
                for top_p in (1.0, 0.93, 0.6, 0.05):
                    for order in ("top-k-first", "top-p-first"):
                        settings = dict(temperature=temperature, top_k=top_k, top_p=top_p, order=order)
                        both = bool(top_k) and top_p < 1
                        if (order == "top-p-first") > both or not is_clear(row, temperature, top_k, top_p, order):
                            continue
                        probs = law(row, temperature, top_k, top_p, order)
                        kept = {str(i): p for i, p in enumerate(numbers(probs)) if p > 0}
                        cases.append(dict(row=name, **settings, kept=kept))
    edges = []
    for what, row, top_p in [
        ("exact", torch.zeros(4), 0.5),
        ("tie", torch.tensor([1.0, 3.0, 1.0, 1.0, 0.0]), 0.75),
    ]:
        probs = numbers(law(row, 1.0, 0, top_p, "top-k-first"))
        edges.append(dict(what=what, logits=numbers(row), top_p=top_p, probs=probs))
    ties = [c for c in cases if c["row"] == "tied" and c["top_k"] in (4, 10) and c["top_p"] == 1
            and len(c["kept"]) > c["top_k"]]
    assert ties, "a tie at the k-th value is among the cases"
    out = dict(rows={name: numbers(row) for name, row in rows.items()}, cases=cases, edges=edges)
    text = json.dumps(out, separators=(",", ":")).replace('{"row"', '\n{"row"').replace('{"what"', '\n{"what"')
    pathlib.Path(__file__).with_suffix(".json").write_text(text + "\n")
    print(f"{len(cases)} cases, {len(ties)} with a tie at the k-th value")


main()
