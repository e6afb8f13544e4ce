"""Task folders of Harbor and Terminal-Bench 2: ``task.toml``, ``instruction.md``, ``environment/``, ``tests/``.

Schema versions 1.0 to 1.4, with the older keys that live tasks still have (``version``, ``memory = "2G"``,
``allow_internet``). Keys that change what a task means and are not supported are refused; unknown ones are not,
since the format grows.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gem_terminal.errors import TaskError
from gem_terminal.formats.sizes import Bytes, Mebibytes
from gem_terminal.task import Image, Limits, Task, Tests

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["load"]

_TEMPLATE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_CANARY = re.compile(r"(?:\s*(?:<!--.*canary.*-->|#.*canary.*)\s*\n)+", re.IGNORECASE)
"""Lines that mark a benchmark's files for those who filter training data; no part of the instruction."""

_TEST_OUTPUT = "/logs/verifier/test-stdout.txt"
NetworkMode = Literal["public", "no-network", "allowlist"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="ignore", protected_namespaces=())


class _About(_Section):
    name: str | None = None
    description: str | None = None
    keywords: list[str] = []


class _Agent(_Section):
    timeout_sec: float | None = None
    user: str | int | None = None
    network_mode: NetworkMode | None = None


class _Environment(_Section):
    build_timeout_sec: float = 600.0
    docker_image: str | None = None
    os: Literal["linux", "windows"] = "linux"
    cpus: float = 1.0
    memory_mb: Mebibytes = None
    memory: Bytes = None
    storage_mb: Mebibytes = None
    storage: Bytes = None
    gpus: int = 0
    tpu: Any = None
    mcp_servers: list[Any] = []
    env: dict[str, str] = {}
    workdir: str | None = None
    network_mode: NetworkMode | None = None
    allow_internet: bool | None = None
    healthcheck: Any = None


class _Verifier(_Section):
    timeout_sec: float = 600.0
    env: dict[str, str] = {}
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] = "shared"
    environment: _Environment | None = None


class _Harbor(_Section):
    schema_version: str | None = None
    version: str | None = None
    task: _About = _About()
    metadata: dict[str, Any] = {}
    agent: _Agent = _Agent()
    verifier: _Verifier = _Verifier()
    environment: _Environment = _Environment()
    steps: list[Any] = []
    artifacts: list[Any] = Field(default_factory=list)


def load(folder: Path) -> Task:
    """Read the task of a folder.

    Raises:
        TaskError: if it is malformed, or needs what is not supported here.
    """
    config = _read(folder / "task.toml")
    _refuse_what_is_not_supported(folder, config)
    about = config.task
    environment = config.environment
    solution = folder / "solution" / "solve.sh"
    return Task(
        name=(about.name or folder.name).rpartition("/")[2],
        instruction=_instruction(folder / "instruction.md"),
        image=_image(folder / "environment", environment),
        tests=_tests(folder, config),
        folder=folder,
        format="harbor",
        limits=Limits(
            cpus=environment.cpus,
            memory=environment.memory_mb or environment.memory or Limits.memory,
            disk=environment.storage_mb or environment.storage,
            network=_has_network(config.agent.network_mode, environment),
        ),
        seconds=config.agent.timeout_sec,
        workdir=environment.workdir,
        user=_user(config.agent.user),
        environment=_filled(folder, environment.env),
        solution=solution if solution.is_file() else None,
        metadata={"keywords": about.keywords, **({"description": about.description} if about.description else {})}
        | config.metadata,
    )


def _read(path: Path) -> _Harbor:
    try:
        return _Harbor.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{path} is no TOML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise TaskError(f"{path}: {key}: {first['msg']}, got {first['input']!r:.80}") from error


def _refuse_what_is_not_supported(folder: Path, config: _Harbor) -> None:
    environment = config.environment
    compose = next((folder / "environment").glob("docker-compose.y*ml"), None)
    needs = {
        "several containers (docker-compose.yaml)": compose is not None,
        "Windows": environment.os == "windows",
        "a GPU": environment.gpus > 0,
        "a TPU": environment.tpu is not None,
        "a network of listed hosts alone": "allowlist" in (environment.network_mode, config.agent.network_mode),
        "several steps": bool(config.steps),
        "MCP servers of its own": bool(environment.mcp_servers),
    }
    for need, is_needed in needs.items():
        if is_needed:
            raise TaskError(f"{folder / 'task.toml'}: the task needs {need}, which is not supported")


def _instruction(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
    canary = _CANARY.match(text)
    instruction = text[canary.end() if canary else 0 :].strip()
    if not instruction:
        raise TaskError(f"{path} is empty; it is what the agent is told")
    return instruction


def _image(folder: Path, environment: _Environment) -> Image:
    if (folder / "Dockerfile").is_file():
        return Image(folder=folder, name=environment.docker_image, build_seconds=environment.build_timeout_sec)
    if environment.docker_image:
        return Image(name=environment.docker_image)
    raise TaskError(f"{folder} has no Dockerfile, and task.toml names no docker_image; the task needs one of them")


def _tests(folder: Path, config: _Harbor) -> Tests:
    tests = folder / "tests"
    if not (tests / "test.sh").is_file():
        raise TaskError(f"{tests / 'test.sh'} is missing; it is what verifies the task")
    verifier = config.verifier
    separate = verifier.environment_mode == "separate"
    return Tests(
        sources=(tests,),
        command=f"chmod +x /tests/test.sh; /tests/test.sh > {_TEST_OUTPUT} 2>&1",
        seconds=verifier.timeout_sec,
        user=_user(verifier.user),
        environment=_filled(folder, verifier.env),
        separate=None,
    )


def _has_network(mode: NetworkMode | None, environment: _Environment) -> bool:
    """As declared; a task that says nothing has none, and one written for an older schema says ``allow_internet``."""
    mode = mode or environment.network_mode
    return mode == "public" if mode is not None else bool(environment.allow_internet)


def _user(user: str | int | None) -> str | None:
    return None if user is None else str(user)


def _filled(folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """Return variables with ``${NAME:-default}`` replaced from this process's environment."""

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        found = os.environ.get(name, default)
        if found is None:
            raise TaskError(f"{folder / 'task.toml'}: the task needs the environment variable {name}, which is not set")
        return found

    return {name: _TEMPLATE.sub(value, text) for name, text in variables.items()}
