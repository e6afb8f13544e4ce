"""Faults of an installation: the checks behind ``gem doctor``.

No plugin is imported into this process; each distribution is imported in one of its own.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from gem import discovery
from gem.cpus import usable_cpus
from gem.discovery.manifest import FILE_NAME, parse
from gem.entry_points import package_folder
from gem.errors import ManifestError
from gem.plugins import built_in_names
from gem.registry import conflicts
from gem_cli.plugin_probe import probe

__all__ = ["Diagnosis", "diagnose"]


class Diagnosis(NamedTuple):
    """One fault of an installation, and its remedy."""

    subject: str
    problem: str
    advice: str


def diagnose(progress: Callable[[str], None] = lambda _: None) -> list[Diagnosis]:
    """Return all faults, worst first.

    Args:
        progress: called with the name of each distribution that has been imported.
    """
    return [
        *_original_is_installed(),
        *_command_is_taken(),
        *_unreadable_distributions(),
        *_broken_manifests(),
        *_broken_imports(progress),
        *_claimed_twice(),
        *_switched_off(),
    ]


def _original_is_installed() -> list[Diagnosis]:
    if not discovery.is_installed("gem-llm"):
        return []
    return [
        Diagnosis(
            "gem-llm",
            "it also installs a package named 'gem', so files of both lie in one folder",
            "pip uninstall gem-llm, then pip install --force-reinstall --no-deps gem-core; its published import "
            "paths work with gem-core too",
        )
    ]


def _command_is_taken() -> list[Diagnosis]:
    command = shutil.which("gem")
    own = Path(sys.executable).parent
    if command is None or Path(command).resolve().parent == own.resolve():
        return []
    try:
        # Only a script of pip's with our entry point in it is ours; RubyGems' command has the same name.
        if b"gem_cli" in Path(command).read_bytes()[:4096]:
            return []
    except OSError:
        return []
    return [
        Diagnosis(
            command,
            "the command 'gem' on the PATH is another program (RubyGems has one of that name)",
            f"put {own} first on the PATH, or write 'python -m gem' instead",
        )
    ]


def _unreadable_distributions() -> list[Diagnosis]:
    return [
        Diagnosis(problem.distribution, problem.message, "reinstall or uninstall it")
        for problem in discovery.scan_problems()
    ]


def _broken_manifests() -> list[Diagnosis]:
    from gem.discovery.manifest_schema import validate

    found = []
    for claim in _packages():
        folder = package_folder(claim.value)
        try:
            if folder is None:
                raise ManifestError(f"announces {claim.name!r} in package {claim.value!r}, which cannot be found")
            path = folder / FILE_NAME
            validate(parse(path), path)
        except ManifestError as error:
            found.append(Diagnosis(claim.distribution, str(error), "tell its author, or pip uninstall it"))
    found += [
        Diagnosis(problem.distribution, problem.message, "tell its author")
        for problem in discovery.unclaimed_problems()
    ]
    return found


def _broken_imports(progress: Callable[[str], None]) -> list[Diagnosis]:
    """Import every distribution in a process of its own, and find names that two of them offer."""
    groups = (discovery.ENVIRONMENT_GROUP, discovery.PLUGIN_GROUP)
    owners: dict[tuple[str, str], str] = built_in_names()
    found = []
    names = dict.fromkeys(announced.distribution for group in groups for announced in discovery.entry_points(group))
    with ThreadPoolExecutor(max_workers=usable_cpus()) as pool:
        for distribution, report in zip(names, pool.map(probe, names), strict=True):
            progress(distribution)
            found += [Diagnosis(distribution, problem, "tell its author") for problem in report.problems]
            for hook, name in report.offered:
                owner = owners.setdefault((hook, name), distribution)
                if owner != distribution:
                    problem = f"{hook} offers {name!r}, which {owner} offers already; it is left out"
                    found.append(Diagnosis(distribution, problem, "tell its author, or uninstall one of them"))
    return found


def _claimed_twice() -> list[Diagnosis]:
    return [
        Diagnosis(
            env_id, f"is provided by {' and '.join(owners)}", f"write {owners[0]}/{env_id}, or uninstall one of them"
        )
        for env_id, owners in conflicts().items()
    ]


def _switched_off() -> list[Diagnosis]:
    value = os.environ.get(discovery.SWITCH)
    if not value:
        return []
    return [
        Diagnosis(discovery.SWITCH, f"is set to {value!r}, which switches plugins off", "unset it to get them back")
    ]


def _packages() -> list[discovery.Announcement]:
    claims = discovery.entry_points(discovery.ENVIRONMENT_GROUP)
    return list({(claim.distribution, claim.value): claim for claim in claims}.values())
