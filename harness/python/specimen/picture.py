"""Pictures as PNG bytes, by zlib alone."""

import struct
import zlib
from numbers import Real
from typing import Any, List, Protocol, Sequence, Tuple, Union

from specimen.errors import Error

#: Pixels of a side, at most.
MAX_SIDE = 8192
#: Bytes of an image file, at most.
MAX_FILE = 64 << 20

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class ArrayLike(Protocol):
    """An array or tensor of any library."""

    def tolist(self) -> Any:
        """Its numbers as lists in lists."""


#: PNG bytes, or height x width x 3 whole numbers of 0 to 255.
Picture = Union[bytes, bytearray, Sequence[Sequence[Sequence[float]]], ArrayLike]


def png_of(image: Picture) -> bytes:
    """The bytes of a PNG file with this picture. Raises ``Error`` on what is none."""
    if isinstance(image, (bytes, bytearray)):
        data = bytes(image)
        if not data.startswith(_SIGNATURE):
            raise Error("image: the bytes are no PNG; return PNG bytes, a path, or height x width x 3 numbers")
    else:
        height, width, rgb = _pixels(image)
        data = encode(width, height, rgb)
    if len(data) > MAX_FILE:
        raise Error(f"image: {len(data)} bytes, at most {MAX_FILE}")
    return data


def encode(width: int, height: int, rgb: bytes) -> bytes:
    """The bytes of a PNG file of ``rgb``, which has ``3 * width * height`` bytes, row by row."""
    stride = 3 * width
    rows = b"".join(b"\0" + rgb[at : at + stride] for at in range(0, stride * height, stride))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    # The fastest level: the time until the answer is measured.
    parts = (_chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(rows, 1)), _chunk(b"IEND", b""))
    return _SIGNATURE + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _pixels(image: Any) -> Tuple[int, int, bytes]:
    """Height, width and RGB bytes."""
    # A tensor of torch may be on a device, and may be part of a graph.
    if hasattr(image, "detach"):
        image = image.detach().cpu()
    view = _byte_view(image)
    if view is not None:
        _check_shape(view.shape)
        return view.shape[0], view.shape[1], view.tobytes()
    return _pixels_of_rows(_plain(image))


def _byte_view(image: Any) -> Any:
    """The bytes of an array of bytes without a copy; None for anything else."""
    if hasattr(image, "numpy"):
        try:
            image = image.numpy()
        except (RuntimeError, TypeError, ImportError):
            return None
    try:
        view = memoryview(image)
    except TypeError:
        return None
    return view if view.format == "B" else None


def _check_shape(shape: Sequence[int]) -> None:
    if len(shape) != 3 or shape[2] != 3:
        found = " x ".join(str(n) for n in shape)
        raise Error(f"image: expected height x width x 3, found {found}")
    if not (0 < shape[0] <= MAX_SIDE and 0 < shape[1] <= MAX_SIDE):
        raise Error(f"image: {shape[1]} x {shape[0]} pixels; from 1 to {MAX_SIDE} a side are possible")


def _pixels_of_rows(rows: Any) -> Tuple[int, int, bytes]:
    if not _is_list(rows):
        raise Error(f"image: found {type(rows).__name__}; return PNG bytes, a path, or height x width x 3 numbers")
    # Lists may hold arrays: rows, pixels or numbers of any library.
    rows = [_plain(row) for row in rows]
    widths = {len(row) if _is_list(row) else -1 for row in rows}
    if len(widths) != 1 or -1 in widths:
        raise Error("image: expected height x width x 3, found rows of different lengths or no rows")
    _check_shape((len(rows), widths.pop(), 3))
    values: List[int] = []
    for y, row in enumerate(rows):
        for x, pixel in enumerate(map(_plain, row)):
            if not _is_list(pixel) or len(pixel) != 3:
                raise Error(f"image: row {y}, column {x}: expected 3 numbers")
            for value in pixel:
                values.append(_byte(_plain(value), y, x))
    return len(rows), len(rows[0]), bytes(values)


def _plain(value: Any) -> Any:
    """An array, or a number of an array library, as lists and numbers; anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _byte(value: Any, y: int, x: int) -> int:
    whole = not isinstance(value, bool) and isinstance(value, Real) and value == value // 1
    if not whole or not 0 <= value <= 255:
        raise Error(f"image: row {y}, column {x}: {value!r} is no whole number of 0 to 255")
    return int(value)
