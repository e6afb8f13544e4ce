"""Disks larger than memory for containers of the namespace engine: a sparse file with a file system of its own.

The file has no name, and its loop device ends with its mount, so nothing is left of a container however it ends.
:func:`disk_template` runs in this process, and keeps an empty file system of each size; :func:`mount_copy` runs in the
fork server, so it needs only the standard library and :mod:`gem_processes`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

from gem_processes import linux

__all__ = ["disk_template", "mount_copy"]

_GET_FREE, _CONFIGURE, _AUTOCLEAR = 0x4C82, 0x4C0A, 4
"""Of ``linux/loop.h``."""
_CONFIGURATION = "=II5Q4I64s64s32s2Q8Q"
"""``struct loop_config``: descriptor, block size, ``struct loop_info64``, and what is reserved."""
_ATTEMPTS = 50
"""Another process may take a free device first."""


def disk_template(folder: Path, size: int, files: int) -> Path | None:
    """Return a file with an empty file system, made on first use; None where there is no ``mkfs.ext4``.

    Args:
        folder: where such files are kept.
        size: bytes, of which the file takes few.
        files: the number of files that the file system holds.

    Raises:
        OSError: if the file cannot be made.
    """
    import shutil
    import subprocess

    from filelock import FileLock

    path = folder / "disks" / f"{size}-{files}.ext4"
    if path.exists():
        return path
    program = shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            new = path.with_suffix(".new")
            with new.open("wb") as file:
                file.truncate(size)
            options = ["-q", "-F", "-m0", f"-N{files}", "-O^has_journal", "-Elazy_itable_init=1,nodiscard"]
            command = [program, *options, str(new)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own words
            if done.returncode:
                raise OSError(errno.EIO, f"{program} failed: {done.stderr.strip()[-300:]}")
            new.rename(path)
    return path


def mount_copy(template: str, place: str) -> None:
    """Mount a copy of a file system that ends with the last mount of it.

    Args:
        template: a file of :func:`disk_template`; the copy is made in its folder.
        place: a folder.

    Raises:
        OSError: if this process gets no loop device, or the kernel does not mount it.
    """
    copy = os.open(os.path.dirname(template), os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)  # noqa: PTH120
    try:
        _copy_content(template, copy)
        device, path = _attached(copy)
    finally:
        os.close(copy)
    try:
        linux.mount("ext4", place, "", source=path)
    finally:
        os.close(device)


def _copy_content(template: str, copy: int) -> None:
    source = os.open(template, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size, position = os.fstat(source).st_size, 0
        os.ftruncate(copy, size)
        with suppress(OSError):  # ENXIO: no more data
            while position < size:
                begin = os.lseek(source, position, os.SEEK_DATA)
                position = os.lseek(source, begin, os.SEEK_HOLE)
                os.lseek(copy, begin, os.SEEK_SET)
                while begin < position:
                    begin += os.sendfile(copy, source, begin, position - begin)
    finally:
        os.close(source)


def _attached(file: int) -> tuple[int, str]:
    """Return the descriptor and the path of a loop device of a file."""
    empty = (0,) * 5, (0, 0, 0, _AUTOCLEAR), (b"", b"", b""), (0,) * 10
    configuration = struct.pack(_CONFIGURATION, file, 0, *(value for part in empty for value in part))
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(_ATTEMPTS):
            path = f"/dev/loop{fcntl.ioctl(control, _GET_FREE)}"
            device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(device, _CONFIGURE, configuration)
            except OSError as error:
                os.close(device)
                if error.errno != errno.EBUSY:
                    raise
            else:
                return device, path
    finally:
        os.close(control)
    raise OSError(errno.EBUSY, "other processes take all loop devices")
