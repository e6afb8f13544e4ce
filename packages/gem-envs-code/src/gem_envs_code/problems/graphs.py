"""Problems on graphs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from gem_envs_code.problems.draw import lines
from gem_envs_code.problems.problem import function, program

Edges = list[list[int]]


def _edges(rng: random.Random, nodes: int, count: int, forward: bool = False) -> Edges:
    """Different pairs of different nodes; with ``forward`` no circle leads back."""
    found: dict[tuple[int, int], None] = {}
    places = list(range(nodes))
    rng.shuffle(places)
    for _ in range(count):
        one, other = sorted(rng.sample(range(nodes), 2)) if forward else rng.sample(range(nodes), 2)
        if forward or (places[other], places[one]) not in found:
            found[places[one], places[other]] = None
    return [[one, other] for one, other in found]


def _plans(rng: random.Random) -> Iterator[tuple[int, Edges]]:
    yield from ((1, []), (3, []), (2, [[1, 0]]), (2, [[0, 1], [1, 0]]), (4, [[0, 1], [1, 2], [2, 1]]), (1, [[0, 0]]))
    for nodes in (5, 12, 60):
        yield nodes, _edges(rng, nodes, 2 * nodes, forward=True)
        yield nodes, _edges(rng, nodes, nodes // 2, forward=True)
        yield nodes, _edges(rng, nodes, nodes + 2)
    yield 10_000, _edges(rng, 10_000, 10_000, forward=True)
    yield 10_000, [[number + 1, number] for number in range(9_999)]


def _is_order(arguments: list[Any], output: object, expected: object) -> bool:
    """Whether an order of all tasks keeps every rule."""
    count, rules = arguments
    if expected == []:
        return output == []
    if type(output) is not list or any(type(task) is not int for task in output):
        return False
    if sorted(output) != list(range(count)):
        return False
    place = {task: number for number, task in enumerate(output)}
    return all(place[first] < place[then] for first, then in rules)


@function(
    "medium",
    "Tasks are numbered from 0 to count - 1. A rule [a, b] says that task a must be done before task b. Return a list "
    "of all tasks in an order that keeps every rule. Any such order is right; return an empty list if there is none. "
    "There are up to 10,000 tasks and rules.",
    [(3, [[0, 1], [2, 1]]), (2, [[0, 1], [1, 0]])],
    tests=_plans,
    check=_is_order,
)
def task_order(count: int, rules: list[list[int]]) -> list[int]:
    """Kahn's algorithm (Communications of the ACM, 1962)."""
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for first, then in rules:
        after[first].append(then)
        waiting[then] += 1
    order = [task for task in range(count) if not waiting[task]]
    for task in order:
        for then in after[task]:
            waiting[then] -= 1
            if not waiting[then]:
                order.append(then)
    return order if len(order) == count else []


def _quarrels(rng: random.Random) -> Iterator[tuple[int, Edges]]:
    yield from ((1, []), (4, []), (2, [[0, 1]]), (3, [[0, 1], [1, 2], [2, 0]]), (4, [[0, 1], [1, 2], [2, 3], [3, 0]]))
    yield 6, [[0, 1], [2, 3], [3, 4], [4, 2]]
    yield 5, [[4, 3], [3, 2], [2, 1], [1, 0], [0, 4]]
    for nodes in (6, 15, 80):
        sides = [rng.randrange(2) for _ in range(nodes)]
        pairs = _edges(rng, nodes, 2 * nodes)
        yield nodes, [pair for pair in pairs if sides[pair[0]] != sides[pair[1]]]
        yield nodes, pairs
    yield 8_000, [[number, number + 1] for number in range(7_999)]


def _are_teams(arguments: list[Any], output: object, expected: object) -> bool:
    """Whether nobody is in a team with somebody they quarrel with."""
    count, quarrels = arguments
    if expected == []:
        return output == []
    if type(output) is not list or len(output) != count or any(type(t) is not int or t not in (0, 1) for t in output):
        return False
    return all(output[one] != output[other] for one, other in quarrels)


@function(
    "medium",
    "`count` people, numbered from 0, are to be put into two teams, 0 and 1, so that no two who quarrel are in one. "
    "`quarrels` holds pairs of people. Return a list with the team of each; any that is right will do, and a team may "
    "stay empty. Return an empty list if it cannot be done. 1 ≤ count ≤ 8,000, up to 8,000 quarrels.",
    [(3, [[0, 1], [1, 2]]), (3, [[0, 1], [1, 2], [2, 0]])],
    tests=_quarrels,
    check=_are_teams,
)
def two_teams(count: int, quarrels: list[list[int]]) -> list[int]:
    """Colour each part, going outwards."""
    near: list[list[int]] = [[] for _ in range(count)]
    for one, other in quarrels:
        near[one].append(other)
        near[other].append(one)
    team = [-1] * count
    for start in range(count):
        if team[start] >= 0:
            continue
        team[start] = 0
        reached = [start]
        for person in reached:
            for other in near[person]:
                if team[other] == team[person]:
                    return []
                if team[other] < 0:
                    team[other] = 1 - team[person]
                    reached.append(other)
    return team


def _roads(rng: random.Random) -> Iterator[str]:
    yield lines((1, 0))
    yield lines((2, 0))
    yield lines((2, 1), (1, 2, 5))
    yield lines((2, 2), (1, 2, 5), (2, 1, 3))
    yield lines((3, 3), (1, 3, 9), (1, 2, 4), (2, 3, 4))
    yield lines((4, 4), (1, 2, 1), (2, 4, 9), (1, 3, 5), (3, 4, 1))
    for nodes in (5, 10, 50):
        for _ in range(2):
            roads = [(a + 1, b + 1, rng.randint(0, 30)) for a, b in _edges(rng, nodes, 3 * nodes)]
            yield lines((nodes, len(roads)), *roads)
    chain = [(number, number + 1, 1) for number in range(1, 8_000)]
    chain += [(a + 1, b + 1, 10**6) for a, b in _edges(rng, 8_000, 8_000)]
    yield lines((8_000, len(chain)), *chain)


def _is_shortest(given: str, output: str, expected: str) -> bool:
    """Whether a way leads along roads and is as long as it says, which must be the least."""
    found, wanted = output.split(), expected.split()
    if not found or found[0] != wanted[0] or wanted[0] == "-1":
        return found == wanted
    if not all(number.isascii() and number.isdigit() and len(number) < 12 for number in found):
        return False
    first, *rows = given.strip().splitlines()
    towns = int(first.split()[0])
    length: dict[tuple[int, int], int] = {}
    for row in rows:
        a, b, cost = map(int, row.split())
        length[a, b] = length[b, a] = min(cost, length.get((a, b), cost))
    way = [int(number) for number in found[1:]]
    if not way or way[0] != 1 or way[-1] != towns:
        return False
    steps = list(zip(way, way[1:]))  # noqa: B905, RUF007
    return all(step in length for step in steps) and sum(length[step] for step in steps) == int(wanted[0])


@program(
    "hard",
    "The first line holds the numbers of towns, 1 to 8,000, and of roads, up to 20,000. Each further line holds two "
    "towns, counted from 1, and the length, 0 to 10⁶, of a road between them, which may be used in both directions. "
    "Print the length of a shortest way from the first to the last town, and on a second line the towns on such a "
    "way, both ends included. Any shortest way is right; print only -1 if there is none.",
    ["4 4\n1 2 1\n2 4 9\n1 3 5\n3 4 1\n", "2 0\n"],
    tests=_roads,
    check=_is_shortest,
)
def shortest_way(text: str) -> str:
    """Dijkstra's algorithm (Numerische Mathematik, 1959)."""
    from heapq import heappop, heappush

    first, *rows = text.strip().splitlines()
    towns = int(first.split()[0])
    near: list[list[tuple[int, int]]] = [[] for _ in range(towns + 1)]
    for row in rows:
        one, other, length = map(int, row.split())
        near[one].append((other, length))
        near[other].append((one, length))
    before = {1: 0}
    done: dict[int, int] = {}
    waiting = [(0, 1, 0)]
    while waiting:
        distance, town, origin = heappop(waiting)
        if town in done:
            continue
        done[town], before[town] = distance, origin
        for other, length in near[town]:
            if other not in done:
                heappush(waiting, (distance + length, other, town))
    if towns not in done:
        return "-1"
    way = [towns]
    while way[-1] != 1:
        way.append(before[way[-1]])
    return f"{done[towns]}\n{' '.join(map(str, reversed(way)))}"


def _trees(rng: random.Random) -> Iterator[str]:
    yield lines(1)
    yield lines(2, (1, 2))
    yield lines(4, (1, 2), (1, 3), (1, 4))
    yield lines(5, (1, 2), (2, 3), (3, 4), (4, 5))
    yield lines(6, (2, 1), (2, 3), (3, 4), (3, 5), (5, 6))
    for nodes in (6, 12, 40, 300):
        for _ in range(2):
            names = list(range(1, nodes + 1))
            rng.shuffle(names)
            yield lines(nodes, *[(names[rng.randrange(number)], names[number]) for number in range(1, nodes)])
    yield lines(20_000, *[(number, number + 1) for number in range(1, 20_000)])
    yield lines(20_001, *[(1 if number < 3 else number - 1, number + 1) for number in range(1, 20_001)])


@program(
    "hard",
    "The first line holds n, 1 ≤ n ≤ 30,000, the number of stations, and each of the n - 1 further lines two "
    "stations, counted from 1, with a track between them; from every station exactly one way leads to every other. "
    "Print the number of tracks on the longest way between two stations.",
    ["5\n1 2\n2 3\n2 4\n4 5\n", "1\n"],
    tests=_trees,
    split="test",
)
def longest_line(text: str) -> str:
    """The farthest station from the farthest station from any."""
    size, *ends = map(int, text.split())
    near: list[list[int]] = [[] for _ in range(size + 1)]
    for one, other in zip(ends[::2], ends[1::2]):  # noqa: B905
        near[one].append(other)
        near[other].append(one)

    def farthest(start: int) -> tuple[int, int]:
        reached, far = [(start, 0)], {start: 0}
        for station, tracks in reached:
            for other in near[station]:
                if other not in far:
                    far[other] = tracks + 1
                    reached.append((other, tracks + 1))
        return reached[-1]

    return str(farthest(farthest(1)[0])[1])


def _pipes(rng: random.Random) -> Iterator[tuple[int, Edges]]:
    yield from ((2, []), (2, [[0, 1, 7]]), (2, [[1, 0, 7]]), (3, [[0, 1, 5], [1, 2, 3]]), (2, [[0, 1, 2], [0, 1, 3]]))
    yield 4, [[0, 1, 1], [0, 2, 1], [1, 2, 1], [1, 3, 1], [2, 3, 1]]
    # Here a way that is taken first must give back what it took.
    yield 6, [[0, 1, 1], [0, 2, 1], [1, 3, 1], [2, 3, 1], [1, 4, 1], [3, 5, 1], [4, 5, 1]]
    for nodes in (4, 6, 8, 30):
        for _ in range(3):
            yield nodes, [[*pair, rng.randint(0, 10)] for pair in _edges(rng, nodes, 3 * nodes)]


@function(
    "hard",
    "Stations are numbered from 0 to count - 1. A pipe [a, b, c] carries up to c litres a second from a to b. Return "
    "how many litres a second can flow from station 0 to the last, if at every other station as much flows out as in. "
    "2 ≤ count ≤ 30, up to 100 pipes, 0 ≤ c ≤ 1,000; several pipes may join the same stations.",
    [(4, [[0, 1, 3], [0, 2, 2], [1, 3, 2], [2, 3, 3], [1, 2, 5]])],
    tests=_pipes,
)
def greatest_flow(count: int, pipes: list[list[int]]) -> int:
    """Edmonds and Karp (Journal of the ACM, 1972)."""
    room = [[0] * count for _ in range(count)]
    for one, other, litres in pipes:
        room[one][other] += litres
    flow = 0
    while True:
        before = {0: 0}
        reached = [0]
        for station in reached:
            for other in range(count):
                if room[station][other] and other not in before:
                    before[other] = station
                    reached.append(other)
        if count - 1 not in before:
            return flow
        way = [count - 1]
        while way[-1]:
            way.append(before[way[-1]])
        steps = [(way[number + 1], way[number]) for number in range(len(way) - 1)]
        litres = min(room[one][other] for one, other in steps)
        for one, other in steps:
            room[one][other] -= litres
            room[other][one] += litres
        flow += litres


def _networks(rng: random.Random) -> Iterator[str]:
    yield lines((1, 0))
    yield lines((2, 1), (1, 2, 5))
    yield lines((2, 0))
    yield lines((4, 2), (1, 2, 1), (3, 4, 1))
    yield lines((3, 3), (1, 2, 1), (2, 3, 2), (1, 3, 3))
    yield lines((3, 4), (1, 2, 4), (1, 2, 2), (2, 3, 9), (1, 1, 1))
    for nodes in (5, 7, 30):
        for _ in range(2):
            cables = [(a + 1, b + 1, rng.randint(1, 50)) for a, b in _edges(rng, nodes, 3 * nodes)]
            yield lines((nodes, len(cables)), *cables)
    cables = [(number, number + 1, rng.randint(1, 10**6)) for number in range(1, 5_000)]
    cables += [(a + 1, b + 1, rng.randint(1, 10**6)) for a, b in _edges(rng, 5_000, 10_000)]
    yield lines((5_000, len(cables)), *cables)


@program(
    "hard",
    "The first line holds the numbers of houses, 1 to 5,000, and of cables that could be laid, up to 20,000. Each "
    "further line holds two houses, counted from 1, and what a cable between them costs, from 1 to 10⁶. Print the "
    "least total cost of cables that join every house to every other, directly or through others, or -1 if they "
    "cannot be joined.",
    ["3 3\n1 2 4\n2 3 1\n1 3 2\n", "2 0\n"],
    tests=_networks,
)
def lay_cables(text: str) -> str:
    """Kruskal's algorithm (Proceedings of the AMS, 1956)."""
    first, *rows = text.strip().splitlines()
    houses = int(first.split()[0])
    leader = list(range(houses + 1))

    def head(house: int) -> int:
        while leader[house] != house:
            leader[house] = leader[leader[house]]
            house = leader[house]
        return house

    total, parts = 0, houses
    for cost, one, other in sorted((int(c), int(a), int(b)) for a, b, c in map(str.split, rows)):
        if head(one) != head(other):
            leader[head(one)] = head(other)
            total += cost
            parts -= 1
    return str(total if parts == 1 else -1)
