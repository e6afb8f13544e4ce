"""One episode of a game of TextArena, with all of its players."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from gem.arguments import nearest
from gem.discovery.official import install_line
from gem.errors import ArgumentError, NotSupportedError
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_server_env import reward_of
from gem_bridges.textarena.generators import GameGenerators, adopt_modules

__all__ = ["MOST_PLAYERS", "TextArenaGame", "fewest_players", "random_move"]

MOST_PLAYERS = 15
_EXAMPLES = 2
_BRACKETED = re.compile(r"\[([^\[\]\n]{1,60})\]")
_NUMBER_AT_END = re.compile(r"-?\d+(\.\d+)?$")
_NUMBER = re.compile(r"\d+")
_NO_MOVE = re.compile(r"(GAME|Player.*|Moderator|\s*)")
_import_lock = threading.Lock()


class _BeginningError(ArgumentError):
    """A game that exists cannot be begun with this number of players."""


class TextArenaGame:
    """A game that has begun.

    Args:
        name: id in TextArena's registry, such as ``"TicTacToe-v0"``.
        players: number of players.
        seed: of the game's own generators.
        kwargs: arguments of the game's class.

    Raises:
        NotSupportedError: if textarena is not installed.
        ArgumentError: if there is no such game, or it cannot be begun so.
    """

    def __init__(self, name: str, players: int, seed: int, kwargs: Mapping[str, Any]) -> None:
        make = _registered(name)
        self.players = players
        self.over = False
        self.invalid = False
        """Whether the last move was against the rules."""
        self._generators = GameGenerators(seed)
        self._seen = [""] * players
        try:
            with self._generators.in_use():
                self._env = make(name, **kwargs)
        except Exception as error:  # whatever a game's constructor raises
            raise ArgumentError(f"textarena:{name} cannot be made: {_described(error)}") from error
        try:
            with self._generators.in_use():
                self._env.reset(num_players=players, seed=seed)
                self._look()
        except Exception as error:
            number = f"{players} player{'s'[: players > 1]}"
            raise _BeginningError(f"textarena:{name} cannot be begun with {number}: {_described(error)}") from error

    @property
    def player(self) -> int:
        """The player to move."""
        return int(self._env.state.current_player_id)

    @property
    def intended_players(self) -> int:
        """The number of players for which the game was written; 1 where it does not say."""
        return int(getattr(self._env, "default_num_players", 1))

    def observation(self, player: int) -> str:
        """Return the last text that a player saw; after the end with the reason of the outcome.

        The game shows a player its rules when it is to move for the first time.
        """
        reason = self._about(player).get("reason") if self.over else None
        seen = self._seen[player] or f"[GAME] You are Player {player}. Player {self.player} is to move first."
        return f"{seen}\n[GAME] {reason}" if isinstance(reason, str) else seen

    def play(self, text: str) -> None:
        """Play a text as the player to move.

        Raises:
            BridgeError: if the game fails.
        """
        mover = self.player
        errors, invalid = self._errors(), self._moved_invalidly(mover)
        try:
            with self._generators.in_use():
                self.over = bool(self._env.step(text)[0])
                self._look()
        except Exception as error:  # games of many authors
            raise BridgeError(f"the game failed with {type(error).__name__}: {error}") from error
        self.invalid = self._moved_invalidly(mover) > invalid or (self._errors() > errors and self.player == mover)

    def reward(self, player: int) -> float:
        """Return a player's reward, which a game gives at its end; 0.0 before.

        Raises:
            BridgeError: if it is no finite number.
        """
        given = (self._env.state.rewards or {}).get(player, 0.0) if self.over else 0.0
        if isinstance(given, str):  # Countdown and others pass reason and reward in each other's place
            number = _NUMBER_AT_END.search(str(self._about(player).get("reason")))
            given = float(number[0]) if number else given
        return reward_of(given)

    def _errors(self) -> int:
        return int(getattr(self._env.state, "error_count", 0))

    def _moved_invalidly(self, player: int) -> bool:
        return bool(self._about(player).get("invalid_move"))

    def _about(self, player: int) -> Mapping[str, Any]:
        about: Mapping[str, Any] = (self._env.state.game_info or {}).get(player) or {}
        return about

    def _look(self) -> None:
        player, shown = self._env.get_observation()
        if not isinstance(shown, str):  # the ids that end with -raw have no wrapper that makes a text
            roles = self._env.state.role_mapping
            shown = "\n".join(f"[{roles.get(sender, f'Player {sender}')}] {text}" for sender, text, _ in shown)
        self._seen[player] = shown.strip()


def random_move(shown: str, rng: random.Random) -> str:
    """Return a move in the manner of those that a game shows in brackets.

    TextArena has no spaces of actions. Where a game shows no more than two moves, they are examples: each number in
    one is then replaced by another half of the time. Words that only name the parts of such an example, as in
    ``[pile quantity]`` beside ``[0 3]``, are no move.
    """
    found = {move for move in _BRACKETED.findall(shown) if not _NO_MOVE.fullmatch(move)}
    lengths = {len(move.split()) for move in found if _NUMBER.search(move)} - {1}
    moves = sorted(move for move in found if _NUMBER.search(move) or len(move.split()) not in lengths) or ["0"]
    move = rng.choice(moves)
    if len(moves) <= _EXAMPLES:
        move = _NUMBER.sub(lambda found: str(rng.randrange(21)) if rng.random() < 0.5 else found[0], move)
    return f"[{move}]"


@cache
def fewest_players(name: str) -> int:
    """Return the smallest number of players with which a game begins.

    Raises:
        ArgumentError: if it begins with none; the message is that for one player.
    """
    problem: ArgumentError | None = None
    for players in range(1, MOST_PLAYERS + 1):
        try:
            game = TextArenaGame(name, players, 0, {})
        except _BeginningError as error:
            problem = problem or error
        else:
            return max(players, game.intended_players)
    assert problem is not None
    raise problem


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip(' *' + chr(10))[:200]}"


def _registered(name: str) -> Any:
    """Return ``textarena.make``, with the module of a game imported."""
    with _import_lock:
        try:
            import_module("textarena")
        except ModuleNotFoundError as error:
            line = install_line("'gem-bridges[textarena]'")
            raise NotSupportedError(f"textarena: needs TextArena; run: {line}") from error
        registration = import_module("textarena.envs.registration")
        entry = registration.ENV_REGISTRY.get(name)
        if entry is None:
            near = nearest(name, registration.ENV_REGISTRY)
            hint = f"; did you mean textarena:{near}?" if near else ""
            raise ArgumentError(f"TextArena has no game {name!r:.80}{hint}")
        try:
            import_module(entry.entry_point.partition(":")[0])
        except Exception as error:  # some games need a later Python, a library, or word lists
            raise ArgumentError(f"textarena:{name} cannot be made: {_described(error)}") from error
        adopt_modules()
        return registration.make
