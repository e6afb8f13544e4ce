"""Content negotiation for pages of the simple API: PEP 691 with RFC 9110, section 12.5.1."""

from __future__ import annotations

import re

from gem_hub.hosting import SIMPLE_JSON

__all__ = ["FORMS", "SIMPLE_HTML", "chosen_form"]

SIMPLE_HTML = "application/vnd.pypi.simple.v1+html"

FORMS = {SIMPLE_JSON: "index.json", SIMPLE_HTML: "index.html", "text/html": "index.html"}
"""Media type → file. The first wins among equals, because only JSON has sizes and times."""

_LATEST = {
    "application/vnd.pypi.simple.latest+json": SIMPLE_JSON,
    "application/vnd.pypi.simple.latest+html": SIMPLE_HTML,
}
_QUALITY = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?")


def chosen_form(accept: str | None) -> str | None:
    """Return the media type of the answer; None if the client accepts none of them.

    Args:
        accept: the header ``Accept``; None if there is none. A client that accepts any type gets HTML.
    """
    ranges = dict(_ranges(accept or "*/*"))
    weights = {form: _weight(form, ranges) for form in FORMS}
    best = max(weights.values())
    quality, expressly = best
    order = FORMS if expressly else reversed(FORMS)
    return next((form for form in order if weights[form] == best), None) if quality else None


def _ranges(accept: str) -> list[tuple[str, float]]:
    """Return the media ranges of a header with their weights, 0 … 1, without invalid ones."""
    found = []
    for item in accept.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        quality = next((value[2:].strip() for value in parameters if value.startswith("q=")), "1")
        if _QUALITY.fullmatch(quality):
            found.append((_LATEST.get(name, name), float(quality)))
    return found


def _weight(form: str, ranges: dict[str, float]) -> tuple[float, int]:
    """Return the weight of a media type and its precision: the most precise range decides."""
    for expressly, name in ((2, form), (1, f"{form.partition('/')[0]}/*"), (0, "*/*")):
        if name in ranges:
            return ranges[name], expressly
    return 0.0, 0
