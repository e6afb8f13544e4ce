"""The curves of a run as a picture: :func:`curves`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

__all__ = ["curves"]

_PANELS = {
    "success": "Success",
    "turns_of_won_episodes": "Turns of won episodes",
    "malformed": "Share of malformed actions",
    "entropy": "Entropy of the policy, nats a token",
    "mean_return": "Mean return",
    "within_group_spread": "Spread of returns within groups",
    "divergence": "Divergence from the start, nats a token",
}
_SHARES = ("success", "malformed")
"""Figures between 0 and 1, whose axes show all of that."""
_WIDTH, _HEIGHT, _MARGIN, _COLUMNS = 320, 190, 42, 2  # pixels
_SMOOTHED = 6
"""Updates that the thick line averages."""


def curves(metrics: Sequence[Mapping[str, Any]], title: str) -> str:
    """Return the figures of all updates as a picture in SVG: each as a thin line, and its running mean as a thick one.

    Args:
        metrics: the lines of ``metrics.jsonl``; a figure that no update has gets no panel.
        title: stands above.
    """
    panels = {name: text for name, text in _PANELS.items() if any(_number(line.get(name)) for line in metrics)}
    rows = math.ceil(len(panels) / _COLUMNS)
    width, height = _COLUMNS * _WIDTH, rows * _HEIGHT + 30
    root = Xml.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width} {height}")
    root.set("font-family", "sans-serif")
    root.set("font-size", "11")
    Xml.SubElement(root, "rect", width=str(width), height=str(height), fill="white")
    _text(root, f"{title}. Thin: each update. Thick: the mean of the last {_SMOOTHED}.", 12, 20, "start")
    for place, (name, text) in enumerate(panels.items()):
        corner = f"translate({place % _COLUMNS * _WIDTH} {place // _COLUMNS * _HEIGHT + 30})"
        panel = Xml.SubElement(root, "g", transform=corner)
        _text(panel, text, _MARGIN, 12, "start")
        points = [(float(line["update"]), float(line[name])) for line in metrics if _number(line.get(name))]
        _draw(panel, points, float(metrics[-1]["update"]), name in _SHARES)
    return Xml.tostring(root, encoding="unicode")


def _draw(panel: Xml.Element, points: Sequence[tuple[float, float]], last: float, share: bool) -> None:
    """Draw axes and both lines of a figure."""
    values = [value for _, value in points]
    low, high = (0.0, 1.0) if share else (min(0.0, *values), max(values))
    high = high if high > low else low + 1.0
    left, right, top, bottom = _MARGIN, _WIDTH - 12, 20, _HEIGHT - 30

    def path(line: Sequence[tuple[float, float]]) -> str:
        return " ".join(
            f"{left + (right - left) * x / last:.1f},{bottom - (bottom - top) * (y - low) / (high - low):.1f}"
            for x, y in line
        )

    Xml.SubElement(panel, "path", d=f"M{left} {top}V{bottom}H{right}", stroke="#888", fill="none")
    for value, y in ((high, top), (low, bottom)):
        _text(panel, f"{value:.3g}", left - 4, y + 4, "end")
    _text(panel, f"{last:.0f} updates", right, bottom + 14, "end")
    means = []
    for place, (x, _) in enumerate(points):
        window = values[max(0, place - _SMOOTHED + 1) : place + 1]
        means.append((x, sum(window) / len(window)))
    for line, thickness, colour in ((points, "1", "#9ec5e8"), (means, "2", "#1f6fb2")):
        Xml.SubElement(panel, "polyline", {"points": path(line), "stroke-width": thickness}, fill="none", stroke=colour)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _text(parent: Xml.Element, text: str, x: float, y: float, anchor: str) -> None:
    Xml.SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor}).text = text
