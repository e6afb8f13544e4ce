r"""What all games share: turns, the boxed move, rewards for bad moves, the turn limit, and state.

An action is free text in which the last ``\boxed{…}`` that fits the game's grammar is the move:

* no such box: reward :data:`MALFORMED_REWARD`, and the episode ends (truncated too if this was the last turn);
* a move against the rules: reward 0.0, the turn counts, the game goes on;
* the task is achieved: terminated, not truncated;
* the announced turns are used up: terminated and truncated.

Each observation holds the turn, what the move did, the whole board, and the request for the next move.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gem.arguments import integer
from gem.core import Env, Info
from gem.errors import ArgumentError, EpisodeFinishedError, ResetNeededError, StateError
from gem.text import action_text

__all__ = [
    "ILLEGAL",
    "LEGAL",
    "LOST",
    "MALFORMED_REWARD",
    "MAX_TURNS",
    "WON",
    "Game",
    "is_drawn",
    "read_number",
    "share",
]

MALFORMED_REWARD = -0.1

MAX_TURNS = 10**9
"""The largest ``max_turns``: Python refuses to print an int of more than 4,300 digits."""

LEGAL, ILLEGAL, WON, LOST = range(4)
"""Verdicts on a move. WON and LOST end the episode."""

_STATUS = ("legal", "illegal", "legal", "legal")
_ENDINGS = ("No turns are left.", "No turns are left.", "You have won.", "You have lost.")
_IN_PLAY, _OVER, _NOT_BEGUN = range(3)
_LONGEST_NUMBER = 100  # digits; leading zeros are allowed


class Game(Env[str, str]):
    """Base class of the games.

    A game gives ``pattern``, ``_begin``, ``_instructions``, ``_board``, ``_play``, ``_save`` and ``_load``,
    and may refine ``_last_turn_reward``. Its constructor sets ``max_turns``.
    """

    pattern: ClassVar[re.Pattern[str]]
    """Made by :func:`gem.text.boxed_pattern`; its match is handed to :meth:`_play`."""

    max_turns: int
    _request: str = "What is your next move?"
    _turn = 0
    _phase = _NOT_BEGUN

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Begin a new game; see :meth:`gem.Env.reset`. Games have no options.

        Raises:
            ArgumentError: if ``options`` is not empty.
        """
        if options:
            raise ArgumentError(f"{type(self).__name__} has no reset options, got {sorted(map(str, options))}")
        if seed is not None:
            super().reset(seed=seed)
        self._begin()
        self._of_turns = f" of {self.max_turns}. "
        self._turn = 0
        self._phase = _IN_PLAY
        return self._opening(), {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Play the move in ``action``; see the module's docstring for what each kind of action does.

        Raises:
            ResetNeededError, EpisodeFinishedError: if no episode is going on.
        """
        if self._phase:
            raise self._out_of_play()
        self._turn = turn = self._turn + 1
        if type(action) is not str:
            action = action_text(action) or ""
        move = self.pattern.match(action)
        if move is None:
            info: Info = {"turn": turn, "action_status": "malformed", "success": False}
            obs = self._finish("No move in the required format was found.", "The game is over.")
            return obs, MALFORMED_REWARD, True, turn >= self.max_turns, info
        message, reward, verdict = self._play(move)
        info = {"turn": turn, "action_status": _STATUS[verdict]}
        if verdict < WON and turn < self.max_turns:
            # The same as _show, without a call: this is the line that nearly every step takes.
            obs = f"Turn {turn}{self._of_turns}{message}\n{self._board()}{self._request}"
            return obs, reward, False, False, info
        info["success"] = verdict == WON
        obs = self._finish(message, _ENDINGS[verdict])
        if verdict < WON:
            return obs, self._last_turn_reward(reward), True, True, info
        return obs, reward, True, False, info

    def get_state(self) -> dict[str, Any]:
        """Return the whole state; see :meth:`gem.Env.get_state`."""
        return {
            "game": type(self).__name__,
            "phase": self._phase,
            "turn": self._turn,
            "episode": None if self._phase == _NOT_BEGUN else self._save(),
            **self.generator_state(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that ``get_state`` returned; StateError leaves this game unchanged."""
        name = type(self).__name__
        if not isinstance(state, Mapping) or state.get("game") != name:
            raise StateError(f"not a state of {name}")
        before = dict(self.__dict__)
        try:
            phase = integer("phase", state["phase"], minimum=_IN_PLAY, maximum=_NOT_BEGUN)
            turn = integer("turn", state["turn"], minimum=0, maximum=MAX_TURNS)
            if phase != _NOT_BEGUN:
                self._load(state["episode"])
                self._of_turns = f" of {self.max_turns}. "
            self.set_generator_state(state)
            self._turn, self._phase = turn, phase
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise StateError(f"not a state of {name}: {error!r}") from error

    def sample_random_action(self) -> str:
        """Return a random well-formed move, drawn from ``action_rng``.

        Raises:
            ResetNeededError: before the first reset.
        """
        if self._phase == _NOT_BEGUN:
            raise self._out_of_play()
        return f"\\boxed{{{self._random_move()}}}"

    def _begin(self) -> None:
        """Draw a new instance from ``self.rng``."""
        raise NotImplementedError

    def _opening(self) -> str:
        """The first observation."""
        return f"{self._instructions()}\n\n{self._board()}{self._request}"

    def _instructions(self) -> str:
        """The rules, the turn limit and the action format with an example."""
        raise NotImplementedError

    def _board(self) -> str:
        """What the agent must see now, ending in a newline; empty for a game without a board."""
        return ""

    def _play(self, move: re.Match[str]) -> tuple[str, float, int]:
        """Apply a move; return what happened in one sentence, the reward and the verdict."""
        raise NotImplementedError

    def _last_turn_reward(self, reward: float) -> float:
        """The reward of the last announced turn, where the task was not achieved."""
        return reward

    def _random_move(self) -> str:
        """A random move without its box, drawn from ``self.action_rng``."""
        raise NotImplementedError

    def _save(self) -> dict[str, Any]:
        """The episode as JSON-serialisable values that share nothing with this game."""
        raise NotImplementedError

    def _load(self, episode: dict[str, Any]) -> None:
        """Undo :meth:`_save`: assign new objects, change none in place. Any ordinary error is reported."""
        raise NotImplementedError

    def _finish(self, message: str, closing: str) -> str:
        """End the episode; return its last observation."""
        self._phase = _OVER
        return self._show(message, closing)

    def _show(self, message: str, closing: str) -> str:
        return f"Turn {self._turn}{self._of_turns}{message}\n{self._board()}{closing}"

    def _out_of_play(self) -> ResetNeededError:
        if self._phase == _NOT_BEGUN:
            return ResetNeededError(f"{self!r} has not begun; call reset() first")
        return EpisodeFinishedError(f"the episode of {self!r} has ended; call reset() to begin another")


def is_drawn(names: Sequence[str], values: Sequence[object]) -> bool:
    """Tell whether a game's parameters are to be drawn anew at every reset.

    A parameter that is None or ``"random"`` is drawn. The parameters of one board belong together, so all of
    them are drawn or none.

    Raises:
        ArgumentError: if only some are.
    """
    drawn = [name for name, value in zip(names, values, strict=True) if value is None or value == "random"]
    if drawn and len(drawn) < len(names):
        raise ArgumentError(
            f"{', '.join(names)} are drawn together: make all of them 'random' or none, got only {', '.join(drawn)}"
        )
    return bool(drawn)


def read_number(digits: str) -> int:
    """The number that a run of digits in a move stands for; -1 if it is longer than any number in any game.

    int() itself refuses more than 4,300 digits.
    """
    return int(digits) if len(digits) <= _LONGEST_NUMBER else -1


def share(done: int, whole: int) -> float:
    """``done / whole`` as a multiple of 2⁻⁵².

    The rewards of a game that pays ``share(after, whole) - share(before, whole)`` are exact, and so is their sum in
    any order: 1.0 when everything is done, never a little more.
    """
    return (1.0 + done / whole) - 1.0
