"""What the wheel and the release archive have in common: the program, its completions, manual pages and licences."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt")
#: Where each shell looks for completions, below a prefix.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/specimen",
    "fish": "share/fish/vendor_completions.d/specimen.fish",
    "zsh": "share/zsh/site-functions/_specimen",
}
#: Zip has no earlier day. The date of a build is no part of what is packed.
DAY = (1980, 1, 1, 0, 0, 0)


class Failed(Exception):
    """Why nothing is packed."""


def add_options(parser):
    """The options of both scripts: the program, and the folder of the result."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    parser.add_argument("--binary", type=Path, default=target / "release" / "specimen", metavar="FILE")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="FOLDER")


def checked_version(binary):
    """The version of the workspace, of which the program must be."""
    if not binary.is_file():
        raise Failed(f"no program at {binary}; run `make build`")
    version = version_of(ROOT / "Cargo.toml")
    check_version(binary, version)
    return version


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


def stripped(binary, scratch):
    """The bytes of the program, or of a library, without what only a debugger needs."""
    strip = shutil.which("strip")
    if strip is None:
        raise Failed("no `strip` on PATH; install binutils (Debian: apt-get install binutils)")
    program = scratch / "stripped"
    ran = subprocess.run([strip, "-o", program, binary], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Failed(f"strip failed: {ran.stderr.strip()}")
    return program.read_bytes()


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
