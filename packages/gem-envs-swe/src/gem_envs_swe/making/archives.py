"""Source archives of packages: found in the user's index, checked, and unpacked without running any of their code.

``pip download`` of a source archive runs its build for its metadata, on this machine and with the user's rights. So the
index is read here, and only what pip says of its configuration is taken from it.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import Version

from gem_envs_swe.errors import SweError
from gem_hub_client.errors import HubError, MissingFileError
from gem_hub_client.simple import Link, read_html
from gem_hub_client.transport import FolderSource, HubSource, WebSource

__all__ = [
    "SourceArchive",
    "configured_indexes",
    "fetch_archive",
    "find_archive",
    "metadata_of",
    "unpack_archive",
    "wanted_source",
]

_MOST_PAGE = 64 << 20
_MOST_ARCHIVE = 64 << 20
_MOST_UNPACKED = 256 << 20
_MOST_FILES = 20_000
_DEFAULT = re.compile(r"--index-url\s.*?\(default\s+(https?://[^)\s]+)\)", re.DOTALL)


@dataclass(frozen=True)
class SourceArchive:
    """A source archive on this machine."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, path: Path) -> SourceArchive:
        """Return an archive with its digest."""
        return cls(path, hashlib.sha256(path.read_bytes()).hexdigest())


def configured_indexes(python: str = sys.executable) -> list[str]:
    """Return the addresses of the indexes that the user's pip asks, the first one first.

    Raises:
        SweError: if there is no pip.
    """
    found: dict[str, str] = {}
    for line in _pip(python, "config", "list").splitlines():
        name, _, value = line.partition("=")
        scope, _, option = name.partition(".")
        option = option.strip("'")
        if option in ("index-url", "extra-index-url") and (scope == ":env:" or option not in found):
            found[option] = value.strip("'\"").replace("\\n", " ")
    if "index-url" not in found:
        default = _DEFAULT.search(_pip(python, "download", "--help"))
        if default is None:
            raise SweError("pip names no package index; set one with: pip config set global.index-url URL")
        found["index-url"] = default[1]
    return [*found["index-url"].split(), *found.get("extra-index-url", "").split()]


def wanted_source(wanted: str) -> Path | Requirement:
    """Return what a user names: the path of an archive on this machine, or a requirement for the index.

    Args:
        wanted: the path of an archive, or a requirement such as ``more-itertools==10.8.0``.

    Raises:
        SweError: if it is neither, or there is no such file.
    """
    if wanted.endswith(".tar.gz"):
        if not Path(wanted).is_file():
            raise SweError(f"there is no source archive {wanted}")
        return Path(wanted)
    if Path(wanted).is_file():
        raise SweError(
            f"{wanted} is no source archive (.tar.gz); name one, or a package such as more-itertools==10.8.0"
        )
    try:
        return Requirement(wanted)
    except InvalidRequirement as error:
        raise SweError(
            f"{wanted!r} is neither a source archive (.tar.gz) nor a package such as more-itertools==10.8.0"
        ) from error


def find_archive(wanted: str, folder: Path, python: str | None = None) -> SourceArchive:
    """Return a source archive: a file of this machine, or one from the user's index, downloaded into a folder.

    Args:
        wanted: as :func:`wanted_source` takes it.
        folder: where a downloaded archive is kept.
        python: the version of Python that will run it, as :func:`fetch_archive` takes it.

    Raises:
        SweError: if there is no such archive; the message names what was looked for and where.
    """
    source = wanted_source(wanted)
    if isinstance(source, Path):
        return SourceArchive.of(source)
    return fetch_archive(source, configured_indexes(), folder, python)


def fetch_archive(
    requirement: Requirement, indexes: list[str], folder: Path, python: str | None = None
) -> SourceArchive:
    """Download the newest source archive that a requirement admits, from the first index that has the package.

    Args:
        requirement: the package, perhaps with its versions.
        indexes: their addresses.
        folder: where the archive is kept.
        python: a version of Python, such as ``3.11.2``: archives that say that they do not run on it are passed over,
            as pip does, unless there are no others.

    Raises:
        SweError: if there is none, an index cannot be read, or its digest is not the one that the index states.
    """
    name = canonicalize_name(requirement.name)
    for index in indexes:
        try:
            links = _links(index, name)
        except MissingFileError:
            continue
        except (HubError, ValueError) as error:
            raise SweError(f"the index {index} cannot be read: {error}") from error
        admitted = [(version, link) for version, link in links if requirement.specifier.contains(version)]
        if not admitted:
            offered = ", ".join(str(version) for version, _ in sorted(links, key=lambda each: each[0])[-5:])
            raise SweError(
                f"{index} has no source archive (.tar.gz) for {requirement}; "
                f"{f'the newest are of {offered}' if offered else 'it has none of this package at all'}"
            )
        running = [(version, link) for version, link in admitted if python is None or _runs_on(link, python)]
        _, link = max(running or admitted, key=lambda each: each[0])
        return _downloaded(link, folder)
    raise SweError(f"no index has a package {requirement.name!r}; asked: {', '.join(indexes)}")


def unpack_archive(archive: SourceArchive, folder: Path, *, holds: str = "PKG-INFO") -> Path:
    """Unpack regular files and folders of a source archive, and return the one folder that holds them, and ``holds``.

    Links, devices and owners are left out: no test of a package needs them, and a link may lead out.

    Raises:
        SweError: if the archive is damaged, too large, or has names that lead out of the folder.
    """
    size = count = 0
    tops: set[str] = set()
    try:
        with tarfile.open(archive.path, "r:gz") as members:
            for member in members:
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts or "\0" in member.name:
                    raise SweError(f"{archive.path.name}: {member.name!r:.200} leads out of the archive")
                count, size = count + 1, size + member.size
                if count > _MOST_FILES or size > _MOST_UNPACKED:
                    raise SweError(
                        f"{archive.path.name} holds over {_MOST_FILES:,} files or {_MOST_UNPACKED >> 20} MiB; "
                        "tasks are made of smaller packages"
                    )
                if not path.parts or ".git" in path.parts:
                    continue
                tops.add(path.parts[0])
                target = folder.joinpath(*path.parts)
                if member.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                elif member.isreg() and (data := members.extractfile(member)) is not None:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data.read())
                    target.chmod(0o755 if member.mode & 0o100 else 0o644)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, SweError):
            raise
        raise SweError(f"{archive.path} cannot be unpacked: {error}") from error
    if len(tops) != 1 or not (folder / min(tops) / holds).is_file():
        raise SweError(f"{archive.path.name} is no source archive of a package: it has no single folder with a {holds}")
    return folder / tops.pop()


def metadata_of(tree: Path) -> dict[str, list[str]]:
    """Return the fields of a tree's PKG-INFO, with lower-case names."""
    message = HeaderParser().parsestr((tree / "PKG-INFO").read_text(encoding="utf-8", errors="replace"))
    fields: dict[str, list[str]] = {}
    for key, value in message.items():
        fields.setdefault(key.lower(), []).append(str(value))
    return fields


def _links(index: str, name: str) -> list[tuple[Version, Link]]:
    """Return the source archives of a package, with absolute addresses."""
    base = f"{index.rstrip('/')}/"
    source, path = _source(base)
    page = read_html(
        source.read(f"{path}{name}/" + ("index.html" if isinstance(source, FolderSource) else ""), _MOST_PAGE).content
        or b""
    )
    found = []
    for link in page.links:
        try:
            named, version = parse_sdist_filename(link.filename)
        except InvalidSdistFilename:
            continue
        if named == name and link.filename.endswith(".tar.gz") and link.yanked is None:
            found.append((version, Link(link.filename, urljoin(f"{base}{name}/", link.url), *_rest(link))))
    return found


def _runs_on(link: Link, python: str) -> bool:
    try:
        return SpecifierSet(link.requires_python).contains(python)
    except InvalidSpecifier:
        return True


def _rest(link: Link) -> tuple[str, str, str | None, str]:
    return link.sha256, link.requires_python, link.yanked, link.metadata_sha256


def _source(address: str) -> tuple[HubSource, str]:
    """Return what reads an address, and the path for it."""
    if address.startswith("file:"):
        return FolderSource(Path(unquote(urlsplit(address).path))), ""
    return WebSource(address), ""


def _downloaded(link: Link, folder: Path) -> SourceArchive:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / PurePosixPath(link.filename).name
    address, _, last = link.url.rpartition("/")
    source, _ = _source(f"{address}/")
    try:
        with target.open("wb") as file:
            source.copy(
                unquote(last) if isinstance(source, FolderSource) else last, file, _MOST_ARCHIVE, lambda length: None
            )
    except HubError as error:
        raise SweError(f"{link.filename} cannot be downloaded: {error}") from error
    archive = SourceArchive.of(target)
    if link.sha256 and archive.sha256 != link.sha256:
        target.unlink()
        raise SweError(
            f"{link.filename} has the digest {archive.sha256}, and its index states {link.sha256}; nothing was used"
        )
    return archive


def _pip(python: str, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603  # the user's own pip
        [python, "-m", "pip", *arguments], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise SweError(f"pip does not work here ({reason}); it is needed to fetch packages: python -m ensurepip")
    return done.stdout
