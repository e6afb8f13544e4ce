"""Policies, the smallest agents: reference policies, random policies, scripts and model clients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Generic

from gem.core import ActT, Env, Info, ObsT
from gem.entry_points import load
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError

__all__ = ["Act", "NullPolicy", "Policy", "RandomAgentPolicy", "RandomPolicy", "ScriptedPolicy", "make_policy"]


@dataclass(slots=True)
class Act:
    """An action together with what is known about how the model produced it.

    A policy may return one in place of the bare action; everything in it is recorded.
    """

    action: Any
    """The exact action: a str or an assistant message."""
    prompt_token_ids: list[int] | None = None
    """The token ids of the whole prompt, as the model server took it."""
    token_ids: list[int] | None = None
    """The sampled token ids as the server reported them, a stop token included; never tokenized afterwards."""
    logprobs: list[float] | None = None
    """Natural-log probability of each of ``token_ids``."""
    tokens: list[str] | None = None
    """The text of each of ``token_ids``, where the server gives it."""
    top_logprobs: list[list[tuple[str, float]]] | None = None
    """For each of ``token_ids``, the most probable tokens with their natural-log probabilities."""
    usage: dict[str, int] | None = None
    """``prompt_tokens``, ``completion_tokens``, ``reasoning_tokens``, ``cached_tokens``, as far as the server says."""
    finish_reason: str | None = None
    """Why the model stopped: ``stop``, ``length``, ``tool_calls``, ``content_filter``, ``abort``."""
    reasoning: str | None = None
    """The model's reasoning, which is no part of the action."""
    model: str | None = None
    """The model's name, as the server gives it."""
    version: int | str | None = None
    """The version of the policy's weights, of those that sampled the first token."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Further data about the call, JSON-serialisable: request id, retries."""
    version_spans: list[tuple[int | str, int]] | None = None
    """The versions that sampled ``token_ids``, in order, each with how many; None if ``version`` sampled all."""


class Policy(Generic[ObsT, ActT]):
    """Chooses actions: in one environment, or in many at once.

    A policy defines one of these, and may return an :class:`Act` in place of the bare action:

    * ``act(observation, info)``: the engine calls it in threads, for several environments at the same time;
    * ``async def act(observation, info)``: called on the event loop, for models behind a server;
    * ``act_many(observations, infos)``, sync or async, returns a list of actions: for a model in this process that
      several environments share. It gets whatever is ready, one call at a time unless an attribute
      ``calls_at_once`` says otherwise.

    ``reset`` may be async too. Five methods are optional. ``seed_episode(seed, repetition)`` comes before ``reset``,
    and lets a policy with random choices derive them from the key of the episode. ``recall(observation, info, act)``,
    quick or async, takes the place of ``act`` in turns of an interrupted episode that were played before, ``act`` being
    what the policy had returned. ``weights_changed(version)``, quick or async, comes when its weights have changed and
    before the next ``act``. ``end_episode(observation, info)``, quick or async, gets what the last ``step``
    returned, however the episode ended, and may return a dict for the record's metadata. ``close()``, sync or async,
    comes when the engine has no further use for a policy that it made for one environment; a policy that several
    share belongs to its owner.

    An exception ends the episode as a failure: of the agent, unless its attributes ``failure_source`` (``"agent"``,
    ``"endpoint"`` or ``"environment"``) and ``failure_kind`` say something else. :class:`gem.errors.EpisodeLimitError`
    ends it as truncated, and it is scored.
    """

    def reset(self, observation: ObsT, info: Info) -> Any:
        """Begin a new episode with this observation, which ``act`` receives as well."""

    def act(self, observation: ObsT, info: Info) -> Any:
        """Return the action for the observation that ``reset`` or the last ``step`` returned."""
        raise NotSupportedError(f"{type(self).__name__} does not implement act")


class RandomPolicy(Policy[Any, Any]):
    """Random well-formed actions, as the environment itself samples them.

    The first episode of a seed has the actions that follow from the environment's own reset; each repetition has
    others, as reproducible.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        self.env = env

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Seed the actions of an episode that has begun."""
        if repetition:
            self.env.action_rng.seed(f"actions of {seed}, repetition {repetition}")

    def act(self, observation: Any, info: Info) -> Any:
        return self.env.sample_random_action()


class RandomAgentPolicy(Policy[Any, Any]):
    """Random well-formed actions of one agent, in an environment with several.

    Agents act side by side and share a generator. Each action seeds it anew, so that the order does not matter, and on
    the event loop, where no other agent comes between.
    """

    def __init__(self, env: Env[Any, Any], agent: str) -> None:
        self.env = env
        self.agent = agent
        self._episode = ""
        self._turn = 0

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Derive the actions of an episode from its key."""
        self._episode, self._turn = f"{self.agent} in {seed}, repetition {repetition}", 0

    async def act(self, observation: Any, info: Info) -> Any:
        self._turn += 1
        self.env.action_rng.seed(f"action {self._turn} of {self._episode}")
        return self.env.sample_random_action()[self.agent]


class NullPolicy(Policy[Any, str]):
    """Says nothing: the empty text in every turn."""

    def act(self, observation: Any, info: Info) -> str:
        return ""


class ScriptedPolicy(Policy[Any, Any]):
    """Plays a fixed list of actions, from its beginning in every episode."""

    def __init__(self, actions: Iterable[Any]) -> None:
        self.actions = list(actions)
        self._next = 0

    def reset(self, observation: Any, info: Info) -> None:
        self._next = 0

    def act(self, observation: Any, info: Info) -> Any:
        """Return the next action.

        Raises:
            ArgumentError: if the script ends before the episode.
        """
        if self._next >= len(self.actions):
            raise ArgumentError(f"the script ends after {len(self.actions)} actions, and the episode goes on")
        self._next += 1
        return self.actions[self._next - 1]


def make_policy(name: str, env: Env[Any, Any], agent: str | None = None) -> Policy[Any, Any]:
    """Return a policy for an environment.

    Args:
        name: ``"random"``, ``"reference"``, ``"null"`` (says nothing), or ``"module:Class"``. The reference policy is
            the class that the manifest names. One that plays from observations alone is constructed without arguments,
            so that it sees nothing else; one that the manifest declares to read the state
            (``reference_sees = "state"``) gets the unwrapped environment. A class of your own gets the environment if
            its constructor takes an argument, and the agent if it takes two; any other callable may stand in place of
            the class.
        env: the environment.
        agent: the agent that the policy acts for, where the environment has several.

    Raises:
        ArgumentError: for another name.
        NotSupportedError: if the environment declares no reference policy, or one for all of its agents at once.
        EntryPointError: if ``"module:Class"`` cannot be imported.
    """
    if name == "random":
        return RandomPolicy(env) if agent is None else RandomAgentPolicy(env, agent)
    if name == "null":
        return NullPolicy()
    if ":" in name:
        own: Policy[Any, Any] = call_fitting(load(name), env, *([] if agent is None else [agent]))
        return own
    if name != "reference":
        raise ArgumentError(f"agent must be 'random', 'reference', 'null' or 'module:Class', got {name!r}")
    spec = env.spec
    if spec is None or spec.reference_policy is None:
        raise NotSupportedError(f"{spec.id if spec else env!r} declares no reference policy in its manifest")
    if agent is not None:
        raise NotSupportedError(
            f"the reference policy of {spec.id} acts for all agents at once, not for {agent!r} alone"
        )
    policy: Policy[Any, Any] = load(spec.reference_policy)(*([env.unwrapped] if spec.reference_sees == "state" else []))
    return policy


def call_fitting(target: Any, *arguments: Any) -> Any:
    """Return ``target(*arguments)``, without the last ones where it takes fewer.

    Raises:
        ArgumentTypeError: if it is not callable.
    """
    from inspect import Parameter, signature

    if not callable(target):
        raise ArgumentTypeError(f"a policy is made by a class or function, got {target!r:.80}")
    try:
        parameters = list(signature(target).parameters.values())
    except (TypeError, ValueError):  # a class written in C shows no signature
        parameters = []
    if any(one.kind is Parameter.VAR_POSITIONAL for one in parameters):
        return target(*arguments)
    places = sum(one.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for one in parameters)
    return target(*arguments[:places])
