"""The targets of ``gem check TARGET``: from an id, a namespace, a distribution or a path to the environments.

This module imports no package under test. It also finds a package whose manifest cannot be read, and puts the
reasons into :attr:`PackageUnderTest.problem`, so that the check can report them.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gem import discovery
from gem.arguments import nearest
from gem.discovery.manifest import FILE_NAME, read_specs
from gem.discovery.official import NAMESPACES, install_line
from gem.entry_points import package_folder
from gem.env_spec import EnvSpec
from gem.errors import GemError, InvalidIdError, ManifestError, UnknownEnvironmentError
from gem.ids import EnvId, normalized_distribution, parse_id
from gem_testing.env_under_test import EnvUnderTest

__all__ = ["PackageUnderTest", "envs_under_test", "packages_of"]

PROJECT_FILE = "pyproject.toml"
_MOST_LISTED = 12


@dataclass(frozen=True)
class PackageUnderTest:
    """A package of environments, or the part of it that a target names."""

    import_name: str
    specs: tuple[EnvSpec, ...]
    manifest: Path | None
    """The ``environments.toml``; None for environments registered in this process."""
    namespaces: frozenset[str] | None = None
    """The namespaces that its entry points claim; None if unknown."""
    requirements: tuple[str, ...] | None = None
    """Its declared dependencies (``Requires-Dist``); None if unknown."""
    distribution: str | None = None
    version: str | None = None
    problem: str = ""
    """The reason that its manifest cannot be used; then there are no specs."""
    whole: bool = True
    """Whether ``specs`` contains every environment of the manifest."""

    @property
    def name(self) -> str:
        """The distribution's name, or the import name if no distribution is known."""
        return self.distribution or self.import_name

    def only(self, wanted: Iterable[EnvSpec]) -> PackageUnderTest:
        """Return the part of this package that consists of some of its environments."""
        chosen = tuple(wanted)
        return self if len(chosen) == len(self.specs) else replace(self, specs=chosen, whole=False)


def envs_under_test(target: str) -> list[EnvUnderTest]:
    """Return the environments that a target names, ready to be tested in this process.

    Raises:
        ManifestError: if a package's manifest cannot be used. Errors of :func:`packages_of` are passed on.
    """
    packages = packages_of(target)
    for package in packages:
        if package.problem:
            raise ManifestError(f"{package.name}: {package.problem}")
    return [
        EnvUnderTest(spec, manifest=package.manifest, namespaces=package.namespaces, requirements=package.requirements)
        for package in packages
        for spec in package.specs
    ]


def packages_of(*targets: str) -> list[PackageUnderTest]:
    """Return the packages, or parts of packages, that some targets name, each environment once.

    Args:
        targets: each an id (without an owner, of every distribution that provides it), a namespace, an installed
            distribution (together with the namespace of the same name), or a path: of a project with a
            ``pyproject.toml``, of a package with an ``environments.toml``, or of one of these files. A path contains a
            separator or is ``.``; any other name is first searched for among the installed names. The package at a path
            need not be installed: ``sys.path`` is extended for its import.

    Raises:
        UnknownEnvironmentError: if nothing has this name; the message has the nearest names.
        ManifestError: if the ``pyproject.toml`` of a project cannot be read or announces no environments.
    """
    together: dict[tuple[str, str, Path | None], PackageUnderTest] = {}
    for package in (package for target in targets for package in _named(target)):
        key = (package.name, package.import_name, package.manifest)
        known = together.get(key, package)
        specs = (*known.specs, *(spec for spec in package.specs if spec not in known.specs))
        together[key] = replace(known, specs=specs, whole=known.whole or package.whole)
    return list(together.values())


def _named(target: str) -> list[PackageUnderTest]:
    if _is_written_as_path(target):
        return _at_path(Path(target).expanduser())
    try:
        return _of_id(parse_id(target))
    except InvalidIdError:
        found = _of_name(target.rstrip(":"))
    if found:
        return found
    path = Path(target).expanduser()
    if path.exists():
        return _at_path(path)
    raise _unknown(target)


def _is_written_as_path(target: str) -> bool:
    if target in ("", ".", "..", "~") or target.endswith(".toml"):
        return True
    separators = {"/", os.sep, os.altsep or os.sep}
    if not any(mark in target for mark in separators):
        return False
    try:
        parse_id(target)
    except InvalidIdError:
        return True
    return False  # owner/namespace:Name


def _every(distribution: str, namespaces: frozenset[str]) -> bool:
    return True


def _installed(wanted: Callable[[str, frozenset[str]], bool] = _every) -> list[PackageUnderTest]:
    """Return every installed package that announces environments, sorted by distribution.

    Args:
        wanted: from the distribution and the namespaces of a package to whether its manifest is read and returned.
    """
    claims: dict[tuple[str, str], list[discovery.Announcement]] = {}
    for claim in discovery.entry_points(discovery.ENVIRONMENT_GROUP):
        claims.setdefault((claim.distribution, claim.value), []).append(claim)
    return [
        _package(
            value,
            package_folder(value),
            namespaces=frozenset(claim.name for claim in group),
            distribution=distribution,
            version=group[0].version,
            requirements=discovery.requirements_of(distribution),
        )
        for (distribution, value), group in claims.items()
        if wanted(distribution, frozenset(claim.name for claim in group))
    ]


def _package(import_name: str, folder: Path | None, **known: Any) -> PackageUnderTest:
    """Read the manifest in a package's folder; a fault becomes the package's problem."""
    if folder is None:
        problem = f"the package {import_name!r} that its entry point names cannot be found"
        return PackageUnderTest(import_name, (), None, problem=problem, **known)
    manifest = folder / FILE_NAME
    try:
        specs = tuple(read_specs(manifest, known.get("distribution"), known.get("version")))
    except ManifestError as error:
        return PackageUnderTest(import_name, (), manifest, problem=str(error), **known)
    return PackageUnderTest(import_name, specs, manifest, **known)


def _of_id(wanted: EnvId) -> list[PackageUnderTest]:
    from gem import registry

    key = wanted.unowned
    owner = None if wanted.owner is None else normalized_distribution(wanted.owner)
    claimants = _installed(
        lambda distribution, namespaces: (
            wanted.namespace in namespaces and owner in (None, normalized_distribution(distribution))
        )
    )
    found = [
        package.only(spec for spec in package.specs if spec.id == key)
        for package in claimants
        if any(spec.id == key for spec in package.specs)
    ]
    if found:
        return found
    broken = [package for package in claimants if package.problem]
    if broken:
        return broken  # the id may well be in one of them
    # Raises what gem.make raises, unless the id is registered in this process.
    registered = registry.spec(key if wanted.owner is None else f"{wanted.owner}/{key}")
    return [PackageUnderTest("this process", (registered,), None, whole=False)]


def _of_name(name: str) -> list[PackageUnderTest]:
    """Return the distribution of this name, and the parts of others in the namespace of this name."""

    def of_this_name(distribution: str) -> bool:
        return normalized_distribution(distribution) == normalized_distribution(name)

    found = []
    for package in _installed(lambda distribution, namespaces: of_this_name(distribution) or name in namespaces):
        if of_this_name(package.name) or package.problem:
            found.append(package)
        elif any(spec.namespace == name for spec in package.specs):
            found.append(package.only(spec for spec in package.specs if spec.namespace == name))
    return found


def _unknown(target: str) -> GemError:
    names = {package.name for package in _installed()} | set(discovery.namespaces())
    for problem in discovery.scan_problems():
        if normalized_distribution(problem.distribution).startswith(normalized_distribution(target)):
            return UnknownEnvironmentError(f"{problem}; reinstall it")
    if discovery.is_installed(target):
        return UnknownEnvironmentError(
            f"the distribution {target!r} is installed and announces no environments; its pyproject.toml needs "
            f'[project.entry-points."{discovery.ENVIRONMENT_GROUP}"] with NAMESPACE = "PACKAGE"'
        )
    looked = f"{target!r} is not an environment id, and no namespace, installed distribution or path has this name"
    hint = nearest(target, names)
    if hint is not None:
        return UnknownEnvironmentError(f"{looked}; did you mean {hint!r}?")
    if target in NAMESPACES:
        lines = " or ".join(f"'{install_line(name)}'" for name in NAMESPACES[target])
        return UnknownEnvironmentError(f"{looked}; run {lines}")
    return UnknownEnvironmentError(f"{looked}; {_what_is_installed(names)}")


def _what_is_installed(names: Iterable[str]) -> str:
    known = sorted(names)
    switched_off = os.environ.get(discovery.SWITCH)
    if switched_off:
        return f"plugins are switched off by {discovery.SWITCH}={switched_off}"
    if not known:
        return "no package of environments is installed"
    return f"there is {', '.join(known[:_MOST_LISTED])}{', …' if len(known) > _MOST_LISTED else ''}"


def _at_path(path: Path) -> list[PackageUnderTest]:
    path = path.resolve()
    if path.name == PROJECT_FILE and path.is_file():
        return _of_project(path)
    if path.name == FILE_NAME and path.is_file():
        return [_of_package_folder(path.parent)]
    if (path / FILE_NAME).is_file():
        return [_of_package_folder(path)]
    if (path / PROJECT_FILE).is_file():
        return _of_project(path / PROJECT_FILE)
    raise _nothing_at(path)


def _of_project(project_file: Path) -> list[PackageUnderTest]:
    project, announced = _announced_by(project_file)
    if not announced:
        below = _below(project_file.parent)
        raise ManifestError(
            f'{project_file}: announces no environments; add [project.entry-points."{discovery.ENVIRONMENT_GROUP}"] '
            'with NAMESPACE = "PACKAGE"' + (f", or check {below}" if below else "")
        )
    packages = []
    for import_name, namespaces in announced.items():
        folder = _folder_in(project_file.parent, import_name)
        if folder is None:
            raise ManifestError(
                f"{project_file}: names the package {import_name!r}, which is neither in {project_file.parent / 'src'} "
                f"nor in {project_file.parent}"
            )
        _make_importable(import_name, folder)
        packages.append(_package(import_name, folder, namespaces=namespaces, **_metadata_of(project)))
    return packages


def _of_package_folder(folder: Path) -> PackageUnderTest:
    """Find the project that a package belongs to, if there is one, for its namespaces, name and version."""
    for parent in list(folder.parents)[:6]:
        project_file = parent / PROJECT_FILE
        if not project_file.is_file():
            continue
        try:
            project, announced = _announced_by(project_file)
        except ManifestError:
            break  # a package can be checked without its project
        for import_name, namespaces in announced.items():
            if _folder_in(parent, import_name) == folder:
                _make_importable(import_name, folder)
                return _package(import_name, folder, namespaces=namespaces, **_metadata_of(project))
        break
    import_name = folder.name
    for parent in folder.parents:
        if not (parent / "__init__.py").is_file():
            break
        import_name = f"{parent.name}.{import_name}"
    _make_importable(import_name, folder)
    return _package(import_name, folder)


def _announced_by(project_file: Path) -> tuple[dict[str, Any], dict[str, frozenset[str]]]:
    """Return the table ``[project]``, and import name → namespaces of its entry points."""
    from gem.discovery.manifest import parse

    document = parse(project_file)
    project = document.get("project", {})
    try:
        entries = project.get("entry-points", {}).get(discovery.ENVIRONMENT_GROUP, {})
        announced: dict[str, frozenset[str]] = {}
        for namespace, value in entries.items():
            announced[value.strip()] = announced.get(value.strip(), frozenset()) | {namespace}
    except AttributeError as error:
        raise ManifestError(
            f'{project_file}: [project.entry-points."{discovery.ENVIRONMENT_GROUP}"] must be a table of '
            'NAMESPACE = "PACKAGE"'
        ) from error
    return project, announced


def _metadata_of(project: dict[str, Any]) -> dict[str, Any]:
    """Return name, version and requirements as far as the file declares them; dynamic ones need a build."""
    requirements = project.get("dependencies")
    return {
        "distribution": _text(project.get("name")),
        "version": _text(project.get("version")),
        "requirements": None if "dependencies" in project.get("dynamic", ()) else tuple(requirements or ()),
    }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _folder_in(project: Path, import_name: str) -> Path | None:
    """Return the folder of a package in a project: under ``src``, at the top, or under another folder at the top."""
    parts = import_name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for root in (project / "src", project, *_folders_in(project)):
        folder = root.joinpath(*parts)
        if folder.is_dir():
            return folder.resolve()
    return None


def _folders_in(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _make_importable(import_name: str, folder: Path) -> None:
    """Put a package's import folder first on ``sys.path``, unless Python finds the package already.

    Raises:
        ManifestError: if this process has imported another package of this name.
    """
    if _is_at(import_name, folder):
        return
    root = folder.parents[import_name.count(".")]
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    if not _is_at(import_name, folder):
        top = import_name.partition(".")[0]
        raise ManifestError(
            f"the package in {folder} cannot be imported as {import_name!r}, because this name stands for "
            f"{getattr(sys.modules.get(top), '__file__', 'another one')}; check it in another process or rename it"
        )


def _is_at(import_name: str, folder: Path) -> bool:
    found = package_folder(import_name)
    return found is not None and found.resolve() == folder


def _nothing_at(path: Path) -> GemError:
    if not path.exists():
        siblings = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = nearest(path.name, siblings)
        advice = f"did you mean {str(path.with_name(hint))!r}?" if hint else "check how it is written"
        return UnknownEnvironmentError(f"there is nothing at {path}; {advice}")
    if path.is_file():
        return UnknownEnvironmentError(f"{path} is neither a {PROJECT_FILE} nor an {FILE_NAME}")
    below = _below(path)
    names = {package.name for package in _installed()} | set(discovery.namespaces())
    return UnknownEnvironmentError(
        f"{path} is not a package of environments: it has neither {PROJECT_FILE} nor {FILE_NAME}; "
        + (f"check {below}" if below else f"give its path, or an installed target: {_what_is_installed(names)}")
    )


def _below(folder: Path) -> str:
    """Return the packages of environments in a project's usual places, in words; empty if there are none."""
    patterns = ("*", "*/*", "*/src/*", "packages/*/src/*")
    found = sorted({file.parent for pattern in patterns for file in folder.glob(f"{pattern}/{FILE_NAME}")})
    return " or ".join(str(path.relative_to(folder)) for path in found[:_MOST_LISTED])
