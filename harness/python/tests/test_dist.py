"""The release archive that `scripts/dist.py` builds: it runs where there are glibc's libraries and nothing else."""

import fnmatch
import os
import re
import subprocess
import sys
import tarfile

import dist
import elf
import pytest
from conftest import ROOT, program_path

SCRIPT = ROOT / "scripts" / "dist.py"


def build(*words, **environment):
    words = [sys.executable, SCRIPT, "--preset", "0", *map(str, words)]
    environment = {**os.environ, **environment}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def licences(tmp_path_factory):
    """A folder of licence texts as `make libtorch` fills it."""
    folder = tmp_path_factory.mktemp("licences")
    for name in ("torch-2.13.0/LICENSE", "torch-2.13.0/third_party/fmt/LICENSE", "nvidia_cuda_runtime-13.0/License.txt",
                 "nvidia_cuda_cupti-13.0/License.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"text of {name}\n", encoding="ascii")
    return folder


@pytest.fixture(scope="module")
def archive(licences, tmp_path_factory):
    """The archive of the program under test."""
    if not dist.gcc_texts():
        pytest.skip("the licence texts of GCC's libraries")
    out = tmp_path_factory.mktemp("dist")
    ran = build("--binary", program_path(), "--out", out, "--licences", licences)
    assert ran.returncode == 0, ran.stderr
    (path,) = out.iterdir()
    assert re.fullmatch(r"specimen-\d+\.\d+\.\d+-\w+-linux-gnu\.tar\.xz", path.name)
    assert re.fullmatch(rf"dist: {re.escape(str(path))}, [\d.]+ MB, for glibc 2\.\d+ or newer\n", ran.stdout)
    return path


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory):
    """The folder that the archive has."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as tar:
        assert {member.mtime for member in tar} == {315532800}
        assert [member.name for member in tar if not member.isfile() or member.name.startswith(("/", "."))] == []
    subprocess.run(["tar", "-xJf", archive, "-C", folder], check=True)
    (top,) = folder.iterdir()
    return top


def test_the_recipes_of_containers_name_the_archive(archive):
    for recipe, pattern in (("Dockerfile", r"^ADD (\S+) /opt/$"), ("apptainer.def", r"^ +tar -xJf dist/(\S+) -C ")):
        (name,) = re.findall(pattern, (ROOT / "packaging" / recipe).read_text(encoding="utf-8"), re.MULTILINE)
        assert fnmatch.fnmatch(archive.name, name), recipe


def test_every_library_that_is_needed_is_packed_or_of_glibc(unpacked):
    libraries = {path.name: path.read_bytes() for path in (unpacked / "lib").iterdir()}
    assert {"libtorch_cpu.so", "libc10.so", "libstdc++.so.6", "libgcc_s.so.1"} <= set(libraries)
    program = (unpacked / "bin" / "specimen").read_bytes()
    needed = {name for file in [program, *libraries.values()] for name in elf.needed(file)}
    assert {name for name in needed if not re.fullmatch(dist.GLIBC, name)} == set(libraries)
    assert elf.library_paths(program) == ["$ORIGIN/../lib"]
    assert len(program) <= program_path().stat().st_size


def test_it_has_licences_completions_manual_pages_and_a_page_that_says_what_it_needs(unpacked, licences):
    ends = ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt", "share/man/man1/specimen.1", "share/zsh/site-functions/_specimen",
            "licences/torch-2.13.0/third_party/fmt/LICENSE")
    for end in ends:
        assert (unpacked / end).is_file(), end
    page = (unpacked / "README.md").read_text(encoding="utf-8")
    assert re.search(r"with glibc 2\.\d+ or newer", page)
    for library in (unpacked / "lib").iterdir():
        (folder,) = re.findall(rf"^- `{re.escape(library.name)}`: `(.+)`$", page, re.MULTILINE)
        assert any((unpacked / folder).rglob("*")), library.name
    assert "Runtime Library Exception" in "".join(
        path.read_text(encoding="utf-8") for path in (unpacked / "licences" / "gcc").iterdir()
    )


def test_libraries_that_the_environment_names_do_not_get_in(unpacked, tmp_path):
    (tmp_path / "libc10.so").write_bytes(b"no library")
    (tmp_path / "libtorch_cpu.so").write_bytes(b"no library")
    expected = subprocess.run([program_path(), "--version"], capture_output=True, text=True, check=True).stdout
    environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    ran = subprocess.run([unpacked / "bin" / "specimen", "--version"], env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, expected), ran.stderr


def test_the_quickstart_runs_in_an_empty_root(archive):
    ran = subprocess.run(
        [ROOT / "scripts" / "bare-root.sh", archive, "quickstart", "--limit", "1"], capture_output=True, text=True
    )
    if "namespaces" in ran.stderr:
        pytest.skip("root, or user namespaces")
    assert ran.returncode == 0, ran.stderr
    (others,) = re.findall(r"^bare-root: besides the archive: (.+)$", ran.stdout, re.MULTILINE)
    assert all(re.fullmatch(dist.GLIBC, place.rsplit("/", 1)[1]) for place in others.split()), others
    assert "sd-chain3" in ran.stdout and "exit status 0" in ran.stdout


def test_the_same_files_give_the_same_bytes(tmp_path):
    files = {f"a/{at}": (bytes([at]) * 1000, 0o644) for at in range(9)}
    for name, these in (("one", files), ("two", dict(reversed(list(files.items()))))):
        dist.write(tmp_path / f"{name}.tar.xz", these, 1)
    assert (tmp_path / "one.tar.xz").read_bytes() == (tmp_path / "two.tar.xz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.tar.xz", "two.tar.xz"]


def test_what_cannot_be_packed_is_refused_in_a_sentence_and_leaves_no_archive(licences, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n", encoding="ascii")
    lost = tmp_path / "lost"
    lost.write_bytes(elf.without_library_path(program_path().read_bytes()))
    lost.chmod(0o755)
    poor = tmp_path / "poor"
    (poor / "torch-2.13.0").mkdir(parents=True)
    cases = [
        (tmp_path / "absent", licences, "no program at "),
        (script, licences, "is no program for Linux on "),
        (lost, licences, "libtorch_cpu.so, which "),
        (program_path(), poor, "the licence of lib"),
    ]
    for binary, folder, expected in cases:
        out = tmp_path / "out"
        ran = build("--binary", binary, "--out", out, "--licences", folder, LD_LIBRARY_PATH="")
        assert (ran.returncode, ran.stdout) == (1, ""), ran.stdout
        assert ran.stderr.startswith("dist: ") and expected in ran.stderr, (expected, ran.stderr)
        assert ran.stderr.count("\n") == 1 and not out.exists(), ran.stderr


def test_a_library_path_is_written_only_where_it_fits():
    program = program_path().read_bytes()
    (old,) = elf.library_paths(program)
    assert elf.library_paths(elf.with_library_path(program, "$ORIGIN")) == ["$ORIGIN"]
    assert elf.library_paths(elf.without_library_path(program)) == []
    with pytest.raises(elf.NotFitting, match="is shorter than"):
        elf.with_library_path(program, old + "/more")
    with pytest.raises(elf.NotFitting, match="0 library paths"):
        elf.with_library_path(elf.without_library_path(program), "$ORIGIN")


def test_a_file_that_is_no_elf_program_stays_as_it_is():
    for data in (b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(64)):
        assert elf.without_library_path(data) == data
