"""The wheel that `scripts/wheel.py` builds: installed by pip, it runs the quickstart away from the repository."""

import base64
import csv
import hashlib
import importlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import packing
import pytest
from conftest import ROOT, blocks, program_path

SCRIPT = ROOT / "scripts" / "wheel.py"


@pytest.fixture(scope="module")
def script():
    """The script as a module."""
    return importlib.import_module("wheel")


def build(*words):
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the program under test."""
    out = tmp_path_factory.mktemp("dist")
    ran = build("--binary", program_path(), "--out", out)
    assert ran.returncode == 0, ran.stderr
    (path,) = out.iterdir()
    assert re.fullmatch(r"specimen_bench-\d+\.\d+\.\d+-py3-none-linux_\w+\.whl", path.name)
    assert ran.stdout.startswith(f"wheel: {path}, ")
    return path


@pytest.fixture(scope="module")
def libtorch(program):
    """The libtorch that the program under test has loaded: version and lib folder."""
    checks = json.loads(program("doctor", "--format", "json"))["checks"]
    found = next(check["found"] for check in checks if check["name"] == "libtorch")
    version, folder = re.match(r"(\S+) from (.+)", found).groups()
    return version, Path(folder) / "lib"


@pytest.fixture(scope="module")
def installed(wheel, libtorch, tmp_path_factory):
    """Starts the installed command with a torch in its environment that has the libtorch under test."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip")
    prefix = tmp_path_factory.mktemp("prefix")
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed"]
    subprocess.run([*words, "--disable-pip-version-check", "--prefix", prefix, wheel], check=True)
    (site,) = {path.parent for path in prefix.rglob("specimen") if (path / "__init__.py").is_file()}
    version, lib = libtorch
    facts = site / f"torch-{version}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n", encoding="ascii")
    (site / "torch").mkdir()
    (site / "torch" / "lib").symlink_to(lib)
    # The program itself is in the package's own folder `bin`.
    (command,) = (path for path in prefix.rglob("bin/specimen") if path.parents[1].name != "specimen")
    kept = {name: value for name, value in os.environ.items() if name not in ("SPECIMEN_BIN", "LD_LIBRARY_PATH")}

    def run(*words, **how):
        environment = {**kept, "PYTHONPATH": str(site)}
        return subprocess.run([command, *words], env=environment, capture_output=True, text=True, check=False, **how)

    run.site, run.prefix = site, prefix
    return run


def test_the_page_names_the_target_that_builds_it(page):
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    assert [line.split()[1] for line in lines if line.startswith("make ")] == ["wheel"]
    assert "\nwheel: build " in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_list_of_files_is_right_and_complete(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = list(csv.reader(io.StringIO(archive.read(record).decode("utf-8"))))
        assert sorted(path for path, _, _ in rows) == sorted(names) and len(set(names)) == len(names)
        for path, digest, size in rows:
            if path != record:
                data = archive.read(path)
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                assert (digest, int(size)) == (f"sha256={expected}", len(data)), path
        modes = {name: archive.getinfo(name).external_attr >> 16 for name in names}
        assert [name for name, mode in modes.items() if mode & 0o111] == ["specimen/bin/specimen"]


def test_it_has_the_package_the_licences_completions_and_manual_pages(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {f"specimen/{path.name}" for path in (ROOT / "harness/python/specimen").iterdir() if path.is_file()}
    assert len(modules) > 9 and modules <= names
    ends = ("licenses/LICENSE-MIT", "licenses/LICENSE-APACHE", "licenses/THIRD-PARTY.txt",
            "man1/specimen.1", "man1/specimen-run.1", "_specimen",
            "completions/specimen", "specimen.fish", "bin/torch-version", "entry_points.txt")
    for end in ends:
        assert any(name.endswith(end) for name in names), end


def test_the_library_of_graphs_is_packed_next_to_the_program_if_it_is_for_the_same_torch(script, tmp_path):
    binary = tmp_path / "specimen"
    assert script.graphs_files(binary, "2.13.0", tmp_path) == {}
    source = tmp_path / "graphs.c"
    source.write_text('const char *torch(void) { return "specimen graphs of torch 2.13.0"; }\n', encoding="ascii")
    library = tmp_path / "libspecimen_graphs.so"
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "-o", library, source], check=True)
    ((place, (data, mode)),) = script.graphs_files(binary, "2.13.0", tmp_path).items()
    assert (place, mode) == ("specimen/bin/libspecimen_graphs.so", 0o644)
    assert b"specimen graphs of torch 2.13.0" in data and len(data) < library.stat().st_size
    with pytest.raises(script.Failed, match=r"was made for torch 2\.13\.0, the program for 2\.11\.0; run `make libtorch CUDA=1`"):
        script.graphs_files(binary, "2.11.0", tmp_path)
    library.write_bytes(b"no library")
    with pytest.raises(script.Failed, match="made for torch an unknown version"):
        script.graphs_files(binary, "2.13.0", tmp_path)


def test_the_same_files_give_the_same_bytes(script, wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        infos = archive.infolist()
        files = {info.filename: (archive.read(info), (info.external_attr >> 16) & 0o777) for info in infos}
        assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    again = tmp_path / wheel.name
    script.write(again, dict(reversed(list(files.items()))))
    assert again.read_bytes() == wheel.read_bytes()


def test_the_program_is_stripped_and_looks_for_libraries_where_it_is_told_only(wheel, tmp_path):
    data = zipfile.ZipFile(wheel).read("specimen/bin/specimen")
    assert len(data) <= program_path().stat().st_size
    program = tmp_path / "specimen"
    program.write_bytes(data)
    program.chmod(0o755)
    bare = {"PATH": os.environ["PATH"]}
    ran = subprocess.run([program, "--version"], env=bare, capture_output=True, text=True, check=False)
    assert ran.returncode == 127 and "cannot open shared object file" in ran.stderr


def test_the_installed_command_is_the_program(installed):
    expected = subprocess.run([program_path(), "--version"], capture_output=True, text=True, check=True).stdout
    ran = installed("--version")
    assert (ran.returncode, ran.stdout) == (0, expected), ran.stderr
    assert installed("fid", "absent", "absent").returncode == 4
    assert len(list(installed.prefix.rglob("share/man/man1/specimen.1"))) == 1


def test_the_quickstart_runs_away_from_the_repository(installed, tmp_path):
    ran = installed("quickstart", "--limit", "1", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "sd-chain3" in ran.stdout
    run = tmp_path / "results" / "runs" / "quickstart"
    assert (run / "report" / "index.html").is_file()
    start = f"import specimen; print(len(specimen.load({str(run)!r}, frame='rows').records))"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed.site)}
    found = subprocess.run([sys.executable, "-c", start], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "8\n"


#: What a program answers that is to be packed.
DOCTOR = 'echo \'{"checks": [{"name": "libtorch", "status": "STATUS", "found": "FOUND"}]}\''


def fake(folder, version, status="ok", found="2.13.0 from there", doctor=DOCTOR):
    """A program of this version that answers `doctor` so."""
    doctor = doctor.replace("STATUS", status).replace("FOUND", found)
    path = folder / "specimen"
    version = f'echo "specimen {version} (commit unknown)"'
    path.write_text(f"#!/bin/sh\ncase $1 in --version) {version};; doctor) {doctor};; esac\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_what_cannot_be_packed_is_refused_in_a_sentence_and_leaves_no_wheel(tmp_path):
    version, out = packing.version_of(ROOT / "Cargo.toml"), tmp_path / "dist"
    cases = [
        (lambda: tmp_path / "absent", "no program at "),
        (lambda: fake(tmp_path, "0.0.9"), f"is specimen 0.0.9, Cargo.toml says {version}; run `make build`"),
        (lambda: fake(tmp_path, version, doctor="echo '{}'"), "`doctor` reports no libtorch"),
        (lambda: fake(tmp_path, version, doctor="echo broken >&2"), "failed: broken"),
        (lambda: fake(tmp_path, version, "note", "built against unknown, loaded from there"), "which libtorch it was"),
        (lambda: fake(tmp_path, version), "strip failed: "),
    ]
    for make, expected in cases:
        ran = build("--binary", make(), "--out", out)
        assert (ran.returncode, ran.stdout) == (1, ""), ran.stdout
        assert ran.stderr.startswith("wheel: ") and expected in ran.stderr, (expected, ran.stderr)
        assert not out.exists()


def test_the_version_of_torch_is_the_one_that_the_program_was_built_for(script, tmp_path):
    cases = [
        ("ok", "2.13.0+cpu from there", "2.13.0"),
        ("failed", "2.12.1 from there, built against 2.13.0", "2.13.0"),
        ("note", "built against 2.11.0, loaded from there", "2.11.0"),
    ]
    for status, found, expected in cases:
        assert script.torch_of(fake(tmp_path, "0.1.0", status, found)) == expected
