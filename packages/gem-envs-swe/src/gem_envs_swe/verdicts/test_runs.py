"""Runs of listed tests in a fresh container: :func:`run_tests`.

The host judges. It takes the outcomes from lines that ``gem_envs_swe.verdicts.test_program`` signs, and believes a
run only if the last line is there and every control failed.
"""

from __future__ import annotations

import ast
import hmac
import json
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from gem_terminal.archive import files_archive, files_in
from gem_terminal.engines.base import Container
from gem_terminal.errors import ContentError

__all__ = ["NO_LOG", "TestRun", "all_with_controls", "run_tests", "with_controls"]

NO_LOG = ("--tb=no",)
"""Arguments of pytest for runs whose log nobody reads."""
_FOLDER = "/opt/gem-swe-verdict"
_PROGRAM = "test_program.py"
_MOST_REPORT = 64 << 20
_MOST_LOG = 16_000
"""Characters of the output that are kept, from the end."""
_CONTROLS = (
    "assert {0} + {1} == {2}",
    "assert sorted([{0}, {1}, {2}]) == [{2}, {1}, {0}, {0}]",
    "raise AssertionError({0})",
    "import unittest; unittest.TestCase().assertEqual([{0}], [{1}, {2}])",
    "import unittest; unittest.TestCase().assertTrue({0} > {1} + {0})",
    "with __import__('pytest').raises(ValueError): {0} + {1}",
    "with __import__('unittest').TestCase().assertRaises(KeyError): {0} * {2}",
)
"""Bodies of tests that must fail, each of one line, for drawn numbers: {0} below {1} below {2}, no sum of two."""
_HEADER = re.compile(r"[_=]{3,} (.*?) [_=]{3,}")
_SUMMARY = re.compile(r"FAILED \S+::(\w+)(?: - |$)")
_PROGRESS = re.compile(r"[.FEsxX]+ +\[ *[0-9]+%\]|(?:=+ )?[0-9]+ [a-z]+.* in [0-9.]+s.*")
"""Lines of the output of pytest: the head of a section, a failure in the summary, and the progress with its end."""
_WORDS = (
    "case", "again", "other", "more", "twice", "late", "early", "inner", "outer", "deep", "empty", "long", "short",
    "mixed", "first", "last", "equal", "order", "value", "plain",
)  # fmt: skip
"""Of the names of controls."""


@dataclass(frozen=True)
class TestRun:
    """What became of tests."""

    __test__ = False  # pytest takes the name for that of a class of tests

    outcomes: Mapping[str, str] = field(default_factory=dict)
    """Test → passed, failed or skipped; a test that was not found is missing."""
    wrong: str = ""
    """Why the run is worth nothing: the code under test ended it, or changed what judges it. Empty if it counts."""
    log: str = ""

    def passed(self, test: str) -> bool:
        """Return whether a test passed, in a run that counts."""
        return not self.wrong and self.outcomes.get(test) == "passed"


def all_with_controls(texts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return test files, path → text, with controls, and the names of these by path."""
    written, controls = dict[str, str](), dict[str, list[str]]()
    for path, text in sorted(texts.items()):
        written[path], controls[path] = with_controls(text)
    return written, controls


def with_controls(text: str) -> tuple[str, list[str]]:
    """Return the source of a test file with controls between its functions and classes, and their names.

    Names, numbers and places are drawn anew, so that nothing but a look at what a test says tells it from a control.
    Controls take the place of two empty lines, or stand at the end: tests may know the lines that they stand in.
    """
    random = secrets.SystemRandom()
    names = [f"test_{'_'.join(random.sample(_WORDS, 3))}" for _ in _CONTROLS]
    names = [f"{name}_{number}" if names.count(name) > 1 else name for number, name in enumerate(names)]
    lines = text.rstrip().split("\n")
    gaps = _gaps_of_two_lines(text, lines)
    gaps = random.sample(gaps, min(len(gaps), len(_CONTROLS) - 1))
    for name, body in zip(names, random.sample(_CONTROLS, len(_CONTROLS)), strict=True):
        low = random.randrange(11, 40)
        control = [f"def {name}():", f"    {body.format(low, low + random.randrange(3, 9), 4 * low)}"]
        if gaps:
            place = gaps.pop()
            lines[place : place + 2] = control
        else:
            lines += ["", "", *control]
    return "\n".join(lines) + "\n", names


def _gaps_of_two_lines(text: str, lines: Sequence[str]) -> list[int]:
    """Return the places in the lines of a file at which two empty ones follow a function or class."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    if "\r" in text.replace("\r\n", ""):  # Python counts other lines
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    ends = (node.end_lineno or 0 for node in tree.body if isinstance(node, kinds))
    return [end for end in ends if len(lines) > end + 1 and not "".join(lines[end : end + 2]).strip()]


def run_tests(
    container: Container,
    tests: Collection[str],
    controls: Mapping[str, Sequence[str]],
    *,
    arguments: Sequence[str],
    user: str | None,
    workdir: str,
    changed: Sequence[str],
    seconds: float,
) -> TestRun:
    """Run tests.

    Args:
        container: a fresh one, with the agent's changes.
        tests: their node ids.
        controls: test file → the names of its controls; the files are those that are collected.
        arguments: of pytest.
        user: who runs them.
        workdir: the root of the tree.
        changed: the absolute paths of the files that the agent changed.
        seconds: the time limit.

    Raises:
        EngineError: if the container died.
    """
    must_fail = {f"{file}::{name}" for file, names in controls.items() for name in names}
    key, report = secrets.token_bytes(32), f"/tmp/{secrets.token_hex(12)}"  # noqa: S108  # in the container
    program = files(__package__).joinpath(_PROGRAM).read_bytes()
    container.put(files_archive({_PROGRAM: (program, 0o644)}, _FOLDER.strip("/")), "/")
    request = {
        "key": key.hex(), "report": report, "tests": sorted({*tests, *must_fail}), "files": sorted(controls),
        "arguments": list(arguments), "changed": list(changed),
    }  # fmt: skip
    done = container.run(
        ("python3", "-B", f"{_FOLDER}/{_PROGRAM}"),
        seconds=seconds,
        stdin=json.dumps(request).encode() + b"\n",
        environment={"PYTHONHASHSEED": "0", "PYTHONPATH": ""},  # as where the tasks are proved
        user=user,
        workdir=workdir,
    )
    output = done.output[-4 * _MOST_LOG :].decode(errors="replace")
    log = steady_log(output, [name for names in controls.values() for name in names])[-_MOST_LOG:]
    if done.exit_code is None:
        return TestRun(wrong=f"the tests took longer than {seconds:g} seconds", log=log)
    container.kill_all()  # what the tests left behind writes nothing any more
    try:
        archive = container.get(report, most=_MOST_REPORT)
    except ContentError as error:
        return TestRun(wrong=f"the report cannot be read: {error}", log=log)
    name = report.rpartition("/")[2]
    content = files_in(archive, {name: _MOST_REPORT}).get(name, b"") if archive is not None else b""
    lines = _signed_lines(content if isinstance(content, bytes) else b"", key)
    return _judged(lines, must_fail, log)


def steady_log(output: str, controls: Collection[str]) -> str:
    """Return the output of pytest without what is drawn or measured: controls, their places, seconds, addresses."""
    kept = []
    is_control = False
    for line in output.split("\n"):
        if header := _HEADER.fullmatch(line.rstrip("\r")):
            is_control = header[1] in controls
        told = _SUMMARY.match(line)
        if not is_control and not _PROGRESS.fullmatch(line) and not (told and told[1] in controls):
            kept.append(re.sub(" at 0x[0-9a-f]+", " at 0x0", line))
    return "\n".join(kept)


def _signed_lines(content: bytes, key: bytes) -> list[dict[str, Any]]:
    """Return what the signed lines say, up to the first one that is not genuine or not the next."""
    found: list[dict[str, Any]] = []
    for line in content.splitlines():
        signature, _, text = line.partition(b" ")
        if not hmac.compare_digest(hmac.new(key, text, "sha256").hexdigest().encode(), signature):
            break
        number, said = json.loads(text)
        if number != len(found):
            break
        found.append(said)
    return found


def _judged(lines: Sequence[Mapping[str, Any]], controls: Collection[str], log: str) -> TestRun:
    if not lines or "end" not in lines[-1]:
        return TestRun(wrong="the tests ended before their end", log=log)
    if lines[-1]["wrong"]:
        return TestRun(wrong=str(lines[-1]["wrong"]), log=log)
    outcomes: dict[str, str] = {}
    for said in lines:
        if "test" in said:
            name, outcome = str(said["test"]), str(said["outcome"])
            outcomes[name] = outcome if outcomes.get(name, outcome) == outcome else "failed"
    run = {test.partition("::")[0] for test in outcomes}
    for control in controls:
        # Where a file cannot be imported, none of its tests ran, and none of its controls.
        if control.partition("::")[0] in run and outcomes.pop(control, "missing") != "failed":
            return TestRun(wrong="tests that must fail did not", log=log)
    return TestRun(outcomes, log=log)
