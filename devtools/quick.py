"""The quick check, in under three minutes: lint and tests of the changes since the branch began."""

from __future__ import annotations

from pathlib import Path

from devtools.environments import hatch_run
from devtools.shell import ROOT, say
from devtools.workspace import Touched, package_folders, touched

TYPED = ("dev.py", "devtools/")
"""Paths that mypy checks besides the packages' sources."""


def quick(arguments: list[str]) -> int:
    """Check the changes; return the first exit code that is not 0.

    Args:
        arguments: further arguments for pytest.
    """
    change = touched()
    for line in explain(change):
        say(line)
    checks = [*lint(change), *pytest_commands(change, arguments)]
    if not checks:
        say("nothing that has changed has a check; python3 dev.py test runs all tests")
    codes = [hatch_run("default", *command) for command in checks]
    return next((code for code in codes if code), 0)


def explain(change: Touched) -> list[str]:
    """Return the checks and their reasons, one line each."""
    lines = [f"{len(change.files)} files differ from {(change.base or 'nothing')[:12]}"]
    if change.changed:
        lines.append(f"packages with changes: {', '.join(change.changed)}")
    if change.dependants:
        lines.append(f"packages that depend on them: {', '.join(change.dependants)}")
    if change.tests:
        lines.append(f"tests across packages: {', '.join(change.tests)}")
    return lines


def lint(change: Touched, root: Path = ROOT) -> list[tuple[str, ...]]:
    """Return the commands that check style and types."""
    files = [file for file in change.files if file.endswith(".py") and (root / file).exists()]
    if not files:
        return []
    commands = [("ruff", "check", "--force-exclude", *files), ("ruff", "format", "--check", "--force-exclude", *files)]
    if any("/src/" in file or file.startswith(TYPED) for file in files):
        # With its cache mypy reads only changed files and their dependants; without, it needs a minute or two.
        if (root / ".mypy_cache").is_dir():
            commands.append(("mypy",))
        else:
            say("types are not checked: mypy has no cache yet; python3 dev.py lint makes it")
    return commands


def pytest_commands(change: Touched, arguments: list[str], root: Path = ROOT) -> list[tuple[str, ...]]:
    """Return the command, if any, that runs the tests of what the change touches.

    Of packages that only depend on it, one variant of each test runs: all variants would take as long, for a change of
    gem-core, as the whole main tier.
    """
    folders = package_folders(root)
    places = {name: folders[name] / "tests" for name in change.packages if (folders[name] / "tests").is_dir()}
    chosen = [str(path.relative_to(root)) for path in places.values()]
    chosen += [f"tests/{name}" for name in change.tests]
    single = [str(places[name].relative_to(root)) for name in places if name not in change.changed]
    options = [f"--one-variant={folder}" for folder in single]
    return [("quick-test", *chosen, *options, *arguments)] if chosen else []
