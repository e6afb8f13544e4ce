r"""The common part of the games of several players: turns, forfeits, observations, and reference policies for any seat.

The players act in turn; a move is the last ``\boxed{…}`` that fits the game's form. Every observation holds the rules,
what they pay included, the situation as this player sees it, and what has happened from the player's own last move on,
so that a player needs no memory. A player whose action has no move, or a move against the rules, forfeits: the game
ends, with -1.0 for this player and 0.0 for the others, who have earned nothing; in a fishery they keep their fish.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

from gem.action_forms import ActionForm, read_move
from gem.arguments import integer
from gem.core import Info
from gem.multiagent import MultiAgentEnv
from gem.multiagent.env import AgentsStepResult
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text import extract_last_tagged_answer

__all__ = ["FORFEIT", "NO_MOVE", "SEATS", "SeatedGameEnv", "SeatedGamePolicy", "one_line", "seat_names"]

SEATS = ("first", "second", "third", "fourth", "fifth", "sixth")
FORFEIT = -1.0
NO_MOVE = "no box holds a move."
"""Why a player forfeits whose action cannot be read."""

_YOUR_TURN = "It is your turn."
_LONGEST_MESSAGE = 300

MoveT = TypeVar("MoveT")


def seat_names(number: int, least: int, most: int) -> tuple[str, ...]:
    """Return the names of so many players.

    Raises:
        ArgumentError, ArgumentTypeError: if the number is no integer from ``least`` to ``most``.
    """
    return SEATS[: integer("seats", number, minimum=least, maximum=most)]


def one_line(text: str, most: int) -> str:
    """Return a player's words for others to read, on one line, so that they cannot pose as an event.

    Half of a surrogate pair becomes a question mark; what is longer than ``most`` characters is cut off.
    """
    return " ".join(text.encode(errors="replace").decode().split())[:most]


class SeatedGameEnv(MultiAgentEnv, Generic[MoveT]):
    """Players who act in turn, in the order of their names.

    A subclass writes ``_deal``, ``_rules``, ``_situation``, ``_moves`` and ``_move``; its ``saved`` extends
    ``SeatedGameEnv.common``.
    """

    common = StateFields(turn=int, events=list[str])
    talks: ClassVar[bool] = False
    """Whether all players hear what an action says in ``<say>…</say>``."""
    form: ActionForm[MoveT]
    after_forfeit = "scores nothing"
    """What every other player gets when one forfeits."""
    max_turns: int
    """Moves of all players together."""
    event: str
    """What the move that is being carried out does, as all players hear of it."""

    def __init__(self, players: Sequence[str], mode: Literal["sequential", "parallel"] = "sequential") -> None:
        super().__init__(players, mode=mode)

    @abstractmethod
    def _deal(self) -> None:
        """Set up a game, drawing from ``self.rng``."""

    @abstractmethod
    def _rules(self, player: str) -> str:
        """Return the rules, what they pay, and the form of a move, as a player reads them."""

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
        return self.possible_agents[self.turn % len(self.possible_agents)]

    def _acts(self, player: str) -> bool:
        """Return whether a player acts in the next step."""
        return player == self.to_move

    def observe(self, agent: str) -> str:
        two = len(self.possible_agents) == 2
        whose = _YOUR_TURN if self._acts(agent) else f"Wait for the other {'player' if two else 'players'}."
        rules = (
            f"{self._rules(agent)} A move in any other form, or against the rules, ends the game: it costs 1, and "
            f"{'the' if two else 'every'} other player {self.after_forfeit}."
        )
        parts = [rules, f"You are the {agent} player.", self._situation(agent), *self.events]
        return "\n".join(part for part in (*parts, "The game is over." if self._over else whose) if part)

    def _begin(self) -> None:
        self.turn, self._over = 0, False
        self.events: list[str] = []
        """The last moves, one of each player, oldest first: so the player to move sees what the own one has led to."""
        self._deal()

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        ((player, action),) = actions.items()
        move = read_move(self.form, action)
        self.event = ""
        result = None if move is None else self._move(player, move)
        self.turn += 1
        if move is None or isinstance(result, str):
            self.event = f"The {player} player forfeits: {result or NO_MOVE}"
        self.event += self._says(player, action)
        self.events = [*self.events, self.event][-len(self.possible_agents) :]
        if move is None or isinstance(result, str):
            return self._ended({player: FORFEIT}, {player: "malformed" if move is None else "illegal"})
        if result is None:
            return {}, {}, {}, {}, {player: {"action_status": "legal"}}
        return self._ended(result, {player: "legal"})

    def _says(self, player: str, action: object) -> str:
        said = one_line(extract_last_tagged_answer(action, "say") or "", _LONGEST_MESSAGE) if self.talks else ""
        return f"\nThe {player} player says: {said}" if said else ""

    def _ended(self, rewards: dict[str, float], statuses: dict[str, str]) -> AgentsStepResult:
        """Return the result of the last step of a game."""
        self._over = True
        infos: dict[str, Info] = {one: {"success": rewards.get(one, 0.0) > 0} for one in self.agents}
        for player, status in statuses.items():
            infos[player]["action_status"] = status
        undecided = self.turn == self.max_turns and not any(rewards.values())
        return {}, rewards, dict.fromkeys(self.agents, True), dict.fromkeys(self.agents, undecided), infos

    def _random_action(self, agent: str) -> str:
        return f"\\boxed{{{self.action_rng.choice(self._moves())}}}"

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("turn", self.turn, minimum=0, maximum=self.max_turns)
        self._over = not self.agents


class SeatedGamePolicy(Policy[dict[str, Any], dict[str, Any]]):
    """Plays whichever seats are to act, each from its own observation alone.

    A subclass writes ``answer``; in the rollout engine, or against other policies, that plays one seat.
    """

    def act(self, observation: dict[str, Any], info: Info) -> dict[str, Any]:
        """Return the actions of the players whose turn it is."""
        return {player: self.answer(text) for player, text in observation.items() if text.endswith(_YOUR_TURN)}

    @abstractmethod
    def answer(self, observation: str) -> str:
        """Return the action of the player who sees this observation."""
