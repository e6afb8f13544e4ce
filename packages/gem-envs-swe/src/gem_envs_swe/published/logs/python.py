"""Logs of Python's test runners: pytest in the ways in which published sets read it, unittest, SymPy's runner.

In pytest's logs the last section "short test summary info" is the runner's word on a test. Lines like those of a
summary may stand before it: the output of tests that run pytest themselves, or of code that forges them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gem_envs_swe.published.logs.outcome import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    WORDS,
    TestOutcomes,
    lines_of,
    without_colours,
)

__all__ = ["FORMS"]

_Read = Callable[[str], "tuple[str, str] | None"]
_SUMMARY = re.compile(r"=+ short test summary info =+\s*$")
_TOTAL = re.compile(r"=+ .*\bin \d[\d.]*\s*s")
_COUNT = re.compile(r"\b(\d{1,9}) (passed|failed|errors?)\b")
_COUNTED = {"passed": PASSED, "failed": FAILED, "error": ERROR, "errors": ERROR}
_BARE_COLOUR = re.compile(r"\[\d+m")
_CONTROL = dict.fromkeys(range(1, 32))
_SKIP_COUNT = re.compile(r"\[\d+\]")


def _pytest_log(log: str, read: _Read, *, counted: bool) -> TestOutcomes:
    """Return the outcomes of a log of pytest.

    Args:
        log: the log.
        read: returns test and outcome of a line, or None.
        counted: whether ``read`` understands all lines of a summary with ``-rA``, so that their number must be the
            number in pytest's last line.
    """
    lines = [without_colours(line) for line in lines_of(log)]
    begin = max((place for place, line in enumerate(lines) if _SUMMARY.match(line)), default=None)
    found = TestOutcomes()
    if begin is None:
        for line in lines_of(log):
            if (one := read(line)) is not None:
                found.set(*one)
        return found
    end = next((place for place in range(begin + 1, len(lines)) if _TOTAL.match(lines[place])), len(lines))
    outside: set[str] = set()
    summary: dict[str, str] = {}
    shown = dict.fromkeys(WORDS, 0)
    for place, line in enumerate(lines_of(log)):
        if (one := read(line)) is None:
            continue
        test, outcome = one
        if begin < place < end:
            shown[outcome] += 1
            summary[test] = outcome  # pytest lists failures last, so that one of several parameters decides
        else:
            found.set(test, outcome)
            outside.add(test)
    found.by_test.update(summary)
    found.unconfirmed = frozenset(outside - summary.keys())
    if counted and end < len(lines):
        found.contradiction = _miscounted(lines[end], shown)
    return found


def _miscounted(total: str, shown: dict[str, int]) -> str:
    counts = dict.fromkeys((PASSED, FAILED, ERROR), 0)
    for number, word in _COUNT.findall(total):
        counts[_COUNTED[word]] = int(number)
    if shown[PASSED] > counts[PASSED]:
        return f"the summary lists {shown[PASSED]} passed tests, and pytest counted {counts[PASSED]}"
    for outcome in (FAILED, ERROR):
        # Without -rA a summary may list fewer, never none of those that failed.
        if counts[outcome] and not shown[FAILED] and not shown[ERROR]:
            return f"pytest counted {counts[outcome]} × {outcome}, and the summary lists none"
    return ""


def _words(line: str) -> list[str] | None:
    """Return the words of a line that begins with an outcome and names a test."""
    words = line.split()
    if len(words) < 2 or words[0] not in WORDS or line[:1].isspace():
        return None
    if words[0] == SKIPPED and _SKIP_COUNT.fullmatch(words[1]):
        return None  # the number of skipped tests at a place
    return words


def _first_word(line: str) -> tuple[str, str] | None:
    words = _words(line)
    return None if words is None else (words[1], words[0])


def _short_option(line: str) -> tuple[str, str] | None:
    """Return test and outcome; a parameter that is a path is shortened to its last part."""
    one = _first_word(line)
    if one is None:
        return None
    name, outcome = one
    begin = name.find("[")
    end = name.rfind("]")
    if begin < 0 or end < begin:
        return one
    option = name[begin + 1 : end]
    if option.startswith("/") and not option.startswith("//") and "*" not in option:
        option = "/" + option.rsplit("/", 1)[1]
    return f"{name[:begin]}[{option}]", outcome


def _whole_name(line: str) -> tuple[str, str] | None:
    """Return test and outcome; the name may have blanks, and old versions of pytest put the outcome last."""
    line = _BARE_COLOUR.sub("", without_colours(line)).translate(_CONTROL)
    words = _words(line)
    if words is not None:
        if words[0] == FAILED:
            words = line.split(" - ", 1)[0].split()
        return (" ".join(words[1:]), words[0]) if len(words) > 1 else None
    words = line.split()
    if len(words) > 1 and words[-1] in WORDS and not line[-1:].isspace() and words[0] not in WORDS:
        return " ".join(words[:-1]), words[-1]
    return None


def _mouse_buttons(line: str) -> tuple[str, str] | None:
    return _first_word(line.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"))


def _seaborn(line: str) -> tuple[str, str] | None:
    words = line.split()
    if len(words) < 2:
        return None
    if words[0] in (FAILED, PASSED) and not line[:1].isspace():
        return words[1], words[0]
    return (words[0], PASSED) if words[1] == PASSED and len(words) > 2 else None


def _pytest(log: str) -> TestOutcomes:
    return _pytest_log(log, _first_word, counted=True)


def _pytest_options(log: str) -> TestOutcomes:
    return _pytest_log(log, _short_option, counted=True)


def _pytest_v2(log: str) -> TestOutcomes:
    return _pytest_log(log, _whole_name, counted=True)


def _matplotlib(log: str) -> TestOutcomes:
    return _pytest_log(log, _mouse_buttons, counted=True)


def _seaborn_log(log: str) -> TestOutcomes:
    return _pytest_log(log, _seaborn, counted=False)


_VERSION_TEST = "--version is equivalent to version"
_MIGRATION = "Applying sites.0002_alter_domain_unique...test_no_migrations"
_DOTS = " ... "


def _django(log: str) -> TestOutcomes:
    """Return the outcomes of unittest in verbose form, as Django's runner has it.

    A test's name and its outcome are parted where the test prints; then a line that is ``ok`` ends the test that was
    named last, as long as it has no outcome.
    """
    found = TestOutcomes()
    pending: str | None = None
    for raw in lines_of(log):
        line = raw.strip()
        if _VERSION_TEST in line:  # its name has three dots of its own, so its outcome is on no line of that form
            found.set(_VERSION_TEST, PASSED)
        ended = False
        if line.endswith((" ... ok", " ... OK", " ...  OK")):
            named = line.split("...", 1)[1].strip() if line.startswith(_MIGRATION) else line
            found.set(named[: named.rfind(" ...")], PASSED)
            ended = True
        if " ... skipped" in line:
            found.set(line.split(" ... skipped", 1)[0], SKIPPED)
            ended = True
        for word, outcome in (("FAIL", FAILED), ("ERROR", ERROR)):
            if line.endswith(f" ... {word}"):
                found.set(line.split(f" ... {word}", 1)[0], outcome)
                ended = True
            elif line.startswith(f"{word}:") and len(line.split()) > 1:
                found.set(line.split()[1], outcome)
        if ended:
            pending = None
        elif _DOTS in line:
            pending = line.split(_DOTS, 1)[0]
        elif pending is not None and line.split(maxsplit=1)[:1] == ["ok"]:
            found.set(pending, PASSED)
            pending = None
    return found


_SYMPY = {"E": ERROR, "F": FAILED, "ok": PASSED}


def _sympy(log: str) -> TestOutcomes:
    """Return the outcomes of SymPy's runner: a line for each test, and a heading between underscores for a failure."""
    found = TestOutcomes()
    headings = []
    for raw in lines_of(log):
        line = raw.strip()
        if line.startswith("_"):
            heading = line.strip("_")
            file, suffix, test = heading.rpartition(".py:")
            if suffix and heading.startswith(" ") and heading.endswith(" ") and file.strip() and test.strip():
                headings.append(heading[1:-1])
        elif line.startswith("test_"):
            words = line.split()
            if len(words) > 1 and words[-1] in _SYMPY and line.endswith(f" {words[-1]}"):
                found.set(words[0], _SYMPY[words[-1]])
    found.by_test.update(dict.fromkeys(headings, FAILED))
    return found


def _r2e(log: str) -> TestOutcomes:
    """Return the outcomes of pytest's summary with names as R2E-Gym has them: ``Class.test``, without the file."""
    found = TestOutcomes()
    for name, outcome in _pytest_v2(log).by_test.items():
        test = name.partition("::")[2].replace("::", ".")
        if test and outcome in (PASSED, FAILED, ERROR):
            found.set(test, outcome)
    return found


FORMS: dict[str, Callable[[str], TestOutcomes]] = {
    "pytest": _pytest,
    "pytest_options": _pytest_options,
    "pytest_v2": _pytest_v2,
    "matplotlib": _matplotlib,
    "seaborn": _seaborn_log,
    "django": _django,
    "sympy": _sympy,
    "r2e": _r2e,
}
