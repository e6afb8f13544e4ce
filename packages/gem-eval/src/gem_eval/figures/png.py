"""Figures as PNG: :func:`to_png` renders their SVG."""

from __future__ import annotations

from gem.errors import GemError, MissingPluginError

__all__ = ["NoFontError", "to_png"]

_SCALE = 3
"""Pixels to one of the SVG: 1,560 across, 300 dots an inch at 13 cm."""


class NoFontError(GemError, RuntimeError):
    """The machine has no font, so that the text of a picture would be missing."""


def to_png(svg: str) -> bytes:
    """Return an SVG file as PNG.

    Raises:
        MissingPluginError: if the library resvg-py is not installed.
        NoFontError: if this machine has no font.
    """
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        raise MissingPluginError("PNG needs the library resvg-py; run: pip install 'gem-eval[png]'") from error
    if not _writes(svg_to_bytes):
        raise NoFontError(
            "this machine has no font, so that the text of the figures would be missing from PNG; install one, such as "
            "the package fonts-dejavu-core of Debian, or take the SVG"
        )
    return bytes(svg_to_bytes(svg_string=svg, zoom=_SCALE))


def _writes(render: object) -> bool:
    """Whether a text leaves anything in a picture."""
    frame = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{}</svg>'
    blank, written = (
        bytes(render(svg_string=frame.format(text)))  # type: ignore[operator]
        for text in ("", '<text x="2" y="16" font-family="DejaVu Sans, sans-serif">MM</text>')
    )
    return blank != written
