"""The types of what a page says of a package, for the values that commands read.

A hub may serve a page of any shape. Commands read pages that :mod:`gem_hub_client.pages` returns, and that module
refuses one of another shape, so that none of them meets a number where a text should be. Keys that are not listed here
are left alone: newer hubs say more, and records of the conformance kit have readers of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

__all__ = ["shape_problems"]

_MOST_DIGITS = 100
_LONG_NUMBER = re.compile(rf"[0-9]{{{_MOST_DIGITS + 1}}}")

Check = Callable[[Any, str], Iterator[str]]
"""``(value, where) -> problems``."""


def shape_problems(page: Mapping[str, Any]) -> Iterator[str]:
    """Yield in what a page, or what it says of releases and results, is of another type than it must be."""
    yield from _object(page, "", _PAGE, required=("releases",))


def _text(value: Any, where: str) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{where} is {value!r:.40}, which is no text"


def _versions(value: Any, where: str) -> Iterator[str]:
    """Check a version, or a text with versions; the number in one must be a number for Python as well."""
    yield from _text(value, where)
    if isinstance(value, str) and _LONG_NUMBER.search(value):
        yield f"{where} has a number of over {_MOST_DIGITS} digits, which no version has"


def _address(value: Any, where: str) -> Iterator[str]:
    yield from _text(value, where)
    try:
        _ = urlsplit(value if isinstance(value, str) else "").port
    except ValueError as error:
        yield f"{where} is {value!r:.40}, which is no address ({error})"


def _whole(value: Any, where: str) -> Iterator[str]:
    if type(value) is not int or not 0 <= value < 1 << 63:
        yield f"{where} is {value!r:.40}, which is no size or count"


def _or_null(check: Check) -> Check:
    return lambda value, where: iter(()) if value is None else check(value, where)


def _list(value: Any, where: str, check: Check) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{where} is {value!r:.40}, which is no list"
        return
    for number, inner in enumerate(value, 1):
        yield from check(inner, f"{where} {number}")


def _object(value: Any, where: str, checks: Mapping[str, Check], required: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is {value!r:.40}, which is no object"
        return
    for name in required:
        if name not in value:
            yield f"{where} has no {name}".strip()
    for name, check in checks.items():
        if name in value:
            yield from check(value[name], f"{where} {name}".strip())


def _map(value: Any, where: str, check: Check) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is {value!r:.40}, which is no object"
        return
    for name, inner in value.items():
        yield from check(inner, f"{where} {name!r:.40}")


_TEXTS = partial(_list, check=_text)
_MAYBE_TEXT = _or_null(_text)
_OBJECTS = partial(_list, check=partial(_object, checks={}))

_PUBLISHER = partial(_object, checks={})
_BUNDLES = partial(_list, check=partial(_object, checks={"publisher": _or_null(_PUBLISHER)}))

_ENVIRONMENT: dict[str, Check] = {
    **dict.fromkeys(("id", "description", "entry_point"), _text),
    **dict.fromkeys(("requires", "tags", "modality"), _or_null(_TEXTS)),
    "exempt": _or_null(partial(_map, check=_text)),
    "kwargs": _or_null(partial(_object, checks={})),
}

_RELEASE: dict[str, Check] = {
    "version": _versions,
    "mode": _text,
    "url": _or_null(_address),
    **dict.fromkeys(("requires_gem_core", "requires_python"), _or_null(_versions)),
    "requires_dist": _or_null(partial(_list, check=_versions)),
    **dict.fromkeys(
        (
            *("author", "changelog", "changelog_file", "description", "description_content_type", "filename"),
            *("licence", "metadata_sha256", "published", "publisher", "sha256", "source", "summary", "yanked"),
        ),
        _MAYBE_TEXT,
    ),
    **dict.fromkeys(("hub_requires", "keywords", "provides_extra", "conformance_sources"), _or_null(_TEXTS)),
    "size": _or_null(_whole),
    "project_urls": partial(_map, check=_text),
    "environments": _or_null(partial(_list, check=partial(_object, checks=_ENVIRONMENT, required=("id",)))),
    "conformance": _or_null(_OBJECTS),
    "provenance": _or_null(partial(_object, checks={"attestation_bundles": _or_null(_BUNDLES)})),
}

_RESULT: dict[str, Check] = {
    **dict.fromkeys(("id", "path", "sha256", "version", "environment", "state"), _text),
    **dict.fromkeys(
        ("agent", "model", "harness", "publisher", "created", "by", "reason", "episodes_path"), _MAYBE_TEXT
    ),
}

_PAGE: dict[str, Check] = {
    "owners": _or_null(_TEXTS),
    "status": _text,
    "reason": _MAYBE_TEXT,
    "releases": partial(_list, check=partial(_object, checks=_RELEASE, required=("version",))),
    "results": partial(_list, check=partial(_object, checks=_RESULT, required=tuple(_RESULT)[:6])),
}
