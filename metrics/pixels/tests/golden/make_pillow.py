"""Makes pillow.json beside it: digests of PIL.Image.resize, odd files with Pillow's outcome, and files (`stricter`)
that Pillow reads although part of the picture is missing.

Needs Pillow (made with 13.0.0) and numpy. The pictures are a formula, so only digests are kept.
"""
import io, json, pathlib, struct, zlib
import numpy as np
from PIL import Image, __version__

from formula import FILTERS, picture, sha

SIZES = [(33, 17, 8, 40), (33, 17, 33, 5), (33, 17, 70, 17), (5, 3, 1, 1), (1, 1, 9, 4), (200, 90, 61, 47)]


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


def bmp16(masks=None, header=40, flip=False, width=64, offset=None):
    """64x3 pixels of 16 bits with every value of each channel, under `masks` (none: as they are)."""
    rows = [[(i * 1057 + j * 331) & 0xFFFF for i in range(width)] for j in range(3)]
    data = b"".join(struct.pack(f"<{width}H", *row) + bytes(2 * width % 4) for row in rows)
    extra = b"" if masks is None else struct.pack("<3I", *masks)
    extra += bytes(header - 40 - len(extra)) if header > 40 else b""
    height = -3 if flip else 3
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, 3, 1, 16)
    else:
        kind = 0 if masks is None else 3
        info = struct.pack("<IiiHHIIiiII", header, width, height, 1, 16, kind, len(data), 0, 0, 0, 0) + extra
    offset = 14 + len(info) if offset is None else offset
    return b"BM" + struct.pack("<IHHI", 14 + len(info) + len(data), 0, 0, offset) + info + data


def pnm(head, values, n_bytes):
    return head + b"".join(value.to_bytes(n_bytes, "big") for value in values)


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
    "BMP, 16 bits": bmp16(),
    "BMP, 16 bits, old header": bmp16(header=12),
    "BMP, 16 bits, from the top": bmp16(flip=True),
    "BMP, 555": bmp16((0x7C00, 0x3E0, 0x1F)),
    "BMP, 565": bmp16((0xF800, 0x7E0, 0x1F)),
    "BMP, 565, long header": bmp16((0xF800, 0x7E0, 0x1F), header=108),
    "BMP, 16 bits, half": bmp16()[:300],
    "BMP, 16 bits, the last row not filled up": bmp16(width=63)[:-2],
    "BMP, 16 bits, without a place of its pixels": bmp16((0xF800, 0x7E0, 0x1F), offset=0),
    "BMP, 444": bmp16((0xF00, 0xF0, 0xF)),
    "PPM": saved("RGB", "PPM"),
    "PPM, 16 bits": pnm(b"P6 4 2 65535\n", range(0, 65536, 2730), 2),
    "PPM, 16 bits, largest 1023": pnm(b"P6 4 2 1023\n", range(0, 1152, 48), 2),
    "PPM, largest 100": pnm(b"P6\n4 2 100\n", range(0, 120, 5), 1),
    "PPM, 16 bits, half": pnm(b"P6 4 2 65535\n", range(12), 2),
    "PGM, 16 bits": pnm(b"P5 4 2 65535\n", [0, 1, 200, 254, 255, 256, 4000, 65535], 2),
    "PGM, 16 bits, largest 65534": pnm(b"P5 4 2 65534\n", [0, 1, 200, 254, 255, 256, 4000, 65535], 2),
    "PGM, 16 bits, largest 300": pnm(b"P5 4 2 300\n", [0, 1, 2, 3, 100, 299, 300, 301], 2),
    "PGM, largest 7": pnm(b"P5 4 2 7\n", range(8), 1),
    "PGM, largest 65536": pnm(b"P5 2 1 65536\n", [1, 2], 2),
    "PGM, largest 0": pnm(b"P5 2 1 0\n", [1, 2], 1),
    "PGM, plain": b"P2 # a\n3 2 # b\n15\n0 1 2 # c\n3 14\n15",
    "PGM, plain, 16 bits": b"P2 3 1 1000 0 1 1000",
    "PGM, plain, a sample too large": b"P2 3 1 15 0 1 16",
    "PGM, plain, a sample that is none": b"P2 3 1 15 0 1 x",
    "PPM, plain, 16 bits": b"P3\t2\r1\n65535\n0 1 65535 128 32767 32768\n",
    "PPM, plain, half": b"P3 2 1 255 0 1 2 3",
    "PBM, plain": b"P1 # a\n4 2\n0110\n1 0 # b\n01",
    "PBM, plain, a pixel that is none": b"P1 4 1 0120",
    "PBM, 9 wide": b"P4 9 2\n" + bytes([0b10101010, 0x80, 0b11110000, 0]),
    "PNM, a comment inside a number": b"P5 1#a\n2 1 255\n" + bytes(12),
    "PNM, no blank behind its name": b"P6#a\n1 1 255\nabc",
    "PNM, a number of eleven digits": b"P5 00000000001 1 255\nabc",
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
