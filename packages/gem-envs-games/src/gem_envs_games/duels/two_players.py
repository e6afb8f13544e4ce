r"""The common part of the games for two: turns, forfeits, observations, and reference policies for either side.

The players act in turn; a move is the last ``\boxed{…}`` that fits the game's form. Every observation holds the rules,
the situation as this player sees it, and the last event, so that a player needs no memory. A player whose action has no
move, or a move against the rules, forfeits: the game ends, with -1.0 for this player and 0.0 for the other, who has
earned nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from gem.action_forms import ActionForm, read_move
from gem.core import Info
from gem.multiagent import MultiAgentEnv
from gem.multiagent.env import AgentsStepResult
from gem.policies import Policy
from gem.state_fields import StateFields

__all__ = ["FORFEIT", "PLAYERS", "TwoPlayerEnv", "TwoPlayerPolicy"]

PLAYERS = ("first", "second")
FORFEIT = -1.0

_YOUR_TURN = "It is your turn."

MoveT = TypeVar("MoveT")


class TwoPlayerEnv(MultiAgentEnv, Generic[MoveT]):
    """Two players, ``"first"`` and ``"second"``, who act in turn.

    A subclass writes ``_deal``, ``_rules``, ``_situation``, ``_moves`` and ``_move``; its ``saved`` extends
    ``TwoPlayerEnv.common``.
    """

    common = StateFields(turn=int, event=str)
    form: ActionForm[MoveT]
    max_turns: int
    """Moves of both players together."""

    def __init__(self) -> None:
        super().__init__(PLAYERS, mode="sequential")

    @abstractmethod
    def _deal(self) -> None:
        """Set up a game, drawing from ``self.rng``."""

    @abstractmethod
    def _rules(self) -> str:
        """Return the rules and the form of a move."""

    @abstractmethod
    def _situation(self, player: str) -> str:
        """Return the situation as a player sees it."""

    @abstractmethod
    def _moves(self) -> list[str]:
        """Return the texts of legal moves of the player to act, without their boxes."""

    @abstractmethod
    def _move(self, player: str, move: MoveT) -> dict[str, float] | str | None:
        """Carry out a move and set ``event``.

        Returns:
            None, the rewards if the game is over, or, if the move is against the rules, the reason.
        """

    @property
    def to_move(self) -> str:
        """The player who acts next."""
        return PLAYERS[self.turn % 2]

    def observe(self, agent: str) -> str:
        whose = _YOUR_TURN if agent == self.to_move else "Wait for the other player."
        rules = f"{self._rules()} A move in any other form, or against the rules, ends the game and costs 1."
        parts = [rules, f"You are the {agent} player.", self._situation(agent), self.event]
        return "\n".join(part for part in (*parts, "The game is over." if self._over else whose) if part)

    def _begin(self) -> None:
        self.turn, self.event, self._over = 0, "", False
        self._deal()

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        ((player, action),) = actions.items()
        move = read_move(self.form, action)
        result = None if move is None else self._move(player, move)
        self.turn += 1
        if move is None or isinstance(result, str):
            self.event = f"The {player} player forfeits: {result or 'no move was found.'}"
            status, rewards = "malformed" if move is None else "illegal", {player: FORFEIT}
        elif result is None:
            return {}, {}, {}, {}, {player: {"action_status": "legal"}}
        else:
            status, rewards = "legal", result
        self._over = True
        infos: dict[str, Info] = {one: {"success": rewards.get(one, 0.0) > 0} for one in self.agents}
        infos[player]["action_status"] = status
        undecided = self.turn == self.max_turns and not any(rewards.values())
        return {}, rewards, dict.fromkeys(self.agents, True), dict.fromkeys(self.agents, undecided), infos

    def _random_action(self, agent: str) -> str:
        return f"\\boxed{{{self.action_rng.choice(self._moves())}}}"

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self._over = not self.agents


class TwoPlayerPolicy(Policy[dict[str, Any], dict[str, Any]]):
    """Plays whichever side is to move, each from its own observation alone.

    A subclass writes ``answer``; in the rollout engine, or against another policy, that plays one side.
    """

    def act(self, observation: dict[str, Any], info: Info) -> dict[str, Any]:
        """Return the action of the player whose turn it is."""
        return {player: self.answer(text) for player, text in observation.items() if text.endswith(_YOUR_TURN)}

    @abstractmethod
    def answer(self, observation: str) -> str:
        """Return the action of the player who sees this observation."""
