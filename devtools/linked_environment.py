"""Environments that show what a wheel lacks, made without an installer: links stand for what the wheel declares.

An installer would copy the same files from its cache, and each new environment would compile them at its first import.
"""

from __future__ import annotations

import sysconfig
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["MissingRequirementError", "link_environment"]

CONSOLE_SCRIPT = (
    "#!/bin/sh\nexec '{python}' -c 'from {module} import {function}; raise SystemExit({function}())' \"$@\"\n"
)


class MissingRequirementError(Exception):
    """What a distribution declares is not here, or has another version."""


def link_environment(folder: Path, names: Iterable[str], unpacked: Iterable[Path]) -> Path:
    """Make an environment that has some distributions and, directly or not, what their metadata declares.

    Args:
        folder: the new environment.
        names: the distributions.
        unpacked: folders, each with the contents of a wheel. They come before what is installed here.

    Returns:
        The Python of the environment.

    Raises:
        MissingRequirementError: if a requirement cannot be met.
    """
    venv.create(folder, symlinks=True)
    paths = sysconfig.get_paths("posix_prefix", {"base": str(folder), "platbase": str(folder)})
    python = Path(paths["scripts"]) / "python"
    wheels = {_name(each): each for each in distributions(path=[str(path) for path in unpacked])}
    for each in _closure(names, wheels):
        _link(each, Path(paths["purelib"]))
        for entry in each.entry_points.select(group="console_scripts"):
            script = python.with_name(entry.name)
            script.write_text(CONSOLE_SCRIPT.format(python=python, module=entry.module, function=entry.attr))
            script.chmod(0o755)
    return python


def _closure(names: Iterable[str], wheels: dict[str, Distribution]) -> list[Distribution]:
    """Return the distributions and all that they require."""
    asked = [(str(canonicalize_name(name)), "") for name in names]
    for each, extra in asked:
        found = wheels.get(each) or distribution(each)
        for requirement in map(Requirement, found.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                _check(requirement, found, wheels)
                needed = canonicalize_name(requirement.name)
                asked += [(needed, more) for more in ("", *requirement.extras) if (needed, more) not in asked]
    return [wheels.get(each) or distribution(each) for each in dict(asked)]


def _check(requirement: Requirement, by: Distribution, wheels: dict[str, Distribution]) -> None:
    try:
        version = (wheels.get(canonicalize_name(requirement.name)) or distribution(requirement.name)).version
    except PackageNotFoundError:
        raise MissingRequirementError(f"{_name(by)} requires {requirement}, which is not installed here") from None
    if not requirement.specifier.contains(version, prereleases=True):
        raise MissingRequirementError(f"{_name(by)} requires {requirement}, and {version} is installed here")


def _link(found: Distribution, purelib: Path) -> None:
    """Link the files of a distribution; a folder as a whole where it belongs to that distribution alone."""
    for path in found.files or ():
        if path.parts[0] == ".." or "__pycache__" in path.parts:
            continue
        whole = PurePosixPath(path.parts[0])
        if (
            len(path.parts) > 1
            and whole.suffix != ".dist-info"
            and not Path(str(found.locate_file(whole / "__init__.py"))).exists()
        ):
            whole = PurePosixPath(path)  # a namespace, which others may share
        target = purelib / whole
        if not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(Path(str(found.locate_file(whole))))


def _name(found: Distribution) -> str:
    return canonicalize_name(found.metadata["Name"])
