r"""FifteenPuzzle: slide numbered tiles into order on a square board with one gap.

Rewards: 1.0 when the tiles are in order, 0.0 for any other move. If the announced turns run out, the last turn earns
the fraction of the cells, the gap's included, that hold what they hold at the end.

Differs from the original: every puzzle can be solved within ``max_turns`` (unless the arguments ask for more, see
:class:`FifteenPuzzleEnv`), none is solved at the beginning, and two-row boards begin in many ways.
"""

from __future__ import annotations

import random
import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from gem.arguments import choice, integer
from gem.core import Info
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.text import boxed_pattern
from gem_envs_games.fifteen_puzzle_solver import solve
from gem_envs_games.game import ILLEGAL, LEGAL, MAX_TURNS, WON, Game, is_drawn

__all__ = ["FifteenPuzzleEnv", "FifteenPuzzlePolicy"]

_MOST_ROWS = 10
_LONGEST_WALK = 100  # by default; the length of the original's
_MOST_MOVES = 10_000  # that a caller may ask for
_TURNS = {2: 10, 3: 20, 4: 50}
"""Turns for the sizes that are drawn at random, as in the original."""
_DRAWN = tuple(_TURNS)
_GAP = "_"


class FifteenPuzzleEnv(Game):
    r"""Slide tiles with ``\boxed{up}``, ``down``, ``left`` or ``right``: the way a tile moves into the gap.

    Args:
        num_rows: rows and columns of the board, 2 … 10. ``"random"``: 2, 3 or 4, drawn at every reset.
        max_turns: moves that the agent is told it has. ``"random"``: 10, 20 or 50 for 2, 3 or 4 rows, 50 for more.
        init_algo: where a puzzle comes from. ``"monte_carlo"``: a random walk from the solved board that never takes
            back a move. ``"pure_random"``: any board that can be solved, all equally likely; not always within
            ``max_turns`` (the hardest takes 6, 31 and 80 moves with 2, 3 and 4 rows).
        mc_rand_moves: moves of the walk, 1 … 10,000. None: drawn at every reset from the upper half of
            1 … ``max_turns`` (at most 100), so that the puzzle can be solved in time; a given number beyond
            ``max_turns`` gives no such guarantee.
    """

    pattern = boxed_pattern("(up|down|left|right)")

    def __init__(
        self,
        num_rows: int | Literal["random"] | None = 3,
        max_turns: int | Literal["random"] | None = 20,
        init_algo: Literal["monte_carlo", "pure_random"] = "monte_carlo",
        mc_rand_moves: int | None = None,
    ) -> None:
        self._drawn = is_drawn(("num_rows",), (num_rows,))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        if not self._drawn:
            self.num_rows = integer("num_rows", num_rows, minimum=2, maximum=_MOST_ROWS)
            self.max_turns = _enough_turns(self.num_rows)
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self.init_algo = choice("init_algo", init_algo, ("monte_carlo", "pure_random"))
        if mc_rand_moves is not None:
            integer("mc_rand_moves", mc_rand_moves, minimum=1, maximum=_MOST_MOVES)
        self.mc_rand_moves = mc_rand_moves

    def _begin(self) -> None:
        if self._drawn:
            self.num_rows = _DRAWN[int(len(_DRAWN) * self.rng.random())]
            if self._turns_drawn:
                self.max_turns = _enough_turns(self.num_rows)
        if self.init_algo == "pure_random":
            tiles = _shuffled(self.num_rows, self.rng)
        else:
            tiles = _walk(self.num_rows, self.mc_rand_moves or self._walk_length(), self.rng)
        self._lay(tiles)

    def _walk_length(self) -> int:
        longest = min(self.max_turns, _LONGEST_WALK)
        return longest - int((longest + 1) // 2 * self.rng.random())

    def _lay(self, tiles: list[int]) -> None:
        """Make the board from the tiles cell by cell, 0 for the gap."""
        names = _names(self.num_rows)
        self._cells = list(_solved(self.num_rows))
        self._cells[::2] = [names[tile] for tile in tiles]
        self._gap = tiles.index(0)

    def _tiles(self) -> list[int]:
        return [0 if text.endswith(_GAP) else int(text) for text in self._cells[::2]]

    def _instructions(self) -> str:
        return _rules(self.num_rows, self.max_turns)

    def _board(self) -> str:
        return "".join(self._cells)

    def _play(self, move: re.Match[str]) -> tuple[str, float, int]:
        direction, cells, gap = move[1], self._cells, self._gap
        source = _slides(self.num_rows).sources[gap].get(direction)
        if source is None:
            return f"No tile can move {direction} into the gap.", 0.0, ILLEGAL
        # Every second entry is a tile; the blanks between them stay where they are.
        tile = cells[2 * source]
        cells[2 * source], cells[2 * gap] = cells[2 * gap], tile
        self._gap = source
        message = f"Tile {tile.strip()} has moved {direction}."
        if source == self.num_rows**2 - 1 and tuple(cells) == _solved(self.num_rows):
            return message, 1.0, WON
        return message, 0.0, LEGAL

    def _last_turn_reward(self, reward: float) -> float:
        in_place = sum(map(str.__eq__, self._cells[::2], _solved(self.num_rows)[::2]))
        return in_place / self.num_rows**2

    def _random_move(self) -> str:
        directions = list(_slides(self.num_rows).sources[self._gap])
        return directions[int(len(directions) * self.action_rng.random())]

    def _save(self) -> dict[str, Any]:
        return {"num_rows": self.num_rows, "max_turns": self.max_turns, "tiles": self._tiles()}

    def _load(self, episode: dict[str, Any]) -> None:
        num_rows = integer("num_rows", episode["num_rows"], minimum=2, maximum=_MOST_ROWS)
        max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        if not self._drawn and num_rows != self.num_rows:
            raise ArgumentError(f"made with num_rows={num_rows}, not {self.num_rows}")
        if not self._turns_drawn and max_turns != self.max_turns:
            raise ArgumentError(f"made with max_turns={max_turns}, not {self.max_turns}")
        tiles = [integer("tile", tile) for tile in episode["tiles"]]
        if sorted(tiles) != list(range(num_rows**2)) or not _can_be_solved(tiles, num_rows):
            raise ArgumentError(f"tiles must be a board that can be solved, got {tiles}")
        self.num_rows, self.max_turns = num_rows, max_turns
        self._lay(tiles)


class FifteenPuzzlePolicy(Policy[str, str]):
    """Searches for a solution within the turns (see :func:`gem_envs_games.fifteen_puzzle_solver.solve`)."""

    _TURNS = re.compile(r"Within (\d+) turns")
    _CELL = re.compile(r"\d+|_")
    _BOARD = re.compile(r"(?:^ *(?:\d+|_)(?: +(?:\d+|_))+\n)+", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        match = self._TURNS.search(observation)
        assert match is not None, observation
        self._turns_left = int(match[1])
        self._plan: list[str] = []

    def act(self, observation: str, info: Info) -> str:
        if not self._plan:
            # The instructions show the goal first.
            board = self._BOARD.findall(observation)[-1]
            tiles = [0 if text == _GAP else int(text) for text in self._CELL.findall(board)]
            self._plan = solve(bytes(tiles), _slides(board.count("\n")).sources, self._turns_left)[::-1]
        self._turns_left -= 1
        return f"\\boxed{{{self._plan.pop()}}}"


class _Slides(NamedTuple):
    """Which moves there are on a board of one size."""

    sources: tuple[dict[str, int], ...]
    """For each cell of the gap: direction → the cell of the tile that slides that way into the gap."""
    onward: tuple[tuple[tuple[int, ...], ...], ...]
    """For each cell of the gap and each cell that it was in before: where it can go but back. The row for "before"
    that is one past the last cell is without that restriction."""


@lru_cache(maxsize=16)
def _slides(num_rows: int) -> _Slides:
    cells = range(num_rows**2)
    sources = []
    for gap in cells:
        row, column = divmod(gap, num_rows)
        steps = {
            "up": (row + 1 < num_rows, num_rows),
            "down": (row > 0, -num_rows),
            "left": (column + 1 < num_rows, 1),
            "right": (column > 0, -1),
        }
        sources.append({direction: gap + step for direction, (inside, step) in steps.items() if inside})
    onward = tuple(
        tuple(tuple(cell for cell in sources[gap].values() if cell != before) for before in range(len(cells) + 1))
        for gap in cells
    )
    return _Slides(tuple(sources), onward)


def _enough_turns(num_rows: int) -> int:
    return _TURNS.get(num_rows, max(_TURNS.values()))


def _walk(num_rows: int, length: int, rng: random.Random) -> list[int]:
    """The board after ``length`` random moves from the solved one, none of which takes back the one before.

    A walk that ends at the solved board stops one move short of it.
    """
    onward, draw = _slides(num_rows).onward, rng.random
    goal = [*range(1, num_rows**2), 0]
    tiles = goal[:]
    gap, before = len(tiles) - 1, len(tiles)
    for _ in range(length):
        options = onward[gap][before]
        before, gap = gap, options[int(len(options) * draw())]
        tiles[before] = tiles[gap]
        tiles[gap] = 0
    if tiles == goal:
        tiles[gap], tiles[before] = tiles[before], 0
    return tiles


def _shuffled(num_rows: int, rng: random.Random) -> list[int]:
    """Any board but the solved one that can be solved."""
    goal = [*range(1, num_rows**2), 0]
    while True:
        tiles = goal[:]
        rng.shuffle(tiles)
        if not _can_be_solved(tiles, num_rows):
            # Exchanging two tiles turns an unsolvable board into a solvable one.
            first, second = [cell for cell in range(3) if tiles[cell]][:2]
            tiles[first], tiles[second] = tiles[second], tiles[first]
        if tiles != goal:
            return tiles


def _can_be_solved(tiles: list[int], num_rows: int) -> bool:
    """Tell whether slides lead from a board to the solved one.

    Each slide is a transposition and moves the gap by one cell, so the parity of the permutation equals that of the
    gap's distance from its corner; all such boards can be reached (W. E. Story, 1879).
    """
    goal = [(tile - 1) % len(tiles) for tile in tiles]
    cycles, seen = 0, [False] * len(tiles)
    for first in range(len(tiles)):
        cycles += not seen[first]
        cell = first
        while not seen[cell]:
            seen[cell] = True
            cell = goal[cell]
    row, column = divmod(tiles.index(0), num_rows)
    return (len(tiles) - cycles + row + column) % 2 == 0


@lru_cache(maxsize=16)
def _names(num_rows: int) -> tuple[str, ...]:
    """What the board shows for the gap and for each tile."""
    width = len(str(num_rows**2 - 1))
    return (_GAP.rjust(width), *(str(tile).rjust(width) for tile in range(1, num_rows**2)))


@lru_cache(maxsize=16)
def _solved(num_rows: int) -> tuple[str, ...]:
    """The solved board: for each cell its name, and the space or the line break that follows it."""
    gap, *tiles = _names(num_rows)
    blanks = (" " * (num_rows - 1) + "\n") * num_rows
    return tuple(text for pair in zip((*tiles, gap), blanks, strict=True) for text in pair)


@lru_cache(maxsize=64)
def _rules(num_rows: int, max_turns: int) -> str:
    return (
        f"You are playing the sliding puzzle with {num_rows**2 - 1} tiles on {num_rows} rows and {num_rows} columns; "
        f"{_GAP} is the gap. Within {max_turns} turns, bring the board into this order:\n{''.join(_solved(num_rows))}"
        "A move slides one tile that is next to the gap into the gap. Name the direction in which the tile moves: up "
        "(the tile below the gap), down (the one above it), left (the one to its right) or right (the one to its "
        "left).\n"
        "Put the direction in \\boxed{}, for example \\boxed{up}. "
        "Earlier turns are shown to you as the game goes on."
    )
