"""What the tests share: the program, a run that it made, and pictures and features in small files."""

import json
import os
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "harness" / "python"
sys.path[:0] = [str(PACKAGE), str(ROOT / "scripts")]

from specimen.picture import encode  # noqa: E402

#: What even a strict machine may lack, and the variable that makes it a failure where it is 1.
MAY_LACK = {"(torch)": "STRICT_TORCH"}


def pytest_report_header():
    return f"program: {program_path()}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A skip is listed like those of the other tests, and fails where STRICT is 1."""
    report = (yield).get_result()
    if not report.skipped:
        return
    why = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    why = why.split("Skipped: ", 1)[-1]
    strict = next((name for mark, name in MAY_LACK.items() if mark in why), "STRICT")
    line = f"SKIPPED: {item.name}: {why}"
    if os.environ.get(strict) == "1":
        report.outcome, report.longrepr = "failed", line
    elif os.environ.get("SPECIMEN_SKIP_LOG"):
        with open(os.environ["SPECIMEN_SKIP_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{line}\n")


def pytest_terminal_summary(terminalreporter):
    """The counts in the form in which cargo prints them, for scripts/test.sh."""
    n = {name: len(terminalreporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    failed = n["failed"] + n["error"]
    verdict = "FAILED" if failed else "ok"
    terminalreporter.write_line(
        f"test result: {verdict}. {n['passed']} passed; {failed} failed; {n['skipped']} skipped"
    )


def program_path():
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return Path(os.environ.get("SPECIMEN_BIN") or target / "release" / "specimen").absolute()


@pytest.fixture(scope="session", autouse=True)
def environment(tmp_path_factory):
    """The program under test, and a cache and a package path of the tests' own."""
    path = program_path()
    assert path.is_file(), f"no program at {path}; run `make build`, or set SPECIMEN_BIN"
    patch = pytest.MonkeyPatch()
    patch.setenv("SPECIMEN_BIN", str(path))
    patch.setenv("SPECIMEN_CACHE", str(tmp_path_factory.mktemp("cache")))
    patch.setenv("PYTHONPATH", str(PACKAGE))
    patch.setenv("OMP_NUM_THREADS", "1")
    yield
    patch.undo()


@pytest.fixture(scope="session")
def program():
    """Runs the program with these words; the run must succeed."""

    def run(*words, cwd=None):
        ran = subprocess.run([program_path(), *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{words}: {ran.returncode}: {ran.stderr}"
        return ran.stdout

    return run


@pytest.fixture(scope="session")
def page():
    """The text of docs/python.md."""
    return (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def blocks(text, language):
    """The code blocks of a language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def desk(tmp_path_factory, program, page):
    """A folder in which the page's method was measured by the page's spec, with features next to it."""
    folder = tmp_path_factory.mktemp("desk")
    (method,) = [block for block in blocks(page, "python") if "specimen.serve(" in block]
    (spec,) = blocks(page, "toml")
    # The tests' own Python, wherever it is.
    assert '["python3", "serve.py"]' in spec
    spec = spec.replace('["python3", "serve.py"]', json.dumps([sys.executable, "serve.py"]))
    (folder / "serve.py").write_text(method, encoding="utf-8")
    (folder / "mine.toml").write_text(spec, encoding="utf-8")
    program("run", "mine.toml", cwd=folder)
    write_npy(folder / "real.npy", features(seed=1))
    write_npy(folder / "generated.npy", features(seed=2))
    return folder


@pytest.fixture(scope="session")
def run_folder(desk):
    """The folder of that run."""
    return desk / "results" / "runs" / "mine"


def features(seed, n=60, d=4):
    """`n` rows of `d` numbers."""
    dice = random.Random(seed)
    return [[dice.gauss(seed, 1.0) for _ in range(d)] for _ in range(n)]


def write_npy(path, rows):
    """Writes rows as a `.npy` of f32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}\n".encode()
    values = [value for row in rows for value in row]
    data = struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """Two folders of small pictures, a protocol for them, and weights of its network by chance."""
    folder = tmp_path_factory.mktemp("pictures")
    for name, seed in [("real", 1), ("generated", 2)]:
        (folder / name).mkdir()
        dice = random.Random(seed)
        for at in range(4):
            (folder / name / f"{at}.png").write_bytes(encode(16, 12, dice.randbytes(16 * 12 * 3)))
    write_clip(folder / "clip.safetensors")
    (folder / "narrow.toml").write_text(NARROW, encoding="utf-8")
    return folder


NARROW = """
schema = 1
name = "narrow"
about = "a test"
source = "none"
pixels = [
    { step = "resize", to = { square = 224 }, by = { engine = "pil-u8", filter = "bicubic" } },
    { step = "standardise", subtract = [0, 0, 0], divide = [255, 255, 255] },
]
[network]
name = "clip-vit-b32"
layer = "embedding"
dtype = "f32"
[fid]
ddof = 1
"""


def write_clip(path, width=64, joint=8, mlp=64, patch=32, grid=7):
    """Writes the tower of pictures of a narrow CLIP, in OpenAI's layout."""
    block = "visual.transformer.resblocks.0."
    shapes = {
        "visual.proj": [width, joint],
        "visual.conv1.weight": [width, 3, patch, patch],
        "visual.class_embedding": [width],
        "visual.positional_embedding": [1 + grid * grid, width],
        f"{block}attn.in_proj_weight": [3 * width, width],
        f"{block}attn.in_proj_bias": [3 * width],
        f"{block}attn.out_proj.weight": [width, width],
        f"{block}attn.out_proj.bias": [width],
        f"{block}mlp.c_fc.weight": [mlp, width],
        f"{block}mlp.c_fc.bias": [mlp],
        f"{block}mlp.c_proj.weight": [width, mlp],
        f"{block}mlp.c_proj.bias": [width],
    }
    for norm in ("visual.ln_pre", "visual.ln_post", f"{block}ln_1", f"{block}ln_2"):
        shapes[f"{norm}.weight"] = shapes[f"{norm}.bias"] = [width]
    dice, header, data = random.Random(3), {}, bytearray()
    for name, shape in shapes.items():
        n = 1
        for axis in shape:
            n *= axis
        begin = len(data)
        data += struct.pack(f"<{n}f", *(dice.uniform(-0.2, 0.2) for _ in range(n)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(data))
