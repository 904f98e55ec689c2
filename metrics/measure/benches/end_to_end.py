"""Pictures a second from JPEG files to the distance: `specimen fid` beside pytorch-fid, with the same random weights, in
turns, each as a process of its own.

usage: python end_to_end.py SPECIMEN PHOTOS [ROUNDS]

SPECIMEN is the program, PHOTOS a folder of JPEGs; those of 640x480 are taken, again and again under other names until
there are enough of them. Needs torch, torchvision, Pillow, scipy and pytorch-fid 0.3.0; downloads nothing.

Every tool is run on 16 and on 80 pictures a side. What 128 pictures more cost is the rate; starting, opening the weights
and the distance itself are in both and cancel. The program keeps no features (`--no-cache`), and both take passes of 16.
Printed: the median over the rounds of the rate and of its ratio to pytorch-fid's in the same round, with the extremes.
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FEW, MANY, PASS = 16, 80, 16


def pytorch_fid(weights, real, generated, n_threads):
    """The child that is timed: the tool's own program with the weights by recipe in place of the published ones."""
    import torch

    torch.set_num_threads(n_threads)
    import pytorch_fid.inception as inception
    from pytorch_fid.fid_score import calculate_fid_given_paths

    state = torch.load(weights)
    inception.load_state_dict_from_url = lambda *_, **__: state
    print(calculate_fid_given_paths([real, generated], PASS, torch.device("cpu"), 2048, num_workers=0))


def spent(command, n_threads):
    """Seconds of wall and of processor that a process takes, and the last number it prints."""
    threads = {name: str(n_threads) for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=os.environ | threads, check=True, capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, processor, done.stdout.strip()


def main():
    specimen, photos = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    sys.path.insert(0, str(Path(__file__).parents[2] / "extract/tests/golden"))
    import inception_recipe
    import torch
    from PIL import Image

    root = Path(tempfile.mkdtemp())
    state = inception_recipe.state()
    inception_recipe.write(root / "recipe.safetensors", state)
    torch.save(state, root / "recipe.pth")
    fits = [path for path in sorted(Path(photos).iterdir()) if Image.open(path).size == (640, 480)]
    sides = {}
    for n in (FEW, MANY):
        for side in ("real", "generated"):
            folder = root / f"{side}{n}"
            folder.mkdir()
            shift = len(fits) // 2 if side == "generated" else 0
            for i in range(n):
                shutil.copy(fits[(i + shift) % len(fits)], folder / f"{i:03}.jpg")
            sides[n, side] = str(folder)
    print(f"{len(fits)} photos of 640x480, {rounds} rounds", flush=True)

    def commands(n, n_threads):
        real, generated = sides[n, "real"], sides[n, "generated"]
        ours = [specimen, "fid", real, generated, "--protocol", "pytorch-fid", "--weights",
                str(root / "recipe.safetensors"), "--batch", str(PASS), "--no-cache", "--quiet"]
        theirs = [sys.executable, __file__, "--child", str(root / "recipe.pth"), real, generated, str(n_threads)]
        return {"pytorch-fid": theirs, "specimen f32": [*ours, "--dtype", "f32"],
                "specimen bf16": [*ours, "--dtype", "bf16"]}

    for n_threads in (1, 2):
        rates = {}
        for _ in range(rounds):
            for name in commands(FEW, n_threads):
                few = spent(commands(FEW, n_threads)[name], n_threads)
                many = spent(commands(MANY, n_threads)[name], n_threads)
                n = 2 * (MANY - FEW)
                rates.setdefault(name, []).append((n / (many[0] - few[0]), n / (many[1] - few[1])))
        for what, place in (("a second of wall", 0), ("a second of processor", 1)):
            base = [rate[place] for rate in rates["pytorch-fid"]]
            for name, found in rates.items():
                own = [rate[place] for rate in found]
                ratios = [a / b for a, b in zip(own, base)]
                print(f"{n_threads} thread(s)  {name:14} {statistics.median(own):6.2f} pictures {what:21} "
                      f"{statistics.median(ratios):5.2f} x [{min(ratios):.2f}, {max(ratios):.2f}]", flush=True)
    shutil.rmtree(root)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        pytorch_fid(*sys.argv[2:5], int(sys.argv[5]))
    else:
        main()
