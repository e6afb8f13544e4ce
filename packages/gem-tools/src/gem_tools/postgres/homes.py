"""The folders of servers, each locked by its supervisor: :func:`new_home`, :func:`remove_abandoned_homes`."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

__all__ = ["new_home", "remove_abandoned_homes"]

_PREFIX = "gem-pg-"
_LOCK = "supervisor.lock"
_END_SECONDS = 10.0
"""A server whose supervisor was killed gets a signal from the kernel, and ends within a moment."""


def _parent() -> Path:
    # A short path: the name of a socket has at most 107 bytes.
    return Path("/tmp") if Path("/tmp").is_dir() else Path(tempfile.gettempdir())  # noqa: S108


def new_home() -> Path:
    """Return a new folder, which is locked until this process ends."""
    home = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_parent()))
    lock = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return home


def remove_abandoned_homes() -> None:
    """Remove the folders of this user whose supervisor was killed, after their servers have ended.

    What cannot be removed now is left to the next call. A folder without a lock is one that is being made.
    """
    for home in _parent().glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError), (home / _LOCK).open("rb") as lock:
            # The lock's owner counts: with root's supervisor, the folder itself is the server's user's.
            if os.fstat(lock.fileno()).st_uid != os.getuid():
                continue
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _has_ended(home / "data" / "postmaster.pid"):
                shutil.rmtree(home / "data", ignore_errors=True)
                if not (home / "data").exists():
                    shutil.rmtree(home, ignore_errors=True)


def _has_ended(pid_file: Path) -> bool:
    """Return whether the server has ended, after some time of waiting for it."""
    end = time.monotonic() + _END_SECONDS
    while time.monotonic() < end:
        try:
            number = int(pid_file.read_text().split("\n", 1)[0])
            # Empty for a process that has ended and that nobody has waited for; another program may have the number.
            if b"postgres" not in Path(f"/proc/{number}/cmdline").read_bytes():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        except ValueError:
            pass  # it is being written
        time.sleep(0.02)
    return False
