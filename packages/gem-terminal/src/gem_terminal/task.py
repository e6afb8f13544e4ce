"""What a terminal task is, whichever format it was written in: :class:`Task`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Artifact", "Collect", "Healthcheck", "Image", "Limits", "Separate", "Task", "Tests"]


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
class Artifact:
    """What of the agent's container a verifier in a container of its own is given."""

    source: str
    """The path of a file or folder from the root; it has the same path in the verifier's container."""
    exclude: tuple[str, ...] = ()
    """Patterns of what is left out of a folder, matched as ``tar --exclude`` matches them."""


@dataclass(frozen=True)
class Collect:
    """A command that writes down what runs in the agent's container, before its processes are killed."""

    command: str
    """Run by ``sh -c``; its failure is none of the task."""
    seconds: float = 60.0
    user: str | None = None


@dataclass(frozen=True)
class Separate:
    """The container of its own that the tests of a task run in."""

    image: Image
    limits: Limits
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    """What is carried into it, and nothing else is."""
    collect: tuple[Collect, ...] = ()


@dataclass(frozen=True)
class Tests:
    """How a task is verified."""

    sources: tuple[Path, ...]
    """Files, and folders for what is in them: copied to ``/tests`` after the agent's processes have ended. None of
    them, where the image of a separate verifier brings its own."""
    command: str
    """Run by ``bash -c`` in the working directory."""
    seconds: float = 600.0
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    reward: str = "file"
    """``"file"``: read from ``/logs/verifier/reward.json`` or ``reward.txt``; ``"pytest"``: from pytest's summary."""
    separate: Separate | None = None
    """Where the tests run, if that is not the agent's container."""


@dataclass(frozen=True)
class Healthcheck:
    """A command that has to succeed before an agent begins; Docker's ``HEALTHCHECK``, as Harbor has it."""

    command: str
    """Run by ``sh -c`` as the image's user."""
    interval: float = 5.0
    """Seconds between two attempts."""
    seconds: float = 30.0
    """What an attempt may take."""
    start_period: float = 0.0
    """Seconds in which failures do not count."""
    start_interval: float = 5.0
    """Seconds between two attempts in that time."""
    retries: int = 3
    """Failures after which it is given up."""


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
    healthcheck: Healthcheck | None = None
    solution: Path | None = None
    """The script of the oracle: ``solve.sh`` in a folder, or a single script; or the ``solution.yaml`` of
    Terminal-Bench 1, a list of commands."""
    solution_environment: Mapping[str, str] = field(default_factory=dict)
    """What the script is told beside the task's own variables."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the author says of the task: difficulty, category, keywords …"""
