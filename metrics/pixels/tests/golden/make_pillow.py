"""Makes pillow.json beside it: digests of PIL.Image.resize, odd files with Pillow's outcome, and files (`stricter`)
that Pillow reads although part of the picture is missing.

Needs Pillow (made with 13.0.0) and numpy. The pictures are a formula, so only digests are kept.
"""
import hashlib, io, json, pathlib, struct, zlib
import numpy as np
from PIL import Image, __version__

FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
SIZES = [(33, 17, 8, 40), (33, 17, 33, 5), (33, 17, 70, 17), (5, 3, 1, 1), (1, 1, 9, 4), (200, 90, 61, 47)]


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def picture(width, height):
    i = np.arange(width * height * 3, dtype=np.uint64)
    return (((i * 2654435761) >> 13) & 255).astype(np.uint8).reshape(height, width, 3)


def chunk(kind, data, crc=None):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc or zlib.crc32(kind + data))


def png(width, height, depth, color, rows, extra=b"", data=None):
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))
    data = zlib.compress(rows) if data is None else data
    return b"\x89PNG\r\n\x1a\n" + head + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def outcome(data):
    try:
        image = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        return dict(width=image.shape[1], height=image.shape[0], sha256=sha(image))
    except Exception as error:
        return dict(error=type(error).__name__)


def saved(mode, kind, **options):
    buffer = io.BytesIO()
    image = Image.fromarray(picture(19, 11)).convert(mode)
    image.save(buffer, kind, **options)
    return buffer.getvalue()


resized = []
for width, height, to_width, to_height in SIZES:
    image = picture(width, height)
    for name in FILTERS:
        kind = getattr(Image.Resampling, name.upper())
        u8 = np.asarray(Image.fromarray(image).resize((to_width, to_height), kind))
        channels = [Image.fromarray(image[:, :, c].astype(np.float32), mode="F") for c in range(3)]
        f32 = np.stack([np.asarray(c.resize((to_width, to_height), kind)) for c in channels], -1)
        resized.append(dict(width=width, height=height, to_width=to_width, to_height=to_height, filter=name,
                            u8=sha(u8), f32=sha(f32)))

row = b"\0" + bytes([0, 1, 2, 3, 200])
packed = zlib.compress(row)
jpeg = saved("RGB", "JPEG")
files = {
    "palette shorter than its indices": png(5, 1, 8, 3, row, chunk(b"PLTE", bytes(range(10, 70, 10)))),
    "2-bit grey": png(5, 1, 2, 0, b"\0" + bytes([0b00011011, 0b01000000])),
    "4-bit grey": png(3, 1, 4, 0, b"\0" + bytes([0x1F, 0x70])),
    "4-bit palette": png(3, 1, 4, 3, b"\0" + bytes([0x10, 0x20]), chunk(b"PLTE", bytes(range(9)))),
    "16-bit grey": png(3, 1, 16, 0, b"\0" + bytes([0, 0, 0, 255, 1, 0])),
    "16-bit grey and alpha": png(1, 1, 16, 4, b"\0" + bytes([7, 255, 9, 9])),
    "one colour transparent": png(2, 1, 8, 2, b"\0" + bytes(range(6)), chunk(b"tRNS", bytes(6))),
    "a chunk twice that may come once": png(5, 1, 8, 0, row, chunk(b"gAMA", b"\0\0\0\1") * 2),
    "a wrong checksum before the data": png(5, 1, 8, 0, row, chunk(b"tEXt", b"a\0b", crc=5)),
    "a wrong checksum of the pixels": png(5, 1, 8, 0, row, data=packed[:-1] + bytes([packed[-1] ^ 1])),
    "more rows than declared": png(5, 1, 8, 0, row + row),
    "no end chunk": png(5, 1, 8, 0, row)[:-12],
    "half an end chunk": png(5, 1, 8, 0, row)[:-6],
    "no pixels wide": png(0, 1, 8, 0, b"\0"),
    "a bomb": png(20000, 20000, 8, 0, b"\0"),
    "JPEG": jpeg,
    "JPEG with bytes behind its end": jpeg + b"abc",
    "JPEG without its end marker": jpeg[:-2],
    "JPEG without its last bytes": jpeg[:-20],
    "JPEG, half": jpeg[: len(jpeg) // 2],
    "JPEG, half, and an end marker": jpeg[: len(jpeg) // 2] + b"\xff\xd9",
    "progressive JPEG": saved("RGB", "JPEG", progressive=True),
    "progressive JPEG without its end marker": saved("RGB", "JPEG", progressive=True)[:-2],
    "CMYK JPEG": saved("CMYK", "JPEG"),
    "BMP": saved("RGB", "BMP"),
    "BMP with alpha": saved("RGBA", "BMP"),
    "BMP, grey": saved("L", "BMP"),
    "BMP, palette": saved("P", "BMP"),
    "BMP, 1 bit": saved("1", "BMP"),
    "BMP, half": saved("RGB", "BMP")[:400],
    "PPM": saved("RGB", "PPM"),
    "PGM": saved("L", "PPM"),
    "PBM": saved("1", "PPM"),
    "PPM, half": saved("RGB", "PPM")[:300],
    "GIF": saved("RGB", "GIF"),
    "GIF, grey": saved("L", "GIF"),
    "GIF, half": saved("RGB", "GIF")[:1000],
    "WebP, lossless": saved("RGB", "WEBP", lossless=True),
    "WebP, lossless with alpha": saved("RGBA", "WEBP", lossless=True),
    "WebP, lossy": saved("RGB", "WEBP"),
    "WebP, half": saved("RGB", "WEBP")[:200],
    "nothing": b"",
    "a text": b"<html>",
}
stricter = {
    "fewer rows than declared": png(5, 2, 8, 0, row),
    "image data cut off": png(5, 1, 8, 0, row)[:-17],
}


def outcomes(files):
    return [dict(name=name, hex=data.hex(), **outcome(data)) for name, data in files.items()]


def lines(rows):
    return ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)


text = f'{{"pillow":"{__version__}","resized":[\n{lines(resized)}\n],"files":[\n{lines(outcomes(files))}\n],\n"stricter":[\n{lines(outcomes(stricter))}\n]}}\n'
pathlib.Path(__file__).with_name("pillow.json").write_text(text)
