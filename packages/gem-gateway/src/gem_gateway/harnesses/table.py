"""The harnesses of this package, from ``harnesses.toml``, and those that a user names: :func:`harnesses`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_gateway.harnesses.harness import Harness, HarnessFile, check_placeholders

__all__ = ["DRIVERS", "command_harness", "harness_of", "harnesses", "python_harness"]

DRIVERS = Path(__file__).with_name("drivers")
_VERSION = re.compile(r"(?<=.)(?:@|==)([^@=]+)$")


@cache
def harnesses() -> Mapping[str, Harness]:
    """Return the first-party harnesses by name."""
    if sys.version_info >= (3, 11):
        from tomllib import loads
    else:
        from tomli import loads
    text = files("gem_gateway.harnesses").joinpath("harnesses.toml").read_text(encoding="utf-8")
    return {name: _read(name, table) for name, table in loads(text).items()}


def harness_of(name: str, argument: str | None = None) -> Harness:
    """Return a harness by its name: one of the table, ``command:…`` or ``python:module:function``.

    Raises:
        ArgumentError: if there is none of that name, or nothing behind ``command:`` or ``python:``.
    """
    if argument is None:
        name, colon, rest = name.partition(":")
        argument = rest if colon else None
    if name == "command":
        return command_harness(argument or "")
    if name == "python":
        return python_harness(argument or "")
    known = harnesses()
    if name not in known:
        hint = nearest(name, known)
        advice = f"did you mean {hint!r}?" if hint else f"there are {', '.join(known)}, command:… and python:…"
        raise ArgumentError(f"no harness is called {name!r}; {advice}")
    if argument is None:
        return known[name]
    return _with_version(known[name], argument)


def command_harness(command: str) -> Harness:
    """Return the harness of any program.

    Args:
        command: as a shell splits it, with placeholders. Without ``{task}`` and ``{task_file}``, the task is its
            standard input; with ``{answer_file}``, its answer is in that file, and otherwise its standard output.

    Raises:
        ArgumentError: if it is empty, has quotes that do not end, or a placeholder with a slip in its name.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ArgumentError(f"the command {command!r:.80} cannot be split into words: {error}") from error
    if not words:
        raise ArgumentError("name a program behind command:, for example command:'./agent {task_file}'")
    check_placeholders(words)
    return Harness(
        "command",
        words,
        answer="file" if "{answer_file}" in command else "stdout",
        reads_stdin="{task}" not in command and "{task_file}" not in command,
    )


def python_harness(target: str) -> Harness:
    """Return the harness of a function that gets an :class:`AgentTask` and returns its answer, in a process of its own.

    Args:
        target: ``module:function``, async or not.

    Raises:
        ArgumentError: if it has another form.
    """
    module, colon, function = target.partition(":")
    if not (module and colon and function):
        raise ArgumentError(f"a Python agent is named python:module:function, got python:{target}")
    command = ("{python}", str(DRIVERS / "python_function.py"), target)
    return Harness("python", command, answer="file", environment={"PYTHONPATH": "{python_path}"})


def _read(name: str, table: Mapping[str, Any]) -> Harness:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    values["files"] = tuple(HarnessFile(**file) for file in table.get("files", ()))
    version = _VERSION.search(values.get("requirements", ("",))[0])
    return Harness(name, **values, version=version[1] if version else "")


def _with_version(harness: Harness, version: str) -> Harness:
    """Return a harness with another version of its program: ``codex:0.170.0``."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,40}", version):
        raise ArgumentError(f"{harness.name}:{version}: a version is letters, digits, dots, + and -")
    joint = "@" if harness.installer == "npm" else "=="
    first = _VERSION.sub("", harness.requirements[0]) + joint + version
    return replace(harness, requirements=(first, *harness.requirements[1:]), version=version)
