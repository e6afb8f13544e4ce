r"""TowerofHanoi: carry a tower of disks from peg A to peg C, one disk at a time.

Rewards: 1.0 when every disk is on C, 0.0 for any other move. If the announced turns run out, the last turn earns
the fraction of the disks that are on C, independent of its move.

A move from a peg to the same peg moves nothing and is illegal; the original called it legal. It earns 0.0 in both.
The original's pattern took quadratic time on a long run of spaces; this one accepts the same moves in linear time.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import integer
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.game import Game, is_drawn

__all__ = ["TowerofHanoiEnv", "TowerofHanoiPolicy"]

_MOST_DISKS = 12
_PEGS = "ABC"
_PEG = {name: number for number, name in enumerate(_PEGS)}
_MOVES = [(source, target) for source in range(3) for target in range(3) if source != target]

_TURNS = {3: 10, 4: 20, 5: 35}
"""Turns for the numbers of disks that are drawn at random, as in the original."""
_DRAWN = tuple(_TURNS)


class TowerofHanoiEnv(Game[re.Match[str]]):
    r"""Move all disks from peg A to peg C with ``\boxed{source target}``, never a larger disk onto a smaller one.

    Args:
        num_disks: 1 … 12 disks, numbered by size; n disks need 2ⁿ - 1 moves. ``"random"``: 3, 4 or 5, drawn at every
            reset.
        max_turns: moves that the instructions announce. ``"random"``: enough for the number of disks (10, 20 or 35
            for 3, 4 or 5).
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.
    """

    # One run of spaces, then perhaps a comma with another: no two repetitions compete for the same space.
    form = BoxedPattern(r"([ABCabc])(?:\s*,)?\s*([ABCabc])")

    def __init__(
        self,
        num_disks: int | Literal["random"] | None = 4,
        max_turns: int | Literal["random"] | None = 20,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self._drawn = is_drawn(("num_disks",), (num_disks,))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        if not self._drawn:
            self.num_disks = integer("num_disks", num_disks, minimum=1, maximum=_MOST_DISKS)
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)

    def _begin(self) -> None:
        if self._drawn:
            # choice() takes several times as long: as much as the rest of a reset.
            self.num_disks = _DRAWN[int(len(_DRAWN) * self.rng.random())]
        if self._turns_drawn:
            self.max_turns = _enough_turns(self.num_disks)
        # A peg is a set of disks: bit k - 1 stands for disk k, so the lowest bit is the disk on top.
        self._pegs = [(1 << self.num_disks) - 1, 0, 0]

    def _instructions(self) -> str:
        return _rules(self.num_disks, self.max_turns)

    def _board(self) -> str:
        first, second, third = self._pegs
        return _draw(self.num_disks, first, second, third)

    def _play(self, move: re.Match[str]) -> MoveResult:
        source, target = move[1].upper(), move[2].upper()
        if source == target:
            return illegal("A move needs two different pegs.")
        pegs, giving, taking = self._pegs, _PEG[source], _PEG[target]
        top = pegs[giving] & -pegs[giving]
        cover = pegs[taking] & -pegs[taking]
        disk = top.bit_length()
        if not top:
            return illegal(f"Peg {source} is empty.")
        if 0 < cover < top:
            return illegal(f"Disk {disk} must not lie on disk {cover.bit_length()}, the top of peg {target}.")
        pegs[giving] ^= top
        pegs[taking] ^= top
        message = f"Disk {disk} has moved from peg {source} to peg {target}."
        if pegs[0] or pegs[1]:
            return legal(message)
        return success(message)

    def _last_turn_reward(self, reward: float) -> float:
        return self._pegs[2].bit_count() / self.num_disks

    def _random_move(self) -> str:
        tops = [peg & -peg for peg in self._pegs]
        source, target = self.action_rng.choice(
            [(s, t) for s, t in _MOVES if tops[s] and (tops[s] < tops[t] or not tops[t])]
        )
        return f"{_PEGS[source]} {_PEGS[target]}"

    def _save(self) -> dict[str, Any]:
        return {"num_disks": self.num_disks, "max_turns": self.max_turns, "pegs": [_disks(peg) for peg in self._pegs]}

    def _load(self, episode: dict[str, Any]) -> None:
        self.num_disks = integer("num_disks", episode["num_disks"], minimum=1, maximum=_MOST_DISKS)
        self.max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        disks = [integer("disk", disk, minimum=1, maximum=_MOST_DISKS) for peg in episode["pegs"] for disk in peg]
        if sorted(disks) != list(range(1, self.num_disks + 1)):
            raise ArgumentError(f"pegs must hold each of the {self.num_disks} disks once, got {episode['pegs']!r}")
        first, second, third = episode["pegs"]
        self._pegs = [sum(1 << (disk - 1) for disk in peg) for peg in (first, second, third)]


class TowerofHanoiPolicy(Policy[str, str]):
    """Plays the shortest solution from any position.

    The largest misplaced disk must move once, and all smaller disks must first be on the third peg. Going down the
    sizes leads to the disk that moves now.
    """

    _PEG_LINE = re.compile(r"^([ABC]) \[([\d ]*)\]", re.MULTILINE)

    def act(self, observation: str, info: Info) -> str:
        stacks = self._PEG_LINE.findall(observation)[-3:]
        where = {int(disk): _PEG[peg] for peg, disks in stacks for disk in disks.split()}
        target, move = 2, (0, 2)
        for disk in sorted(where, reverse=True):
            if where[disk] != target:
                move = (where[disk], target)
                target = 3 - where[disk] - target
        return f"\\boxed{{{_PEGS[move[0]]} {_PEGS[move[1]]}}}"


def _enough_turns(num_disks: int) -> int:
    return _TURNS.get(num_disks, (1 << num_disks) + num_disks)


def _disks(peg: int) -> list[int]:
    """Return the disks on a peg, from the bottom up."""
    return [disk for disk in range(peg.bit_length(), 0, -1) if peg & (1 << (disk - 1))]


@lru_cache(maxsize=64)
def _rules(num_disks: int, max_turns: int) -> str:
    disks = "disk is" if num_disks == 1 else f"{num_disks} disks, numbered from 1 (smallest) to {num_disks}, are"
    return (
        f"You are playing Tower of Hanoi. There are three pegs: A, B and C. The {disks} on peg A. Move the whole tower "
        f"to peg C within {counted(max_turns, 'turn')}. A move takes the top disk of one peg and puts it on top of "
        "another peg; a disk must never lie on a smaller one.\n"
        "Put the peg to take from and the peg to put on in \\boxed{}, for example \\boxed{A B}."
    )


@lru_cache(maxsize=1024)  # the positions of up to six disks; a longer game goes through many more, each once
def _draw(num_disks: int, *pegs: int) -> str:
    """Return the three pegs side by side, and the disks on each as a list."""
    width = 2 * num_disks + 3
    stacks = [_disks(peg) for peg in pegs]
    lines = []
    for height in range(num_disks, -1, -1):
        row = [_draw_disk(stack[height]) if height < len(stack) else "|" for stack in stacks]
        lines.append("".join(part.center(width) for part in row).rstrip())
    lines.append("".join(name.center(width, "-") for name in _PEGS))
    lists = "\n".join(f"{name} [{' '.join(map(str, stack))}]" for name, stack in zip(_PEGS, stacks, strict=True))
    return "\n".join(lines) + f"\nThe disks on each peg, from bottom to top:\n{lists}"


def _draw_disk(disk: int) -> str:
    return f"[{str(disk).center(2 * disk - 1, '=')}]"
