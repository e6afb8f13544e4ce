"""From an id with a prefix, such as ``openenv:http://localhost:8000``, to its spec.

A package's manifest declares the prefix and a function (``[[resolver]]``). Only this module loads such a function, and
only for an id that begins with its prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gem import discovery
from gem.arguments import nearest
from gem.discovery.manifest import Resolver
from gem.discovery.official import NAMESPACES, PREFIXES, install_lines
from gem.entry_points import load
from gem.env_spec import EnvSpec
from gem.errors import EntryPointError, EnvironmentConflictError, GemError, InvalidIdError, UnknownEnvironmentError
from gem.ids import NAMESPACE_PATTERN

__all__ = ["resolve", "unknown_prefix"]


def resolve(env_id: str, claims: Sequence[Resolver]) -> EnvSpec:
    """Return the spec that the resolver of its prefix makes of an id.

    Args:
        env_id: an id that begins with the prefix of the claims.
        claims: the resolvers of this prefix, from all installed packages; one or more.

    Raises:
        EnvironmentConflictError: if several packages claim the prefix.
        InvalidIdError: if nothing follows the prefix, or the id has characters that cannot be printed.
        EntryPointError: if the resolver cannot be imported, raises anything but a GemError, or returns no spec that
            could make the environment again in another process.
    """
    if len(claims) > 1:
        owners = [str(claim.distribution) for claim in claims]
        raise EnvironmentConflictError(
            f"the prefix {claims[0].prefix!r} is claimed by {' and '.join(owners)}; uninstall one of them, or switch "
            f"it off with {discovery.SWITCH}={owners[-1]}"
        )
    (claim,) = claims
    if not env_id.removeprefix(claim.prefix).strip() or not env_id.isprintable():
        raise InvalidIdError(
            f"{env_id!r} is not an environment id; after {claim.prefix!r} comes an address in plain text"
        )
    source = f"{env_id}: the resolver {claim.entry_point} of {claim.distribution}"
    resolver = load(claim.entry_point)
    try:
        spec = resolver(env_id)
    except GemError:
        raise
    except Exception as error:  # a defect of a plugin, which must name the plugin
        raise EntryPointError(f"{source} failed: {error!r}") from error
    if not isinstance(spec, EnvSpec) or not isinstance(spec.entry_point, str):
        raise EntryPointError(f"{source} returned {spec!r:.200}, not an EnvSpec whose entry point is 'module:Class'")
    if spec.namespace != claim.prefix.rstrip(":"):
        raise EntryPointError(f"{source} returned a spec of {spec.id!r}, which does not begin with {claim.prefix!r}")
    if spec.distribution is None:
        spec = replace(spec, distribution=claim.distribution, version=claim.version)
    return spec


def unknown_prefix(env_id: str) -> UnknownEnvironmentError | None:
    """Return the error for an id whose prefix nothing installed resolves; None if it has no such prefix.

    The message has the install line of the package that brings the prefix, or the nearest prefix.
    """
    prefix, _, rest = env_id.partition(":")
    if not re.fullmatch(NAMESPACE_PATTERN, prefix) or not rest.strip():
        return None
    missing = f"no environment {env_id!r}: nothing installed resolves '{prefix}:'"
    if prefix in discovery.namespaces():
        problems = discovery.installed(prefix).problems
        return UnknownEnvironmentError(f"{missing}; {problems[0]}") if problems else None
    if prefix in NAMESPACES:
        return UnknownEnvironmentError(f"{missing}; run {install_lines(prefix)}")
    if "//" not in rest:
        return None
    near = nearest(prefix, {*PREFIXES, *(resolver.prefix.rstrip(":") for resolver in discovery.resolvers())})
    advice = f"did you mean '{near}:'?" if near else "'gem list' shows the prefixes that there are"
    return UnknownEnvironmentError(f"{missing}; {advice}")
