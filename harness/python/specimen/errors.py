"""The one error type of this package."""

from typing import Optional


class Error(Exception):
    """What went wrong, in words, with the remedy if there is one."""

    def __init__(self, message: str, code: Optional[int] = None) -> None:
        super().__init__(message)
        #: Exit code of the program; None if the program did not run.
        self.code = code
