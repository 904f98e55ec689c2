#!/usr/bin/env python3
"""Kills a training of a head at random moments all along it, lets it end, and compares every file with that of a training that was
left alone. With --export it is the export of the target's features that is killed, in its images and in its features.

    scripts/kill_training.py [--export] [--spec FILE] [--kills N] [--seed N] [--out FOLDER]

The program is `SPECIMEN_BIN`, or target/release/specimen. It ends with 1 where a byte differs, or where the training ended
before all kills.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What a training leaves that depends on its specification alone; the curve has seconds.
FILES = ["model.safetensors", "config.json", "model.results.json"]

#: Seconds on a toy, with a state every 10 steps.
SPEC = """
name         = "killed"
seed         = 3
save_every   = 10
n_validation = 8
model    = { name = "llamagen-toy", dtype = "f32", device = "cpu" }
dataset  = { name = "scenes-train", limit = 200 }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
head     = { proposer = "eagle1" }
schedule = { n_steps = 600, batch = 4, learning_rate = 3e-3, n_warmup = 20, weight_decay = 0.01 }
trial    = { drafter = { proposer = "eagle1", shape = "chain", depth = 2 } }

[loss]
depth          = 2
depth_decay    = 1.0
feature_weight = 1.0
row_weight     = 0.1
guided_weight  = 0.0
hard_ce_weight = 0.0
feature_noise  = 0.1
"""


def start(program, command, spec, out):
    """The training or the export under way."""
    words = [program, *command, spec, "--out", out]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([str(word) for word in words], **quiet)


def finish(training):
    """Waits for the end, which must be a good one."""
    if training.wait() != 0:
        sys.exit(f"the training ended with {training.returncode}")


def reached(out, is_export):
    """How far it is: files of images and features, or steps of the curve."""
    return len(list(out.rglob("*.safetensors"))) if is_export else steps_of(out)


def killed_at(goal, training, out, is_export, pause, patience):
    """Kills a training when it has come to `goal`, and some seconds more. Returns how far it was."""
    began = time.monotonic()
    while reached(out, is_export) < goal and training.poll() is None:
        if time.monotonic() - began > patience:
            training.kill()
            sys.exit(f"the training was at {reached(out, is_export)} after {patience:.0f} s, and has to come to {goal}")
        time.sleep(0.01)
    time.sleep(pause)
    if training.poll() not in (None, 0):
        sys.exit(f"the training ended with {training.returncode}")
    if training.poll() == 0:
        sys.exit("the training ended before the kill; take a longer one, or fewer kills")
    training.send_signal(signal.SIGKILL)
    training.wait()
    return reached(out, is_export)


def steps_of(out):
    """Steps of the curve so far."""
    curve = out / "model.csv"
    rows = curve.read_text(encoding="utf-8").splitlines() if curve.is_file() else []
    return int(rows[-1].split(",")[0]) if len(rows) > 1 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--export", action="store_true", help="kill `data features` in place of `train-drafter`")
    parser.add_argument("--spec", type=Path, help="training specification [default: a small one]")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--out", type=Path, help="folder for both trainings [default: a temporary one]")
    args = parser.parse_args()
    program = os.environ.get("SPECIMEN_BIN") or ROOT / "target" / "release" / "specimen"
    if not os.access(program, os.X_OK):
        sys.exit(f"{program}: there is no such program; build it with `make build`, or name one in SPECIMEN_BIN")
    with tempfile.TemporaryDirectory() as scratch:
        out = args.out or Path(scratch)
        out.mkdir(parents=True, exist_ok=True)
        spec = args.spec or out / "spec.toml"
        if args.spec is None:
            spec.write_text(SPEC.replace("limit = 200", "limit = 2000") if args.export else SPEC, encoding="utf-8")
        command = ["data", "features"] if args.export else ["train-drafter"]
        whole, killed = out / "whole", out / "killed"
        began = time.monotonic()
        finish(start(program, command, spec, whole))
        seconds = time.monotonic() - began
        print(f"left alone: {seconds:.1f} s")
        dice = random.Random(args.seed)
        whole_way = reached(whole, args.export)
        # Not in the last tenth, where a pause would outlast the training.
        goals = sorted(dice.randrange(whole_way * 9 // 10) for _ in range(args.kills))
        for kill, goal in enumerate(goals, 1):
            training = start(program, command, spec, killed)
            pause = dice.uniform(0, 0.04 * seconds)
            at = killed_at(goal, training, killed, args.export, pause, 60 + 10 * seconds)
            print(f"kill {kill}: at {at} of {whole_way} {'files' if args.export else 'steps'}", flush=True)
        finish(start(program, command, spec, killed))
        names = FILES
        if args.export:
            names = sorted(path.name for path in whole.iterdir() if path.is_file())
        differ = [name for name in names if (whole / name).read_bytes() != (killed / name).read_bytes()]
        if differ:
            sys.exit(f"these differ after {args.kills} kills: {', '.join(differ)}")
        print(f"the same bytes after {args.kills} kills: {', '.join(names)}")


if __name__ == "__main__":
    main()
