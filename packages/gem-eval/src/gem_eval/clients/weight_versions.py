"""Which versions of a model's weights sampled an answer, as servers say it: :func:`note_versions`.

SGLang has ``weight_version``, the last one, and ``weight_versions``, spans of sampled tokens with an exclusive end
(``sglang/srt/utils/weight_versions.py``), in ``meta_info`` of ``/generate`` and of a choice, and in ``metadata`` or
``sglext`` of the answers of its OpenAI endpoints. Servers that speak its dialect have the first alone. A server whose
trainer has declared no version says ``default``.
"""

from __future__ import annotations

import re
from typing import Any

from gem_eval.clients.base import Completion

__all__ = ["note_versions"]

_UNDECLARED = "default"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
"""As numbers are written, and of 64 bits."""


def note_versions(completion: Completion, *places: Any) -> None:
    """Write into a completion which versions sampled it, if one of the places says so; the first that does counts.

    Spans that do not cover the sampled tokens one after another say nothing, and ``metadata["version"]`` says that.
    """
    for place in places:
        if not isinstance(place, dict):
            continue
        spans, last = place.get("weight_versions"), _version(place.get("weight_version"))
        if spans:
            found, sampled = _counts(spans), completion.token_ids
            if found is None or (sampled is not None and _total(found) != len(sampled)):
                completion.metadata["version"] = "the server's spans of versions do not cover the sampled tokens"
            elif named := [(version, count) for version, count in found if version is not None]:
                completion.version = named[0][0]
                completion.version_spans = named if sampled is not None and len(named) == len(found) > 1 else None
                return
        if last is not None:
            completion.version = last
            return


def _counts(spans: Any) -> list[tuple[int | str | None, int]] | None:
    """Return each version with its number of tokens; None unless the spans follow each other from 0."""
    found: list[tuple[int | str | None, int]] = []
    for span in spans if isinstance(spans, list) else [None]:
        if not isinstance(span, dict):
            return None
        start, end = span.get("start"), span.get("end")
        if type(start) is not int or type(end) is not int or start != _total(found) or end < start:
            return None
        found.append((_version(span.get("version")), end - start))
    return found


def _total(counts: list[tuple[int | str | None, int]]) -> int:
    return sum(count for _, count in counts)


def _version(value: Any) -> int | str | None:
    """Return a version as trainers count it: a number that is written as text is the number."""
    if type(value) is int:
        return value
    if not isinstance(value, str) or value in ("", _UNDECLARED):
        return None
    return int(value) if _NUMBER.fullmatch(value) else value
