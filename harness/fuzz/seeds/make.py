"""Writes the seeds of the fuzz targets: small, synthetic, one a branch. Python 3, nothing else."""

import gzip, io, json, pathlib, struct, zipfile, zlib

HERE = pathlib.Path(__file__).parent


def put(target, name, data):
    folder = HERE / target
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def npy(descr, shape, data, version=1, fortran=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def npz(arrays, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in arrays.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy"), data, method)
    return out.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour, bytes_a_row, extra=b"", interlace=0):
    rows = b"".join(bytes([y % 5]) + bytes((x * 7 + y) % 256 for x in range(bytes_a_row)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


SPEC = """#set sampling.temperature=0.5
schema = 1
name = "seed"
seed = 1
dataset = { name = "scenes-val", limit = 2, caption = "longest" }
model = [{ name = "tiny", dtype = "bf16" }, { name = "stub", dtype = "f32", device = "cuda:1" }]
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 1, blocks = 1 }
[[cell]]
name = "ar"
[[cell]]
name = "cascade"
drafter = { proposer = "eagle1", shape = "static", tree = "tiny_13" }
accept = [{ kind = "cascade", tau_pos = 0.85, tau_seq = 0.5, tvd_budget = 0.5 }, { kind = "lossless" }]
schedule = { kind = "vvs", trigger = "interval", every = 2 }
[[cell]]
name = "py"
external = { command = ["python3", "x.py"], timeout_s = 5.0, env = ["HOME"], files = ["x.py"], cwd = "." }
[axes]
"cell.cascade.accept.0.tau_pos" = [0.8, 0.9]
[[exclude]]
cell = "cascade"
"cell.cascade.accept.0.tau_pos" = 0.8
[[metric]]
name = "target-nll"
[[metric]]
name = "fid"
protocol = "lantern"
real = "photos"
min_n = 2
[[published]]
cell = "cascade"
from = "cascade_table1.csv"
where = { model = "LlamaGen-XL-Stage2", method = "CASCADE" }
[[expect]]
cell = "cascade"
measure = "speedup"
value = 2.0
within = 0.1
"""

put("spec", "whole", SPEC)
put("spec", "nested", "a = " + "[" * 60 + "]" * 60)
put("spec", "dotted", "a." * 60 + "b = 1\n")
put("spec", "two-models", SPEC.replace("#set sampling.temperature=0.5", "#set cell.cascade.accept.0.tau_seq=0.25"))

coco = {
    "images": [{"id": 7}, {"id": 9}],
    "annotations": [
        {"image_id": 9, "id": 1, "caption": "a red bus"},
        {"image_id": 7, "id": 2, "caption": "two \u732b on a mat"},
        {"image_id": 9, "id": 3, "caption": "a much longer caption of a bus\n"},
    ],
}
put("coco", "plain", json.dumps(coco))
put("coco", "gzipped", gzip.compress(json.dumps(coco).encode(), mtime=0))
put("coco", "instances", '{"categories": [{"id": 17, "supercategory": "animal"}], "annotations": [{"image_id": 139, "category_id": 17}]}')
put("coco", "deep", '{"annotations": ' + "[" * 200)

put("parti", "whole", "Prompt\tCategory\tChallenge\tNote\n42\tNumbers\tBasic\t\n \"a cat\tAnimals\tStyle\tx\r\n")
put("parti", "mark", b"\xef\xbb\xbfPrompt\tCategory\tChallenge\tNote\na\tb\tc\td\n")

put("parti", "geneval", '{"tag": "counting", "include": [{"class": "clock", "count": 2}], "prompt": "a photo of two clocks"}\n')
put("parti", "dpg", 'item_id,text,tuple,question_natural_language\ncups,"two cups, blue",entity - whole (cups),Are there cups?\n')
put("parti", "lines", "a red bus\na blue bus\r\n")
put("parti", "table", 'id,prompt,category\n1,"a ""quoted"", cat",x\n2,=cmd|calc,\n')
put("parti", "json", '{"id": "a/../b", "prompt": "\\u001b[31mred", "image_id": 3}\n{"prompt": "x"}\n')

f8 = lambda *xs: struct.pack(f"<{len(xs)}d", *xs)
statistics = {
    "mu": npy("<f8", "(2,)", f8(0, 1)),
    "sigma": npy("<f8", "(2, 2)", f8(1, 0, 0, 1)),
    "n": npy("<i8", "()", struct.pack("<q", 5)),
    "extractor": npy("<U2", "()", "ab".encode("utf-32-le")),
    "pixels": npy("<U1", "()", "c".encode("utf-32-le")),
}
put("arrays", "stored.npz", npz(statistics, zipfile.ZIP_STORED))
put("arrays", "deflated.npz", npz(statistics, zipfile.ZIP_DEFLATED))
put("arrays", "features.npz", npz({"feats": npy("<f4", "(2, 3)", bytes(24))}, zipfile.ZIP_DEFLATED))
put("arrays", "bomb.npz", npz({"mu": npy("<f8", "(100000,)", bytes(800000))}, zipfile.ZIP_DEFLATED))
put("arrays", "rows.npy", npy("<f4", "(3, 2)", bytes(24), version=2))
put("arrays", "columns.npy", npy("<f8", "(2, 3)", f8(*range(6)), fortran=True))
put("arrays", "huge.npy", npy("<f8", "(4611686018427387904, 4)", f8(0)))

weights = {"__metadata__": {"by": "seed"}, "a.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}
put("safetensors", "one", safetensors(weights, bytes(16)))
two = {**weights, "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]}}
put("safetensors", "two", safetensors(two, bytes(22)))
put("safetensors", "long-header", struct.pack("<Q", 1 << 60) + b"{")
index = {"metadata": {"total_size": 16}, "weight_map": {"a.weight": "../../etc/passwd", "b": "model.safetensors"}}
put("safetensors", "index", json.dumps(index))

put("picture", "rgb.png", png(5, 3, 8, 2, 15))
put("picture", "grey1.png", png(9, 3, 1, 0, 2))
put("picture", "grey16.png", png(3, 2, 16, 0, 6))
put("picture", "rgba.png", png(2, 2, 8, 6, 8))
palette = chunk(b"PLTE", bytes(range(12))) + chunk(b"tRNS", b"\x00\x80")
put("picture", "palette.png", png(6, 2, 2, 3, 2, palette))
head = struct.pack(">IIBBBBB", 13378, 13378, 8, 2, 0, 0, 0)
put("picture", "large.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head))
put("picture", "grey.pgm", b"P5 2 2 255\nabcd")
put("picture", "text.ppm", b"P3 1 1 255\n1 2 3\n")
bitmap = struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 66, 0, 0, 54, 40, 2, 2, 1, 24, 0, 16, 0, 0, 0, 0) + bytes(16)
put("picture", "rgb.bmp", bitmap)
gif = b"GIF89a\x02\x00\x02\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x02\x00\x02\x00\x00\x02\x03D\x02\x05\x00;"
put("picture", "two.gif", gif)
# Found by the target: a canvas of 20610 x 8245 about a frame of a few pixels, which took long to fill.
wide = bytes.fromhex("4749463839618250352080003fffffff0000002c010101010101000044034e7d530002027452ce5305003b")
put("picture", "canvas.gif", wide)

digest = "0" * 64
row = {
    "schema": 1, "key": "ar/a%2Fb/0", "cell": "ar", "prompt_id": "a/b", "sample": 0, "seed": "0000000000000001",
    "status": "err", "err": "it failed", "tokens": [], "tokens_digest": digest, "image": None, "image_digest": None,
    "width": 0, "height": 0, "n_tokens": 0, "nfe": 0, "n_steps": 0, "n_draft_forwards": 0, "accepted": 0,
    "emitted": 0, "skipped_steps": 0, "skipped_tokens": 0, "forced": 0, "out_of_support": 0,
    "residual_fallbacks": 0, "tvd_spent": 0.0, "tested_by_depth": [], "accepted_by_depth": [],
}
put("rows", "failed", json.dumps(row) + "\n")
put("rows", "torn", json.dumps(row) + "\n" + json.dumps(row)[:40])
put("rows", "steps", json.dumps({"schema": 1, "key": "ar/0/0", "steps": [[0, 0, 1, 1, 0]]}) + "\n")
put("rows", "newer", '{"schema": 99}\n')
put("rows", "key", "ar/%2E%2E/0")

head = {"protocol": 1, "id": "ar/1/0"}
made = {**head, "image": "1.png", "tokens": [3, 1], "forwards": 2, "draft_forwards": 1, "phases_s": {"draft": 0.5}}
put("messages", "made", json.dumps(made) + "\n")
put("messages", "refused", json.dumps({**head, "error": "\x1b[31mno"}) + "\n")
put("messages", "two", json.dumps({**head, "image": "../1.png"}) + "\nnoise\n" + json.dumps(head) + "\ntorn")

FIXTURES = HERE.parent.parent / "convert" / "tests" / "fixtures"
for path in sorted(FIXTURES.iterdir()) + sorted((FIXTURES / "fidelity").iterdir()):
    if path.suffix not in (".pt", ".pth", ".bin", ".ckpt") or path.stat().st_size > 4096:
        continue
    put("checkpoint", path.name, path.read_bytes())
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            put("checkpoint", path.name + ".pkl", archive.read(name))
