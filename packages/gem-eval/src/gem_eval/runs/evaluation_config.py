"""What to evaluate, on what, and how: :class:`EvaluationConfig`, from Python, from options, or from a TOML file.

::

    name = "puzzles"
    base_url = "http://localhost:8000"
    episodes = 100                  # of each environment
    group = 4                       # 25 seeds, each played 4 times
    rewards = ["exact"]

    [sampling]
    temperature = 0.7
    max_tokens = 2048

    [[environment]]
    id = "game:Sudoku-v0-easy"

    [[environment]]
    id = "game:Wordle-v0"
    episodes = 40                   # instead of 100
    kwargs = { max_turns = 8 }      # arguments of the constructor

A key of an ``[[environment]]`` overrides the key of the same name above it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from gem.arguments import boolean, choice, integer, nearest, real, seed_value, string
from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.runs.episode_row import STRICT, Prices
from gem_eval.runs.errors import EvaluationConfigError

__all__ = ["EvaluationConfig", "EvaluationEnvironment", "check_group"]

T = TypeVar("T")


@dataclass(frozen=True)
class EvaluationEnvironment:
    """One environment of an evaluation. What is None is as in the evaluation."""

    __pydantic_config__ = STRICT

    id: str
    label: str | None = None
    """Its name in the results; needed where an evaluation has one id several times."""
    episodes: int | None = None
    group: int | None = None
    seed: int | None = None
    wrappers: tuple[str | dict[str, Any], ...] | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the constructor, which override those of the id."""


@dataclass(frozen=True)
class EvaluationConfig:
    """An evaluation before it begins.

    Raises:
        EvaluationConfigError: for values that are impossible or contradict each other.
    """

    __pydantic_config__ = STRICT

    environments: tuple[EvaluationEnvironment, ...] = ()
    name: str = ""
    """A title for tables and pages."""
    agent: str | None = None
    """``reference``, ``random``, ``null`` or ``module:Class``; None for a model.

    Together with a model, the class is one that drives it: it is called with the model's client and the
    :class:`~gem_eval.clients.Sampling`.
    """
    model: str | None = None
    """The name of the model; where the server offers only one, it need not be named."""
    base_url: str | None = None
    """The address of the model's server; without one, that in the variable ``OPENAI_BASE_URL``."""
    harness: str | None = None
    """The agent program that plays with the model: a name of the hook ``gem_harnesses``, with what it takes behind a
    colon, such as ``command:./agent {task_file}``."""
    harness_options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the harness, such as ``seconds`` and ``calls``, the most model calls of an episode."""
    players: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """What plays some agents of environments with several, by their names: ``{"user": {"base_url": …, "system": …}}``
    or ``{"bob": {"agent": "null"}}``. Further keys: ``model``, ``api_key_env``, ``sampling``, ``tools``, ``client``."""
    opponents: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """What plays against or with the evaluated agent in environments with several agents, by any names, with the keys
    of ``players``. The evaluated agent has one seat, which changes from episode to episode, and the others are drawn
    for each seed (:class:`gem_rollout.Seating`). Its figures are its own part of the episodes."""
    api_key_env: str = "OPENAI_API_KEY"
    """The name of the environment variable that holds the server's key. The key itself is never recorded."""
    system: str | None = None
    """A system message before each conversation."""
    tools: Literal["native", "text"] | None = None
    """How the model calls tools: ``native``, ``text``, or None to take what the environment and server offer."""
    exact_tokens: bool = False
    """Ask the model with token ids, so that each prompt holds exactly what was sampled before it, in the turns of a
    bare model and in the calls of a harness."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of :class:`gem_eval.clients.Sampling`."""
    wrappers: tuple[str | dict[str, Any], ...] | None = None
    """From the inside out: names, or dicts with ``name`` and the wrapper's arguments. None for ``messages`` where a
    model plays an environment of several turns, else for no wrapper."""
    episodes: int = 100
    """Of each environment, repetitions included."""
    group: int = 1
    """Episodes of each seed; ``episodes`` must be a multiple of it."""
    seed: int = 0
    """The first seed of each environment."""
    limits: Mapping[str, int | float] = field(default_factory=dict)
    """The arguments of :class:`gem_rollout.EpisodeLimits`."""
    retries: int = 1
    """How often an episode is played anew after a failure of the environment or of the model's server."""
    rewards: tuple[str | dict[str, Any], ...] = ()
    """Rewards applied beside the environment's own: names, or dicts with ``name`` and the reward's arguments."""
    judge: Mapping[str, Any] = field(default_factory=dict)
    """The judge of rewards that name none: ``model`` and ``base_url``."""
    client: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the model's client, such as ``requests_per_minute``, ``timeout`` or ``protocol``."""
    prices: Prices | None = None
    concurrency: int = 64
    """Most episodes at a time, in all workers together."""
    workers: int = 1
    """Processes that play; with 1, the one that writes the run plays as well."""
    mode: str = "thread"
    """Where environments run, as in ``gem.make_vec``."""
    track: tuple[str, ...] = ()
    """Names of run trackers. Nothing leaves the machine without one."""
    give_up_after: int = 50
    """The evaluation ends when this many episodes have failed and none has finished; 0 for never."""

    def __post_init__(self) -> None:
        try:
            self._check()
        except (ArgumentError, ArgumentTypeError) as error:
            raise EvaluationConfigError(str(error)) from error

    def _check(self) -> None:
        for name in ("episodes", "group", "concurrency", "workers"):
            integer(name, getattr(self, name), minimum=1)
        integer("retries", self.retries, minimum=0)
        integer("give_up_after", self.give_up_after, minimum=0)
        has_model = self.model is not None or self.base_url is not None
        if self.agent is not None and ":" not in self.agent and has_model:
            raise EvaluationConfigError(
                f"agent {self.agent!r} and a model exclude each other; leave out 'agent', or 'model' and 'base_url'"
            )
        if self.harness is not None and self.agent is not None:
            raise EvaluationConfigError(
                f"agent {self.agent!r} and harness {self.harness!r} exclude each other; leave out one of them"
            )
        if boolean("exact_tokens", self.exact_tokens) and self.agent is not None:
            raise EvaluationConfigError(
                f"exact_tokens is for a model that plays alone or with a harness, not for agent {self.agent!r}"
            )
        if self.players and self.opponents:
            raise EvaluationConfigError(
                "players and opponents exclude each other: players have seats of their own, opponents change seats"
            )
        if self.harness_options and self.harness is None:
            raise EvaluationConfigError(f"{', '.join(self.harness_options)} are options of a harness; name one")
        choice("tools", self.tools, (None, "native", "text"))
        for name, limit in self.limits.items():
            real(f"limits.{name}", limit, minimum=0)
        if self.prices is not None:
            real("prices.input", self.prices.input, minimum=0)
            real("prices.output", self.prices.output, minimum=0)
        labels: set[str] = set()
        for item in self.environments:
            string("id of an environment", item.id)
            seed_value(self.setting(item, "seed"))
            check_group(self.setting(item, "episodes"), self.setting(item, "group"), item.id)
            label = item.label or item.id
            if label in labels:
                raise EvaluationConfigError(
                    f"{label!r} occurs twice; give each its own 'label', under which the results will name it"
                )
            labels.add(label)

    def setting(self, environment: EvaluationEnvironment, name: str) -> Any:
        """Return what holds for an environment: its own value, or the evaluation's."""
        own = getattr(environment, name)
        return getattr(self, name) if own is None else own

    def with_settings(self, **values: Any) -> EvaluationConfig:
        """Return this configuration with other values, which then hold for every environment."""
        own = {name: None for name in values if name in ("episodes", "group", "seed", "wrappers")}
        environments = values.pop("environments", self.environments)
        return replace(self, environments=tuple(replace(item, **own) for item in environments), **values)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> EvaluationConfig:
        """Read a configuration file; the module's description shows one.

        Raises:
            EvaluationConfigError: if the file cannot be read, or holds unknown keys or values of a wrong type; the
                message names each of them.
        """
        return cls.from_dict(_read_toml(Path(path)), str(path))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], source: str = "the configuration") -> EvaluationConfig:
        """Read the content of a configuration file.

        Args:
            document: the keys of a configuration file.
            source: where they come from, for messages.

        Raises:
            EvaluationConfigError: as :meth:`from_toml`.
        """
        values = dict(document)
        if "environment" in values:
            listed = values.pop("environment")
            if isinstance(listed, list):
                listed = [{"id": item} if isinstance(item, str) else item for item in listed]
            values["environments"] = listed
        return _validated(cls, values, source)


def check_group(episodes: object, group: object, env_id: str) -> None:
    """Raise unless ``episodes`` can be split into groups.

    Raises:
        EvaluationConfigError: with the nearest numbers that can be.
        ArgumentError, ArgumentTypeError: if one of them is no positive int.
    """
    total, each = integer("episodes", episodes, minimum=1), integer("group", group, minimum=1)
    if total % each:
        below, above = total // each * each, (total // each + 1) * each
        nearest_ones = f"{below} or {above}" if below else str(above)
        raise EvaluationConfigError(
            f"{env_id}: {total} episodes cannot be played in groups of {each}; use {nearest_ones} episodes"
        )


def _read_toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        from tomllib import loads
    else:
        from tomli import loads
    try:
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EvaluationConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # malformed TOML, or text that is not UTF-8
        raise EvaluationConfigError(f"{path}: is not TOML: {error}") from error


def _validated(cls: type[T], values: Mapping[str, Any], source: str) -> T:
    """Return the dataclass with these values, checked against its annotations."""
    import json

    from gem.discovery.pydantic_start import start_pydantic

    start_pydantic()
    from pydantic import TypeAdapter, ValidationError

    try:
        # By way of JSON, which has lists only, where Python has lists and tuples.
        text = json.dumps(values)
    except (TypeError, ValueError) as error:
        raise EvaluationConfigError(f"{source}: {error}") from error
    try:
        return TypeAdapter(cls).validate_json(text)
    except ValidationError as error:
        problems = "; ".join(_sentence(item) for item in error.errors())
        raise EvaluationConfigError(f"{source}: {problems}") from error


def _sentence(problem: Any) -> str:
    location: Sequence[int | str] = problem["loc"]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    where = where.replace("environments[", "environment[")
    message, value = problem["msg"].removeprefix("Value error, "), problem["input"]
    if problem["type"] == "unexpected_keyword_argument":
        part = EvaluationEnvironment if where.startswith("environment[") else EvaluationConfig
        part = Prices if where.startswith("prices") else part  # type: ignore[assignment]
        known = ["environment" if item.name == "environments" else item.name for item in fields(part)]
        hint = nearest(str(location[-1]), known)
        return f"there is no key {where!r}; " + (f"did you mean {hint!r}?" if hint else f"there are {', '.join(known)}")
    shown = "" if isinstance(value, (dict, list)) or not where else f" (got {value!r:.60})"
    return f"{where}: {message}{shown}" if where else message
