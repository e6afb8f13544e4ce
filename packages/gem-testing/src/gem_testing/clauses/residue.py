"""The process is unchanged after an environment has played.

A process of its own plays some episodes, closes the instances, and compares itself with its earlier state; see
:mod:`gem_testing.probe`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from gem_testing.clause import IMPORTABLE, clauses_of
from gem_testing.env_under_test import EnvUnderTest
from gem_testing.messages import differing_parts, shorten
from gem_testing.outcomes import NotTested, Violation

__all__ = ["CLAUSES", "changed_setting", "changed_variable"]


def threads(under_test: EnvUnderTest) -> None:
    """No thread runs on after close."""
    left = _more(under_test, "threads", since="before")
    if left:
        raise Violation(f"{len(left)} threads run on after close ({_some(left)}); end them in close")


def descriptors(under_test: EnvUnderTest) -> None:
    """No file or socket stays open after close."""
    # Libraries open something once, on first use; an environment that forgets to close does so each time.
    left = _more(under_test, "descriptors", since="middle")
    if left:
        raise Violation(f"{len(left)} descriptors stay open after close ({_some(left)}); close them in close")


def children(under_test: EnvUnderTest) -> None:
    """No child process is left after close, not even one that has ended and was not waited for."""
    left = _more(under_test, "children", since="before")
    if left:
        raise Violation(
            f"{len(left)} child processes are left after close ({_some(left)}); end and wait for them in close"
        )


def working_directory(under_test: EnvUnderTest) -> None:
    """The working directory stays what it was."""
    before, after = under_test.probe.seen["before"]["cwd"], under_test.probe.seen["after"]["cwd"]
    if before != after:
        raise Violation(f"the working directory was changed to {after}; use absolute paths instead of os.chdir")


def environment(under_test: EnvUnderTest) -> None:
    """The environment variables stay what they were."""
    changed = changed_variable(under_test.probe.seen["before"], under_test.probe.seen["after"])
    if changed:
        raise Violation(f"{changed}; give settings to what needs them instead of changing os.environ")


def output(under_test: EnvUnderTest) -> None:
    """Playing prints nothing, neither through Python nor past it."""
    for name, text in zip(("standard output", "standard error"), under_test.probe.output, strict=True):
        if text:
            raise Violation(
                f"{shorten(text)} was printed to {name} while it played; tell it in the observation or in info"
            )


def files(under_test: EnvUnderTest) -> None:
    """No file is left in the working directory or in the folder for temporary files after close."""
    left = under_test.probe.seen["files"]
    if left:
        raise Violation(f"{len(left)} files are left after close ({_some(left)}); remove them in close")


def settings(under_test: EnvUnderTest) -> None:
    """Settings of the whole process (warnings, logging, signals, locale, recursion limit …) stay what they were."""
    changed = changed_setting(under_test.probe.seen["before"], under_test.probe.seen["after"])
    if changed:
        raise Violation(f"{changed}; leave it to the program")


def changed_variable(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return the environment variable that differs between two snapshots, in words."""
    old, new = before["environment"], after["environment"]
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if not changed:
        return None
    name = changed[0]
    return f"the environment variable {name} was {_quoted(old.get(name))} and is {_quoted(new.get(name))} now"


def changed_setting(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return the setting of the process that differs between two snapshots, in words."""
    for name, value in before["settings"].items():
        if (now := after["settings"][name]) != value:
            old, new = differing_parts(value, now)
            return f"{name} was {old} and is {new} now"
    return None


def _quoted(value: str | None) -> str:
    return "unset" if value is None else shorten(value)


def _more(under_test: EnvUnderTest, what: str, since: str) -> list[Any]:
    """Return the items that exist after the episodes and did not exist before."""
    before, after = under_test.probe.seen[since][what], under_test.probe.seen["after"][what]
    if before is None:
        raise NotTested("this system does not tell", "check it on Linux")
    return sorted((Counter(after) - Counter(before)).elements())


def _some(items: list[Any]) -> str:
    return ", ".join(map(str, items[:3])) + (", …" if len(items) > 3 else "")


CLAUSES = clauses_of(
    "residue",
    threads,
    descriptors,
    children,
    working_directory,
    environment,
    output,
    files,
    settings,
    processes=True,
    needs=(IMPORTABLE,),
)
