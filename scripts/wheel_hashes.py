#!/usr/bin/env python3
"""Writes a list of wheels with their SHA-256, as pip takes them with --require-hashes: one line a wheel that a Python of 3.10 to
3.14 on x86-64 Linux would get. What only an older Python needs is named, since pip looks at the Python that it runs in.

usage: python scripts/wheel_hashes.py OUT REQUIREMENT… [--no-deps]      (pip 25 or later; nothing is downloaded but metadata)

Made so:
    for v in 2.11.0 2.12.0 2.13.0; do scripts/wheel_hashes.py scripts/wheels/torch-$v.txt torch==$v --no-deps; done
    scripts/wheel_hashes.py scripts/wheels/torch-2.13.0-cuda.txt torch==2.13.0
    scripts/wheel_hashes.py scripts/wheels/cuda-libraries.txt 'nvidia-cuda-runtime>=13,<14' 'nvidia-cuda-cupti>=13,<14' --no-deps
    scripts/wheel_hashes.py scripts/wheels/cuda-headers.txt 'nvidia-cuda-runtime>=13,<14' 'nvidia-cuda-crt>=13,<14' --no-deps
    scripts/wheel_hashes.py scripts/wheels/python-tests.txt 'pytest>=7' pandas polars exceptiongroup tomli typing-extensions
    scripts/wheel_hashes.py scripts/wheels/pytest.txt 'pytest>=7' exceptiongroup tomli typing-extensions
    scripts/wheel_hashes.py scripts/wheels/lpips.txt lpips==0.1.4 --no-deps
"""
import collections, json, pathlib, subprocess, sys, tempfile

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)] + [f"manylinux{old}_x86_64" for old in ("2014", "2010", "1")]


def resolved(python, wanted):
    """Name, version and SHA-256 of each wheel that pip would install for this Python."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        platforms = [part for platform in PLATFORMS for part in ("--platform", platform)]
        subprocess.run([sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", report,
                        "--only-binary=:all:", "--python-version", python, *platforms, "--target", folder, *wanted], check=True)
        for one in json.loads(report.read_text())["install"]:
            yield one["metadata"]["name"].lower(), one["metadata"]["version"], one["download_info"]["archive_info"]["hashes"]["sha256"]


def main(out, *wanted):
    pythons, hashes = collections.defaultdict(list), collections.defaultdict(set)
    for python in PYTHONS:
        for name, version, sha256 in resolved(python, wanted):
            pythons[name, version].append(python)
            hashes[name, version].add(sha256)
    lines = ["# Made by scripts/wheel_hashes.py " + " ".join(wanted)]
    for (name, version), of in sorted(pythons.items()):
        marker = "" if of == PYTHONS else " ; " + " or ".join(f'python_version == "{python}"' for python in of)
        lines += [f"{name}=={version}{marker} \\", *(f"    --hash=sha256:{sha256} \\" for sha256 in sorted(hashes[name, version]))]
        lines[-1] = lines[-1].removesuffix(" \\")
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


main(*sys.argv[1:])
