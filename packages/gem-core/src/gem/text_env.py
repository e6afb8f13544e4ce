r"""The base class of the everyday environment: :class:`TextEnv`, and the results of its moves.

A whole environment::

    class CountdownEnv(gem.TextEnv[int]):
        r'''Take 1, 2 or 3 stones with ``\boxed{2}``; the agent must take the last one. The agent plays alone.'''

        form = BoxedNumber(1, 3)
        saved = StateFields(stones=int)
        request = "How many do you take?"

        def _begin(self) -> None:
            self.stones = self.rng.randint(5, 20)

        def _instructions(self) -> str:
            return f"Take the last stone within {self.max_turns} turns, for example 2 stones with \\boxed{{2}}."

        def _board(self) -> str:
            return f"Stones left: {self.stones}."

        def _play(self, taken: int) -> MoveResult:
            if taken > self.stones:
                return illegal(f"You cannot take {taken} stones.")
            self.stones -= taken
            return legal(f"You take {taken}.") if self.stones else success(f"You take {taken}.")

A move has one of these results:

====================  ===========================================  ==========  =========  =============
result                the move                                     terminated  truncated  ``info``
====================  ===========================================  ==========  =========  =============
:func:`legal`         is carried out                               False       False      action_status
:func:`illegal`       breaks the rules and still costs its turn    False       False      action_status
:func:`malformed`     is not there, or not in the declared form    True        False      and success
:func:`success`       achieves the task                            True        False      and success
:func:`failure`       ends the task without success                True        False      and success
:func:`fault`         could not be carried out: no agent's fault   False       True       success, error
====================  ===========================================  ==========  =========  =============

After a legal or illegal move in the last announced turn, the episode is over: terminated and truncated. A malformed
action in that turn is truncated as well.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from gem.action_forms import ActionForm
from gem.arguments import check_names, integer, keyword_names
from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError, StateError
from gem.phases import NOT_BEGUN, OVER, PLAYING, EpisodePhase, out_of_order, unchanged_on_error
from gem.state_fields import StateFields
from gem.text import action_text, spoken_text

__all__ = [
    "MALFORMED_REWARD",
    "MAX_TURNS",
    "MoveResult",
    "TextEnv",
    "failure",
    "fault",
    "illegal",
    "legal",
    "malformed",
    "success",
]

MALFORMED_REWARD = -0.1
"""The reward of an action without a move, unless the environment declares another."""

MAX_TURNS = 10**9
"""The largest ``max_turns``: Python refuses to print an int of more than 4,300 digits."""

MoveT = TypeVar("MoveT")


class Ending(NamedTuple):
    """The way in which a move ends an episode."""

    name: str
    """The key of the closing line in :attr:`TextEnv.closings`."""
    error: str | None = None


MoveResult = tuple[str, float, str, Ending | None]
"""Made by the functions of this module: a sentence for the agent, reward, ``action_status``, and the ending if any."""

_MALFORMED, _SUCCESS, _FAILURE = Ending("malformed"), Ending("success"), Ending("failure")


def legal(message: str, reward: float = 0.0) -> MoveResult:
    """Return the result of a move that the environment carried out; ``message`` is one sentence for the agent."""
    return message, reward, "legal", None


def illegal(message: str, reward: float = 0.0) -> MoveResult:
    """Return the result of a move against the rules; the episode continues."""
    return message, reward, "illegal", None


def malformed(message: str, reward: float = MALFORMED_REWARD, *, ends: bool = True) -> MoveResult:
    """Return the result of an action without a move; the episode ends unless ``ends`` is False."""
    return message, reward, "malformed", _MALFORMED if ends else None


def success(message: str, reward: float = 1.0) -> MoveResult:
    """Return the result of a move that achieves the task and ends the episode."""
    return message, reward, "legal", _SUCCESS


def failure(message: str, reward: float = 0.0) -> MoveResult:
    """Return the result of a move that ends the episode without achieving the task."""
    return message, reward, "legal", _FAILURE


def fault(message: str, error: str) -> MoveResult:
    """Return the result of a failure that the agent did not cause: the episode is truncated, with ``info["error"]``."""
    return message, 0.0, "legal", Ending("fault", error)


class TextEnv(Env[str, str], ABC, Generic[MoveT]):
    """An environment in which an agent makes moves in turn, until the task is decided or the turns are used up.

    A subclass declares :attr:`form`, :attr:`saved` and :attr:`request`, and writes

    * ``_begin``, which sets up an episode; its keyword arguments are the reset options;
    * ``_instructions``, the rules, with the number of turns and the form of an action;
    * ``_board``, the text of the situation, unless the messages say everything;
    * ``_play``, which carries out a move and returns one of the results of this module.

    The class does the rest. It reads an action that is not a str as an assistant message, and anything without text
    as "". An action without a move in the declared form ends the episode with :data:`MALFORMED_REWARD`; a subclass
    overrides ``_malformed`` for another result. Each observation holds the turn, the message of the move, the board,
    and the request for the next move or a closing line.

    ``info`` holds ``turn`` always, ``action_status`` on every step, ``success`` on the last one, and ``error`` after a
    fault.

    Args:
        max_turns: turns that the agent has, 1 … 10⁹. The instructions must announce them. A subclass may also set the
            attribute ``max_turns`` in ``_begin``, and then lists it in :attr:`saved`.

    Raises:
        IncompleteEnvError: when a class without ``_instructions`` or ``_play`` is defined and not declared abstract,
            and when an abstract class is called.
    """

    form: ActionForm[MoveT]
    """The form of an action, for the class or (assigned in the constructor or in ``_begin``) for one instance."""

    saved: ClassVar[StateFields] = StateFields()
    """The attributes that ``_begin`` or ``_play`` assign, with their types: the state of an episode."""

    request: str = "What is your next move?"
    """The last line of every observation but the last; empty for none."""

    closings: ClassVar[Mapping[str, str]] = {
        "success": "The task is done.",
        "failure": "The task has failed.",
        "turns": "No turns are left.",
        "malformed": "The episode is over.",
        "fault": "The episode is broken off.",
    }
    """The last line of the last observation, by what ended the episode."""

    form_note: str = ""
    """The last sentences of the instructions: what the form forgives, and what an action without a move costs. Empty
    where ``_instructions`` says it."""

    _required: ClassVar[tuple[str, ...]] = ("_instructions", "_play")

    max_turns: int = 10
    _turn: int = 0
    _phase: EpisodePhase = NOT_BEGUN
    _read: Callable[[str], MoveT | None] | None = None
    """``form.read`` while an episode is in play, else None, so that a step looks up both at once."""
    _opening_parts: tuple[Any, ...] = ()
    """What the texts of the last reset were made of; many environments begin most episodes alike."""

    def __init__(self, max_turns: int = 10) -> None:
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Begin a new episode; see :meth:`gem.Env.reset`. After an error no episode is in play.

        Args:
            seed: as for :meth:`gem.Env.reset`.
            options: keyword arguments of ``_begin``.

        Raises:
            ArgumentError, ArgumentTypeError: for options that ``_begin`` does not accept.
        """
        if seed is not None:
            super().reset(seed=seed)
        self._phase, self._read = NOT_BEGUN, None
        if options is None:
            self._begin()
        else:
            self._check_options(options)
            self._begin(**options)
        self._turn = 0
        parts = (self.max_turns, self._instructions(), self.form_note, self._board(), self.request)
        if parts != self._opening_parts:
            self._opening_parts, self._first_observation = parts, _join_opening(*parts[1:])
            self._of_turns = f" of {self.max_turns}. "
        self._phase, self._read = PLAYING, self.form.read
        return self._first_observation, {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Play the move in ``action``; see the module for what each kind of move does.

        Raises:
            ResetNeededError: before the first ``reset``.
            EpisodeFinishedError: after the end of an episode.
        """
        read = self._read
        if read is None:
            raise out_of_order(self, self._phase)
        self._turn += 1
        if type(action) is not str:
            action = action_text(action) or ""
        move = read(spoken_text(action))
        message, reward, status, ending = self._malformed() if move is None else self._play(move)
        turn = self._turn  # a move may cost more than one
        info: Info = {"turn": turn, "action_status": status}
        if ending is None and turn < self.max_turns:
            # The same as _show, without a call: nearly every step takes this line.
            if board := self._board():
                return f"Turn {turn}{self._of_turns}{message}\n{board}\n{self.request}", reward, False, False, info
            return f"Turn {turn}{self._of_turns}{message}\n{self.request}", reward, False, False, info
        self._phase, self._read = OVER, None
        info["success"] = ending is _SUCCESS
        if ending is None:
            observation = self._show(message, self.closings["turns"])
            return observation, self._last_turn_reward(reward), True, True, info
        observation = self._show(message, self.closings[ending.name])
        if ending.error is not None:
            info["error"] = ending.error
            return observation, reward, False, True, info
        return observation, reward, True, ending is _MALFORMED and turn >= self.max_turns, info

    def sample_random_action(self) -> str:
        """Return a random well-formed action, drawn from ``action_rng``.

        Raises:
            ResetNeededError: before the first reset.
            NotSupportedError: if the form has no examples and the subclass no ``_random_action``.
        """
        if self._phase is NOT_BEGUN:
            raise out_of_order(self, self._phase)
        return self._random_action()

    def get_state(self) -> dict[str, Any]:
        """Return the whole state; see :meth:`gem.Env.get_state`."""
        return {
            "environment": type(self).__name__,
            "phase": self._phase.value,
            "turn": self._turn,
            "episode": None if self._phase is NOT_BEGUN else self._save(),
            **self.generator_state(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that ``get_state`` returned; StateError leaves this environment unchanged."""
        name = type(self).__name__
        if not isinstance(state, Mapping) or state.get("environment") != name:
            raise StateError(f"not a state of {name}")
        with unchanged_on_error(self):
            self._phase = EpisodePhase(state["phase"])
            if self._phase is not NOT_BEGUN:
                self._load(state["episode"])
                integer("max_turns", self.max_turns, minimum=1, maximum=MAX_TURNS)
                self._of_turns, self._opening_parts = f" of {self.max_turns}. ", ()
            playing = self._phase is PLAYING
            # The last move may have cost more turns than were left.
            last = self.max_turns - 1 if playing else MAX_TURNS
            self._turn = integer("turn", state["turn"], minimum=0, maximum=last)
            self._read = self.form.read if playing else None
            self.set_generator_state(state)

    def _begin(self) -> None:
        """Set up an episode, drawing from ``self.rng``.

        A subclass with reset options gives it keyword arguments with defaults.
        """

    def _instructions(self) -> str:
        """Return the rules, the number of turns and the form of an action with an example."""
        raise NotImplementedError

    def _board(self) -> str:
        """Return the situation as the agent must see it; "" if the messages say everything."""
        return ""

    def _play(self, move: MoveT) -> MoveResult:
        """Carry out a move, and return its result made by :func:`legal` or another function of this module."""
        raise NotImplementedError

    def _malformed(self) -> MoveResult:
        """Return the result of an action without a move in the declared form."""
        return malformed("No move in the required format was found.")

    def _last_turn_reward(self, reward: float) -> float:
        """Return the reward of the last announced turn if the task was not achieved; ``reward`` is the move's."""
        return reward

    def _random_action(self) -> str:
        """Return a random well-formed action, drawn from ``self.action_rng``."""
        return self.form.sample(self.action_rng)

    def _save(self) -> dict[str, Any]:
        """Return the state of the episode as JSON values that share nothing with this environment."""
        return self.saved.save(self)

    def _load(self, episode: dict[str, Any]) -> None:
        """Undo :meth:`_save`: assign new objects, change none in place. Any ordinary error becomes a StateError.

        A subclass that extends this method checks conditions that the types cannot express, and assigns attributes
        that follow from the state.
        """
        self.saved.load(self, episode)

    def _show(self, message: str, closing: str) -> str:
        """Return the observation after a move."""
        board = self._board()
        return (
            f"Turn {self._turn}{self._of_turns}{message}\n{board}\n{closing}"
            if board
            else f"Turn {self._turn}{self._of_turns}{message}\n{closing}"
        )

    def _check_options(self, options: Any) -> None:
        name = type(self).__name__
        known = keyword_names(type(self)._begin)
        if not isinstance(options, Mapping):
            raise ArgumentTypeError(f"the reset options of {name} must be a dict, got {type(options).__name__}")
        if known is None:
            return
        if options and not known:
            raise ArgumentError(f"{name} has no reset options, got {sorted(map(str, options))}")
        check_names(f"reset of {name}", (key if isinstance(key, str) else repr(key) for key in options), known)


def _join_opening(instructions: str, form_note: str, board: str, request: str) -> str:
    if form_note:
        instructions = f"{instructions} {form_note}"
    situation = f"{board}\n{request}" if board and request else board or request
    return f"{instructions}\n\n{situation}" if situation else instructions
