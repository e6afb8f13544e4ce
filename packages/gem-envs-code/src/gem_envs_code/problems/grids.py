"""Problems on grids."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.draw import integers, lines, word
from gem_envs_code.problems.problem import function, program


def _tables(rng: random.Random) -> Iterator[tuple[list[list[int]]]]:
    yield from (
        ([[5]],),
        ([[1, 2, 3]],),
        ([[1], [2], [3]],),
        ([[1, 2], [3, 4]],),
        ([[1, 2, 3], [4, 100, 6], [7, 8, 9]],),
    )
    for _ in range(6):
        width = rng.randint(1, 6)
        yield ([integers(rng, width, -9, 9) for _ in range(rng.randint(1, 6))],)


@function(
    "easy",
    "Return the sum of the numbers on the edge of a table, each counted once: those in its first and last row and in "
    "its first and last column. A table has at least one row and one column.",
    [([[1, 2, 3], [4, 5, 6], [7, 8, 9]],), ([[5, 6]],)],
    tests=_tables,
)
def edge_sum(table: list[list[int]]) -> int:
    """Sum of the border."""
    last_row, last_column = len(table) - 1, len(table[0]) - 1
    return sum(
        value
        for r, row in enumerate(table)
        for c, value in enumerate(row)
        if r in (0, last_row) or c in (0, last_column)
    )


def _mazes(rng: random.Random) -> Iterator[str]:
    yield lines((1, 1), ".")
    yield lines((1, 2), "..")
    yield lines((1, 3), ".#.")
    yield lines((2, 2), ".#", "#.")
    yield lines((3, 3), "...", "##.", "...")
    yield lines((3, 4), "....", ".##.", "#...")
    yield lines((5, 5), ".....", "####.", ".....", ".####", ".....")
    yield lines((5, 5), ".#...", ".#.#.", ".#.#.", ".#.#.", "...#.")
    for size in (5, 10, 30):
        for _ in range(2):
            rows = [word(rng, size, "....#") for _ in range(size)]
            rows[0], rows[-1] = "." + rows[0][1:], rows[-1][:-1] + "."
            yield lines((size, size), *rows)
    yield lines((150, 150), *["." * 150] * 150)


@program(
    "medium",
    "The first line holds the numbers of rows and columns of a maze, up to 150 each, and each further line a row of "
    "it, with `#` for a wall and `.` for a free square. The top left and the bottom right square are free. Print the "
    "least number of steps, up, down, left or right, that lead from the one to the other over free squares, or -1 if "
    "none do.",
    ["2 3\n..#\n#..\n", "1 3\n.#.\n"],
    tests=_mazes,
)
def steps_through(text: str) -> str:
    """Breadth-first search."""
    first, *maze = text.split("\n")
    rows, columns = map(int, first.split())
    steps = {(0, 0): 0}
    reached = [(0, 0)]
    for row, column in reached:
        for r, c in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= r < rows and 0 <= c < columns and maze[r][c] == "." and (r, c) not in steps:
                steps[r, c] = steps[row, column] + 1
                reached.append((r, c))
    return str(steps.get((rows - 1, columns - 1), -1))


def _maps(rng: random.Random) -> Iterator[tuple[list[str]]]:
    yield from (
        (["."],),
        (["#"],),
        (["##", "##"],),
        (["#.", ".#"],),
        (["#.#"],),
        (["###", "#.#", "###"],),
        (["#...#", "#####"],),
    )
    for size in (4, 8, 25):
        for _ in range(2):
            yield ([word(rng, size, "#..") for _ in range(size)],)
    yield (["#" * 150] * 150,)


@function(
    "medium",
    "A map consists of texts of equal length, with `#` for land and `.` for water. Squares of land belong to one "
    "island if a way over land leads from one to the other in steps up, down, left or right. Return the number of "
    "squares of the largest island, 0 if there is none. A map has up to 150 rows and columns.",
    [(["##.", "..#", "###"],), (["."],)],
    tests=_maps,
    split="test",
)
def largest_island(chart: list[str]) -> int:
    """Flood fill with a list instead of recursion."""
    land = {(r, c) for r, row in enumerate(chart) for c, square in enumerate(row) if square == "#"}
    best = 0
    while land:
        island = [land.pop()]
        for r, c in island:
            for place in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                if place in land:
                    land.remove(place)
                    island.append(place)
        best = max(best, len(island))
    return best


def _fields(rng: random.Random) -> Iterator[tuple[list[list[int]]]]:
    yield from (([[5]],), ([[1, 2, 3]],), ([[1], [2]],), ([[1, 3, 1], [1, 5, 1], [4, 2, 1]],), ([[1, 9], [1, 1]],))
    for size in (3, 5, 8, 60):
        for _ in range(2):
            yield ([integers(rng, size, 0, 9) for _ in range(rng.randint(1, size))],)


@function(
    "medium",
    "Return the least sum of numbers on a way from the top left to the bottom right corner of a table that only goes "
    "right and down; both corners count. A table has up to 60 rows and columns.",
    [([[1, 3, 1], [1, 5, 1], [4, 2, 1]],), ([[7]],)],
    tests=_fields,
)
def cheapest_way(table: list[list[int]]) -> int:
    """Least sums, row by row."""
    never = float("inf")
    sums = [0] + [never] * (len(table[0]) - 1)
    for row in table:
        for column, value in enumerate(row):
            sums[column] = min(sums[column], sums[column - 1] if column else never) + value
    return sums[-1]  # type: ignore[return-value]  # the infinite ones are gone
