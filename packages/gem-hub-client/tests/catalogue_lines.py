"""Short catalogue lines for the tests of the search, and catalogues of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gem_hub_client.catalogue import Catalogue


def environment(identity: str, description: str = "", **changes: Any) -> dict[str, Any]:
    rest = {"tags": [], "requires": [], "turns": "multi", "variants": []}
    return {"id": identity, "description": description, **rest, **changes}


def package(name: str, summary: str = "", *environments: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "name": name, "version": "1.0", "summary": summary, "tags": [], "environments": list(environments),
        "status": "active", "reason": "", "conformance": None, "yanked": {}, "licence": "MIT", "requires_python": "",
        "requires_gem_core": "", "serial": 1, **changes,
    }  # fmt: skip


def catalogue_of(lines: Iterable[dict[str, Any]], fts: bool | None = None) -> Catalogue:
    catalogue = Catalogue.create(None, fts=fts)
    catalogue.apply(lines, 1)
    return catalogue
