"""The lines of the page on benchmarks, with hand-made results of the scripts."""

import json
import sys
import types
from pathlib import Path

import pytest
from conftest import ROOT, blocks

PROMPTS = {
    "single_object": "a photo of a vase",
    "two_object": "a photo of a vase and a clock",
    "counting": "a photo of two clocks",
    "colors": "a photo of a red vase",
    "position": "a photo of a vase left of a clock",
    "color_attr": "a photo of a red vase and a blue clock",
}
METADATA = [json.dumps({"tag": tag, "include": [], "prompt": prompt}) for tag, prompt in PROMPTS.items()]
QUESTIONS = """\
item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple,question_natural_language
cups,"two cups, blue",,1,0,entity,whole,entity - whole (cups),"Are there cups, two?"
cups,"two cups, blue",,2,1,attribute,color,"attribute - color (cups, blue)",Are the cups blue?
sky,a wide sky,,1,0,global,,global - (sky),Is it a sky?
"""
SPEC = """
schema = 1
name = "bench"
seed = 5
analysis = "Whether scores come back."
dataset = {{ name = "{}", samples = 4 }}
model = {{ name = "stub", dtype = "f32" }}
sampling = {{ temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 2.0 }}
timing = {{ warmup = 0, blocks = 1 }}
cell = [{{ name = "ar" }}]
"""


@pytest.fixture
def bench(tmp_path, program, monkeypatch):
    """Makes a run of a benchmark's prompts, and gives what executes the page's blocks of Python for it."""

    def make(file, text, part):
        (tmp_path / file).write_text(text, encoding="utf-8")
        (tmp_path / "bench.toml").write_text(SPEC.format(file), encoding="utf-8")
        program("run", "bench.toml", "--out", "RUN", cwd=tmp_path)
        monkeypatch.chdir(tmp_path)
        page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
        written = blocks(page.split(f"\n## {part}\n")[1].split("\n## ")[0], "python")
        assert len(written) == 2
        return [lambda block=block: exec(compile(block, part, "exec"), {}) for block in written]

    return make


def values(program, metric):
    """The scores that come of `scores.jsonl`, by name."""
    said = program("import-scores", "RUN", "--metric", metric, "scores.jsonl", "--format", "json", cwd=".")
    return {score["metric"]: score["value"] for score in json.loads(said)["scores"]}


def test_scores_of_geneval_come_back(bench, program):
    write, read = bench("evaluation_metadata.jsonl", "\n".join(METADATA) + "\n", "GenEval")
    write()
    (folder,) = Path().glob("geneval-*/ar")
    assert [path.name for path in sorted(folder.iterdir())] == [f"{at:05}" for at in range(6)]
    assert (folder / "00002" / "metadata.jsonl").read_text(encoding="utf-8") == METADATA[2] + "\n"
    (image,) = Path().glob("RUN/shards/*/images/ar+2+3.png")
    assert (folder / "00002/samples/0003.png").read_bytes() == image.read_bytes()
    rows = [
        {"filename": str(path), "tag": tag, "prompt": PROMPTS[tag], "correct": tag == "colors" or path.stem == "0001"}
        for number, tag in enumerate(PROMPTS)
        for path in sorted(folder.glob(f"{number:05}/samples/*.png"))
    ]
    Path("CELL.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    read()
    found = values(program, "geneval")
    assert (found["geneval-colors"], found["geneval-counting"]) == (1.0, 0.25)
    assert found["geneval-overall"] == pytest.approx((1.0 + 5 * 0.25) / 6)
    other = {**rows[0], "filename": "geneval-0/ar/00000/samples/0000.png"}
    Path("CELL.jsonl").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(AssertionError, match="of another run"):
        read()


class Picture(dict):
    """Stands for a picture of Pillow: what was pasted where, kept in its file."""

    def paste(self, other, place):
        self[str(place)] = other["file"]

    def save(self, path):
        Path(path).write_text(json.dumps(self), encoding="utf-8")

    @staticmethod
    def open(path):
        is_own = "images" not in Path(path).parts
        return Picture(json.loads(Path(path).read_text(encoding="utf-8")) if is_own else {"file": Path(path).name})

    @staticmethod
    def new(mode, size):
        return Picture(mode=mode, size=size)


def test_scores_of_dpg_come_back(bench, program, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", types.SimpleNamespace(Image=Picture))
    write, read = bench("dpg_bench.csv", QUESTIONS, "DPG-Bench")
    write()
    (folder,) = Path().glob("dpg-*/ar")
    grid = json.loads((folder / "cups.png").read_text(encoding="utf-8"))
    side = grid["size"][0] // 2
    places = {f"({side * x}, {side * y})": f"ar+cups+{x + 2 * y}.png" for x in (0, 1) for y in (0, 1)}
    assert grid == {"mode": "RGB", "size": [2 * side, 2 * side], **places}
    results = [f"{folder}/sky.png, 1.0, 1.0, 0.0, 1.0, 0.75", f"{folder}/cups.png, 0.5, 1.0, 0.0, 0.5, 0.5"]
    results += [f"Model: {folder}", "DPG-Bench score: 62.5", ""]
    Path("dpg-bench_TIME_results.txt").write_text("\n".join(results), encoding="utf-8")
    details = ""
    for corners, blue in [("0, 0, 8, 8", "no"), ("8, 0, 16, 8", "yes"), ("0, 8, 8, 16", "no"), ("8, 8, 16, 16", "no")]:
        details += f"{folder}/cups.png, ({corners}), Are there cups, two?, yes\n"
        details += f"{folder}/cups.png, ({corners}), Are the cups blue?, {blue}\n"
    Path("dpg-bench_TIME_results_detail.txt").write_text(details, encoding="utf-8")
    read()
    found = values(program, "dpg")
    assert (found["dpg-overall"], found["dpg-entity"], found["dpg-attribute"]) == (0.625, 1.0, 0.25)
    assert found["dpg-global"] is None
    rows = [json.loads(line) for line in Path("scores.jsonl").read_text(encoding="utf-8").splitlines()]
    blue = {row["image"]: row["score"] for row in rows if row.get("value") == "attribute"}
    assert blue == {"ar/cups/0": 0.0, "ar/cups/1": 1.0, "ar/cups/2": 0.0, "ar/cups/3": 0.0}
