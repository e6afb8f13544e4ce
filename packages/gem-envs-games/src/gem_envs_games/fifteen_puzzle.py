r"""FifteenPuzzle: slide numbered tiles into order on a square board with one gap.

Rewards: 1.0 when the tiles are in order, 0.0 for any other move. If the announced turns run out, the last turn earns
the fraction of the cells, the gap's included, with the right content; as in the original, even if no tile has moved.

With ``progress_reward`` (``game:FifteenPuzzle-v1``), each move earns the tiles that it brings into place beyond the
most that were in place so far, as a share of those out of place at the start. See
:class:`gem_envs_games.game.ProgressPayment`.

Differs from the original: every puzzle can be solved within ``max_turns`` (unless the arguments ask for more, see
:class:`FifteenPuzzleEnv`), none is solved at the beginning, and two-row boards begin in many ways.
"""

from __future__ import annotations

import random
import re
from functools import lru_cache
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import boolean, choice, integer
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.fifteen_puzzle_solver import solve
from gem_envs_games.game import Game, ProgressPayment, is_drawn

__all__ = ["FifteenPuzzleEnv", "FifteenPuzzlePolicy"]

_MOST_ROWS = 10
_LONGEST_WALK = 100  # by default; the length of the original's
_MOST_MOVES = 10_000  # the largest that a caller may request
_TURNS = {2: 10, 3: 20, 4: 50}
"""Turns for the sizes that are drawn at random, as in the original."""
_DRAWN = tuple(_TURNS)
_GAP = "_"


class FifteenPuzzleEnv(Game[re.Match[str]]):
    r"""Slide tiles with ``\boxed{up}``, ``down``, ``left`` or ``right``: the direction of the tile.

    Args:
        num_rows: rows and columns of the board, 2 … 10. ``"random"``: 2, 3 or 4, drawn at every reset.
        max_turns: moves that the instructions announce. ``"random"``: 10, 20 or 50 for 2, 3 or 4 rows, 50 for more.
        init_algo: source of a puzzle. ``"monte_carlo"``: a random walk from the solved board that never takes
            back a move. ``"pure_random"``: any board that can be solved, all equally likely; not always within
            ``max_turns`` (the hardest takes 6, 31 and 80 moves with 2, 3 and 4 rows).
        mc_rand_moves: moves of the walk, 1 … 10,000. None: drawn at every reset from the upper half of
            1 … ``max_turns`` (at most 100), so that the puzzle can be solved in time; a given number beyond
            ``max_turns`` gives no such guarantee.
        progress_reward: pay progress, move by move, and nothing for tiles that were in place at the start.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.
    """

    form = BoxedPattern("(up|down|left|right)")

    def __init__(
        self,
        num_rows: int | Literal["random"] | None = 3,
        max_turns: int | Literal["random"] | None = 20,
        init_algo: Literal["monte_carlo", "pure_random"] = "monte_carlo",
        mc_rand_moves: int | None = None,
        progress_reward: bool = False,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self.progress_reward = boolean("progress_reward", progress_reward)
        self._progress: ProgressPayment | None = None
        self._drawn = is_drawn(("num_rows",), (num_rows,))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        if not self._drawn:
            self._set_rows(integer("num_rows", num_rows, minimum=2, maximum=_MOST_ROWS))
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self.init_algo = choice("init_algo", init_algo, ("monte_carlo", "pure_random"))
        if mc_rand_moves is not None:
            integer("mc_rand_moves", mc_rand_moves, minimum=1, maximum=_MOST_MOVES)
        self.mc_rand_moves = mc_rand_moves

    def _set_rows(self, num_rows: int) -> None:
        self.num_rows = num_rows
        self._frame = "\n".join([" ".join(["%s"] * num_rows)] * num_rows)
        if self._turns_drawn:
            self.max_turns = _enough_turns(num_rows)

    def _begin(self) -> None:
        rng = self.rng
        if self._drawn:
            self._set_rows(_DRAWN[int(len(_DRAWN) * rng.random())])
        if self.init_algo == "pure_random":
            self._lay(_shuffled(self.num_rows, rng))
        else:
            length = self.mc_rand_moves
            if length is None:
                longest = self.max_turns if self.max_turns < _LONGEST_WALK else _LONGEST_WALK
                length = longest - int((longest + 1) // 2 * rng.random())
            self._cells, self._gap = _walk(self.num_rows, length, rng)
        if self.progress_reward:
            self._progress = ProgressPayment(self._tiles_in_place(), self.num_rows**2 - 1)

    def _lay(self, tiles: list[int]) -> None:
        """Make the board from the tiles cell by cell, 0 for the gap."""
        names = _names(self.num_rows)
        self._cells = [names[tile] for tile in tiles]
        self._gap = tiles.index(0)

    def _instructions(self) -> str:
        return _rules(self.num_rows, self.max_turns, self._frame)

    def _board(self) -> str:
        return self._frame % tuple(self._cells)

    def _play(self, move: re.Match[str]) -> MoveResult:
        direction, cells, gap = move[1], self._cells, self._gap
        source = _sources(self.num_rows)[gap].get(direction)
        if source is None:
            return illegal(f"No tile can move {direction} into the gap.")
        cells[source], cells[gap] = cells[gap], cells[source]
        self._gap = source
        message = f"Tile {cells[gap].strip()} has moved {direction}."
        solved = source == self.num_rows**2 - 1 and tuple(cells) == _solved(self.num_rows)
        if self._progress is not None:
            reward = self._progress.pay(self._tiles_in_place())
            return success(message, reward) if solved else legal(message, reward)
        return success(message) if solved else legal(message)

    def _tiles_in_place(self) -> int:
        return sum(map(str.__eq__, self._cells[:-1], _solved(self.num_rows)))

    def _last_turn_reward(self, reward: float) -> float:
        if self.progress_reward:
            return reward
        return sum(map(str.__eq__, self._cells, _solved(self.num_rows))) / self.num_rows**2

    def _random_move(self) -> str:
        directions = list(_sources(self.num_rows)[self._gap])
        return directions[int(len(directions) * self.action_rng.random())]

    def _save(self) -> dict[str, Any]:
        tiles = [0 if cell == self._gap else int(name) for cell, name in enumerate(self._cells)]
        saved: dict[str, Any] = {"num_rows": self.num_rows, "max_turns": self.max_turns, "tiles": tiles}
        return saved if self._progress is None else {**saved, "progress": self._progress.save()}

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
        self._set_rows(num_rows)
        self.max_turns = max_turns
        self._lay(tiles)
        if self.progress_reward:
            self._progress = ProgressPayment.load(episode["progress"], num_rows**2 - 1, self._tiles_in_place())


class FifteenPuzzlePolicy(Policy[str, str]):
    """Searches for a solution within the turns (see :func:`gem_envs_games.fifteen_puzzle_solver.solve`)."""

    _TURNS = re.compile(r"Within (\d+) turns?")
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
            self._plan = solve(bytes(tiles), _sources(board.count("\n")), self._turns_left)[::-1]
        self._turns_left -= 1
        return f"\\boxed{{{self._plan.pop()}}}"


def _enough_turns(num_rows: int) -> int:
    return _TURNS.get(num_rows, max(_TURNS.values()))


@lru_cache(maxsize=16)
def _sources(num_rows: int) -> tuple[dict[str, int], ...]:
    """Return for each cell of the gap: direction → the cell of the tile that slides that way into the gap."""
    sources = []
    for gap in range(num_rows**2):
        row, column = divmod(gap, num_rows)
        steps = {
            "up": (row + 1 < num_rows, num_rows),
            "down": (row > 0, -num_rows),
            "left": (column + 1 < num_rows, 1),
            "right": (column > 0, -1),
        }
        sources.append({direction: gap + step for direction, (inside, step) in steps.items() if inside})
    return tuple(sources)


_Ways = list[tuple[int, "_Ways"]]
"""For each random byte: the next cell of the gap, and the ways on from there."""


@lru_cache(maxsize=16)
def _start(num_rows: int) -> tuple[tuple[str, ...], _Ways]:
    """Return the start of a walk: the solved board and the ways from there. No way undoes the previous move.

    A table for each pair of the gap's cell and the one before makes a walk one look-up a move. Of the 256 bytes, each
    of three ways gets 85 or 86.
    """
    sources = _sources(num_rows)
    last = len(sources) - 1
    begin = last, last  # no cell is its own neighbour, so this pair rules out no way
    pairs = [(cell, gap) for gap, around in enumerate(sources) for cell in around.values()]
    tables: dict[tuple[int, int], _Ways] = {pair: [] for pair in (*pairs, begin)}
    for (before, gap), table in tables.items():
        ways = [(cell, tables[gap, cell]) for cell in sources[gap].values() if cell != before]
        table += [ways[byte * len(ways) // 256] for byte in range(256)]
    return _solved(num_rows), tables[begin]


def _walk(num_rows: int, length: int, rng: random.Random) -> tuple[list[str], int]:
    """Return the board after ``length`` random moves from the solved one, and the cell of its gap.

    No move takes back the one before. A walk that ends at the solved board goes one move further.
    """
    if num_rows == 2:
        cells, gap = _ring_walk(length, rng.random() < 0.5)
        return list(cells), gap
    return _after(num_rows, rng.randbytes(length))


@lru_cache(maxsize=256)
def _ring_walk(length: int, first_way: bool) -> tuple[tuple[str, ...], int]:
    """Return a walk on a board of 2 rows, which after its first move has only one continuation."""
    cells, gap = _after(2, bytes([255 * first_way]) * length)
    return tuple(cells), gap


def _after(num_rows: int, steps: bytes) -> tuple[list[str], int]:
    """Take one move for each byte, which chooses among the ways on."""
    solved, ways = _start(num_rows)
    cells = list(solved)
    gap = len(cells) - 1
    for byte in steps:
        following, ways = ways[byte]
        cells[gap] = cells[following]
        gap = following
    cells[gap] = solved[-1]
    if gap == len(cells) - 1 and tuple(cells) == solved:
        following, _ = ways[0]
        cells[gap], cells[following], gap = cells[following], cells[gap], following
    return cells, gap


def _shuffled(num_rows: int, rng: random.Random) -> list[int]:
    """Return any solvable board but the solved one."""
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
    """Return whether slides lead from a board to the solved one.

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
    """Return the text of the gap and of each tile on the board."""
    width = len(str(num_rows**2 - 1))
    return (_GAP.rjust(width), *(str(tile).rjust(width) for tile in range(1, num_rows**2)))


@lru_cache(maxsize=16)
def _solved(num_rows: int) -> tuple[str, ...]:
    """Return the content of each cell of the solved board."""
    gap, *tiles = _names(num_rows)
    return (*tiles, gap)


@lru_cache(maxsize=64)
def _rules(num_rows: int, max_turns: int, frame: str) -> str:
    return (
        f"You are playing the sliding puzzle with {num_rows**2 - 1} tiles on {num_rows} rows and {num_rows} columns; "
        f"{_GAP} is the gap. Within {counted(max_turns, 'turn')}, bring the board into this order:\n"
        f"{frame % _solved(num_rows)}\n"
        "A move slides one tile that is next to the gap into the gap. Name the direction in which the tile moves: up "
        "(the tile below the gap), down (the one above it), left (the one to its right) or right (the one to its "
        "left).\n"
        "Put the direction in \\boxed{}, for example \\boxed{up}."
    )
