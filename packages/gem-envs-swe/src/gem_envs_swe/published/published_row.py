"""A row of a published set: its task, and how its tests are run and read: :class:`PublishedRow`."""

from __future__ import annotations

from dataclasses import dataclass

from gem_envs_swe.errors import SweError
from gem_envs_swe.row import SweRow

__all__ = ["MalformedRowError", "PublishedRow"]


class MalformedRowError(SweError):
    """A row of a published set lacks a column or holds a value that cannot be used.

    Attributes:
        reason: the kind of fault, without values of the row.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class PublishedRow:
    """A row of a published set."""

    shape: str
    """The set whose columns it has, such as ``swe-bench``."""
    row: SweRow
    image: str
    """The reference of the image in which its repository lies."""
    workdir: str = "/testbed"
    """The repository's folder in the image."""
    command: str = ""
    """A script of bash that runs the tests in ``workdir``; empty if the row holds none."""
    log_form: str = ""
    """How the tests' output is read, one of :data:`gem_envs_swe.published.logs.LOG_FORMS`; empty if it cannot be."""
    parser: str = ""
    """The name that the row, or its set, gives to the parser of its logs."""
    fail_only: bool = False
    """Whether a test that the log does not name has passed."""
    pictures: tuple[str, ...] = ()
    """Addresses of pictures that belong to the statement and are not part of its text."""

    @property
    def cannot_be_earned(self) -> str:
        """Why no change can earn this row; empty if nothing speaks against it."""
        if not self.row.FAIL_TO_PASS:
            return "no test fails before the solution, so that doing nothing would solve it"
        both = set(self.row.FAIL_TO_PASS) & set(self.row.PASS_TO_PASS)
        if both:
            return "tests are listed both to fail and to pass before the solution"
        return ""
