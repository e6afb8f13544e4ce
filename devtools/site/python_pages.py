"""Writes the pages of the Python reference: one for each package, with its modules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from devtools.site.public_api import PublicApi, PublicModule
from devtools.site.restructured import directive, docstring, first_sentence, heading

__all__ = ["FOLDER", "page_of_module", "python_pages"]

FOLDER = "reference/python"


def page_of_module(api: PublicApi, path: str) -> str:
    """Return the page on which a module stands: that of its package."""
    package = path if _is_package(api.modules[path]) else path.rpartition(".")[0]
    return f"{FOLDER}/{package}"


def _is_package(public: PublicModule) -> bool:
    return isinstance(public.module.filepath, Path) and public.module.filepath.stem == "__init__"


def python_pages(api: PublicApi) -> Iterator[tuple[str, str]]:
    """Yield each page and its text, and at the end the index of all packages."""
    by_page: dict[str, list[str]] = {}
    for path in api.modules:
        by_page.setdefault(page_of_module(api, path), []).append(path)
    shown = {
        page: paths
        for page, paths in by_page.items()
        if any(api.modules[path].objects or api.modules[path].offered for path in paths)
    }
    for page, paths in shown.items():
        yield page, "\n".join(_page(api, paths)) + "\n"
    yield f"{FOLDER}/index", "\n".join(_index(api, shown)) + "\n"


def _page(api: PublicApi, paths: list[str]) -> Iterator[str]:
    for number, path in enumerate(paths):
        public = api.modules[path]
        if number and not public.objects:
            continue
        yield from heading(path, "-" if number else "=")
        yield f".. py:module:: {path}"
        yield ""
        yield from docstring(public.module.docstring.value if public.module.docstring else None)
        yield ""
        if public.offered:
            yield from _offered(api, public)
        for name, found in public.objects.items():
            yield from directive(found, name)


def _offered(api: PublicApi, public: PublicModule) -> Iterator[str]:
    yield ".. list-table::"
    yield "   :widths: 30 70"
    yield ""
    for name, home in sorted(public.offered.items()):
        found = api.find(home)
        yield f"   * - :py:obj:`{name} <{home}>`"
        yield f"     - {first_sentence(found.docstring.value if found.docstring else None)}"
    yield ""


def _index(api: PublicApi, shown: dict[str, list[str]]) -> Iterator[str]:
    yield from heading("Python", "=")
    yield "Every public name of every package: the names in the ``__all__`` of a module, and those of packages."
    yield ""
    yield ".. list-table::"
    yield "   :widths: 30 70"
    yield ""
    for page, paths in shown.items():
        module = api.modules[paths[0]].module
        yield f"   * - :doc:`/{page}`"
        yield f"     - {first_sentence(module.docstring.value if module.docstring else None)}"
    yield ""
    yield ".. toctree::"
    yield "   :hidden:"
    yield ""
    for page in shown:
        yield f"   /{page}"
