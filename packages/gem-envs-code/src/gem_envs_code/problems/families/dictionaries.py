"""Structures on dictionaries and groups."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from gem_envs_code.problems.draw import word, words
from gem_envs_code.problems.samples import word_lists
from gem_envs_code.problems.structure import structure

group_words = structure(
    "easy",
    "Return the words of a list in groups: a list of lists. Words belong to one group if they $what. The groups "
    "stand in the order of "
    "their first words, and the words of a group in the order of the list, with repetitions. The list holds up to "
    "300 words of small "
    "letters.",
    code="""
def group_words(words: list[str]) -> list[list[str]]:
    groups = {}
    for word in words:
        groups.setdefault($key, []).append(word)
    return list(groups.values())
""",
    second="""
def group_words(words):
    result = []
    for word in words:
        for group in result:
            other = group[0]
            if $same:
                group.append(word)
                break
        else:
            result.append([word])
    return result
""",
    fields="what key same",
    variants={
        "letters": (
            "consist of the same letters, each equally often",
            '"".join(sorted(word))',
            "len(word) == len(other) and all(word.count(c) == other.count(c) for c in word)",
        ),
        "letter-set": ("contain the same letters, however often", "frozenset(word)", "not set(word) ^ set(other)"),
        "ends": (
            "have the same first letter and the same last letter",
            "(word[0], word[-1])",
            "word[0] + word[-1] == other[0] + other[-1]",
        ),
        "vowels": (
            "contain equally many vowels (a, e, i, o, u)",
            "sum(c in 'aeiou' for c in word)",
            "len([c for c in word if c in 'aeiou']) == len([c for c in other if c in 'aeiou'])",
        ),
        "pattern": (
            "have the same pattern of equal letters, as `noon` and `abba` or `see` and `zoo` do",
            "tuple(map(word.index, word))",
            "len(word) == len(other) and len(set(zip(word, other))) == len(set(word)) == len(set(other))",
        ),
        "rotation": (
            "become equal if letters are moved from the front of one of them to its end, as `tea` and `eat` do",
            "min(word[i:] + word[:i] for i in range(len(word)))",
            "len(word) == len(other) and word in other * 2",
        ),
    },
    examples=[(["tea", "noon", "eat", "abba", "ate", "seas", "tea"],), (["b", "a"],)],
    own_examples={"vowels": [(["bet", "it", "queue"],)]},
    tests=word_lists,
    wrong=[
        ("sorted(word)", "sorted(set(word))"),
        ("frozenset(word)", "len(set(word))"),
        ("(word[0], word[-1])", "word[0]"),
        ("'aeiou'", "'aeio'"),
        ("tuple(map(word.index, word))", "len(set(word))"),
        ("for word in words", "for word in dict.fromkeys(words)"),
        ("list(groups.values())", "sorted(groups.values())"),
    ],
)


def _tables(rng: random.Random) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    yield from (
        ({}, {}),
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 2}),
        ({"a": 0}, {"b": 0}),
    )
    for count in (2, 3, 5, 8):
        for _ in range(4):
            yield tuple({word(rng, 1, "abcdefgh"): rng.randint(-3, 5) for _ in range(count)} for _ in range(2))  # type: ignore[misc]


merge_tables = structure(
    "easy",
    "Two dictionaries have texts as keys and whole numbers as values. Return a dictionary with $what. The given "
    "dictionaries have up to "
    "100 entries each and must not be changed.",
    code="""
def merge_tables(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    result = {}
    for key in sorted({**first, **second}):
        $body
    return result
""",
    second="""
def merge_tables(first, second):
    a, b = first.items(), second.items()
    return dict(sorted($also))
""",
    fields="what body also",
    variants={
        "sum": (
            "every key of either one and the sum of its values; a missing value counts as 0",
            "result[key] = first.get(key, 0) + second.get(key, 0)",
            "{k: sum(v for n, v in [*a, *b] if n == k) for k, _ in [*a, *b]}.items()",
        ),
        "common-max": (
            "every key that is in both and the greater one of its two values",
            "if key in first and key in second:\n    result[key] = max(first[key], second[key])",
            "[(k, sorted((v, second[k]))[1]) for k, v in a if k in second]",
        ),
        "one-side": (
            "every key that is in exactly one of them, with its value",
            "if (key in first) != (key in second):\n    result[key] = first[key] if key in first else second[key]",
            "[(k, v) for k, v in a if k not in second] + [(k, v) for k, v in b if k not in first]",
        ),
        "changed": (
            "every key that is in both with different values, and with the value of the second minus that of the first",
            "if key in first and second.get(key, first[key]) != first[key]:\n    result[key] = second[key] - "
            "first[key]",
            "((k, second[k] - v) for k, v in a if k in second and second[k] != v)",
        ),
        "update": (
            "the entries of the first, overwritten and extended by those of the second; a key whose value in the "
            "second is negative is left "
            "out",
            "if second.get(key, 0) >= 0:\n    result[key] = second.get(key, first.get(key))",
            "(item for item in {**first, **second}.items() if item[0] not in second or item[1] >= 0)",
        ),
    },
    examples=[({"a": 1, "b": 5}, {"b": -2, "c": 0}), ({"x": 3}, {"x": 4})],
    tests=_tables,
    wrong=[
        ("{**first, **second}", "first", "common-max changed"),
        ("+ second.get(key, 0)", "+ second.get(key, 1)"),
        ("max(", "min("),
        ("!= (key in second)", "> (key in second)"),
        ("second[key] - first[key]", "first[key] - second[key]"),
        ("second.get(key, first[key]) != first[key]", "key in second"),
        (">= 0", "> 0"),
        ("key in first and key in second", "key in second and first.get(key)"),
    ],
)


def _texts_with_count(rng: random.Random) -> Iterator[tuple[str, int]]:
    yield from (
        ("", 3),
        ("a", 1),
        ("b a", 1),
        ("a a b b c", 2),
        ("The the THE a", 1),
        ("x y z", 5),
        ("c b a c b a d", 3),
    )
    for count in (4, 6, 10, 20, 40):
        for _ in range(3):
            text = " ".join(rng.choice((w, w.title())) for w in words(rng, count, 2, "abc"))
            yield text, rng.randint(1, 4)


common_words = structure(
    "medium",
    "Return a list of the `count` most frequent words of a text, the most frequent one first, or of all its words "
    "if there are fewer "
    "different ones. $what Words are separated by single blanks, `text` may be empty, and `count` is at least 1.",
    code="""
def common_words(text: str, count: int) -> list[str]:
    words = $words
    return sorted(dict.fromkeys(words), key=lambda word: $key)[:count]
""",
    second="""
def common_words(text, count):
    from collections import Counter
    words = $words
    tally = Counter(words)
    result = []
    while tally and len(result) < count:
        most = max(tally.values())
        tied = [word for word in tally if tally[word] == most]
        result.append($pick)
        del tally[result[-1]]
    return result
""",
    fields="what words key pick",
    variants={
        "alphabetical": (
            "Words in capital and small letters count as the same and are returned in small letters. Equally "
            "frequent words come in "
            "alphabetical order.",
            "text.lower().split()",
            "(-words.count(word), word)",
            "min(tied)",
        ),
        "first": (
            "Words in capital and small letters count as different. Equally frequent words come in the order in "
            "which they first occur.",
            "text.split()",
            "-words.count(word)",
            "min(tied, key=words.index)",
        ),
        "last": (
            "Words in capital and small letters count as the same and are returned in small letters. Of equally "
            "frequent words, the one whose "
            "last occurrence comes later stands first.",
            "text.lower().split()",
            "(-words.count(word), words[::-1].index(word))",
            "max(tied, key=lambda word: max(i for i, other in enumerate(words) if other == word))",
        ),
        "longest": (
            "Words in capital and small letters count as different. Of equally frequent words, the longer one "
            "stands first, and words of the same "
            "length come in the order of their first occurrences.",
            "text.split()",
            "(-words.count(word), -len(word))",
            "max(sorted(tied, key=words.index), key=len)",
        ),
        "initials": (
            "Here, a word is only its first letter as a small letter: the text `an Apple` has the word `a` twice. "
            "Equally frequent words come in "
            "alphabetical order.",
            "[word[0] for word in text.lower().split()]",
            "(-words.count(word), word)",
            "sorted(tied)[0]",
        ),
    },
    examples=[("to be Or not to Be so", 3), ("b a b a c", 1)],
    tests=_texts_with_count,
    wrong=[
        (".lower()", ""),
        ("[:count]", "[: count + 1]"),
        ("-words.count(word), word)", "-words.count(word))"),
        ("-words.count(word)", "words.count(word)"),
        ("words[::-1].index(word)", "words.index(word)"),
        ("-len(word)", "len(word)"),
        ("dict.fromkeys(words)", "sorted(set(words))", "alphabetical last initials"),
    ],
)


def _trees(rng: random.Random) -> Iterator[tuple[dict[str, Any]]]:
    def drawn(depth: int) -> dict[str, Any]:
        return {
            key: drawn(depth - 1) if depth and rng.random() < 0.5 else rng.randint(-3, 9)
            for key in rng.sample("abcdefg", rng.randint(0, 4))
        }

    yield from (({},), ({"a": 1},), ({"a": {}},), ({"a": {"a": {"a": 2}}},), ({"b": 1, "a": {"c": 2, "b": 1}},))
    yield from (({"x": {"y": 0}, "z": {"y": 0}},), ({"a": 4, "b": {"a": 4}},))
    for depth in (1, 2, 3, 4):
        for _ in range(4):
            yield (drawn(depth),)


nested_tables = structure(
    "medium",
    "The values of a dictionary are whole numbers or dictionaries of the same kind, which may be empty, down to "
    "depth 20; no key holds a dot. The path of a "
    "value joins the keys that lead to it by dots, such as `a.b.c`. Return $what.",
    code="""
def nested_tables(tree: dict) -> $type:
    leaves = {}

    def walk(node, path):
        for key, value in node.items():
            if isinstance(value, dict):
                walk(value, path + [key])
            else:
                leaves[".".join(path + [key])] = value

    walk(tree, [])
    return $value
""",
    second="""
def nested_tables(tree):
    found = []
    queue = [("", tree)]
    for prefix, node in queue:
        for key in node:
            if isinstance(node[key], dict):
                queue.append((prefix + key + ".", node[key]))
            else:
                found.append((prefix + key, node[key]))
    return $also
""",
    fields="type what value also",
    variants={
        "flat": (
            "dict[str, int]",
            "a dictionary from the path of each number to the number",
            "leaves",
            "dict(found)",
        ),
        "deepest": (
            "str",
            "the path of the number that is reached by the most keys; if several are equally deep, the path that "
            "comes first in alphabetical "
            "order; if there is no number, an empty text",
            "min(leaves, key=lambda path: (-path.count('.'), path), default='')",
            "([''] + sorted(sorted((p for p, _ in found), reverse=True), key=lambda p: len(p.split('.'))))[-1]",
        ),
        "key-sums": (
            "dict[str, int]",
            "a dictionary from the last key of each path of a number to the sum of all numbers whose paths end with "
            "this key",
            "{last: sum(v for p, v in leaves.items() if p.split('.')[-1] == last) "
            "for last in sorted(p.split('.')[-1] for p in leaves)}",
            "{last: sum(v for p, v in found if p[p.rfind('.') + 1 :] == last) "
            "for last in sorted({p[p.rfind('.') + 1 :] for p, _ in found})}",
        ),
        "greatest": (
            "list[str]",
            "the paths of the greatest number, all of them if it occurs several times, in alphabetical order",
            "sorted(path for path in leaves if leaves[path] == max(leaves.values()))",
            "sorted(p for p, v in found if all(v >= w for _, w in found))",
        ),
        "depth-sum": (
            "int",
            "the sum of all numbers, each multiplied by the number of keys on its path",
            "sum(value * len(path.split('.')) for path, value in leaves.items())",
            "sum(v * (1 + p.count('.')) for p, v in found)",
        ),
    },
    examples=[({"a": {"b": 2, "c": {"b": 5}}, "d": 5},), ({"x": {}, "y": -1},)],
    tests=_trees,
    wrong=[
        ('leaves[".".join(path + [key])] = value', 'leaves.setdefault(".".join(path[:1] + [key]), value)'),
        ("-path.count", "path.count"),
        (", path), default", ", [-ord(c) for c in path]), default"),
        ("max(leaves.values())", "list(leaves.values())[0]"),
        ("len(path.split('.'))", "path.count('.')"),
        ("path + [key])\n", "[key])\n", "key-sums"),
        ("[-1] == last", "[0] == last"),
    ],
)
