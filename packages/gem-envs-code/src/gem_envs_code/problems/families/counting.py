"""Structures on strings, rows and games that are solved from small to large."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.draw import word
from gem_envs_code.problems.structure import structure


def _string_pairs(rng: random.Random) -> Iterator[tuple[str, str]]:
    yield from (
        ("", ""),
        ("a", ""),
        ("", "ab"),
        ("a", "a"),
        ("a", "b"),
        ("ab", "ba"),
        ("abc", "ac"),
        ("kitten", "sitting"),
        ("abab", "baba"),
        ("aaa", "aa"),
        ("abcde", "ace"),
        ("xabcy", "zabcw"),
    )
    for length in (3, 4, 5, 6, 7):
        for alphabet in ("ab", "abc", "abcd"):
            yield word(rng, length, alphabet), word(rng, rng.randint(1, length + 1), alphabet)


compare_strings = structure(
    "hard",
    "Two strings consist of up to 200 small letters each and may be empty. Return $what.",
    code="""
def compare_strings(first: str, second: str) -> int:
    n, m = len(first), len(second)
    best = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0 or j == 0:
                best[i][j] = $edge
            else:
                same = first[i - 1] == second[j - 1]
                best[i][j] = $step
    return $result
""",
    second="""
def compare_strings(first, second):
    from functools import lru_cache

    def parts(text):
        found = {""}
        for c in text:
            found |= {part + c for part in found}
        return found

    def pieces(text):
        return {text[i:j] for i in range(len(text) + 1) for j in range(i, len(text) + 1)}

    @lru_cache(None)
    def changes(a, b, replacing):
        if not a or not b:
            return len(a) + len(b)
        if a[-1] == b[-1]:
            return changes(a[:-1], b[:-1], replacing)
        ways = [changes(a[:-1], b, replacing), changes(a, b[:-1], replacing)]
        return 1 + min(ways + [changes(a[:-1], b[:-1], replacing)] * replacing)

    return $also
""",
    fields="what edge step result also",
    variants={
        "subsequence": (
            "the length of the longest string that comes from both strings by removing letters, perhaps none, "
            "without a change of order",
            "0",
            "best[i - 1][j - 1] + 1 if same else max(best[i - 1][j], best[i][j - 1])",
            "best[n][m]",
            "max(map(len, parts(first) & parts(second)))",
        ),
        "substring": (
            "the length of the longest string that stands in both strings as a piece without gaps",
            "0",
            "best[i - 1][j - 1] + 1 if same else 0",
            "max(map(max, best))",
            "max(map(len, pieces(first) & pieces(second)))",
        ),
        "removals": (
            "the smallest number of letters that must be removed, from both strings together, so that the strings "
            "become equal",
            "i + j",
            "best[i - 1][j - 1] if same else min(best[i - 1][j], best[i][j - 1]) + 1",
            "best[n][m]",
            "changes(first, second, False)",
        ),
        "shortest-common": (
            "the length of the shortest string from which each of the two comes by removing letters, perhaps none, "
            "without a change of order",
            "i + j",
            "1 + (best[i - 1][j - 1] if same else min(best[i - 1][j], best[i][j - 1]))",
            "best[n][m]",
            "len(first) + len(second) - max(map(len, parts(first) & parts(second)))",
        ),
        "occurrences": (
            "in how many ways the second string comes from the first by removing letters, perhaps none; ways that "
            "remove letters at different places count separately (an empty second string comes in one way)",
            "int(j == 0)",
            "best[i - 1][j] + (best[i - 1][j - 1] if same else 0)",
            "best[n][m]",
            "sum(''.join(c) == second for c in __import__('itertools').combinations(first, len(second)))",
        ),
    },
    examples=[("abcab", "bcb"), ("xyz", "ay")],
    tests=_string_pairs,
    wrong=[
        ("best[n][m]", "best[n][m] + (n != m)", ""),
        ("if same else max(", "if same else min("),
        ("if same else 0", "if same else best[i - 1][j]", "occurrences"),
        ("max(map(max, best))", "max(best[n])"),
        ("i + j\n", "max(i, j) + 1\n"),
        ("if same else min(", "if not same else min("),
        ("int(j == 0)", "1"),
        ("best[i][j - 1]", "best[i][j]", ""),
    ],
)


count_rows = structure(
    "medium",
    "Return the number of $what, for 0 ≤ `n` ≤ 200. For n = 0, the answer is 1.",
    code="""
def count_rows(n: int) -> int:
    counts = [1]
    for length in range(1, n + 1):
        $body
    return counts[n]
""",
    second="""
def count_rows(n):
    from functools import lru_cache

    @lru_cache(None)
    def rows(rest, row):
        if rest == 0:
            return 1
        return sum(rows(rest - size, row[-1:] + (symbol,)) for symbol, size in $symbols if size <= rest and $fits)

    return rows(n, ())
""",
    fields="what body symbols fits",
    variants={
        "steps": (
            "ways to climb a staircase of n steps if each move takes one, two or three steps",
            "counts.append(sum(counts[-3:]))",
            "((1, 1), (2, 2), (3, 3))",
            "True",
        ),
        "no-double-b": (
            "texts of n letters a and b that do not contain two letters b side by side",
            "counts.append(counts[-1] + (counts[-2] if length > 1 else 1))",
            "(('a', 1), ('b', 1))",
            "row[-1:] + (symbol,) != ('b', 'b')",
        ),
        "tiles": (
            "ways to cover a strip of the length n with red tiles of the length 1 and with green and blue tiles of "
            "the length 2",
            "counts.append(counts[-1] + (2 * counts[-2] if length > 1 else 0))",
            "(('r', 1), ('g', 2), ('b', 2))",
            "True",
        ),
        "odd-parts": (
            "ways to write n as a sum of odd positive whole numbers, where a different order is a different way",
            "counts.append(sum(counts[length - odd] for odd in range(1, length + 1, 2)))",
            "[(k, k) for k in range(1, n + 1, 2)]",
            "True",
        ),
        "no-triple": (
            "texts of n letters a and b that do not contain three equal letters side by side",
            "counts.append(2 * length if length < 3 else counts[-1] + counts[-2])",
            "(('a', 1), ('b', 1))",
            "row != (symbol, symbol)",
        ),
        "no-double-c": (
            "texts of n letters a, b and c that do not contain two letters c side by side",
            "counts.append(2 * counts[-1] + (2 * counts[-2] if length > 1 else 1))",
            "(('a', 1), ('b', 1), ('c', 1))",
            "row[-1:] + (symbol,) != ('c', 'c')",
        ),
    },
    examples=[(3,), (5,)],
    tests=lambda rng: ((n,) for n in [*range(16), 16, 17, 18]),
    wrong=[
        ("counts = [1]", "counts = [2]"),
        ("counts[-3:]", "counts[-2:]"),
        ("if length > 1 else 1", "if length > 1 else 0"),
        ("2 * counts[-2]", "counts[-2]"),
        ("length + 1, 2", "length, 2"),
        ("length < 3", "length < 5"),
        ("range(1, n + 1)", "range(1, n + 2)", "steps no-double-b tiles odd-parts no-triple no-double-c"),
    ],
)


take_game = structure(
    "hard",
    "Two players take counters from a heap of `n` in turn, 0 ≤ `n` ≤ 1,000. $rule Both play as well as possible. "
    "Return whether the player who moves first wins.",
    code="""
def take_game(n: int) -> bool:
    wins = []
    for heap in range(n + 1):
        wins.append($test)
    return wins[n]
""",
    second="""
def take_game(n):
    from functools import lru_cache

    @lru_cache(None)
    def wins(heap):
        if heap == 0:
            return $empty
        return any(not wins(heap - k) for k in range(1, heap + 1) if $legal)

    return all(wins(k) is not None for k in range(n)) and wins(n)
""",
    fields="rule test empty legal",
    variants={
        "one-to-three": (
            "A move takes one, two or three counters. Whoever takes the last counter wins, and a player who cannot "
            "move has lost.",
            "heap % 4 != 0",
            "False",
            "k <= 3",
        ),
        "squares": (
            "A move takes 1, 4, 9, 16 or another square number of counters. A player who cannot move has lost.",
            "any(not wins[heap - k * k] for k in range(1, heap + 1) if k * k <= heap)",
            "False",
            "round(k**0.5) ** 2 == k",
        ),
        "powers": (
            "A move takes 1, 2, 4, 8 or another power of two of counters. A player who cannot move has lost.",
            "heap % 3 != 0",
            "False",
            "k & (k - 1) == 0",
        ),
        "last-loses": (
            "A move takes one, two or three counters. Whoever takes the last counter loses; if the heap is empty at "
            "the beginning, the player who moves first wins.",
            "heap % 4 != 1",
            "True",
            "k <= 3",
        ),
        "halves": (
            "A move takes at least one counter and at most half of the counters in the heap. A player who cannot "
            "move, because only one counter or none is left, has lost.",
            "heap > 1 and any(not wins[heap - k] for k in range(1, heap // 2 + 1))",
            "False",
            "2 * k <= heap",
        ),
        "divisors": (
            "A move takes a number of counters that divides the number of counters in the heap and is smaller than "
            "it. A player who cannot move, because only one counter or none is left, has lost.",
            "heap > 0 and heap % 2 == 0",
            "False",
            "k < heap and heap % k == 0",
        ),
        "one-three-four": (
            "A move takes one, three or four counters. A player who cannot move has lost.",
            "heap % 7 not in (0, 2)",
            "False",
            "k in (1, 3, 4)",
        ),
    },
    examples=[(4,), (7,), (9,)],
    own_examples={"squares": [(2,)]},
    tests=lambda rng: ((n,) for n in [*range(34), 50, 63, 64, 100]),
    wrong=[
        ("% 4 != 0", "% 3 != 0"),
        ("% 4 != 1", "% 4 != 0"),
        ("% 3 != 0", "% 2 != 0"),
        ("wins[n]", "not wins[n]"),
        ("k * k <= heap", "k * k < heap"),
        ("heap // 2 + 1", "heap // 2"),
        ("% 2 == 0", "% 2"),
        ("any(", "all("),
        ("heap % 4 != 1", "heap % 2 == 0"),
        ("heap > 0 and ", ""),
    ],
    split="test",
)


cut_text = structure(
    "hard",
    "A text of up to 100 small letters is cut into pieces of one or more letters; it may be empty and has then no "
    "pieces. $what",
    code="""
def cut_text(text: str) -> int:
    n = len(text)
    best = [$zero] + [None] * n
    for end in range(1, n + 1):
        options = [best[start] for start in range(end) if best[start] is not None and $allowed]
        best[end] = $choose
    return $result
""",
    second="""
def cut_text(text):
    def cuts(rest):
        if not rest:
            yield []
        for length in range(1, len(rest) + 1):
            piece = rest[:length]
            if $piece:
                for more in cuts(rest[length:]):
                    yield [piece, *more]

    everything = list(cuts(text))
    return $also
""",
    fields="what zero allowed choose result piece also",
    variants={
        "palindromes": (
            "Return the smallest number of pieces if every piece must read the same backwards.",
            "0",
            "text[start:end] == text[start:end][::-1]",
            "min(options) + 1",
            "best[n]",
            "piece == piece[::-1]",
            "min(map(len, everything))",
        ),
        "different": (
            "Return the smallest number of pieces if no letter may occur twice in a piece.",
            "0",
            "len(set(text[start:end])) == end - start",
            "min(options) + 1",
            "best[n]",
            "max(map(piece.count, piece)) == 1",
            "min(map(len, everything))",
        ),
        "ways-palindromes": (
            "Return the number of ways to cut it if every piece must read the same backwards.",
            "1",
            "text[start:end] == text[start:end][::-1]",
            "sum(options)",
            "best[n]",
            "all(piece[i] == piece[-1 - i] for i in range(len(piece)))",
            "len(everything)",
        ),
        "words": (
            "Return the number of ways to cut it if every piece must be one of the words `a`, `ab`, `b`, `ba`, "
            "`bab` and `c`.",
            "1",
            "text[start:end] in ('a', 'ab', 'b', 'ba', 'bab', 'c')",
            "sum(options)",
            "best[n]",
            "piece in 'a ab b ba bab c'.split()",
            "len(everything)",
        ),
        "same-ends": (
            "Return the smallest number of pieces if every piece must have two or more letters and begin and end "
            "with the same letter, or -1 if the text cannot be cut in this way.",
            "0",
            "end - start > 1 and text[start] == text[end - 1]",
            "min(options) + 1 if options else None",
            "-1 if best[n] is None else best[n]",
            "piece[1:] and piece[0] == piece[-1]",
            "min(map(len, everything), default=-1)",
        ),
        "rising": (
            "Return the smallest number of pieces if in every piece each letter must stand later in the alphabet "
            "than the letter before it, and no piece has more than three letters.",
            "0",
            "end - start <= 3 and list(text[start:end]) == sorted(set(text[start:end]))",
            "min(options) + 1",
            "best[n]",
            "len(piece) < 4 and all(a < b for a, b in zip(piece, piece[1:]))",
            "min(map(len, everything))",
        ),
    },
    examples=[("abacba",), ("aa",), ("abc",)],
    own_examples={"same-ends": [("abcba",)]},
    tests=lambda rng: iter(
        [
            (t,)
            for t in (
                "",
                "a",
                "c",
                "ab",
                "ba",
                "bab",
                "aab",
                "abab",
                "abcd",
                "abca",
                "aabb",
                "dd",
                "abbab",
                "cabab",
                "aaaa",
                "abcabc",
                "babab",
                "abcdabcd",
                "cbabc",
            )
        ]
        + [(word(rng, n, alphabet),) for n in (3, 5, 7, 9) for alphabet in ("ab", "abc", "abc", "abcd")]
    ),
    wrong=[
        ("min(options) + 1", "min(options[-1:]) + 1", "different same-ends"),
        ("range(end) if", "range(max(end - 2, 0), end) if"),
        ("== end - start", ">= end - start - 1"),
        (" > 1 and", " > 0 and"),
        ("'bab', ", ""),
        ("-1 if best[n] is None else best[n]", "best[n] or -1"),
        ("<= 3", "<= 4"),
        ("sorted(set(text[start:end]))", "sorted(text[start:end])"),
        ("sum(options)", "max(options, default=0)"),
        ("[1] + ", "[0] + "),
    ],
    split="test",
)
