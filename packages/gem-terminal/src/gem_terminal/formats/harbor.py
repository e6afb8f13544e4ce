"""Task folders of Harbor and Terminal-Bench 2: ``task.toml``, ``instruction.md``, ``environment/``, ``tests/``.

Supports schema versions 1.0 to 1.4, and the older keys that current tasks still use (``version``, ``memory = "2G"``,
``allow_internet``). Rejects unsupported keys that change the meaning of a task. Ignores unknown keys,
because the format grows. The differences from Harbor 0.24:

- ``keep_processes`` in ``[metadata]``, a free table in Harbor, overrides Harbor's rule that the agent's processes
  continue during the tests.
- ``docker_image`` comes before the Dockerfile, as in Harbor; where it cannot be had, the Dockerfile is built instead.
- Tests run as root unless ``verifier.user`` names a user; in Harbor they run as the image's user.
- A size in plain bytes, or with ``T``, is valid; Harbor drops or rejects it.
- ``skills_dir``, ``source``, ``destination`` of an artifact and ``authors`` are ignored.
"""

from __future__ import annotations

import os
import re
import sys
from itertools import dropwhile
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from gem_terminal.egress_proxy import allowed_host
from gem_terminal.errors import TaskError
from gem_terminal.formats.compose import Composition, read_composition
from gem_terminal.formats.fields import SEVERAL, Bytes, Mebibytes, Pause, Seconds, compose_file, validated
from gem_terminal.task import (
    Artifact,
    CollectCommand,
    Healthcheck,
    Image,
    ResourceLimits,
    SeparateVerifier,
    Task,
    Tests,
)
from gem_terminal.verifier_result import OUTPUT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["load"]

_TEMPLATE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_CANARY = re.compile(r"<!--.*canary.*-->|#.*canary.*", re.IGNORECASE)
"""A line that marks a benchmark's files for filters of training data; not a part of the instruction."""

_MAIN = "main"
"""Harbor's name of the agent's container."""
_MOST = 1024
"""Processors of a container."""

NetworkMode = Literal["public", "no-network", "allowlist"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="ignore", protected_namespaces=())


class _About(_Section):
    name: str | None = None
    description: str | None = None
    keywords: list[str] = []


class _NetworkPolicy(_Section):
    network_mode: NetworkMode | None = None
    allowed_hosts: list[Annotated[str, AfterValidator(allowed_host)]] | None = None

    @model_validator(mode="after")
    def _hosts_are_meant(self) -> _NetworkPolicy:
        if self.allowed_hosts is not None and self.network_mode != "allowlist":
            raise ValueError("allowed_hosts needs network_mode = 'allowlist'")
        return self


class _Agent(_NetworkPolicy):
    timeout_sec: Seconds | None = None
    user: str | int | None = None


class _Healthcheck(_Section):
    command: str
    interval_sec: Pause = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: Pause = 0.0
    start_interval_sec: Pause = 5.0
    retries: int = Field(default=3, ge=1, le=1000)


class _Environment(_NetworkPolicy):
    build_timeout_sec: Seconds = 600.0
    docker_image: str | None = None
    os: Literal["linux", "windows"] = "linux"
    cpus: float | None = Field(default=None, gt=0, le=_MOST, allow_inf_nan=False)
    memory_mb: Mebibytes = None
    memory: Bytes = None
    storage_mb: Mebibytes = None
    storage: Bytes = None
    gpus: int | None = None
    tpu: Any = None
    mcp_servers: list[Any] = []
    env: dict[str, str] = {}
    workdir: str | None = None
    allow_internet: bool | None = None
    healthcheck: _Healthcheck | None = None

    @field_validator("os", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value


class _Artifact(_Section):
    source: str
    exclude: list[str] = []
    service: str | None = None


class _Collect(_Section):
    command: str
    service: str = _MAIN
    timeout_sec: Seconds = 60.0
    user: str | int | None = None


class _Verifier(_NetworkPolicy):
    timeout_sec: Seconds = 600.0
    env: dict[str, str] = {}
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: _Environment | None = None
    collect: list[_Collect] = []

    @property
    def is_separate(self) -> bool:
        """Whether the verifier has its own container: without an explicit mode, an environment implies it."""
        return self.environment_mode == "separate" or (self.environment_mode is None and self.environment is not None)


class _Solution(_Section):
    env: dict[str, str] = {}


class _Harbor(_Section):
    task: _About = _About()
    metadata: dict[str, Any] = {}
    agent: _Agent = _Agent()
    verifier: _Verifier = _Verifier()
    environment: _Environment = _Environment()
    solution: _Solution = _Solution()
    steps: list[Any] = []
    artifacts: list[str | _Artifact] = []


def load(folder: Path) -> Task:
    """Read the task of a folder.

    Raises:
        TaskError: if the task is malformed or needs an unsupported feature.
    """
    config = _read(folder / "task.toml")
    _refuse_what_is_not_supported(folder, config)
    about = config.task
    composition = read_composition(folder / "environment", _MAIN)
    environment = config.environment
    solution = folder / "solution" / "solve.sh"
    return Task(
        name=(about.name or "").rpartition("/")[2] or folder.name,
        instruction=_instruction(folder / "instruction.md"),
        image=_main_image(folder / "environment", environment, composition),
        tests=_tests(folder, config),
        folder=folder,
        format="harbor",
        limits=_limits(environment, config.agent),
        network_is_stated=_states_network(config.agent.network_mode, environment),
        keep_processes=_keeps_processes(folder, config.metadata),
        seconds=config.agent.timeout_sec,
        workdir=environment.workdir,
        user=_user(config.agent.user),
        environment=_filled(folder, environment.env) | (composition.main.environment if composition else {}),
        healthcheck=_healthcheck(environment.healthcheck),
        **(composition.task_fields() if composition else {}),
        solution=solution if solution.is_file() else None,
        # An unset variable is empty: a variable that only the oracle needs must not prevent training.
        solution_environment={
            name: _TEMPLATE.sub(lambda match: os.environ.get(match[1], match[2] or ""), text)
            for name, text in config.solution.env.items()
        },
        metadata={"keywords": about.keywords, **({"description": about.description} if about.description else {})}
        | config.metadata,
    )


def _read(path: Path) -> _Harbor:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TaskError(f"{path} is no TOML: {error}") from error
    return validated(_Harbor, content, path)


def _refuse_what_is_not_supported(folder: Path, config: _Harbor) -> None:
    places = [place for place in (config.environment, config.verifier.environment) if place is not None]
    services = [entry.service for entry in config.artifacts if isinstance(entry, _Artifact)]
    services += [hook.service for hook in config.verifier.collect]
    needs = {
        f"{SEVERAL} (the service of an artifact or a collect command)": not {None, _MAIN}.issuperset(services),
        "Windows": any(place.os == "windows" for place in places),
        "a GPU": any(place.gpus for place in places),
        "a TPU": any(place.tpu is not None for place in places),
        "several steps": bool(config.steps),
        "MCP servers of its own": any(place.mcp_servers for place in places),
    }
    for need, is_needed in needs.items():
        if is_needed:
            message = f"{folder / 'task.toml'}: the task needs {need}, which is not supported"
            raise TaskError(message, need.partition(" (")[0])
    verifier = config.verifier
    if verifier.environment_mode == "shared" and verifier.environment is not None:
        raise TaskError(f"{folder / 'task.toml'}: verifier.environment is given, and environment_mode is 'shared'")
    _refuse_two_networks(folder, config)


def _refuse_two_networks(folder: Path, config: _Harbor) -> None:
    """Reject different networks for agent and verifier in one shared container, whose network does not change."""
    place, agent, verifier = config.environment, config.agent, config.verifier
    said = verifier.network_mode or place.network_mode or place.allow_internet
    if verifier.is_separate or said is None:
        return
    hosts = [_hosts(part, place) for part in (agent, verifier)]
    modes = ["allowlist" if found else "no-network" if found == () else "public" for found in hosts]
    if hosts[0] != hosts[1]:
        raise TaskError(
            f"{folder / 'task.toml'}: the network_mode of the agent is {modes[0]!r} and that of the verifier "
            f"{modes[1]!r}, but both share one container, whose network does not change; give them the same, or the "
            "verifier a container of its own (verifier.environment_mode = 'separate')",
            "a network that changes",
        )


def _instruction(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
    lines = dropwhile(lambda line: _CANARY.fullmatch(line.strip()), text.lstrip().split("\n"))
    instruction = "\n".join(lines).strip()
    if not instruction:
        raise TaskError(f"{path} is empty; it must hold the instruction for the agent")
    return instruction


def _image(folder: Path, environment: _Environment) -> Image:
    if (folder / "Dockerfile").is_file():
        return Image(folder=folder, name=environment.docker_image, build_seconds=environment.build_timeout_sec)
    if environment.docker_image:
        return Image(name=environment.docker_image)
    raise TaskError(f"{folder} has no Dockerfile, and task.toml names no docker_image; the task needs one of them")


def _main_image(folder: Path, environment: _Environment, composition: Composition | None) -> Image:
    """Return the image of the agent's container, which its service in the compose file may change."""
    if composition is not None and (composition.main.build is not None or composition.main.image):
        return composition.main_image
    return _image(folder, environment)


def _tests(folder: Path, config: _Harbor) -> Tests:
    verifier = config.verifier
    separate, brings_tests = _separate(folder, config) if verifier.is_separate else (None, False)
    sources = () if brings_tests else (folder / "tests",)
    if sources and not (sources[0] / "test.sh").is_file():
        raise TaskError(f"{sources[0] / 'test.sh'} is missing; it must verify the task")
    return Tests(
        sources=sources,
        command=f"/tests/test.sh > /logs/verifier/{OUTPUT} 2>&1",
        seconds=verifier.timeout_sec,
        user=_user(verifier.user),
        environment=_filled(folder, verifier.env),
        separate=separate,
    )


def _separate(folder: Path, config: _Harbor) -> tuple[SeparateVerifier, bool]:
    """Return the container of a verifier, and whether its image contains the tests.

    The rules are Harbor's: the image of ``[verifier.environment]`` or the Dockerfile in ``tests/``, which both
    contain ``/tests``; otherwise the agent's image.
    """
    verifier = config.verifier
    place = verifier.environment or config.environment
    tests = folder / "tests"
    if (compose := compose_file(tests)) is not None:
        raise TaskError(f"{compose}: the verifier needs several containers, which is not supported", SEVERAL)
    own_image = verifier.environment.docker_image if verifier.environment else None
    if own_image:
        image = Image(name=own_image)
    elif (tests / "Dockerfile").is_file():
        image = Image(folder=tests, build_seconds=place.build_timeout_sec)
    else:
        image = _image(folder / "environment", config.environment)
    separate = SeparateVerifier(
        image=image,
        limits=_limits(place, verifier),
        network_is_stated=_states_network(verifier.network_mode, place),
        environment=_filled(folder, place.env),
        workdir=place.workdir,
        artifacts=tuple(_artifact(folder, entry, config.environment.workdir) for entry in config.artifacts),
        collect=tuple(CollectCommand(hook.command, hook.timeout_sec, _user(hook.user)) for hook in verifier.collect),
    )
    return separate, bool(own_image) or (tests / "Dockerfile").is_file()


def _artifact(folder: Path, entry: str | _Artifact, workdir: str | None) -> Artifact:
    given = entry if isinstance(entry, _Artifact) else _Artifact(source=entry)
    path = PurePosixPath(workdir or "", given.source)
    if not path.is_absolute() or ".." in path.parts or path.name == "" or "\0" in given.source:
        raise TaskError(
            f"{folder / 'task.toml'}: artifacts: {given.source!r} must be a file or folder "
            "without '..', absolute or relative to environment.workdir"
        )
    return Artifact(f"/{path.relative_to(path.anchor)}", tuple(given.exclude))


def _healthcheck(given: _Healthcheck | None) -> Healthcheck | None:
    if given is None:
        return None
    return Healthcheck(
        command=given.command,
        interval=given.interval_sec,
        seconds=given.timeout_sec,
        start_period=given.start_period_sec,
        start_interval=given.start_interval_sec,
        retries=given.retries,
    )


def _limits(place: _Environment, part: _NetworkPolicy) -> ResourceLimits:
    hosts = _hosts(part, place)
    return ResourceLimits(
        cpus=place.cpus or ResourceLimits.cpus,
        memory=place.memory_mb or place.memory or ResourceLimits.memory,
        disk=place.storage_mb or place.storage,
        network=hosts != (),
        allowed_hosts=hosts or None,
    )


def _hosts(part: _NetworkPolicy, environment: _Environment) -> tuple[str, ...] | None:
    """Return the hosts that a container reaches: none, the listed ones, or None for all, which is Harbor's default."""
    policy = part if part.network_mode is not None else environment
    if policy.network_mode == "allowlist":
        return tuple(policy.allowed_hosts or ())
    if policy.network_mode is None:
        return () if environment.allow_internet is False else None
    return None if policy.network_mode == "public" else ()


def _states_network(mode: NetworkMode | None, environment: _Environment) -> bool:
    return bool(mode or environment.network_mode) or environment.allow_internet is not None


def _keeps_processes(folder: Path, metadata: dict[str, Any]) -> bool:
    keeps = metadata.get("keep_processes", True)
    if not isinstance(keeps, bool):
        raise TaskError(f"{folder / 'task.toml'}: metadata.keep_processes must be true or false, got {keeps!r}")
    return keeps


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
