"""A terminal task, independent of its format: :class:`Task`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = [
    "Artifact",
    "CollectCommand",
    "CopiedFolder",
    "Healthcheck",
    "Image",
    "McpServer",
    "ResourceLimits",
    "SeparateVerifier",
    "SideCar",
    "Task",
    "TaskStep",
    "Tests",
]


@dataclass(frozen=True)
class Image:
    """The image of a container: a folder to build, or the name of an image."""

    folder: Path | None = None
    """A build context with a Dockerfile."""
    dockerfile: str = "Dockerfile"
    name: str | None = None
    """An image that the engine has or can pull. With a folder too, the folder is built only if it can do neither."""
    build_seconds: float = 600.0
    arguments: tuple[tuple[str, str], ...] = ()
    """Values for ``ARG`` in the Dockerfile."""
    digest: str | None = None
    """The digest of the context, if it is known and the folder does not change; None to read the folder."""


@dataclass(frozen=True)
class ResourceLimits:
    """The resource limits of a container."""

    cpus: float = 1.0
    memory: int = 2 << 30
    """Bytes."""
    processes: int = 512
    disk: int | None = None
    """Bytes that may be written, if the engine can limit them; None for the engine's default."""
    network: bool = False
    host_network: bool = False
    """Whether a container with a network shares the machine's, in place of a network of its own."""
    allowed_hosts: tuple[str, ...] | None = None
    """The only hosts that a container with a network reaches, through a proxy; None for all."""

    @property
    def is_routed(self) -> bool:
        """Whether a container has a network of its own, with routes to all hosts."""
        return self.network and not self.host_network and self.allowed_hosts is None

    @property
    def is_filtered(self) -> bool:
        """Whether a container reaches listed hosts alone."""
        return self.network and not self.host_network and self.allowed_hosts is not None


@dataclass(frozen=True)
class Artifact:
    """A file or folder of the agent's container that a separate verifier receives."""

    source: str
    """The absolute path of the file or folder, in both containers."""
    exclude: tuple[str, ...] = ()
    """Patterns of excluded files, with the rules of ``tar --exclude``."""


@dataclass(frozen=True)
class CollectCommand:
    """A command that records the state of the agent's processes before they are killed."""

    command: str
    """Run by ``sh -c``; a failure of the command does not fail the task."""
    seconds: float = 60.0
    user: str | None = None


@dataclass(frozen=True)
class SeparateVerifier:
    """The separate container in which the tests of a task run."""

    image: Image
    limits: ResourceLimits
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    network_is_stated: bool = True
    """See :class:`Task`."""
    artifacts: tuple[Artifact, ...] = ()
    """The only files of the agent that it receives."""
    collect: tuple[CollectCommand, ...] = ()


@dataclass(frozen=True)
class Tests:
    """The tests of a task."""

    sources: tuple[Path, ...]
    """Files, and folders whose content is meant: copied to ``/tests`` after the agent's processes have ended. Empty if
    the image of a separate verifier contains the tests."""
    command: str
    """Run by ``bash -c`` in the working directory."""
    seconds: float = 600.0
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    reward: str = "file"
    """``"file"``: read from ``/logs/verifier/reward.json`` or ``reward.txt``; ``"pytest"``: from pytest's summary."""
    separate: SeparateVerifier | None = None
    """The separate container of the tests; None if they run in the agent's container."""


@dataclass(frozen=True)
class Healthcheck:
    """A command that must succeed before the agent begins: Docker's ``HEALTHCHECK`` in Harbor's form."""

    command: str
    """Run by ``sh -c`` as the image's user."""
    interval: float = 5.0
    """Seconds between two attempts."""
    seconds: float = 30.0
    """The time limit of an attempt."""
    start_period: float = 0.0
    """Seconds in which failures do not count."""
    start_interval: float = 5.0
    """Seconds between two attempts in the start period."""
    retries: int = 3
    """The number of failures after which the container counts as unhealthy."""


@dataclass(frozen=True)
class CopiedFolder:
    """A file or folder that a container has in place of a mount."""

    source: Path | None
    """Copied in before the processes of the container start; None for an empty folder, or for ``files``."""
    target: str | None
    """The absolute path in the container; None for the folder in which its commands begin."""
    files: Mapping[str, tuple[bytes, int] | None] = field(default_factory=dict)
    """In place of a source: path below the target → content and mode, or None for a file to remove."""


@dataclass(frozen=True)
class SideCar:
    """A container beside the agent's, in the same network: a service that the task needs."""

    name: str
    """The name by which the other containers reach it."""
    image: Image
    aliases: tuple[str, ...] = ()
    """Further names."""
    command: tuple[str, ...] | None = None
    """In place of the command of the image."""
    entrypoint: tuple[str, ...] | None = None
    """In place of the entry point of the image."""
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    workdir: str | None = None
    healthcheck: Healthcheck | None = None
    waits_for: Mapping[str, str] = field(default_factory=dict)
    """Other side-cars → what they must be before this one starts: ``started``, ``healthy`` or
    ``completed_successfully``."""
    folders: tuple[CopiedFolder, ...] = ()
    ports: tuple[int, ...] = ()
    """The ports on which it listens, as far as the task says."""
    restarts: bool = False
    """Whether its process is started again after its end."""
    limits: ResourceLimits = ResourceLimits()
    """Without the network, which is the agent's."""


@dataclass(frozen=True)
class McpServer:
    """A server of the Model Context Protocol, which offers the agent of a task further tools."""

    name: str
    transport: str
    """``"stdio"``, ``"sse"`` or ``"streamable-http"``."""
    url: str | None = None
    """Where it listens, as seen from the agent's container."""
    command: tuple[str, ...] = ()
    """For ``stdio``: a program of the agent's container, with its arguments."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskStep:
    """A step of a task: an instruction that the agent gets when the steps before it are over, with its own tests.

    The container, with its files and processes, is that of the whole task.
    """

    name: str
    instruction: str
    tests: Tests
    seconds: float | None = None
    """The time limit of the step; None for no limit."""
    user: str | None = None
    files: Path | None = None
    """A folder whose content is copied into the working folder before the step; a ``setup.sh`` in it is run."""
    healthcheck: Healthcheck | None = None
    min_reward: Mapping[str, float] = field(default_factory=dict)
    """Name of a reward → the number without which the steps after this one do not begin."""
    solution: Path | None = None


@dataclass(frozen=True)
class Task:
    """One task: the instruction, the container and the tests."""

    name: str
    instruction: str
    image: Image
    tests: Tests
    folder: Path
    """The folder of the task."""
    format: str
    """``"harbor"`` or ``"terminal-bench"``."""
    limits: ResourceLimits = ResourceLimits()
    network_is_stated: bool = True
    """Whether the task's files say whether it has a network; False if ``limits.network`` is its format's default."""
    pristine: bool = False
    """Whether tests without a separate container run in a fresh one; see :mod:`gem_terminal.verdicts.pristine`."""
    keep_processes: bool = False
    """Whether the agent's processes continue during the tests, by the rule of the format or the task's own word."""
    seconds: float | None = None
    """The time limit of an episode, in seconds of wall-clock time; None for no limit."""
    workdir: str | None = None
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    healthcheck: Healthcheck | None = None
    setup: tuple[str, ...] = ()
    """A script of ``sh`` and its arguments, run as the agent before it begins, and not in a fresh container of the
    tests."""
    folders: tuple[CopiedFolder, ...] = ()
    side_cars: tuple[SideCar, ...] = ()
    """The other containers of the task, in the order in which they start."""
    waits_for: Mapping[str, str] = field(default_factory=dict)
    """Side-cars → what they must be before the agent begins; see :class:`SideCar`."""
    main_name: str = "main"
    """The name by which the side-cars reach the agent's container."""
    solution: Path | None = None
    """The author's solution: ``solve.sh`` in a folder, a single script, or the ``solution.yaml`` of Terminal-Bench 1,
    which is a list of commands."""
    solution_environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of the solution, in addition to those of the task."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The author's metadata: difficulty, category, keywords …"""
    steps: tuple[TaskStep, ...] = ()
    """The steps of a task that has several; the task itself then has what the first one says."""
    steps_reward: str = "mean"
    """``"mean"``: the mean of the rewards of the steps; ``"final"``: those of the last step that was played."""
    mcp_servers: tuple[McpServer, ...] = ()

    def at_step(self, index: int) -> Task:
        """Return the task with the instruction, tests, user, time and solution of a step; itself if it has none."""
        if not self.steps:
            return self
        step = self.steps[index]
        return replace(
            self,
            instruction=step.instruction,
            tests=step.tests,
            seconds=step.seconds,
            user=step.user,
            solution=step.solution,
        )
