"""A run folder as data frames: records, times, cells, metrics and the summary."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from specimen.errors import Error
from specimen.frames import frame_of, kind_of

#: The schemas of the files that this package reads: of a summary, and of all others.
SUMMARY_SCHEMA = 2
SCHEMA = 1


@dataclass(frozen=True)
class Run:
    """A finished run. A frame is one of polars or pandas, or a list of dicts."""

    folder: Path
    #: Name in the spec.
    name: str
    #: One row an image: ``merged/records.jsonl``.
    records: Any
    #: One row an image and attempt, warm-ups included: ``timing.jsonl`` of every attempt, with its ``shard``.
    timings: Any
    #: One row a cell of the summary: its measures by name, intervals under ``NAME.ci95``; without reasons and metrics.
    cells: Any
    #: One row a cell and metric.
    metrics: Any
    #: ``merged/summary.json`` as it is.
    summary: Dict[str, Any]
    #: Rows of ``timing.jsonl`` that a worker which was killed never finished; they are left out.
    notes: Tuple[str, ...]


def load(run: Union[str, "os.PathLike[str]"], *, frame: Optional[str] = None) -> Run:
    """Reads the run folder ``run``.

    ``frame`` is ``polars``, ``pandas`` or ``rows``; without it the first of these that can be imported is taken.
    Raises ``Error`` if the run is not finished or is a rehearsal, or names file and line of what is damaged. Digests are
    checked by ``specimen verify``.
    """
    kind = kind_of(frame)
    folder = Path(run)
    manifest = _manifest(folder)
    _refuse_rehearsal(folder, manifest)
    merged = folder / "merged"
    if not (merged / "summary.json").is_file():
        raise Error(f"{folder}: not finished; run `specimen run … --resume --out {folder}`")
    summary = _parsed(_bytes(merged / "summary.json"), str(merged / "summary.json"), SUMMARY_SCHEMA)
    if summary["schema"] < SUMMARY_SCHEMA:
        raise Error(f"{merged / 'summary.json'}: of an earlier version; `specimen score {folder}` forms it again")
    records = [row for row, _ in _rows(merged / "records.jsonl", is_whole=True)]
    _check_count(folder, manifest, len(records))
    timings, notes = _timings(folder)
    cells = summary.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise Error(f"{merged / 'summary.json'}: expected a list of objects under `cells`")
    return Run(
        folder=folder,
        name=str(manifest.get("name")),
        records=frame_of(records, kind),
        timings=frame_of(timings, kind),
        cells=frame_of([_cell(cell) for cell in cells], kind),
        metrics=frame_of([row for cell in cells for row in _metrics(cell)], kind),
        summary=summary,
        notes=tuple(notes),
    )


def _manifest(folder: Path) -> Dict[str, Any]:
    path = folder / "manifest.json"
    if not folder.is_dir():
        raise Error(f"{folder}: no such folder")
    if not path.is_file():
        raise Error(f"{folder}: not a run; manifest.json is missing")
    return _document(path)


def _refuse_rehearsal(folder: Path, manifest: Mapping[str, Any]) -> None:
    """A run of narrow networks with made weights, as ``specimen rehearse`` makes it, says so in its cells."""
    spec = manifest.get("spec")
    cells = spec.get("cells") if isinstance(spec, dict) else None
    models = [cell.get("model") for cell in cells or [] if isinstance(cell, dict)]
    if any(isinstance(model, dict) and model.get("rehearsed") is not None for model in models):
        raise Error(
            f"{folder}: this run is a rehearsal by made weights, and none of its values is a result; "
            "make the run by `specimen run`"
        )


def _check_count(folder: Path, manifest: Mapping[str, Any], n_found: int) -> None:
    seal = manifest.get("sealed")
    n_sealed = seal.get("n_records") if isinstance(seal, dict) else None
    if n_sealed is not None and n_sealed != n_found:
        path = folder / "merged" / "records.jsonl"
        raise Error(f"{path}: {n_found} records, manifest.json says {n_sealed}; run `specimen verify {folder}`")


def _timings(folder: Path) -> Tuple[List[Dict[str, Any]], List[str]]:
    rows: List[Dict[str, Any]] = []
    notes: List[str] = []
    for shard in _numbered(folder / "shards"):
        for attempt in _numbered(shard / "attempts"):
            path = attempt / "timing.jsonl"
            if path.is_file():
                for row, note in _rows(path, is_whole=False):
                    if note:
                        notes.append(note)
                    else:
                        rows.append({"shard": int(shard.name), **row})
    return rows, notes


def _numbered(folder: Path) -> List[Path]:
    """Folders in ``folder`` whose names are numbers, in their order."""
    if not folder.is_dir():
        return []
    return sorted((part for part in folder.iterdir() if _is_number(part.name)), key=lambda part: int(part.name))


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and str(int(name)) == name


def _metrics(cell: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
    for metric in cell.get("metrics") or []:
        yield {"cell": cell.get("id"), **metric}


def _cell(cell: Mapping[str, Any]) -> Dict[str, Any]:
    """A cell without its metrics, each measure under its own name and its interval under ``NAME.ci95``."""
    flat = {key: value for key, value in cell.items() if key not in ("measures", "metrics")}
    for name, reading in (cell.get("measures") or {}).items():
        flat[name] = reading.get("value")
        if reading.get("ci95") is not None or name.startswith("speedup"):
            flat[f"{name}.ci95"] = reading.get("ci95")
    return flat


def _document(path: Path) -> Dict[str, Any]:
    return _parsed(_bytes(path), str(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Error(f"{path}: cannot be read: {error.strerror}") from None


def _rows(path: Path, is_whole: bool) -> Iterator[Tuple[Dict[str, Any], str]]:
    """The rows of a JSON-lines file, each with an empty note; a torn last line is a note without a row.

    A file that ``is_whole`` has none: a torn line is damage there.
    """
    lines = _bytes(path).split(b"\n")
    torn = lines.pop()
    for at, line in enumerate(lines):
        row = _parsed(line, f"{path}:{at + 1}")
        if not isinstance(row.get("key"), str):
            raise Error(f"{path}:{at + 1}: a row without its `key`")
        yield row, ""
    if torn:
        place = f"{path}:{len(lines) + 1}"
        if is_whole:
            raise Error(f"{place}: the last line is not finished; run `specimen merge` again")
        yield {}, f"{place}: left out {len(torn)} bytes of a row that was never finished"


def _parsed(text: bytes, place: str, newest: int = SCHEMA) -> Dict[str, Any]:
    try:
        found = json.loads(text.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Error(f"{place}: damaged: {error}") from None
    if not isinstance(found, dict):
        raise Error(f"{place}: expected an object, found {type(found).__name__}")
    schema = found.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise Error(f"{place}: no number under `schema`")
    if schema > newest:
        raise Error(f"{place}: schema {schema}; this package reads up to {newest}, install a newer specimen-bench")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")
