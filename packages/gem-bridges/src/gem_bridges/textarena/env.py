"""One seat in a game of TextArena: ``textarena:GuessTheNumber-v0``."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from gem.arguments import integer, string
from gem.core import Action
from gem.entry_points import load
from gem.errors import ArgumentError, ArgumentTypeError
from gem.phases import EpisodePhase, out_of_order
from gem.policies import Act, Policy
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import ForeignTurn, text_of_action
from gem_bridges.replayed_env import ReplayedEnv
from gem_bridges.textarena.game import MOST_PLAYERS, TextArenaGame, fewest_players, random_move

__all__ = ["TextArenaEnv"]

_MOST_BEGINNINGS = 100
_MOST_MOVES = 1000


class TextArenaEnv(ReplayedEnv):
    """A game of TextArena for one agent; where it takes several players, the others follow a given policy.

    Observations and rewards are the game's: a reward comes at the end. A move against the rules has the
    ``action_status`` ``"illegal"``; the game allows some, and then ends with its own penalty. ``info["success"]`` at
    the end says whether the reward was at least 1: a win, a solved puzzle. Games know only their own limits, so
    ``max_turns`` truncates. A game that fails ends the episode, truncated, with ``info["error"]``.

    Args:
        game: id in TextArena's registry; ``-train`` and ``-raw`` at its end choose what an observation holds.
        players: number of players; by default the smallest that the game takes.
        seat: the number of the agent's seat; the first is 0.
        opponent: ``"random"``, or a policy for the other seats: an object with ``act``, or ``"module:Class"``.
        kwargs: arguments of the game's class.
        max_turns: turns of the agent after which an episode is truncated.

    Raises:
        NotSupportedError: if textarena is not installed.
        ArgumentError: if there is no such game, or it cannot be begun so.
    """

    def __init__(
        self,
        game: str,
        players: int | None = None,
        seat: int = 0,
        opponent: str | Policy[str, str] = "random",
        kwargs: Mapping[str, Any] | None = None,
        max_turns: int = 1000,
    ) -> None:
        super().__init__(max_turns)
        self.game = string("game", game)
        if kwargs is not None and not isinstance(kwargs, Mapping):
            raise ArgumentTypeError(f"kwargs must be a dict, got an object of type {type(kwargs).__name__}")
        self.game_kwargs = dict(kwargs or {})
        given = fewest_players(self.game) if players is None else players
        self.players = integer("players", given, minimum=1, maximum=MOST_PLAYERS)
        self.seat = integer("seat", seat, minimum=0, maximum=self.players - 1)
        self.opponent = opponent
        self._opponents = [] if opponent == "random" else [_policy(opponent) for _ in range(self.players)]
        self._open(0)

    @property
    def name(self) -> str:
        return f"textarena:{self.game}"

    def sample_random_action(self) -> str:
        """Return a move in the manner of those that the game shows."""
        if self._phase is EpisodePhase.NOT_BEGUN:
            raise out_of_order(self, self._phase)
        return random_move(str(self._observation), self.action_rng)

    def _open(self, seed: int) -> TextArenaGame:
        return TextArenaGame(self.game, self.players, seed, self.game_kwargs)

    @staticmethod
    def _close_game(game: TextArenaGame) -> None:
        """Nothing is held."""

    def _repeat(self, game: TextArenaGame, text: str) -> None:
        game.play(text)

    def _first(self) -> ForeignTurn:
        for _ in range(_MOST_BEGINNINGS):
            for policy in self._opponents:
                policy.reset("", {})
            self._let_others_play()
            if not self._game.over:
                return ForeignTurn(self._game.observation(self.seat), info={"seat": self.seat})
            # Others ended the game before the agent's first turn.
            self._episode_seed, self._journal = self._episode_seed + 1, []
            self._game = self._open(self._episode_seed)
        raise BridgeError(f"{_MOST_BEGINNINGS} games of {self.name} in a row ended before the agent's first turn")

    def _play(self, action: Action) -> ForeignTurn:
        text = text_of_action(action)
        game: TextArenaGame = self._game
        self._journal.append(text)
        game.play(text)
        status = "illegal" if game.invalid else "legal"
        self._let_others_play()
        reward = game.reward(self.seat)
        info = {"success": reward >= 1.0} if game.over else {}
        return ForeignTurn(game.observation(self.seat), reward, game.over, status=status, info=info)

    def _let_others_play(self) -> None:
        game: TextArenaGame = self._game
        before = len(self._journal)
        while not game.over and game.player != self.seat:
            if len(self._journal) - before >= _MOST_MOVES:  # some games refuse moves without end
                raise BridgeError(f"the other players made {_MOST_MOVES} moves, and it was not the agent's turn")
            text = self._others_move(game)
            self._journal.append(text)
            game.play(text)

    def _others_move(self, game: TextArenaGame) -> str:
        shown = game.observation(game.player)
        if not self._opponents:
            # From the place in the episode, so that states need no generator of the opponent.
            return random_move(shown, random.Random(f"move {len(self._journal)} of {self._episode_seed}"))
        try:
            given = self._opponents[game.player].act(shown, {})
            action = given.action if isinstance(given, Act) else given
            return text_of_action(action)
        except Exception as error:  # whatever the policy raises
            raise BridgeError(f"the opponent failed with {type(error).__name__}: {error}") from error


def _policy(opponent: object) -> Policy[str, str]:
    if isinstance(opponent, str):
        if ":" not in opponent:
            raise ArgumentError(f"opponent must be 'random', 'module:Class' or a policy, got {opponent!r:.80}")
        opponent = load(opponent)()
    if not isinstance(opponent, Policy):
        raise ArgumentTypeError(f"opponent must be a gem.Policy, got an object of type {type(opponent).__name__}")
    return opponent
