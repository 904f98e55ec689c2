"""The program: where it is, and how it is asked."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from specimen import launcher
from specimen.errors import Error

#: Names the program where it is set.
VARIABLE = "SPECIMEN_BIN"
#: Exit code if some items failed and the rest is valid.
PARTLY = 5


def find() -> Tuple[str, Dict[str, str]]:
    """The program and the environment that it needs: ``SPECIMEN_BIN``, else that of the wheel, else that on PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        if shutil.which(named) is None:
            raise Error(f"{VARIABLE}={named} is not a program; correct or unset it")
        return named, dict(os.environ)
    if launcher.BINARY.is_file():
        return str(launcher.BINARY), launcher.environment()
    found = shutil.which("specimen")
    if found is None:
        raise Error(f"no program `specimen`; install the wheel, put the program on PATH, or set {VARIABLE}")
    return found, dict(os.environ)


def ask(command: Sequence[str], *, may_be_partial: bool = False) -> Any:
    """What the program answers to ``command`` in JSON. Raises ``Error`` with its message if it fails.

    ``may_be_partial`` takes the answer of a command that left pictures out.
    """
    program, environment = find()
    words: List[str] = [program, *command[:1], "--format", "json", *command[1:]]
    try:
        ran = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise Error(f"{program}: cannot be started: {error.strerror}") from None
    is_partial = may_be_partial and ran.returncode == PARTLY and ran.stdout.strip() != b""
    if ran.returncode != 0 and not is_partial:
        raise Error(_message(ran.stderr, ran.returncode), ran.returncode)
    try:
        return json.loads(ran.stdout.decode("utf-8"))
    except ValueError as error:
        raise Error(f"{program}: its answer is no JSON: {error}", ran.returncode) from None


def text_of(path: Any) -> str:
    """A path as an argument."""
    return os.fspath(Path(path))


def _message(stderr: bytes, code: int) -> str:
    """What the program reported: the message of its last line in JSON, else all of it."""
    text = stderr.decode("utf-8", "replace").strip()
    for line in reversed(text.splitlines()):
        try:
            reported = json.loads(line)
        except ValueError:
            continue
        if isinstance(reported, Mapping) and isinstance(reported.get("error"), Mapping):
            return str(reported["error"].get("message"))
    if text:
        return text
    ending = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the program ended with {ending} and no message"
