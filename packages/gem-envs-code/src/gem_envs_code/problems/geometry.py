"""Problems on points in the plane."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from gem_envs_code.problems.draw import integers, lines
from gem_envs_code.problems.problem import function, program


def _outlines(rng: random.Random) -> Iterator[str]:
    yield lines(3, (0, 0), (1, 0), (0, 1))
    yield lines(3, (0, 0), (0, 1), (1, 0))
    yield lines(4, (0, 0), (2, 0), (2, 2), (0, 2))
    yield lines(4, (-1, -1), (-1, 1), (1, 1), (1, -1))
    yield lines(6, (0, 0), (3, 0), (3, 3), (2, 1), (1, 3), (0, 3))
    yield lines(3, (0, 0), (10**6, 0), (0, 10**6 - 1))
    for corners in (5, 12, 60):
        for _ in range(2):
            turns = [(number + 0.8 * rng.random()) * 2 * math.pi / corners for number in range(corners)]
            rows = [
                (round(rng.randint(300, 1000) * math.cos(turn)), round(rng.randint(300, 1000) * math.sin(turn)))
                for turn in turns
            ]
            yield lines(corners, *(rows if rng.random() < 0.5 else rows[::-1]))


@program(
    "medium",
    "The first line holds the number of corners of a polygon, 3 to 100, and each further line the coordinates of one, "
    "whole numbers from -10⁶ to 10⁶. The corners come in order along the edge, one way round or the other. Print the "
    "area. An answer may be off by 10⁻⁶.",
    ["3\n0 0\n4 0\n0 3\n", "4\n0 0\n0 1\n1 1\n1 0\n"],
    tests=_outlines,
)
def polygon_area(text: str) -> str:
    """The shoelace formula."""
    _, *numbers = map(int, text.split())
    corners = list(zip(numbers[::2], numbers[1::2]))  # noqa: B905
    doubled = sum(x * corners[number - 1][1] - corners[number - 1][0] * y for number, (x, y) in enumerate(corners))
    return f"{abs(doubled) / 2:.1f}"


def _fences(rng: random.Random) -> Iterator[str]:
    yield lines(1, (5, 5))
    yield lines(2, (0, 0), (3, 4))
    yield lines(3, (0, 0), (1, 1), (2, 2))
    yield lines(2, (7, 7), (7, 7))
    yield lines(5, (0, 0), (4, 0), (4, 4), (0, 4), (2, 2))
    yield lines(8, (0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1))
    for count in (6, 8, 50):
        for _ in range(2):
            yield lines(count, *[integers(rng, 2, -20, 20) for _ in range(count)])
    yield lines(10_000, *[integers(rng, 2, -(10**6), 10**6) for _ in range(10_000)])


@program(
    "hard",
    "The first line holds the number of trees, 1 to 10,000, and each further line the coordinates of one, whole "
    "numbers from -10⁶ to 10⁶; several may stand in one place. Print the length of the shortest closed fence with "
    "every tree inside or on it. An answer may be off by 10⁻⁶, relatively.",
    ["4\n0 0\n3 0\n0 4\n1 1\n", "2\n0 0\n3 4\n"],
    tests=_fences,
    split="test",
)
def fence_length(text: str) -> str:
    """Andrew's convex hull (Information Processing Letters, 1979), and its perimeter."""
    import math

    _, *numbers = map(int, text.split())
    trees = sorted(set(zip(numbers[::2], numbers[1::2])))  # noqa: B905

    def half(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
        chain: list[tuple[int, int]] = []
        for x, y in points:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    hull = half(trees) + half(trees[::-1])
    length = math.fsum(math.dist(corner, hull[number - 1]) for number, corner in enumerate(hull))
    return f"{length:.9f}"


def _swarms(rng: random.Random) -> Iterator[tuple[list[list[int]]]]:
    yield from (([[0, 0], [3, 4]],), ([[1, 1], [1, 1]],), ([[0, 0], [10, 0], [0, 9]],), ([[0, 0], [0, 5], [0, 9]],))
    yield ([[0, 0], [100, 0], [1, 100], [101, 100], [51, 50], [50, 51]],)
    for count in (5, 12, 100):
        for _ in range(2):
            yield ([integers(rng, 2, -50 * count, 50 * count) for _ in range(count)],)
    # The nearest two lie on either side of the middle, with another between them in height.
    yield ([[0, 5], [5, 5], [-4, 7], [5, 4], [-1, -4], [-10, 2], [9, -5], [-6, -1]],)
    yield ([[0, number * 3] for number in range(8_000)],)
    yield ([integers(rng, 2, -(10**9), 10**9) for _ in range(8_000)],)


@function(
    "hard",
    "Return the least distance between two of the given points. There are 2 to 8,000 points [x, y] with whole "
    "coordinates from -10⁹ to 10⁹; several may be equal. An answer may be off by 10⁻⁶, relatively. A time that grows "
    "with the square of their number is too much.",
    [([[0, 0], [5, 5], [3, 4]],), ([[1, 1], [1, 1]],)],
    tests=_swarms,
)
def closest_pair(points: list[list[int]]) -> float:
    """Divide in halves, and look at a strip between them."""
    import math

    by_x = sorted((x, y) for x, y in points)

    def closest(part: list[tuple[int, int]]) -> tuple[float, list[tuple[int, int]]]:
        """The least distance, and the points by height."""
        if len(part) < 4:
            distances = [math.dist(one, other) for number, one in enumerate(part) for other in part[:number]]
            return min(distances, default=math.inf), sorted(part, key=lambda point: point[1])
        middle = len(part) // 2
        line = part[middle][0]
        left, right = closest(part[:middle]), closest(part[middle:])
        best = min(left[0], right[0])
        by_y = sorted(left[1] + right[1], key=lambda point: point[1])
        strip: list[tuple[int, int]] = []
        for point in by_y:
            if abs(point[0] - line) >= best:
                continue
            for other in reversed(strip):
                if point[1] - other[1] >= best:
                    break
                best = min(best, math.dist(point, other))
            strip.append(point)
        return best, by_y

    return closest(by_x)[0]


def _rooms(rng: random.Random) -> Iterator[tuple[list[list[int]]]]:
    yield from (([],), ([[0, 0, 2, 3]],), ([[0, 0, 2, 2], [1, 1, 3, 3]],), ([[0, 0, 9, 9], [1, 1, 2, 2]],))
    yield from (([[0, 0, 1, 1], [1, 0, 2, 1]],), ([[0, 0, 1, 5], [2, 0, 3, 5]],), ([[-3, -3, 0, 0]] * 3,))
    for count in (3, 6, 12, 60):
        for _ in range(2):
            rows = []
            for _ in range(count):
                x, y = integers(rng, 2, -10, 10)
                rows.append([x, y, x + rng.randint(1, 8), y + rng.randint(1, 8)])
            yield (rows,)
    far = [integers(rng, 2, -(10**9), 10**9) for _ in range(60)]
    yield ([[x, y, x + rng.randint(1, 10**9), y + rng.randint(1, 10**9)] for x, y in far],)


@function(
    "hard",
    "Return the area that rectangles cover together; what several cover counts once. A rectangle is a list [left, "
    "bottom, right, top] of whole numbers from -2·10⁹ to 2·10⁹, left < right, bottom < top. There are up to 60.",
    [([[0, 0, 2, 2], [1, 1, 3, 3]],)],
    tests=_rooms,
)
def covered_area(rectangles: list[list[int]]) -> int:
    """Strips between the sides, and what is covered of each."""
    sides = sorted({x for left, _, right, _ in rectangles for x in (left, right)})
    area = 0
    for left, right in zip(sides, sides[1:]):  # noqa: B905, RUF007
        covered, top = 0, None
        for low, high in sorted((r[1], r[3]) for r in rectangles if r[0] <= left and right <= r[2]):
            if top is None or low > top:
                covered += high - low
                top = high
            elif high > top:
                covered += high - top
                top = high
        area += covered * (right - left)
    return area
