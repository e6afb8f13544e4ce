"""Sources of new packages: what plugins make of a description for ``gem new --from``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gem.errors import ArgumentError, GemError, MissingPluginError
from gem.plugins import lookup, names

__all__ = ["PROVIDER", "MadeFiles", "made_from"]

_HOOK = "gem_scaffold_sources"
PROVIDER = "gem-envs-desk"
"""The package of ours that makes environments from descriptions."""


class MadeFiles(NamedTuple):
    """What a source returns; ``docs/hooks.md`` describes the fields under ``gem_scaffold_sources``."""

    environments: Sequence[Mapping[str, Any]]
    files: Mapping[str, str]
    manifest: str
    dependencies: Sequence[str]
    about: Sequence[str]
    changes: Sequence[str]
    summary: Sequence[str]


def made_from(source: str, request: Mapping[str, Any]) -> MadeFiles:
    """Return what the plugin for a source makes of it.

    Args:
        source: ``SCHEME:REST``, or the path of a file.
        request: what the hook demands.

    Raises:
        ArgumentError: if no plugin takes such sources, or there is no such file.
        MissingPluginError: if no plugin that makes packages is installed.
        GemError: what the plugin raises.
    """
    known = names(_HOOK)
    if not known:
        from gem.discovery.official import install_line

        raise MissingPluginError(
            f"packages from descriptions come with {PROVIDER}; run: {install_line(f'{PROVIDER}[synthesis]')}"
        )
    scheme, colon, rest = source.partition(":")
    if colon and scheme in known:
        return _called(scheme, rest, request)
    path = Path(source)
    if path.suffix.lower() not in known:
        takes = ", ".join(sorted(f"{name}:…" if not name.startswith(".") else f"FILE{name}" for name in known))
        raise ArgumentError(f"packages are not made from {source!r}; --from takes {takes}")
    if not path.is_file():
        raise ArgumentError(f"{source!r} is no file" if path.exists() else f"there is no file {source!r}")
    return _called(path.suffix.lower(), source, request)


def _called(name: str, source: str, request: Mapping[str, Any]) -> MadeFiles:
    try:
        return MadeFiles(**lookup(_HOOK, name, "source of packages")(source, request))
    except GemError:
        raise
    except TypeError as error:
        raise ArgumentError(f"the source of packages {name!r} returned something else than it must: {error}") from error
