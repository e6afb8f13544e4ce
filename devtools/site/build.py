"""Builds the site: writes the sources of all pages, runs Sphinx with warnings as errors, checks the result.

python -m devtools.site.build [--out .site] [--play | --no-play]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from devtools.shell import ROOT, say
from devtools.site import check, command_pages, documents, environment_pages, llms, named_pages, python_pages, search
from devtools.site.navigation import page_of, sections
from devtools.site.played import Playing
from devtools.site.progress import ProgressLines
from devtools.site.public_api import PublicApi, load_api, source_packages

__all__ = ["main", "write_settings", "write_sources"]

HERE = Path(__file__).parent
_PROCESSES = 2
"""Each has the whole site in memory, about 1 GB."""


def main(arguments: list[str] | None = None) -> int:
    """Build the site; return the exit code."""
    parser = argparse.ArgumentParser("dev.py site", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / ".site", help="the folder of sources and pages")
    parser.add_argument(
        "--play",
        action=argparse.BooleanOptionalAction,
        help="play all variants for scores, or nothing; by default an episode of each environment, as an example",
    )
    options = parser.parse_args(arguments)
    sources, pages = options.out / "sources", options.out / "html"
    say("reading the sources of all packages")
    playing = {None: Playing.EXAMPLES, True: Playing.SCORES, False: Playing.NOTHING}[options.play]
    write_sources(sources, options.out / "played", playing)
    from sphinx.cmd.build import main as sphinx

    say("writing the pages")
    folders = ["-d", str(options.out / "doctrees"), str(sources), str(pages)]
    with contextlib.redirect_stdout(ProgressLines(say)):
        code = sphinx(["-W", "--keep-going", "-N", "-j", str(_PROCESSES), *folders])
    if code != 0:
        return int(code)
    (pages / llms.FILE).write_text(llms.llms_text(pages, sections(ROOT)), encoding="utf-8")
    say("checking links and files")
    faults = check.faults(pages)
    for fault in faults:
        say(fault)
    if faults:
        say(f"{len(faults)} faults")
        return 1
    say(f"the site is {pages / 'index.html'}: {sum(1 for _ in pages.rglob('*.html'))} pages")
    return 0


def write_sources(target: Path, cache: Path, playing: Playing) -> None:
    """Write the sources of all pages; what an earlier build has left and no page uses is removed.

    Args:
        target: the folder of the sources.
        cache: the folder of what was played of environments.
        playing: what to play of what is not there.
    """
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    documents.copy_documents(ROOT, fresh, {"index": navigation()})
    api = load_api(source_packages(ROOT).values())
    generated: list[tuple[str, str]] = [
        *python_pages.python_pages(api),
        *named_pages.named_pages(api),
        *command_pages.command_pages(command_pages.commands()),
        ("reference/index", reference_index()),
        ("packages/index", packages_index()),
    ]
    for page, text in generated:
        _put(fresh / f"{page}.rst", text)
    for page, text in environment_pages.environment_pages(cache, api, playing):
        _put(fresh / f"{page}.md", text)
    write_settings(fresh, aliases(api))
    _replace(target, fresh)


def write_settings(sources: Path, names: Mapping[str, Mapping[str, str]]) -> None:
    """Put Sphinx's settings, templates and static files beside the sources of pages.

    Args:
        sources: the folder of the sources.
        names: other names of public names, as :func:`aliases` gives them.
    """
    _put(sources / "aliases.json", json.dumps(names))
    shutil.copy(HERE / "conf.py", sources / "conf.py")
    shutil.copytree(HERE / "static", sources / "_static")
    shutil.copytree(HERE / "templates", sources / "_templates")
    _put(sources / "_static" / search.FILE, search.search_script())


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _replace(target: Path, fresh: Path) -> None:
    """Bring a folder to the content of another, and leave equal files alone, which Sphinx then need not read."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = {path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()}
    for path in [path for path in target.rglob("*") if path.is_file()]:
        if path.relative_to(target) not in wanted:
            path.unlink()
    for path in wanted:
        content = (fresh / path).read_bytes()
        place = target / path
        if not place.is_file() or place.read_bytes() != content:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    shutil.rmtree(fresh)


def aliases(api: PublicApi) -> dict[str, dict[str, str]]:
    """Return what a reference in a docstring may say for a public name: other paths, and unique bare names."""
    bare: dict[str, set[str]] = {}
    for path, found in api.objects():
        bare.setdefault(found.name, set()).add(path)
    return {"paths": api.aliases(), "names": {name: min(paths) for name, paths in bare.items() if len(paths) == 1}}


def navigation() -> str:
    """Return the tables of contents that follow the front page."""
    return "\n".join(_toctrees())


def _toctrees() -> Iterator[str]:
    for section in sections(ROOT):
        yield "\n```{toctree}"
        yield ":hidden:"
        yield f":caption: {section.title}\n"
        yield from (page_of(document) for document in section.documents)
        yield "```"


def reference_index() -> str:
    """Return the page on all parts of the reference."""
    pages = [(page.page, page.title) for page in named_pages.NAMED]
    listed = [*pages, (f"{command_pages.FOLDER}/index", "Commands"), (f"{python_pages.FOLDER}/index", "Python")]
    return _index("Reference", "Made from the sources of this version.", [page for page, _ in listed])


def packages_index() -> str:
    """Return the page on all packages."""
    pages = sorted(page for page in documents.documents(ROOT).values() if page.startswith("packages/"))
    others = [page for page in documents.documents(ROOT).values() if page not in _listed() and page not in pages]
    return _index("Packages", "Each package is installed by pip under its name.", [*pages, *sorted(others)])


def _listed() -> set[str]:
    return {"index", *(page_of(document) for section in sections(ROOT) for document in section.documents)}


def _index(title: str, introduction: str, pages: Iterable[str]) -> str:
    lines = [title, "=" * len(title), "", introduction, "", ".. toctree::", "   :maxdepth: 1", ""]
    return "\n".join([*lines, *(f"   /{page}" for page in pages)]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
