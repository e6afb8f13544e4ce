"""The pages that pip and uv read: the simple repository API, version 1.4.

PEP 503 (HTML), 592 (yanks), 629 (version), 658 and 714 (metadata beside the file), 691 (JSON), 700 (sizes, times,
versions), 740 (provenance: in JSON alone, because HTML wants an address with a host, which a folder does not know) and
792 (status). HTML is frozen at 1.4 (PEP 833); a page of a quarantined package lists no file at all, because installers
take whatever is listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from gem_hub.canonical import compact_json
from gem_hub.package import WheelPackage
from gem_hub.records import Release

__all__ = [
    "API_VERSION",
    "LISTS",
    "extended_lists",
    "project_html",
    "project_json",
    "provenance_path",
    "root_html",
    "root_json",
]

API_VERSION = "1.4"
LISTS = ("simple/index.html", "simple/index.json")
"""The pages that list all packages."""

_PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta name="pypi:repository-version" content="{version}">
{meta}<title>{title}</title>
</head>
<body>
<h1>{title}</h1>
{links}</body>
</html>
"""


def project_html(package: WheelPackage) -> bytes:
    """Return ``simple/NAME/index.html``."""
    meta = _meta("pypi:project-status", package.status) if package.status != "active" else ""
    meta += _meta("pypi:project-status-reason", package.reason) if package.reason else ""
    links = "".join(_link(package, release) for release in _files(package))
    return _PAGE.format(version=API_VERSION, meta=meta, title=f"Links for {package.name}", links=links).encode()


def project_json(package: WheelPackage) -> bytes:
    """Return ``simple/NAME/index.json``."""
    files = [_file(package, release) for release in _files(package)]
    status = {"status": package.status, **({"reason": package.reason} if package.reason else {})}
    return compact_json(
        {
            "meta": {"api-version": API_VERSION, "_last-serial": package.last.serial},
            "name": package.name,
            "project-status": status,
            "versions": [release.version for release in reversed(package.releases) if release.mode != "source"],
            "files": files,
        }
    )


def provenance_path(name: str, version: str) -> str:
    """Return the path of a release's provenance object, relative to the hub."""
    return f"provenance/{name}/{version}.json"


def root_html(names: Iterable[str]) -> bytes:
    """Return ``simple/index.html``, the list of all packages."""
    links = "".join(map(_listed, names))
    return _PAGE.format(version=API_VERSION, meta="", title="Packages", links=links).encode()


def root_json(names: Iterable[str]) -> bytes:
    """Return ``simple/index.json``."""
    return compact_json({"meta": {"api-version": API_VERSION}, "projects": [{"name": name} for name in names]})


def extended_lists(pages: Mapping[str, bytes | None], name: str, successor: str) -> dict[str, bytes]:
    """Return the two pages that list all packages with one more, without writing the other names again.

    Args:
        pages: path → the page as it is.
        name: the new package.
        successor: the package that comes after it; empty if it is the last one.

    Returns:
        The pages; none if they are not as they must be, and all names must be written.
    """
    html, document = (pages[path] or b"" for path in LISTS)
    entry = f'{{"name":"{name}"}}'
    if successor:
        spliced = (
            _before(html, f'<a href="{successor}/">', _listed(name)),
            _before(document, f'{{"name":"{successor}"}}', f"{entry},"),
        )
    else:
        comma = "" if b'"projects":[]' in document else ","
        spliced = _before(html, "</body>", _listed(name)), _before(document, "]}", f"{comma}{entry}")
    # After a kill one of the two may have the name already.
    is_new = entry.encode() not in document and _listed(name).encode() not in html
    return dict(zip(LISTS, spliced, strict=True)) if all(spliced) and is_new else {}


def _before(content: bytes, mark: str, text: str) -> bytes:
    """Return a page with a text before the last occurrence of a mark; nothing if there is none."""
    at = content.rfind(mark.encode())
    return b"" if at < 0 else content[:at] + text.encode() + content[at:]


def _listed(name: str) -> str:
    return f'<a href="{name}/">{name}</a><br>\n'


def _files(package: WheelPackage) -> list[Release]:
    """Return the releases whose files are offered, oldest first, in the order of other indexes."""
    if package.status == "quarantined":
        return []
    return [release for release in reversed(package.releases) if release.mode != "source"]


def _meta(name: str, content: str) -> str:
    return f'<meta name="{name}" content="{escape(content)}">\n'


def _link(package: WheelPackage, release: Release) -> str:
    attributes = {"href": f"{release.url}#sha256={release.sha256}"}
    if release.metadata.requires_python:
        attributes["data-requires-python"] = release.metadata.requires_python
    if release.mode == "host":
        # pip 22.3 to 23.0 only know the older name of PEP 658.
        attributes["data-dist-info-metadata"] = f"sha256={release.metadata_sha256}"
        attributes["data-core-metadata"] = f"sha256={release.metadata_sha256}"
    if release.version in package.yanked:
        attributes["data-yanked"] = package.yanked[release.version]
    written = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    return f"<a {written}>{escape(release.filename)}</a><br>\n"


def _file(package: WheelPackage, release: Release) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "filename": release.filename,
        "url": release.url,
        "hashes": {"sha256": release.sha256},
        "size": release.size,
        "upload-time": release.published,
        "yanked": package.yanked.get(release.version, False),
        # The host of a linked file may not serve the metadata beside it, and installers fail without promised
        # metadata. The older key "dist-info-metadata" breaks pip 22.3 to 23.0 in JSON (PEP 714).
        "core-metadata": {"sha256": release.metadata_sha256} if release.mode == "host" else False,
    }
    if package.provenance(release.version) is not None:
        entry["provenance"] = f"../../{provenance_path(package.name, release.version)}"
    if release.metadata.requires_python:
        entry["requires-python"] = release.metadata.requires_python
    return entry
