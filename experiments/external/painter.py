"""A method of its own for specimen: paints the shapes that a caption names, in Python without any package.

It reads one request a line from standard input and answers each in a line on standard output, as docs/external.md says.
Nothing else may be printed there: what is meant for people goes to standard error, which specimen keeps in its log.
The same seed gives the same image.
"""

import json
import os
import random
import struct
import sys
import time
import zlib

SIDE = 64
COLOURS = {
    "red": (220, 50, 47), "orange": (240, 140, 30), "yellow": (240, 220, 60), "green": (50, 160, 70),
    "cyan": (60, 200, 210), "blue": (50, 90, 210), "purple": (130, 60, 170), "pink": (240, 130, 180),
}
SHAPES = ("circle", "square", "triangle", "star")
GROUNDS = {
    "grass": (70, 130, 60), "sand": (210, 190, 130), "water": (50, 100, 160), "snow": (235, 240, 245),
    "gravel": (130, 130, 130), "brick": (150, 80, 60),
}
SKIES = {"sunset": (230, 130, 90), "night": (20, 25, 60), "cloudy": (160, 165, 175), "blue": (120, 175, 235)}


def is_inside(shape, x, y, radius):
    """Whether a point, relative to the centre of a shape, belongs to it."""
    if shape == "circle":
        return x * x + y * y <= radius * radius
    if shape == "square":
        return max(abs(x), abs(y)) <= 0.85 * radius
    if shape == "triangle":
        return y <= 0.8 * radius and abs(x) <= (y + radius) * 0.6
    return (abs(x) ** 0.6 + abs(y) ** 0.6) <= radius ** 0.6


def paint(prompt, seed):
    """Rows of RGB bytes."""
    words = prompt.replace(",", " ").lower().split()
    objects = [(COLOURS[colour], shape) for colour, shape in zip(words, words[1:])
               if colour in COLOURS and shape in SHAPES]
    ground = next((rgb for word, rgb in GROUNDS.items() if word in words), (120, 120, 120))
    sky = next((rgb for word, rgb in SKIES.items() if word in words), SKIES["blue"])
    dice = random.Random(seed)
    places = [(SIDE * (at + 1) / (len(objects) + 1), 40 + dice.uniform(-4, 4)) for at in range(len(objects))]
    radius = 26 / max(2, len(objects))
    rows = []
    for y in range(SIDE):
        row = bytearray()
        for x in range(SIDE):
            rgb = sky if y < 32 else ground
            for (colour, shape), (cx, cy) in zip(objects, places):
                if is_inside(shape, x - cx, y - cy, radius):
                    rgb = colour
            row += bytes(rgb)
        rows.append(bytes(row))
    return rows


def png(rows):
    """The bytes of a PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", SIDE, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def answer(request):
    """What is said to one request."""
    begun = time.monotonic()
    rows = paint(request["prompt"], request["seed"])
    painted = time.monotonic()
    name = "image.png"
    with open(os.path.join(request["folder"], name), "wb") as file:
        file.write(png(rows))
    saved = time.monotonic()
    return {"image": name, "forwards": 1, "phases_s": {"paint": painted - begun, "save": saved - painted}}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if request["protocol"] != 1:
            said = {"error": f"this painter speaks protocol 1, not {request['protocol']}"}
        else:
            try:
                said = answer(request)
            except Exception as error:  # One image that fails must not end the process.
                said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"protocol": 1, "id": request["id"], **said}), flush=True)


if __name__ == "__main__":
    main()
