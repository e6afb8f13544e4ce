"""Structures on trees, families and orders of tasks."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.structure import structure


def _parents(rng: random.Random) -> Iterator[tuple[list[int]]]:
    yield from (
        ([-1],),
        ([-1, 0],),
        ([1, -1],),
        ([-1, 0, 0],),
        ([-1, 0, 1, 2],),
        ([-1, 0, 0, 1, 1, 2, 2],),
        ([2, 2, -1, 2],),
        ([3, 0, 1, -1],),
    )
    for count in (4, 5, 6, 8, 10, 15, 25):
        for _ in range(2):
            order = rng.sample(range(count), count)
            parents = [-1] * count
            for place in range(1, count):
                parents[order[place]] = order[rng.randrange(max(0, place - 4), place)]
            yield (parents,)


tree_facts = structure(
    "medium",
    "A tree has the nodes 0 to n - 1, 1 ≤ n ≤ 300; `parents` holds the parent of each node, and -1 for the root. "
    "The depth of the root is 0, and that of another node is one more than that of its parent. Return $what.",
    code="""
def tree_facts(parents: list[int]) -> $type:
    n = len(parents)

    def line(v):
        return [v] if parents[v] < 0 else [v, *line(parents[v])]

    lines = [line(v) for v in range(n)]
    return $value
""",
    second="""
def tree_facts(parents):
    n = len(parents)
    children = [[w for w in range(n) if parents[w] == v] for v in range(n)]
    depth, order = {parents.index(-1): 0}, [parents.index(-1)]
    for v in order:
        for w in children[v]:
            depth[w] = depth[v] + 1
            order.append(w)
    size = [1] * n
    height = [0] * n
    for v in reversed(order[1:]):
        size[parents[v]] += size[v]
        height[parents[v]] = max(height[parents[v]], height[v] + 1)
    return $also
""",
    fields="what type value also",
    variants={
        "depths": (
            "the list of the depths of all nodes, by node",
            "list[int]",
            "[len(line) - 1 for line in lines]",
            "[depth[v] for v in range(n)]",
        ),
        "leaves": (
            "the list of the nodes that are nobody's parent, in increasing order",
            "list[int]",
            "sorted(set(range(n)) - set(parents))",
            "[v for v in range(n) if not children[v]]",
        ),
        "sizes": (
            "the list, by node, of the numbers of nodes in their subtrees: the node itself, its children, their "
            "children, and so on",
            "list[int]",
            "[sum(v in line for line in lines) for v in range(n)]",
            "size",
        ),
        "widest": (
            "the depth at which there are the most nodes; if there are several, the smallest of them",
            "int",
            "max(range(n), key=[len(line) - 1 for line in lines].count)",
            "min(depth.values(), key=lambda d: (-list(depth.values()).count(d), d))",
        ),
        "diameter": (
            "the greatest number of edges between two nodes, where an edge joins a node and its parent",
            "int",
            "max(len(set(a) ^ set(b)) for a in lines for b in lines)",
            "max(sum(sorted([height[w] + 1 for w in children[v]])[-2:]) for v in range(n))",
        ),
        "only-children": (
            "the number of nodes that are the only child of their parent",
            "int",
            "sum(parents.count(p) == 1 for p in parents if p >= 0)",
            "sum(len(c) == 1 for c in children)",
        ),
        "cousins": (
            "the number of pairs of different nodes that have the same depth but different parents",
            "int",
            "sum(len(lines[a]) == len(lines[b]) and parents[a] != parents[b] for a in range(n) for b in range(a))",
            "sum(depth[a] == depth[b] and a not in children[parents[b]] for a in range(n) for b in range(a + 1, n))",
        ),
    },
    examples=[([-1, 0, 0, 1, 2, 1],), ([1, -1],)],
    own_examples={"only-children": [([-1, 0, 1, 2],)]},
    tests=_parents,
    wrong=[
        ("len(line) - 1", "len(line)", "widest"),
        ("- set(parents)", "- {parents[0]}"),
        ("v in line for", "v in line[1:] for"),
        ("max(range(n), key", "max(range(n - 1, -1, -1), key"),
        ("len(set(a) ^ set(b))", "len(a) + len(b) - 2"),
        (" if p >= 0", ""),
        (" and parents[a] != parents[b]", ""),
        ("sum(v in", "max(v in"),
        ("== 1 for", "<= 2 for"),
    ],
)


ancestors = structure(
    "medium",
    "`parents` is a dictionary from persons to lists of one or two parents; persons without an entry have no known "
    "parents, and nobody is a descendant of themselves. Given `first` and `second`, two different persons, return "
    "$what. The dictionary has up to "
    "100 entries.",
    code="""
def ancestors(parents: dict[str, list[str]], first: str, second: str) -> $type:
    def above(person):
        found = {person: 0}
        queue = [person]
        for someone in queue:
            for parent in parents.get(someone, []):
                if parent not in found:
                    found[parent] = found[someone] + 1
                    queue.append(parent)
        return found

    a, b = above(first), above(second)
    return $value
""",
    second="""
def ancestors(parents, first, second):
    def up(person, steps):
        people = {person}
        for _ in range(steps):
            people = {parent for someone in people for parent in parents.get(someone, [])}
        return people

    levels = range(len(parents) + 1)
    return $also
""",
    fields="what type value also",
    variants={
        "common": (
            "the list of all their common ancestors in alphabetical order; a person counts as an ancestor of their "
            "children, their children's children, and so on, but not of themselves",
            "list[str]",
            "sorted((set(a) & set(b)) - {first, second})",
            "sorted(set().union(*(up(first, i) for i in levels if i)) & set().union(*(up(second, i) for i in levels "
            "if i)))",
        ),
        "is-ancestor": (
            "whether the first is an ancestor of the second: a parent, a parent's parent, and so on",
            "bool",
            "first in b",
            "any(first in up(second, i) for i in levels)",
        ),
        "siblings": (
            "whether they are siblings or half-siblings, that is, whether they have at least one parent in common",
            "bool",
            "bool(set(parents.get(first, [])) & set(parents.get(second, [])))",
            "any(p in up(second, 1) for p in up(first, 1))",
        ),
        "nearest": (
            "how many generations the nearest common ancestor is above the first: 1 for a parent, 2 for a parent's "
            "parent, and so on; if one of the two is an ancestor of the other, that person counts as a common "
            "ancestor, with 0 generations if it is the first; if there is no common ancestor, return -1",
            "int",
            "min((a[person] for person in a if person in b), default=-1)",
            "next((i for i in levels if any(up(first, i) & up(second, j) for j in levels)), -1)",
        ),
        "oldest": (
            "the ancestor of the first who is the most generations above (counted on the shortest line of parents), "
            "or the first in alphabetical order if there are several, or the first person themselves without known "
            "parents",
            "str",
            "min(a, key=lambda person: (-a[person], person))",
            "min(set().union(*(up(first, i) for i in levels)), key=lambda p: (-min(i for i in levels if p in "
            "up(first, i)), p))",
        ),
    },
    examples=[
        ({"ann": ["bea", "cal"], "dov": ["bea", "eli"], "bea": ["fay"]}, "ann", "dov"),
        ({"ann": ["bea"], "bea": ["cal"]}, "cal", "ann"),
    ],
    tests=lambda rng: iter(
        [
            ({}, "a", "b"),
            ({"b": ["a"]}, "a", "b"),
            ({"a": ["b"]}, "a", "b"),
            ({"a": ["c"], "b": ["c"]}, "a", "b"),
            ({"a": ["c"], "b": ["d"], "c": ["e"], "d": ["e"]}, "a", "b"),
        ]
        + [
            ({"a": ["c", "d"], "b": ["d", "c"]}, "a", "b"),
            ({"a": ["c"], "c": ["e"], "b": ["e"]}, "a", "b"),
            ({"a": ["c"], "b": ["e"], "e": ["c"]}, "b", "a"),
            ({"a": ["b", "c"], "b": ["c"]}, "a", "c"),
        ]
        + [({"c": ["a", "b"], "d": ["c"]}, "a", "d"), ({"b": ["a", "x"], "x": ["a"]}, "b", "x")]
        + [
            (
                {
                    name: rng.sample(names[place + 1 :], min(rng.randint(1, 2), len(names) - place - 1))
                    for place, name in enumerate(names[:-2])
                    if rng.random() < 0.8
                },
                *rng.sample(names[:4], 2),
            )
            for names in ([*"abcdefghij"],)
            for _ in range(18)
        ]
    ),
    wrong=[
        ("found = {person: 0}", "found = {}", "siblings oldest"),
        ("set(a) & set(b)", "set(a) | set(b)"),
        (" - {first, second}", ""),
        ("first in b", "second in a"),
        ("&", "|", "common"),
        ("a[person] for", "b[person] for"),
        ("default=-1", "default=0"),
        ("-a[person], person", "-a[person], [-ord(c) for c in person]"),
        ("found[someone] + 1", "1", "common is-ancestor siblings"),
    ],
    split="test",
)


schedule_tasks = structure(
    "hard",
    "There are the tasks 0 to n - 1, 1 ≤ n ≤ 100. Each entry [a, b] of `rules` says that task a must be finished "
    "before task b begins; the rules contain no contradiction. $what",
    code="""
def schedule_tasks(n: int, rules: list[list[int]]) -> $type:
    $body
""",
    second="""
def schedule_tasks(n, rules):
    before = {v: {a for a, b in rules if b == v} for v in range(n)}
    $also
""",
    fields="what type body also",
    variants={
        "smallest": (
            "One task is done after the other; of all tasks that can be done next, always the one with the smallest "
            "number is chosen. Return the list of the tasks in the order in which they are done.",
            "list[int]",
            "done = []\nwhile len(done) < n:\n"
            "    done.append(next(v for v in range(n) if v not in done and all(a in done for a, b in rules if b == "
            "v)))\nreturn done",
            "import heapq\nheap = [v for v in range(n) if not before[v]]\nout = []\nwhile heap:\n    v = "
            "heapq.heappop(heap)\n    out.append(v)\n"
            "    for w in range(n):\n        if v in before[w]:\n            before[w].remove(v)\n            if "
            "not before[w]:\n"
            "                heapq.heappush(heap, w)\nreturn out",
        ),
        "rounds": (
            "In each round, all tasks are done whose predecessors were done in earlier rounds. Return the number of "
            "rounds until all tasks are done.",
            "int",
            "rounds, done = 0, set()\nwhile len(done) < n:\n"
            "    done |= {v for v in range(n) if all(a in done for a, b in rules if b == v)}\n    rounds += "
            "1\nreturn rounds",
            "from functools import lru_cache\n@lru_cache(None)\ndef level(v):\n    return 1 + max(map(level, "
            "before[v]), default=0)\n"
            "return max(map(level, range(n)))",
        ),
        "time": (
            "Task v takes v + 1 minutes, any number of tasks can be done at the same time, and each begins as soon "
            "as possible. Return the number of minutes until all tasks are finished.",
            "int",
            "end = [0] * n\nfor _ in range(n):\n    for v in range(n):\n"
            "        end[v] = v + 1 + max([end[a] for a, b in rules if b == v], default=0)\nreturn max(end)",
            "from functools import lru_cache\n@lru_cache(None)\ndef end(v):\n    return v + 1 + max(map(end, "
            "before[v]), default=0)\n"
            "return max(map(end, range(n)))",
        ),
        "unique": (
            "One task is done after the other. Return whether the rules leave only one possible order of all tasks.",
            "bool",
            "done = []\nwhile len(done) < n:\n    ready = [v for v in range(n) if v not in done and all(a in done "
            "for a, b in rules if b == v)]\n"
            "    if len(ready) > 1:\n        return False\n    done += ready\nreturn True",
            "order = []\nwhile len(order) < n:\n    order.append(next(v for v in range(n) if v not in order and "
            "before[v] <= set(order)))\n"
            "return all(a in before[b] for a, b in zip(order, order[1:]))",
        ),
        "late": (
            "One task is done after the other; the order is found from its end: of all tasks that need not be "
            "finished before one of the tasks that are placed already, the one with the smallest number is placed "
            "directly before them. "
            "Return the list of the tasks in the order in which they are done.",
            "list[int]",
            "placed = []\nwhile len(placed) < n:\n"
            "    placed.append(next(v for v in range(n) if v not in placed and all(b in placed for a, b in rules if "
            "a == v)))\n"
            "return placed[::-1]",
            "left, out = set(range(n)), []\nwhile left:\n    v = min(v for v in left if not any(v in before[w] for "
            "w in left))\n    left.remove(v)\n"
            "    out.insert(0, v)\nreturn out",
        ),
        "necessary": (
            "Return the list, by task, of the numbers of tasks that must be finished before it begins, because of a "
            "rule or of several rules together.",
            "list[int]",
            "needed = [{a for a, b in rules if b == v} for v in range(n)]\nfor _ in range(n):\n"
            "    needed = [s.union(*(needed[a] for a in s)) for s in needed]\nreturn [len(s) for s in needed]",
            "def all_before(v):\n    found = list(before[v])\n    for a in found:\n        found += [x for x in "
            "before[a] if x not in found]\n    return found\n"
            "return [len(all_before(v)) for v in range(n)]",
        ),
    },
    examples=[(5, [[3, 0], [0, 1], [3, 4]]), (2, [[1, 0]])],
    tests=lambda rng: iter(
        [
            (1, []),
            (2, []),
            (2, [[0, 1]]),
            (3, [[2, 1], [1, 0]]),
            (3, [[0, 2], [1, 2]]),
            (4, [[0, 1], [1, 2], [2, 3]]),
            (4, [[3, 2], [2, 1], [1, 0], [3, 0]]),
            (4, [[0, 1], [0, 2], [1, 3], [2, 3]]),
        ]
        + [(3, [[1, 2], [2, 0]]), (5, [[4, 0], [3, 1]]), (5, [[1, 3], [3, 0], [0, 4], [4, 2]])]
        + [
            (n, [[order[i], order[j]] for j in range(n) for i in range(j) if rng.random() < share])
            for n, share in ((4, 0.3), (5, 0.4), (6, 0.2), (6, 0.9), (8, 0.2), (9, 0.15), (5, 0.95), (12, 0.1))
            for order in (rng.sample(range(n), n), rng.sample(range(n), n))
        ]
    ),
    wrong=[
        ("v for v in range(n) if v not in done", "v for v in reversed(range(n)) if v not in done", "unique"),
        ("rounds += 1", "rounds += len(done)"),
        ("v + 1 + max", "1 + max"),
        ("v + 1 + max(", "v + 1 + 0 * max("),
        ("len(ready) > 1", "len(ready) > 2"),
        ("[::-1]", ""),
        ("return False", "return True"),
        ("for _ in range(n):\n        needed", "for _ in range(0):\n        needed"),
    ],
)
