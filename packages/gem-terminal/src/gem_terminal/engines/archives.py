"""Tar archives of images: root file systems, and images that ``docker save`` or OCI tools wrote.

The layout of images and the marks of deleted files follow the OCI image specification (``layer.md``).
"""

from __future__ import annotations

import copy
import json
import lzma
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from gem_terminal.engines.base import Progress, ProgressStage, report_stage
from gem_terminal.errors import EngineError

__all__ = ["ArchiveContent", "flatten", "inspect_archive", "unpack"]

_REMOVES = ".wh."
_REMOVES_ALL = ".wh..wh..opq"


@dataclass(frozen=True)
class ArchiveContent:
    """The content of an archive."""

    layers: tuple[str, ...] = ()
    """The members that are the layers of an image, lowest first; empty for a root file system."""
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    user: str | None = None
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def changes(self) -> list[str]:
        """The configuration as instructions of a Dockerfile."""
        lines = [f"ENV {name}={json.dumps(value)}" for name, value in self.environment.items()]
        lines += [f"WORKDIR {self.workdir}"] if self.workdir else []
        lines += [f"USER {self.user}"] if self.user else []
        lines += [f"ENTRYPOINT {json.dumps(self.entrypoint)}"] if self.entrypoint else []
        return lines + ([f"CMD {json.dumps(self.command)}"] if self.command else [])


def inspect_archive(archive: Path, name: str) -> ArchiveContent:
    """Inspect an archive and return its content.

    Args:
        archive: the file.
        name: selects the image if the archive holds several.

    Raises:
        EngineError: if the archive holds neither a root file system nor this image.
    """
    with _opened(archive) as members:
        files = False
        for member in members:
            path = _member_path(member.name)
            if path in ("manifest.json", "index.json"):
                return _image(members, archive, name)
            files = files or path.partition("/")[0] in ("bin", "usr")
            if files and path.count("/") > 1:  # no saved image has such a deep tree
                break
    if not files:
        raise EngineError(f"{archive} holds neither an image nor a root file system: it has no bin and no usr folder")
    return ArchiveContent()


@contextmanager
def flatten(archive: Path, content: ArchiveContent, progress: Progress | None) -> Iterator[Path]:
    """Provide an archive of the root file system: the archive itself, or a temporary one with its layers merged.

    Raises:
        EngineError: if a layer cannot be read.
    """
    if not content.layers:
        yield archive
        return
    with tempfile.TemporaryDirectory(prefix="gem-terminal-") as scratch:
        layers = []
        with _opened(archive) as members:
            for number, layer in enumerate(content.layers):
                data = members.extractfile(layer)
                if data is None:
                    raise EngineError(f"{archive}: the layer {layer} of the image is not a file")
                layers.append(Path(scratch) / f"{number}.tar")
                with layers[-1].open("wb") as copy:
                    shutil.copyfileobj(data, copy)
        flat = Path(scratch) / "flat.tar"
        _merge(layers, flat, progress)
        yield flat


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a root file system with numeric owners and modes, without device nodes, into this folder only.

    Raises:
        EngineError: if the archive cannot be read.
    """
    with _opened(archive) as members:
        # A generator: a link counts that an earlier member of the archive has made.
        safe = (_safe(member, folder) for member in members if not (member.ischr() or member.isblk()))
        # The special mode bits of setuid programs and /tmp are kept, which no other filter of the library does.
        unfiltered: dict[str, Any] = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
        members.extractall(folder, safe, numeric_owner=True, **unfiltered)  # noqa: S202  # checked


def _safe(member: tarfile.TarInfo, folder: Path) -> tarfile.TarInfo:
    """Return a member with a relative name, as ``tarfile.tar_filter`` does, which older Pythons do not have.

    Python 3.11.2 of Debian 12 is one of them.

    Raises:
        tarfile.TarError: if it would be written outside this folder.
    """
    name = member.name.lstrip("/")
    root = Path(os.path.realpath(folder))
    if not Path(os.path.realpath(root / name)).is_relative_to(root):
        raise tarfile.TarError(f"{member.name!r} leads out of the archive")
    safe = copy.copy(member)
    safe.name = name
    return safe


def _image(members: tarfile.TarFile, archive: Path, name: str) -> ArchiveContent:
    paths = {_member_path(member.name): member.name for member in members}
    try:
        if "manifest.json" in paths:
            saved = _select_image(_json(members, paths["manifest.json"]), archive, name)
            layers, config = saved["Layers"], saved["Config"]
        else:
            described = _select_image(_json(members, paths["index.json"])["manifests"], archive, name)
            manifest = _json(members, paths[_blob(described)])
            if "layers" not in manifest:
                raise EngineError(f"{archive} holds an image for several platforms; save it for this platform only")
            layers, config = [_blob(layer) for layer in manifest["layers"]], _blob(manifest["config"])
        settings = _json(members, paths[config]).get("config") or {}
        return ArchiveContent(
            layers=tuple(paths[_member_path(layer)] for layer in layers),
            environment=dict(line.split("=", 1) for line in settings.get("Env") or ()),
            workdir=settings.get("WorkingDir") or None,
            user=(settings.get("User") or "").partition(":")[0] or None,
            entrypoint=tuple(settings.get("Entrypoint") or ()),
            command=tuple(settings.get("Cmd") or ()),
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise EngineError(f"{archive} holds no readable image: {error!r}") from error


def _select_image(images: Any, archive: Path, name: str) -> Any:
    """Return the image of this name, or the only image."""
    if len(images) == 1:
        return images[0]
    for image in images:
        if name in (image.get("RepoTags") or ()):
            return image
    raise EngineError(f"{archive} holds {len(images)} images, but none named {name}; save a single image")


def _json(members: tarfile.TarFile, name: str) -> Any:
    data = members.extractfile(name)
    if data is None:
        raise ValueError(f"{name} is no file")
    return json.loads(data.read(64 << 20))


def _blob(description: Mapping[str, Any]) -> str:
    algorithm, _, digest = str(description["digest"]).partition(":")
    return f"blobs/{algorithm}/{digest}"


def _merge(layers: list[Path], target: Path, progress: Progress | None) -> None:
    """Write one archive of the files that remain visible after the layers are stacked."""
    kept: list[set[str]] = []
    hidden: set[str] = set()
    hidden_below: set[str] = set()
    for layer in reversed(layers):
        kept.insert(0, _visible_paths(layer, hidden, hidden_below))
    with tarfile.open(target, "w") as merged:
        for number, (layer, names) in enumerate(zip(layers, kept, strict=True)):
            report_stage(progress, ProgressStage("merging the layers of the image", number + 1, len(layers)))
            with _opened(layer) as members:
                for member in members:
                    if _member_path(member.name) in names:
                        _copy(member, members, merged, names)


def _visible_paths(layer: Path, hidden: set[str], hidden_below: set[str]) -> set[str]:
    """Return the paths of a layer that no higher layer hides, and add the paths that this layer hides."""
    seen, hides, hides_below = set(), set(), set()
    with _opened(layer) as members:
        for member in members:
            path = PurePosixPath(_member_path(member.name))
            if path.name == _REMOVES_ALL:
                hides_below.add(str(path.parent))
            elif path.name.startswith(_REMOVES) and path.name != _REMOVES:
                removed = str(path.with_name(path.name.removeprefix(_REMOVES)))
                hides.add(removed)
                hides_below.add(removed)
            else:
                if not member.isdir():  # a folder with the same path may hide the file itself
                    hides_below.add(str(path))
                if str(path) not in hidden and not any(str(parent) in hidden_below for parent in path.parents):
                    seen.add(str(path))
                    hides.add(str(path))
    hidden |= hides
    hidden_below |= hides_below
    return seen


def _copy(member: tarfile.TarInfo, members: tarfile.TarFile, merged: tarfile.TarFile, names: set[str]) -> None:
    if member.islnk() and _member_path(member.linkname) not in names:  # a hidden target
        data = members.extractfile(member)
        size = members.getmember(member.linkname).size
        member.type, member.linkname, member.size = tarfile.REGTYPE, "", size
        merged.addfile(member, data)
    else:
        merged.addfile(member, members.extractfile(member) if member.isreg() else None)


def _member_path(name: str) -> str:
    """Return a member's name without the prefixes that different tools add."""
    return str(PurePosixPath("/", name).relative_to("/"))


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(archive) as members:
            yield members
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise EngineError(
            f"{archive} cannot be read as a tar archive (uncompressed, gzip, bzip2 or xz): {error}"
        ) from error
    except OSError as error:
        raise EngineError(f"{archive} cannot be read: {error}") from error
