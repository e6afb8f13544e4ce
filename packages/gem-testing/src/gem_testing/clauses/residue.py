"""What an environment must not leave behind, or change, in the process it runs in.

A process of its own plays some episodes, closes the instances, and compares itself with what it was before; see
:mod:`gem_testing.probe`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from gem_testing.episodes import around, shorten
from gem_testing.outcome import NotTested, Violation, clauses_of
from gem_testing.subject import Subject

__all__ = ["CLAUSES", "changed_setting", "changed_variable"]


def threads(subject: Subject) -> None:
    """No thread runs on after close."""
    left = _more(subject, "threads", since="before")
    if left:
        raise Violation(f"{len(left)} threads run on after close ({_some(left)}); end them in close")


def descriptors(subject: Subject) -> None:
    """No file or socket stays open after close."""
    # Libraries open something once, on first use; an environment that forgets to close does so each time.
    left = _more(subject, "descriptors", since="middle")
    if left:
        raise Violation(f"{len(left)} descriptors stay open after close ({_some(left)}); close them in close")


def children(subject: Subject) -> None:
    """No child process is left after close, not even one that has ended and was not waited for."""
    left = _more(subject, "children", since="before")
    if left:
        raise Violation(
            f"{len(left)} child processes are left after close ({_some(left)}); end and wait for them in close"
        )


def working_directory(subject: Subject) -> None:
    """The working directory stays what it was."""
    before, after = subject.probe.seen["before"]["cwd"], subject.probe.seen["after"]["cwd"]
    if before != after:
        raise Violation(f"the working directory was changed to {after}; use absolute paths instead of os.chdir")


def environment(subject: Subject) -> None:
    """The environment variables stay what they were."""
    changed = changed_variable(subject.probe.seen["before"], subject.probe.seen["after"])
    if changed:
        raise Violation(f"{changed}; give settings to what needs them instead of changing os.environ")


def output(subject: Subject) -> None:
    """Playing prints nothing, neither through Python nor past it."""
    for name, text in zip(("standard output", "standard error"), subject.probe.output, strict=True):
        if text:
            raise Violation(
                f"{shorten(text)} was printed to {name} while it played; tell it in the observation or in info"
            )


def files(subject: Subject) -> None:
    """No file is left in the working directory or in the folder for temporary files after close."""
    left = subject.probe.seen["files"]
    if left:
        raise Violation(f"{len(left)} files are left after close ({_some(left)}); remove them in close")


def settings(subject: Subject) -> None:
    """Settings of the whole process (warnings, logging, signals, locale, recursion limit …) stay what they were."""
    changed = changed_setting(subject.probe.seen["before"], subject.probe.seen["after"])
    if changed:
        raise Violation(f"{changed}; leave it to the program")


def changed_variable(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return which environment variable differs between two snapshots, in words."""
    old, new = before["environment"], after["environment"]
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if not changed:
        return None
    name = changed[0]
    return f"the environment variable {name} was {_quoted(old.get(name))} and is {_quoted(new.get(name))} now"


def changed_setting(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return which setting of the process differs between two snapshots, in words."""
    for name, value in before["settings"].items():
        if (now := after["settings"][name]) != value:
            return f"{name} was {around(value, now)} and is {around(now, value)} now"
    return None


def _quoted(value: str | None) -> str:
    return "unset" if value is None else shorten(value)


def _more(subject: Subject, what: str, since: str) -> list[Any]:
    """What is there after playing and was not there before."""
    before, after = subject.probe.seen[since][what], subject.probe.seen["after"][what]
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
)
