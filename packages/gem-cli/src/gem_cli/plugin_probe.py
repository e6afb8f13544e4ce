"""Imports everything that one distribution offers, in a process of its own, and says what is broken.

``gem doctor`` starts one such process for each distribution, so that a plugin that hangs, exits or prints at import
affects nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gem import discovery, plugins
from gem.core import Env
from gem.entry_points import load, name_of

__all__ = ["SECONDS", "ImportReport", "probe"]

SECONDS = 60.0
"""Wall-clock seconds within which everything of one distribution must be imported."""

_SHOWN = 500  # characters of what a process printed


class ImportReport(NamedTuple):
    """What the import of a distribution's plugins and environments has shown."""

    problems: list[str]
    offered: list[tuple[str, str]]
    """Hook and name of everything that the distribution's plugins offer."""


def probe(distribution: str, seconds: float = SECONDS) -> ImportReport:
    """Import everything that a distribution offers, in a new interpreter.

    Args:
        distribution: its name, as its announcements have it.
        seconds: time limit.
    """
    with tempfile.TemporaryDirectory(prefix="gem-doctor-") as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-W", "ignore", "-m", __name__, distribution, str(report)]
        # The child finds what this process finds, whatever changed sys.path.
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            done = subprocess.run(  # noqa: S603  # our own module
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
                env=variables,
            )
        except subprocess.TimeoutExpired:
            return ImportReport([f"importing it takes more than {seconds:g} s"], [])
        printed = done.stdout.decode(errors="replace").strip()
        try:
            found = json.loads(report.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return ImportReport(
                [f"importing it ends the process (exit code {done.returncode}): {printed[-_SHOWN:]}"], []
            )
    problems = list(found["problems"])
    if printed:
        problems.append(f"importing it prints: {printed[:_SHOWN]!r}")
    return ImportReport(problems, [(hook, name) for hook, name in found["offered"]])


def _environments(distribution: str) -> Iterator[str]:
    """Yield the faults of entry points and reference policies in the distribution's manifests."""
    claims = [c for c in discovery.entry_points(discovery.ENVIRONMENT_GROUP) if c.distribution == distribution]
    specs = [
        spec
        for claim in claims
        for candidates in discovery.installed(claim.name).specs.values()
        for spec in candidates
        if spec.distribution == distribution
    ]
    for target in {name_of(spec.entry_point): spec.entry_point for spec in specs}.values():
        found, problem = _loaded(target)
        if problem is not None:
            yield f"the entry point {problem}"
        elif not callable(found):
            yield f"the entry point {name_of(target)!r} is not callable"
        elif isinstance(found, type) and not issubclass(found, Env):
            yield f"the entry point {name_of(target)!r} is a class that does not derive from gem.Env"
    for target in {spec.reference_policy: None for spec in specs if spec.reference_policy is not None}:
        found, problem = _loaded(target)
        if problem is not None:
            yield f"the reference policy {problem}"
        elif not callable(found):
            yield f"the reference policy {target!r} is not callable"


def _plugins(distribution: str, offered: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the faults of the distribution's plugins; add hook and name of all that they offer to ``offered``."""
    for announced in discovery.entry_points(discovery.PLUGIN_GROUP):
        if announced.distribution != distribution:
            continue
        names, problem = plugins.offers(announced)
        if problem is not None:
            yield f"the plugin {announced.name!r} {problem}"
        for hook, name, target in names:
            offered.append((hook, name))
            found, problem = _loaded(target)
            if problem is not None:
                yield f"{hook} offers {name!r}, and {problem}"
            elif not callable(found):
                yield f"{hook} offers {name!r}, and {target!r} is not callable"
            elif hook == "gem_commands" and not _is_command(found):
                yield f"{hook} offers {name!r}, and {target!r} is not a click command"


def _loaded(target: Any) -> tuple[Any, str | None]:
    """Return the object behind ``"module:attribute"``, or what is wrong with it."""
    try:
        return load(target), None
    except (Exception, SystemExit) as error:
        return None, f"{name_of(target)!r} cannot be loaded: {type(error).__name__}: {error}"


def _is_command(found: Any) -> bool:
    import click

    return isinstance(found, click.Command)


def _main(distribution: str, report: str) -> None:
    offered: list[tuple[str, str]] = []
    problems = [*_environments(distribution), *_plugins(distribution, offered)]
    Path(report).write_text(json.dumps({"problems": problems, "offered": offered}), encoding="utf-8")


if __name__ == "__main__":
    _main(*sys.argv[1:])
