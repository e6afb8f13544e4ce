"""The differences between two releases of a package: metadata, manifest, conformance, scores and files.

All but the files follow from the package's page. A difference of scores is told apart from chance: two means differ by
more than chance if they are further apart than 1.96 standard errors of their difference (the normal approximation, at
95 %).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gem_hub_client.errors import HubError

__all__ = ["ReleaseChange", "change_kind", "compare_files", "compare_releases", "told"]

_METADATA = (
    *("requires_python", "requires_gem_core", "requires_dist", "hub_requires", "provides_extra", "licence", "author"),
    *("summary", "keywords", "project_urls", "publisher", "mode", "yanked"),
)
_NOT_OF_THE_MANIFEST = ("id", "example_observation")
_95_PERCENT = 1.96
_SCHEMA = 1
"""Of the conformance records that can be compared."""


@dataclass(frozen=True)
class ReleaseChange:
    """One difference."""

    part: str
    """``metadata``, ``manifest``, ``conformance``, ``scores`` or ``files``."""
    place: str
    """What differs: a field, ``ID field``, ``ID clause``, ``ID agent`` or a path."""
    before: Any
    """A JSON value; None where there was nothing."""
    after: Any
    """A JSON value; None where there is nothing any more."""
    note: str = ""
    """What the difference is worth, in a few words; empty where that is plain."""


def compare_releases(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ReleaseChange]:
    """Return how a release differs from another one, as the package's page shows both.

    Args:
        before: an entry of ``releases``.
        after: another entry of the same page.

    Raises:
        HubError: if one of them is not as a page must be.
    """
    try:
        return [
            *_metadata(before, after),
            *_manifest(before, after),
            *_conformance(before, after),
            *_scores(before, after),
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HubError(f"the releases cannot be compared: {error!r} is missing or of the wrong type") from error


def compare_files(before: Mapping[str, str], after: Mapping[str, str]) -> list[ReleaseChange]:
    """Return the files that differ, by path; see :func:`gem_hub_client.wheel_files.file_digests`."""
    paths = sorted({*before, *after})
    return [
        ReleaseChange("files", path, before.get(path), after.get(path))
        for path in paths
        if _differ(path, before, after)
    ]


def change_kind(change: ReleaseChange) -> str:
    """Return whether a change adds, removes or changes something, in one word."""
    if change.before is None or change.after is None:
        return "removed" if change.after is None else "added"
    return "changed"


def told(value: Any) -> str:
    """Return one side of a change for people."""
    if value is None:
        return "–"
    if isinstance(value, dict) and "standard_error" in value:
        return f"{value['mean']:.3g} ± {value['standard_error']:.2g} ({value['episodes']} episodes)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _metadata(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ReleaseChange]:
    for key in _METADATA:
        if (before.get(key) or None) != (after.get(key) or None):
            yield ReleaseChange("metadata", key, before.get(key) or None, after.get(key) or None)
    if before.get("description") != after.get("description"):
        yield ReleaseChange("metadata", "readme", _length(before.get("description")), _length(after.get("description")))


def _length(text: str | None) -> str:
    return f"{len((text or '').splitlines())} lines"


def _manifest(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ReleaseChange]:
    old, new = ({entry["id"]: entry for entry in side["environments"]} for side in (before, after))
    for identity in sorted({*old, *new}):
        if identity not in new or identity not in old:
            told = [side[identity]["description"] if identity in side else None for side in (old, new)]
            yield ReleaseChange("manifest", identity, told[0], told[1])
            continue
        for key in sorted({*old[identity], *new[identity]} - {*_NOT_OF_THE_MANIFEST}):
            if _differ(key, old[identity], new[identity]):
                yield ReleaseChange("manifest", f"{identity} {key}", old[identity].get(key), new[identity].get(key))


def _conformance(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ReleaseChange]:
    testers = _tester(before), _tester(after)
    if testers[0] != testers[1]:
        yield ReleaseChange("conformance", "tested by", testers[0], testers[1])
    old, new = (_outcomes(entry) for entry in (before, after))
    known = {identity for identity, _ in old}
    for key in sorted({*old, *new}):
        # Of an environment that is new, all that holds would be news.
        if _differ(key, old, new) and (key[0] in known or new[key] == "violated"):
            yield ReleaseChange("conformance", " ".join(key), old.get(key), new.get(key))


def _scores(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ReleaseChange]:
    old, new = (_means(entry) for entry in (before, after))
    for key in sorted({*old, *new}):
        if _differ(key, old, new):
            worth = _worth(old[key], new[key]) if key in old and key in new else ""
            yield ReleaseChange("scores", " ".join(key), old.get(key), new.get(key), worth)


def _worth(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    error = math.hypot(before["standard_error"], after["standard_error"])
    beyond = abs(after["mean"] - before["mean"]) > _95_PERCENT * error
    return "more than chance" if beyond else "within chance"


def _shown(entry: Mapping[str, Any]) -> tuple[Mapping[str, Any], str] | None:
    """Return the newest record by the hub, or else by the author, and who made it; None without a readable one."""
    told = zip(entry["conformance"], entry["conformance_sources"], strict=True)
    pairs = [(record, source) for record, source in told if record.get("schema") == _SCHEMA]
    by_hub = [pair for pair in pairs if pair[1] == "hub"]
    return next(reversed(by_hub or pairs), None)


def _tester(entry: Mapping[str, Any]) -> str | None:
    found = _shown(entry)
    return f"the {found[1]}, with gem-core {found[0]['gem_core']}" if found is not None else None


def _environments(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    found = _shown(entry)
    for package in found[0]["packages"] if found is not None else ():
        yield from package["environments"]


def _outcomes(entry: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (str(environment["id"]), str(clause["clause"])): "exempt" if clause.get("exempt") else str(clause["outcome"])
        for environment in _environments(entry)
        for clause in environment["clauses"]
    }


def _means(entry: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    return {
        (str(environment["id"]), str(agent)): {key: score[key] for key in ("mean", "standard_error", "episodes")}
        for environment in _environments(entry)
        for agent, score in (environment.get("scores") or {}).items()
        if score["mean"] is not None
    }


def _differ(key: Any, before: Mapping[Any, Any], after: Mapping[Any, Any]) -> bool:
    return bool(before.get(key) != after.get(key))
