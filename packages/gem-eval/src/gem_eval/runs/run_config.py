"""``run.json``: everything needed to say which code, configuration and seeds produced a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem_eval.runs.episode_row import Prices
from gem_eval.runs.errors import RunFolderError

__all__ = ["RUN_SCHEMA", "RunConfig", "RunEnvironment", "without_credentials"]

RUN_SCHEMA = 1

_SECRET = ("api_key", "headers")
"""Arguments of clients that may hold credentials."""


@dataclass(frozen=True)
class RunEnvironment:
    """One environment of a run."""

    label: str
    """Its name within the run; the id, unless the run holds one id in several forms."""
    id: str
    """The id that was asked for, an owner included."""
    spec: EnvSpec
    digest: str | None
    """SHA-256 over the source of the package that holds its code; see ``EnvSpec.source_digest``."""
    episodes: int
    """Episodes in all, repetitions included."""
    group: int
    """Episodes of each seed."""
    seed: int
    """The first seed; each further group adds one."""
    wrappers: tuple[str | dict[str, Any], ...] = ()
    """Names, or dicts with ``name`` and arguments, from the inside out."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """The constructor arguments that the run sets; ``spec.kwargs`` holds them together with those of the id."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**vars(self), "spec": self.spec.to_dict(), "wrappers": list(self.wrappers), "kwargs": dict(self.kwargs)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> RunEnvironment:
        """Undo :meth:`to_dict`; unknown keys are left out."""
        known = {item.name for item in fields(cls)}
        values = {name: value for name, value in record.items() if name in known}
        values["spec"] = EnvSpec.from_dict(values["spec"])
        values["wrappers"] = tuple(values.get("wrappers", ()))
        return cls(**values)


@dataclass(frozen=True)
class RunConfig:
    """The content of ``run.json``. It never holds credentials."""

    environments: tuple[RunEnvironment, ...]
    agent: str
    """What acted: ``reference``, ``module:Class``, or the name of the model."""
    name: str = ""
    """A title for tables; the name of the folder unless given."""
    model: str | None = None
    """The model that was asked for; None if the agent is no model."""
    served_model: str | None = None
    """The model as the server names it."""
    base_url: str | None = None
    """The address of the model's server, without credentials."""
    harness: str | None = None
    """The agent program that played with the model."""
    harness_options: Mapping[str, Any] = field(default_factory=dict)
    players: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What plays some agents of environments with several, by their names."""
    opponents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What plays the other seats of environments with several agents."""
    system: str | None = None
    """The system message."""
    tools: Literal["native", "text"] | None = None
    exact_tokens: bool = False
    """Whether prompts held the ids that were sampled before them."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    wrappers: tuple[str | dict[str, Any], ...] | None = None
    """Wrappers, where nothing else is said there; None if nothing named any."""
    episodes: int = 0
    """Of each environment, where nothing else is said there; the same holds for the next two."""
    group: int = 1
    seed: int = 0
    limits: Mapping[str, Any] = field(default_factory=dict)
    retries: int = 0
    concurrency: int = 64
    workers: int = 1
    """Processes that played, beside the one that wrote where they are several."""
    mode: str = "thread"
    track: tuple[str, ...] = ()
    """Names of run trackers."""
    give_up_after: int = 0
    api_key_env: str = "OPENAI_API_KEY"
    """The name of the environment variable that holds the key, which itself is never recorded."""
    rewards: tuple[Any, ...] = ()
    """Rewards applied beside the environment's: names, or a dict with ``name`` and the reward's arguments."""
    judge: Mapping[str, Any] = field(default_factory=dict)
    """The judge of rewards that name none: its model and address."""
    client: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the model's client, without headers and keys."""
    prices: Prices | None = None
    request_limit: Mapping[str, Any] = field(default_factory=dict)
    """How many requests the model's server got at once in the end, where the client found it out; see
    :class:`gem_eval.clients.request_limit.RequestLimit`."""
    started_at: float | None = None
    """Unix time in seconds."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """The versions of gem-core, gem-eval, the distributions of the environments, and of what these require."""
    sources: Mapping[str, str | None] = field(default_factory=dict)
    """SHA-256 over the sources of gem, gem_eval and of the agent's package."""
    python: str = ""
    platform: str = ""
    resumed: tuple[Mapping[str, Any], ...] = ()
    """When the run was resumed, and with which changes."""
    schema: int = RUN_SCHEMA

    @property
    def gem(self) -> str:
        """The version of gem-core."""
        return self.packages.get("gem-core", "")

    def environment(self, label: str) -> RunEnvironment | None:
        """Return the environment of this label."""
        return next((item for item in self.environments if item.label == label), None)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        record = {"schema": self.schema, **vars(self)}
        record["environments"] = [item.to_dict() for item in self.environments]
        record["prices"] = None if self.prices is None else {"input": self.prices.input, "output": self.prices.output}
        record["base_url"] = without_credentials(self.base_url)
        record["wrappers"] = None if self.wrappers is None else list(self.wrappers)
        record["gem"] = self.gem
        record["client"], record["judge"] = _public(self.client), _public(self.judge)
        for name in ("players", "opponents"):
            record[name] = {one: _public(settings) for one, settings in record[name].items()}
        for name in ("rewards", "resumed", "track"):
            record[name] = list(record[name])
        for name in ("sampling", "limits", "request_limit", "packages", "sources", "harness_options"):
            record[name] = dict(record[name])
        return record

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON.

        Raises:
            RunFolderError: if a value cannot be written as JSON.
        """
        try:
            return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"
        except (TypeError, ValueError) as error:
            raise RunFolderError(f"the configuration of a run cannot be written as JSON: {error}") from error

    @classmethod
    def from_dict(cls, record: Any) -> RunConfig:
        """Undo :meth:`to_dict`. Unknown keys, of a later version, are left out.

        Raises:
            RunFolderError: if ``record`` is no run configuration, or one of a later schema.
        """
        if not isinstance(record, dict) or not isinstance(record.get("schema"), int):
            raise RunFolderError("not the configuration of a run: a JSON object with a 'schema' is needed")
        if record["schema"] > RUN_SCHEMA:
            raise RunFolderError(f"the run has schema {record['schema']}; this gem-eval reads {RUN_SCHEMA}: upgrade it")
        known = {item.name for item in fields(cls)}
        values = {name: value for name, value in record.items() if name in known}
        try:
            values["environments"] = tuple(RunEnvironment.from_dict(item) for item in values["environments"])
            if values.get("prices") is not None:
                values["prices"] = Prices(**values["prices"])
            for name in ("rewards", "resumed", "track"):
                values[name] = tuple(values.get(name, ()))
            if values.get("wrappers") is not None:
                values["wrappers"] = tuple(values["wrappers"])
            return cls(**values)
        except (KeyError, TypeError, AttributeError, ArgumentError) as error:
            raise RunFolderError(f"not the configuration of a run: {error!r}") from error


def _public(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a client without what may be secret."""
    public = {name: value for name, value in settings.items() if name not in _SECRET}
    if "base_url" in public:
        public["base_url"] = without_credentials(public["base_url"])
    if isinstance(public.get("client"), Mapping):
        public["client"] = _public(public["client"])
    return public


def without_credentials(url: str | None) -> str | None:
    """Return an address without user name, password, query and fragment, any of which may hold a key."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))
    except ValueError:
        return ""
