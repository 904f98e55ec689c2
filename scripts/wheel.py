#!/usr/bin/env python3
"""Builds the wheel: the Python package, the built program, its completions and its manual pages.

    scripts/wheel.py [--binary FILE] [--out FOLDER]

FILE is target/release/specimen unless given (CARGO_TARGET_DIR is respected), FOLDER is dist. `make wheel` builds the
program first. With it goes the library of CUDA graphs, where `make libtorch CUDA=1` put one next to FILE. The same program and package give the same bytes. A failure is one sentence on stderr and exit status 1.
Only the standard library is used.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from elf import without_library_path
from packing import DAY, LICENCES, ROOT, Failed, add_options, checked_version, run, shared_files, stripped

PACKAGE = ROOT / "harness" / "python" / "specimen"
NAME = "specimen-bench"
#: The library of CUDA graphs. The program looks for it next to itself.
GRAPHS = "libspecimen_graphs.so"
SUMMARY = "Speculative decoding of autoregressive image models, measured"


def main():
    """Builds the wheel and prints its path and size."""
    parser = argparse.ArgumentParser(description="Builds the wheel of the Python package and the program.")
    add_options(parser)
    given = parser.parse_args()
    try:
        wheel = build(given.binary, given.out)
    except (Failed, OSError) as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 1
    print(f"wheel: {wheel}, {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


def build(binary, out):
    """Writes the wheel of the program `binary` into the folder `out` and returns its path."""
    version = checked_version(binary)
    torch = torch_of(binary)
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"py3-none-{platform}"
    stem = f"{NAME.replace('-', '_')}-{version}"
    with tempfile.TemporaryDirectory() as scratch:
        files = {**package_files(), **program_files(binary, torch, Path(scratch))}
        files.update(graphs_files(binary, torch, Path(scratch)))
        files.update(shared_files(binary, f"{stem}.data/data", Path(scratch)))
        files.update(metadata_files(f"{stem}.dist-info", version, tag, torch))
    files[f"{stem}.dist-info/RECORD"] = (record(files, f"{stem}.dist-info/RECORD"), 0o644)
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{stem}-{tag}.whl"
    write(wheel, files)
    return wheel


def torch_of(binary):
    """The version of torch that the program was built for, by the program's own account."""
    try:
        checks = json.loads(run(binary, "doctor", "--format", "json"))["checks"]
        library = next(check for check in checks if check["name"] == "libtorch")
    except (ValueError, KeyError, TypeError, StopIteration):
        raise Failed(f"{binary}: `doctor` reports no libtorch; is it built without?") from None
    built = re.search(r"built against (\d+\.\d+\.\d+)", library["found"])
    loaded = re.match(r"(\d+\.\d+\.\d+)", library["found"])
    # A check that passes shows the version that is loaded, which is the one that it was built for.
    found = built or (loaded if library["status"] == "ok" else None)
    if not found:
        raise Failed(f"{binary} does not know which libtorch it was built for: {library['found']}; run `make build`")
    return found.group(1)


def package_files():
    """The modules of the package, by their path in the wheel."""
    modules = sorted([*PACKAGE.glob("*.py"), PACKAGE / "py.typed"])
    return {f"specimen/{path.name}": (path.read_bytes(), 0o644) for path in modules}


def program_files(binary, torch, scratch):
    """The program, stripped and without the library folder of this machine, and the torch that it needs."""
    return {
        "specimen/bin/specimen": (without_library_path(stripped(binary, scratch)), 0o755),
        "specimen/bin/torch-version": (f"{torch}\n".encode("ascii"), 0o644),
    }


def graphs_files(binary, torch, scratch):
    """The library of CUDA graphs next to the program; nothing where it was not made."""
    library = binary.parent / GRAPHS
    if not library.is_file():
        return {}
    made = re.search(rb"specimen graphs of torch (\d+\.\d+\.\d+)", library.read_bytes())
    if made is None or made.group(1).decode("ascii") != torch:
        other = made.group(1).decode("ascii") if made else "an unknown version"
        raise Failed(f"{library} was made for torch {other}, the program for {torch}; run `make libtorch CUDA=1`, or remove it")
    return {f"specimen/bin/{GRAPHS}": (stripped(library, scratch), 0o644)}


def metadata_files(folder, version, tag, torch):
    """The files that pip reads."""
    metadata = f"""Metadata-Version: 2.4
Name: {NAME}
Version: {version}
Summary: {SUMMARY}
License-Expression: MIT OR Apache-2.0
{''.join(f'License-File: {name}{chr(10)}' for name in LICENCES)}Requires-Python: >=3.9
Provides-Extra: torch
Requires-Dist: torch=={torch}; extra == "torch"
Description-Content-Type: text/markdown

{SUMMARY}. The program needs torch {torch} in the same environment: `pip install torch=={torch}`.
"""
    wheel = f"Wheel-Version: 1.0\nGenerator: specimen\nRoot-Is-Purelib: false\nTag: {tag}\n"
    texts = {
        "METADATA": metadata,
        "WHEEL": wheel,
        "entry_points.txt": "[console_scripts]\nspecimen = specimen.launcher:main\n",
    }
    files = {f"{folder}/{name}": (text.encode("utf-8"), 0o644) for name, text in texts.items()}
    for name in LICENCES:
        files[f"{folder}/licenses/{name}"] = ((ROOT / name).read_bytes(), 0o644)
    return files


def record(files, own):
    """The list of all files with their digests, as pip checks it."""
    lines = []
    for path, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{own},,\n"]).encode("utf-8")


def write(wheel, files):
    """Writes the archive aside and renames it, so that a wheel under its name is whole."""
    aside = wheel.with_suffix(".part")
    with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        # What pip reads comes last, as the format asks for.
        for path in sorted(files, key=lambda path: (".dist-info/" in path, path)):
            data, mode = files[path]
            entry = zipfile.ZipInfo(path, DAY)
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    aside.replace(wheel)


if __name__ == "__main__":
    sys.exit(main())
