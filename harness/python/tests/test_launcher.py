"""The command of the wheel: which torch it starts the program with, and what it says without one."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import PACKAGE

#: Prints its name, its arguments and its library path, and ends with a code of its own.
PROGRAM = '#!/bin/sh\nprintf "%s\\n" "$@" "$LD_LIBRARY_PATH" "$KEPT"\nexit 5\n'


@pytest.fixture
def site(tmp_path):
    """A folder of packages with an installed wheel and no torch."""
    folder = tmp_path / "site"
    shutil.copytree(PACKAGE / "specimen", folder / "specimen", ignore=shutil.ignore_patterns("__pycache__"))
    program = folder / "specimen" / "bin" / "specimen"
    program.parent.mkdir()
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    (program.parent / "torch-version").write_text("2.13.0\n", encoding="ascii")
    return folder


def install_torch(site, version):
    """Puts the traces of a torch there, with its lib folder."""
    facts = site / f"torch-{version}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n", encoding="ascii")
    lib = site / "torch" / "lib"
    lib.mkdir(parents=True)
    (lib / "libtorch_cpu.so").touch()
    # Nothing imports it.
    (site / "torch" / "__init__.py").write_text("raise SystemExit('torch was imported')\n", encoding="ascii")
    return lib


def launch(site, *words, **variables):
    """Starts the command with the packages of `site` alone."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    start = "from specimen.launcher import main; main()"
    return subprocess.run(
        [sys.executable, "-S", "-c", start, *words],
        env={**kept, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("version", ["2.13.0", "2.13.0+cpu", "2.13.0+cu130"])
def test_the_program_gets_the_arguments_and_the_libraries_of_torch(site, version):
    lib = install_torch(site, version)
    ran = launch(site, "run", "a b.toml", "--limit=4", LD_LIBRARY_PATH="", KEPT="yes")
    assert ran.stderr == ""
    assert (ran.returncode, ran.stdout.splitlines()) == (5, ["run", "a b.toml", "--limit=4", str(lib), "yes"])


def test_a_library_path_that_is_set_comes_after_torchs_and_nothing_is_there_twice(site):
    lib = install_torch(site, "2.13.0")
    ran = launch(site, LD_LIBRARY_PATH=f"/a::{lib}:/b")
    assert ran.stdout.splitlines()[0] == f"{lib}:/a:/b"


def check_refused(ran, *parts):
    """The command ends as for a machine that lacks something, with one line that has these parts."""
    assert (ran.returncode, ran.stdout) == (6, "")
    assert ran.stderr.startswith("error: ") and ran.stderr.count("\n") == 1, ran.stderr
    for part in parts:
        assert part in ran.stderr, ran.stderr


def test_no_torch_is_named_with_the_one_to_install(site):
    check_refused(launch(site), "needs torch 2.13.0 and this Python has no torch", f"{sys.executable} -m pip install torch==2.13.0`")


@pytest.mark.parametrize("version", ["2.12.1", "2.13.1", "2.14.0+cpu", "1.13.0", "2.13"])
def test_another_torch_is_named_with_the_one_to_install(site, version):
    install_torch(site, version)
    check_refused(launch(site), "built for torch 2.13.0", f"has torch {version};", "pip install torch==2.13.0`")


def test_a_torch_without_libraries_is_named_with_the_folder(site):
    lib = install_torch(site, "2.13.0")
    (lib / "libtorch_cpu.so").unlink()
    check_refused(launch(site), f"no libtorch_cpu.so in {lib}", "--force-reinstall torch==2.13.0`")


def test_a_package_without_a_program_says_so(site):
    (site / "specimen" / "bin" / "specimen").unlink()
    check_refused(launch(site), "this installation has no program; install the wheel")


def test_a_damaged_installation_is_named(site):
    install_torch(site, "2.13.0")
    (site / "specimen" / "bin" / "specimen").chmod(0o644)
    if os.access(site / "specimen" / "bin" / "specimen", os.X_OK):
        pytest.fail("a file without the bit is executable here")
    check_refused(launch(site), "cannot be started: Permission denied")
    (site / "specimen" / "bin" / "torch-version").unlink()
    check_refused(launch(site), "torch-version: cannot be read", "install the wheel again")


def test_the_package_asks_the_program_of_the_wheel(site):
    lib = install_torch(site, "2.13.0")
    program = site / "specimen" / "bin" / "specimen"
    program.write_text('#!/bin/sh\necho "{\\"error\\": {\\"message\\": \\"$LD_LIBRARY_PATH\\"}}" >&2\nexit 4\n')
    start = "import specimen\ntry:\n    specimen.fid('a', 'b')\nexcept specimen.Error as e:\n    print(e.code, e)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-S", "-c", start]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout == f"4 {lib}\n", ran.stderr
