"""Root file systems of Debian, from its packages: :func:`bootstrap`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from collections import deque
from pathlib import Path

from gem_terminal.engines.base import Progress, ProgressStage, tell
from gem_terminal.errors import EngineError

__all__ = ["bootstrap", "packed", "suite_of"]

_NAME = re.compile(r"(?:docker\.io/)?(?:library/)?debian:([a-z]+)(?:-slim)?(?:-\d+(?:-slim)?)?")


def suite_of(name: str) -> str | None:
    """Return the suite that an image of Debian is named after; None if the name is not one of Debian's."""
    match = _NAME.fullmatch(name)
    return None if match is None else match[1]


def bootstrap(suite: str, folder: Path, progress: Progress | None, mirror: str | None = None) -> None:
    """Make a small Debian in a folder with ``debootstrap``, which takes a minute or two and needs a mirror.

    Args:
        suite: for example ``"bookworm"``.
        folder: does not exist, or is empty.
        progress: told the lines that debootstrap prints.
        mirror: where the packages are; None for Debian's own.

    Raises:
        EngineError: if it is not installed, this process is not root, or it fails.
    """
    if shutil.which("debootstrap") is None:
        raise EngineError(
            "debootstrap is not installed (Debian: apt install debootstrap); or make an archive of the image elsewhere"
        )
    if os.geteuid() != 0:
        raise EngineError("debootstrap needs root; run this as root, or make an archive of the image elsewhere")
    command = ["debootstrap", "--variant=minbase", suite, str(folder), *([mirror] if mirror else [])]
    # What it mounts, and leaves mounted if it is killed, is nobody else's to trip over.
    apart = ["unshare", "--mount", "--propagation", "private", "--"] if shutil.which("unshare") else []
    last: deque[str] = deque(maxlen=3)
    tell(progress, ProgressStage(f"debootstrap {suite}"))
    with subprocess.Popen(  # noqa: S603  # a command of ours
        [*apart, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            last.append(line.strip())
            tell(progress, ProgressStage(f"debootstrap {suite}: {last[-1].partition(': ')[2] or last[-1]}"))
    if running.returncode != 0:
        raise EngineError(f"{' '.join(command)} failed: {' | '.join(last)}")
    for pattern in ("var/cache/apt/archives/*.deb", "var/cache/apt/*.bin", "var/lib/apt/lists/*"):
        for path in folder.glob(pattern):
            if path.is_file():
                path.unlink()


def packed(folder: Path, target: Path, progress: Progress | None) -> Path:
    """Write a root file system into a tar archive, without what the kernel puts into it, and return the archive."""
    tell(progress, ProgressStage(f"packing {target.name}"))

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        parts = member.name.split("/")
        return None if len(parts) > 2 and parts[1] in ("dev", "proc", "sys") else member

    with tarfile.open(target, "w") as archive:
        archive.add(folder, arcname=".", filter=kept)
    return target
