#!/usr/bin/env python3
"""Builds the wheel: the Python package, the built program, its completions and its manual pages.

    scripts/wheel.py [--binary FILE] [--out FOLDER]

FILE is target/release/specimen unless given (CARGO_TARGET_DIR is respected), FOLDER is dist. `make wheel` builds the
program first. The same program and package give the same bytes. A failure is one sentence on stderr and exit status 1.
Only the standard library is used.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "harness" / "python" / "specimen"
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
NAME = "specimen-bench"
SUMMARY = "Speculative decoding of autoregressive image models, measured"
#: Where each shell looks for completions, below a prefix.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/specimen",
    "fish": "share/fish/vendor_completions.d/specimen.fish",
    "zsh": "share/zsh/site-functions/_specimen",
}
#: Zip has no earlier day. The date of a build is no part of a wheel.
DAY = (1980, 1, 1, 0, 0, 0)


class Failed(Exception):
    """Why there is no wheel."""


def main():
    """Builds the wheel and prints its path and size."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    parser = argparse.ArgumentParser(description="Builds the wheel of the Python package and the program.")
    parser.add_argument("--binary", type=Path, default=target / "release" / "specimen", metavar="FILE")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="FOLDER")
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
    if not binary.is_file():
        raise Failed(f"no program at {binary}; run `make build`")
    version = version_of(ROOT / "Cargo.toml")
    check_version(binary, version)
    torch = torch_of(binary)
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"py3-none-{platform}"
    stem = f"{NAME.replace('-', '_')}-{version}"
    with tempfile.TemporaryDirectory() as scratch:
        files = {**package_files(), **program_files(binary, torch, Path(scratch))}
        files.update(shared_files(binary, f"{stem}.data/data", Path(scratch)))
        files.update(metadata_files(f"{stem}.dist-info", version, tag, torch))
    files[f"{stem}.dist-info/RECORD"] = (record(files, f"{stem}.dist-info/RECORD"), 0o644)
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{stem}-{tag}.whl"
    write(wheel, files)
    return wheel


def version_of(manifest):
    """The version of the workspace."""
    section = manifest.read_text(encoding="utf-8").split("[workspace.package]")[-1]
    found = re.search(r'^version\s*=\s*"([^"]+)"', section, re.MULTILINE)
    if not found:
        raise Failed(f"{manifest} has no version under [workspace.package]")
    return found.group(1)


def run(binary, *words):
    """What the program answers; its exit status does not count."""
    try:
        ran = subprocess.run([binary, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise Failed(f"{binary} cannot be started: {error.strerror}") from None
    if not ran.stdout and ran.stderr:
        raise Failed(f"`{binary} {' '.join(words)}` failed: {ran.stderr.strip()}")
    return ran.stdout


def check_version(binary, version):
    """Fails unless the program is of this version."""
    said = " ".join(run(binary, "--version").split()[:2])
    if said != f"specimen {version}":
        raise Failed(f"{binary} is {said or 'of no version'}, Cargo.toml says {version}; run `make build`")


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
    stripped = scratch / "specimen"
    strip = shutil.which("strip")
    if strip is None:
        raise Failed("no `strip` on PATH; install binutils (Debian: apt-get install binutils)")
    ran = subprocess.run([strip, "-o", stripped, binary], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Failed(f"strip failed: {ran.stderr.strip()}")
    program = without_library_path(stripped.read_bytes())
    return {
        "specimen/bin/specimen": (program, 0o755),
        "specimen/bin/torch-version": (f"{torch}\n".encode("ascii"), 0o644),
    }


def without_library_path(program):
    """An ELF program without DT_RPATH and DT_RUNPATH; anything else as it is.

    The loader then takes libraries from LD_LIBRARY_PATH and the system only.
    """
    if program[:6] != b"\x7fELF\x02\x01":
        return program
    start, size, n = struct.unpack_from("<Q14xHH", program, 32)
    headers = [struct.unpack_from("<IIQQQQQQ", program, start + at * size) for at in range(n)]
    # A header has type, flags, offset, two addresses, bytes in the file. 2 is PT_DYNAMIC.
    dynamic = next((header for header in headers if header[0] == 2), None)
    if dynamic is None:
        return program
    at, end = dynamic[2], dynamic[2] + dynamic[5]
    entries = [program[place : place + 16] for place in range(at, end, 16)]
    # 15 is DT_RPATH, 29 DT_RUNPATH.
    kept = [entry for entry in entries if struct.unpack_from("<q", entry)[0] not in (15, 29)]
    padded = b"".join(kept).ljust(end - at, b"\0")
    return program[:at] + padded + program[end:]


def shared_files(binary, prefix, scratch):
    """Completions and manual pages, made by the program."""
    files = {}
    for shell, place in COMPLETIONS.items():
        files[f"{prefix}/{place}"] = (run(binary, "completions", shell).encode("utf-8"), 0o644)
    pages = scratch / "man"
    run(binary, "man", str(pages), "--quiet")
    found = sorted(pages.glob("*.1"))
    if not found:
        raise Failed(f"`{binary} man` wrote no page")
    files.update({f"{prefix}/share/man/man1/{page.name}": (page.read_bytes(), 0o644) for page in found})
    return files


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
