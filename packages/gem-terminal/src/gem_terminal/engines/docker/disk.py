"""Disk limits of containers on an engine that cannot enforce them: :class:`DiskWatch`."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import Condition, Thread
from typing import NamedTuple, Protocol

from gem_terminal.engines.container_defaults import files_of
from gem_terminal.errors import EngineError

__all__ = ["DiskUsage", "DiskWatch", "WatchedContainer", "du"]

_PERIOD = 1.0
"""Seconds between two checks."""
_SHARE = 10
"""The shortest pause after a check, as a multiple of the duration of the check."""
_TOO_FAR = 2
"""A container above this multiple of its limit is removed, even if the writing processes were already killed."""


class DiskUsage(NamedTuple):
    """The disk usage of a container."""

    size: int
    """Bytes."""
    files: int = 0
    """The number of files and folders; 0 if the engine does not report it."""


class WatchedContainer(Protocol):
    """A container whose disk limit is enforced from outside."""

    id: str

    def enforce_disk_limit(self, note: str, beyond_help: bool) -> None:
        """Kill the processes of the container, or the container itself, and keep the note for the agent."""


class DiskWatch:
    """Checks the disk usage of containers every second, in a thread that lives while there are containers.

    Args:
        measure: returns the disk usage by container; unknown containers are ignored.
    """

    def __init__(self, measure: Callable[[], Mapping[str, DiskUsage]]) -> None:
        self._measure = measure
        self._limits: dict[str, tuple[WatchedContainer, int]] = {}
        self._seen: dict[str, DiskUsage] = {}
        self._changed = Condition()
        self._thread: Thread | None = None

    def add(self, container: WatchedContainer, limit: int) -> None:
        """Limit the disk usage of a container, in bytes."""
        with self._changed:
            self._limits[container.id] = (container, limit)
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="gem-terminal disk watch", daemon=True)
                self._thread.start()

    def remove(self, container: WatchedContainer) -> None:
        """Stop checking a container."""
        with self._changed:
            self._limits.pop(container.id, None)
            self._seen.pop(container.id, None)
            self._changed.notify_all()

    def _watch(self) -> None:
        pause = _PERIOD
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._limits, pause)
                if not self._limits:
                    self._thread = None
                    return
            began = time.monotonic()
            with suppress(EngineError):  # the next user of the engine gets the error
                self.look()
            pause = max(_PERIOD, _SHARE * (time.monotonic() - began))

    def look(self) -> None:
        """Check all containers once.

        Raises:
            EngineError: if the engine does not answer.
        """
        for identifier, written in self._measure().items():
            with self._changed:
                container, limit = self._limits.get(identifier, (None, 0))
            if container is None:
                continue
            if written.size <= limit and written.files <= files_of(limit):
                self._seen.pop(identifier, None)
                continue
            # The agent may clean up after the first kill; more output causes another kill.
            before = self._seen.get(identifier, DiskUsage(0))
            self._seen[identifier] = written
            if written.size > before.size or written.files > before.files:
                much = f"{limit} bytes" if written.size > limit else f"{files_of(limit)} files"
                too_far = written.size > _TOO_FAR * limit or written.files > _TOO_FAR * files_of(limit)
                beyond_help = too_far and before.size > 0
                container.enforce_disk_limit(
                    f"more than {much} were written to the disk, so {'the container' if beyond_help else 'what ran'} "
                    "was killed",
                    beyond_help,
                )


def du(folders: Mapping[str, Iterable[str]]) -> dict[str, DiskUsage]:
    """Return the disk usage of local folders by name, counted by ``du``, even if hostile processes made the content.

    Raises:
        EngineError: if there is no ``du`` that counts files.
    """
    every = [folder for group in folders.values() for folder in group]
    sizes, files = _du("--block-size=1", every), _du("--inodes", every)
    return {
        name: DiskUsage(sum(sizes.get(each, 0) for each in group), sum(files.get(each, 0) for each in group))
        for name, group in folders.items()
    }


def _du(option: str, folders: list[str]) -> dict[str, int]:
    if not folders:
        return {}
    command = ["du", "--summarize", "--null", option, "--", *folders]
    try:
        done = subprocess.run(command, capture_output=True, env={**os.environ, "LC_ALL": "C"}, check=False)  # noqa: S603
    except OSError as error:
        raise EngineError(f"the disk usage of containers is unknown: {error}") from error
    lines = (line.partition("\t") for line in done.stdout.decode(errors="surrogateescape").split("\0"))
    return {folder: int(count) for count, tab, folder in lines if tab}
