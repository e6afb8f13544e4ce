"""Logs of JavaScript's test runners: Jest, Vitest, Mocha, Karma, the Test Anything Protocol, and of single projects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gem_envs_swe.published.logs.outcome import (
    FAILED,
    PASSED,
    SKIPPED,
    TestOutcomes,
    lines_of,
    without_colours,
)

__all__ = ["FORMS"]

_MILLISECONDS = re.compile(r"\s\(\d+\s*m?s\)$")
_BARE_DURATION = re.compile(r"\s(?:\d+\s*m?s?|\[skipped\])$")
_MOCHA_DURATION = re.compile(r"\s*\(\d+ms\)")
_SUITE_DURATION = re.compile(r"\s\([\d.]+\s?m?s\)$")


def _marked_lines(log: str, marks: Mapping[str, str], duration: re.Pattern[str]) -> TestOutcomes:
    """Return the outcomes of lines ``MARK NAME [DURATION]``, at any depth."""
    found = TestOutcomes()
    for raw in lines_of(log):
        line = raw.strip()
        if len(line) < 3 or line[0] not in marks or not line[1].isspace():
            continue
        name = line[2:]
        end = duration.search(name, max(len(name) - 40, 0))
        name = name[: end.start()] if end and end.start() else name
        found.set(name, marks[line[0]])
    return found


def _jest(log: str) -> TestOutcomes:
    found = _marked_lines(log, {"✓": PASSED, "✕": FAILED, "○": SKIPPED}, _MILLISECONDS)
    return TestOutcomes({name.strip(): outcome for name, outcome in found.by_test.items()})


def _vitest(log: str) -> TestOutcomes:
    return _marked_lines(log, {"✓": PASSED, "×": FAILED, "↓": SKIPPED}, _BARE_DURATION)


def _jest_json(log: str) -> TestOutcomes:
    """Return the outcomes of Jest's report as lines ``[PASSED] NAME``."""
    found = TestOutcomes()
    for raw in lines_of(log):
        line = raw.strip()
        for outcome in (PASSED, FAILED):
            mark = f"[{outcome}]"
            if line.startswith(mark) and line[len(mark) : len(mark) + 1].isspace() and len(line) > len(mark) + 1:
                found.set(line[len(mark) + 1 :], outcome)
    return found


class _Suites:
    """The suites around a line, by indentation."""

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []

    def enter(self, line: str) -> None:
        """Open the suite of a heading, and close those that are not around it."""
        depth = len(line) - len(line.lstrip())
        self.close(depth)
        self._open.append((line.strip(), depth))

    def close(self, depth: int) -> None:
        """Close the suites that begin at this depth or deeper."""
        while self._open and self._open[-1][1] >= depth:
            self._open.pop()

    def names(self) -> list[str]:
        """Return the names of the open suites, from the outside."""
        return [name for name, _ in self._open]


_JEST_COMMAND = " ./node_modules/.bin/jest "


def _calypso(log: str) -> TestOutcomes:
    """Return the outcomes of Jest behind traced commands; the names have their suites before them."""
    found = TestOutcomes()
    suites = _Suites()  # the parser of the published set does not close them between two commands either
    for part in log.split(_JEST_COMMAND)[1:]:
        for line in lines_of(part):
            text = line.strip()
            if line.startswith(("Test Suites", "  ● ")):
                break
            if text[:1] in ("✓", "✕"):
                if line[:1].isspace() and text[1:2].isspace():
                    name = re.sub(r"\(\d+ms\)$", "", text[2:])
                    found.set(" - ".join([" - ".join(suites.names()), name]).strip(), _CHECKS[text[0]])
            elif line[:1].isspace():
                suites.enter(line)
    return found


_CHECKS = {"✓": PASSED, "✔": PASSED, "✕": FAILED, "✖": FAILED}
_FAILURE_NUMBER = re.compile(r"\d+\)")


def _mocha(log: str) -> TestOutcomes:
    """Return the outcomes of Mocha's reporter ``spec``; names are ``suite > … > test``."""
    found = TestOutcomes()
    suites = _Suites()
    for line in lines_of(without_colours(log)):
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if re.match(r"\d+ (?:passing|failing)\b", text):
            break
        if not text:
            continue
        number = _FAILURE_NUMBER.match(text)
        if text[0] in "✓✔" or number is not None or text.startswith("- "):
            outcome = FAILED if number is not None else SKIPPED if text[0] == "-" else PASSED
            name = _MOCHA_DURATION.sub("", text[number.end() if number else 1 :]).strip()
            suites.close(depth)
            found.set(" > ".join([*suites.names(), name]), outcome)
        elif depth:
            suites.enter(line)
    return found


def _highlightjs(log: str) -> TestOutcomes:
    """Return the outcomes of Mocha's reporter ``spec``; names are ``heading.test``, with the nearest heading alone."""
    found = TestOutcomes()
    heading = ""
    for line in lines_of(log):
        text = line.strip()
        if re.match(r"\d+ passing", text):
            break
        number = _FAILURE_NUMBER.match(text)
        if text[:1] in ("✓", "✔") or number is not None:
            name = _MOCHA_DURATION.sub("", text[number.end() if number else 1 :]).strip()
            found.set(f"{heading}.{name}" if heading else name, FAILED if number is not None else PASSED)
        elif line.startswith("  "):
            heading = text
    return found


def _karma(log: str) -> TestOutcomes:
    """Return the outcomes of Karma's reporter ``mocha``.

    As in the published set, a heading at the depth of the one before it, or less deep, does not replace it: names hold
    the first heading of each depth.
    """
    found = TestOutcomes()
    suites: list[str] = []
    depth, started = -1, False
    for line in lines_of(log):
        if line.startswith("SUMMARY:"):
            break
        if "Starting browser" in line:
            started = True
            continue
        text = line.lstrip()
        indent = len(line) - len(text)
        if not started:
            continue
        if text[:1] in ("✔", "✖") and text[1:2].isspace():
            found.set(" > ".join([*suites, text[2:]]), _CHECKS[text[0]])
        elif indent > 1:
            if indent - 1 > depth:
                suites.append(text)
            elif indent - 1 < depth and suites:
                suites.pop()
            depth = indent - 1
    return found


_TAP = re.compile(r"(ok|not ok) \d+ (\S.*)")
_SKIP_DIRECTIVE = re.compile(r"\s#\s*skip", re.IGNORECASE)


def _tap(log: str) -> TestOutcomes:
    """Return the outcomes of the Test Anything Protocol, of subtests too; a directive stays part of the name."""
    found = TestOutcomes()
    for line in lines_of(log):
        if (result := _TAP.match(line.strip())) is not None:
            skipped = _SKIP_DIRECTIVE.search(result[2]) is not None
            found.set(result[2], FAILED if result[1] == "not ok" else SKIPPED if skipped else PASSED)
    return found


def _suite_files(log: str) -> TestOutcomes:
    """Return the outcomes of Jest's files: lines ``PASS FILE (DURATION)``."""
    found = TestOutcomes()
    for line in lines_of(log):
        for word, outcome in (("PASS", PASSED), ("FAIL", FAILED)):
            if line.startswith(word) and line[len(word) : len(word) + 1].isspace():
                found.set(_SUITE_DURATION.sub("", line[len(word) + 1 :]), outcome)
    return found


def _grommet(log: str) -> TestOutcomes:
    """Return the outcomes of Jest's files; one that passes at any attempt has passed."""
    found = TestOutcomes()
    for word, outcome in (("FAIL", FAILED), ("PASS", PASSED)):
        for line in lines_of(log):
            if line.startswith(word) and line[len(word) : len(word) + 1].isspace():
                found.set(_SUITE_DURATION.sub("", line[len(word) + 1 :].strip()), outcome)
    return found


def _marked(log: str) -> TestOutcomes:
    """Return the failures of Jasmine: lines ``1) NAME``. It names no test that passes."""
    found = TestOutcomes()
    for line in lines_of(log):
        number = _FAILURE_NUMBER.match(line)
        if number is not None and line[number.end() : number.end() + 1].isspace():
            found.set(line[number.end() + 1 :].strip(), FAILED)
    return found


_CHROME = re.compile(r"Chrome\s[\d.]+[^\S\r\n]\([^)\r\n]{1,200}\)[^\S\r\n]")


def _chart_js(log: str) -> TestOutcomes:
    """Return the failures of Karma in Chrome. It names no test that passes."""
    found = TestOutcomes()
    for line in lines_of(without_colours(log)):
        browser = _CHROME.search(line)
        if browser is not None and line.endswith(FAILED):
            found.set(line[browser.end() : -len(FAILED)], FAILED)
    return found


FORMS: dict[str, Callable[[str], TestOutcomes]] = {
    "jest": _jest,
    "jest_json": _jest_json,
    "vitest": _vitest,
    "calypso": _calypso,
    "mocha": _mocha,
    "highlightjs": _highlightjs,
    "karma": _karma,
    "tap": _tap,
    "suite_files": _suite_files,
    "grommet": _grommet,
    "marked": _marked,
    "chart_js": _chart_js,
}
