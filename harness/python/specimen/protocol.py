"""The protocol between specimen and an external method: one JSON object a line, each way.

docs/external.md is its page. Unknown keys are refused, so that a misspelt key is not a value silently lost.
"""

import json
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union

from specimen.errors import Error
from specimen.picture import Picture, png_of

#: Version of the protocol.
PROTOCOL = 1
#: Bytes of a line, at most.
MAX_LINE = 4 << 20
MAX_TOKENS = 262_144
MAX_PHASES = 32
#: Seconds of a phase, at most: ten days.
MAX_SECONDS = 864_000.0
#: Characters of an error, at most.
MAX_ERROR = 500

_PHASE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_REQUEST_KEYS = ("protocol", "id", "prompt", "seed", "sampling", "model", "folder")


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn."""

    #: At least 0; 0 is greedy.
    temperature: float
    #: Tokens kept; 0 keeps all.
    top_k: int
    #: Mass kept, in (0, 1].
    top_p: float
    #: Scale of classifier-free guidance; 1 is off.
    guidance: float
    #: ``top-k-then-top-p`` or ``top-p-then-top-k``.
    filter_order: str


@dataclass(frozen=True)
class Model:
    """The model that the cell names, and where it should compute."""

    name: str
    #: ``f32``, ``bf16`` or ``f16``.
    dtype: str
    #: ``cpu``, ``cuda`` or ``cuda:N``.
    device: str


@dataclass(frozen=True)
class Request:
    """One image to make. The same request must give the same image."""

    #: Name of the item: cell, prompt and sample.
    id: str
    #: The prompt; empty for an unconditional model.
    prompt: str
    #: Key of the random source, up to 2^64 - 1.
    seed: int
    sampling: Sampling
    model: Model
    #: An empty folder for the image; it is removed after the answer.
    folder: Path

    @property
    def seed32(self) -> int:
        """The seed in 32 bits, for generators that take no more, NumPy's ``RandomState`` say."""
        return (self.seed ^ self.seed >> 32) & 0xFFFFFFFF


@dataclass(frozen=True)
class Answer:
    """What a method made of a request."""

    #: PNG bytes, the path of a file in the request's folder, or height x width x 3 whole numbers of 0 to 255.
    image: Union[Picture, str, "os.PathLike[str]"]
    #: Tokens of the image, at most 262,144.
    tokens: Optional[Sequence[int]] = None
    #: Forwards of the target, with the prefill.
    forwards: Optional[int] = None
    #: Forwards of a drafter.
    draft_forwards: Optional[int] = None
    #: Seconds of its own phases by its own clock, by name, at most 32.
    phases_s: Optional[Mapping[str, float]] = None


class Refused(Exception):
    """A request with a known id that cannot be served; the item gets the text as its error."""


def parse_id(line: bytes, number: int) -> Tuple[str, Dict[str, Any]]:
    """The id and all keys of the request in ``line``, which is line ``number`` of the input.

    Raises ``Error`` if there is no id to answer to.
    """
    place = f"line {number} of the requests"
    if len(line) > MAX_LINE:
        raise Error(f"{place}: more than {MAX_LINE} bytes")
    try:
        request = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Error(f"{place}: no JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("id"), str):
        raise Error(f"{place}: expected one JSON object with a text `id`")
    return request["id"], request


def parse_request(request: Mapping[str, Any]) -> Request:
    """The request with these keys; ``Refused`` if it is none of this protocol."""
    if request.get("protocol") != PROTOCOL or isinstance(request["protocol"], bool):
        raise Refused(f"this process speaks protocol {PROTOCOL}, not {_shown(request.get('protocol'))}")
    _check_keys(request, _REQUEST_KEYS, "request")
    seed = request["seed"]
    if not _is_whole(seed) or not 0 <= seed < 1 << 64:
        raise Refused(f"seed: expected a whole number from 0 to 2^64 - 1, found {_shown(seed)}")
    sampling = _part(request, "sampling", Sampling)
    model = _part(request, "model", Model)
    for key in ("temperature", "top_p", "guidance"):
        _check_number(sampling, f"sampling.{key}", key)
    if not _is_whole(sampling["top_k"]) or sampling["top_k"] < 0:
        raise Refused(f"sampling.top_k: expected a whole number, found {_shown(sampling['top_k'])}")
    _check_text(sampling, "sampling.filter_order", "filter_order")
    for key in ("name", "dtype", "device"):
        _check_text(model, f"model.{key}", key)
    for key in ("prompt", "folder"):
        _check_text(request, key, key)
    return Request(
        id=request["id"],
        prompt=request["prompt"],
        seed=seed,
        sampling=Sampling(**sampling),
        model=Model(**model),
        folder=Path(request["folder"]),
    )


def answer_line(request: Request, made: Any) -> bytes:
    """The line that answers ``request`` with what the function returned, an ``Answer`` or an image alone.

    Writes the image into the request's folder if it is not a file yet. Raises ``Error`` on what specimen would refuse.
    """
    answer = made if isinstance(made, Answer) else Answer(image=made)
    said: Dict[str, Any] = {"protocol": PROTOCOL, "id": request.id, "image": _image(request.folder, answer.image)}
    if answer.tokens is not None:
        said["tokens"] = _tokens(answer.tokens)
    if answer.forwards is not None:
        said["forwards"] = _count("forwards", answer.forwards, least=1)
    if answer.draft_forwards is not None:
        said["draft_forwards"] = _count("draft_forwards", answer.draft_forwards, least=0)
    if answer.phases_s is not None:
        said["phases_s"] = _phases(answer.phases_s)
    return _line(said)


def error_line(id: str, why: str) -> bytes:
    """The line that says why there is no image for the request ``id``."""
    text = " ".join(why.split()).encode("utf-8", "replace").decode("utf-8")
    return _line({"protocol": PROTOCOL, "id": id, "error": text[:MAX_ERROR] or "no reason was given"})


def _line(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, allow_nan=False).encode("ascii") + b"\n"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_keys(found: Mapping[str, Any], expected: Sequence[str], where: str) -> None:
    unknown = [key for key in found if key not in expected]
    if unknown:
        raise Refused(f"{where}: unknown key {_shown(unknown[0])}; protocol {PROTOCOL} has {', '.join(expected)}")
    missing = [key for key in expected if key not in found]
    if missing:
        raise Refused(f"{where}: no key `{missing[0]}`")


def _part(request: Mapping[str, Any], key: str, of: type) -> Dict[str, Any]:
    part = request[key]
    if not isinstance(part, dict):
        raise Refused(f"{key}: expected an object, found {_shown(part)}")
    _check_keys(part, tuple(of.__dataclass_fields__), key)  # type: ignore[attr-defined]
    return part


def _check_number(part: Mapping[str, Any], where: str, key: str) -> None:
    value = part[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"{where}: expected a number, found {_shown(value)}")


def _check_text(part: Mapping[str, Any], where: str, key: str) -> None:
    if not isinstance(part[key], str):
        raise Refused(f"{where}: expected a text, found {_shown(part[key])}")


def _image(folder: Path, image: Any) -> str:
    """Path of the image relative to ``folder``, which has it afterwards."""
    if isinstance(image, (str, os.PathLike)):
        place = Path(folder, os.fspath(image))
        root = folder.resolve()
        if not place.is_file():
            raise Error(f"image: no file {os.fspath(image)!r} in the folder of the request")
        if root not in place.resolve().parents:
            raise Error(f"image: {os.fspath(image)!r} is outside the folder of the request; write it there")
        relative = str(place.resolve().relative_to(root))
        # A name that is no Unicode cannot be in an answer.
        relative.encode("utf-8")
        return relative
    name = "image.png"
    (folder / name).write_bytes(png_of(image))
    return name


def _listed(values: Any, what: str) -> Sequence[Any]:
    """A list of an array of any library."""
    to_list: Optional[Callable[[], Any]] = getattr(values, "tolist", None)
    listed = to_list() if to_list is not None else values
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Sequence):
        raise Error(f"{what}: expected a list of whole numbers, found {type(values).__name__}")
    return listed


def _tokens(tokens: Any) -> Sequence[int]:
    listed = _listed(tokens, "tokens")
    if len(listed) > MAX_TOKENS:
        raise Error(f"tokens: {len(listed)}, at most {MAX_TOKENS}")
    found = [_whole(f"tokens[{at}]", token) for at, token in enumerate(listed)]
    for at, token in enumerate(found):
        if not 0 <= token < 1 << 32:
            raise Error(f"tokens[{at}]: {token} is not from 0 to 2^32 - 1")
    return found


def _whole(what: str, value: Any) -> int:
    index = getattr(type(value), "__index__", None)
    if index is None or isinstance(value, bool):
        raise Error(f"{what}: expected a whole number, found {_shown(value)}")
    return int(index(value))


def _count(what: str, value: Any, least: int) -> int:
    count = _whole(what, value)
    if not least <= count < 1 << 32:
        raise Error(f"{what}: {count} is not from {least} to 2^32 - 1; leave it out if it is not known")
    return count


def _phases(phases: Any) -> Dict[str, float]:
    if not isinstance(phases, Mapping):
        raise Error(f"phases_s: expected seconds by name, found {type(phases).__name__}")
    if len(phases) > MAX_PHASES:
        raise Error(f"phases_s: {len(phases)} phases, at most {MAX_PHASES}")
    checked = {}
    for name, seconds in phases.items():
        if not isinstance(name, str) or not _PHASE_NAME.fullmatch(name):
            raise Error(f"phases_s: {_shown(name)} is no name of letters, digits, `_` and `-`, at most 64")
        try:
            value = float(seconds)
        except (TypeError, ValueError):
            raise Error(f"phases_s.{name}: expected seconds, found {_shown(seconds)}") from None
        if not (math.isfinite(value) and 0 <= value <= MAX_SECONDS):
            raise Error(f"phases_s.{name}: {value} is not from 0 to {MAX_SECONDS:.0f} seconds")
        checked[name] = value
    return checked
