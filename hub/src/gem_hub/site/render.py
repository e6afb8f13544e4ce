"""Renders templates to bytes."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gem_hub.site.readme import readme_html
from gem_hub.site.text import tag_slug

__all__ = ["POLICY", "render", "render_text", "static_files"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""The content policy of a page: only the hub's own files."""


def render(template: str, root: str, **values: Any) -> bytes:
    """Render a page.

    Args:
        template: the name of the template.
        root: the relative path from the page to the hub's root, for example ``"../../"``.
        **values: the values for the template.
    """
    return render_text(template, root=root, policy=POLICY, **values).encode() + b"\n"


def render_text(template: str, **values: Any) -> str:
    """Render a template, or a part of a page that another page contains; no line ends with blanks."""
    return "\n".join(line.rstrip() for line in _environment().get_template(template).render(**values).splitlines())


def static_files() -> dict[str, bytes]:
    """Return path → bytes of the style sheet, the scripts and the icon."""
    folder = files("gem_hub.site") / "static"
    return {
        f"static/{file.name}": file.read_bytes()
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.is_file()
    }


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gem_hub.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=_number, slug=tag_slug, readme=readme_html, day=lambda text: text[:10])
    return environment


def _number(value: float | None) -> str:
    """Format a number with at most three decimal places and a real minus sign."""
    if value is None:
        return "–"
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")
