"""Structures on tables of records, ballots and links."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from gem_envs_code.problems.structure import structure

_NAMES = ("ada", "bo", "cleo", "dan", "eve", "finn", "gia")


def _payments(rng: random.Random) -> Iterator[tuple[list[list[Any]]]]:
    yield from (([],), ([["bo", 5]],), ([["bo", 5], ["bo", -5]],), ([["bo", 1], ["ada", 1]],), ([["eve", 0]],))
    yield from (([["eve", 3], ["dan", 7], ["eve", 3]],), ([["dan", -2], ["dan", -1]],))
    for count in (3, 5, 8, 12, 30):
        for _ in range(3):
            yield ([[rng.choice(_NAMES), rng.randint(-9, 20)] for _ in range(count)],)


totals_by_name = structure(
    "easy",
    "Each entry of a list is a pair of a name and a whole number. Return a dictionary from each name that occurs to "
    "$what. The list "
    "has up to 1,000 entries.",
    code="""
def totals_by_name(entries: list[list]) -> dict[str, int]:
    groups = {}
    for name, amount in entries:
        groups.setdefault(name, []).append(amount)
    return {name: $value for name, amounts in groups.items()}
""",
    second="""
def totals_by_name(entries):
    result = {}
    for person in {name for name, _ in entries}:
        mine = [amount for name, amount in entries if name == person]
        $body
    return dict(sorted(result.items(), key=lambda item: [name for name, _ in entries].index(item[0])))
""",
    fields="what value body",
    variants={
        "sum": (
            "the sum of its numbers",
            "sum(amounts)",
            "result[person] = 0\nfor amount in mine:\n    result[person] += amount",
        ),
        "last-change": (
            "its last number minus its first one (in the order of the list)",
            "amounts[-1] - amounts[0]",
            "result[person] = sum(b - a for a, b in zip(mine, mine[1:]))",
        ),
        "best-two": (
            "the sum of its two greatest numbers, or its only number",
            "sum(sorted(amounts)[-2:])",
            "best = max(mine)\nmine.remove(best)\nresult[person] = best + (max(mine) if mine else 0)",
        ),
        "lowest-balance": (
            "the lowest balance that an account in its name reaches, if the account begins at 0 and its numbers are "
            "added one after the "
            "other (at most 0, as the account begins there)",
            "min(sum(amounts[:k]) for k in range(len(amounts) + 1))",
            "low = now = 0\nfor amount in mine:\n    now += amount\n    low = min(low, now)\nresult[person] = low",
        ),
        "mean": (
            "the mean of its numbers, rounded down to a whole number (-1.5 becomes -2)",
            "sum(amounts) // len(amounts)",
            "from fractions import Fraction\nfrom math import floor\nresult[person] = floor(Fraction(sum(mine), "
            "len(mine)))",
        ),
        "different": (
            "the number of different numbers that stand beside it",
            "len(set(amounts))",
            "result[person] = len(dict.fromkeys(mine))",
        ),
    },
    examples=[([["ada", 4], ["bo", -3], ["ada", -9], ["bo", 8], ["ada", 4]],), ([["eve", 6]],)],
    tests=_payments,
    wrong=[
        ("groups.setdefault(name, []).append(amount)", "groups[name] = [amount]"),
        ("sum(amounts)", "sum(map(abs, amounts))"),
        ("amounts[-1] - amounts[0]", "max(amounts) - min(amounts)"),
        ("sorted(amounts)", "amounts"),
        ("range(len(amounts) + 1)", "range(len(amounts))"),
        ("// len(amounts)", "// (len(amounts) + 1)"),
        ("set(amounts)", "amounts"),
    ],
)


leaderboard = structure(
    "medium",
    "Each entry of a list is a pair of a name and a number of points; a name may have several entries. Return the "
    "list of the different "
    "names, $what. The list has up to 1,000 entries.",
    code="""
def leaderboard(entries: list[list]) -> list[str]:
    points = {}
    for name, value in entries:
        points.setdefault(name, []).append(value)
    return sorted(points, key=lambda name: $key)
""",
    second="""
def leaderboard(entries):
    names = list(dict.fromkeys(name for name, _ in entries))
    values = {one: [value for name, value in entries if name == one] for one in names}
    order = list(names)
    for _ in names:
        for i in range(len(order) - 1):
            a, b = order[i], order[i + 1]
            if $swap:
                order[i], order[i + 1] = b, a
    return order
""",
    fields="what key swap",
    variants={
        "total": (
            "the one with the greatest sum of points first; names with the same sum come in alphabetical order",
            "(-sum(points[name]), name)",
            "sum(values[a]) < sum(values[b]) or (sum(values[a]) == sum(values[b]) and a > b)",
        ),
        "best": (
            "the one with the greatest single number of points first; if two have the same, the one that has fewer "
            "entries, and then the "
            "one whose first entry comes earlier",
            "(-max(points[name]), len(points[name]))",
            "max(values[a]) < max(values[b]) or (max(values[a]) == max(values[b]) and len(values[a]) > len(values[b]))",
        ),
        "last": (
            "the one with the smallest number in its last entry first; names with the same number come in "
            "the reverse of alphabetical order",
            "(points[name][-1], [-ord(c) for c in name] + [0])",
            "values[a][-1] > values[b][-1] or (values[a][-1] == values[b][-1] and a < b)",
        ),
        "entries": (
            "the one with the most entries first; names with equally many come in the order of their first entries",
            "-len(points[name])",
            "len(values[a]) < len(values[b])",
        ),
        "medal": (
            "compared as in a table of medals: the greatest numbers of the two names decide, if they are equal the "
            "second greatest, and so "
            "on. The greater number comes first; a name whose numbers run out comes later, and equal names keep the "
            "order of their first "
            "entries",
            "[-value for value in sorted(points[name], reverse=True)] + [float('inf')]",
            "sorted(values[a], reverse=True) < sorted(values[b], reverse=True)",
        ),
    },
    examples=[([["dan", 5], ["bo", 9], ["dan", 4], ["ada", 9], ["eve", 10]],), ([["bo", 1]],)],
    tests=_payments,
    wrong=[
        ("-sum(", "sum("),
        (", name)", ")"),
        ("-max(", "-min("),
        (", len(points[name]))", ", -len(points[name]))"),
        ("[-1]", "[0]"),
        ("[-ord(c) for c in name] + [0]", "name"),
        ("for c in name] + [0]", "for c in name]"),
        ("-len(", "len("),
        ("sorted(points[name], reverse=True)", "sorted(points[name])"),
        ("sorted(points, ", "sorted(sorted(points), ", "total last"),
    ],
)


def _followers(rng: random.Random) -> Iterator[tuple[dict[str, str], str]]:
    yield from (({}, "a"), ({"a": "a"}, "a"), ({"a": "b"}, "a"), ({"a": "b"}, "b"), ({"a": "b", "b": "a"}, "a"))
    yield from (({"a": "b", "b": "c", "c": "b"}, "a"), ({"a": "b", "b": "c"}, "a"), ({"b": "c", "c": "a"}, "b"))
    for count in (3, 5, 7, 10):
        for _ in range(4):
            keys = rng.sample("abcdefghijklm", count)
            yield {key: rng.choice("abcdefghijklm") for key in keys}, rng.choice(keys)


follow_links = structure(
    "medium",
    "A dictionary leads from names to names. Begin at the name `start`, and go on to the name to which the "
    "dictionary leads, as long as it "
    "has an entry. Return $what. The dictionary has up to 200 entries.",
    code="""
def follow_links(links: dict[str, str], start: str) -> $type:
    path = [start]
    while path[-1] in links and links[path[-1]] not in path:
        path.append(links[path[-1]])
    again = links.get(path[-1])
    return $value
""",
    second="""
def follow_links(links, start):
    seen, now = {}, start
    while now is not None and now not in seen:
        seen[now] = len(seen)
        now = links.get(now)
    return $also
""",
    fields="type what value also",
    variants={
        "visited": (
            "int",
            "the number of different names that are reached, `start` included",
            "len(path)",
            "len(seen)",
        ),
        "end": (
            "str | None",
            "the name at which the way ends, or None if it never ends because it comes to a name a second time",
            "path[-1] if again is None else None",
            "max(seen, key=seen.get) if now is None else None",
        ),
        "circle": (
            "int",
            "the number of names on the circle that the way runs into, or 0 if it ends",
            "0 if again is None else len(path) - path.index(again)",
            "len(seen) - seen[now] if now else 0",
        ),
        "circle-names": (
            "list[str]",
            "the names on the circle that the way runs into in alphabetical order, or an empty list if it ends",
            "[] if again is None else sorted(path[path.index(again) :])",
            "sorted(name for name in seen if now and seen[name] >= seen[now])",
        ),
        "twice": (
            "str | None",
            "the first name that is reached a second time, or None if there is none",
            "again",
            "now",
        ),
        "unreached": (
            "list[str]",
            "the keys of the dictionary that are not reached, in alphabetical order",
            "sorted(set(links) - set(path))",
            "[name for name in sorted(links) if name not in seen]",
        ),
    },
    examples=[({"a": "b", "b": "c", "c": "b", "d": "e"}, "a"), ({"x": "y", "z": "y"}, "x")],
    tests=_followers,
    wrong=[
        ("path = [start]", "path = [links.get(start, start)]", "end circle circle-names"),
        ("len(path)\n", "len(path) - 1\n"),
        ("path[-1] if again is None else None", "path[-1]"),
        ("len(path) - path.index(again)", "len(path)"),
        ("path[path.index(again) :]", "path"),
        ("return again", "return again and start"),
        ("set(links) - set(path)", "set(links) - {start}"),
        ("sorted(path[", "(path["),
    ],
    split="test",
)


def _ballots(rng: random.Random) -> Iterator[tuple[list[list[str]]]]:
    yield from (([["a"]],), ([["a", "b"], ["b", "a"]],), ([["a", "b", "c"], ["a", "c", "b"], ["b", "c", "a"]],))
    yield from (([["c", "a", "b"]] * 2 + [["b", "a", "c"]] * 2 + [["a", "b", "c"]],),)
    for voters, options in ((3, "abc"), (4, "abc"), (5, "abcd"), (7, "abcd"), (9, "abcde"), (12, "abcde")):
        for _ in range(4):
            yield ([rng.sample(options, len(options)) for _ in range(voters)],)


count_votes = structure(
    "hard",
    "Each ballot of an election is a list of all candidates, the preferred one first. All ballots name the same "
    "candidates, up to 10, and "
    "there are 1 to 200 ballots. Return $what. Ties are always decided in favour of the name that comes first in "
    "alphabetical order.",
    code="""
def count_votes(ballots: list[list[str]]) -> str:
    names = sorted(ballots[0])
    $body
""",
    second="""
def count_votes(ballots):
    from collections import Counter
    names = sorted(ballots[0])
    $also
""",
    fields="what body also",
    variants={
        "first": (
            "the candidate who stands first on most ballots",
            "return max(names, key=[ballot[0] for ballot in ballots].count)",
            "tally = Counter(ballot[0] for ballot in ballots)\n"
            "return next(name for name in names if tally[name] == max(tally.values()))",
        ),
        "borda": (
            "the candidate with the most points, if each ballot gives its last candidate 0 points, the last but one "
            "1 point, and so on",
            "return max(names, key=lambda name: -sum(ballot.index(name) for ballot in ballots))",
            "points = Counter({name: 0 for name in names})\nfor ballot in ballots:\n"
            "    for place, name in enumerate(reversed(ballot)):\n        points[name] += place\n"
            "return min(names, key=lambda name: (-points[name], name))",
        ),
        "elimination": (
            "the winner of this election: as long as two or more candidates remain, the one who is first among the "
            "remaining ones on the "
            "fewest ballots is removed (a tie in favour of a name means here that the other one is removed)",
            "while len(names) > 1:\n    firsts = [next(n for n in ballot if n in names) for ballot in ballots]\n"
            "    names.remove(min(reversed(names), key=firsts.count))\nreturn names[0]",
            "while len(ballots[0]) > 1:\n    tally = Counter({name: 0 for name in ballots[0]})\n"
            "    tally.update(ballot[0] for ballot in ballots)\n"
            "    loser = max(tally, key=lambda name: (-tally[name], name))\n"
            "    ballots = [[name for name in ballot if name != loser] for ballot in ballots]\nreturn ballots[0][0]",
        ),
        "duels": (
            "the candidate who wins the most duels; a candidate wins the duel against another one if more ballots "
            "name the candidate before "
            "the other one than after it",
            "def wins(a, b):\n    return 2 * sum(ballot.index(a) < ballot.index(b) for ballot in ballots) > "
            "len(ballots)\n"
            "return max(names, key=lambda a: sum(wins(a, b) for b in names if b != a))",
            "balance = Counter()\nfor ballot in ballots:\n    for j, b in enumerate(ballot):\n        for a in "
            "ballot[:j]:\n"
            "            balance[a, b] += 1\n            balance[b, a] -= 1\n"
            "won = Counter({name: 0 for name in names})\nfor (a, _), margin in balance.items():\n    won[a] += "
            "margin > 0\n"
            "return min(names, key=lambda name: (-won[name], name))",
        ),
        "least-disliked": (
            "the candidate who stands last on the fewest ballots",
            "return min(names, key=[ballot[-1] for ballot in ballots].count)",
            "last = Counter(ballot[-1] for ballot in ballots)\nreturn sorted((last[name], name) for name in "
            "names)[0][1]",
        ),
        "worst-place": (
            "the candidate whose worst place on any ballot is the best, compared with the worst places of the "
            "others; if these are equal, the "
            "second worst places decide, and so on",
            "return min(names, key=lambda name: sorted((ballot.index(name) for ballot in ballots), reverse=True))",
            "places = {name: sorted(-ballot.index(name) for ballot in ballots) for name in names}\n"
            "best = max(places.values())\nreturn next(name for name in names if places[name] == best)",
        ),
    },
    examples=[
        ([["a", "b", "c"], ["a", "c", "b"], ["b", "c", "a"], ["c", "b", "a"], ["b", "c", "a"]],),
        ([["y", "x"], ["x", "y"]],),
    ],
    own_examples={"first": [([["b", "a"]],)], "elimination": [([["z", "x"]],)]},
    tests=_ballots,
    wrong=[
        ("names = sorted(ballots[0])", "names = sorted(ballots[0], reverse=True)"),
        ("ballot[0] for", "ballot[-1] for"),
        ("-sum(ballot.index", "sum(ballot.index"),
        ("reversed(names)", "names"),
        ("n in names)", "n)"),
        ("> len(ballots)", ">= len(ballots)"),
        (", reverse=True))", "))"),
        ("ballot[-1] for", "ballot[0] for"),
    ],
)
