"""The one version of all packages: where it is written, and how it moves."""

from __future__ import annotations

import re
from pathlib import Path

from devtools.shell import ROOT, fail, output_of
from devtools.workspace import package_folders

__all__ = ["current_version", "pin", "set_version"]

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:(a|b|rc)(\d+))?")
_ASSIGNED = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_RANK = {"a": 0, "b": 1, "rc": 2, None: 3}


def version_files(root: Path = ROOT) -> dict[str, Path]:
    """Return for each package the file that holds its version."""
    files = {}
    for name, folder in package_folders(root).items():
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
        found = re.search(r'^\[tool\.hatch\.version\]\npath = "(.+)"$', text, re.MULTILINE)
        if found is None:
            fail(f"{name}: its pyproject.toml does not say where its version is")
        files[name] = folder / found[1]
    return files


def current_version(root: Path = ROOT) -> str:
    """Return the version of all packages; end this program if they differ."""
    versions = {}
    for name, path in version_files(root).items():
        found = _ASSIGNED.search(path.read_text(encoding="utf-8"))
        if found is None:
            fail(f'{path}: has no line __version__ = "…"')
        versions[name] = found[1]
    if len(set(versions.values())) != 1:
        odd = ", ".join(f"{name} {version}" for name, version in versions.items())
        fail(f"all packages have one version, and here they differ: {odd}")
    return next(iter(versions.values()))


def parts(version: str) -> tuple[int, int, int, int, int]:
    """Return a version as numbers that compare as versions do; end this program if it is none."""
    found = _VERSION.fullmatch(version)
    if found is None:
        fail(f"{version!r} is no version; write X.Y.Z, or X.Y.ZrcN for a candidate")
    return int(found[1]), int(found[2]), int(found[3]), _RANK[found[4]], int(found[5] or 0)


def pin(version: str) -> str:
    """Return the range of versions that a package of this version accepts of the others.

    A minor version may break what the last one promised, so the range ends before the next.
    """
    major, minor, *_, kind, _number = parts(version)
    lowest = version if kind != _RANK[None] else f"{major}.{minor}"
    return f">={lowest},<{major}.{minor + 1}"


def set_version(version: str, root: Path = ROOT) -> list[Path]:
    """Give all packages a version, and move the ranges in which they require each other; return the changed files.

    Ranges in documents and messages move along; recorded releases and the changelog stay as they are.
    """
    old = current_version(root)
    if parts(version) <= parts(old):
        fail(f"{version} does not come after {old}, the present version")
    changed = []
    for path in version_files(root).values():
        text = path.read_text(encoding="utf-8")
        path.write_text(_ASSIGNED.sub(f'__version__ = "{version}"', text), encoding="utf-8")
        changed.append(path)
    names = "|".join(package_folders(root))
    required = re.compile(rf"\b({names})(\[[a-z0-9,-]+\])?{re.escape(pin(old))}(?![\d.])")
    for path in _texts(root):
        text = path.read_text(encoding="utf-8")
        moved = required.sub(rf"\g<1>\g<2>{pin(version)}", text)
        if moved != text:
            path.write_text(moved, encoding="utf-8")
            changed.append(path)
    return changed


def _texts(root: Path) -> list[Path]:
    """Return the files whose ranges follow the version: projects, documents, and sources that name a range."""
    listed = output_of("git", "ls-files", "-z", "*.toml", "*.md", "packages/*/src/**/*.py", "hub/src/**/*.py", cwd=root)
    if listed is None:
        fail(f"{root}: is no git repository")
    history = ("CHANGELOG.md", "changelog.d/")
    return [root / name for name in filter(None, listed.split("\0")) if not name.startswith(history)]
