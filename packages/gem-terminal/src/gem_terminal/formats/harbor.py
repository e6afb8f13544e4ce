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
from typing import Any

from gem_terminal.errors import TaskError
from gem_terminal.formats.compose import Composition, read_composition
from gem_terminal.formats.fields import SEVERAL, UNSET, compose_file, validated
from gem_terminal.formats.harbor_schema import (
    MAIN,
    ArtifactEntry,
    EnvironmentSection,
    HarborFile,
    HealthcheckSection,
    McpServerEntry,
    NetworkMode,
    NetworkSection,
    StepEntry,
)
from gem_terminal.task import (
    Artifact,
    CollectCommand,
    CopiedFolder,
    Healthcheck,
    Image,
    McpServer,
    ResourceLimits,
    SeparateVerifier,
    Task,
    TaskStep,
    Tests,
)
from gem_terminal.verdicts.verifier_result import OUTPUT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["load"]

_TEMPLATE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_CANARY = re.compile(r"<!--.*canary.*-->|#.*canary.*", re.IGNORECASE)
"""A line that marks a benchmark's files for filters of training data; not a part of the instruction."""


def load(folder: Path) -> Task:
    """Read the task of a folder.

    Raises:
        TaskError: if the task is malformed or needs an unsupported feature.
    """
    config = _read(folder / "task.toml")
    _refuse_what_is_not_supported(folder, config)
    about = config.task
    composition = read_composition(folder / "environment", MAIN)
    environment = config.environment
    steps = tuple(_step(folder, config, entry) for entry in config.steps)
    return Task(
        name=(about.name or "").rpartition("/")[2] or folder.name,
        instruction=steps[0].instruction if steps else _instruction(folder / "instruction.md"),
        image=_main_image(folder / "environment", environment, composition),
        tests=steps[0].tests if steps else _tests(folder, config),
        folder=folder,
        format="harbor",
        limits=_limits(config, environment, _networks(config, config.steps[0] if steps else None)[0]),
        network_is_stated=_states_network(config.agent.network_mode, environment),
        keep_processes=_keeps_processes(folder, config.metadata),
        seconds=steps[0].seconds if steps else config.agent.timeout_sec,
        workdir=environment.workdir,
        user=steps[0].user if steps else _user(config.agent.user),
        environment=_filled(folder, environment.env) | (composition.main.environment if composition else {}),
        healthcheck=_healthcheck(environment.healthcheck),
        **(composition.task_fields() if composition else {"folders": _staged(folder / "environment", environment)}),
        solution=steps[0].solution if steps else _solution(folder / "solution"),
        # An unset variable is empty: a variable that only the oracle needs must not prevent training.
        solution_environment={
            name: _TEMPLATE.sub(lambda match: os.environ.get(match[1], match[2] or ""), text)
            for name, text in config.solution.env.items()
        },
        metadata={"keywords": about.keywords, **({"description": about.description} if about.description else {})}
        | config.metadata,
        steps=steps,
        steps_reward=config.multi_step_reward_strategy or "mean",
        mcp_servers=tuple(map(_mcp_server, environment.mcp_servers)),
    )


def _step(folder: Path, config: HarborFile, entry: StepEntry) -> TaskStep:
    """Read a step. Agent and verifier say what differs from the task; the time limit of the tests is the step's own."""
    own = folder / "steps" / entry.name
    if not own.resolve().is_relative_to(folder.resolve()) or not own.is_dir():
        raise TaskError(f"{own} is missing; the step {entry.name!r} of task.toml needs this folder")
    user = config.agent.user if entry.agent.user is None else entry.agent.user
    least = entry.min_reward
    return TaskStep(
        name=entry.name,
        instruction=_instruction(own / "instruction.md"),
        tests=_tests(folder, config, entry),
        seconds=config.agent.timeout_sec if entry.agent.timeout_sec is None else entry.agent.timeout_sec,
        user=_user(user),
        files=own / "workdir" if (own / "workdir").is_dir() else None,
        healthcheck=_healthcheck(entry.healthcheck),
        min_reward={} if least is None else least if isinstance(least, dict) else {"reward": least},
        solution=_solution(own / "solution") if (own / "solution").is_dir() else _solution(folder / "solution"),
    )


def _solution(folder: Path) -> Path | None:
    script = folder / "solve.sh"
    return script if script.is_file() else None


def _mcp_server(entry: McpServerEntry) -> McpServer:
    return McpServer(
        entry.name,
        entry.transport,
        url=None if entry.transport == "stdio" else entry.url,
        command=(entry.command, *entry.args) if entry.transport == "stdio" and entry.command else (),
        headers=entry.headers,
    )


def _read(path: Path) -> HarborFile:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TaskError(f"{path} is no TOML: {error}") from error
    return validated(HarborFile, content, path)


def _refuse_what_is_not_supported(folder: Path, config: HarborFile) -> None:
    verifiers = [config.verifier, *(step.verifier for step in config.steps)]
    places = [config.environment, *(each.environment for each in verifiers if each.environment is not None)]
    entries = [*config.artifacts, *(entry for step in config.steps for entry in step.artifacts)]
    services = [entry.service for entry in entries if isinstance(entry, ArtifactEntry)]
    services += [hook.service for each in verifiers for hook in each.collect]
    needs = {
        f"{SEVERAL} (the service of an artifact or a collect command)": not {None, MAIN}.issuperset(services),
        "Windows": any(place.os == "windows" for place in places),
        "a GPU": any(place.gpus for place in places),
        "a TPU": any(place.tpu is not None for place in places),
    }
    for need, is_needed in needs.items():
        if is_needed:
            message = f"{folder / 'task.toml'}: the task needs {need}, which is not supported"
            raise TaskError(message, need.partition(" (")[0])
    for verifier in verifiers:
        if verifier.environment_mode == "shared" and verifier.environment is not None:
            raise TaskError(f"{folder / 'task.toml'}: verifier.environment is given, and environment_mode is 'shared'")
    _refuse_two_networks(folder, config)


def _refuse_two_networks(folder: Path, config: HarborFile) -> None:
    """Reject different networks of agent, verifier and steps in one shared container, whose network does not change."""
    place = config.environment
    parts: list[tuple[str, tuple[str, ...] | None]] = []
    for step in config.steps or (None,):
        agent, verifier = _networks(config, step)
        parts.append(("agent", _hosts(agent, place)))
        said = verifier.network_mode or place.network_mode or place.allow_internet
        if not _is_separate(config, step) and said is not None:
            parts.append(("verifier", _hosts(verifier, place)))
    other = next((part for part in parts if part[1] != parts[0][1]), None)
    if other is None:
        return
    modes = ["allowlist" if hosts else "no-network" if hosts == () else "public" for _, hosts in (parts[0], other)]
    raise TaskError(
        f"{folder / 'task.toml'}: the network_mode of the agent is {modes[0]!r} and that of the {other[0]}"
        f"{' of a later step' if config.steps else ''} {modes[1]!r}, but both share one container, whose network does "
        "not change; give them the same, or the verifier a container of its own (verifier.environment_mode = "
        "'separate')",
        "a network that changes",
    )


def _networks(config: HarborFile, step: StepEntry | None) -> tuple[NetworkSection, NetworkSection]:
    """Return the words of agent and verifier on the network, in a step those of the step or else of the task."""
    agent: NetworkSection = config.agent
    verifier: NetworkSection = config.verifier
    if step is not None:
        agent = step.agent if step.agent.network_mode is not None else agent
        verifier = step.verifier if step.verifier.network_mode is not None else verifier
    return agent, verifier


def _is_separate(config: HarborFile, step: StepEntry | None) -> bool:
    if step is not None and (step.verifier.environment_mode or step.verifier.environment) is not None:
        return step.verifier.is_separate
    return config.verifier.is_separate


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


def _image(folder: Path, environment: EnvironmentSection) -> Image:
    if (folder / "Dockerfile").is_file():
        return Image(folder=folder, name=environment.docker_image, build_seconds=environment.build_timeout_sec)
    if environment.docker_image:
        return Image(name=environment.docker_image)
    raise TaskError(f"{folder} has no Dockerfile, and task.toml names no docker_image; the task needs one of them")


def _staged(folder: Path, environment: EnvironmentSection) -> tuple[CopiedFolder, ...]:
    """Return the files that come with a finished image: Harbor copies them into the working folder."""
    if not environment.docker_image or not folder.is_dir() or (folder / "Dockerfile").is_file():
        return ()
    return (CopiedFolder(folder, None),) if any(folder.iterdir()) else ()


def _main_image(folder: Path, environment: EnvironmentSection, composition: Composition | None) -> Image:
    """Return the image of the agent's container, which its service in the compose file may change."""
    if composition is not None and (composition.main.build is not None or composition.main.image):
        return composition.main_image
    return _image(folder, environment)


def _tests(folder: Path, config: HarborFile, step: StepEntry | None = None) -> Tests:
    """Return the tests of a task, or of a step: those of the task with those of the step over them."""
    verifier = config.verifier if step is None else step.verifier
    separate, brings_tests = _separate(folder, config, step) if _is_separate(config, step) else (None, False)
    sources = tuple(_tests_folders(folder, step))
    if not brings_tests and not any((source / "test.sh").is_file() for source in sources):
        raise TaskError(f"{sources[-1] / 'test.sh'} is missing; it must verify the task")
    user = config.verifier.user if verifier.user is None else verifier.user
    return Tests(
        sources=() if brings_tests else sources,
        command=f"/tests/test.sh > /logs/verifier/{OUTPUT} 2>&1",
        seconds=verifier.timeout_sec,
        user=_user(user),
        environment=_filled(folder, config.verifier.env | verifier.env),
        separate=separate,
    )


def _tests_folders(folder: Path, step: StepEntry | None) -> list[Path]:
    if step is None:
        return [folder / "tests"]
    own = folder / "steps" / step.name / "tests"
    return [path for path in (folder / "tests", own) if path.is_dir()] or [own]


def _separate(folder: Path, config: HarborFile, step: StepEntry | None) -> tuple[SeparateVerifier, bool]:
    """Return the container of a verifier, and whether its image contains the tests.

    The rules are Harbor's: the image of ``[verifier.environment]`` or the Dockerfile in ``tests/``, which both
    contain ``/tests``; otherwise the agent's image. In a step, its own come before those of the task.
    """
    sections = [config.verifier] if step is None else [step.verifier, config.verifier]
    place = next((each.environment for each in sections if each.environment is not None), config.environment)
    image, brings_tests = _image(folder / "environment", config.environment), False
    folders = [folder / "tests"] if step is None else [folder / "steps" / step.name / "tests", folder / "tests"]
    for section, tests in zip(sections, folders, strict=True):
        if (compose := compose_file(tests)) is not None:
            raise TaskError(f"{compose}: the verifier needs several containers, which is not supported", SEVERAL)
        own_image = section.environment.docker_image if section.environment else None
        if own_image or (tests / "Dockerfile").is_file():
            image = Image(name=own_image) if own_image else Image(folder=tests, build_seconds=place.build_timeout_sec)
            brings_tests = True
            break
    network = _networks(config, step)[1]
    artifacts = [*config.artifacts, *(step.artifacts if step is not None else ())]
    separate = SeparateVerifier(
        image=image,
        limits=_limits(config, place, network),
        network_is_stated=_states_network(network.network_mode, place),
        environment=_filled(folder, place.env),
        workdir=place.workdir,
        artifacts=tuple(_artifact(folder, entry, config.environment.workdir) for entry in artifacts),
        collect=tuple(
            CollectCommand(hook.command, hook.timeout_sec, _user(hook.user))
            for section in reversed(sections)
            for hook in section.collect
        ),
    )
    return separate, brings_tests


def _artifact(folder: Path, entry: str | ArtifactEntry, workdir: str | None) -> Artifact:
    given = entry if isinstance(entry, ArtifactEntry) else ArtifactEntry(source=entry)
    path = PurePosixPath(workdir or "", given.source)
    if not path.is_absolute() or ".." in path.parts or path.name == "" or "\0" in given.source:
        raise TaskError(
            f"{folder / 'task.toml'}: artifacts: {given.source!r} must be a file or folder "
            "without '..', absolute or relative to environment.workdir"
        )
    return Artifact(f"/{path.relative_to(path.anchor)}", tuple(given.exclude))


def _healthcheck(given: HealthcheckSection | None) -> Healthcheck | None:
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


def _limits(config: HarborFile, place: EnvironmentSection, part: NetworkSection) -> ResourceLimits:
    hosts = _hosts(part, place)
    return ResourceLimits(
        cpus=place.cpus or ResourceLimits.cpus,
        memory=place.memory_mb or place.memory or ResourceLimits.memory,
        disk=place.storage_mb or place.storage or config.default_storage,
        network=hosts != (),
        allowed_hosts=hosts or None,
    )


def _hosts(part: NetworkSection, environment: EnvironmentSection) -> tuple[str, ...] | None:
    """Return the hosts that a container reaches: none, the listed ones, or None for all, which is Harbor's default."""
    policy = part if part.network_mode is not None else environment
    if policy.network_mode == "allowlist":
        return tuple(policy.allowed_hosts or ())
    if policy.network_mode is None:
        return () if environment.allow_internet is False else None
    return None if policy.network_mode == "public" else ()


def _states_network(mode: NetworkMode | None, environment: EnvironmentSection) -> bool:
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
        name = match[1]
        found: str | None = os.environ.get(name, match[2])
        if found is None:
            message = f"{folder / 'task.toml'}: the task needs the environment variable {name}, which is not set"
            raise TaskError(message, UNSET)
        return found

    return {name: _TEMPLATE.sub(value, text) for name, text in variables.items()}
