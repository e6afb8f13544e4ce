"""All seats of a game of TextArena: ``textarena:TicTacToe-v0#2``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.arguments import integer, string
from gem.core import Info
from gem.errors import ArgumentTypeError
from gem.multiagent import MultiAgentEnv
from gem.multiagent.env import AgentsStepResult
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import MalformedActionError, text_of_action
from gem_bridges.replayed_env import SEED_BITS
from gem_bridges.textarena.game import MOST_PLAYERS, TextArenaGame, random_move

__all__ = ["TextArenaPlayersEnv"]


class TextArenaPlayersEnv(MultiAgentEnv):
    """A game of TextArena with an agent in every seat: ``player_0``, ``player_1`` and so on.

    One agent acts in a step; the game decides which. All agents stay until the end, when each gets its reward. An
    action that is no text is played as an empty one, which games treat as a move against the rules. A game that
    fails ends the episode: truncated for all, with ``info["error"]``.

    Args:
        game: id in TextArena's registry.
        players: number of players.
        kwargs: arguments of the game's class.
        max_turns: turns of all agents together after which an episode is truncated.

    Raises:
        NotSupportedError: if textarena is not installed.
        ArgumentError: if there is no such game, or it cannot be begun so.
    """

    def __init__(self, game: str, players: int, kwargs: Mapping[str, Any] | None = None, max_turns: int = 1000) -> None:
        self.game = string("game", game)
        self.players = integer("players", players, minimum=2, maximum=MOST_PLAYERS)
        if kwargs is not None and not isinstance(kwargs, Mapping):
            raise ArgumentTypeError(f"kwargs must be a dict, got an object of type {type(kwargs).__name__}")
        self.game_kwargs = dict(kwargs or {})
        self.max_turns = integer("max_turns", max_turns, minimum=1)
        super().__init__([f"player_{seat}" for seat in range(self.players)])
        self._game: TextArenaGame | None = None
        self._episode_seed = 0
        self._journal: list[str] = []
        self._open(0, [])

    @property
    def active_agents(self) -> list[str]:
        """The agent whose turn it is."""
        mover = self.agent_selection
        return [mover] if mover in self.agents else []

    @property
    def agent_selection(self) -> str | None:
        """The agent whose turn it is; None outside an episode."""
        return None if self._game is None or self._game.over else self.possible_agents[self._game.player]

    def observe(self, agent: str) -> str:
        return "" if self._game is None else self._game.observation(self.possible_agents.index(agent))

    def _begin(self) -> None:
        self._episode_seed, self._journal = self.rng.getrandbits(SEED_BITS), []
        self._game = self._open(self._episode_seed, [])

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        ((agent, action),) = actions.items()
        game = self._game
        assert game is not None
        status = "legal"
        try:
            text = text_of_action(action)
        except MalformedActionError:
            text, status = "", "malformed"
        self._journal.append(text)
        try:
            game.play(text)
            rewards = {one: game.reward(seat) for seat, one in enumerate(self.possible_agents)}
        except BridgeError as error:
            game.over = True
            failed: dict[str, Info] = {one: {"error": f"{type(error).__name__}: {error}"} for one in self.agents}
            return {}, {}, {}, dict.fromkeys(self.agents, True), failed
        if game.invalid and status == "legal":
            status = "illegal"
        infos: dict[str, Info] = {agent: {"action_status": status}}
        if game.over:
            infos = {one: {**infos.get(one, {}), "success": rewards[one] >= 1.0} for one in self.agents}
        truncated = not game.over and len(self._journal) >= self.max_turns
        return {}, rewards, dict.fromkeys(self.agents, game.over), dict.fromkeys(self.agents, truncated), infos

    def _random_action(self, agent: str) -> str:
        return random_move(self.observe(agent), self.action_rng)

    def _save(self) -> dict[str, Any]:
        return {"game": self.game, "seed": self._episode_seed, "journal": list(self._journal)}

    def _load(self, episode: dict[str, Any]) -> None:
        if episode["game"] != self.game:
            raise ValueError(f"the state is one of {episode['game']!r:.80}")
        self._episode_seed = integer("seed", episode["seed"], minimum=0, maximum=2**SEED_BITS - 1)
        self._journal = [str(text) for text in episode["journal"]]
        self._game = self._open(self._episode_seed, self._journal)

    def _open(self, seed: int, journal: list[str]) -> TextArenaGame:
        game = TextArenaGame(self.game, self.players, seed, self.game_kwargs)
        for text in journal:
            game.play(text)
        return game

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the game, which need not be picklable."""
        return {**self.__dict__, "_game": None, "_begun": self._game is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        begun = state.pop("_begun")
        self.__dict__.update(state)
        if begun:
            self._game = self._open(self._episode_seed, self._journal)
