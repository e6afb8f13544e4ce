"""The parts of Harbor's ``task.toml``, schema versions 1.0 to 1.4, that a task is read from.

Unknown keys are ignored, because the format grows.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator

from gem_terminal.formats.fields import Bytes, Mebibytes, Pause, Seconds
from gem_terminal.network.egress_proxy import allowed_host

__all__ = [
    "MAIN",
    "ArtifactEntry",
    "CollectEntry",
    "EnvironmentSection",
    "HarborFile",
    "HealthcheckSection",
    "McpServerEntry",
    "NetworkMode",
    "NetworkSection",
    "StepEntry",
    "VerifierSection",
]

MAIN = "main"
"""Harbor's name of the agent's container."""
_MOST = 1024
"""Processors of a container."""
_NOT_IN_A_STEP = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')

NetworkMode = Literal["public", "no-network", "allowlist"]


class HarborSection(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())


class AboutSection(HarborSection):
    """``[task]``."""

    name: str | None = None
    description: str | None = None
    keywords: list[str] = []


class NetworkSection(HarborSection):
    """The word of a part of the file on the network."""

    network_mode: NetworkMode | None = None
    allowed_hosts: list[Annotated[str, AfterValidator(allowed_host)]] | None = None

    @model_validator(mode="after")
    def _hosts_are_meant(self) -> NetworkSection:
        if self.allowed_hosts is not None and self.network_mode != "allowlist":
            raise ValueError("allowed_hosts needs network_mode = 'allowlist'")
        return self


class AgentSection(NetworkSection):
    """``[agent]``."""

    timeout_sec: Seconds | None = None
    user: str | int | None = None


class HealthcheckSection(HarborSection):
    """``[environment.healthcheck]``, or the one of a step."""

    command: str
    interval_sec: Pause = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: Pause = 0.0
    start_interval_sec: Pause = 5.0
    retries: int = Field(default=3, ge=1, le=1000)


class McpServerEntry(HarborSection):
    """One of ``[[environment.mcp_servers]]``."""

    name: str = Field(min_length=1)
    transport: Literal["stdio", "sse", "streamable-http"] = "sse"
    url: str | None = None
    command: str | None = None
    args: list[str] = []
    headers: dict[str, str] = {}

    @field_validator("transport", mode="before")
    @classmethod
    def _usual_name(cls, value: object) -> object:
        return "streamable-http" if value == "http" else value

    @model_validator(mode="after")
    def _is_reachable(self) -> McpServerEntry:
        if self.transport == "stdio" and not self.command:
            raise ValueError("the transport stdio needs a command")
        if self.transport != "stdio" and not (self.url or "").startswith(("http://", "https://")):
            raise ValueError(f"the transport {self.transport} needs a url that begins with http:// or https://")
        return self


class EnvironmentSection(NetworkSection):
    """``[environment]``, or ``[verifier.environment]``."""

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
    mcp_servers: list[McpServerEntry] = []
    env: dict[str, str] = {}
    workdir: str | None = None
    allow_internet: bool | None = None
    healthcheck: HealthcheckSection | None = None

    @field_validator("os", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value


class ArtifactEntry(HarborSection):
    """One of ``artifacts``, in its long form."""

    source: str
    exclude: list[str] = []
    service: str | None = None


class CollectEntry(HarborSection):
    """One of ``[[verifier.collect]]``."""

    command: str
    service: str = MAIN
    timeout_sec: Seconds = 60.0
    user: str | int | None = None


class VerifierSection(NetworkSection):
    """``[verifier]``, or the one of a step."""

    timeout_sec: Seconds = 600.0
    env: dict[str, str] = {}
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentSection | None = None
    collect: list[CollectEntry] = []

    @property
    def is_separate(self) -> bool:
        """Whether the verifier has its own container: without an explicit mode, an environment implies it."""
        return self.environment_mode == "separate" or (self.environment_mode is None and self.environment is not None)


class SolutionSection(HarborSection):
    """``[solution]``."""

    env: dict[str, str] = {}


class StepEntry(HarborSection):
    """One of ``[[steps]]``."""

    name: str
    agent: AgentSection = AgentSection()
    verifier: VerifierSection = VerifierSection()
    min_reward: float | dict[str, float] | None = None
    healthcheck: HealthcheckSection | None = None
    artifacts: list[str | ArtifactEntry] = []

    @field_validator("name")
    @classmethod
    def _is_a_folder(cls, name: str) -> str:
        wrong = not name.strip() or name.endswith((".", " ")) or _NOT_IN_A_STEP.search(name)
        if wrong or len(name.encode(errors="replace")) > 255:
            raise ValueError("the name of a step is the name of its folder in steps/")
        return name


class HarborFile(HarborSection):
    """The whole file."""

    schema_version: Any = Field(default=None, validation_alias=AliasChoices("schema_version", "version"))
    task: AboutSection = AboutSection()
    metadata: dict[str, Any] = {}
    agent: AgentSection = AgentSection()
    verifier: VerifierSection = VerifierSection()
    environment: EnvironmentSection = EnvironmentSection()
    solution: SolutionSection = SolutionSection()
    steps: list[StepEntry] = []
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    artifacts: list[str | ArtifactEntry] = []

    @property
    def default_storage(self) -> int | None:
        """Bytes for a container whose section names no storage; None for the engine's default.

        Up to schema 1.2 (Harbor 0.6) such a container got 10,240 MiB; from 1.3 (Harbor 0.13) on it has no limit.
        """
        return 10_240 << 20 if str(self.schema_version) in ("1.0", "1.1", "1.2") else None

    @field_validator("steps")
    @classmethod
    def _names_differ(cls, steps: list[StepEntry]) -> list[StepEntry]:
        names = [unicodedata.normalize("NFC", step.name).casefold() for step in steps]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two steps have the name {twice!r}, apart from upper and lower case")
        return steps
