#!/usr/bin/env python3
"""Writes THIRD-PARTY.txt: every package that the program is made of, with its licence, and the texts of these licences.

    scripts/notices.py

The packages are those of `cargo tree` for the program, the texts are files of the packages as they were published. Of a
package that offers MIT and other licences the text of MIT is taken. Cargo.lock must be up to date, and the packages
fetched (`cargo fetch`). A failure is one sentence on stderr and exit status 1. Only the standard library is used.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "THIRD-PARTY.txt"
TARGET = "x86_64-unknown-linux-gnu"
#: Names of files with licence texts.
NAMES = re.compile(r"(licen[cs]es?|copying|copyright|notice|unlicense)([-._]|$)", re.IGNORECASE)
#: Folders of a package that no part of the program is made of.
ASIDE = {"tests", "test", "examples", "programs", "contrib", "benches"}
#: The sentence by which the text of the MIT licence is recognised.
MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy"
HEAD = """Third-party software in the program `specimen`

specimen itself is licensed under MIT OR Apache-2.0. The program contains the packages that are listed here. Behind each
name are its version, its licence as its authors state it, and the number of each of its texts below. A package that is
published without a text has the one of the licence that it names.
This software is based in part on the work of the Independent JPEG Group.
libtorch, which the program is linked with, has notices of its own.

Packages
"""
RUST = ("Rust standard library", "MIT OR Apache-2.0", "The Rust Project Developers (see https://thanks.rust-lang.org)")


class Failed(Exception):
    """Why nothing was written."""


def main():
    """Writes the file and prints its counts."""
    try:
        packages = sorted(packages_of_the_program(), key=lambda package: (package["name"], package["version"]))
        text, n_texts = notices(packages)
    except (Failed, OSError) as error:
        print(f"notices: {error}", file=sys.stderr)
        return 1
    RESULT.write_text(text, encoding="utf-8")
    print(f"notices: {RESULT}, {len(packages)} packages, {n_texts} texts")
    return 0


def cargo(*words):
    """What cargo answers."""
    words = [os.environ.get("CARGO", "cargo"), *words, "--locked", "--offline"]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Failed(f"`{' '.join(words)}` failed: {ran.stderr.strip().splitlines()[-1]}; `cargo fetch` may help")
    return ran.stdout


def packages_of_the_program():
    """The published packages that the program is made of, as `cargo metadata` describes them."""
    tree = cargo("tree", "--package", "specimen-cli", "--edges", "normal", "--target", TARGET, "--prefix", "none")
    # A line is: name, version, and what is of no interest here.
    used = {tuple(line.replace(" v", " ", 1).split()[:2]) for line in tree.splitlines() if line}
    described = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", TARGET))["packages"]
    return [one for one in described if one["source"] and (one["name"], one["version"]) in used]


def notices(packages):
    """The text of the file, and the number of licence texts in it."""
    lines, texts = [], {}
    for package in packages:
        expression, folder = package["license"], Path(package["manifest_path"]).parent
        if not expression:
            raise Failed(f"{package['name']} {package['version']} states no licence; look at it before it comes in")
        found = texts_of(folder, expression) or [stand_in(package["name"], expression, package["authors"])]
        numbers = sorted({texts.setdefault(" ".join(text.split()), (len(texts) + 1, text))[0] for text in found})
        lines.append(f"{package['name']} {package['version']} ({expression}): {', '.join(map(str, numbers))}\n")
    name, expression, authors = RUST
    rust = stand_in(name, expression, [authors])
    texts[rust] = (len(texts) + 1, rust)
    lines.append(f"\n{name} ({expression}): {len(texts)}\n")
    bodies = [f"\n{'=' * 20} {number} {'=' * 20}\n{text.strip()}\n" for number, text in texts.values()]
    return HEAD + "".join(lines) + "".join(bodies), len(texts)


def texts_of(folder, expression):
    """The licence texts among the files of a package; one of several licences where one may be chosen."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and NAMES.match(path.name))
    files = [path for path in files if path.suffix not in (".rs", ".c", ".h", ".py")]
    files = [path for path in files if not ASIDE & set(path.relative_to(folder).parts[:-1])]
    texts = [(path, path.read_text(encoding="utf-8", errors="replace")) for path in files]
    if " AND " not in expression and "MIT" in re.split(r" OR |\s*/\s*", expression):
        chosen = [(path, text) for path, text in texts if path.parent != folder or MIT in " ".join(text.split())]
        texts = chosen if any(path.parent == folder for path, _ in chosen) else texts
    return list(dict.fromkeys(normal_lines(text) for _, text in texts))


def normal_lines(text):
    """A text with line ends of one kind and nothing behind the last word of a line."""
    return "\n".join(line.rstrip() for line in text.replace("\r", "").splitlines()).strip("\n")


def stand_in(name, expression, authors):
    """The text of a licence that a package names and has no file of: this project's own, with the package's authors."""
    if "MIT" in expression:
        ours = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8")
        holders = ", ".join(re.sub(r"\s*<.*?>", "", author) for author in authors) or f"the authors of {name}"
        text, n = re.subn(r"^Copyright .*$", f"Copyright (c) {holders} ({name})", ours, count=1, flags=re.MULTILINE)
        if n == 1:
            return text
    if "Apache-2.0" in expression:
        return (ROOT / "LICENSE-APACHE").read_text(encoding="utf-8")
    raise Failed(f"{name} has no licence text, and there is none here for {expression}; look at it before it comes in")


if __name__ == "__main__":
    sys.exit(main())
