"""Task folders of Terminal-Bench 1: ``task.yaml``, ``Dockerfile``, ``run-tests.sh``, ``tests/``.

The harness ran such tasks with Docker Compose. Here the compose file is read for what it says of the one service
``client``; a task with more services is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from gem_terminal.errors import TaskError
from gem_terminal.task import Image, Limits, Task, Tests

__all__ = ["load"]

_PARSERS = ("pytest",)
"""The ``parser_name`` whose summary can be read here."""


class _TaskFile(BaseModel):
    model_config = ConfigDict(extra="ignore")

    instruction: str
    difficulty: Literal["easy", "medium", "hard", "unknown"] = "unknown"
    category: str | None = None
    tags: list[str] = []
    author_name: str | None = None
    author_email: str | None = None
    parser_name: str = "pytest"
    max_agent_timeout_sec: float = 360.0
    max_test_timeout_sec: float = 60.0
    run_tests_in_same_shell: bool = False


def load(folder: Path) -> Task:
    """Read the task of a folder.

    Raises:
        TaskError: if it is malformed, or needs what is not supported here.
    """
    path = folder / "task.yaml"
    task = _read(path)
    if task.parser_name not in _PARSERS:
        raise TaskError(f"{path}: parser_name is {task.parser_name!r}, and supported is {', '.join(_PARSERS)}")
    if not (folder / "run-tests.sh").is_file():
        raise TaskError(f"{folder / 'run-tests.sh'} is missing; it is what verifies the task")
    solution = folder / "solution.sh"
    return Task(
        name=folder.name,
        instruction=task.instruction.strip(),
        image=_image(folder),
        tests=Tests(
            sources=(folder / "run-tests.sh", folder / "tests"),
            command="bash /tests/run-tests.sh",
            seconds=task.max_test_timeout_sec,
            environment={"TEST_DIR": "/tests", "T_BENCH_TEST_DIR": "/tests"},
            reward="pytest",
        ),
        folder=folder,
        format="terminal-bench",
        limits=Limits(network=True),
        seconds=task.max_agent_timeout_sec,
        solution=solution if solution.is_file() else None,
        metadata=task.model_dump(include={"difficulty", "category", "tags", "author_name"}, exclude_none=True),
    )


def _read(path: Path) -> _TaskFile:
    content = _yaml(path)
    try:
        return _TaskFile.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise TaskError(f"{path}: {key}: {first['msg']}, got {first['input']!r:.80}") from error


def _image(folder: Path) -> Image:
    compose = next(iter(sorted(folder.glob("docker-compose.y*ml"))), None)
    service = {} if compose is None else _only_service(compose)
    build = service.get("build")
    build = {"dockerfile": "Dockerfile", **build} if isinstance(build, dict) else {"dockerfile": "Dockerfile"}
    if (folder / build["dockerfile"]).is_file():
        return Image(folder=folder, dockerfile=build["dockerfile"])
    image = service.get("image")
    if isinstance(image, str) and "${" not in image:
        return Image(name=image)
    raise TaskError(f"{folder} has no {build['dockerfile']}; the task needs an image")


def _only_service(compose: Path) -> dict[str, Any]:
    content = _yaml(compose)
    services = content.get("services") if isinstance(content, dict) else None
    if not isinstance(services, dict) or not services:
        raise TaskError(f"{compose} lists no services")
    if len(services) > 1:
        raise TaskError(
            f"{compose}: the task needs several containers ({', '.join(map(str, services))}), which is not supported"
        )
    (service,) = services.values()
    return service if isinstance(service, dict) else {}


def _yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
