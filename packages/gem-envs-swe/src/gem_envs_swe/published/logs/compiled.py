"""Logs of the test runners of compiled languages: Go, Rust, Java, C and C++."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from xml.etree.ElementTree import Element, ParseError, fromstring

from gem_envs_swe.published.logs.outcome import (
    FAILED,
    PASSED,
    SKIPPED,
    TestOutcomes,
    lines_of,
    without_colours,
)

__all__ = ["FORMS"]


def _prefixed(log: str, prefixes: Mapping[str, str], clean: Callable[[str, str], str]) -> TestOutcomes:
    """Return the outcomes of lines that begin with one of several prefixes, followed by the name of a test."""
    found = TestOutcomes()
    for raw in lines_of(log):
        line = raw.strip()
        for prefix, outcome in prefixes.items():
            if line.startswith(prefix) and (name := clean(line[len(prefix) :], outcome)):
                found.set(name, outcome)
    return found


def _without_parentheses(name: str, _: str) -> str:
    """Return a name without a time in parentheses at its end; empty if there is none."""
    begin = name.rfind(" (")
    return name[:begin] if begin > 0 and name.endswith(")") and len(name) - begin > 3 else ""


def _gotest(log: str) -> TestOutcomes:
    prefixes = {"--- PASS: ": PASSED, "--- FAIL: ": FAILED, "--- SKIP: ": SKIPPED}
    return _prefixed(log, prefixes, _without_parentheses)


def _cargo(log: str) -> TestOutcomes:
    found = TestOutcomes()
    for raw in lines_of(log):
        words = raw.split()
        if len(words) == 4 and words[0] == "test" and words[2] == "..." and words[3] in ("ok", "FAILED"):
            found.set(words[1], PASSED if words[3] == "ok" else FAILED)
    return found


_MAVEN_TEST = re.compile(r"-Dtest=(\S+)")


def _maven(log: str) -> TestOutcomes:
    """Return the outcomes of one call of Maven for each test: the traced commands, and how each build ended.

    Maven names no test that passes. Commands and results are matched in their order, since they may be shifted.
    """
    found = TestOutcomes()
    waiting: deque[str] = deque()
    early: deque[str] = deque()
    for raw in lines_of(log):
        line = raw.strip()
        if tests := _MAVEN_TEST.findall(line):
            waiting.append(tests[-1])
        if line.endswith(("BUILD SUCCESS", "BUILD FAILURE")):
            outcome = PASSED if line.endswith("SUCCESS") else FAILED
            if waiting:
                found.set(waiting.popleft(), outcome)
            else:
                early.append(outcome)
    while waiting and early:
        found.set(waiting.popleft(), early.popleft())
    return found


_ANT = re.compile(r"\[junit\]\s+\[(PASS|FAIL|ERR)\]\s+(.*)")


def _ant(log: str) -> TestOutcomes:
    found = TestOutcomes()
    for line in lines_of(log):
        if (result := _ANT.match(line.strip())) is not None:
            found.set(result[2], PASSED if result[1] == "PASS" else FAILED)
    return found


_GRADLE_TEST = re.compile(r"[^>]\S*\s+>\s+\S+")


def _gradle(log: str) -> TestOutcomes:
    """Return the outcomes of Gradle's tests: ``CLASS > METHOD PASSED``, also with the outcome on a later line."""
    found = TestOutcomes()
    waiting: str | None = None
    for raw in lines_of(log):
        line = raw.strip()
        name, _, outcome = line.rpartition(" ") if " " in line else ("", "", line)
        if outcome in (PASSED, FAILED) and len(name.strip()) > 1 and not line.startswith(">"):
            found.set(name.rstrip(), outcome)
            waiting = None
        elif _GRADLE_TEST.fullmatch(line):
            waiting = line
        elif waiting is not None and line in (PASSED, FAILED):
            found.set(waiting, line)
            waiting = None
    return found


_GOOGLE = re.compile(r"\[\s*(OK|FAILED)\s*\]\s")


def _googletest(log: str) -> TestOutcomes:
    found = TestOutcomes()
    for raw in lines_of(log):
        line = raw.strip()
        results = list(_GOOGLE.finditer(line))
        if results and (name := _without_parentheses(line[results[-1].end() :], "")):
            found.set(name, PASSED if results[-1][1] == "OK" else FAILED)
    return found


_CTEST = re.compile(r"\d+/\d+ +Test +#\d+: (\S.*?) \.*(?: +|\*\*\*)(Passed|Failed|Timeout|Not Run|Exception)")
_CTEST_OUTCOMES = {"Passed": PASSED, "Not Run": SKIPPED}


def _ctest(log: str) -> TestOutcomes:
    """Return the outcomes of CTest: ``1/9 Test #1: NAME ....   Passed    0.01 sec``."""
    found = TestOutcomes()
    for raw in lines_of(without_colours(log)):
        result = _CTEST.match(raw.strip()[:2000])
        if result is not None:
            found.set(result[1], _CTEST_OUTCOMES.get(result[2], FAILED))
    return found


_REDIS_TIME = re.compile(r"\s\(\d+\s*m?s\)$")
_REDIS_PLACE = re.compile(r"\s+in\s+\S+$")
_REDIS = {"[ok]: ": PASSED, "[err]: ": FAILED, "[skip]: ": SKIPPED, "[ignore]: ": SKIPPED}


def _redis_name(name: str, outcome: str) -> str:
    timeless = _REDIS_TIME.sub("", name) or name
    return _REDIS_PLACE.sub("", timeless) if outcome == FAILED else timeless


def _redis(log: str) -> TestOutcomes:
    return _prefixed(log, _REDIS, _redis_name)


def _jq(log: str) -> TestOutcomes:
    return _prefixed(log, {"PASS: ": PASSED, "FAIL: ": FAILED}, lambda name, _: name)


def _micropython(log: str) -> TestOutcomes:
    return _prefixed(log, {"pass ": PASSED, "FAIL ": FAILED, "skip ": SKIPPED}, lambda name, _: name.lstrip())


_MOST_XML = 64 << 20


def _doctest(log: str) -> TestOutcomes:
    """Return the outcomes of doctest's XML report: ``test case > subcase``. XML that cannot be read shows none."""
    begin = log.find("<doctest")
    end = log.find("</doctest>", begin)
    found = TestOutcomes()
    if begin < 0 or end < 0 or end - begin > _MOST_XML or "<!" in log[begin:end]:  # no entities that grow
        return found
    try:
        root = fromstring(log[begin:end] + "</doctest>")  # noqa: S314  # without a document type
    except ParseError:
        return found
    for case in root.iter("TestCase"):
        for part in case.iter("SubCase"):
            found.set(f"{case.get('name')} > {part.get('name')}", _expressions(part))
    return found


def _expressions(part: Element) -> str:
    return PASSED if all(one.get("success") == "true" for one in part.iter("Expression")) else FAILED


FORMS: dict[str, Callable[[str], TestOutcomes]] = {
    "gotest": _gotest,
    "cargo": _cargo,
    "maven": _maven,
    "ant": _ant,
    "gradle_custom": _gradle,
    "googletest": _googletest,
    "ctest": _ctest,
    "redis": _redis,
    "jq": _jq,
    "micropython_test": _micropython,
    "doctest": _doctest,
}
