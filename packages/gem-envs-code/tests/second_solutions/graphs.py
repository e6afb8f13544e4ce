"""Problems on grids and graphs: second solutions, planted mistakes, and programs that are too slow or too simple."""

from __future__ import annotations

from functools import cache


def edge_sum(table: list[list[int]]) -> int:
    inner = sum(sum(row[1:-1]) for row in table[1:-1])
    return sum(map(sum, table)) - inner


def steps_through(text: str) -> int:
    # Sets that grow by a step each.
    first, *maze = text.split()[0:1] + text.split()[2:]
    free = {(r, c) for r, row in enumerate(maze) for c, square in enumerate(row) if square == "."}
    goal = (int(first) - 1, int(text.split()[1]) - 1)
    edge, steps = {(0, 0)}, 0
    while edge:
        if goal in edge:
            return steps
        free -= edge
        edge = {(r + a, c + b) for r, c in edge for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))} & free
        steps += 1
    return -1


def largest_island(chart: list[str]) -> int:
    # Squares that lie together get one leader.
    leader: dict[tuple[int, int], tuple[int, int]] = {}

    def head(place: tuple[int, int]) -> tuple[int, int]:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for r, row in enumerate(chart):
        for c, square in enumerate(row):
            if square == "#":
                leader[r, c] = (r, c)
                for other in ((r - 1, c), (r, c - 1)):
                    if other in leader:
                        leader[head(other)] = head((r, c))
    heads = [head(place) for place in leader]
    sizes: dict[tuple[int, int], int] = {}
    for place in heads:
        sizes[place] = sizes.get(place, 0) + 1
    return max(sizes.values(), default=0)


def cheapest_way(table: list[list[int]]) -> int:
    @cache
    def cost(r: int, c: int) -> float:
        if r < 0 or c < 0:
            return float("inf")
        return table[r][c] + (min(cost(r - 1, c), cost(r, c - 1)) if r or c else 0)

    return int(cost(len(table) - 1, len(table[0]) - 1))


def task_order(count: int, rules: list[list[int]]) -> list[int]:
    # Whether a walk backwards from anywhere comes back to where it is.
    before: list[list[int]] = [[] for _ in range(count)]
    for first, then in rules:
        before[then].append(first)
    state = [0] * count
    for start in range(count):
        walk = [(start, iter(before[start]))] if not state[start] else []
        state[start] = state[start] or 1
        while walk:
            task, rest = walk[-1]
            following = next(rest, None)
            if following is None:
                state[task] = 2
                walk.pop()
            elif state[following] == 1:
                return []
            elif not state[following]:
                state[following] = 1
                walk.append((following, iter(before[following])))
    return [1]


def two_teams(count: int, quarrels: list[list[int]]) -> list[int]:
    # Everybody twice, once in each team: nobody may have to be in both.
    leader = list(range(2 * count))

    def head(person: int) -> int:
        while leader[person] != person:
            leader[person] = leader[leader[person]]
            person = leader[person]
        return person

    for one, other in quarrels:
        leader[head(one)] = head(other + count)
        leader[head(other)] = head(one + count)
    return [] if any(head(person) == head(person + count) for person in range(count)) else [1]


def shortest_way(text: str) -> str:
    # Distances that are improved until they are right (Bellman and Ford), from a queue.
    first, *rows = text.strip().splitlines()
    towns = int(first.split()[0])
    near: dict[int, list[tuple[int, int]]] = {town: [] for town in range(1, towns + 1)}
    for row in rows:
        one, other, length = map(int, row.split())
        near[one].append((other, length))
        near[other].append((one, length))
    distance = {1: 0}
    changed = {1}
    while changed:
        after = set()
        for town in changed:
            for other, length in near[town]:
                if other not in distance or distance[town] + length < distance[other]:
                    distance[other] = distance[town] + length
                    after.add(other)
        changed = after
    return str(distance.get(towns, -1))


def longest_line(text: str) -> int:
    # Leaves fall off until one station or two are left: the middle of the longest line.
    size, *ends = map(int, text.split())
    near: dict[int, set[int]] = {station: set() for station in range(1, size + 1)}
    for one, other in zip(ends[::2], ends[1::2], strict=True):
        near[one].add(other)
        near[other].add(one)
    leaves, rounds = [station for station in near if len(near[station]) == 1], 0
    left = size
    while left > 2:
        rounds += 1
        left -= len(leaves)
        after = []
        for leaf in leaves:
            (other,) = near[leaf]
            near[other].remove(leaf)
            if len(near[other]) == 1:
                after.append(other)
        leaves = after
    return 2 * rounds + left - 1


def greatest_flow(count: int, pipes: list[list[int]]) -> int:
    if count <= 12:
        # The least cut, of all there are (Ford and Fulkerson, 1956).
        inner = range(1, count - 1)
        best = 10**9
        for chosen in range(1 << len(inner)):
            near = {0, *(station for place, station in enumerate(inner) if chosen >> place & 1)}
            best = min(best, sum(litres for a, b, litres in pipes if a in near and b not in near))
        return best
    # Preflow and push.
    room = [[0] * count for _ in range(count)]
    for a, b, litres in pipes:
        room[a][b] += litres
    height, excess = [0] * count, [0] * count
    height[0] = count

    def push(a: int, b: int, litres: int) -> None:
        room[a][b] -= litres
        room[b][a] += litres
        excess[a] -= litres
        excess[b] += litres

    for b in range(count):
        push(0, b, room[0][b])
    while active := [station for station in range(1, count - 1) if excess[station] > 0]:
        a = active[0]
        lower = [b for b in range(count) if room[a][b] and height[b] == height[a] - 1]
        if lower:
            push(a, lower[0], min(excess[a], room[a][lower[0]]))
        else:
            height[a] = 1 + min(height[b] for b in range(count) if room[a][b])
    return excess[count - 1]


def lay_cables(text: str) -> int:
    # From the first house outwards (Prim).
    from heapq import heappop, heappush

    first, *rows = text.strip().splitlines()
    houses = int(first.split()[0])
    near: dict[int, list[tuple[int, int]]] = {house: [] for house in range(1, houses + 1)}
    for row in rows:
        one, other, cost = map(int, row.split())
        near[one].append((cost, other))
        near[other].append((cost, one))
    joined: set[int] = set()
    waiting, total = [(0, 1)], 0
    while waiting:
        cost, house = heappop(waiting)
        if house not in joined:
            joined.add(house)
            total += cost
            for cable in near[house]:
                heappush(waiting, cable)
    return total if len(joined) == houses else -1


SOLUTIONS = (
    edge_sum,
    steps_through,
    largest_island,
    cheapest_way,
    task_order,
    two_teams,
    longest_line,
    greatest_flow,
    lay_cables,
)

MISTAKES = [
    ("edge-sum", "r in (0, last_row) or", "r == 0 or"),
    ("edge-sum", "c in (0, last_column)", "c == 0"),
    ("steps-through", "(row - 1, column), ", ""),
    ("steps-through", "(row, column - 1)", "(row, column + 1)"),
    ("steps-through", "(rows - 1, columns - 1), -1", "(rows - 1, columns - 1), 0"),
    ("largest-island", "(r - 1, c), ", ""),
    ("largest-island", "best = 0", "best = 1"),
    ("largest-island", "(r, c - 1)", "(r, c - 1), (r + 1, c + 1), (r - 1, c - 1)"),
    ("cheapest-way", "[0] + [never] *", "[0] + [0] *"),
    ("cheapest-way", "return sums[-1]", "return min(sums)"),
    ("task-order", "return order if len(order) == count else []", "return order"),
    ("task-order", "order.append(then)", "order.insert(0, then)"),
    ("two-teams", "if team[start] >= 0:", "if start:"),
    ("two-teams", "if team[other] == team[person]:", "if False:"),
    ("shortest-way", "near[other].append((one, length))", "pass"),
    ("shortest-way", 'return "-1"', 'return "0"'),
    ("shortest-way", "distance + length", "distance + 1"),
    ("shortest-way", "reversed(way)", "way"),
    ("longest-line", "farthest(farthest(1)[0])[1]", "farthest(1)[1]"),
    ("longest-line", "farthest(farthest(1)[0])[1]", "farthest(farthest(1)[0])[1] + 1"),
    ("greatest-flow", "room[other][one] += litres", "pass"),
    ("greatest-flow", "room[one][other] += litres\n    flow", "room[one][other] = litres\n    flow"),
    ("lay-cables", "return str(total if parts == 1 else -1)", "return str(total)"),
    ("lay-cables", "sorted((int(c), int(a), int(b))", "list((int(c), int(a), int(b))"),
    ("lay-cables", "leader[head(one)] = head(other)", "leader[one] = other"),
]

TOO_SLOW = {
    "steps-through": """
import sys
sys.setrecursionlimit(10**6)
rows, columns = map(int, input().split())
maze = [input() for _ in range(rows)]
def walk(r, c, seen):
    if not (0 <= r < rows and 0 <= c < columns) or maze[r][c] == "#" or (r, c) in seen:
        return 10**9
    if (r, c) == (rows - 1, columns - 1):
        return 0
    seen = seen | {(r, c)}
    return 1 + min(walk(r + 1, c, seen), walk(r, c + 1, seen), walk(r - 1, c, seen), walk(r, c - 1, seen))
steps = walk(0, 0, frozenset())
print(steps if steps < 10**9 else -1)
""",
    "cheapest-way": """
def cheapest_way(table):
    def cost(r, c):
        if r == 0 and c == 0:
            return table[0][0]
        return table[r][c] + min(cost(a, b) for a, b in ((r - 1, c), (r, c - 1)) if a >= 0 and b >= 0)
    return cost(len(table) - 1, len(table[0]) - 1)
""",
    "task-order": """
def task_order(count, rules):
    order, rules = [], list(rules)
    while len(order) < count:
        ready = [t for t in range(count) if t not in order and all(then != t for _, then in rules)]
        if not ready:
            return []
        order.append(ready[0])
        rules = [rule for rule in rules if rule[0] != ready[0]]
    return order
""",
}

TOO_SIMPLE = {
    "largest-island": """
def largest_island(chart):
    seen = set()
    def size(r, c):
        if not (0 <= r < len(chart) and 0 <= c < len(chart[0])) or chart[r][c] == "." or (r, c) in seen:
            return 0
        seen.add((r, c))
        return 1 + size(r + 1, c) + size(r - 1, c) + size(r, c + 1) + size(r, c - 1)
    return max(size(r, c) for r in range(len(chart)) for c in range(len(chart[0])))
""",
    "two-teams": "def two_teams(count, quarrels):\n    return [person % 2 for person in range(count)]\n",
    "shortest-way": """
towns, roads = map(int, input().split())
near = {}
for _ in range(roads):
    a, b, length = map(int, input().split())
    near.setdefault(a, []).append(b)
    near.setdefault(b, []).append(a)
way, reached = {1: [1]}, [1]
for town in reached:
    for other in near.get(town, []):
        if other not in way:
            way[other] = way[town] + [other]
            reached.append(other)
print(f"{len(way[towns]) - 1}\\n{' '.join(map(str, way[towns]))}" if towns in way else -1)
""",
    "longest-line": """
n = int(input())
near = {i: [] for i in range(1, n + 1)}
for _ in range(n - 1):
    a, b = map(int, input().split())
    near[a].append(b)
    near[b].append(a)
def depth(station, before):
    return max((1 + depth(other, station) for other in near[station] if other != before), default=0)
print(max(depth(station, 0) for station in near))
""",
    "greatest-flow": """
def greatest_flow(count, pipes):
    return min(sum(c for a, b, c in pipes if a == 0), sum(c for a, b, c in pipes if b == count - 1))
""",
    "lay-cables": """
houses, cables = map(int, input().split())
rows = sorted((tuple(map(int, input().split())) for _ in range(cables)), key=lambda row: row[2])
joined, total = set(), 0
for one, other, cost in rows:
    if one not in joined or other not in joined:
        joined |= {one, other}
        total += cost
print(total if len(joined) == houses or houses == 1 else -1)
""",
}
