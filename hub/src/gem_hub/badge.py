"""``badges/NAME.svg``: the conformance of a package's offered release as a small picture for readmes and pages."""

from __future__ import annotations

from html import escape

from gem_hub.package import WheelPackage

__all__ = ["badge", "badge_text"]

_LETTER = 6.2
"""The width of a letter of 11 px in pixels, with room for wider fonts."""
_COLOURS = {"good": "#1a7f37", "claimed": "#8a6100", "bad": "#b42318", "unknown": "#57606a"}


def badge_text(package: WheelPackage) -> tuple[str, str, str]:
    """Return the label, the result and the tone: good, claimed (by the author), bad or unknown."""
    release = package.offered
    if package.status == "quarantined":
        return "conformance", "quarantined", "bad"
    if release is None:
        return "conformance", "every release is yanked", "bad"
    label = f"conformance {release.version}"
    check = package.shown_conformance(release.version)
    if check is None:
        return label, "not tested", "unknown"
    counts = check.counts()
    result = f"{counts['violated']} violated" if counts["violated"] else f"{counts['holds']} hold"
    by_hub = counts["source"] == "hub"
    text = f"{result}, gem-core {counts['gem_core']}, {'hub ran' if by_hub else 'author says'}"
    return label, text, "bad" if counts["violated"] else "good" if by_hub else "claimed"


def badge(package: WheelPackage) -> bytes:
    """Return the badge of a package as SVG: no script, no font and no address of another host."""
    label, result, tone = badge_text(package)
    left, right = (round(len(text) * _LETTER) + 14 for text in (label, result))
    title = escape(f"{label}: {result}")
    size = f'width="{left + right}" height="20"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">
<title>{title}</title>
<rect width="{left}" height="20" rx="3" fill="#24292f"/>
<rect x="{left - 3}" width="{right + 3}" height="20" rx="3" fill="{_COLOURS[tone]}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{left / 2:g}" y="14">{escape(label)}</text>
<text x="{left + right / 2:g}" y="14">{escape(result)}</text>
</g>
</svg>
""".encode()
