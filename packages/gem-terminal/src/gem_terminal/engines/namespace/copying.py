"""``COPY`` and ``ADD``: from the build context, from another stage, or from another image."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from gem_terminal.archive import archive_of
from gem_terminal.engines.base import Container
from gem_terminal.engines.namespace.dockerfile import Instruction
from gem_terminal.errors import EngineError, TaskError
from gem_terminal.task import Image

__all__ = ["context_files", "copy_from_context", "copy_from_image"]

_TAKES = 60.0
"""Seconds."""


def context_files(step: Instruction, image: Image) -> list[Path]:
    """Return the files and folders of the build context that an instruction copies.

    Raises:
        TaskError: if the context has no such files.
    """
    assert image.folder is not None
    *sources, _ = step.arguments()
    root = image.folder.resolve()
    found = [path for source in sources if not source.startswith("<<") for path in _matching(root, source)]
    if not (found or step.documents) or any(root not in (path, *path.parents) for path in found):
        raise TaskError(f"{image.folder / image.dockerfile}: {step.line!r} matches nothing in the build context")
    return found


def copy_from_context(container: Container, step: Instruction, workdir: str, image: Image) -> None:
    """Copy files of the build context into a container.

    Raises:
        TaskError: if the context has no such files.
    """
    found = context_files(step, image)
    target = step.arguments()[-1]
    with tempfile.TemporaryDirectory() as scratch:
        for document in step.documents:
            path = Path(scratch, document.word)
            path.write_text(document.body, encoding="utf-8")
            path.chmod(0o644)
            found.append(path)
        _copy(container, found, str(PurePosixPath(workdir) / target), target)
    _change_owner_and_mode(container, step, str(PurePosixPath(workdir) / target))


def _copy(container: Container, found: list[Path], goal: str, target: str) -> None:
    into_folder = target.endswith("/") or len(found) > 1 or found[0].is_dir() or target in (".", "..")
    if into_folder:
        container.put(archive_of(found, goal.strip("/") or "."), "/")
    else:
        container.put(archive_of(found, str(PurePosixPath(goal).parent).strip("/") or "."), "/")
        if PurePosixPath(goal).name != found[0].name:
            here = str(PurePosixPath(goal).parent / found[0].name)
            container.run(("mv", here, goal), seconds=_TAKES, user="root", workdir="/")


def copy_from_image(
    container: Container, step: Instruction, workdir: str, source: Container, layers: Sequence[Path] = ()
) -> None:
    """Copy files of another container into this one, with their owners.

    Args:
        container: the one to copy into.
        step: the instruction.
        workdir: what a relative target begins in.
        source: the one to copy from.
        layers: the folders of its image, where it shows more than these; only what lies in them is copied.

    Raises:
        EngineError: if the other container has no such files.
    """
    *patterns, target = step.arguments()
    goal = PurePosixPath(workdir) / target
    found = [path for pattern in patterns for path in _found(source, pattern)]
    if layers:
        found = [path for path in found if any(os.path.lexists(layer / path.lstrip("/")) for layer in layers)]
    if not found:
        raise EngineError(f"{step.line!r}: the image that it copies from has no {' and no '.join(patterns)}")
    for path in found:
        packed = source.get(path)
        if packed is None:
            raise EngineError(f"{step.line!r}: the image that it copies from has no {path}")
        keeps_name = target.endswith("/") or len(found) > 1 or target in (".", "..")
        container.put(_moved(packed, goal, keeps_name=keeps_name), "/")
    _change_owner_and_mode(container, step, str(goal))


def _found(source: Container, pattern: str) -> list[str]:
    """Return the paths in a container that match a pattern."""
    path = f"/{pattern.lstrip('/')}"
    if not any(letter in path for letter in "*?["):  # an image need not have a shell
        return [path]
    find = 'for one in $1; do [ -e "$one" ] && echo "$one"; done; true'
    asked = source.run(("sh", "-c", f"IFS=; {find}", "sh", path), seconds=_TAKES, user="root", workdir="/")
    return asked.output.decode(errors="surrogateescape").splitlines()


def _moved(packed: bytes, goal: PurePosixPath, *, keeps_name: bool) -> bytes:
    """Return an archive of one file, or of the content of one folder, with its paths at or below another one."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(packed)) as members, tarfile.open(fileobj=buffer, mode="w") as archive:
        is_folder = False
        for number, member in enumerate(members):
            name, *below = PurePosixPath(member.name).parts or (".",)
            is_folder = is_folder or (not number and member.isdir())
            place = goal.joinpath(*below) if is_folder or not keeps_name else goal / name
            member.name = str(place).strip("/") or "."
            if member.islnk():
                link = PurePosixPath(member.linkname).parts[1:]
                member.linkname = str(goal.joinpath(*link)).strip("/")
            archive.addfile(member, members.extractfile(member) if member.isreg() else None)
    return buffer.getvalue()


def _change_owner_and_mode(container: Container, step: Instruction, goal: str) -> None:
    for name, value in step.options().items():
        if name in ("chown", "chmod"):
            container.run((name, "-R", value, goal), seconds=_TAKES, user="root", workdir="/")


def _matching(root: Path, source: str) -> list[Path]:
    """Return the sorted paths that match a source of COPY: a pattern, or ``.`` for the whole context."""
    return sorted(root.glob(source.strip("/"))) if source.strip("./") else [root]
