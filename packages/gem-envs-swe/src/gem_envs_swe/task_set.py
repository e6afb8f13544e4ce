"""A folder of made tasks: :class:`SweSet`, and :func:`read_rows`.

::

    set.json       what the tasks were made from, and how their tests are run
    tasks.jsonl    one SweRow a line
    image/         the build context of all tasks: a Dockerfile, the source tree, the wheels of its dependencies

The image has the package's own tree at :data:`REPOSITORY`, a git repository with one commit. The tree of a task is that
one with the row's ``break_patch``; ``test_patch`` brings its hidden tests, and ``patch`` its solution.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gem_envs_swe.errors import SweError
from gem_envs_swe.row import SweRow

__all__ = ["IMAGE", "REPOSITORY", "SweSet", "read_rows", "read_set", "withdraw_set", "write_set"]

IMAGE = "image"
"""The folder of the build context in that of a set."""
REPOSITORY = "/code/repo"
"""The path of the tree in a container."""
_SET, _TASKS = "set.json", "tasks.jsonl"


class SweSet(BaseModel):
    """What the tasks of a folder have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    package: str
    """The name of the package, as its archive spells it."""
    version: str
    archive_sha256: str = Field(pattern=r"[0-9a-f]{64}")
    python: str
    """The version of Python that proved the tasks, such as ``3.11.2``."""
    seed: int = Field(ge=0)
    maker: str
    """The version of this package that made the tasks."""
    test_command: tuple[str, ...]
    """Runs the whole suite, in :data:`REPOSITORY`; names of tests may follow."""
    test_form: Literal["pytest", "node"] = "pytest"
    """Of the names in FAIL_TO_PASS: node ids of pytest, or ``file > name`` of node's runner."""
    test_files: tuple[str, ...]
    """Those of the package, relative to its tree."""
    tests: int = Field(ge=0)
    """The tests that passed in every run of the package's own tree."""
    left_out: dict[str, str] = Field(default_factory=dict)
    """Tests that are in no list of a task → the reason: failing, skipped, flaky, dependent on others."""
    tasks: int = Field(ge=0)
    kinds: dict[str, int] = Field(default_factory=dict)
    rejected: dict[str, int] = Field(default_factory=dict)
    """Reason → number of candidates that did not become tasks."""


def write_set(folder: Path, described: SweSet, rows: Iterable[SweRow]) -> None:
    """Write the description and the rows; ``set.json`` comes last, so that a folder without it is unfinished."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (
        (_TASKS, [row.model_dump_json(exclude_defaults=True) for row in rows]),
        (_SET, [described.model_dump_json(indent=2)]),
    ):
        scratch = folder / f".{name}.{os.getpid()}"
        scratch.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        scratch.replace(folder / name)


def withdraw_set(folder: Path) -> None:
    """Take away the description of a set that is made larger, as a folder without it is unfinished."""
    (folder / _SET).unlink(missing_ok=True)


def read_set(folder: Path) -> SweSet:
    """Return the description of a set.

    Raises:
        SweError: if the folder holds none, or one of another format.
    """
    try:
        return SweSet.model_validate_json((folder / _SET).read_bytes())
    except OSError as error:
        raise SweError(f"{folder} holds no finished set of tasks ({error}); make one with gem swe make") from error
    except ValidationError as error:
        raise SweError(f"{folder / _SET} does not describe a set of tasks: {_first(error)}") from error


def read_rows(folder: Path) -> list[SweRow]:
    """Return the tasks of a set, in their order.

    Raises:
        SweError: if they cannot be read; the message names the line.
    """
    rows = []
    try:
        with (folder / _TASKS).open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    rows.append(SweRow.model_validate_json(line))
                except ValidationError as error:
                    raise SweError(f"{folder / _TASKS}, line {number}, is no task: {_first(error)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SweError(f"the tasks of {folder} cannot be read: {error}") from error
    return rows


def _first(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, detail['loc'])) or 'the whole'}: {detail['msg']}"
