"""Foreign environments whose state is the seed of the episode with what was played since."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from gem.arguments import check_names, integer
from gem.errors import ArgumentTypeError, StateError
from gem.phases import EpisodePhase, unchanged_on_error
from gem_bridges.foreign_env import ForeignEnv, ForeignTurn

__all__ = ["SEED_BITS", "ReplayedEnv"]

SEED_BITS = 31
"""Size of the seeds that foreign games get; C libraries take no more."""


class ReplayedEnv(ForeignEnv, ABC):
    """A foreign environment without states of its own: a state is a seed and a journal, which is played again.

    A subclass opens a game for a seed, plays texts in it, and writes each into ``self._journal``. What an option of
    :meth:`reset` chooses must be in the seed. Pickles hold no game either: it is opened and played again.
    """

    def __init__(self, max_turns: int) -> None:
        super().__init__(max_turns)
        self._game: Any = None
        self._episode_seed = 0
        self._journal: list[str] = []

    @property
    @abstractmethod
    def name(self) -> str:
        """Id of the environment; states of another are refused."""

    @abstractmethod
    def _open(self, seed: int) -> Any:
        """Return a new game.

        Raises:
            BridgeError: if the other side fails.
        """

    @abstractmethod
    def _first(self) -> ForeignTurn:
        """Return what a game that has just been opened shows; it may play moves of others."""

    @abstractmethod
    def _repeat(self, game: Any, text: str) -> None:
        """Play a text of the journal again.

        Raises:
            BridgeError: if the other side fails.
        """

    @staticmethod
    @abstractmethod
    def _close_game(game: Any) -> None:
        """End a game; raises nothing."""

    def _drawn_seed(self, options: Mapping[str, Any]) -> int:
        """Return the seed of the next episode.

        Raises:
            BridgeError: if the other side, which may be asked, fails.
            ArgumentError, ArgumentTypeError: for unknown options.
        """
        check_names(f"a reset of {self.name}", [str(name) for name in options], ())
        return self.rng.getrandbits(SEED_BITS)

    def _begin(self, options: Mapping[str, Any], seed: int | None) -> ForeignTurn:
        drawn = self._drawn_seed(options)
        self._drop()
        self._episode_seed = drawn
        self._journal = []
        self._game = self._open(self._episode_seed)
        return self._first()

    def _drop(self) -> None:
        game, self._game = self._game, None
        if game is not None:
            self._close_game(game)

    def close(self) -> None:
        """End the game."""
        self._drop()

    def get_state(self) -> dict[str, Any]:
        """Return the seed of the episode and what was played."""
        return {
            "environment": self.name,
            "phase": self._phase.value,
            "turn": self._turn,
            "episode_seed": self._episode_seed,
            "journal": list(self._journal),
            "observation": self._observation,
            **self.generator_state(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Play the journal of a state again.

        Raises:
            BridgeError: if the other side fails.
        """
        if not isinstance(state, Mapping) or state.get("environment") != self.name:
            raise StateError(f"not a state of {self.name}")
        before = self._game
        with unchanged_on_error(self):
            self._phase = EpisodePhase(state["phase"])
            self._turn = integer("turn", state["turn"], minimum=0)
            self._episode_seed = integer("episode_seed", state["episode_seed"], minimum=0, maximum=2**SEED_BITS - 1)
            self._journal = [_text(text) for text in state["journal"]]
            self._observation = _text(state["observation"])
            self.set_generator_state(state)
            self._game = self._replayed()
        if before is not None:
            self._close_game(before)

    def _replayed(self) -> Any:
        if self._phase is not EpisodePhase.PLAYING:
            return None
        game = self._open(self._episode_seed)
        try:
            for text in self._journal:
                self._repeat(game, text)
        except BaseException:
            self._close_game(game)
            raise
        return game

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the game, which need not be picklable."""
        return {**self.__dict__, "_game": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._game = self._replayed()


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"texts of a state must be str, got {type(value).__name__}")
    return value
