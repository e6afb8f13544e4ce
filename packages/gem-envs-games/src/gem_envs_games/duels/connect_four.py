r"""Connect Four: the players drop discs into columns; four in a row, in any direction, win."""

from __future__ import annotations

import re

from gem.action_forms import BoxedNumber
from gem.arguments import integer
from gem.errors import ArgumentError
from gem.state_fields import StateFields
from gem_envs_games.duels.seated_game import SeatedGamePolicy
from gem_envs_games.duels.two_players import PLAYERS, TwoPlayerEnv

__all__ = ["ConnectFourEnv", "ConnectFourPolicy"]

_DISCS = "XO"
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
_WIN = 4

Columns = list[str]
"""Of each column its discs, from the lowest up."""


class ConnectFourEnv(TwoPlayerEnv[int]):
    r"""Drop a disc with ``\boxed{column}``. Rewards: 1.0 and -1.0; 0.0 for both on a full board.

    Args:
        width: number of columns, 4 … 20.
        height: discs that a column holds, 4 … 20.
        opening: discs that are dropped at random before the game, an even number up to 6, so that games differ.
    """

    saved = TwoPlayerEnv.common | StateFields(columns=list[str])

    def __init__(self, width: int = 7, height: int = 6, opening: int = 2) -> None:
        super().__init__()
        self.width = integer("width", width, minimum=4, maximum=20)
        self.height = integer("height", height, minimum=4, maximum=20)
        if integer("opening", opening, minimum=0, maximum=6) % 2:
            raise ArgumentError(f"opening must be even, so that the first player begins, got {opening}")
        self.opening = opening
        self.form = BoxedNumber(1, self.width)
        self.max_turns = self.width * self.height - self.opening

    def _deal(self) -> None:
        self.columns = [""] * self.width
        for number in range(self.opening):  # at most three discs of a colour, which connect no four
            column = self.rng.choice([one for one in range(self.width) if len(self.columns[one]) < self.height])
            self.columns[column] += _DISCS[number % 2]

    def _rules(self, player: str) -> str:
        dropped = ""
        if self.opening:
            discs = "disc was" if self.opening == 1 else f"{self.opening} discs were"
            dropped = f"The first {discs} dropped at random. "
        return (
            f"Connect Four: two players in turn drop a disc into a column of the board, where it falls onto the discs "
            f"below; who first has {_WIN} in a row, column or diagonal wins and scores 1, and the other loses 1; on a "
            f"full board both score nothing. {dropped}Write the number of a column, "
            f"for example \\boxed{{3}}."
        )

    def _situation(self, player: str) -> str:
        rows = [
            " ".join(column[row] if row < len(column) else "." for column in self.columns)
            for row in reversed(range(self.height))
        ]
        numbers = " ".join(str(number % 10) for number in range(1, self.width + 1))
        return "\n".join([f"Your discs are {_DISCS[PLAYERS.index(player)]}.", *rows, numbers])

    def _moves(self) -> list[str]:
        return [str(number) for number, column in enumerate(self.columns, 1) if len(column) < self.height]

    def _move(self, player: str, move: int) -> dict[str, float] | str | None:
        if len(self.columns[move - 1]) >= self.height:
            return f"column {move} is full."
        self.columns[move - 1] += _DISCS[PLAYERS.index(player)]
        self.event = f"The {player} player dropped a disc into column {move}."
        if connects(self.columns, move - 1):
            self.event += f" The {player} player has {_WIN} in a row and wins."
            return {one: 1.0 if one == player else -1.0 for one in PLAYERS}
        if self._moves():
            return None
        self.event += " The board is full; nobody wins."
        return dict.fromkeys(PLAYERS, 0.0)

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        integer("number of columns", len(self.columns), minimum=self.width, maximum=self.width)
        for column in self.columns:
            integer("discs in a column", len(column), maximum=self.height)
            if column.strip(_DISCS):
                raise ValueError(f"discs are X or O, got {column!r}")


def connects(columns: Columns, column: int) -> bool:
    """Return whether the highest disc of a column is part of four in a row."""
    row = len(columns[column]) - 1
    disc = columns[column][row]

    def run(across: int, up: int) -> int:
        length, x, y = 0, column + across, row + up
        while 0 <= x < len(columns) and 0 <= y < len(columns[x]) and columns[x][y] == disc:
            length, x, y = length + 1, x + across, y + up
        return length

    return any(1 + run(across, up) + run(-across, -up) >= _WIN for across, up in _DIRECTIONS)


class ConnectFourPolicy(SeatedGamePolicy):
    """Wins at once, else prevents the other's win at once, else makes none possible; prefers the middle."""

    def answer(self, observation: str) -> str:
        """Return the best column by these rules."""
        own = re.findall(r"^Your discs are (\w)\.$", observation, re.MULTILINE)[0]
        other = _DISCS.replace(own, "")
        rows = [line.split() for line in re.findall(r"^[.XO](?: [.XO])+$", observation, re.MULTILINE)]
        columns = ["".join(discs[::-1]).rstrip(".") for discs in map("".join, zip(*rows, strict=True))]
        free = [column for column, discs in enumerate(columns) if len(discs) < len(rows)]
        free.sort(key=lambda column: abs(2 * column + 1 - len(columns)))

        def with_disc(board: Columns, column: int, disc: str) -> Columns:
            return [discs + disc if number == column else discs for number, discs in enumerate(board)]

        def wins(board: Columns, column: int, disc: str) -> bool:
            return len(board[column]) < len(rows) and connects(with_disc(board, column, disc), column)

        for disc in (own, other):
            for column in free:
                if wins(columns, column, disc):
                    return f"\\boxed{{{column + 1}}}"
        safe = [column for column in free if not wins(with_disc(columns, column, own), column, other)]
        return f"\\boxed{{{(safe or free)[0] + 1}}}"
