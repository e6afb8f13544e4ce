"""Tar archives that images are made from: root file systems, and images as ``docker save`` and OCI tools write them.

The layout of an image, and of what a layer removes, is that of the OCI image specification (``layer.md``).
"""

from __future__ import annotations

import json
import lzma
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from gem_terminal.engines.base import Progress, ProgressStage, tell
from gem_terminal.errors import EngineError

__all__ = ["Content", "flattened", "looked_into", "unpack"]

_REMOVES = ".wh."
_REMOVES_ALL = ".wh..wh..opq"


@dataclass(frozen=True)
class Content:
    """What an archive holds."""

    layers: tuple[str, ...] = ()
    """The members that are the layers of an image, lowest first; none for a root file system."""
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    user: str | None = None

    @property
    def changes(self) -> list[str]:
        """The configuration as instructions of a Dockerfile."""
        lines = [f"ENV {name}={json.dumps(value)}" for name, value in self.environment.items()]
        lines += [f"WORKDIR {self.workdir}"] if self.workdir else []
        return lines + ([f"USER {self.user}"] if self.user else [])


def looked_into(archive: Path, name: str) -> Content:
    """Find out what an archive is.

    Args:
        archive: the file.
        name: which image is meant, where it holds several.

    Raises:
        EngineError: if it is neither a root file system nor one image.
    """
    with _opened(archive) as members:
        files = False
        for member in members:
            path = _path(member.name)
            if path in ("manifest.json", "index.json"):
                return _image(members, archive, name)
            files = files or path.partition("/")[0] in ("bin", "usr")
            if files and path.count("/") > 1:  # deep in a tree that no saved image has
                break
    if not files:
        raise EngineError(
            f"{archive} holds no root file system, since there is neither bin nor usr in it, and no image"
        )
    return Content()


@contextmanager
def flattened(archive: Path, content: Content, progress: Progress | None) -> Iterator[Path]:
    """Give an archive of the root file system: the archive itself, or a temporary one that its layers make together.

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
                    raise EngineError(f"{archive}: {layer} is no file, and the image says that it is a layer")
                layers.append(Path(scratch) / f"{number}.tar")
                with layers[-1].open("wb") as copy:
                    shutil.copyfileobj(data, copy)
        flat = Path(scratch) / "flat.tar"
        _merge(layers, flat, progress)
        yield flat


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a root file system: owners by number, modes kept, no device nodes, nothing outside of the folder.

    Raises:
        EngineError: if it cannot be read.
    """

    def kept(member: tarfile.TarInfo, into: str) -> tarfile.TarInfo | None:
        if member.ischr() or member.isblk():
            return None
        checked = tarfile.tar_filter(member, into)
        checked.mode = member.mode  # the filter takes the bits of setuid programs and of /tmp away
        return checked

    if not hasattr(tarfile, "tar_filter"):  # a Python before 3.10.12 or 3.11.4, as Debian 12 has
        _unpack_with_tar(archive, folder)
        return
    with _opened(archive) as members:
        members.extractall(folder, numeric_owner=True, filter=kept)  # noqa: S202  # the filter sees to it


def _unpack_with_tar(archive: Path, folder: Path) -> None:
    command = ["tar", "-x", "-p", f"--file={archive}", f"--directory={folder}", "--numeric-owner"]
    excluded = ["--anchored", "--exclude=./dev/*", "--exclude=dev/*"]
    done = subprocess.run([*command, *excluded], capture_output=True, text=True, check=False)  # noqa: S603  # ours
    if done.returncode != 0:
        raise EngineError(f"{archive} cannot be unpacked: {done.stderr[-300:]}")


def _image(members: tarfile.TarFile, archive: Path, name: str) -> Content:
    paths = {_path(member.name): member.name for member in members}
    try:
        if "manifest.json" in paths:
            saved = _one(_json(members, paths["manifest.json"]), archive, name)
            layers, config = saved["Layers"], saved["Config"]
        else:
            described = _one(_json(members, paths["index.json"])["manifests"], archive, name)
            manifest = _json(members, paths[_blob(described)])
            if "layers" not in manifest:
                raise EngineError(f"{archive} holds an image for several machines; save it for this one alone")
            layers, config = [_blob(layer) for layer in manifest["layers"]], _blob(manifest["config"])
        settings = _json(members, paths[config]).get("config") or {}
        return Content(
            layers=tuple(paths[_path(layer)] for layer in layers),
            environment=dict(line.split("=", 1) for line in settings.get("Env") or ()),
            workdir=settings.get("WorkingDir") or None,
            user=(settings.get("User") or "").partition(":")[0] or None,
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise EngineError(f"{archive} is no image that can be read: {error!r}") from error


def _one(images: Any, archive: Path, name: str) -> Any:
    """Return the image that is meant; there is hardly ever more than one."""
    if len(images) == 1:
        return images[0]
    for image in images:
        if name in (image.get("RepoTags") or ()):
            return image
    raise EngineError(f"{archive} holds {len(images)} images, and none of them is called {name}; save one alone")


def _json(members: tarfile.TarFile, name: str) -> Any:
    data = members.extractfile(name)
    if data is None:
        raise ValueError(f"{name} is no file")
    return json.loads(data.read(64 << 20))


def _blob(description: Mapping[str, Any]) -> str:
    algorithm, _, digest = str(description["digest"]).partition(":")
    return f"blobs/{algorithm}/{digest}"


def _merge(layers: list[Path], target: Path, progress: Progress | None) -> None:
    """Write one archive of what is to be seen of layers that lie over each other."""
    kept: list[set[str]] = []
    hidden: set[str] = set()
    hidden_below: set[str] = set()
    for layer in reversed(layers):
        kept.insert(0, _seen(layer, hidden, hidden_below))
    with tarfile.open(target, "w") as merged:
        for number, (layer, names) in enumerate(zip(layers, kept, strict=True)):
            tell(progress, ProgressStage("putting the layers of the image together", number + 1, len(layers)))
            with _opened(layer) as members:
                for member in members:
                    if _path(member.name) in names:
                        _copy(member, members, merged, names)


def _seen(layer: Path, hidden: set[str], hidden_below: set[str]) -> set[str]:
    """Return the paths of a layer that no layer above it hides, and add what it hides itself."""
    seen, hides, hides_below = set(), set(), set()
    with _opened(layer) as members:
        for member in members:
            path = PurePosixPath(_path(member.name))
            if path.name == _REMOVES_ALL:
                hides_below.add(str(path.parent))
            elif path.name.startswith(_REMOVES) and path.name != _REMOVES:
                removed = str(path.with_name(path.name.removeprefix(_REMOVES)))
                hides.add(removed)
                hides_below.add(removed)
            else:
                if not member.isdir():  # even if it is hidden itself, by a folder in its place
                    hides_below.add(str(path))
                if str(path) not in hidden and not any(str(parent) in hidden_below for parent in path.parents):
                    seen.add(str(path))
                    hides.add(str(path))
    hidden |= hides
    hidden_below |= hides_below
    return seen


def _copy(member: tarfile.TarInfo, members: tarfile.TarFile, merged: tarfile.TarFile, names: set[str]) -> None:
    if member.islnk() and _path(member.linkname) not in names:  # what it links to is hidden; its content is not
        data = members.extractfile(member)
        size = members.getmember(member.linkname).size
        member.type, member.linkname, member.size = tarfile.REGTYPE, "", size
        merged.addfile(member, data)
    else:
        merged.addfile(member, members.extractfile(member) if member.isreg() else None)


def _path(name: str) -> str:
    """Return a member's name without what different tools put before it."""
    return str(PurePosixPath("/", name).relative_to("/"))


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(archive) as members:
            yield members
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise EngineError(
            f"{archive} cannot be read as a tar archive, plain or packed with gzip, bzip2 or xz: {error}"
        ) from error
    except OSError as error:
        raise EngineError(f"{archive} cannot be read: {error}") from error
