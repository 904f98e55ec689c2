"""`serve` over the protocol, in a process of its own, with good and hostile input."""

import array
import json
import os
import struct
import subprocess
import sys
import zlib

import pytest
import specimen
from specimen.picture import encode, png_of

#: A guard against a test that never ends; nothing is measured by it.
GUARD_S = 600


def request(folder, **changes):
    whole = {
        "protocol": 1,
        "id": "cell/7/0",
        "prompt": "a red bus",
        "seed": 2**64 - 1,
        "sampling": {
            "temperature": 1.0, "top_k": 2000, "top_p": 1.0, "guidance": 3.0, "filter_order": "top-k-then-top-p",
        },
        "model": {"name": "tiny", "dtype": "bf16", "device": "cpu"},
        "folder": str(folder),
    }
    whole.update(changes)
    return whole


def without(whole, key):
    return {name: value for name, value in whole.items() if name != key}


def serve(body, lines, before=""):
    """Serves `lines` with a method of this body; returns exit status, answers, and what was on standard error."""
    script = f"import os, subprocess, sys\nimport specimen\n{before}\ndef method(request):\n"
    script += "".join(f"    {line}\n" for line in body.splitlines()) + "specimen.serve(method)\n"
    text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    # What is printed before serving stays in Python's buffer, unless this variable forbids it.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ran = subprocess.run(
        [sys.executable, "-c", script], input=text, capture_output=True, timeout=GUARD_S, check=False, env=kept
    )
    answers = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    return ran.returncode, answers, ran.stderr.decode()


def decode(data):
    """Width, height and RGB bytes of a PNG whose rows have no filter; every chunk is checked."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (n,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + n]
        assert struct.unpack_from(">I", data, at + 8 + n)[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + n
    width, height, depth, colour = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert (depth, colour) == (8, 2)
    raw, stride = zlib.decompress(chunks[b"IDAT"]), 3 * width + 1
    assert len(raw) == stride * height and not any(raw[::stride])
    return width, height, b"".join(raw[row * stride + 1 : (row + 1) * stride] for row in range(height))


def test_an_answer_has_everything_that_the_method_returned(tmp_path):
    body = """phases = {"draft": 0.25, "vq-decode": 0}
return specimen.Answer([[(1, 2, 3), (4, 5, 6)]], tokens=(7, 8), forwards=3, draft_forwards=0, phases_s=phases)"""
    code, answers, _ = serve(body, [request(tmp_path)])
    assert code == 0
    assert answers == [{
        "protocol": 1, "id": "cell/7/0", "image": "image.png", "tokens": [7, 8], "forwards": 3, "draft_forwards": 0,
        "phases_s": {"draft": 0.25, "vq-decode": 0.0},
    }]
    assert decode((tmp_path / "image.png").read_bytes()) == (2, 1, bytes([1, 2, 3, 4, 5, 6]))


def test_the_method_sees_the_whole_request(tmp_path):
    body = """s, m = request.sampling, request.model
found = [request.id, request.prompt, request.seed, s.temperature, s.top_k, s.top_p, s.guidance, s.filter_order,
         m.name, m.dtype, m.device, str(request.folder)]
raise ValueError(repr(found))"""
    _, answers, _ = serve(body, [request(tmp_path, prompt="two\nlines")])
    expected = ["cell/7/0", "two\nlines", 2**64 - 1, 1.0, 2000, 1.0, 3.0, "top-k-then-top-p", "tiny", "bf16", "cpu",
                str(tmp_path)]
    assert answers[0]["error"] == f"ValueError: {expected!r}"


@pytest.mark.parametrize("image", [
    "image = DOT",
    "image = [[[0, 0, 0], [0, 0, 0.0]]]",
    "image = request.folder / 'own.png'; image.write_bytes(DOT)",
    "image = 'own.png'; (request.folder / image).write_bytes(DOT)",
    "image = 'sub/own.png'; os.mkdir(request.folder / 'sub'); open(request.folder / image, 'wb').write(DOT)",
])
def test_every_form_of_an_image_is_taken(tmp_path, image):
    body = f"from specimen.picture import encode\nDOT = encode(2, 1, bytes(6))\n{image}\nreturn image"
    code, answers, said = serve(body, [request(tmp_path)])
    assert code == 0 and "image" in answers[0], (answers, said)
    assert decode((tmp_path / answers[0]["image"]).read_bytes()) == (2, 1, bytes(6))


def test_what_is_printed_is_no_answer(tmp_path):
    body = """print("by print")
os.write(1, b"by the system\\n")
sys.__stdout__.write("by the first stdout\\n")
subprocess.run(["sh", "-c", "echo by a child"], check=True)
return [[(0, 0, 0)]]"""
    code, answers, said = serve(body, [request(tmp_path), request(tmp_path, id="cell/8/0")], before="print('before')")
    assert code == 0
    assert [answer["id"] for answer in answers] == ["cell/7/0", "cell/8/0"]
    for part in ("before", "by print", "by the system", "by the first stdout", "by a child"):
        assert part in said, said


def test_what_is_printed_after_serving_goes_to_standard_output_again(tmp_path):
    script = "import specimen\nspecimen.serve(lambda request: [[(0, 0, 0)]])\nprint('after')"
    text = json.dumps(request(tmp_path)).encode() + b"\n"
    ran = subprocess.run([sys.executable, "-c", script], input=text, capture_output=True, timeout=GUARD_S, check=True)
    assert ran.stdout.splitlines()[1:] == [b"after"]


def test_a_method_that_reads_standard_input_takes_no_request(tmp_path):
    body = "assert sys.stdin.read() == '' and os.read(0, 10) == b''\nreturn [[(0, 0, 0)]]"
    _, answers, said = serve(body, [request(tmp_path), request(tmp_path, id="cell/8/0")])
    assert [answer.get("image") for answer in answers] == ["image.png"] * 2, (answers, said)


def test_an_exception_is_the_error_of_its_image_in_one_line_and_the_next_is_served(tmp_path):
    body = """if request.prompt == "bad":
    raise RuntimeError("out of memory:\\n  tried 3 GB \\udcff")
return [[(0, 0, 0)]]"""
    code, answers, said = serve(body, [request(tmp_path, prompt="bad"), request(tmp_path, id="cell/8/0")])
    assert code == 0
    assert answers[0] == {"protocol": 1, "id": "cell/7/0", "error": "RuntimeError: out of memory: tried 3 GB ?"}
    assert answers[1]["image"] == "image.png"
    assert "Traceback" in said


def test_a_long_error_is_cut_and_an_empty_one_has_its_type(tmp_path):
    body = "raise KeyError('x' * 9000) if request.prompt else NotImplementedError()"
    _, answers, _ = serve(body, [request(tmp_path), request(tmp_path, prompt="")])
    assert len(answers[0]["error"]) == 500 and answers[0]["error"].startswith("KeyError: 'xxx")
    assert answers[1]["error"] == "NotImplementedError"


HOSTILE = {
    "another protocol": (lambda r: {**r, "protocol": 2}, "speaks protocol 1, not 2"),
    "a protocol that is true": (lambda r: {**r, "protocol": True}, "not True"),
    "no protocol": (lambda r: without(r, "protocol"), "not None"),
    "an unknown key": (lambda r: {**r, "promt": "x"}, "request: unknown key 'promt'"),
    "a missing key": (lambda r: without(r, "prompt"), "no key `prompt`"),
    "an unknown key of sampling": (lambda r: {**r, "sampling": {**r["sampling"], "min_p": 0}}, "sampling: unknown key"),
    "a missing key of sampling": (lambda r: {**r, "sampling": without(r["sampling"], "top_p")}, "no key `top_p`"),
    "an unknown key of the model": (lambda r: {**r, "model": {**r["model"], "size": 1}}, "model: unknown key 'size'"),
    "a model that is a text": (lambda r: {**r, "model": "tiny"}, "model: expected an object"),
    "a seed with a fraction": (lambda r: {**r, "seed": 1.5}, "seed: expected a whole number"),
    "a seed that is true": (lambda r: {**r, "seed": True}, "seed: expected a whole number"),
    "a seed below 0": (lambda r: {**r, "seed": -1}, "from 0 to 2^64 - 1"),
    "a seed beyond 64 bits": (lambda r: {**r, "seed": 2**64}, "from 0 to 2^64 - 1"),
    "a prompt that is a number": (lambda r: {**r, "prompt": 3}, "prompt: expected a text"),
    "a folder that is a list": (lambda r: {**r, "folder": []}, "folder: expected a text"),
    "a temperature that is a text": (lambda r: {**r, "sampling": {**r["sampling"], "temperature": "1"}}, "a number"),
    "a top_k with a fraction": (lambda r: {**r, "sampling": {**r["sampling"], "top_k": 0.5}}, "a whole number"),
    "a device that is null": (lambda r: {**r, "model": {**r["model"], "device": None}}, "model.device: expected"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_request_that_is_none_of_this_protocol_is_refused_and_the_next_is_served(tmp_path, name):
    change, expected = HOSTILE[name]
    lines = [change(request(tmp_path)), request(tmp_path, id="cell/8/0")]
    code, answers, _ = serve("return [[(0, 0, 0)]]", lines)
    assert code == 0
    assert answers[0]["id"] == "cell/7/0" and expected in answers[0]["error"], answers
    assert answers[1]["image"] == "image.png"


WITHOUT_ID = {
    "words": (b"hello\n", "no JSON"),
    "nothing": (b"\n", "no JSON"),
    "bytes that are no text": (b"\xff\xfe\n", "no JSON"),
    "a deep list": (b"[" * 100_000 + b"\n", "no JSON"),
    "not a number": (b'{"id": NaN}\n', "no JSON"),
    "a list": (b"[1]\n", "a text `id`"),
    "no id": (b'{"protocol": 1}\n', "a text `id`"),
    "a number as id": (b'{"protocol": 1, "id": 7}\n', "a text `id`"),
    "a long line": (b'{"id": "' + b"x" * (4 << 20) + b'"}\n', "more than 4194304 bytes"),
}


@pytest.mark.parametrize("name", WITHOUT_ID)
def test_a_line_without_an_id_ends_the_process_and_is_named(tmp_path, name):
    line, expected = WITHOUT_ID[name]
    code, answers, said = serve("return [[(0, 0, 0)]]", [request(tmp_path), line, request(tmp_path)])
    assert code == 1
    assert [answer["id"] for answer in answers] == ["cell/7/0"]
    assert "specimen.errors.Error: line 2 of the requests: " in said and expected in said, said[-2000:]


#: What a method may return by mistake, and the words of the error.
REFUSED = {
    "None": "found NoneType",
    "b'JFIF'": "the bytes are no PNG",
    "'absent.png'": "no file 'absent.png' in the folder",
    "'/bin/sh'": "outside the folder",
    "[]": "no rows",
    "[[]]": "0 x 1 pixels",
    "[[(1, 2)]]": "expected 3 numbers",
    "[[(1, 2, 3)], []]": "rows of different lengths",
    "[[(1, 2, 256)]]": "row 0, column 0: 256 is no whole number of 0 to 255",
    "[[(1, 2, -1)]]": "-1 is no whole number",
    "[[(1, 2, 0.5)]]": "0.5 is no whole number",
    "[[(1, 2, float('nan'))]]": "nan is no whole number",
    "[[(1, 2, float('inf'))]]": "inf is no whole number",
    "[[(1, 2, True)]]": "True is no whole number",
    "[[(1, 2, '3')]]": "'3' is no whole number",
    "[[(0, 0, 0)] * 8193]": "8193 x 1 pixels",
    "A(P, tokens=[1, -1])": "tokens[1]: -1 is not",
    "A(P, tokens=[2**32])": "4294967296 is not",
    "A(P, tokens=[1.0])": "tokens[0]: expected a whole number",
    "A(P, tokens='12')": "tokens: expected a list",
    "A(P, tokens=7)": "tokens: expected a list",
    "A(P, tokens=[0] * 262145)": "262145, at most 262144",
    "A(P, forwards=0)": "forwards: 0 is not from 1",
    "A(P, forwards=2**32)": "is not from 1 to 2^32 - 1",
    "A(P, forwards=1.0)": "forwards: expected a whole number",
    "A(P, draft_forwards=-1)": "draft_forwards: -1 is not from 0",
    "A(P, phases_s=[1])": "expected seconds by name",
    "A(P, phases_s={'a b': 1})": "'a b' is no name",
    "A(P, phases_s={'': 1})": "'' is no name",
    "A(P, phases_s={'x' * 65: 1})": "is no name",
    "A(P, phases_s={1: 1})": "1 is no name",
    "A(P, phases_s={'a': -0.5})": "phases_s.a: -0.5 is not from 0",
    "A(P, phases_s={'a': float('nan')})": "phases_s.a: nan is not",
    "A(P, phases_s={'a': 864001})": "is not from 0 to 864000",
    "A(P, phases_s={'a': None})": "expected seconds, found None",
    "A(P, phases_s={str(n): 0 for n in range(33)})": "33 phases, at most 32",
    "A(P, image_digest='x')": "unexpected keyword argument 'image_digest'",
}


def test_what_specimen_would_refuse_is_the_error_of_its_image(tmp_path):
    body = "A, P = specimen.Answer, [[(0, 0, 0)]]\nreturn eval(request.prompt)"
    lines = [request(tmp_path, prompt=text, id=f"cell/{at}/0") for at, text in enumerate(REFUSED)]
    code, answers, _ = serve(body, lines)
    assert code == 0 and len(answers) == len(REFUSED)
    for (text, expected), answer in zip(REFUSED.items(), answers):
        assert expected in answer.get("error", ""), (text, answer)


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(encode(1, 1, bytes(3)))
    folder = tmp_path / "item"
    folder.mkdir()
    os.symlink(secret, folder / "image.png")
    _, answers, _ = serve("return 'image.png'", [request(folder)])
    assert "outside the folder" in answers[0]["error"]


def test_an_end_of_input_before_a_line_ends_is_no_hang(tmp_path):
    line = json.dumps(request(tmp_path)).encode()
    code, answers, _ = serve("return [[(0, 0, 0)]]", [line])
    assert code == 0 and answers[0]["image"] == "image.png"
    assert serve("return [[(0, 0, 0)]]", [])[:2] == (0, [])


class Arraylike:
    """An array of a library that only knows `tolist`."""

    def __init__(self, rows):
        self.rows = rows

    def tolist(self):
        return self.rows


class Tensorlike(Arraylike):
    """A tensor on a device, as torch has them."""

    is_here = False

    def detach(self):
        return self

    def cpu(self):
        self.is_here = True
        return self

    def tolist(self):
        assert self.is_here
        return self.rows


def test_pixels_of_any_array_are_the_same_picture():
    rows = [[[9 * y + 3 * x + c for c in range(3)] for x in range(3)] for y in range(2)]
    rgb = bytes(range(18))
    view = memoryview(rgb).cast("B", shape=[2, 3, 3])
    floats = [[[float(value) for value in pixel] for pixel in row] for row in rows]
    of_rows, of_pixels = [Arraylike(row) for row in rows], [[Arraylike(pixel) for pixel in row] for row in rows]
    of_numbers = [[[Arraylike(value) for value in pixel] for pixel in row] for row in rows]
    for image in (rows, floats, view, Arraylike(rows), Tensorlike(rows), of_rows, of_pixels, of_numbers):
        assert decode(png_of(image)) == (3, 2, rgb), image


def test_arrays_of_numpy_are_taken_whatever_their_type_and_order():
    numpy = pytest.importorskip("numpy", reason="numpy")
    rgb = numpy.arange(60, dtype=numpy.uint8).reshape(4, 5, 3)
    scalars = [[list(pixel) for pixel in row] for row in rgb]
    for image in (rgb, rgb.astype("int64"), rgb.astype("float32"), numpy.asfortranarray(rgb), scalars):
        assert decode(png_of(image)) == (5, 4, rgb.tobytes())
    assert decode(png_of(rgb[::2, ::-1])) == (5, 2, rgb[::2, ::-1].tobytes())
    with pytest.raises(specimen.Error, match="expected height x width x 3, found 3 x 4 x 5"):
        png_of(rgb.transpose(2, 0, 1))
    with pytest.raises(specimen.Error, match="expected height x width x 3, found 4 x 5"):
        png_of(rgb[:, :, 0])


def test_bytes_in_an_array_without_a_shape_are_refused():
    with pytest.raises(specimen.Error, match="expected height x width x 3, found 6"):
        png_of(array.array("B", bytes(6)))


def test_a_seed_of_64_bits_has_32_bits_of_its_own_for_small_generators(tmp_path):
    fold = "return specimen.Answer(image=[[(0, 0, 0)]], tokens=[request.seed32])"
    for seed, expected in [(7, 7), (2**64 - 1, 0), (3 << 32, 3), (0x0123456789ABCDEF, 0x01234567 ^ 0x89ABCDEF)]:
        code, answers, err = serve(fold, [request(tmp_path, seed=seed)])
        assert (code, answers[0]["tokens"]) == (0, [expected]), err
