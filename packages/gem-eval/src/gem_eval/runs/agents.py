"""What plays in an evaluation: a model behind a server, or a policy by name."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.arguments import check_names
from gem.entry_points import load
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from gem.policies import call_fitting
from gem_eval.runs.errors import EvaluationConfigError
from gem_eval.runs.evaluation_config import EvaluationConfig
from gem_eval.runs.run_config import RunEnvironment
from gem_rollout import Seating
from gem_rollout.asking import PolicyMaker
from gem_rollout.model_agents import harness_maker, known_harness, model_scheme, reached_model
from gem_rollout.seating import make_agent_policy

if TYPE_CHECKING:
    from gem_eval.clients import ModelClient

__all__ = ["EvaluatedAgent", "check_reference", "completed", "in_this_process", "open_agent"]

_AGENTS = ("reference", "random", "null")
_OWN = ("agent", "model", "base_url", "system", "harness", "exact_tokens")
"""What a player does not take over from the evaluation."""
_SHARED = ("api_key_env", "tools", "sampling", "client")


@dataclass
class EvaluatedAgent:
    """A maker of policies, and the client behind them if they are a model's."""

    policy_for: Callable[[Any, str | None], Any]
    """Called with an environment and, where it has several, one of its agents."""
    client: ModelClient | None = None
    owned: bool = False
    """Whether :meth:`close` closes the client."""
    served_model: str | None = None
    """The model as its server names it; None if the agent is no model, or the server does not say."""
    players: dict[str, EvaluatedAgent] = field(default_factory=dict)
    """What plays in its place for some agents of environments with several."""
    opponents: dict[str, EvaluatedAgent] = field(default_factory=dict)
    """What plays the other seats of environments with several agents, while it has one itself."""

    def make_policy(self, env: Any, agent: str | None = None) -> Any:
        """Return a policy for an environment, or for one of its agents."""
        player = self if agent is None else self.players.get(agent, self)
        return player.policy_for(env, agent)

    def policy_maker(self, name: str) -> PolicyMaker:
        """Return what makes the policies of a run.

        Args:
            name: of this agent among its opponents, if it has any.
        """
        if not self.opponents:
            return self.make_policy
        pool = {other: opponent.policy_for for other, opponent in self.opponents.items()}
        return Seating({**pool, name: self.policy_for}, evaluated=name)

    def _all(self) -> tuple[EvaluatedAgent, ...]:
        return self, *self.players.values(), *self.opponents.values()

    def waiting(self) -> Counter[str]:
        """Return what requests to models failed with that wait for their next attempt, and how many they are."""
        found: Counter[str] = Counter()
        for one in self._all():
            found.update(getattr(one.client, "waiting", {}))
        return found

    def request_limit(self) -> dict[str, Any]:
        """Return how many requests the model's server gets at once, where the client finds it out; else nothing."""
        limit = getattr(self.client, "limit", None)
        return limit.to_dict() if limit is not None and limit.adaptive else {}

    async def close(self) -> None:
        """Close the clients."""
        for one in self._all():
            if one.client is not None and one.owned:
                await one.client.close()


def completed(config: EvaluationConfig, *, has_client: bool = False) -> EvaluationConfig:
    """Return the configuration with the address of the model's server, from the environment where it has none.

    Args:
        config: from a user.
        has_client: whether the caller brings a client of its own.

    Raises:
        EvaluationConfigError: if it says neither what to evaluate on nor what plays.
        EntryPointError: if there is no class as the agent is named.
    """
    if not config.environments:
        raise EvaluationConfigError(
            "name what to evaluate on, for example: gem eval game:GuessTheNumber-v0-easy --agent reference"
        )
    # Programs that take the name of a module (uvicorn, gunicorn, celery) look where they are started, and so do we.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    if config.agent is not None:
        _load_agent(config.agent)
        if config.model is None:
            return config
    if has_client or config.base_url is not None:
        return config
    base_url = os.environ.get("OPENAI_BASE_URL")
    if base_url:
        return config.with_settings(base_url=base_url)
    if config.model is None and config.harness is not None:
        raise EvaluationConfigError(
            f"the harness {config.harness!r} plays with a model; name its server: --base-url http://localhost:8000/v1"
        )
    if config.model is None:
        raise EvaluationConfigError(
            "name what plays: a model by its server, --base-url http://localhost:8000/v1, or a policy, "
            "--agent reference"
        )
    raise EvaluationConfigError(
        f"the model {config.model!r} needs its server: --base-url http://localhost:8000/v1, "
        "or the same in the variable OPENAI_BASE_URL"
    )


def _load_agent(name: str) -> None:
    if name in _AGENTS:
        return
    if ":" not in name:
        raise EvaluationConfigError(
            f"there is no agent {name!r}; agents are {', '.join(_AGENTS)}, and module:Class. A model is named "
            "with --model and --base-url"
        )
    if not callable(load(name)):
        raise EvaluationConfigError(f"--agent {name}: a class or function that makes a policy is needed, not a module")


def check_reference(config: EvaluationConfig, environments: Iterable[RunEnvironment]) -> None:
    """Raise if the reference policy is to play where there is none.

    Raises:
        EvaluationConfigError: with the ids.
    """
    without = [item.label for item in environments if item.spec.reference_policy is None]
    if config.agent == "reference" and without:
        raise EvaluationConfigError(f"{', '.join(without)}: no reference policy is declared; use --agent random")


async def open_agent(config: EvaluationConfig, client: ModelClient | None = None) -> EvaluatedAgent:
    """Return what plays, the players of environments with several agents included.

    Args:
        config: with an agent, or with a server's address.
        client: plays in place of the server; the caller closes it.

    Raises:
        EvaluationConfigError: for impossible sampling options, or options that the client does not have.
        ModelError: if a server cannot be reached, or refuses the key.
        ArgumentError: if a server has several models, and the configuration names none.
    """
    main = await _open_one(config, client)
    try:
        for name, settings in config.players.items():
            main.players[name] = await _open_one(completed(_player(config, f"players.{name}", settings)))
        for name, settings in config.opponents.items():
            main.opponents[name] = await _open_one(completed(_player(config, f"opponents.{name}", settings)))
    except BaseException:
        await main.close()
        raise
    return main


def _player(config: EvaluationConfig, where: str, settings: Mapping[str, Any]) -> EvaluationConfig:
    try:
        check_names(where, settings, (*_OWN, *_SHARED))
    except ArgumentTypeError as error:
        raise EvaluationConfigError(str(error)) from error
    alone: dict[str, Any] = {**dict.fromkeys(_OWN), "exact_tokens": False, "players": {}, "opponents": {}}
    return config.with_settings(**{**alone, **settings})


async def _open_one(config: EvaluationConfig, client: ModelClient | None = None) -> EvaluatedAgent:
    if config.agent is not None and config.base_url is None:
        return EvaluatedAgent(partial(make_agent_policy, config.agent))
    from gem_eval.clients import ModelPolicy, Sampling
    from gem_eval.clients.session import session_name

    try:
        sampling = Sampling(**{"session": session_name(config.name), **config.sampling})
    except (ArgumentError, ArgumentTypeError, TypeError) as error:
        raise EvaluationConfigError(f"sampling: {error}") from error
    if config.harness is not None:
        known_harness(config.harness)  # before a server is asked that may not be there
    if config.agent is not None:
        _check_takes_model(config.agent)
    own = client is None
    if client is None:
        assert config.base_url is not None  # completed() sees to it
        client, served = await _connected(config, config.base_url)
    else:
        served = str(client.model) or None
    try:
        _check_sampling(config, sampling)
        if config.exact_tokens:
            await _check_exact_tokens(client)
    except BaseException:
        if own:
            await client.close()
        raise
    if config.harness is not None:
        return EvaluatedAgent(_harness(config, config.harness, client, sampling), client, own, served)
    if config.agent is not None:
        drives_model = load(config.agent)
        # It asks as it likes, and nothing says for which episode.
        without = replace(sampling, session=config.sampling.get("session"))
        return EvaluatedAgent(lambda *_: call_fitting(drives_model, client, without), client, own, served)
    policy = partial(
        ModelPolicy, client, sampling, system=config.system, tools=config.tools, exact_tokens=config.exact_tokens
    )
    return EvaluatedAgent(lambda env, _: policy(env=env), client, own, served)


def _check_takes_model(agent: str) -> None:
    """Raise EvaluationConfigError for an agent without arguments, which would play as if there were no model."""
    try:
        takes = signature(load(agent)).parameters
    except ValueError:  # a class written in C shows no signature
        return
    if not takes:
        raise EvaluationConfigError(
            f"the agent {agent!r} takes no model, and the configuration names a model's server; leave out "
            "'base_url' and 'model' (with gem eval also: --base-url none)"
        )


def _check_sampling(config: EvaluationConfig, sampling: Any) -> None:
    """Raise EvaluationConfigError for what the protocol has no field for, which would be left out silently."""
    from gem_eval.clients.endpoint import WITHOUT

    protocol = str(config.client.get("protocol", "chat"))
    missing = [name for name in WITHOUT.get(protocol, ()) if getattr(sampling, name)]
    if missing:
        raise EvaluationConfigError(f"the protocol {protocol} has no {' and no '.join(missing)}; leave it out")


async def _check_exact_tokens(client: Any) -> None:
    """Ask a model once whether it can be asked with token ids.

    Raises:
        EvaluationConfigError: if it cannot, with the reason.
        ModelError: if it gives no ids for want of an answer.
    """
    from gem_eval.clients import ModelError, Sampling
    from gem_eval.clients.exact_completion import complete_exactly

    if not hasattr(client, "prompt_ids"):
        raise EvaluationConfigError(f"exact tokens need a model that gives token ids, and {client!r:.80} gives none")
    messages = [{"role": "user", "content": "Say yes."}]
    try:
        ids = await client.prompt_ids(messages)
        # A model may refuse this one conversation and still play the task's.
        with suppress(ModelError):
            await complete_exactly(client, list(ids), messages, has_tools=False, sampling=Sampling(max_tokens=1))
    except NotSupportedError as error:
        raise EvaluationConfigError(f"exact tokens cannot be had here: {error}") from error


def _harness(
    config: EvaluationConfig, harness: str, client: ModelClient, sampling: Any
) -> Callable[[Any, str | None], Any]:
    """Return what makes the policies of an agent program.

    Raises:
        MissingPluginError: if nothing installed has such a harness.
        EvaluationConfigError: for settings of a bare model.
        ArgumentTypeError: for options that it does not have.
    """
    if config.system is not None or config.tools is not None:
        raise EvaluationConfigError("system and tools are for a bare model; a harness has its own")
    tokens = {"exact_tokens": True} if config.exact_tokens else {}
    made = harness_maker(harness, client, sampling, {**tokens, **config.harness_options})
    return lambda env, agent: call_fitting(made, env, *([] if agent is None else [agent]))


def _key_variable(config: EvaluationConfig) -> str:
    from gem_eval.clients.endpoint import key_variable

    usual = key_variable("chat")
    return key_variable(config.client.get("protocol", "chat")) if config.api_key_env == usual else config.api_key_env


def in_this_process(base_url: str | None) -> bool:
    """Return whether an address names a model that this process loads, and no server."""
    return base_url is not None and model_scheme(base_url) not in ("http", "https")


async def _connected(config: EvaluationConfig, base_url: str) -> tuple[ModelClient, str | None]:
    """Return a client of the server, and the model as the server names it.

    A server need not list its models where the configuration names one; the second is None then.
    """
    from gem_eval.clients import open_client

    options = dict(config.client)
    if in_this_process(base_url):
        client = open_client(base_url, config.model, **options)
        return client, str(client.model) or None
    options = {"api_key": os.environ.get(_key_variable(config)), "concurrency": config.concurrency, **options}
    model, served = await reached_model(base_url, config.model, **options)
    return open_client(base_url, model, **options), served
