r"""Maze: walk from the start to the goal, past doors that need their keys, with the whole maze in view or a part of it.

Reward: 1.0 at the goal, 0.0 for anything else. A move goes one way for some steps and ends early at a wall, at a door
whose key is missing, and at the goal. A key is picked up by walking over it. Every maze can be solved: each door lies
on the only way, and its key before it.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from gem.action_forms import BoxedPattern
from gem.arguments import integer, real
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_grid.grid_game import GridGame
from gem_envs_grid.maze.generator import DOORS, FLOOR, GOAL, KEYS, WALL, draw_maze
from gem_envs_grid.maze.planner import DIRECTIONS, MOST_STEPS, Place, plan
from gem_envs_grid.splits import in_split, split_name

__all__ = ["AGENT", "BEYOND", "MazeEnv", "MazePolicy"]

AGENT, BEYOND = "@", "~"
_LONGEST_SIDE = 25


class MazeEnv(GridGame[re.Match[str]]):
    r"""Walk with ``\boxed{right}`` (one step) or ``\boxed{right 3}`` (up to nine).

    Args:
        height, width: rows and columns of cells, 2 … 25.
        doors: closed doors on the way to the goal, 0 … 4.
        decoys: keys that open nothing, 0 … 2.
        loops: walls that are taken out of a maze without loops, as a share of its cells, 0 … 1.
        view: cells that the agent sees in each direction, 1 … 25; 0 for the whole maze.
        max_turns: moves that the instructions announce.
        split: ``"train"`` or ``"test"``. No maze is in both.
        format_penalty: points that an unreadable action costs, 0 … 1.
    """

    form = BoxedPattern(r"\s*(up|down|left|right)(?:\s+([1-9]))?\s*", re.IGNORECASE | re.ASCII)
    saved = StateFields(rows=tuple[str, ...], place=int, keys=str)
    legend: ClassVar[str] = (
        f"'{AGENT}' is you, '{GOAL}' the goal, '{WALL}' a wall, '{FLOOR}' floor. A small letter is a key, and the same "
        "letter as a capital the door that it opens. You pick up a key by walking over it. Between two cells stands "
        "a sign for what divides them, so a step from cell to cell is two signs long."
    )
    """Says what the signs of the picture or text stand for."""

    def __init__(
        self,
        height: int = 9,
        width: int = 9,
        doors: int = 0,
        decoys: int = 0,
        loops: float = 0.05,
        view: int = 0,
        max_turns: int = 60,
        split: str = "train",
        format_penalty: float = 0.0,
    ) -> None:
        self.height = integer("height", height, minimum=2, maximum=_LONGEST_SIDE)
        self.width = integer("width", width, minimum=2, maximum=_LONGEST_SIDE)
        self.doors = integer("doors", doors, minimum=0, maximum=4)
        self.decoys = integer("decoys", decoys, minimum=0, maximum=2)
        self.loops = real("loops", loops, minimum=0.0, maximum=1.0)
        self.view = integer("view", view, minimum=0, maximum=_LONGEST_SIDE)
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self.split = split_name(split)
        self._set_format_penalty(format_penalty)
        self._columns = 2 * self.width + 1
        self._steps = {name: down * self._columns + right for name, (down, right) in DIRECTIONS.items()}

    def _begin(self) -> None:
        while True:
            rows, place = draw_maze(self.rng, self.height, self.width, self.doors, self.decoys, self.loops)
            if in_split(f"{'/'.join(rows)} {place}", self.split):
                break
        self.rows, self.place, self.keys = rows, place, ""
        self._follow()

    def _follow(self) -> None:
        self._cells = "".join(self.rows)
        margin = _reach(self.view)
        side = BEYOND * margin
        rows = "\n".join(self.rows)
        for key in self.keys:
            rows = rows.replace(key, FLOOR)
        beyond = BEYOND * (self._columns + 2 * margin)
        # What is shown without the agent, with a margin in which its field of view can end.
        self._shown = [beyond] * margin + [f"{side}{row}{side}" for row in rows.split("\n")] + [beyond] * margin

    def _instructions(self) -> str:
        sight = (
            f"You see the cells up to {self.view} away from yours in each direction, walls or not; '{BEYOND}' lies "
            "beyond the maze. "
            if self.view
            else ""
        )
        decoys = " There may be keys that open no door." if self.decoys else ""
        return (
            f"You are in a maze of {self.height} rows and {self.width} columns of cells, with walls between some of "
            f"them. Reach the goal within {counted(self.max_turns, 'move')}, one a turn. {sight}{self.legend}{decoys}\n"
            "A move is a direction and a number of steps from cell to cell; it ends early at a wall, at a door whose "
            f"key you do not have, and at the goal. Put it in \\boxed{{}}: \\boxed{{up}} is one step up, \\boxed{{left "
            f"3}} is three to the left; {MOST_STEPS} are the most."
        )

    def _board(self) -> str:
        lines = self._picture()
        return f"{lines}\n{self._status()}" if self.view or self.keys else lines

    def _picture(self) -> str:
        """Return what the agent sees of the maze, one symbol for each wall, passage and cell."""
        row, column = divmod(self.place, self._columns)
        if not self.view:
            lines = self._shown.copy()
            line = lines[row]
            lines[row] = f"{line[:column]}{AGENT}{line[column + 1 :]}"
            return "\n".join(lines)
        reach = _reach(self.view)
        end = column + 2 * reach + 1
        lines = [line[column:end] for line in self._shown[row : row + 2 * reach + 1]]
        lines[reach] = f"{lines[reach][:reach]}{AGENT}{lines[reach][reach + 1 :]}"
        return "\n".join(lines)

    def _status(self) -> str:
        row, column = divmod(self.place, self._columns)
        held = f" Keys: {', '.join(self.keys)}." if self.keys else ""
        if not self.view:
            return held.strip()
        return f"You are in row {row // 2 + 1}, column {column // 2 + 1}.{held}"

    def _play(self, move: re.Match[str]) -> MoveResult:
        direction = move[1].lower()
        meant = int(move[2] or 1)
        step, cells, place = self._steps[direction], self._cells, self.place
        done, found, stop = 0, "", ""
        while done < meant:
            between = cells[place + step]
            if between == WALL:
                stop = "a wall"
                break
            if between in DOORS and between.lower() not in self.keys:
                stop = f"door {between}"
                break
            place += 2 * step
            done += 1
            symbol = cells[place]
            if symbol == GOAL:
                break
            if symbol in KEYS and symbol not in self.keys:
                self.keys = "".join(sorted(self.keys + symbol))
                found += f" You pick up key {symbol}."
        if not done:
            return illegal(f"You cannot move {direction}: there is {stop}.")
        self.place = place
        if found:
            self._follow()
        ends = f" and stop at {stop}" if stop else ""
        message = f"You move {done} {'step' if done == 1 else 'steps'} {direction}{ends}.{found}"
        return success(message) if cells[place] == GOAL else legal(message)

    def _random_action(self) -> str:
        direction = self.action_rng.choice(tuple(DIRECTIONS))
        return f"\\boxed{{{direction} {self.action_rng.randint(1, MOST_STEPS)}}}"

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        if [len(row) for row in self.rows] != [self._columns] * (2 * self.height + 1):
            raise ArgumentError(f"rows must be {2 * self.height + 1} rows of {self._columns} symbols")
        cells = "".join(self.rows)
        if not set(cells) <= {WALL, FLOOR, GOAL, *KEYS, *DOORS} or cells.count(GOAL) != 1:
            raise ArgumentError("rows must hold one goal, and walls, floor, keys and doors alone")
        if WALL * self._columns not in (self.rows[0], self.rows[-1]) or any(
            (row[0], row[-1]) != (WALL, WALL) for row in self.rows
        ):
            raise ArgumentError("rows must be surrounded by walls")
        row, column = divmod(integer("place", self.place, minimum=0, maximum=len(cells) - 1), self._columns)
        if row % 2 == 0 or column % 2 == 0:
            raise ArgumentError(f"place must be a cell, got row {row} and column {column} of the symbols")
        if self.keys != "".join(sorted(set(self.keys))) or not set(self.keys) <= set(KEYS):
            raise ArgumentError(f"keys must be letters of {KEYS} in order, got {self.keys!r:.40}")
        self._follow()


def _reach(view: int) -> int:
    """Return how many symbols an agent sees in each direction: also the walls of the last cells."""
    return 2 * view + 1 if view else 0


class MazePolicy(Policy[str, str]):
    """Walks the fewest moves to the goal; while that is not in view, to the nearest place that shows more."""

    _LINE = re.compile(rf"^[{re.escape(WALL + FLOOR + GOAL + AGENT + BEYOND)}{KEYS}{DOORS}]+$", re.MULTILINE)
    WHERE = re.compile(r"You are in row (\d+), column (\d+)\.")
    _KEYS = re.compile(r"Keys: ([a-z, ]+)\.$", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        self._known: dict[Place, str] = {}

    def act(self, observation: str, info: Info) -> str:
        keys = self._KEYS.search(observation)
        held = frozenset(keys[1].split(", ") if keys else ())
        lines = self._LINE.findall(observation)
        return self.choose(lines, self.WHERE.search(observation), held)

    def choose(self, lines: list[str], where: re.Match[str] | None, keys: frozenset[str]) -> str:
        """Return the action, given the lines of symbols in view, the row and column of the agent, and its keys."""
        across = next((row, line.index(AGENT)) for row, line in enumerate(lines) if AGENT in line)
        place = across if where is None else (2 * int(where[1]) - 1, 2 * int(where[2]) - 1)
        down, right = place[0] - across[0], place[1] - across[1]
        for row, line in enumerate(lines):
            for column, symbol in enumerate(line):
                if symbol != BEYOND:
                    self._known[row + down, column + right] = FLOOR if symbol == AGENT else symbol
        moves = plan(self._known, place, keys)
        direction, steps = moves[0] if moves else ("up", 1)
        return f"\\boxed{{{direction} {steps}}}"
