"""Files of a task that a container has in place of mounts: :func:`copy_in`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from gem_terminal.archive import archive_of, file_archive, files_archive, folders
from gem_terminal.engines.base import Container
from gem_terminal.errors import EngineError
from gem_terminal.task import CopiedFolder

__all__ = ["copy_in"]

_LOOKS_IN = 60.0


def copy_in(container: Container, given: Iterable[CopiedFolder], workdir: str | None) -> None:
    """Copy what the task mounts into a container: a file to its name, a folder's content into it.

    Raises:
        EngineError: if the container has no room, or no working folder.
    """
    for each in given:
        target = PurePosixPath(_working_folder(container, workdir) if each.target is None else each.target)
        if each.files:
            _copy_files(container, each.files, target)
        elif each.source is None:
            container.put(folders(str(target).strip("/")), "/")
        elif each.source.is_dir():
            # A folder that is there keeps its owner and mode.
            existing = each.target is None
            container.put(archive_of([each.source], str(target).strip("/"), readable=True, existing=existing), "/")
        else:
            mode = each.source.stat().st_mode & 0o777 | 0o444
            container.put(file_archive(str(target).strip("/"), each.source.read_bytes(), mode), "/")


def _copy_files(container: Container, files: Mapping[str, tuple[bytes, int] | None], target: PurePosixPath) -> None:
    added = {name: content for name, content in files.items() if content is not None}
    if added:
        container.put(files_archive(added, str(target).strip("/")), "/")
    removed = [str(target / name) for name, content in files.items() if content is None]
    if removed:
        done = container.run(("rm", "-rf", "--", *removed), seconds=_LOOKS_IN, user="root", workdir="/")
        if done.exit_code != 0:
            raise EngineError(f"files of a task cannot be removed: {done.output[-200:].decode(errors='replace')}")


def _working_folder(container: Container, workdir: str | None) -> str:
    done = container.run(("pwd",), seconds=_LOOKS_IN, workdir=workdir)
    folder = done.output.decode(errors="surrogateescape").rstrip("\n")
    if done.exit_code != 0 or not folder.startswith("/"):
        raise EngineError(f"the working folder of a container cannot be found: {folder[-200:]}")
    return folder
