"""Reading ``environments.toml``: the one static file that says what a package offers.

Two depths. :func:`read_specs` is the fast path that ``make`` takes: TOML, and just what it needs.
:func:`gem.manifest_schema.validate` checks everything, and is asked whenever the fast path finds something
odd, so that the message is always the full one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gem.env_spec import EnvSpec
from gem.errors import ManifestError
from gem.ids import parse_id

__all__ = ["FILE_NAME", "SCHEMA", "parse", "read_specs"]

FILE_NAME = "environments.toml"
SCHEMA = 1


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
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise ManifestError(f"{path}: not valid TOML: {error}") from error


def read_specs(path: Path, distribution: str | None = None, version: str | None = None) -> list[EnvSpec]:
    """Return the specs of all environments and variants that a manifest offers.

    Raises:
        ManifestError: if the file is missing, is no TOML or breaks the schema.
    """
    document = parse(path)
    try:
        if document["schema"] != SCHEMA:
            raise ValueError
        return [spec for entry in document["environment"] for spec in _specs_of(entry, distribution, version)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        from gem.manifest_schema import validate

        validate(document, path)  # raises with every reason
        raise ManifestError(f"{path}: {error!r}") from error


def _specs_of(entry: dict[str, Any], distribution: str | None, version: str | None) -> list[EnvSpec]:
    """The plain id's spec, then one for each variant."""
    common: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    base_id, kwargs, variants = common.pop("id"), common.pop("kwargs", {}), common.pop("variants", {})
    common.update(distribution=distribution, version=version)
    plain = EnvSpec(id=base_id, kwargs=kwargs, **common)
    if type(base_id) is not str or type(plain.entry_point) is not str:
        raise TypeError("id and entry_point must be strings")
    specs = [plain] + [
        EnvSpec(id=f"{base_id}-{name}", kwargs={**kwargs, **overrides}, **common)
        for name, overrides in variants.items()
    ]
    for spec in specs:
        parse_id(spec.id)
    return specs
