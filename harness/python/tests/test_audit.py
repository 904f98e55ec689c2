"""Runs of every kind agree with the second writing of their numbers, and an altered number is found."""

import csv
import json
import random
import shutil
import subprocess
import sys

import pytest
from conftest import program_path
from specimen.picture import encode

pytest.importorskip("numpy", reason="numpy")
import audit  # noqa: E402
from audit_names import leaves, measure_of, numbers_of  # noqa: E402

HEAD = """
schema = 1
name = "{name}"
seed = 5
dataset = {{ name = "scenes-val", limit = {limit}, samples = {samples} }}
model = {{ name = "stub", dtype = "f32" }}
sampling = {{ temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 2.0 }}
timing = {{ warmup = 1, blocks = {blocks}{batch} }}
metric = [{{ name = "target-nll" }}, {{ name = "token-match" }}, {{ name = "ssim", protocol = "skimage" }}]
[[cell]]
name = "ar"
[[cell]]
name = "chain"
drafter = {{ proposer = "eagle1", shape = "chain", depth = 2 }}
"""
LANTERN = """
[[cell]]
name = "lantern"
drafter = { proposer = "eagle1", shape = "chain", depth = 2 }
accept = [{ kind = "lantern", k = 20, delta = 0.2 }]
"""
SKIPS = """
[[cell]]
name = "skips"
drafter = { proposer = "eagle1", shape = "chain", depth = 3 }
schedule = { kind = "vvs", trigger = "interval", every = 3, selector = "random", truncation = true, warm_up = 2 }
[[cell]]
name = "untimed"
timed = false
drafter = { proposer = "jacobi", window = 6, init = "random" }
"""
LOOKS = "".join(
    f'[[diagnostic]]\nname = "{name}"\nimages = 2\n'
    for name in ("draft-paths", "confidence", "risen-tokens", "feature-rows")
)
#: Paints one colour; prompt 2 fails. Where there is a file `kill`, it kills driver and worker at prompt 4, once.
PAINTER = """
import os, pathlib, signal, sys, time
import specimen
def paint(request):
    prompt, flag = request.id.split("/")[1], pathlib.Path("kill")
    if prompt == "4" and flag.exists():
        flag.unlink()
        worker = os.getppid()
        driver = int(pathlib.Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[1])
        os.kill(driver, signal.SIGKILL)
        os.kill(worker, signal.SIGKILL)
        time.sleep(600)
    if prompt == "2" and sys.argv[1:] == ["fails"]:
        raise ValueError("this one fails")
    return specimen.Answer([[[request.seed % 256] * 3] * 8] * 8, forwards=5, draft_forwards=3)
specimen.serve(paint)
"""
COSTS = """
schema = 1
model = "stub"
weights = "made"
machine = "AMD EPYC"
device = "cpu"
dtype = "f32"
threads = 1
libtorch = "2.13.0"
date = "2026-11-29"
guidance = 2.0
context = [2, 14]
repetitions = 10
bytes_per_second = 1e10
step_seconds = 1e-4
step_seconds_ci95 = [9e-5, 1.1e-4]
verification = [{ nodes = 2, steps = 1.1, ci95 = [1, 1.2] }, { nodes = 6, steps = 1.7, ci95 = [1.6, 1.8] }]
drafter = [{ proposer = "eagle1", steps = 0.2, ci95 = [0.1, 0.3] }]
"""
RULES = """
schema = 1
[[rule]]
cells = ["ar"]
measure = "nfe"
kind = "exact"
[[rule]]
cells = ["*"]
measure = "nfe"
kind = "relative"
tolerance = 0.02
direction = "lower-is-better"
[[rule]]
cells = ["lan*", "skips"]
measure = "target-nll"
kind = "interval"
[[rule]]
cells = ["lantern"]
measure = "target-nll"
kind = "interval"
direction = "lower-is-better"
[[rule]]
cells = ["*"]
measure = "tpf"
kind = "absolute"
tolerance = 0.001
[[rule]]
cells = ["chain"]
measure = "out_of_support"
kind = "window"
low = 0.0
high = 0.0
"""


def spec(folder, name, limit, cells="", samples=1, blocks=3, batch=""):
    path = folder / f"{name}.toml"
    text = HEAD.format(name=name, limit=limit, samples=samples, blocks=blocks, batch=batch)
    path.write_text(text + cells, encoding="utf-8")
    return path


def run(*words, cwd, code=0):
    ran = subprocess.run([program_path(), *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode in (code if isinstance(code, tuple) else (code,)), (words, ran.returncode, ran.stderr)
    return ran.stdout


def external(folder, *words):
    (folder / "painter.py").write_text(PAINTER, encoding="utf-8")
    command = json.dumps([sys.executable, "painter.py", *words])
    return f'[[cell]]\nname = "painter"\nexternal = {{ command = {command} }}\n'


def check(capsys, *words, compared):
    """Nothing differs, and not too little was compared."""
    code = audit.main([str(word) for word in words])
    said = capsys.readouterr().out
    assert code == 0 and " 0 differ\n" in said, said
    assert int(said.split(" numbers compared")[0].split()[-1]) >= compared, said
    return said


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """A timed run of every family, with samples, under a cost table."""
    folder = tmp_path_factory.mktemp("timed")
    (folder / "costs.toml").write_text(COSTS, encoding="utf-8")
    path = spec(folder, "timed", 6, LANTERN + SKIPS + LOOKS, samples=2)
    run("run", path, "--out", "run", "--costs", "costs.toml", cwd=folder)
    return folder


def test_a_timed_run_agrees_and_what_is_not_recomputed_is_named(timed, capsys):
    said = check(capsys, timed / "run", "--costs", timed / "costs.toml", compared=1500)
    assert "but its hypervolume\n" in said, "a table of the report was not read"
    assert "not recomputed: summary.json: plain_steps.*.step_s (1)" in said


def test_the_verdicts_of_a_gate_agree(timed, capsys):
    stored = json.loads((timed / "run" / "merged" / "summary.json").read_text(encoding="utf-8"))
    for cell in stored["cells"]:
        if cell["id"] != "ar":
            alter(cell, "nfe", lambda x: x * 0.99)
            alter(cell, "tpf", lambda x: x * 1.01)
        if cell["id"] == "lantern":
            alter(cell, "nfe", lambda x: x * 0.9)
    (timed / "base.json").write_text(json.dumps(stored), encoding="utf-8")
    (timed / "rules.toml").write_text(RULES, encoding="utf-8")
    words = ("gate", "run", "--baseline", "base.json", "--rules", "rules.toml", "--format", "json")
    answer = run(*words, cwd=timed, code=1)
    verdicts = {check["passed"] for check in json.loads(answer)["checks"]}
    assert verdicts == {True, False}
    (timed / "answer.json").write_text(answer, encoding="utf-8")
    gate = ("--gate", timed / "answer.json", timed / "base.json", timed / "rules.toml")
    check(capsys, timed / "run", "--costs", timed / "costs.toml", *gate, compared=1500)


def test_a_run_that_was_killed_and_grew_agrees(tmp_path, capsys):
    path = spec(tmp_path, "grown", 5, LANTERN + external(tmp_path))
    (tmp_path / "kill").touch()
    run("run", path, "--out", "run", cwd=tmp_path, code=-9)
    run("run", path, "--out", "run", "--resume", cwd=tmp_path)
    check(capsys, tmp_path / "run", compared=500)
    run("run", path, "--out", "run", "--resume", "--limit", 8, cwd=tmp_path)
    check(capsys, tmp_path / "run", compared=700)
    attempts = {row.parent.name for row in (tmp_path / "run").glob("shards/*/attempts/*/machine.jsonl")}
    assert len(attempts) == 3


def test_a_run_that_grew_by_samples_agrees(tmp_path, capsys):
    run("run", spec(tmp_path, "samples", 5, LANTERN), "--out", "run", cwd=tmp_path)
    run("run", spec(tmp_path, "samples", 5, LANTERN, samples=3), "--out", "run", "--resume", cwd=tmp_path)
    check(capsys, tmp_path / "run", compared=500)


def test_a_run_with_failures_agrees(tmp_path, capsys):
    path = spec(tmp_path, "fails", 7, external(tmp_path, "fails"), samples=2)
    run("run", path, "--out", "run", cwd=tmp_path, code=5)
    check(capsys, tmp_path / "run", compared=500)


def test_an_import_agrees(tmp_path, capsys):
    dice, rows = random.Random(4), ["file,prompt_id,prompt,seconds,cell,tokens,forwards,seed"]
    (tmp_path / "images").mkdir()
    for cell, prompt, sample in [(c, p, s) for c in ("ar", "fast") for p in range(7) for s in range(1 + p % 2)]:
        name = f"{cell}_{prompt}_{sample}.png"
        (tmp_path / "images" / name).write_bytes(encode(8, 8, dice.randbytes(192)))
        tokens = " ".join(str(dice.randrange(27)) for _ in range(16))
        seconds = dice.uniform(2, 3) / (2 if cell == "fast" else 1)
        known = f"{tokens},{dice.randrange(5, 9)},{10 * prompt + sample + 1}"
        rows.append(f"{name},{prompt},text {prompt},{seconds:.3f},{cell},{known}")
    (tmp_path / "times.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    settings = ("--temperature", 1, "--top-k", 0, "--top-p", 1, "--guidance", 2, "--model", "stub", "--dtype", "f32")
    run("import", "images", "--table", "times.csv", "--name", "there", "--out", "run", *settings, cwd=tmp_path)
    run("score", "run", "--metric", "target-nll,token-match", cwd=tmp_path)
    check(capsys, tmp_path / "run", compared=300)


def test_a_run_in_batches_agrees(tmp_path, capsys):
    run("run", spec(tmp_path, "batch", 12, LANTERN, batch=", batch = 2", blocks=4), "--out", "run", cwd=tmp_path)
    check(capsys, tmp_path / "run", compared=500)


def test_a_sweep_and_a_tuning_over_it_agree(tmp_path, capsys):
    axes = '[axes]\n"cell.chain.drafter.depth" = [1, 3]\n"cell.lantern.accept.0.delta" = [0.05, 0.1, 0.3]\n'
    path = spec(tmp_path, "sweep", 10, LANTERN + axes, blocks=5)
    bounds = "target-nll<=ar+1.2,nfe<=ar*0.95,token-match>=0.1"
    words = ("--objective", "nfe", "--subject-to", bounds)
    run("tune", path, *words, "--out", "run", cwd=tmp_path, code=(0, 1))
    run("report", "run", cwd=tmp_path)
    assert (tmp_path / "run" / "report" / "sweep-delta.csv").is_file()
    check(capsys, tmp_path / "run", compared=1500)


def alter(cell, name, by):
    """Alters a number of a cell of a summary."""
    (path,) = [path for path, _ in leaves(numbers_of(cell)) if measure_of(path) == name]
    *names, last = path.split(".")
    place = {**cell, "metrics": {x["metric"]: x for x in cell["metrics"]}} if names else cell
    for key in names:
        place = place[int(key) if isinstance(place, list) else key]
    key = int(last) if isinstance(place, list) else last
    place[key] = by(place[key])


@pytest.mark.parametrize("cell, name", [
    ("lantern", "speedup"), ("lantern", "speedup.ci95.1"), ("skips", "tpf"), ("chain", "decode_s"),
    ("lantern", "acceptance_by_depth.1"), ("chain", "metrics.target-nll.vs_baseline.se"),
    ("untimed", "metrics.ssim:skimage.ci95.0"),
])
def test_an_altered_number_of_the_summary_is_found(timed, tmp_path, capsys, cell, name):
    shutil.copytree(timed / "run", tmp_path / "run", ignore=shutil.ignore_patterns("images", "report"))
    path = tmp_path / "run" / "merged" / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    (found,) = [x for x in summary["cells"] if x["id"] == cell]
    alter(found, name, lambda x: x * 1.0001)
    path.write_text(json.dumps(summary), encoding="utf-8")
    check_found(capsys, tmp_path / "run", f"summary.json: {cell}: {name}: printed ")


@pytest.mark.parametrize("cell, column", [
    ("skips", "nfe"), ("lantern", "target-nll_distance_hi"), ("chain", "projected_speedup"),
    ("untimed", "n_images"),
])
def test_an_altered_number_of_the_table_is_found(timed, tmp_path, capsys, cell, column):
    shutil.copytree(timed / "run", tmp_path / "run", ignore=shutil.ignore_patterns("images", "*.md"))
    path = tmp_path / "run" / "report" / "table.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    (row,) = [row for row in rows if row["cell"] == cell]
    row[column] = str(float(row[column]) * 1.0001)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerows(rows)
    check_found(capsys, tmp_path / "run", f"table.csv: {cell}: {column}: printed ", "--costs", timed / "costs.toml")


def check_found(capsys, folder, line, *words):
    code = audit.main([str(word) for word in (folder, *words)])
    said = capsys.readouterr().out.splitlines()
    differ = [x for x in said if ": printed " in x]
    assert code == 1 and len(differ) == 1 and differ[0].startswith(line), said
