"""An external method from a function: the loop over requests and answers."""

import os
import sys
import traceback
from contextlib import contextmanager
from typing import Any, BinaryIO, Callable, Iterator, Tuple, Union

from specimen.picture import Picture
from specimen.protocol import MAX_LINE, Answer, Refused, Request, answer_line, error_line, parse_id, parse_request

#: A method: makes one image. It returns an ``Answer``, or the image alone.
Method = Callable[[Request], Union[Answer, Picture, str, "os.PathLike[str]"]]


def serve(method: Method) -> None:
    """Answers specimen's requests with ``method`` until the input ends.

    While it runs, everything that is printed goes to standard error, also from libraries and child processes. An
    exception of ``method`` becomes the error of that image, and the next request is served.

    Raises ``Error`` if a line of the input is no request at all.
    """
    with _channels() as (requests, answers):
        number = 0
        while True:
            line = requests.readline(MAX_LINE + 1)
            if not line:
                return
            number += 1
            try:
                answers.write(_answer(method, line, number))
                answers.flush()
            except BrokenPipeError:
                # specimen is gone.
                return


def _answer(method: Method, line: bytes, number: int) -> bytes:
    id, keys = parse_id(line, number)
    try:
        request = parse_request(keys)
    except Refused as refused:
        return error_line(id, str(refused))
    try:
        return answer_line(request, method(request))
    except Exception as error:  # One image that fails does not end the process.
        traceback.print_exc()
        return error_line(id, _words(error))


def _words(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def _channels() -> Iterator[Tuple[BinaryIO, BinaryIO]]:
    """Requests and answers. Standard input is empty and standard output is standard error for everybody else."""
    saved = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # What was printed before and is still in a buffer is no answer either.
    _flush()
    stdout, sys.stdout = sys.stdout, sys.stderr
    requests: Any = os.fdopen(os.dup(saved[0]), "rb")
    answers: Any = os.fdopen(os.dup(saved[1]), "wb")
    try:
        yield requests, answers
    finally:
        sys.stdout = stdout
        _flush()
        os.dup2(saved[0], 0)
        os.dup2(saved[1], 1)
        for channel in (requests, answers):
            try:
                channel.close()
            except BrokenPipeError:
                pass
        for descriptor in saved:
            os.close(descriptor)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
