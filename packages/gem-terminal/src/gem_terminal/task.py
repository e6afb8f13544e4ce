"""What a terminal task is, whichever format it was written in: :class:`Task`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Image", "Limits", "Task", "Tests"]


@dataclass(frozen=True)
class Image:
    """Where the files of a container come from: a folder to build, or the name of an image."""

    folder: Path | None = None
    """A build context, with its Dockerfile."""
    dockerfile: str = "Dockerfile"
    name: str | None = None
    """An image that an engine has or can fetch; used where there is no folder."""
    build_seconds: float = 600.0


@dataclass(frozen=True)
class Limits:
    """What the container of a task may use."""

    cpus: float = 1.0
    memory: int = 2 << 30
    """Bytes."""
    processes: int = 512
    disk: int | None = None
    """Bytes that may be written, where the engine can bound them."""
    network: bool = False


@dataclass(frozen=True)
class Tests:
    """How a task is verified."""

    sources: tuple[Path, ...]
    """Files, and folders for what is in them: copied to ``/tests`` after the agent's processes have ended."""
    command: str
    """Run by ``bash -c`` in the working directory."""
    seconds: float = 600.0
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    reward: str = "file"
    """``"file"``: read from ``/logs/verifier/reward.json`` or ``reward.txt``; ``"pytest"``: from pytest's summary."""
    image: Image | None = None
    """The image that the tests run in, where that is not the agent's."""


@dataclass(frozen=True)
class Task:
    """One task: what the agent is told, where it works, and how its work is judged."""

    name: str
    instruction: str
    image: Image
    tests: Tests
    folder: Path
    """The folder that the task was read from."""
    format: str
    """``"harbor"`` or ``"terminal-bench"``."""
    limits: Limits = Limits()
    seconds: float | None = None
    """Wall-clock time that the agent has for an episode."""
    workdir: str | None = None
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    solution: Path | None = None
    """The script of the oracle: ``solve.sh`` in a folder, or a single script."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the author says of the task: difficulty, category, keywords …"""
