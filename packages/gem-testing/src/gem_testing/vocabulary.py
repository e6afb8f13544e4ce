"""The controlled tags of environments, which ``vocabulary.toml`` lists with a description of each.

A tag with a colon, such as ``domain:code``, is of one of the controlled namespaces, and only listed ones are accepted.
Tags without a colon are free. ``gem check`` and the hub's gate ask the same functions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from gem.arguments import nearest

__all__ = ["NAMESPACES", "problem_of_tag", "propose_tags", "vocabulary"]

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

NAMESPACES = ("domain", "skill")
"""The namespaces that a tag may have; the modality is a key of its own in the manifest."""


@lru_cache(maxsize=1)
def vocabulary() -> dict[str, dict[str, str]]:
    """Return namespace (domain, skill or modality) → name → description."""
    return loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))


def problem_of_tag(tag: str) -> str | None:
    """Return what is wrong with a tag and what to write instead, as half a sentence; None if it may be used."""
    namespace, colon, name = tag.partition(":")
    if not colon:
        return None
    if namespace == "modality":
        return f"is no tag; write modality = [{name!r}]"
    if namespace not in NAMESPACES:
        hint = nearest(namespace, NAMESPACES)
        advice = f"write '{hint}:{name}'" if hint else f"write one of {' or '.join(NAMESPACES)}"
        return f"has an unknown namespace; {advice}, or leave the colon out"
    known = vocabulary()[namespace]
    if name in known:
        return None
    hint = nearest(name, known)
    advice = f"did you mean '{namespace}:{hint}'?" if hint else f"known are {', '.join(sorted(known))}"
    return f"is not in the vocabulary; {advice}"


def propose_tags(tags: Iterable[str]) -> str | None:
    """Return what to write for an environment without a domain or a skill, as half a sentence; None if it has both."""
    present = {tag.partition(":")[0] for tag in tags if ":" in tag}
    missing = [namespace for namespace in NAMESPACES if namespace not in present]
    if not missing:
        return None
    named = "; ".join(f"{namespace}: {', '.join(vocabulary()[namespace])}" for namespace in missing)
    example = " and ".join(f"{namespace}:NAME" for namespace in missing)
    return f"has no {' and no '.join(missing)} among its tags, so that fewer searches find it; add {example} ({named})"
