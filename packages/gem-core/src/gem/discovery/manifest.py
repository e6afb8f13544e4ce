"""Reading ``environments.toml``: the one static file that lists the environments and the resolvers of a package.

:func:`read_manifest` is the fast path of ``make``: it reads the TOML and checks the keys that it uses. On any
irregularity it calls :func:`gem.discovery.manifest_schema.validate`, which checks everything, so that the message is
always complete.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from gem.env_spec import EnvSpec
from gem.errors import ManifestError
from gem.ids import NAMESPACE_PATTERN, parse_id

__all__ = ["FILE_NAME", "SCHEMA", "ManifestContents", "Resolver", "parse", "read_manifest", "read_specs"]

FILE_NAME = "environments.toml"
SCHEMA = 1
"""The schema's version; :mod:`gem.discovery.manifest_schema` describes the same one."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "entry_point": str,
    "description": str,
    "kwargs": dict,
    "variants": dict,
    "tags": list,
    "turns": str,
    "modality": list,
    "reward_range": list,
    "requires": list,
    "reference_policy": str,
    "reference_sees": str,
    "reference_return": (int, float),
    "null_return": (int, float),
    "thoughtless_share": (int, float),
    "step_seconds": (int, float),
    "reset_seconds": (int, float),
    "exempt": dict,
    "variant_metadata": dict,
}
_OF_A_VARIANT = {
    "description",
    "tags",
    "reward_range",
    "requires",
    "reference_return",
    "null_return",
    "thoughtless_share",
    "step_seconds",
    "reset_seconds",
    "exempt",
}
"""The keys that ``variant_metadata`` may set for a variant."""

_PREFIX = re.compile(rf"{NAMESPACE_PATTERN}:")
_OF_A_RESOLVER = {"prefix", "entry_point", "description"}


class Resolver(NamedTuple):
    """A package's offer to turn every id that begins with a prefix into a spec."""

    prefix: str
    """A namespace with its colon, such as ``"openenv:"``."""
    entry_point: str
    """``"module:function"``, which takes an id and returns its :class:`gem.EnvSpec`."""
    description: str
    distribution: str | None = None
    version: str | None = None


class ManifestContents(NamedTuple):
    """The offers of one manifest."""

    specs: list[EnvSpec]
    resolvers: list[Resolver]


def parse(path: Path) -> dict[str, Any]:
    """Return the TOML of a manifest; ManifestError if it cannot be read."""
    if sys.version_info >= (3, 11):
        from tomllib import loads
    else:
        from tomli import loads
    try:
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise ManifestError(f"{path}: not valid TOML: {error}") from error


def read_manifest(path: Path, distribution: str | None = None, version: str | None = None) -> ManifestContents:
    """Return the specs of all environments and variants in a manifest, and its resolvers.

    Raises:
        ManifestError: if the file is missing, is not TOML, or breaks the schema.
    """
    document = parse(path)
    try:
        if type(document["schema"]) is not int or document["schema"] != SCHEMA:  # True and 1.0 equal 1
            raise ValueError("schema")
        resolvers = [_resolver_of(entry, distribution, version) for entry in document.get("resolver", ())]
        entries = document.get("environment", ()) if resolvers else document["environment"]
        specs = [spec for entry in entries for spec in _specs_of(entry, distribution, version)]
        if not specs and not resolvers:
            raise ValueError("nothing is offered")
        if len({spec.id for spec in specs}) < len(specs) or len({one.prefix for one in resolvers}) < len(resolvers):
            raise ValueError("an environment or a prefix twice")
        return ManifestContents(specs, resolvers)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        from gem.discovery.manifest_schema import validate

        validate(document, path)  # raises with every fault
        raise ManifestError(f"{path}: {error!r}") from error


def read_specs(path: Path, distribution: str | None = None, version: str | None = None) -> list[EnvSpec]:
    """Return the specs of :func:`read_manifest`, which raises the same errors; none if it has only resolvers."""
    return read_manifest(path, distribution, version).specs


def _resolver_of(entry: dict[str, Any], distribution: str | None, version: str | None) -> Resolver:
    """Return the resolver of a table; KeyError, TypeError or ValueError on an irregularity."""
    if entry.keys() != _OF_A_RESOLVER or not all(isinstance(value, str) and value for value in entry.values()):
        raise TypeError("resolver")
    if not _PREFIX.fullmatch(entry["prefix"]):
        raise ValueError("prefix")
    return Resolver(**entry, distribution=distribution, version=version)


def _specs_of(entry: dict[str, Any], distribution: str | None, version: str | None) -> list[EnvSpec]:
    """Return the plain id's spec, then one for each variant.

    Any error means an irregularity. Users of the specs rely on the types of the fields and on arguments that survive
    JSON, so this function checks both.
    """
    common = _checked(entry)
    json.dumps(entry, allow_nan=False)
    base_id, kwargs, variants = common.pop("id"), common.pop("kwargs", {}), common.pop("variants", {})
    differences = common.pop("variant_metadata", {})
    if differences.keys() - variants.keys():
        raise ValueError("variant_metadata")
    parsed = parse_id(base_id)
    if parsed.owner is not None or parsed.variant is not None or (variants and parsed.version is None):
        raise ValueError("id")
    common.update(distribution=distribution, version=version)
    specs = [EnvSpec(id=base_id, kwargs=kwargs, **common)]
    for name, overrides in variants.items():
        own = _checked(differences.get(name, {}))
        if own.keys() - _OF_A_VARIANT:
            raise ValueError("variant_metadata")
        variant = EnvSpec(id=f"{base_id}-{name}", kwargs={**kwargs, **overrides}, **{**common, **own})
        parse_id(variant.id)
        specs.append(variant)
    return specs


def _checked(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table with its lists as tuples; KeyError, TypeError or ValueError on an irregularity."""
    for key, value in table.items():
        if not isinstance(value, _TYPES[key]):
            raise TypeError(key)
        member: Any = (int, float) if key == "reward_range" else str
        if isinstance(value, list) and not all(isinstance(item, member) for item in value):
            raise TypeError(key)
    lowest, highest = table.get("reward_range", (0, 1))
    if lowest > highest:
        raise ValueError("reward_range")
    if not 0 <= table.get("thoughtless_share", 0) <= 1:
        raise ValueError("thoughtless_share")
    if not all(isinstance(reason, str) and reason for reason in table.get("exempt", {}).values()):
        raise TypeError("exempt")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
