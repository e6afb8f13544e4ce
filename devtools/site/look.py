"""Opens built pages in a headless Chromium, says what is wrong with them, and takes pictures of them.

    python -m devtools.site.look [--site .site/html] [--out FOLDER] [PAGE ...]

A page is wrong if it asks for anything outside its folder, complains in the console, is wider than a phone, has text
of too little contrast in the light or the dark, or has something to click that the keyboard does not reach. ``--out``
takes pictures at 1280 and 400 pixels, light and dark.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from devtools.shell import ROOT, say

__all__ = ["SHOWN", "asked_elsewhere", "browser", "clicked_only", "faults_of", "main", "tab_stops", "take_pictures"]

AUDIT = Path(__file__).with_name("audit.js")
LOOKS = ((1280, False), (1280, True), (400, False), (400, True))
"""Width of the window in pixels, and whether it is dark."""

SHOWN = (
    "index.html",
    "start.html",
    "compared.html",
    "guides/evaluation.html",
    "environments/game-sudoku-v0.html",
    "environments/grid-maze-v0.html",
    "reference/wrappers.html",
    "reference/python/gem.html",
)
"""A page of each kind."""


def browser(profile: Path) -> Any:
    """Return a context manager of a headless browser; the class lies with the tests of the viewer."""
    folder = str(ROOT / "packages/gem-eval/tests")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module("chromium").Chromium(profile)


def faults_of(opened: Any, address: str, allowed: str, looks: Iterable[tuple[int, bool]] = LOOKS) -> Iterator[str]:
    """Yield what is wrong with a page, each time with the width and the light.

    Args:
        opened: a page of the browser.
        address: of the page to look at.
        allowed: the beginning of all addresses that it may ask for.
        looks: the widths, and whether it is dark.
    """
    audit = AUDIT.read_text(encoding="utf-8")
    # The tabulator key can have left the page for the browser's own controls; then no element looks focused.
    opened.call("Emulation.setFocusEmulationEnabled", enabled=True)
    opened.requests.clear()
    opened.errors.clear()
    opened.goto(address)
    for width, dark in looks:
        opened.resize(width, 800)
        opened.set_dark(dark)
        shown = f"{width} pixels, {'dark' if dark else 'light'}"
        yield from (f"{shown}: {fault}" for fault in opened.evaluate(audit))
    yield from (f"asks for {asked}" for asked in asked_elsewhere(opened, allowed))
    yield from opened.errors


def asked_elsewhere(opened: Any, allowed: str) -> list[str]:
    """Return the addresses outside ``allowed`` that a page has asked for; one that itself holds the data is none."""
    return [asked for asked in opened.requests if not asked.startswith((allowed, "data:", "blob:"))]


def tab_stops(opened: Any) -> list[str]:
    """Return what the tabulator key reaches, from the top to the end of the page, each as a CSS path."""
    path = """(() => {
        const path = [];
        for (let at = document.activeElement; at && at !== document.body; at = at.parentElement)
            path.unshift(`${at.localName}:nth-child(${[...at.parentElement.children].indexOf(at) + 1})`);
        return path.join(" > ");
    })()"""
    opened.evaluate("document.activeElement?.blur(); getSelection().removeAllRanges(); scrollTo(0, 0)")
    stops: list[str] = []
    while True:
        opened.press("Tab")
        stop = opened.evaluate(path)
        if not stop or stop in stops:
            return stops
        stops.append(stop)


def clicked_only(opened: Any, stops: Iterable[str]) -> list[str]:
    """Return the beginning of each visible element that can be clicked and is none of the stops of the tabulator key.

    Raises:
        ValueError: if the page shows nothing to click, so that nothing could be missed.
    """
    clickable = "a[href], button, summary, label[for]:not(.overlay)"
    elements = opened.evaluate(f"""(() => {{
        const stops = new Set({json.dumps(list(stops))}.map((stop) => document.querySelector(`body > ${{stop}}`)));
        const shown = (e) => e.checkVisibility({{ visibilityProperty: true }}) && e.getClientRects().length;
        return [...document.querySelectorAll({json.dumps(clickable)})].filter(shown)
            .map((e) => [e.outerHTML.slice(0, 120), stops.has(e)]);
    }})()""")
    if not elements:
        raise ValueError("the page shows nothing to click")
    return [html for html, reached in elements if not reached]


def take_pictures(opened: Any, address: str, name: str, out: Path) -> None:
    """Write a picture of what the window shows of a page, for each width and light."""
    for width, dark in LOOKS:
        opened.resize(width, 900)
        opened.set_dark(dark)
        opened.goto(address)
        opened.screenshot(out / f"{name}-{width}-{'dark' if dark else 'light'}.png")


def main() -> int:
    """Look at pages; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=SHOWN, help="paths in the folder of the site")
    parser.add_argument("--site", type=Path, default=ROOT / ".site/html")
    parser.add_argument("--out", type=Path, help="the folder of the pictures")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    found = 0
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as chromium:
        opened = chromium.page()
        for page in arguments.pages:
            address = (site / page).as_uri()
            for fault in faults_of(opened, address, site.as_uri()):
                say(f"{page}: {fault}")
                found += 1
            if arguments.out is not None:
                arguments.out.mkdir(parents=True, exist_ok=True)
                take_pictures(opened, address, page.removesuffix(".html").replace("/", "-"), arguments.out)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
