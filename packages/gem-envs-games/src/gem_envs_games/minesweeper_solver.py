"""Exact probabilities of mines, given a Minesweeper board."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

__all__ = ["HIDDEN", "mine_chances"]

HIDDEN = -1

_NEED_BITS = 4  # a number is at most 8


def mine_chances(board: Sequence[int], around: Sequence[Sequence[int]], num_mines: int) -> dict[int, float]:
    """Return for each hidden cell the probability that it holds a mine, exactly 0.0 for a safe one.

    All ways to lay the mines that agree with the board are equally likely, and are counted by dynamic programming.
    Hidden cells that touch the same numbers form a group; only the number of mines in each group matters. Groups are
    decided one after another. The state is the number of mines that each number still needs; for each state a
    polynomial counts the ways to get there, the coefficient of xᵐ those with m mines so far. A second pass, from the
    end, counts the ways to continue. Polynomials are ints, ``width`` bits a coefficient, so that a shift multiplies by
    x.

    Args:
        board: for each cell the number of mines around it, or HIDDEN.
        around: for each cell its neighbours.
        num_mines: mines on the whole board.

    Raises:
        ZeroDivisionError: if no way to lay the mines agrees with the board.
    """
    numbers = [cell for cell, number in enumerate(board) if number != HIDDEN]
    numbers = [cell for cell in numbers if any(board[other] == HIDDEN for other in around[cell])]
    position = {cell: index for index, cell in enumerate(numbers)}
    groups: dict[tuple[int, ...], list[int]] = {}
    for cell, number in enumerate(board):
        if number == HIDDEN:
            groups.setdefault(tuple(position[other] for other in around[cell] if other in position), []).append(cell)
    # Neighbouring groups follow each other, which keeps the states few; the cells that touch no number come last.
    order = sorted(groups, key=lambda touched: touched or (len(numbers),))

    width = sum(map(len, groups.values())) + 1
    mask = (1 << width) - 1
    free = [sum(board[other] == HIDDEN for other in around[cell]) for cell in numbers]
    ways_to = [{sum(board[cell] << _NEED_BITS * index for index, cell in enumerate(numbers)): 1}]
    steps: list[list[tuple[int, int, int, int]]] = []
    for touched in order:
        size = len(groups[touched])
        one_each = sum(1 << _NEED_BITS * index for index in touched)
        for index in touched:
            free[index] -= size
        ways_to.append({})
        steps.append([])
        for state, ways in ways_to[-2].items():
            needs = [state >> _NEED_BITS * index & 15 for index in touched]
            least = max((need - free[index] for need, index in zip(needs, touched, strict=True)), default=0)
            for mines in range(max(least, 0), min([*needs, size, num_mines]) + 1):
                following, choices = state - mines * one_each, comb(size, mines)
                ways_to[-1][following] = ways_to[-1].get(following, 0) + (choices * ways << width * mines)
                steps[-1].append((state, mines, following, choices))

    total = ways_to.pop().get(0, 0) >> width * num_mines & mask
    ways_from = {0: 1}
    chances: dict[int, float] = {}
    while order:
        touched, here, before, expected = order.pop(), ways_to.pop(), dict[int, int](), 0
        for state, mines, following, choices in steps.pop():
            ways = choices * ways_from.get(following, 0) << width * mines
            before[state] = before.get(state, 0) + ways
            expected += mines * (here[state] * ways >> width * num_mines & mask)
        ways_from = before
        chances.update(dict.fromkeys(groups[touched], expected / (len(groups[touched]) * total)))
    return chances
