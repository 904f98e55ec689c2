"""`load` on a run that the program made, and on damaged copies of it."""

import json
import re
import shutil

import pytest
import specimen
import specimen.frames as frames
from specimen.frames import frame_of


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def copy(run_folder, tmp_path):
    """A copy of the run that a test may damage."""
    return shutil.copytree(run_folder, tmp_path / "run", ignore=shutil.ignore_patterns("images", "report"))


def test_rows_are_those_of_the_files(run_folder):
    run = specimen.load(run_folder, frame="rows")
    records = lines(run_folder / "merged" / "records.jsonl")
    assert (run.name, run.folder, run.notes) == ("mine", run_folder, ())
    assert run.records == records and len(records) == 4
    times = lines(run_folder / "shards" / "0" / "attempts" / "0" / "timing.jsonl")
    assert len(run.timings) == len(times) == 6
    for row, found in zip(times, run.timings):
        assert (found["shard"], found["key"], found["e2e_ns"]) == (0, row["key"], row["e2e_ns"])
        assert found["phases_ns.target"] == row["phases_ns"]["target"] and "phases_ns" not in found
    assert run.summary == json.loads((run_folder / "merged" / "summary.json").read_text(encoding="utf-8"))


def test_cells_and_metrics_are_those_of_the_summary(run_folder):
    run = specimen.load(run_folder, frame="rows")
    cells = {cell["id"]: cell for cell in run.summary["cells"]}
    assert [cell["id"] for cell in run.cells] == ["ar", "mine"] == list(cells)
    for cell in run.cells:
        whole = cells[cell["id"]]
        for measure in ("speedup_e2e", "e2e_s"):
            assert cell[measure] == whole["measures"][measure]["value"]
        assert cell["sampling.guidance"] == 3.0
        assert "measures" not in cell and "metrics" not in cell
    # All rows have all columns.
    assert len({tuple(cell) for cell in run.cells}) == 1
    assert run.cells[0]["origin"] is None and run.cells[1]["origin"] == "external"
    found = [(row["cell"], row["metric"], row["value"]) for row in run.metrics]
    assert found == [(id, one["metric"], one["value"]) for id, cell in cells.items() for one in cell["metrics"]]
    assert {row["metric"] for row in run.metrics} == {"scene-clip"}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_have_the_same_rows(run_folder, library):
    pytest.importorskip(library, reason=library)
    rows, run = specimen.load(run_folder, frame="rows"), specimen.load(run_folder, frame=library)
    for name in ("records", "timings", "cells", "metrics"):
        expected, frame = getattr(rows, name), getattr(run, name)
        assert type(frame).__module__.split(".")[0] == library
        assert list(frame.columns) == list(expected[0]) and len(frame) == len(expected)
        for column in expected[0]:
            assert [plain(value) for value in frame[column]] == [row[column] for row in expected], (name, column)
    numbers = run.timings["e2e_ns"]
    assert numbers.sum() == sum(row["e2e_ns"] for row in rows.timings)
    assert "int" in str(numbers.dtype).lower()


def plain(value):
    """A value of a frame as the rows have it: both libraries have their own lists and their own absent values."""
    if hasattr(value, "to_list"):
        return value.to_list()
    absent = value is None or type(value).__name__ == "NAType" or value != value
    return None if absent else value


def test_values_of_several_types_become_one():
    rows = [
        {"a": 1, "b": 1, "c": {"x": 1}, "d": [1, 2.5], "e": [{"y": 1}], "f": None},
        {"a": 2.5, "b": "s", "c": None, "d": None, "e": [], "f": None},
    ]
    assert frame_of(rows, "rows") == [
        {"a": 1.0, "b": "1", "c.x": 1, "d": [1.0, 2.5], "e": '[{"y": 1}]', "f": None},
        {"a": 2.5, "b": '"s"', "c.x": None, "d": None, "e": "[]", "f": None},
    ]
    assert frame_of([], "rows") == []


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_takes_columns_of_every_kind(library):
    pytest.importorskip(library, reason=library)
    frame = frame_of([{"a": 1, "b": True, "c": [1.5, None]}, {"b": None, "d": {"x": "s"}, "c": []}], library)
    assert list(frame.columns) == ["a", "b", "c", "d.x"] and len(frame) == 2
    assert "int" in str(frame["a"].dtype).lower() and "bool" in str(frame["b"].dtype).lower()
    assert len(frame_of([], library)) == 0


def test_the_kind_of_frame_is_one_that_is_here(run_folder, monkeypatch):
    with pytest.raises(specimen.Error, match="`arrow` is none of polars, pandas, rows"):
        specimen.load(run_folder, frame="arrow")
    monkeypatch.setattr(frames, "_library", lambda kind: None)
    with pytest.raises(specimen.Error, match="polars cannot be imported; run `pip install polars`"):
        specimen.load(run_folder, frame="polars")
    assert isinstance(specimen.load(run_folder).records, list)


def edit(path, change):
    path.write_bytes(change(path.read_bytes()))


def damage_line(data, number, new):
    parts = data.split(b"\n")
    parts[number - 1] = new(parts[number - 1])
    return b"\n".join(parts)


TIMING = "shards/0/attempts/0/timing.jsonl"
RECORDS = "merged/records.jsonl"
#: A file, what is done to it, and the words of the error.
DAMAGE = {
    "a broken record": (RECORDS, lambda d: damage_line(d, 3, lambda x: x[:-9]), "records.jsonl:3: damaged: "),
    "a broken time": (TIMING, lambda d: damage_line(d, 2, lambda x: b"{" + x), "timing.jsonl:2: damaged: "),
    "bytes that are no text": (TIMING, lambda d: damage_line(d, 4, lambda x: b"\xff"), "timing.jsonl:4: damaged: "),
    "an empty line": (RECORDS, lambda d: damage_line(d, 1, lambda x: b""), "records.jsonl:1: damaged: "),
    "a number": (RECORDS, lambda d: damage_line(d, 2, lambda x: b"7"), "records.jsonl:2: expected an object"),
    "not a number": (TIMING, lambda d: damage_line(d, 1, lambda x: b'{"schema": NaN}'), "timing.jsonl:1: damaged: NaN"),
    "no schema": (TIMING, lambda d: damage_line(d, 5, lambda x: b'{"key": "a"}'), "timing.jsonl:5: no number under"),
    "no key": (RECORDS, lambda d: damage_line(d, 4, lambda x: b'{"schema": 1}'), "records.jsonl:4: a row without its"),
    "a newer row": (RECORDS, lambda d: d.replace(b'"schema":1', b'"schema":2', 1), "records.jsonl:1: schema 2; "),
    "a newer summary": (
        "merged/summary.json",
        lambda d: re.sub(rb'"schema": ?2', b'"schema": 3', d, count=1),
        "summary.json: schema 3; ",
    ),
    "an older summary": (
        "merged/summary.json",
        lambda d: re.sub(rb'"schema": ?2', b'"schema": 1', d, count=1),
        "of an earlier version; `specimen score",
    ),
    "a record less": (RECORDS, lambda d: damage_line(d, 1, lambda x: b"")[1:], "3 records, manifest.json says 4"),
    "a torn record": (RECORDS, lambda d: d[:-30], "records.jsonl:4: the last line is not finished"),
    "a broken manifest": ("manifest.json", lambda d: d[:-9], "manifest.json: damaged: "),
    "no cells": ("merged/summary.json", lambda d: d.replace(b'"cells"', b'"sells"'), "expected a list of objects"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_by_file_and_line(copy, name):
    path, change, expected = DAMAGE[name]
    before = (copy / path).read_bytes()
    edit(copy / path, change)
    assert (copy / path).read_bytes() != before
    with pytest.raises(specimen.Error) as raised:
        specimen.load(copy)
    assert expected in str(raised.value) and str(copy) in str(raised.value)


def test_a_row_of_times_that_was_never_finished_is_left_out_and_noted(copy):
    path = copy / TIMING
    whole = specimen.load(copy, frame="rows").timings
    edit(path, lambda data: data + b'{"schema":1,"key":"ar/')
    run = specimen.load(copy, frame="rows")
    assert run.timings == whole
    assert run.notes == (f"{path}:7: left out 22 bytes of a row that was never finished",)


def test_times_of_all_shards_and_attempts_are_there_in_their_order(copy):
    attempts = copy / "shards" / "0" / "attempts"
    for folder in (attempts / "10", attempts / "2", copy / "shards" / "11" / "attempts" / "0"):
        shutil.copytree(attempts / "0", folder)
        attempt = f'"attempt":{folder.name}'.encode()
        edit(folder / "timing.jsonl", lambda data, attempt=attempt: data.replace(b'"attempt":0', attempt))
    (attempts / "02").mkdir()
    timings = specimen.load(copy, frame="rows").timings
    found = list(dict.fromkeys((row["shard"], row["attempt"]) for row in timings))
    assert found == [(0, 0), (0, 2), (0, 10), (11, 0)] and len(timings) == 24


def test_what_is_no_finished_run_is_refused_with_the_remedy(copy, tmp_path):
    with pytest.raises(specimen.Error, match="no such folder"):
        specimen.load(tmp_path / "absent")
    (copy / "merged" / "summary.json").unlink()
    with pytest.raises(specimen.Error, match="not finished; run `specimen run … --resume --out "):
        specimen.load(copy)
    (copy / "manifest.json").unlink()
    with pytest.raises(specimen.Error, match="not a run; manifest.json is missing"):
        specimen.load(str(copy))


def test_a_rehearsal_is_no_result(tmp_path, program):
    (tmp_path / "spec.toml").write_text(REHEARSED, encoding="utf-8")
    program("rehearse", "spec.toml", "--out", "r", cwd=tmp_path)
    with pytest.raises(specimen.Error, match="this run is a rehearsal by made weights, .* `specimen run`"):
        specimen.load(tmp_path / "r" / "run")


REHEARSED = """
schema = 1
name = "stub"
seed = 1
dataset = { name = "scenes-val", limit = 2 }
model = { name = "stub", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 2.0 }
timing = { warmup = 1, blocks = 1 }
cell = [{ name = "ar" }]
"""
