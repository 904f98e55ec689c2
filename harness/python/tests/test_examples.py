"""The example of an autoregressive loop in PyTorch, measured by the program."""

import importlib.util
import json
import sys

import pytest
import specimen
from conftest import ROOT, blocks

EXAMPLE = ROOT / "experiments" / "external" / "torch_loop.py"


def test_a_loop_of_torch_is_measured_and_repeats(page, program, tmp_path):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("a Python with torch (torch)")
    (spec,) = blocks(page, "toml")
    command = json.dumps([sys.executable, str(EXAMPLE)])
    spec = spec.replace('["python3", "serve.py"]', command).replace('["serve.py"]', json.dumps([str(EXAMPLE)]))
    spec = spec.replace("top_k       = 0", "top_k       = 12").replace("top_p       = 1.0", "top_p       = 0.9")
    (tmp_path / "mine.toml").write_text(spec, encoding="utf-8")
    digests = []
    for out in ("once", "again"):
        program("run", "mine.toml", "--out", out, cwd=tmp_path)
        run = specimen.load(tmp_path / out, frame="rows")
        mine = [row for row in run.records if row["cell"] == "mine"]
        assert [(row["status"], row["err"], row["width"], row["nfe"]) for row in mine] == [("ok", None, 64, 64)] * 2
        times = [row for row in run.timings if row["key"].startswith("mine/")]
        assert all(0 < row["told_ns.target"] < row["e2e_ns"] for row in times)
        digests.append([row["image_digest"] for row in mine])
    assert digests[0] == digests[1] and digests[0][0] != digests[0][1]


def test_the_loop_of_torch_filters_as_the_harness_does():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("a Python with torch (torch)")
    import torch

    place = importlib.util.spec_from_file_location("torch_loop", EXAMPLE)
    loop = importlib.util.module_from_spec(place)
    place.loader.exec_module(loop)
    loop.N_CODES = 4
    # The token behind exactly 0.5 is kept, and of equal ones the lower id.
    logits = torch.tensor([0.25, 0.5, 0.125, 0.125]).log()
    assert loop.cut_to_p(logits, 0.5).isfinite().tolist() == [True, True, False, False]
    assert loop.cut_to_p(logits, 0.75).isfinite().tolist() == [True, True, True, False]
    assert loop.cut_to_p(logits, 0.8).isfinite().tolist() == [True, True, True, False]
    sampling = specimen.Sampling(temperature=1e-6, top_k=0, top_p=1.0, guidance=1.0, filter_order="top-k-then-top-p")
    assert loop.probabilities(logits, sampling).tolist() == [0.0, 1.0, 0.0, 0.0]
