"""The command ``specimen`` of the wheel: starts the program with the libtorch of this environment's torch.

torch is found by its metadata and is not imported.
"""

import importlib.metadata
import os
import shlex
import sys
from pathlib import Path
from typing import Dict, NoReturn

from specimen.errors import Error

_FOLDER = Path(__file__).resolve().parent / "bin"
#: The program, where this package is a wheel with one.
BINARY = _FOLDER / "specimen"
#: The version of torch that the program was built for, as in `2.13.0`.
BUILT_FOR = _FOLDER / "torch-version"
#: Exit code for a machine that lacks something.
NOT_HERE = 6
#: Exists in every lib folder of torch that the program can use.
_LIBRARY = "libtorch_cpu.so"
_PATH = "LD_LIBRARY_PATH"


def main() -> NoReturn:
    """Replaces this process by the program."""
    try:
        if not BINARY.is_file():
            raise Error("this installation has no program; install the wheel that `make wheel` builds")
        found = environment()
        os.execve(BINARY, ["specimen", *sys.argv[1:]], found)
    except OSError as error:
        _fail(f"{BINARY}: cannot be started: {error.strerror}")
    except Error as error:
        _fail(str(error))


def environment() -> Dict[str, str]:
    """The variables of this process, with torch's libraries before all others. Raises ``Error`` without a torch."""
    libraries = str(torch_libraries(wanted_version()))
    before = os.environ.get(_PATH, "")
    # Workers are started by the program and inherit it.
    paths = [libraries, *(path for path in before.split(os.pathsep) if path and path != libraries)]
    return {**os.environ, _PATH: os.pathsep.join(paths)}


def wanted_version() -> str:
    """The version of torch that the program was built for."""
    try:
        return BUILT_FOR.read_text(encoding="ascii").strip()
    except OSError as error:
        raise Error(f"{BUILT_FOR}: cannot be read: {error.strerror}; install the wheel again") from None


def torch_libraries(wanted: str) -> Path:
    """The lib folder of the installed torch, which must be of version ``wanted``."""
    install = f"run `{_python()} -m pip install torch=={wanted}`"
    again = f"run `{_python()} -m pip install --force-reinstall torch=={wanted}`"
    try:
        torch = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        raise Error(f"specimen needs torch {wanted} and this Python has no torch; {install}") from None
    # A suffix such as +cpu or +cu130 says how it was built, not which interface it has.
    version = torch.version.split("+")[0]
    if version != wanted:
        raise Error(f"specimen was built for torch {wanted} and this Python has torch {torch.version}; {install}")
    folder = Path(str(torch.locate_file("torch/lib")))
    if not (folder / _LIBRARY).is_file():
        raise Error(f"torch {torch.version} has no {_LIBRARY} in {folder}; {again}")
    return folder


def _python() -> str:
    """The Python of this process as a word of a command; another one may be first on PATH."""
    return shlex.quote(sys.executable) if sys.executable else "python3"


def _fail(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(NOT_HERE)
