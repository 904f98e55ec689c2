"""The examples of the page on Python run as they are printed."""

import json
import re
import subprocess
import sys

import pytest
import specimen
from conftest import ROOT, blocks, program_path
from specimen import protocol


#: What the page takes a run to.
LIBRARIES = ("wandb", "mlflow", "huggingface_hub")


class Taken(list):
    """Stands for a library, and for what it opens: a list of the calls, each with its arguments."""

    def __init__(self):
        super().__init__()
        self.summary = self

    def __getattr__(self, name):
        return lambda *words, **named: self.append((name, *words, named)) or self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def recipe(page, desk, run_folder, monkeypatch):
    """Runs what the page has for a library, with a stand-in for it: the calls, and the cells of the run."""

    def run(library):
        (block,) = [block for block in blocks(page, "python") if library in block]
        assert len(block.splitlines()) <= 15
        calls = Taken()
        monkeypatch.setitem(sys.modules, library, calls)
        monkeypatch.chdir(desk)
        exec(compile(block, library, "exec"), {})
        run = specimen.load(run_folder, frame="rows")
        scores = {row["cell"]: row["value"] for row in run.metrics if row["metric"] == "scene-clip"}
        return calls, [(cell, scores[cell["id"]]) for cell in run.cells]

    return run


def test_wandb_gets_a_run_with_settings_and_numbers_for_each_cell(recipe):
    calls, cells = recipe("wandb")
    assert [call[0] for call in calls] == ["init", "update"] * 2
    for (cell, score), (_, started), (_, numbers, _) in zip(cells, calls[::2], calls[1::2]):
        assert started == {"project": "specimen", "group": "mine", "name": cell["id"], "config": cell}
        assert (numbers["scene-clip"], numbers["e2e_s"]) == (score, cell["e2e_s"])
        assert all(type(value) in (int, float) for value in numbers.values())


def test_mlflow_gets_a_run_with_parameters_and_metrics_for_each_cell(recipe):
    calls, cells = recipe("mlflow")
    assert calls[0] == ("set_experiment", "mine", {})
    assert [call[0] for call in calls[1:]] == ["start_run", "log_params", "log_metrics"] * 2
    by_cell = zip(cells, calls[1::3], calls[2::3], calls[3::3])
    for (cell, score), (_, started), (_, settings, _), (_, numbers, _) in by_cell:
        assert started == {"run_name": cell["id"]}
        assert (settings["model"], settings["sampling.guidance"]) == ("tiny", 3.0)
        assert (numbers["scene-clip"], numbers["e2e_s"]) == (score, cell["e2e_s"])
        assert all(type(value) in (int, float) for value in numbers.values())


def test_a_card_of_the_hub_gets_the_scores_of_each_cell(recipe):
    calls, cells = recipe("huggingface_hub")
    results = [named for name, named in calls[:-2]]
    for cell, score in cells:
        of_cell = [result for result in results if result["metric_args"] == {"cell": cell["id"]}]
        assert {(result["metric_type"], result["metric_value"]) for result in of_cell} >= {("scene-clip", score)}
        assert {result["task_type"] for result in of_cell} == {"text-to-image"}
        assert {result["dataset_name"] for result in of_cell} == {"scenes-val"}
    (made, named), (written, _) = calls[-2:]
    assert (made, written, named["model_name"]) == ("ModelCardData", "to_yaml", "tiny")
    assert len(named["eval_results"]) == len(results) > 0


def test_the_examples_of_the_page_run(desk, page, tmp_path):
    others = ("specimen.serve(", *LIBRARIES)
    shown = [block for block in blocks(page, "python") if not any(other in block for other in others)]
    assert len(shown) == 2
    outputs = []
    for at, block in enumerate(shown):
        file = tmp_path / f"example_{at}.py"
        file.write_text(block, encoding="utf-8")
        ran = subprocess.run([sys.executable, file], cwd=desk, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        outputs.append(ran.stdout.splitlines())
    cells, last_run, cpu = outputs[0][:2], outputs[0][2], outputs[0][3]
    assert [line.split()[0] for line in cells] == ["ar", "mine"]
    assert re.fullmatch(r"mine 4 \d\S* \[\]", last_run), last_run
    assert "scene-clip" in cpu
    assert re.fullmatch(r"\d\S* \(\S+, \S+\) clean 56cb1d697a55 \(60, 60\)", outputs[1][0]), outputs[1]
    assert outputs[1][1].endswith(" prdc+k-3") and outputs[1][2].startswith("4 "), outputs[1]


def test_the_short_example_for_a_method_of_ones_own_runs(tmp_path):
    document = (ROOT / "docs" / "measure-your-method.md").read_text(encoding="utf-8")
    (block,) = blocks(document, "python")
    model = """
class my_model:
    n_forwards = 3

    def generate(prompt, seed, temperature, top_k, top_p, guidance):
        assert (prompt, seed, temperature, top_k, top_p, guidance) == ("a red bus", 5, 1.0, 2000, 1.0, 3.0)
        return [[(1, 2, 3)]]

"""
    (request, *_) = blocks((ROOT / "docs" / "external.md").read_text(encoding="utf-8"), "json")
    line = json.dumps({**json.loads(request), "folder": str(tmp_path), "seed": 5}) + "\n"
    ran = subprocess.run([sys.executable, "-c", model + block], input=line, capture_output=True, text=True, check=True)
    answer = json.loads(ran.stdout)
    assert (answer.get("image"), answer.get("forwards")) == ("image.png", 3), ran.stderr


def test_the_served_method_was_measured_next_to_the_baseline(run_folder):
    log = (run_folder / "shards" / "0" / "worker.log").read_text(encoding="utf-8")
    assert "painting" in log and "at temperature 1.0" in log
    run = specimen.load(run_folder, frame="rows")
    mine = [row for row in run.records if row["cell"] == "mine"]
    assert [(row["status"], row["width"], row["height"], row["nfe"]) for row in mine] == [("ok", 64, 64, 1)] * 2
    assert mine[0]["image_digest"] != mine[1]["image_digest"]


def test_the_commands_of_the_page_exist(page):
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    words = {line.split()[1] for line in lines if line.startswith("specimen ")}
    assert words == {"quickstart", "run"}
    for word in sorted(words):
        subprocess.run([program_path(), word, "--help"], capture_output=True, check=True)


def test_the_protocol_is_that_of_its_page_and_of_the_program():
    document = (ROOT / "docs" / "external.md").read_text(encoding="utf-8")
    (request, answer, *_) = blocks(document, "json")
    found = protocol.parse_request(json.loads(request))
    assert (found.prompt, found.seed, found.sampling.top_k) == ("a red bus", 5923482349823, 2000)
    assert set(json.loads(answer)) == {"protocol", "id", "image", "tokens", "forwards", "draft_forwards", "phases_s"}
    source = (ROOT / "harness" / "runner" / "src" / "external" / "message.rs").read_text(encoding="utf-8")
    limits = dict(re.findall(r"const (\w+): \w+ = ([^;]+);", source))
    assert int(limits["PROTOCOL"]) == protocol.PROTOCOL
    assert limits["MAX_TOKENS"] == "1 << 18" and protocol.MAX_TOKENS == 1 << 18
    assert int(limits["MAX_PHASES"]) == protocol.MAX_PHASES
    assert float(limits["MAX_SECONDS"].replace("_", "")) == protocol.MAX_SECONDS
    assert int(limits["MAX_ERROR"]) == protocol.MAX_ERROR
