"""Minesweeper by exact probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import comb

HIDDEN = -1


@lru_cache(maxsize=64)
def neighbours(rows: int, cols: int) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(
            other_row * cols + other_column
            for other_row in range(max(row - 1, 0), min(row + 2, rows))
            for other_column in range(max(column - 1, 0), min(column + 2, cols))
            if (other_row, other_column) != (row, column)
        )
        for row in range(rows)
        for column in range(cols)
    )


def chances(board: list[int], rows: int, cols: int, mines: int) -> dict[int, float]:
    """Return for each hidden cell the probability of a mine."""
    around = neighbours(rows, cols)
    groups: dict[tuple[int, ...], list[int]] = {}
    numbers = [c for c, n in enumerate(board) if n > 0 and any(board[o] == HIDDEN for o in around[c])]
    index = {c: i for i, c in enumerate(numbers)}
    for cell, n in enumerate(board):
        if n == HIDDEN:
            groups.setdefault(tuple(index[o] for o in around[cell] if o in index), []).append(cell)
    order = sort_groups(groups)
    width = sum(map(len, groups.values())) + 1
    mask = (1 << width) - 1
    capacity = [0] * len(numbers)
    for key in order:
        for i in key:
            capacity[i] += len(groups[key])
    start = sum(board[c] << 4 * i for i, c in enumerate(numbers))
    layers = [{start: 1}]
    steps = []
    for key in order:
        size = len(groups[key])
        unit = sum(1 << 4 * i for i in key)
        for i in key:
            capacity[i] -= size
        limits = [(4 * i, capacity[i]) for i in key]
        layer: dict[int, int] = {}
        step = []
        for state, ways in layers[-1].items():
            low = max([((state >> s) & 15) - cap for s, cap in limits], default=0)
            high = min([(state >> s) & 15 for s, _ in limits], default=size)
            for k in range(max(low, 0), min(high, size, mines) + 1):
                new = state - k * unit
                layer[new] = layer.get(new, 0) + (comb(size, k) * ways << width * k)
                step.append((state, k, new))
        layers.append(layer)
        steps.append(step)
    total = layers[-1].get(0, 0) >> width * mines & mask
    back = {0: 1}
    result = {}
    for key, layer, step in zip(reversed(order), reversed(layers[:-1]), reversed(steps), strict=True):
        size = len(groups[key])
        expected = 0
        before: dict[int, int] = {}
        for state, k, new in step:
            if new in back:
                w = comb(size, k) * back[new] << width * k
                before[state] = before.get(state, 0) + w
                if k:
                    expected += k * ((layer[state] * w >> width * mines) & mask)
        back = before
        for cell in groups[key]:
            result[cell] = expected / (size * total)
    return result


def sort_groups(groups: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return sorted((k for k in groups if k)) + [()] * (() in groups)


def best_cell(*a): ...
