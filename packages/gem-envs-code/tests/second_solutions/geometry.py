"""Problems on geometry: second solutions, planted mistakes, and programs that are too slow or too simple."""

from __future__ import annotations

import math
from fractions import Fraction


def polygon_area(text: str) -> float:
    # Trapezoids between each edge and a line below all.
    rows = [tuple(map(int, row.split())) for row in text.strip().splitlines()[1:]]
    floor = min(y for _, y in rows)
    total = Fraction(0)
    for (ax, ay), (bx, by) in zip(rows, rows[1:] + rows[:1], strict=True):
        total += Fraction((bx - ax) * (ay + by - 2 * floor), 2)
    return float(abs(total))


def fence_length(text: str) -> float:
    # Wrapping a string around the trees, from the lowest on.
    trees = sorted({tuple(map(int, row.split())) for row in text.strip().splitlines()[1:]})
    if len(trees) == 1:
        return 0.0
    start = here = trees[0]
    length = 0.0
    while True:
        following = trees[0] if here != trees[0] else trees[1]
        for tree in trees:
            turn = (following[0] - here[0]) * (tree[1] - here[1]) - (following[1] - here[1]) * (tree[0] - here[0])
            if turn < 0 or (turn == 0 and math.dist(here, tree) > math.dist(here, following)):
                following = tree
        length += math.dist(here, following)
        here = following
        if here == start:
            return length


def closest_pair(points: list[list[int]]) -> float:
    # From left to right, with those that are still near enough, by height.
    from bisect import bisect_left, insort

    points = sorted(points)
    best, first = math.inf, 0
    near: list[tuple[int, int]] = []
    for x, y in points:
        while first < len(points) and points[first][0] < x - best:
            near.pop(bisect_left(near, (points[first][1], points[first][0])))
            first += 1
        at = bisect_left(near, (y - best, -math.inf))
        while at < len(near) and near[at][0] <= y + best:
            best = min(best, math.hypot(x - near[at][1], y - near[at][0]))
            at += 1
        insort(near, (y, x))
    return best


def covered_area(rectangles: list[list[int]]) -> int:
    # Cells of the grid that all sides draw.
    xs = sorted({x for r in rectangles for x in (r[0], r[2])})
    ys = sorted({y for r in rectangles for y in (r[1], r[3])})
    x_at, y_at = {x: i for i, x in enumerate(xs)}, {y: i for i, y in enumerate(ys)}
    cells = {
        (i, j)
        for left, bottom, right, top in rectangles
        for i in range(x_at[left], x_at[right])
        for j in range(y_at[bottom], y_at[top])
    }
    return sum((xs[i + 1] - xs[i]) * (ys[j + 1] - ys[j]) for i, j in cells)


SOLUTIONS = (polygon_area, fence_length, closest_pair, covered_area)

MISTAKES = [
    ("polygon-area", "abs(doubled) / 2", "doubled / 2"),
    ("polygon-area", "abs(doubled) / 2", "abs(doubled) // 2"),
    ("polygon-area", "enumerate(corners)", "enumerate(sorted(corners))"),
    ("fence-length", "in enumerate(hull))", "in enumerate(hull) if number)"),
    ("fence-length", "half(trees) + half(trees[::-1])", "half(trees)"),
    ("fence-length", ":.9f", ":.1f"),
    ("closest-pair", "best = min(best, math.dist(point, other))", "pass"),
    ("closest-pair", "min(left[0], right[0])", "left[0]"),
    ("closest-pair", "for other in reversed(strip):", "for other in strip[-1:]:"),
    ("covered-area", "covered += high - top", "covered += high - low"),
    ("covered-area", "r[0] <= left and right <= r[2]", "r[0] <= left"),
    ("covered-area", "sorted((r[1], r[3])", "list((r[1], r[3])"),
]

TOO_SLOW = {
    "closest-pair": """
import math
def closest_pair(points):
    return min(math.dist(a, b) for i, a in enumerate(points) for b in points[:i])
""",
    "covered-area": """
def covered_area(rectangles):
    return len({(x, y) for l, b, r, t in rectangles for x in range(l, r) for y in range(b, t)})
""",
}

TOO_SIMPLE = {
    "polygon-area": """
n = int(input())
rows = [tuple(map(int, input().split())) for _ in range(n)]
print((max(x for x, _ in rows) - min(x for x, _ in rows)) * (max(y for _, y in rows) - min(y for _, y in rows)))
""",
    "fence-length": """
import math
n = int(input())
trees = sorted({tuple(map(int, input().split())) for _ in range(n)})
total = 0.0
for i, a in enumerate(trees):
    for b in trees[:i]:
        sides = {((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) > 0 for c in trees}
        if len(sides) == 1:
            total += math.dist(a, b)
print(total)
""",
}
