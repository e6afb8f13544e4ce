r"""Sokoban: push every box onto a goal.

Rewards: 1.0 when every box is on a goal, 0.0 for any other move, possible or not. If the announced turns run out, the
last turn earns the fraction of the boxes that are on goals, independent of its move; as in the original, even if no box
was pushed.

With ``progress_reward`` (``game:Sokoban-v1``), each push earns the boxes that it brings onto goals beyond the most that
were on goals so far, as a share of those off the goals at the start. See
:class:`gem_envs_games.game.ProgressPayment`.

Every room can be solved within the announced turns, and at its start at least one box is off the goals; the original
has rooms without a solution in time. A player on a goal is shown as ``+``; the original shows ``P`` there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import boolean, integer
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentTypeError
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.game import Game, ProgressPayment, is_drawn
from gem_envs_games.sokoban_generator import draw_room
from gem_envs_games.sokoban_room import (
    BOX,
    BOX_ON_GOAL,
    DIRECTIONS,
    FLOOR,
    GOAL,
    LONGEST_SIDE,
    PLAYER,
    PLAYER_ON_GOAL,
    SHORTEST_SIDE,
    SYMBOLS,
    WALL,
    from_rows,
    most_boxes,
    to_rows,
)
from gem_envs_games.sokoban_solver import solve

__all__ = ["SokobanEnv", "SokobanPolicy"]

_DRAWN = ((6, 6, 2), (8, 8, 5))
_TURNS_PER_BOX = 10


class SokobanEnv(Game[re.Match[str]]):
    r"""Walk and push with ``\boxed{up}``, ``\boxed{down}``, ``\boxed{left}`` or ``\boxed{right}``.

    Args:
        dim_room: rows and columns of the room, outer walls included, each 5 … 20.
        num_boxes: boxes and goals, from 1 to one for each four cells within the outer walls.
        max_turns: moves that the instructions announce. ``"random"``: ten for each box.
        progress_reward: pay progress, push by push, and nothing for boxes that were on goals at the start.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.

    ``dim_room`` and ``num_boxes`` both ``"random"``: 6 × 6 with 2 boxes or 8 × 8 with 5, drawn at every reset.
    """

    form = BoxedPattern(r"(up|down|left|right)", re.IGNORECASE | re.ASCII)

    def __init__(
        self,
        dim_room: Sequence[int] | Literal["random"] | None = (7, 7),
        num_boxes: int | Literal["random"] | None = 3,
        max_turns: int | Literal["random"] | None = 30,
        progress_reward: bool = False,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self.progress_reward = boolean("progress_reward", progress_reward)
        self._progress: ProgressPayment | None = None
        self._drawn = is_drawn(("dim_room", "num_boxes"), (dim_room, num_boxes))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        if not self._drawn:
            if not isinstance(dim_room, (list, tuple)) or len(dim_room) != 2:
                raise ArgumentTypeError(
                    f"dim_room must be a list of two ints, got an object of type {type(dim_room).__name__}"
                )
            rows = integer("rows of dim_room", dim_room[0], minimum=SHORTEST_SIDE, maximum=LONGEST_SIDE)
            columns = integer("columns of dim_room", dim_room[1], minimum=SHORTEST_SIDE, maximum=LONGEST_SIDE)
            self.dim_room = rows, columns
            self.num_boxes = integer("num_boxes", num_boxes, minimum=1, maximum=most_boxes(rows, columns))
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)

    def _begin(self) -> None:
        if self._drawn:
            rows, columns, self.num_boxes = self.rng.choice(_DRAWN)
            self.dim_room = rows, columns
        if self._turns_drawn:
            self.max_turns = _TURNS_PER_BOX * self.num_boxes
        self._set_rows(to_rows(draw_room(self.rng, *self.dim_room, self.num_boxes, self.max_turns)))
        if self.progress_reward:
            self._progress = ProgressPayment(self._cells.count(BOX_ON_GOAL), self.num_boxes)

    def _set_rows(self, rows: list[str]) -> None:
        columns = len(rows[0])
        self._cells = list("".join(rows))
        self._player = next(cell for cell, symbol in enumerate(self._cells) if symbol in (PLAYER, PLAYER_ON_GOAL))
        self._steps = {"up": -columns, "down": columns, "left": -1, "right": 1}
        # All that does not change of a drawn board: a gap between columns, the columns' numbers, the rows' numbers.
        self._gap = " " * len(str(columns - 1))
        numbers = "".join(f"{column:>{len(self._gap) + 1}}" for column in range(columns))
        self._header = f"  {numbers}\n"
        self._labels = [(f"{row:>2}{self._gap}", row * columns) for row in range(len(rows))]

    def _instructions(self) -> str:
        rows, columns = self.dim_room
        boxes = "is one box and one goal" if self.num_boxes == 1 else f"are {self.num_boxes} boxes and as many goals"
        return (
            f"You are playing Sokoban in a room of {rows} rows and {columns} columns. There {boxes}. Push every box "
            f"onto a goal within {counted(self.max_turns, 'turn')}. Each turn you move to the next cell up, down, left "
            "or right. If a box is there, you push it one cell further, which must be free; you cannot push two boxes "
            "at once, nor pull one.\n"
            f"'{PLAYER}' is you, '{PLAYER_ON_GOAL}' is you on a goal, '{WALL}' a wall, '{BOX}' a box, '{GOAL}' a goal, "
            f"'{BOX_ON_GOAL}' a box on a goal, '{FLOOR}' free floor.\n"
            "Put the direction in \\boxed{}, for example \\boxed{up}."
        )

    def _board(self) -> str:
        cells, gap, columns = self._cells, self._gap, self.dim_room[1]
        lines = [label + gap.join(cells[start : start + columns]) for label, start in self._labels]
        return self._header + "\n".join(lines)

    def _play(self, move: re.Match[str]) -> MoveResult:
        direction = move[1].lower()
        cells, player, step = self._cells, self._player, self._steps[direction]
        target = player + step
        found = cells[target]
        if found == WALL:
            return illegal(f"A wall stops you from moving {direction}.")
        pushes = found in (BOX, BOX_ON_GOAL)
        if pushes:
            beyond = cells[target + step]
            if beyond not in (FLOOR, GOAL):
                return illegal(f"The box cannot be pushed {direction}.")
            cells[target + step] = BOX if beyond == FLOOR else BOX_ON_GOAL
        cells[player] = FLOOR if cells[player] == PLAYER else GOAL
        cells[target] = PLAYER if found in (FLOOR, BOX) else PLAYER_ON_GOAL
        self._player = target
        if not pushes:
            return legal(f"You have moved {direction}.")
        message = f"You have pushed a box {direction}."
        if self._progress is not None:
            reward = self._progress.pay(cells.count(BOX_ON_GOAL))
            return legal(message, reward) if BOX in cells else success(message, reward)
        return legal(message) if BOX in cells else success(message)

    def _last_turn_reward(self, reward: float) -> float:
        if self.progress_reward:
            return reward
        return self._cells.count(BOX_ON_GOAL) / self.num_boxes

    def _random_move(self) -> str:
        moves = [direction for direction in DIRECTIONS if self._is_possible(self._steps[direction])]
        return self.action_rng.choice(moves or DIRECTIONS)

    def _is_possible(self, step: int) -> bool:
        found = self._cells[self._player + step]
        if found in (BOX, BOX_ON_GOAL):
            found = self._cells[self._player + 2 * step]
        return found in (FLOOR, GOAL)

    def _save(self) -> dict[str, Any]:
        columns, text = self.dim_room[1], "".join(self._cells)
        rows = [text[start : start + columns] for start in range(0, len(text), columns)]
        saved: dict[str, Any] = {"max_turns": self.max_turns, "rows": rows}
        return saved if self._progress is None else {**saved, "progress": self._progress.save()}

    def _load(self, episode: dict[str, Any]) -> None:
        self.max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        room = from_rows(episode["rows"])
        self.dim_room = room.rows, room.columns
        self.num_boxes = room.boxes.bit_count()
        self._set_rows(to_rows(room))
        if self.progress_reward:
            done = self._cells.count(BOX_ON_GOAL)
            self._progress = ProgressPayment.load(episode["progress"], self.num_boxes, done)


class SokobanPolicy(Policy[str, str]):
    """Plays a shortest solution of the room that it sees first."""

    _TURNS = re.compile(r"within (\d+) turns?")
    _ROW = re.compile(rf"^ *(\d+) +([{re.escape(SYMBOLS)}](?: +[{re.escape(SYMBOLS)}])*)$", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        match = self._TURNS.search(observation)
        assert match is not None, observation
        self._turns_left = int(match[1])
        self._plan: list[str] = []

    def act(self, observation: str, info: Info) -> str:
        if not self._plan:
            rows = [symbols.replace(" ", "") for _, symbols in self._ROW.findall(observation)]
            # Without a solution, one move is as good as another.
            self._plan = solve(from_rows(rows), self._turns_left) or [DIRECTIONS[0]] * self._turns_left
        self._turns_left -= 1
        return f"\\boxed{{{self._plan.pop(0)}}}"
