r"""Any installed environment of Gymnasium as text: ``gym:CartPole-v1``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gem.arguments import integer, string
from gem.core import Env, Info
from gem.counts import counted
from gem.discovery.official import install_line
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError, StateError
from gem.phases import EpisodePhase, out_of_order, unchanged_on_error
from gem.text import action_text, extract_last_boxed_answer
from gem.text_env import MAX_TURNS
from gem_bridges.gymnasium.codec import NotInSpaceError, check_readable, describe, from_text, to_text

__all__ = ["GymnasiumTextEnv"]

_SEED_BITS = 31


class GymnasiumTextEnv(Env[str, str]):
    # Not a ReplayedEnv, which opens a game for each episode, has no options, and truncates at a limit of its own: an
    # environment of Gymnasium is made once, for some take seconds, and it takes options; its agent knows of the limit.
    r"""An environment of Gymnasium whose observations are JSON and whose actions are JSON in ``\boxed{…}``.

    Rewards, ``terminated`` and ``truncated`` are the environment's own. An unreadable action costs a turn of
    ``max_turns`` and reaches the environment not at all. The state is the seed and the options of the episode with the
    actions so far, so an environment that does not follow from these has none that is worth keeping.

    Args:
        env_id: id in Gymnasium's registry, such as ``"CartPole-v1"`` or ``"package:Name-v0"``.
        kwargs: arguments of ``gymnasium.make``.
        max_turns: turns that the instructions announce; an episode that is not over by then ends as decided.

    Raises:
        NotSupportedError: if gymnasium is not installed, or a space has no text.
        ArgumentError: if the registry has no such id, or making it fails.
    """

    def __init__(self, env_id: str, kwargs: Mapping[str, Any] | None = None, max_turns: int = 1000) -> None:
        self.env_id = string("env_id", env_id)
        if kwargs is not None and not isinstance(kwargs, Mapping):
            raise ArgumentTypeError(f"kwargs must be a dict, got an object of type {type(kwargs).__name__}")
        self.env_kwargs = dict(kwargs or {})
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self._phase = EpisodePhase.NOT_BEGUN
        self._env_seed = 0
        self._options: dict[str, Any] | None = None
        self._actions: list[str | None] = []
        self._env: Any = None
        self._open()

    def _open(self) -> None:
        try:
            gymnasium = import_module("gymnasium")
        except ModuleNotFoundError as error:
            line = install_line("'gem-bridges[gymnasium]'")
            raise NotSupportedError(f"gym: needs Gymnasium; run: {line}") from error
        try:
            self._env = gymnasium.make(self.env_id, disable_env_checker=True, **self.env_kwargs)
        except Exception as error:  # whatever a stranger's constructor raises
            raise ArgumentError(f"gym:{self.env_id} cannot be made: {type(error).__name__}: {error}") from error
        for space, what in ((self._env.observation_space, "observation"), (self._env.action_space, "action")):
            check_readable(space, f"the {what} of gym:{self.env_id}")

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Begin an episode; options are passed on to the environment."""
        if seed is not None:
            super().reset(seed=seed)
        self._phase = EpisodePhase.NOT_BEGUN
        self._env_seed = self.rng.getrandbits(_SEED_BITS)
        self._options = None if options is None else dict(options)
        self._actions = []
        shown, _ = self._env.reset(seed=self._env_seed, options=options)
        self._phase = EpisodePhase.PLAYING
        return f"{self._instructions()}\n\n{self._told(shown)}", {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Play the action in the last box."""
        if self._phase is not EpisodePhase.PLAYING:
            raise out_of_order(self, self._phase)
        text = extract_last_boxed_answer(action_text(action) or "")
        shown, reward, terminated, truncated, status = self._advance(text)
        turn = len(self._actions)
        if turn >= self.max_turns and not (terminated or truncated):
            terminated = truncated = True  # the agent knew of this limit
        if terminated or truncated:
            self._phase = EpisodePhase.OVER
        info: Info = {"turn": turn, "action_status": status}
        return f"Turn {turn}. {shown}", reward, terminated, truncated, info

    def _advance(self, text: str | None) -> tuple[str, float, bool, bool, str]:
        try:
            value = None if text is None else from_text(self._env.action_space, text)
        except NotInSpaceError:
            value = None
        if value is None:
            self._actions.append(None)
            return f"No action in a box was found. {self._form()}", 0.0, False, False, "malformed"
        self._actions.append(text)
        shown, reward, terminated, truncated, _ = self._env.step(value)
        told = f"Reward: {float(reward):g}. {self._told(shown)}"
        return told, float(reward), bool(terminated), bool(truncated), "legal"

    def sample_random_action(self) -> str:
        """Return an action of the space in a box."""
        if self._phase is EpisodePhase.NOT_BEGUN:
            raise out_of_order(self, self._phase)
        space = self._env.action_space
        space.seed(self.action_rng.getrandbits(_SEED_BITS))
        return f"\\boxed{{{to_text(space, space.sample())}}}"

    def get_state(self) -> dict[str, Any]:
        """Return the seed, the options and the actions so far; options that JSON cannot hold make it no JSON either."""
        return {
            "environment": self.env_id,
            "phase": self._phase.value,
            "env_seed": self._env_seed,
            "options": self._options,
            "actions": list(self._actions),
            **self.generator_state(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Play the actions of a state again."""
        if not isinstance(state, Mapping) or state.get("environment") != self.env_id:
            raise StateError(f"not a state of gym:{self.env_id}")
        before = self._env
        with unchanged_on_error(self):
            self._phase = EpisodePhase(state["phase"])
            self._env_seed = integer("env_seed", state["env_seed"], minimum=0, maximum=2**_SEED_BITS - 1)
            options = state["options"]
            if options is not None and not isinstance(options, Mapping):
                raise ArgumentTypeError(f"options must be a dict or None, got {type(options).__name__}")
            self._options = None if options is None else dict(options)
            actions = [None if text is None else string("action", text) for text in state["actions"]]
            self._env = None
            self._open()
            self._replay(actions)
            self.set_generator_state(state)
        if before is not None:
            before.close()

    def _replay(self, actions: list[str | None]) -> None:
        self._actions = []
        if self._phase is not EpisodePhase.NOT_BEGUN:
            self._env.reset(seed=self._env_seed, options=self._options)
            for text in actions:
                self._advance(text)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the environment of Gymnasium, which need not be picklable."""
        return {name: value for name, value in self.__dict__.items() if name != "_env"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()
        self._replay(list(self._actions))

    def close(self) -> None:
        """Close the environment of Gymnasium."""
        if self._env is not None:
            self._env.close()
        super().close()

    def _instructions(self) -> str:
        return (
            f"You act in the environment {self.env_id} of Gymnasium; the rewards of your actions add up, and more is "
            f"better. You have {counted(self.max_turns, 'turn')}. An observation is "
            f"{describe(self._env.observation_space)}. {self._form()}"
        )

    def _form(self) -> str:
        return f"An action is {describe(self._env.action_space)}, in \\boxed{{}}."

    def _told(self, shown: Any) -> str:
        return f"Observation: {to_text(self._env.observation_space, shown)}"
