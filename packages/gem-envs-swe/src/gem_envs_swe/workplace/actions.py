"""The actions of an agent that works on a repository, as text or as native tool calls: :data:`SWE_ACTIONS`.

In text, ``<bash>…</bash>`` and ``<submit/>`` have tags of their own; the other tools are called with ``<tool_call>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem_terminal.actions import (
    TOOL_SCHEMAS,
    ActionKinds,
    Bash,
    Finish,
    MalformedAction,
    OtherAction,
    TerminalAction,
    read_bash,
    text_argument,
    tool_schema,
)

__all__ = ["SWE_ACTIONS", "SWE_SCHEMAS", "EditFile", "RunTests", "SearchFiles", "ViewFile", "actions_without_tests"]

_MOST_TESTS = 200
"""Names in one call of ``run_tests``."""
_TOO_LARGE = 1 << 31


@dataclass(frozen=True)
class ViewFile(OtherAction):
    """Show the lines of a file with their numbers, or the names in a folder."""

    path: str
    first: int | None = None
    """From 1."""
    last: int | None = None

    @property
    def shown(self) -> str:
        return f"# view {self.path}" + (f" {self.first or 1}-{self.last or ''}" if self.first or self.last else "")


@dataclass(frozen=True)
class EditFile(OtherAction):
    """Replace a text that a file has exactly once; an empty one makes a new file."""

    path: str
    old: str
    new: str

    @property
    def shown(self) -> str:
        removed = "".join(f"\n-{line}" for line in self.old.splitlines())
        return f"# edit {self.path}{removed}" + "".join(f"\n+{line}" for line in self.new.splitlines())


@dataclass(frozen=True)
class SearchFiles(OtherAction):
    """Find the lines that a regular expression fits."""

    pattern: str
    path: str = "."

    @property
    def shown(self) -> str:
        return f"# search {self.pattern} {self.path}"


@dataclass(frozen=True)
class RunTests(OtherAction):
    """Run tests of the repository; all of them without names."""

    tests: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        return f"# run_tests {' '.join(self.tests)}".rstrip()


_LINE = {"type": ["integer", "null"], "default": None}
_RUN_TESTS = tool_schema(
    "run_tests",
    "Run tests of the repository. The tests that decide about your work are others.",
    tests={
        "type": "array",
        "items": {"type": "string"},
        "description": "Files, or names of tests as the test runner spells them; all tests without any.",
        "default": [],
    },
)
SWE_SCHEMAS: tuple[dict[str, Any], ...] = (
    next(schema for schema in TOOL_SCHEMAS if schema["function"]["name"] == "bash"),
    tool_schema(
        "view",
        "Show the lines of a text file with their numbers, or the names in a folder.",
        path={"type": "string", "description": "A path, absolute or relative to the repository."},
        first={**_LINE, "description": "The first line to show, from 1."},
        last={**_LINE, "description": "The last line to show."},
    ),
    tool_schema(
        "edit",
        "Replace a text in a file. The file must have it exactly once, with the same blanks and line ends.",
        path={"type": "string", "description": "A path, absolute or relative to the repository."},
        old={"type": "string", "description": "The text to replace; empty to write a new file."},
        new={"type": "string", "description": "The text that takes its place."},
    ),
    tool_schema(
        "search",
        "Find the lines of files that a regular expression (POSIX, extended) fits.",
        pattern={"type": "string", "description": "The expression."},
        path={"type": "string", "description": "A file or folder.", "default": "."},
    ),
    tool_schema("submit", "Finish the task; hidden tests then verify your changes of the repository."),
)
"""The actions without ``run_tests``, in the format of the ``tools`` argument of chat APIs."""


def _line(arguments: Mapping[str, Any], name: str) -> int | None:
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value < _TOO_LARGE:
        return None
    return int(value)


def _view(arguments: Mapping[str, Any]) -> TerminalAction:
    return ViewFile(text_argument(arguments, "path"), _line(arguments, "first"), _line(arguments, "last"))


def _edit(arguments: Mapping[str, Any]) -> TerminalAction:
    path, old, new = (text_argument(arguments, name) for name in ("path", "old", "new"))
    return MalformedAction("old and new of edit are the same text.") if old == new else EditFile(path, old, new)


def _search(arguments: Mapping[str, Any]) -> TerminalAction:
    return SearchFiles(text_argument(arguments, "pattern"), text_argument({"path": ".", **arguments}, "path"))


def _run_tests(arguments: Mapping[str, Any]) -> TerminalAction:
    tests = arguments.get("tests") or []
    tests = [tests] if isinstance(tests, str) else tests
    if not isinstance(tests, list) or not all(isinstance(each, str) and each and "\0" not in each for each in tests):
        return MalformedAction("The argument tests of run_tests must be a list of names.")
    if len(tests) > _MOST_TESTS:
        return MalformedAction(f"run_tests takes at most {_MOST_TESTS} names; name a file.")
    return RunTests(tuple(tests))


SWE_ACTIONS = ActionKinds(
    kinds={
        "bash": Bash,
        "view": ViewFile,
        "edit": EditFile,
        "search": SearchFiles,
        "run_tests": RunTests,
        "submit": Finish,
    },
    readers={
        "bash": read_bash,
        "view": _view,
        "edit": _edit,
        "search": _search,
        "run_tests": _run_tests,
        "submit": lambda _: Finish(),
    },
    schemas=(*SWE_SCHEMAS[:-1], _RUN_TESTS, SWE_SCHEMAS[-1]),
    last="submit",
)
"""The actions of :class:`~gem_envs_swe.SweEnv`."""


def actions_without_tests() -> ActionKinds:
    """Return the actions of an agent that runs tests only with its shell."""
    readers = {name: read for name, read in SWE_ACTIONS.readers.items() if name != "run_tests"}
    return ActionKinds(SWE_ACTIONS.kinds, readers, SWE_SCHEMAS, SWE_ACTIONS.last)
