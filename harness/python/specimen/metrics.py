"""Metrics of images: the program measures, and these functions return what it answers.

Every function takes folders, ``.zip`` archives, lists (``.txt``), arrays or features (``.npy``, ``.npz``) as the
commands of the same names do; docs/metrics.md says which protocol replaces which tool.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, TypedDict, Union

from specimen.binary import ask, text_of
from specimen.errors import Error

if TYPE_CHECKING:
    from typing_extensions import Unpack

PathLike = Union[str, "os.PathLike[str]"]


class Options(TypedDict, total=False):
    """What every metric takes besides its sides and its protocol."""

    #: Adds a 95 % interval.
    ci: bool
    #: Leaves out pictures that cannot be used, and lists them.
    keep_going: bool
    #: False keeps no features and takes none from the cache.
    cache: bool
    #: Where the network computes: ``cpu``, ``cuda`` or ``cuda:N``.
    device: str
    #: Pictures in one pass of the network.
    batch: int
    #: Another layer of the network; another recipe.
    layer: str
    #: Another element type of the network, ``f32`` or ``bf16``; another recipe.
    dtype: str
    #: File of the network's weights.
    weights: PathLike


@dataclass(frozen=True)
class Measurement:
    """A value of a metric with everything that it depends on."""

    metric: str
    value: float
    #: Ends of the 95 % interval, if one was asked for.
    interval: Optional[Tuple[float, float]]
    #: Name of the protocol.
    protocol: str
    #: Digest of the protocol's recipe for this metric; values of two digests are not comparable.
    digest: str
    #: Pictures or rows of each side, the reference first; None where a statistics file does not say.
    n: Tuple[Optional[int], ...]
    #: The network that made the features, if it is known.
    extractor: Optional[str]
    #: Pictures that were left out, each with the reason.
    left_out: Tuple[Mapping[str, str], ...] = ()
    #: What a reader must know before comparing the value.
    notes: Tuple[str, ...] = ()
    #: What else the metric reports; the keys differ from metric to metric.
    details: Mapping[str, Any] = field(default_factory=dict)

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class Prdc:
    """Precision, recall, density and coverage of one comparison."""

    precision: Measurement
    recall: Measurement
    density: Measurement
    coverage: Measurement


def fid(
    real: PathLike, generated: PathLike, *, protocol: Optional[str] = None, **options: Unpack[Options]
) -> Measurement:
    """The Frechet distance of two sets.

    ``protocol`` is a name or the path of a ``.toml`` file; without it the command's default is taken.
    """
    return _one("fid", [real, generated], _options(protocol, options))


def kid(
    real: PathLike,
    generated: PathLike,
    *,
    protocol: Optional[str] = None,
    subset_size: Optional[int] = None,
    subsets: Optional[int] = None,
    seed: Optional[int] = None,
    **options: Unpack[Options],
) -> Measurement:
    """The kernel distance of two sets. Other subsets than the protocol's are another recipe."""
    own = {"--subset-size": subset_size, "--subsets": subsets, "--seed": seed}
    return _one("kid", [real, generated], _options(protocol, options, own))


def prdc(
    real: PathLike,
    generated: PathLike,
    *,
    protocol: Optional[str] = None,
    k: Optional[int] = None,
    **options: Unpack[Options],
) -> Prdc:
    """Precision, recall, density and coverage. Another ``k`` than the protocol's is another recipe."""
    answer = _ask("prdc", [real, generated], _options(protocol, options, {"-k": k}))
    if not isinstance(answer, list):
        raise Error("prdc: expected a list of values")
    values = {one["metric"]: _measurement(one) for one in answer}
    try:
        return Prdc(**values)
    except TypeError:
        raise Error(f"prdc: expected precision, recall, density and coverage, found {', '.join(values)}") from None


def inception_score(
    images: PathLike, *, protocol: Optional[str] = None, seed: Optional[int] = None, **options: Unpack[Options]
) -> Measurement:
    """The Inception Score of a set."""
    return _one("is", [images], _options(protocol, options, {"--seed": seed}))


def clip_score(
    images: PathLike,
    captions: PathLike,
    *,
    protocol: Optional[str] = None,
    caption: Optional[str] = None,
    **options: Unpack[Options],
) -> Measurement:
    """How well images match their captions.

    ``caption`` says which one counts where an image has several: ``first``, ``longest`` or ``sjd``.
    """
    return _one("clip-score", [images, captions], _options(protocol, options, {"--caption": caption}))


def cmmd(
    real: PathLike, generated: PathLike, *, protocol: Optional[str] = None, **options: Unpack[Options]
) -> Measurement:
    """The maximum mean discrepancy of the CLIP embeddings of two sets."""
    return _one("cmmd", [real, generated], _options(protocol, options))


def vendi(images: PathLike, *, protocol: Optional[str] = None, **options: Unpack[Options]) -> Measurement:
    """The Vendi score of a set, its diversity."""
    return _one("vendi", [images], _options(protocol, options))


def aesthetic(images: PathLike, *, protocol: Optional[str] = None, **options: Unpack[Options]) -> Measurement:
    """The mean score of LAION's aesthetic predictor."""
    return _one("aesthetic", [images], _options(protocol, options))


def pickscore(
    images: PathLike,
    captions: PathLike,
    *,
    protocol: Optional[str] = None,
    caption: Optional[str] = None,
    **options: Unpack[Options],
) -> Measurement:
    """How much people would prefer the images for their captions, as PickScore says; ``caption`` as in ``clip_score``."""
    return _one("pickscore", [images, captions], _options(protocol, options, {"--caption": caption}))


def hpsv2(
    images: PathLike,
    captions: PathLike,
    *,
    version: str = "2.1",
    protocol: Optional[str] = None,
    caption: Optional[str] = None,
    **options: Unpack[Options],
) -> Measurement:
    """The same as HPSv2 says, of version ``2.0`` or ``2.1``."""
    return _one(f"hpsv{version}", [images, captions], _options(protocol, options, {"--caption": caption}))


def imagereward(
    images: PathLike,
    captions: PathLike,
    *,
    protocol: Optional[str] = None,
    caption: Optional[str] = None,
    **options: Unpack[Options],
) -> Measurement:
    """The same as ImageReward says."""
    return _one("imagereward", [images, captions], _options(protocol, options, {"--caption": caption}))


def lpips(a: PathLike, b: PathLike, *, protocol: Optional[str] = None, **options: Unpack[Options]) -> Measurement:
    """The learned perceptual distance of pictures of the same names; takes ``ci``, ``device`` and ``weights``."""
    return _one("lpips", [a, b], _options(protocol, options))


def ssim(a: PathLike, b: PathLike, *, protocol: Optional[str] = None, **options: Unpack[Options]) -> Measurement:
    """The structural similarity of pictures of the same names; takes ``ci``."""
    return _one("ssim", [a, b], _options(protocol, options))


def psnr(a: PathLike, b: PathLike, *, protocol: Optional[str] = None, **options: Unpack[Options]) -> Measurement:
    """The peak signal-to-noise ratio of pictures of the same names; takes ``ci``. Of equal pictures it is infinite: an error."""
    return _one("psnr", [a, b], _options(protocol, options))


#: Options of every metric with a value, and options without one with the value that sets them.
_VALUES = {"device": "--device", "batch": "--batch", "layer": "--layer", "dtype": "--dtype", "weights": "--weights"}
_FLAGS = {"ci": ("--ci", True), "keep_going": ("--keep-going", True), "cache": ("--no-cache", False)}


def _options(
    protocol: Optional[str], options: Options, own: Optional[Mapping[str, Any]] = None
) -> List[str]:
    """Options as arguments of the command."""
    given: Dict[str, Any] = {"--protocol": None if protocol is None else os.fspath(protocol), **(own or {})}
    words: List[str] = []
    for name, value in options.items():
        if name in _VALUES:
            given[_VALUES[name]] = value
        elif name in _FLAGS and isinstance(value, bool):
            flag, sets = _FLAGS[name]
            words += [flag] if value is sets else []
        else:
            known = ", ".join([*_VALUES, *_FLAGS])
            raise TypeError(f"no option {name}={value!r}; the options are {known}")
    for flag, value in given.items():
        if value is not None:
            words += [f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}"]
    return words


def _ask(command: str, sides: List[PathLike], words: List[str]) -> Any:
    paths = [text_of(side) for side in sides]
    return ask([command, *words, "--", *paths], may_be_partial="--keep-going" in words)


def _one(command: str, sides: List[PathLike], words: List[str]) -> Measurement:
    return _measurement(_ask(command, sides, words))


def _measurement(answer: Mapping[str, Any]) -> Measurement:
    protocol, _, digest = answer["protocol"].rpartition("@")
    interval = answer["ci95"]
    if answer["value"] is None:
        raise Error(f"{answer['metric']}: no value: {answer.get('why')}")
    return Measurement(
        metric=answer["metric"],
        value=answer["value"],
        interval=None if interval is None else (interval[0], interval[1]),
        protocol=protocol,
        digest=digest,
        n=tuple(answer["n"]),
        extractor=answer["extractor"],
        left_out=tuple(answer.get("left_out", ())),
        notes=tuple(answer.get("notes", ())),
        details=answer.get("details", {}),
    )
