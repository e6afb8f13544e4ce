"""Structures on the characters of strings."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.draw import word
from gem_envs_code.problems.samples import letter_strings, sentences
from gem_envs_code.problems.structure import structure

letter_tally = structure(
    "easy",
    "Return a dictionary from $what; characters that do not occur are left out. The text has up to 1,000 characters.",
    code="""
def letter_tally(text: str) -> dict[str, int]:
    tally = {}
    for c in $source:
        if $test:
            tally[c] = tally.get(c, 0) + 1
    return tally
""",
    second="""
def letter_tally(text):
    from collections import Counter
    return dict(Counter($also))
""",
    fields="what source test also",
    variants={
        "letters": (
            "each letter, as a small letter whether it is a capital in the text or not, to the number of times that "
            "it occurs in `text`",
            "text.lower()",
            "c.isalpha()",
            "filter(str.isalpha, text.lower())",
        ),
        "capitals": (
            "each capital letter to the number of times that it occurs in `text`",
            "text",
            "c.isupper()",
            "[c for c in text if c != c.lower()]",
        ),
        "vowels": (
            "each of the vowels a, e, i, o and u, as a small letter whether it is a capital in the text or not, to "
            "the number of times that it occurs in `text`",
            "[c.lower() for c in text]",
            "c in 'aeiou'",
            "(c.lower() for c in text if c in 'aeiouAEIOU')",
        ),
        "others": (
            "each character that is neither a letter nor a blank to the number of times that it occurs in `text`",
            "text",
            "not c.isalpha() and c != ' '",
            "''.join(map(str.strip, (c for c in text if not c.isalpha())))",
        ),
        "word-starts": (
            "each character with which a word begins (words are separated by blanks, the only white space) to the "
            "number of words of `text` that begin with it",
            "[word[0] for word in text.split()]",
            "True",
            "(c for before, c in zip(' ' + text, text) if before == ' ' != c)",
        ),
    },
    examples=[("Oh, 2 Apples Or 22?",), ("no",)],
    tests=sentences,
    wrong=[
        ("tally.get(c, 0) + 1", "1"),
        (".lower()", ""),
        ("[word[0] for word in text.split()]", "text.split()"),
        ("'aeiou'", "'aeio'"),
        (" and c != ' '", ""),
        ("c.isupper()", "c in 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'"),
        ("c.isalpha()", "'a' <= c <= 'z'"),
    ],
)


encode_runs = structure(
    "easy",
    "Compress a string of up to 1,000 small letters. $what A run is a longest piece in which all letters are equal.",
    code="""
def encode_runs(text: str) -> str:
    from itertools import groupby
    parts = []
    for letter, group in groupby(text):
        count = len(list(group))
        parts.append($part)
    return "".join(parts)
""",
    second="""
def encode_runs(text):
    result, start = "", 0
    for i in range(1, len(text) + 1):
        if i == len(text) or text[i] != text[start]:
            letter, count = text[start], i - start
            result += $part
            start = i
    return result
""",
    fields="what part",
    variants={
        "always": ("Replace every run by its letter and its length: `aab` becomes `a2b1`.", "f'{letter}{count}'"),
        "if-more": (
            "Replace every run of two or more letters by its letter and its length, and keep single letters: `aab` "
            "becomes `a2b`.",
            "letter if count == 1 else f'{letter}{count}'",
        ),
        "count-first": (
            "Replace every run of three or more letters by its length and its letter, and keep shorter runs: `aaabb` "
            "becomes `3abb`.",
            "f'{count}{letter}' if count > 2 else letter * count",
        ),
        "brackets": (
            "Replace every run of two or more letters by its letter and, in round brackets, how many more follow: "
            "`aaab` "
            "becomes `a(2)b`.",
            "letter + (f'({count - 1})' if count > 1 else '')",
        ),
        "odd-runs": (
            "Replace every run by a single letter if its length is odd, and remove it if its length is even: `aaabbc` "
            "becomes `ac`.",
            "letter * (count % 2)",
        ),
        "halved": (
            "Replace every run by half of its letters, rounded up: `aaabbc` becomes `aabc`.",
            "letter * ((count + 1) // 2)",
        ),
    },
    examples=[("aaabccddddd",), ("xyz",)],
    tests=letter_strings,
    wrong=[
        ("groupby(text)", "groupby(sorted(text))"),
        ("groupby(text)", "groupby(text[:-1])"),
        ("count == 1", "count < 3"),
        ("> 2", "> 1"),
        ("count - 1", "count"),
        ("count % 2", "(count > 1)"),
        ("count + 1", "count"),
    ],
)

first_letter = structure(
    "easy",
    "Return the index, from 0, of the $what, or -1 if there is none. `text` has up to 1,000 small letters and may be "
    "empty.",
    code="""
def first_letter(text: str) -> int:
    for i in $order:
        if $test:
            return i
    return -1
""",
    second="""
def first_letter(text):
    import re
    places = [i for i in range(len(text)) if $also]
    return $pick if places else -1
""",
    fields="what order test also pick",
    variants={
        "unique": (
            "first letter that occurs only once in the text",
            "range(len(text))",
            "text.count(text[i]) == 1",
            "text.find(text[i]) == text.rfind(text[i])",
            "places[0]",
        ),
        "unique-last": (
            "last letter that occurs only once in the text",
            "reversed(range(len(text)))",
            "text.count(text[i]) == 1",
            "text[i] not in text[:i] + text[i + 1 :]",
            "places[-1]",
        ),
        "again": (
            "first letter that has already occurred before it",
            "range(len(text))",
            "text[i] in text[:i]",
            "text.find(text[i]) < i",
            "min(places)",
        ),
        "like-next": (
            "first letter that is the same as the letter right after it",
            "range(len(text) - 1)",
            "text[i] == text[i + 1]",
            "text[i : i + 2] == 2 * text[i]",
            "places[0]",
        ),
        "falling": (
            "first letter that stands earlier in the alphabet than the letter right before it",
            "range(1, len(text))",
            "text[i] < text[i - 1]",
            "i and sorted(text[i - 1 : i + 1]) != list(text[i - 1 : i + 1])",
            "places[0]",
        ),
        "enclosed": (
            "first letter that has the same letter on its left and on its right, such as the b of `xabax`",
            "range(1, len(text) - 1)",
            "text[i - 1] == text[i + 1]",
            "0 < i < len(text) - 1 and len(set(text[i - 1 : i + 2 : 2])) == 1",
            "places[0]",
        ),
    },
    examples=[("cabbage",), ("abc",), ("noon",)],
    own_examples={"enclosed": [("xabax",)]},
    tests=letter_strings,
    wrong=[
        ("return -1", "return 0"),
        ("return i\n", "return i + 1\n"),
        ("range(1, len(text))", "range(2, len(text))"),
        ("range(1, len(text) - 1)", "range(1, len(text) - 2)"),
        ("range(len(text) - 1)", "range(len(text) - 2)"),
        ("reversed(range(len(text)))", "reversed(range(1, len(text)))"),
        (" < text[i - 1]", " <= text[i - 1]"),
    ],
)


def _shifts(rng: random.Random) -> Iterator[tuple[str, int]]:
    yield from (("", 3), ("abc", 0), ("xyz", 1), ("abc", 26), ("hello", 25), ("aeiou", 1), ("zzz", 27), ("ab ba", 2))
    for length in (3, 6, 10, 20, 50):
        for _ in range(3):
            yield word(rng, length, "abcdeiouxyz "), rng.randint(0, 60)


shift_letters = structure(
    "easy",
    "Encrypt `text`, which consists of up to 1,000 small letters and blanks; 0 ≤ `steps` ≤ 100. $what Blanks stay "
    "as they are.",
    code="""
def shift_letters(text: str, steps: int) -> str:
    letters = "$letters"
    result = ""
    for i, c in enumerate(text):
        result += letters[(letters.index(c) + $move) % len(letters)] if c in letters else c
    return result
""",
    second="""
def shift_letters(text, steps):
    out = list(text)
    for i in range(len(out)):
        for _ in range($move % $size):
            out[i] = out[i].translate(str.maketrans("$letters", "$letters"[1:] + "a"))
    return "".join(out)
""",
    fields="what letters move size",
    variants={
        "forward": (
            "Replace each letter by the one `steps` places later in the alphabet; after z comes a.",
            "abcdefghijklmnopqrstuvwxyz",
            "steps",
            "26",
        ),
        "vowels": (
            "Replace each vowel by the one `steps` places later in the circle a, e, i, o, u, a, …; other letters stay.",
            "aeiou",
            "steps",
            "5",
        ),
        "by-place": (
            "Replace the character at index i by the letter `steps` + i places later in the alphabet; after z comes a. "
            "The index counts from 0, and blanks count as well.",
            "abcdefghijklmnopqrstuvwxyz",
            "(steps + i)",
            "26",
        ),
        "alternating": (
            "Replace each letter at an even index (from 0) by the one `steps` places later in the alphabet, and each "
            "letter at an odd index by the one `steps` places earlier, where z and a are neighbours.",
            "abcdefghijklmnopqrstuvwxyz",
            "(steps if i % 2 == 0 else -steps)",
            "26",
        ),
        "first-half": (
            "Replace each of the letters a to m by the one `steps` places later in the circle a, b, …, m, a, …; other "
            "letters stay.",
            "abcdefghijklm",
            "steps",
            "13",
        ),
    },
    examples=[("zoo abc", 2), ("you and me", 5)],
    tests=_shifts,
    wrong=[
        ("% len(letters)", "% (len(letters) - 1)"),
        ("+ $move", "- $move", ""),
        ("i % 2 == 0", "i % 2"),
        ("steps + i", "steps * i"),
        ("enumerate(text)", "enumerate(text, 1)", "forward vowels first-half"),
    ],
)


def _two_texts(rng: random.Random) -> Iterator[tuple[str, str]]:
    yield from (
        ("", ""),
        ("a", ""),
        ("", "a"),
        ("a", "a"),
        ("ab", "ba"),
        ("aab", "abb"),
        ("abc", "cab"),
        ("abc", "bca"),
    )
    yield from (("egg", "add"), ("foo", "bar"), ("abab", "baba"), ("abc", "aabbcc"), ("ace", "abcde"), ("aec", "abcde"))
    yield from (("abcd", "abxd"), ("abcd", "abd"), ("abc", "abcd"), ("abcd", "acbd"), ("abcd", "badc"), ("ab", "cd"))
    yield from (
        ("abca", "abca"),
        ("badc", "baba"),
        ("paper", "title"),
        ("aa", "ab"),
        ("abcde", "cdeab"),
        ("ab", "abab"),
    )
    for length in (3, 4, 5, 6):
        for _ in range(3):
            first = word(rng, length, "abc")
            turned = "".join(rng.sample(first, length))
            cut = rng.randrange(length)
            yield first, turned
            yield first, first[cut:] + first[:cut]
            yield first, first[:cut] + rng.choice("abcd") + first[cut + 1 :]
            yield first, first[:cut] + first[cut + 1 :]
            yield first[:cut] + first[cut + 1 :], first


are_related = structure(
    "medium",
    "Return whether $what. Both strings consist of up to 1,000 small letters and may be empty.",
    code="""
def are_related(first: str, second: str) -> bool:
    $body
""",
    second="""
def are_related(first, second):
    $also
""",
    fields="what body also",
    variants={
        "anagram": (
            "the two strings have the same letters, each as often, in whatever order",
            "return sorted(first) == sorted(second)",
            "return len(first) == len(second) and all(first.count(c) == second.count(c) for c in first)",
        ),
        "rotation": (
            "the second string is a rotation of the first: some letters, perhaps none, are moved from its front to its "
            "end without a change of their order",
            "return len(first) == len(second) and second in first + first",
            "return any(first[i:] + first[:i] == second for i in range(len(first) + 1))",
        ),
        "subsequence": (
            "the first string comes from the second by removing letters, perhaps none, without a change of order",
            "rest = iter(second)\nreturn all(c in rest for c in first)",
            "place = 0\nfor c in first:\n    place = second.find(c, place) + 1\n    if not place:\n        return "
            "False\n"
            "return True",
        ),
        "one-edit": (
            "the strings are equal or become equal if one letter of one of them is removed, inserted or replaced",
            "i = 0\nwhile i < min(len(first), len(second)) and first[i] == second[i]:\n    i += 1\n"
            "return (first[i + 1 :] == second[i + 1 :] or first[i:] == second[i + 1 :] or first[i + 1 :] == "
            "second[i:])",
            "if abs(len(first) - len(second)) > 1:\n    return False\n"
            "short, long = sorted((first, second), key=len)\n"
            "if len(short) == len(long):\n    return sum(a != b for a, b in zip(short, long)) <= 1\n"
            "return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))",
        ),
        "same-pattern": (
            "some exchange of letters turns the first string into the second, where equal letters are replaced by "
            "equal "
            "ones and different letters by different ones",
            "return len(first) == len(second) and (\n"
            "    len(set(zip(first, second))) == len(set(first)) == len(set(second))\n)",
            "return [first.index(c) for c in first] == [second.index(c) for c in second]",
        ),
        "one-swap": (
            "the strings differ in exactly two places and become equal if the letters of the first at those places "
            "change "
            "places",
            "places = [i for i in range(len(first)) if i < len(second) and first[i] != second[i]]\n"
            "return (len(first) == len(second) and len(places) == 2 and first[places[0]] == second[places[1]]\n"
            "    and first[places[1]] == second[places[0]])",
            "swaps = set()\nfor j in range(len(first)):\n    for i in range(j):\n        if first[i] != first[j]:\n"
            "            swaps.add(first[:i] + first[j] + first[i + 1 : j] + first[i] + first[j + 1 :])\n"
            "return second in swaps",
        ),
    },
    examples=[("abca", "caba"), ("abc", "abd"), ("stone", "onest")],
    own_examples={"subsequence": [("ace", "abcde")], "one-swap": [("abcd", "adcb")]},
    tests=_two_texts,
    wrong=[
        ("sorted(first) == sorted(second)", "set(first) == set(second)"),
        ("len(first) == len(second) and second in", "second in"),
        ("rest = iter(second)", "rest = second"),
        ("return all(c in rest for c in first)", "return first in second"),
        ("or first[i + 1 :] == second[i:])", ")"),
        (" == len(set(second))\n    )", "\n    )"),
        ("len(places) == 2 and ", "places and "),
        ("len(first) == len(second) and len(places)", "len(places)"),
    ],
)
