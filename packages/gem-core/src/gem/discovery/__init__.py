"""Finding installed environment packages without importing them.

A package announces each namespace that it fills with one entry point in the group ``gem.envs``, whose value
is its import name. Its manifest lies beside its ``__init__.py``. A fault of one package becomes a
:class:`PluginProblem` that names it, and never touches the others.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gem.discovery.manifest import FILE_NAME, ManifestContents, Resolver, read_manifest
from gem.entry_points import package_folder
from gem.env_spec import EnvSpec
from gem.errors import ManifestError
from gem.ids import normalized_distribution

__all__ = [
    "ENVIRONMENT_GROUP",
    "PLUGIN_GROUP",
    "Installed",
    "PluginProblem",
    "clear_caches",
    "entry_points",
    "installed",
    "pin_advice",
    "providers_of",
    "requirements_of",
    "resolvers",
]

ENVIRONMENT_GROUP = "gem.envs"
PLUGIN_GROUP = "gem.plugins"

_CORE = re.compile(r"gem[-_.]core(?![\w.-])", re.IGNORECASE)

SWITCH = "GEM_DISABLE_PLUGINS"
"""Environment variable: ``1`` switches every plugin off; a comma-separated list, those distributions."""


class Announcement(NamedTuple):
    """One entry point of one distribution."""

    group: str
    name: str
    value: str
    distribution: str
    version: str


class PluginProblem(NamedTuple):
    """A fault of one installed distribution."""

    distribution: str
    message: str

    def __str__(self) -> str:
        return f"{self.distribution}: {self.message}"


@dataclass(frozen=True)
class Installed:
    """The environments of one namespace: specs by id, several where distributions clash."""

    specs: dict[str, tuple[EnvSpec, ...]]
    problems: tuple[PluginProblem, ...]
    resolvers: tuple[Resolver, ...] = ()
    """The resolvers of all other ids of the namespace; at most one unless distributions clash."""


def entry_points(group: str) -> tuple[Announcement, ...]:
    """Return the entry points of a group from all distributions, without loading any."""
    return tuple(found for found in _scan()[0] if found.group == group)


def scan_problems() -> tuple[PluginProblem, ...]:
    """Return the distributions whose entry points could not be read."""
    return _scan()[1]


def namespaces() -> list[str]:
    """Return the namespaces that installed packages claim, sorted."""
    return sorted({found.name for found in entry_points(ENVIRONMENT_GROUP)})


def installed(namespace: str) -> Installed:
    """Return the environments of installed packages in one namespace; reads only the manifests that claim it."""
    return _installed(namespace, os.environ.get(SWITCH, ""))


@lru_cache(maxsize=256)  # bounded: a caller may ask for any namespace
def _installed(namespace: str, _disabled: str) -> Installed:
    specs: dict[str, tuple[EnvSpec, ...]] = {}
    problems: list[PluginProblem] = []
    resolvers: list[Resolver] = []
    for claim in entry_points(ENVIRONMENT_GROUP):
        if claim.name != namespace:
            continue
        try:
            offered = _offered(claim)
        except ManifestError as error:
            problems.append(PluginProblem(claim.distribution, f"{error}{pin_advice(claim.distribution)}"))
            continue
        for spec in offered.specs:
            if spec.namespace == namespace:
                specs[spec.id] = (*specs.get(spec.id, ()), spec)
        resolvers += [resolver for resolver in offered.resolvers if resolver.prefix == f"{namespace}:"]
    return Installed(specs, tuple(problems), tuple(resolvers))


def resolvers() -> list[Resolver]:
    """Return the resolvers of all installed packages, sorted by prefix."""
    return sorted(resolver for namespace in namespaces() for resolver in installed(namespace).resolvers)


def unclaimed_problems() -> tuple[PluginProblem, ...]:
    """Return the ids that manifests list outside the namespaces that their packages claim."""
    claims: dict[tuple[str, str], set[str]] = {}
    for claim in entry_points(ENVIRONMENT_GROUP):
        claims.setdefault((claim.distribution, claim.value), set()).add(claim.name)
    problems: list[PluginProblem] = []
    for claim in {(c.distribution, c.value): c for c in entry_points(ENVIRONMENT_GROUP)}.values():
        try:
            contents = _offered(claim)
        except ManifestError:
            continue  # reported by installed()
        offered = {spec.namespace for spec in contents.specs} | {one.prefix.rstrip(":") for one in contents.resolvers}
        problems.extend(
            PluginProblem(
                claim.distribution,
                f"lists ids in {namespace!r} without the entry point that claims it; add "
                f'{namespace} = "{claim.value}" to [project.entry-points."{ENVIRONMENT_GROUP}"]',
            )
            for namespace in sorted(offered - claims[claim.distribution, claim.value])
        )
    return tuple(problems)


def is_installed(distribution: str) -> bool:
    """Return whether a distribution of this name is installed."""
    return requirements_of(distribution) is not None


def requirements_of(distribution: str) -> tuple[str, ...] | None:
    """Return the declared requirements of a distribution (``Requires-Dist``); None if it is not installed."""
    try:
        return tuple(_metadata().requires(distribution) or ())
    except ModuleNotFoundError:  # PackageNotFoundError is one
        return None


def pin_advice(distribution: str | None) -> str:
    """Return the sentence about a package that was made for another gem-core; empty if it was made for this one.

    Pip keeps such pairs apart, unless it is told not to, or packages are copied into place.
    """
    version: str = sys.modules["gem"].__version__  # importing the package here would be a circle
    required = requirements_of(distribution) if distribution else ()
    pin = next((one for one in required or () if _CORE.match(one)), "")
    below = re.search(r"<\s*(\d+(?:\.\d+)*)", pin.partition(";")[0])
    if below is None or _numbers(version) < _numbers(below[1]):
        return ""
    return (
        f"; {distribution} asks for {pin}, and gem-core {version} is installed: install a newer {distribution}, "
        f"or run: pip install '{pin}'"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def providers_of(module: str) -> tuple[str, ...]:
    """Return the installed distributions that contain a top-level module. The first call reads all their file lists."""
    return tuple(dict.fromkeys(_providers().get(module, ())))


def clear_caches() -> None:
    """Forget all results, for a process that installs packages while it runs."""
    importlib.invalidate_caches()
    _scan_without.cache_clear()
    _providers.cache_clear()
    _contents.cache_clear()
    _installed.cache_clear()


@cache
def _providers() -> Any:
    return _metadata().packages_distributions()


def _offered(claim: Announcement) -> ManifestContents:
    contents = _contents(claim.value, claim.distribution, claim.version)
    if contents is None:
        raise ManifestError(f"announces {claim.name!r} in package {claim.value!r}, which cannot be found")
    return contents


@cache  # all namespaces that a package claims are in one manifest
def _contents(import_name: str, distribution: str, version: str) -> ManifestContents | None:
    folder = package_folder(import_name)
    if folder is None:
        return None
    try:
        return read_manifest(folder / FILE_NAME, distribution, version)
    except ManifestError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        raise ManifestError(
            f"{error}; if {folder} is not {distribution}'s, it hides the installed package: rename it"
        ) from error


def _scan() -> tuple[tuple[Announcement, ...], tuple[PluginProblem, ...]]:
    return _scan_without(os.environ.get(SWITCH, ""))


@cache
def _scan_without(disabled: str) -> tuple[tuple[Announcement, ...], tuple[PluginProblem, ...]]:
    if disabled.lower() in ("1", "true", "all"):
        return (), ()
    off = {normalized_distribution(name.strip()) for name in disabled.split(",")}
    found: list[Announcement] = []
    problems: list[PluginProblem] = []
    seen: set[str] = set()
    for distribution in _metadata().distributions():
        try:
            announced = dict.fromkeys(_announced(distribution))
            name = normalized_distribution(next(iter(announced)).distribution) if announced else ""
            if announced and name not in seen and name not in off:
                # Of a distribution that is on sys.path twice the first copy counts, as for Python itself.
                seen.add(name)
                found.extend(announced)
        except Exception as error:  # a fault of one distribution must not hide the others
            problems.append(PluginProblem(_folder_of(distribution), f"its entry points cannot be read: {error!r}"))
    # Folders list their entries in no particular order, and the result must not depend on it.
    return tuple(sorted(found, key=lambda entry: entry.distribution)), tuple(sorted(problems))


def _announced(distribution: Any) -> Iterator[Announcement]:
    text = distribution.read_text("entry_points.txt")
    # Parsing costs far more than reading, and few distributions have entry points for GEM.
    if not text or "gem." not in text:
        return
    name, version = _name_and_version(distribution)
    for entry in distribution.entry_points:
        if entry.group in (ENVIRONMENT_GROUP, PLUGIN_GROUP):
            yield Announcement(entry.group, entry.name, entry.value, name, version)


def _name_and_version(distribution: Any) -> tuple[str, str]:
    """Read the two headers; ``distribution.metadata`` would import the whole email package for them."""
    headers: dict[str, str] = {}
    for line in (distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or "").splitlines():
        if not line:
            break
        header, _, value = line.partition(":")
        headers.setdefault(header, value.strip())
    if not headers.get("Name") or not headers.get("Version"):
        raise ValueError("METADATA has no Name or no Version")
    return headers["Name"], headers["Version"]


def _folder_of(distribution: Any) -> str:
    return Path(str(getattr(distribution, "_path", "an unnamed distribution"))).name


def _metadata() -> Any:
    if sys.version_info >= (3, 12):
        import importlib.metadata as metadata
    else:
        import importlib_metadata as metadata
    return metadata
