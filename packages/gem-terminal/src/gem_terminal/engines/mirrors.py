"""Mirrors of package indices, for machines that reach no other: :func:`mirror_settings`.

The variable ``GEM_TERMINAL_MIRRORS`` names a TOML file. Its table ``[variables]`` has environment variables, and
``[files]`` names the file of this machine for each path in a container; both hold for the commands of every Dockerfile
and for containers with a network. A task's own ``ENV`` and ``ARG`` of the same name win.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from gem_terminal.engines.base import Container
from gem_terminal.errors import EngineError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["MIRRORS", "MirrorSettings", "mirror_settings", "put_mirrors", "with_lines_after_from"]

MIRRORS = "GEM_TERMINAL_MIRRORS"
"""The environment variable that names the file."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_HEREDOC = re.compile(r"<<(-?)([\"']?)([A-Za-z_]\w*)\2")


@dataclass(frozen=True)
class MirrorSettings:
    """What commands need to reach the mirrors."""

    variables: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Absolute path in a container → content."""

    def __bool__(self) -> bool:
        return bool(self.variables or self.files)

    @cached_property
    def digest(self) -> str:
        """Names the settings; images built with different settings are different images."""
        content = hashlib.sha256()
        for mapping in ({name: value.encode() for name, value in self.variables.items()}, self.files):
            for name, value in sorted(mapping.items()):
                content.update(b"%d:%s=%d:%s;" % (len(name), name.encode(), len(value), value))
            content.update(b"|")
        return content.hexdigest()[:24]

    def archive(self, *, numbered: bool = False) -> bytes:
        """Return a tar archive of the files, which belong to root and which everybody may read.

        Args:
            numbered: whether the files have their numbers as names, in place of their paths.
        """
        buffer = BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for number, (path, content) in enumerate(self.files.items()):
                member = tarfile.TarInfo(str(number) if numbered else path.strip("/"))
                member.size, member.mode = len(content), 0o644
                archive.addfile(member, BytesIO(content))
        return buffer.getvalue()


def mirror_settings() -> MirrorSettings:
    """Return the settings of this user; empty ones if the variable is not set.

    Raises:
        EngineError: if the file cannot be used; the message says why.
    """
    named = os.environ.get(MIRRORS)
    if not named:
        return MirrorSettings()
    try:
        return _loaded(Path(named), Path(named).stat().st_mtime_ns)
    except (OSError, ValueError) as error:
        raise EngineError(f"{MIRRORS} names a file that cannot be used: {error}") from error


def put_mirrors(container: Container, settings: MirrorSettings) -> None:
    """Put the files into a container whose image GEM did not build; remove the container if that fails."""
    try:
        container.put(settings.archive(), "/")
    except BaseException:
        container.remove()
        raise


@lru_cache(maxsize=4)
def _loaded(path: Path, modified: int) -> MirrorSettings:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if unknown := sorted(content.keys() - {"variables", "files"}):
        raise ValueError(f"{path} has tables other than [variables] and [files]: {', '.join(unknown)}")
    variables, files = _table(path, content, "variables"), _table(path, content, "files")
    for name in variables:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{path}: {name!r} is no name of a variable")
    for inside in files:
        if not inside.startswith("/") or ".." in PurePosixPath(inside).parts or any(map(str.isspace, inside)):
            raise ValueError(f"{path}: {inside!r} is no absolute path of a file without blanks")
    return MirrorSettings(variables, {inside: (path.parent / here).read_bytes() for inside, here in files.items()})


def _table(path: Path, content: Mapping[str, Any], name: str) -> dict[str, str]:
    table = content.get(name, {})
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise ValueError(f"{path}: [{name}] must be a table of strings")
    return table


def with_lines_after_from(dockerfile: str, lines: list[str]) -> str:
    """Return the text of a Dockerfile with further lines at the beginning of each stage."""
    made: list[str] = []
    continued, ends, is_from, instruction = False, list[tuple[str, bool]](), False, ""
    all_lines = dockerfile.splitlines()
    for number, line in enumerate(all_lines, 1):
        made.append(line)
        if ends and not continued:  # inside of a here-document
            end, tabs = ends[0]
            if (line.lstrip("\t") if tabs else line) == end:
                ends.pop(0)
            continue
        if not line.strip() or line.lstrip().startswith("#"):  # which do not end an instruction
            continue
        if not continued:
            instruction = line.split(maxsplit=1)[0].upper()
            is_from = instruction == "FROM"
        continued = line.rstrip().endswith("\\")
        if instruction in ("RUN", "COPY", "ADD"):
            left = {later.lstrip("\t") for later in all_lines[number:]}
            ends += [(end, bool(tabs)) for tabs, _, end in _HEREDOC.findall(line) if end in left]  # else it is 1 << n
        if is_from and not continued:
            made += lines
    return "\n".join([*made, ""])
