"""Faults of an installation: the checks behind ``gem doctor``. No plugin is imported."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from gem import discovery
from gem.discovery.manifest import FILE_NAME, parse
from gem.entry_points import package_folder
from gem.errors import ManifestError
from gem.registry import conflicts

__all__ = ["Diagnosis", "diagnose"]


class Diagnosis(NamedTuple):
    """One fault of an installation, and its remedy."""

    subject: str
    problem: str
    advice: str


def diagnose() -> list[Diagnosis]:
    """Return all faults, worst first."""
    return [
        *_original_is_installed(),
        *_command_is_taken(),
        *_unreadable_distributions(),
        *_broken_manifests(),
        *_unresolved_entry_points(),
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
        if b"gem.cli.main" in Path(command).read_bytes()[:4096]:
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


def _unresolved_entry_points() -> list[Diagnosis]:
    found = []
    for claim in _packages():
        missing: set[str] = set()
        for spec in discovery.installed(claim.name).specs.values():
            for candidate in spec:
                if candidate.distribution == claim.distribution and isinstance(candidate.entry_point, str):
                    module = candidate.entry_point.partition(":")[0]
                    if not _module_exists(module):
                        missing.add(module)
        found += [
            Diagnosis(
                claim.distribution, f"its manifest names the module {module!r}, which does not exist", "tell its author"
            )
            for module in sorted(missing)
        ]
    return found


def _module_exists(module: str) -> bool:
    """Return whether a module can be found, without importing its package."""
    package, _, name = module.rpartition(".")
    if not package:
        return find_spec(module) is not None
    folder = package_folder(package)
    return folder is not None and (any(folder.glob(f"{name}.*")) or (folder / name).is_dir())


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
