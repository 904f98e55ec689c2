"""`specimen export` as the tools themselves read it; each test skips where its tool is not installed."""

import json
import sys
import types

import pytest


@pytest.fixture
def exported(run_folder, program, tmp_path):
    """Exports the run for a tool."""

    def export(tool):
        program("export", run_folder, "--for", tool, "--out", tmp_path / tool)
        return tmp_path / tool

    return export


@pytest.fixture
def cells(run_folder):
    summary = json.loads((run_folder / "merged" / "summary.json").read_text(encoding="utf-8"))
    return {cell["id"]: cell for cell in summary["cells"]}


def test_mlflow_reads_every_cell_with_its_values(exported, cells, monkeypatch):
    pytest.importorskip("mlflow", reason="no mlflow, which reads the files (tool)")
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = MlflowClient(tracking_uri=(exported("mlflow") / "mlruns").as_uri())
    experiment = client.get_experiment_by_name("mine")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert runs.keys() == cells.keys()
    for name, run in runs.items():
        assert run.info.status == "FINISHED"
        assert run.data.params["model"] == cells[name]["model"]
        assert run.data.metrics["wall_s.e2e"] == cells[name]["wall_s"]["e2e"]
        assert [file.path for file in client.list_artifacts(run.info.run_id)] == ["cell.json"]


def test_the_hub_reads_every_cell_with_its_values(exported, cells):
    pytest.importorskip("huggingface_hub", reason="no huggingface_hub, which reads the files (tool)")
    import yaml
    from huggingface_hub.repocard_data import model_index_to_eval_results

    index = yaml.safe_load((exported("hf-eval") / "tiny.yaml").read_text(encoding="utf-8"))["model-index"]
    model, results = model_index_to_eval_results(index)
    assert model == "tiny"
    found = {(result.dataset_args["cell"], result.metric_type): result.metric_value for result in results}
    for name, cell in cells.items():
        assert found[name, "wall_s.e2e"] == cell["wall_s"]["e2e"]
        assert found[name, "n_images"] == cell["n_images"]
    assert {result.task_type for result in results} == {"text-to-image"}


def test_the_script_for_wandb_logs_every_cell_with_its_values(exported, cells, monkeypatch):
    """With a stand-in that takes what `wandb.init` of the real package takes here."""
    logged = []

    class Run:
        def __init__(self, **words):
            self.words, self.summary = words, {}

        def __enter__(self):
            return self

        def __exit__(self, *_):
            logged.append(self)

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=Run))
    script = exported("wandb") / "import_runs.py"
    monkeypatch.setattr(sys, "argv", [str(script), "project"])
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), {"__file__": str(script)})
    assert [run.words["config"]["cell"] for run in logged] == list(cells)
    for run, cell in zip(logged, cells.values()):
        assert run.words.keys() == {"project", "job_type", "name", "group", "tags", "config"}
        assert run.words["project"] == "project"
        assert run.summary["wall_s.e2e"] == cell["wall_s"]["e2e"]
