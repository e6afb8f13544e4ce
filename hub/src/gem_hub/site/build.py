"""Builds all pages of a hub's catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gem_hub.details import details
from gem_hub.package import WheelPackage
from gem_hub.site.environment import scored_agents
from gem_hub.site.leaderboards import board_documents, environments_with
from gem_hub.site.render import render, static_files
from gem_hub.site.search_index import search_files
from gem_hub.site.text import readable, tag_slug
from gem_hub.site.views import BaseEnvironment, Listing, PackageView, tags_of, view_of

__all__ = ["FOLDERS", "details_of", "package_page", "pages", "site_files"]

FOLDERS = ("p", "tags", "list", "search", "static")
"""Folders of a hub that contain only these pages."""

ON_A_PAGE = 100
"""The number of packages on one page of the list."""

_MOST_OF_A_TAG = 500


def details_of(packages: Iterable[WheelPackage]) -> Iterator[dict[str, Any]]:
    """Yield the content of ``envs/NAME.json`` of each package, with its leaderboards if it has results."""
    for package in packages:
        yield {**json.loads(details(package)), **board_documents(package)}


def pages(packages: Iterable[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return path → content of every page and its assets.

    Args:
        packages: the contents of ``envs/NAME.json``.
    """
    return dict(site_files(packages))


def site_files(packages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every page and its assets. Only one package's page is in memory at a time."""
    listings: list[Listing] = []
    for document in packages:
        view = view_of(readable(document))
        if view.listing is not None:
            listings.append(view.listing)
        yield f"p/{view.name}/index.html", package_page(view)
    listings.sort(key=lambda listing: listing.name)
    yield from _lists(listings)
    yield from _tags(listings)
    yield "404.html", render("missing.html", "/")
    yield from search_files(listings)
    yield from static_files().items()


def package_page(view: PackageView) -> bytes:
    """Return the page of a package."""
    agents = scored_agents(view.environments, ("random", "reference"))
    results = environments_with(view.boards)
    return render("package.html", "../../", package=view, agents=agents, results=results)


def _lists(listings: list[Listing]) -> Iterator[tuple[str, bytes]]:
    count = max(1, -(-len(listings) // ON_A_PAGE))
    for number in range(1, count + 1):
        path, root = _list_place(number)
        yield (
            path,
            render(
                "index.html",
                root,
                listings=listings[(number - 1) * ON_A_PAGE : number * ON_A_PAGE],
                total=len(listings),
                environments=sum(len(listing.environments) for listing in listings),
                number=number,
                count=count,
                pages=[_list_place(other)[0] for other in range(1, count + 1)],
            ),
        )


def _list_place(number: int) -> tuple[str, str]:
    """Return the path of a page of the list, and the relative path from there to the root."""
    return ("index.html", "") if number == 1 else (f"list/{number}/index.html", "../../")


def _tags(listings: list[Listing]) -> Iterator[tuple[str, bytes]]:
    tagged: dict[str, list[tuple[Listing, list[BaseEnvironment]]]] = {}
    names: dict[str, str] = {}
    for listing in listings:
        for slug, name in tags_of(listing).items():
            names.setdefault(slug, name)
            having = [e for e in listing.environments if slug in map(tag_slug, e.tags)]
            tagged.setdefault(slug, []).append((listing, having))
    counts = {slug: sum(len(having) for _, having in entries) for slug, entries in tagged.items()}
    yield (
        "tags.html",
        render("tags.html", "", tags=[(slug, names[slug], counts[slug]) for slug in sorted(tagged)]),
    )
    for slug in sorted(tagged):
        shown = tagged[slug][:_MOST_OF_A_TAG]
        values = {"tag": names[slug], "entries": shown, "more": len(tagged[slug]) - len(shown), "count": counts[slug]}
        yield f"tags/{slug}/index.html", render("tag.html", "../../", **values)
