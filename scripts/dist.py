#!/usr/bin/env python3
"""Builds the release archive: the program with every library that it needs besides glibc, so that it runs where no torch is.

    scripts/dist.py [--binary FILE] [--out FOLDER] [--licences FOLDER] [--preset N]

FILE is target/release/specimen unless given (CARGO_TARGET_DIR is respected), FOLDER is dist. `make dist` builds the
program first. The libraries are those that the loader of this machine finds for FILE; they are packed as they are.
Licence texts of libtorch are in `licences` next to the `lib` of libtorch_cpu, where `make libtorch` puts them, unless
--licences says otherwise. N is the effort of xz from 0 to 9, 6 unless given. The same files give the same bytes.
A failure is one sentence on stderr and exit status 1. Only the standard library is used.
"""

import argparse
import calendar
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import elf
from packing import DAY, LICENCES, ROOT, Failed, add_options, checked_version, shared_files, stripped

#: The library path of the packed program.
LIBRARY_PATH = "$ORIGIN/../lib"
#: What glibc consists of; a library of it works with its own loader only, so the system's are used.
GLIBC = r"(ld-linux[\w-]*|lib(c|m|mvec|dl|pthread|rt|util|resolv|anl|nsl|nss_\w+|BrokenLocale))\.so\.\d+"
#: Who made a library, by its name, and what begins the names of the folders of its licence texts.
ORIGINS = [
    (r"lib(torch|c10|shm)\w*\.so", "torch-"),
    (r"libcudart\.so\.\d+", "nvidia_cuda_runtime-"),
    (r"libcupti\.so\.\d+", "nvidia_cuda_cupti-"),
    (r"lib(stdc\+\+|gcc_s|gomp)(-\w+)?\.so\.\d+[\d.]*", "gcc"),
]
#: Where systems have the licence of GCC's libraries: Debian and its kin, then Fedora and its kin.
GCC_LICENCES = [
    ("/usr/share/doc/libgcc-s1/copyright", "/usr/share/common-licenses/GPL-3"),
    ("/usr/share/licenses/libgcc/COPYING3", "/usr/share/licenses/libgcc/COPYING.RUNTIME"),
]
MACHINES = {62: "x86_64", 183: "aarch64"}
README = """# specimen {version}
{summary}. This archive needs {machine} Linux with glibc {glibc} or newer, and nothing else: no Rust, Python or torch.
```sh
bin/specimen quickstart --limit 4    # the first experiment, on the model that is in the program
bin/specimen doctor                  # does this machine compute as it should?
bin/specimen help
```
It computes on processors; for a GPU build from source. The folder can be moved as a whole.
`share` has completions for bash, fish and zsh, and manual pages: `man -M share/man specimen`.

specimen is licensed under MIT OR Apache-2.0 (`LICENSE-MIT`, `LICENSE-APACHE`).
`THIRD-PARTY.txt` has the licences of what the program is made of; `bin/specimen licences` prints it.
Libraries in `lib` are as their publishers built them. Their licence texts are in `licences`:
{libraries}"""
SUMMARY = "Speculative decoding of autoregressive image models, measured"


def main():
    """Builds the archive and prints its path, size and what it needs."""
    parser = argparse.ArgumentParser(description="Builds the release archive of the program and its libraries.")
    add_options(parser)
    parser.add_argument("--licences", type=Path, metavar="FOLDER")
    parser.add_argument("--preset", type=int, choices=range(10), default=6, metavar="N")
    given = parser.parse_args()
    try:
        archive, glibc = build(given.binary, given.out, given.licences, given.preset)
    except (Failed, OSError) as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    print(f"dist: {archive}, {archive.stat().st_size / 1e6:.1f} MB, for glibc {glibc} or newer")
    return 0


def build(binary, out, licences, preset):
    """Writes the archive of the program `binary` into the folder `out`; its path, and the glibc that it needs."""
    if not binary.is_file():
        raise Failed(f"no program at {binary}; run `make build`")
    with binary.open("rb") as file:
        head = file.read(20)
    if not elf.is_elf(head) or head[18] not in MACHINES:
        raise Failed(f"{binary} is no program for Linux on {' or '.join(MACHINES.values())}")
    libraries = needed_libraries(binary)
    version, machine = checked_version(binary), MACHINES[head[18]]
    stem = f"specimen-{version}-{machine}-linux-gnu"
    with tempfile.TemporaryDirectory() as scratch:
        program = moved_program(binary, Path(scratch))
        files = {f"{stem}/bin/specimen": (program, 0o755)}
        files.update({f"{stem}/lib/{name}": (path, 0o644) for name, path in libraries.items()})
        files.update(shared_files(binary, stem, Path(scratch)))
    glibc = ".".join(map(str, max(map(elf.glibc, [program, *(path.read_bytes() for path in libraries.values())]))))
    origins, texts = licence_texts(libraries, licences)
    files.update({f"{stem}/licences/{place}": (path, 0o644) for place, path in texts.items()})
    files.update({f"{stem}/{name}": (ROOT / name, 0o644) for name in LICENCES})
    lines = "".join(f"- `{name}`: `{origin}`\n" for name, origin in sorted(origins.items()))
    facts = {"version": version, "machine": machine, "glibc": glibc, "libraries": lines, "summary": SUMMARY}
    files[f"{stem}/README.md"] = (README.format(**facts).encode("utf-8"), 0o644)
    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"{stem}.tar.xz"
    write(archive, files, preset)
    return archive, glibc


def moved_program(binary, scratch):
    """The program, stripped, that looks for its libraries next to the folder in which it is."""
    try:
        return elf.with_library_path(stripped(binary, scratch), LIBRARY_PATH)
    except elf.NotFitting as error:
        raise Failed(f"{binary} cannot be moved: {error}; run `make build` in a folder with a longer name") from None


def needed_libraries(binary):
    """The files of all libraries that the program needs, and that these need, by name; none of glibc.

    The loader says where they are. Who needs a library is in the files.
    """
    environment = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    ran = subprocess.run([binary.resolve()], env=environment, capture_output=True, text=True, check=False)
    places = dict(re.findall(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", ran.stdout, re.MULTILINE))
    found, open_files = {}, [binary]
    for user in open_files:
        for name in elf.needed(user.read_bytes()):
            if name in found or re.fullmatch(GLIBC, name):
                continue
            place = Path(places.get(name, "not found"))
            if not place.is_file():
                where = " and ".join(elf.library_paths(user.read_bytes())) or "the folders of the system"
                raise Failed(f"{name}, which {user} needs, is not found in {where}; run `make libtorch`, then `make build`")
            found[name] = place
            open_files.append(place)
    return found


def licence_texts(libraries, folder):
    """Where each library is from, and all licence texts of these: their files by their place in the archive."""
    if folder is None:
        torch = next((path for name, path in libraries.items() if name.startswith("libtorch")), None)
        if torch is None:
            raise Failed("the program needs no libtorch; is it built without?")
        folder = torch.parent.parent / "licences"
    origins, texts = {}, {}
    for name in libraries:
        begin = next((begin for pattern, begin in ORIGINS if re.fullmatch(pattern, name)), None)
        if begin is None:
            raise Failed(f"where {name} is from is unknown; add its licence to ORIGINS in {Path(__file__).name}")
        found = gcc_texts() if begin == "gcc" else texts_below(folder, begin)
        if not found:
            remedy = "install the package that has it" if begin == "gcc" else f"remove {folder.parent} and run `make libtorch`"
            where = "the places of this system" if begin == "gcc" else f"{folder}/{begin}*"
            raise Failed(f"the licence of {name} is not in {where}; {remedy}, or give a folder of licences by --licences")
        origins[name] = f"licences/{next(iter(found)).split('/')[0]}"
        texts.update(found)
    return origins, texts


def texts_below(folder, begin):
    """All files of the folders in `folder` whose names begin so."""
    found = sorted(path for top in folder.glob(f"{begin}*") for path in top.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path for path in found}


def gcc_texts():
    """The licence of GCC's libraries, with its exception for programs that use them."""
    for places in GCC_LICENCES:
        paths = [Path(place) for place in places]
        if all(path.is_file() for path in paths):
            return {f"gcc/{path.name}": path for path in paths}
    return {}


def write(archive, files, preset):
    """Writes the archive aside and renames it, so that an archive under its name is whole."""
    aside = archive.with_suffix(".part")
    with lzma.open(aside, "wb", preset=preset) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for place in sorted(files):
            data, mode = files[place]
            data = data if isinstance(data, bytes) else data.read_bytes()
            entry = tarfile.TarInfo(place)
            entry.size, entry.mode, entry.mtime = len(data), mode, calendar.timegm(DAY)
            tar.addfile(entry, io.BytesIO(data))
    aside.replace(archive)


if __name__ == "__main__":
    sys.exit(main())
