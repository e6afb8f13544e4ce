"""Task folders of Terminal-Bench 1: ``task.yaml``, ``Dockerfile``, ``run-tests.sh``, ``tests/``.

The harness ran such tasks with Docker Compose. The agent works in the service ``client``; the others are side-cars. A
task with privileges is rejected. The other differences:

- Containers have a network, as in the harness, since most ``run-tests.sh`` scripts download pytest. Only
  ``network_mode: none`` in the compose file disables it.
- Tests run in a shell of their own, so a task whose tests must run in the agent's shell
  (``run_tests_in_same_shell``) is rejected. The agent's processes continue during the tests, as in the harness.
- pytest's parser is the only one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gem_terminal.errors import TaskError
from gem_terminal.formats.compose import ComposedService, read_composition
from gem_terminal.formats.fields import Seconds, validated
from gem_terminal.formats.yaml_text import yaml_of
from gem_terminal.task import Image, ResourceLimits, Task, Tests

__all__ = ["Step", "load", "steps_of"]

_PARSERS = ("pytest",)
"""The ``parser_name`` of the supported summary."""
_MAIN = "client"
"""The harness's name of the agent's service."""
_DISK = 32 << 30
"""Bytes. Terminal-Bench has no limit; this one keeps an agent from filling the disk of the machine."""
_HIDDEN = ("tests", "run-tests.sh", "solution.sh", "solution.yaml", "task.yaml", "docker-compose.yaml")
"""What the agent must not see, even where a compose file mounts it."""


class _TaskFile(BaseModel):
    model_config = ConfigDict(extra="ignore")

    instruction: str
    difficulty: Literal["easy", "medium", "hard", "unknown"] = "unknown"
    category: str | None = None
    tags: list[str] = []
    author_name: str | None = None
    author_email: str | None = None
    parser_name: str = "pytest"
    max_agent_timeout_sec: Seconds = 360.0
    max_test_timeout_sec: Seconds = 60.0
    run_tests_in_same_shell: bool = False


class Step(BaseModel):
    """A command of a ``solution.yaml``, which the harness types into a terminal."""

    model_config = ConfigDict(extra="ignore")

    command: str
    min_timeout_sec: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)
    max_timeout_sec: Seconds = 180.0
    block: bool = False
    """Whether the command must end before the next one is typed."""
    append_enter: bool = True


class _Solution(BaseModel):
    commands: list[Step]


def load(folder: Path) -> Task:
    """Read the task of a folder.

    Raises:
        TaskError: if the task is malformed or needs an unsupported feature.
    """
    path = folder / "task.yaml"
    task = validated(_TaskFile, _yaml(path), path)
    if task.parser_name not in _PARSERS:
        message = f"{path}: parser_name is {task.parser_name!r}, but GEM supports only {', '.join(_PARSERS)}"
        raise TaskError(message, f"parser {task.parser_name}")
    if task.run_tests_in_same_shell:
        message = f"{path}: run_tests_in_same_shell is set, but the agent's shell ends before the tests"
        raise TaskError(message, "tests in the agent's shell")
    if not task.instruction.strip():
        raise TaskError(f"{path}: instruction is empty; it must hold the instruction for the agent")
    if not (folder / "run-tests.sh").is_file():
        raise TaskError(f"{folder / 'run-tests.sh'} is missing; it must verify the task")
    composition = read_composition(folder, _MAIN, _HIDDEN)
    service = composition.main if composition is not None else ComposedService()
    if composition is not None and not composition.has_main:
        raise TaskError(f"{composition.path} has no service {_MAIN!r}, in which the agent works")
    return Task(
        name=folder.name,
        instruction=task.instruction.strip(),
        image=_image(folder, service),
        tests=Tests(
            sources=(folder / "run-tests.sh", folder / "tests"),
            command="bash /tests/run-tests.sh",
            seconds=task.max_test_timeout_sec,
            environment={"TEST_DIR": "/tests", "T_BENCH_TEST_DIR": "/tests"},
            reward="pytest",
        ),
        folder=folder,
        format="terminal-bench",
        limits=ResourceLimits(
            cpus=service.limits().cpus,
            memory=service.limits().memory,
            disk=_DISK,
            network=service.network_mode != "none",
        ),
        **(composition.task_fields() if composition is not None else {}),
        keep_processes=True,
        seconds=task.max_agent_timeout_sec,
        workdir=service.working_dir,
        user=None if service.user is None else str(service.user),
        environment=service.environment,
        solution=next((folder / name for name in ("solution.sh", "solution.yaml") if (folder / name).is_file()), None),
        metadata=task.model_dump(include={"difficulty", "category", "tags", "author_name"}, exclude_none=True),
    )


def steps_of(solution: Path) -> tuple[Step, ...]:
    """Return the commands of a ``solution.yaml``.

    Raises:
        TaskError: if the file is malformed.
    """
    return tuple(validated(_Solution, {"commands": _yaml(solution)}, solution).commands)


def _image(folder: Path, service: ComposedService) -> Image:
    context = (folder / (service.build.context if service.build else ".")).resolve()
    dockerfile = service.build.dockerfile if service.build else "Dockerfile"
    if (context / dockerfile).is_file():
        arguments = tuple(sorted(service.build.args.items())) if service.build else ()
        return Image(folder=context, dockerfile=dockerfile, arguments=arguments)
    if service.image is not None and "${" not in service.image:
        return Image(name=service.image)
    raise TaskError(f"{context} has no {dockerfile}; the task needs an image")


def _yaml(path: Path) -> Any:
    try:
        return yaml_of(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
