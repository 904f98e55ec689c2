#!/usr/bin/env python3
"""Rehearses every spec of the papers and of the published models, one after the other, and prints one line each and the
total time.

    scripts/rehearse_all.py [--prompts N] [--out FOLDER] [SPEC ...]

Without SPEC it takes all below experiments/specs/paper and experiments/specs/real. The options are those of
`specimen rehearse`. The program is `SPECIMEN_BIN`, or target/release/specimen. Findings are no failure of this script: it
ends with 1 where a rehearsal ended without an answer.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ["refused", "missing", "failed", "too-little", "undecidable"]
#: What an answer must name, so that a change of it is no empty column.
PARTS = ["name", "cells", "tried", "findings"]


def specs():
    folders = [ROOT / "experiments" / "specs" / name for name in ["paper", "real"]]
    return [path for folder in folders for path in sorted(folder.glob("*.toml"))]


def rehearsed(program, spec, options, out):
    """The answer of a rehearsal, its exit code, and its seconds. Without an answer: what it said last."""
    began = time.monotonic()
    command = [program, "rehearse", spec, *options, "--out", out / spec.stem, "--format", "json"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    seconds = time.monotonic() - began
    try:
        answer = json.loads(ran.stdout)
        [answer[part] for part in PARTS]
    except (ValueError, KeyError, TypeError):
        said = ran.stderr.strip().splitlines()
        return said[-1] if said else "nothing was said", ran.returncode, seconds
    return answer, ran.returncode, seconds


def line(answer, code, seconds):
    found = Counter(finding["kind"] for finding in answer["findings"])
    ran = sum(cell["n_failed"] == 0 and cell["n_images"] > 0 for cell in answer["cells"])
    counts = ", ".join(f"{found[kind]} {kind}" for kind in [*KINDS, *sorted(set(found) - set(KINDS))] if found[kind]) or "nothing found"
    return (
        f"{answer['name']}: {ran} of {len(answer['cells'])} cells ran, {len(answer['tried'])} metrics and diagnostics; "
        f"{counts}; code {code}, {seconds:.0f} s"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", type=Path, metavar="SPEC")
    parser.add_argument("--prompts", metavar="N")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "rehearsals")
    args = parser.parse_args()
    options = [] if args.prompts is None else ["--prompts", args.prompts]
    program = os.environ.get("SPECIMEN_BIN", ROOT / "target" / "release" / "specimen")
    if not os.access(program, os.X_OK):
        sys.exit(f"{program}: no such program; `make build` makes target/release/specimen, SPECIMEN_BIN names another")
    chosen = [path.resolve() for path in args.specs] or specs()
    total, without = 0.0, 0
    for spec in chosen:
        answer, code, seconds = rehearsed(program, spec, options, args.out.resolve())
        total += seconds
        if isinstance(answer, str):
            without += 1
            print(f"{spec.stem}: no answer: {answer}; code {code}, {seconds:.0f} s", flush=True)
        else:
            print(line(answer, code, seconds), flush=True)
    print(f"{len(chosen)} specs, {total:.0f} s in all")
    return 1 if without else 0


if __name__ == "__main__":
    sys.exit(main())
