"""Docker Compose files of tasks: the agent's service, and the side-cars beside it.

Supports what published tasks use of the Compose specification: ``build`` or ``image``, ``command``, ``entrypoint``,
``environment``, ``env_file``, ``depends_on`` with its conditions, ``healthcheck``, ``volumes``, ``networks`` with
aliases, ``links``, ``restart``, ``user``, ``working_dir``, limits, and variables. Files and folders of the task that
are mounted are copied in, but never its tests and its solution. The differences, which GEM refuses where they would
change a task:

- All containers of a task share one network, so each reaches every other.
- A named volume belongs to one container.
- ``ports`` opens none on this machine.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from gem_terminal.errors import TaskError
from gem_terminal.formats.fields import SEVERAL, Bytes, compose_file, validated
from gem_terminal.formats.yaml_text import yaml_of
from gem_terminal.task import CopiedFolder, Healthcheck, Image, ResourceLimits, SideCar

__all__ = ["PRIVILEGES", "ComposedService", "Composition", "read_composition"]

PRIVILEGES = ("privileged", "cap_add", "devices", "gpus", "runtime", "pid", "ipc", "security_opt", "userns_mode")
"""Keys of a service that would grant it more than any container has here."""
_UNKNOWN = ("extends", "secrets", "configs", "volumes_from", "extra_hosts", "develop", "provider", "dns", "sysctls")
"""Keys of a service that change its meaning, and that GEM does not support."""
_VARIABLE = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)(?:(:?[-?+])((?:[^{}]|\{[^}]*\})*))?\})")
_OF_HARNESS = ("T_BENCH_", "HOST_", "ENV_", "MAIN_IMAGE_NAME", "PREBUILT_IMAGE_NAME", "CONTEXT_DIR", "CPUS", "MEMORY")
"""The beginnings of the variables that the harnesses set."""
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_AT_MOST = 0.5
"""Seconds between two attempts of a health check; Compose waits a whole interval even before the first."""


def _duration(value: object) -> object:
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if not value.strip() or match is None:
            raise ValueError("a time is a number with h, m, s or ms, such as 1m30s")
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    return value


def _table(value: object) -> object:
    """Return a list of ``NAME=value`` as a table; a name alone takes its value from this process."""
    if isinstance(value, list):
        pairs = (str(line).partition("=") for line in value)
        value = {name: text if sign else os.environ.get(name, "") for name, sign, text in pairs}
    if isinstance(value, dict):
        return {str(name): "" if text is None else _text(text) for name, text in value.items()}
    return value or {}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _words(value: object) -> object:
    if isinstance(value, str):
        return shlex.split(value)
    return [str(word) for word in value] if isinstance(value, list) else value


def _list(value: object) -> object:
    return [value] if isinstance(value, str | dict) else value or []


Duration = Annotated[float, BeforeValidator(_duration), Field(ge=0.0, le=10_000_000.0)]
Table = Annotated[dict[str, str], BeforeValidator(_table)]
Words = Annotated[list[str] | None, BeforeValidator(_words)]
Texts = Annotated[list[Any], BeforeValidator(_list)]


class _Build(BaseModel):
    model_config = ConfigDict(extra="allow")

    context: str = "."
    dockerfile: str = "Dockerfile"
    args: Table = {}
    target: str | None = None


class _Dependency(BaseModel):
    condition: Literal["service_started", "service_healthy", "service_completed_successfully"] = "service_started"
    required: bool = True


class _Health(BaseModel):
    test: list[str] | str | None = None
    interval: Duration = 30.0
    timeout: Duration = 30.0
    start_period: Duration = 0.0
    retries: int = Field(default=3, ge=1, le=1000)
    disable: bool = False


class ComposedService(BaseModel):
    """The supported keys of a service."""

    model_config = ConfigDict(extra="allow")

    build: _Build | None = None
    image: str | None = None
    command: Words = None
    entrypoint: Words = None
    environment: Table = {}
    env_file: Texts = []
    depends_on: dict[str, _Dependency] = {}
    healthcheck: _Health | None = None
    volumes: Texts = []
    tmpfs: Texts = []
    networks: dict[str, dict[str, Any] | None] = {}
    network_mode: str | None = None
    links: Texts = []
    ports: Texts = []
    expose: Texts = []
    profiles: Texts = []
    container_name: str | None = None
    hostname: str | None = None
    restart: str = "no"
    user: str | int | None = None
    working_dir: str | None = None
    mem_limit: Bytes = None
    cpus: float | None = Field(default=None, gt=0, le=1024, allow_inf_nan=False)
    deploy: dict[str, Any] = {}

    @field_validator("build", mode="before")
    @classmethod
    def _folder(cls, value: object) -> object:
        return {"context": value} if isinstance(value, str) else value

    @field_validator("depends_on", "networks", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return {str(name): {} for name in value} if isinstance(value, list) else value or {}

    def limits(self) -> ResourceLimits:
        """Return its resource limits, without a network."""
        given = (self.deploy.get("resources") or {}).get("limits") or {}
        asked = _Limits.model_validate(given)
        return ResourceLimits(
            cpus=self.cpus or asked.cpus or ResourceLimits.cpus,
            memory=self.mem_limit or asked.memory or ResourceLimits.memory,
        )


class _Limits(BaseModel):
    cpus: float | None = Field(default=None, gt=0, le=1024, allow_inf_nan=False)
    memory: Bytes = None


@dataclass(frozen=True)
class Composition:
    """The content of a compose file."""

    main: ComposedService
    """The agent's service."""
    main_name: str
    main_folders: tuple[CopiedFolder, ...]
    main_waits_for: Mapping[str, str]
    side_cars: tuple[SideCar, ...]
    """In the order in which they start."""
    path: Path
    """The compose file."""
    has_main: bool
    """Whether the file has the agent's service."""

    @property
    def main_image(self) -> Image:
        """The image of the agent's service.

        Raises:
            TaskError: if the service names none, or none that can be built.
        """
        return _image(self.path, self.main_name, self.main)

    def task_fields(self) -> dict[str, Any]:
        """Return what a task has of it, as fields of :class:`~gem_terminal.task.Task`."""
        return {
            "side_cars": self.side_cars,
            "waits_for": self.main_waits_for,
            "folders": self.main_folders,
            "main_name": self.main_name,
        }


def read_composition(folder: Path, main: str, hidden: Iterable[str] = ()) -> Composition | None:
    """Read the compose file of a folder; None without one.

    Args:
        folder: the folder of ``docker-compose.yaml``.
        main: the name of the agent's service. A file with one service may name it otherwise, and a file without it
            has side-cars alone.
        hidden: files and folders of ``folder`` that no container gets, even if it mounts them: tests and solution.

    Raises:
        TaskError: if the file is malformed or needs an unsupported feature.
    """
    path = compose_file(folder)
    if path is None:
        return None
    services = _services(path)
    if main not in services and len(services) == 1 and main != "main":
        main = next(iter(services))
    waits = {name: _waits(path, name, service, services) for name, service in services.items()}
    _refuse_shared_volumes(path, services)
    _refuse_separate_networks(path, services)
    order = _started_order(path, services, waits, main)
    own = services.get(main, ComposedService())
    never = {path.parent.resolve() / name for name in hidden}
    return Composition(
        main=own,
        main_name=main,
        main_folders=_folders(path, main, own, never),
        main_waits_for=waits.get(main, {}),
        path=path,
        has_main=main in services,
        side_cars=tuple(
            _side_car(path, name, services[name], waits[name], services, never) for name in order if name != main
        ),
    )


def _services(path: Path) -> dict[str, ComposedService]:
    try:
        content = yaml_of(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
    given = content.get("services") if isinstance(content, dict) else None
    if not isinstance(given, dict) or not given:
        raise TaskError(f"{path} lists no services")
    variables = {**_dotenv(path.parent / ".env"), **os.environ}
    services = {}
    for name, service in given.items():
        filled = _filled(path, service if service is not None else {}, variables)
        services[str(name)] = found = validated(ComposedService, filled, path)
        # What the harness would fill in has no meaning here.
        found.environment = {key: text for key, text in found.environment.items() if not _is_of_harness(text)}
        extra = found.model_extra or {}
        for privilege in PRIVILEGES:
            if extra.get(privilege):
                raise TaskError(f"{path}: the task needs {privilege}, which no container has here", privilege)
        for key in _UNKNOWN:
            if extra.get(key):
                raise TaskError(f"{path}: the service {name} has {key}, which is not supported", f"{SEVERAL}: {key}")
        if found.network_mode not in (None, "none", "bridge", "default"):
            message = f"{path}: the service {name} has network_mode: {found.network_mode}, which is not supported"
            raise TaskError(message, "network_mode")
    return {name: service for name, service in services.items() if not service.profiles}


def _filled(path: Path, value: Any, variables: Mapping[str, str]) -> Any:
    """Return a value with its variables replaced. A variable of the harness stays as it is."""
    if isinstance(value, dict):
        return {key: _filled(path, each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(path, each, variables) for each in value]
    if not isinstance(value, str):
        return value

    def replaced(match: re.Match[str]) -> str:
        dollar, bare, name, operator, other = match.groups()
        name = bare or name
        if dollar:
            return "$"
        if name.startswith(_OF_HARNESS):
            return match[0]
        found = variables.get(name)
        counts = bool(found) if (operator or "")[:1] == ":" else found is not None
        kind = (operator or "")[-1:]
        if kind == "?" and not counts:
            raise TaskError(f"{path}: the task needs the environment variable {name}, which is not set")
        if kind == "+":
            return str(_filled(path, other, variables)) if counts else ""
        if kind == "-" and not counts:
            return str(_filled(path, other, variables))
        return found or ""

    return _VARIABLE.sub(replaced, value)


def _dotenv(path: Path) -> dict[str, str]:
    """Return the variables of an ``.env`` file; none if it is missing."""
    if not path.is_file():
        return {}
    found = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        name, sign, value = line.strip().removeprefix("export ").partition("=")
        if sign and not name.startswith("#"):
            found[name.strip()] = value.strip().strip("\"'")
    return found


def _waits(path: Path, name: str, service: ComposedService, services: Mapping[str, ComposedService]) -> dict[str, str]:
    found = {}
    for other, dependency in service.depends_on.items():
        if other not in services:
            if dependency.required:
                raise TaskError(f"{path}: the service {name} depends on {other}, which is not there")
            continue
        if dependency.condition == "service_healthy" and _health(services[other].healthcheck) is None:
            raise TaskError(f"{path}: the service {name} waits until {other} is healthy, which has no healthcheck here")
        found[other] = dependency.condition.removeprefix("service_")
    return found


def _started_order(
    path: Path, services: Mapping[str, ComposedService], waits: Mapping[str, Mapping[str, str]], main: str
) -> list[str]:
    """Return the services so that each comes after those that it depends on."""
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise TaskError(f"{path}: the services {', '.join(above)} depend on each other")
        if name == main and above:
            raise TaskError(f"{path}: the service {above[-1]} depends on the agent's, which starts last", SEVERAL)
        if name not in order:
            for other in waits[name]:
                visit(other, (*above, name))
            order.append(name)

    for name in services:
        visit(name, ())
    return order


def _refuse_shared_volumes(path: Path, services: Mapping[str, ComposedService]) -> None:
    users: dict[str, list[str]] = {}
    for name, service in services.items():
        for source in {source for source, _ in _mounts(path, name, service) if source and not _is_path(source)}:
            users.setdefault(source, []).append(name)
    for volume, names in users.items():
        if len(names) > 1:
            message = f"{path}: the services {', '.join(names)} share the volume {volume}, which is not supported"
            raise TaskError(message, f"{SEVERAL} with a shared volume")


def _refuse_separate_networks(path: Path, services: Mapping[str, ComposedService]) -> None:
    """Refuse services that could not reach each other, since here they could."""
    networks = {name: set(service.networks) or {"default"} for name, service in services.items()}
    for name, own in networks.items():
        for other, theirs in networks.items():
            if not own & theirs:
                message = (
                    f"{path}: the services {name} and {other} have no network in common, while all containers of a "
                    "task share one here"
                )
                raise TaskError(message, f"{SEVERAL} in separate networks")


def _side_car(
    path: Path,
    name: str,
    service: ComposedService,
    waits_for: Mapping[str, str],
    services: Mapping[str, ComposedService],
    never: Set[Path],
) -> SideCar:
    aliases = [service.container_name, service.hostname]
    aliases += [alias for network in service.networks.values() for alias in (network or {}).get("aliases") or ()]
    for other in services.values():  # what others call it
        pairs = (str(link).partition(":")[::2] for link in other.links)
        aliases += [alias for target, alias in pairs if target == name]
    environment: dict[str, str] = {}
    for given in service.env_file:
        file = given.get("path", "") if isinstance(given, dict) else given
        variables = _inside(path, name, str(file))
        if not variables.is_file():
            raise TaskError(f"{path}: the service {name} uses {file}, which is missing")
        environment |= _dotenv(variables)
    return SideCar(
        name=name,
        image=_image(path, name, service),
        aliases=tuple(dict.fromkeys(alias for alias in aliases if alias and "${" not in alias)),
        command=None if service.command is None else tuple(service.command),
        entrypoint=None if service.entrypoint is None else tuple(service.entrypoint),
        environment=environment | service.environment,
        user=None if service.user is None else str(service.user),
        workdir=service.working_dir,
        healthcheck=_health(service.healthcheck),
        waits_for=waits_for,
        folders=_folders(path, name, service, never),
        ports=tuple(dict.fromkeys(port for given in (*service.ports, *service.expose) if (port := _port(given)))),
        restarts=service.restart in ("always", "unless-stopped") or service.restart.startswith("on-failure"),
        limits=service.limits(),
    )


def _image(path: Path, name: str, service: ComposedService) -> Image:
    if service.build is None:
        if not service.image or "${" in service.image:
            raise TaskError(f"{path}: the service {name} has neither build nor image")
        return Image(name=service.image)
    if service.build.target or (service.build.model_extra or {}).get("dockerfile_inline"):
        message = f"{path}: the service {name} builds a target or an inline Dockerfile, which is not supported"
        raise TaskError(message, f"{SEVERAL}: build")
    folder = _inside(path, name, service.build.context)
    if not (folder / service.build.dockerfile).is_file():
        raise TaskError(f"{folder} has no {service.build.dockerfile}; the service {name} needs an image")
    return Image(
        folder=folder, dockerfile=service.build.dockerfile, arguments=tuple(sorted(service.build.args.items()))
    )


def _folders(path: Path, name: str, service: ComposedService, never: Set[Path]) -> tuple[CopiedFolder, ...]:
    """Return what a service has in place of its mounts; a missing folder is empty, as in Compose."""
    found = []
    for source, target in _mounts(path, name, service):
        place = _inside(path, name, source) if source and _is_path(source) else None
        if place is None or not place.exists():
            found.append(CopiedFolder(None, target))
        elif never & {place, *place.parents}:
            continue
        elif any(place in hidden.parents for hidden in never):  # its content, but for what is hidden
            found += [
                CopiedFolder(child, f"{target}/{child.name}") for child in sorted(place.iterdir()) if child not in never
            ]
        else:
            found.append(CopiedFolder(place, target))
    return tuple(found)


def _mounts(path: Path, name: str, service: ComposedService) -> Iterable[tuple[str, str]]:
    """Return source and target of each mount; an empty source for a volume without a name."""
    for given in (*service.volumes, *({"type": "tmpfs", "target": str(each).split(":")[0]} for each in service.tmpfs)):
        if isinstance(given, dict):
            kind, source, target = given.get("type", "volume"), str(given.get("source") or ""), given.get("target")
        else:
            parts = re.split(r":(?![^{]*\})", str(given))
            kind, source, target = "volume", parts[0] if len(parts) > 1 else "", parts[min(len(parts) - 1, 1)]
        if _is_of_harness(source):
            continue  # the folders of a harness's logs
        if kind not in ("volume", "bind", "tmpfs") or not str(target).startswith("/"):
            raise TaskError(f"{path}: the service {name} has a volume that is not supported: {given!r:.80}", "volume")
        yield source, str(target)


def _is_of_harness(text: str) -> bool:
    """Whether a text has a variable that a harness sets."""
    return any((match[2] or match[3] or "").startswith(_OF_HARNESS) for match in _VARIABLE.finditer(text))


def _is_path(source: str) -> bool:
    return source.startswith((".", "/", "~"))


def _inside(path: Path, name: str, source: str) -> Path:
    """Return a path of the task.

    Raises:
        TaskError: if it leads out of the task's folder.
    """
    root = path.parent.resolve()
    found = (root / source).resolve()
    if source.startswith("~") or root not in (found, *found.parents):
        message = f"{path}: the service {name} uses {source}, which is not in the folder of the task"
        raise TaskError(message, "files of the machine")
    return found


def _health(given: _Health | None) -> Healthcheck | None:
    """Return a health check that succeeds when Compose's does, and fails no earlier."""
    if given is None or given.disable or not given.test or given.test == ["NONE"]:
        return None
    if isinstance(given.test, str):
        command = given.test
    else:
        kind, *words = given.test
        command = shlex.join(words) if kind == "CMD" else " ".join(words)
    return Healthcheck(
        command=command,
        interval=min(given.interval, _AT_MOST),
        seconds=given.timeout or 30.0,
        start_period=given.start_period + given.interval * given.retries,
        start_interval=min(given.interval, _AT_MOST),
        retries=1,
    )


def _port(given: object) -> int | None:
    """Return the port in the container of an entry of ``ports`` or ``expose``."""
    text = str(given.get("target") if isinstance(given, dict) else given).partition("/")[0].rpartition(":")[2]
    return int(text) if text.isdigit() else None
