"""Rows as data frames of pandas or polars, or as they are."""

import importlib
import json
from typing import Any, Dict, List, Mapping, Optional, Sequence

from specimen.errors import Error

#: What ``frame`` may be: the libraries in the order in which they are tried, and none of them.
KINDS = ("polars", "pandas", "rows")

Row = Dict[str, Any]


def kind_of(frame: Optional[str]) -> str:
    """The kind of frame that is asked for; without a wish the first whose library can be imported."""
    if frame is None:
        return next((kind for kind in KINDS[:-1] if _library(kind) is not None), "rows")
    if frame not in KINDS:
        raise Error(f"frame: `{frame}` is none of {', '.join(KINDS)}")
    if frame != "rows" and _library(frame) is None:
        raise Error(f"frame: {frame} cannot be imported; run `pip install {frame}`, or ask for `rows`")
    return frame


def frame_of(rows: Sequence[Mapping[str, Any]], kind: str) -> Any:
    """``rows`` as a frame of this kind. Every row has all columns then; a value that it lacked is None."""
    columns = _columns([flat(row) for row in rows])
    if kind == "rows":
        return [dict(zip(columns, values)) for values in zip(*columns.values())]
    library = _library(kind)
    if kind == "pandas":
        return library.DataFrame({name: _pandas_series(library, values) for name, values in columns.items()})
    return library.DataFrame([library.Series(name, values, strict=True) for name, values in columns.items()])


def flat(row: Mapping[str, Any]) -> Row:
    """``row`` with the fields of an object in columns of their own, as in ``phases_ns.draft``."""
    columns: Row = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            columns.update((f"{key}.{name}", inner) for name, inner in flat(value).items())
        else:
            columns[key] = value
    return columns


def _library(kind: str) -> Any:
    try:
        return importlib.import_module(kind)
    except ImportError:
        return None


def _pandas_series(pandas: Any, values: List[Any]) -> Any:
    """A column of pandas. Whole numbers and truth values stay what they are where some are absent."""
    kinds = {_kind(value) for value in values if value is not None}
    absent = any(value is None for value in values)
    nullable = {"int": "Int64", "bool": "boolean"}
    if absent and len(kinds) == 1 and kinds <= nullable.keys():
        return pandas.Series(values, dtype=nullable[kinds.pop()])
    return pandas.Series(values, dtype="float64" if kinds == {"float"} else None)


def _columns(rows: Sequence[Row]) -> Dict[str, List[Any]]:
    """Values by column, in the order in which the columns first appear."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _alike([row.get(name) for row in rows]) for name in names}
    return {name: values for name, values in columns.items() if not _is_absent_object(name, values, names)}


def _is_absent_object(name: str, values: Sequence[Any], names: Sequence[str]) -> bool:
    """Whether the column only says that some rows lack an object whose fields have columns of their own."""
    return all(value is None for value in values) and any(other.startswith(f"{name}.") for other in names)


def _alike(values: List[Any]) -> List[Any]:
    """``values`` of one type: numbers as floats if one has a fraction, and JSON where types differ."""
    kinds = {_kind(value) for value in values if value is not None}
    if kinds == {"int", "float"}:
        return [None if value is None else float(value) for value in values]
    if kinds == {"list"} and _are_numbers(values):
        return [None if value is None else [None if x is None else float(x) for x in value] for value in values]
    if len(kinds) > 1 or (kinds == {"list"} and not _are_plain(values)):
        return [None if value is None else json.dumps(value) for value in values]
    return values


def _kind(value: Any) -> str:
    return type(value).__name__


def _members(values: Sequence[Any]) -> List[Any]:
    return [x for value in values if value is not None for x in value if x is not None]


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether the lists have numbers of which some have a fraction."""
    kinds = {_kind(x) for x in _members(values)}
    return "float" in kinds and kinds <= {"int", "float"}


def _are_plain(values: Sequence[Any]) -> bool:
    """Whether the lists have members of one simple type."""
    kinds = {_kind(x) for x in _members(values)}
    return len(kinds) <= 1 and kinds <= {"int", "str", "bool"}
