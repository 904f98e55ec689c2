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
