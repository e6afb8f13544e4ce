"""Debian root file systems, installed from packages: :func:`bootstrap`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from collections import deque
from pathlib import Path

from gem_terminal.engines.base import Progress, ProgressStage, report_stage
from gem_terminal.errors import EngineError

__all__ = ["bootstrap", "debian_suite", "pack"]

_NAME = re.compile(r"(?:docker\.io/)?(?:library/)?debian:([a-z]+)(?:-slim)?(?:-\d+(?:-slim)?)?")


def debian_suite(name: str) -> str | None:
    """Return the Debian suite that an image is named after; None for a name that is not one of Debian's."""
    match = _NAME.fullmatch(name)
    return None if match is None else match[1]


def bootstrap(suite: str, folder: Path, progress: Progress | None, mirror: str | None = None) -> None:
    """Create a minimal Debian in a folder with ``debootstrap``, which takes a minute or two and needs a mirror.

    Args:
        suite: for example ``"bookworm"``.
        folder: a missing or empty folder.
        progress: receives the lines that debootstrap prints.
        mirror: the address of a package mirror; None for Debian's own.

    Raises:
        EngineError: if debootstrap is not installed, this process is not root, or debootstrap fails.
    """
    if shutil.which("debootstrap") is None:
        raise EngineError(
            "debootstrap is not installed (Debian: apt install debootstrap); or make an archive of the image elsewhere"
        )
    if os.geteuid() != 0:
        raise EngineError("debootstrap needs root; run this as root, or make an archive of the image elsewhere")
    command = ["debootstrap", "--variant=minbase", suite, str(folder), *([mirror] if mirror else [])]
    # A mount namespace of its own: a killed debootstrap leaves no mounts behind for other programs.
    apart = ["unshare", "--mount", "--propagation", "private", "--"] if shutil.which("unshare") else []
    last: deque[str] = deque(maxlen=3)
    report_stage(progress, ProgressStage(f"debootstrap {suite}"))
    with subprocess.Popen(  # noqa: S603  # a fixed command
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
            report_stage(progress, ProgressStage(f"debootstrap {suite}: {last[-1].partition(': ')[2] or last[-1]}"))
    if running.returncode != 0:
        raise EngineError(f"{' '.join(command)} failed: {' | '.join(last)}")
    for pattern in ("var/cache/apt/archives/*.deb", "var/cache/apt/*.bin", "var/lib/apt/lists/*"):
        for path in folder.glob(pattern):
            if path.is_file():
                path.unlink()


def pack(folder: Path, target: Path, progress: Progress | None) -> Path:
    """Write a root file system without the kernel's file systems into a tar archive, and return the archive."""
    report_stage(progress, ProgressStage(f"packing {target.name}"))

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        parts = member.name.split("/")
        return None if len(parts) > 2 and parts[1] in ("dev", "proc", "sys") else member

    with tarfile.open(target, "w") as archive:
        archive.add(folder, arcname=".", filter=kept)
    return target
