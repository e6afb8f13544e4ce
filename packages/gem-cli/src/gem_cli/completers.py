"""What completes the parameters of commands: ids, namespaces, packages, tags, wrappers, modes and agents.

click completes commands and options by itself. These functions read manifests alone and import no environment. A
completion must print nothing but its answers, so an error gives none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

import click

__all__ = [
    "complete_agents",
    "complete_ids",
    "complete_modes",
    "complete_namespaces",
    "complete_packages",
    "complete_tags",
    "complete_targets",
    "complete_wrappers",
]

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def _quietly(completer: Completer) -> Completer:
    """Complete nothing where an error is raised, for example by a broken package."""

    @wraps(completer)
    def quiet(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        try:
            return completer(ctx, param, incomplete)
        except Exception:
            return []

    return quiet


@_quietly
def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete an environment id, variants included."""
    from gem.registry import all_specs

    namespace, colon, _ = incomplete.partition(":")
    return _beginning(incomplete, (spec.id for spec in all_specs(namespace if colon else None)))


@_quietly
def complete_namespaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete a namespace, the part of an id before the colon."""
    from gem.discovery import namespaces

    return _beginning(incomplete, namespaces())


@_quietly
def complete_packages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a distribution with environments."""
    from gem.discovery import ENVIRONMENT_GROUP, entry_points

    return _beginning(incomplete, (claim.distribution for claim in entry_points(ENVIRONMENT_GROUP)))


@_quietly
def complete_targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete a namespace, a package or an id."""
    if ":" in incomplete:
        return complete_ids(ctx, param, incomplete)
    groups = [*complete_namespaces(ctx, param, incomplete), *complete_packages(ctx, param, incomplete)]
    return groups or complete_ids(ctx, param, incomplete)


@_quietly
def complete_tags(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete a tag of environments."""
    from gem.registry import all_specs

    return _beginning(incomplete, (tag for spec in all_specs() for tag in spec.tags))


@_quietly
def complete_wrappers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last of the wrappers that commas separate."""
    from gem.plugins import names

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(last, names("gem_wrappers"))]


@_quietly
def complete_modes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete a vectorization mode."""
    from gem.plugins import names

    return _beginning(incomplete, names("gem_vector_backends"))


@_quietly
def complete_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a policy that every environment has."""
    return _beginning(incomplete, ("null", "random", "reference"))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name and name.startswith(incomplete)})
