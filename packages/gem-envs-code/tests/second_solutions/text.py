"""Problems on text: second solutions, planted mistakes, and programs that are too slow or too simple."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby


def longest_vowel_run(text: str) -> int:
    return max(map(len, re.findall("[aeiouAEIOU]+", text)), default=0)


def rotate_words(sentence: str, steps: int) -> str:
    def rotated(word: str) -> str:
        for _ in range(steps % len(word) if word else 0):
            word = word[-1] + word[:-1]
        return word

    return " ".join(map(rotated, sentence.split(" ")))


def first_bad_bracket(text: str) -> int:
    def well_formed_so_far(piece: str) -> bool:
        rest = re.sub(r"[^()\[\]{}]", "", piece)
        while (shorter := re.sub(r"\(\)|\[\]|\{\}", "", rest)) != rest:
            rest = shorter
        return not re.search(r"[)\]}]", rest)

    low, high = 0, len(text)  # the last is a length whose beginning is well-formed so far
    if well_formed_so_far(text):
        rest = re.sub(r"[^()\[\]{}]", "", text)
        while (shorter := re.sub(r"\(\)|\[\]|\{\}", "", rest)) != rest:
            rest = shorter
        return len(text) if rest else -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if well_formed_so_far(text[:middle]) else (low, middle)
    return low


def shorten_runs(text: str) -> str:
    runs = [(letter, len(list(group))) for letter, group in groupby(text)]
    return "".join(letter if length == 1 else f"{length}{letter}" for letter, length in runs)


def common_prefix(texts: list[str]) -> str:
    return max(
        (texts[0][:n] for n in range(len(texts[0]) + 1) if all(t.startswith(texts[0][:n]) for t in texts)), key=len
    )


def word_families(texts: list[str]) -> int:
    return len({frozenset(Counter(text).items()) for text in texts})


def undo_shift(text: str) -> str:
    import string

    first, message = text.split("\n")[:2]
    shift = int(first) % 26
    small, large = string.ascii_lowercase, string.ascii_uppercase
    moved = small[shift:] + small[:shift] + large[shift:] + large[:shift]
    return message.translate(str.maketrans(moved, small + large))


def longest_without_repeats(text: str) -> int:
    best = start = 0
    window: set[str] = set()
    for letter in text:
        while letter in window:
            window.remove(text[start])
            start += 1
        window.add(letter)
        best = max(best, len(window))
    return best


def calculate(expression: str) -> int:
    return int(eval(expression.replace(" ", "")))


def fill_lines(text: str) -> str:
    import textwrap

    width, words = text.split("\n", 1)
    return textwrap.fill(words.strip(), int(width), break_long_words=False, break_on_hyphens=False)


def unpack(text: str) -> str:
    while match := re.search(r"(\d+)\[([a-z]*)\]", text):
        text = text[: match.start()] + match[2] * int(match[1]) + text[match.end() :]
    return text


def edit_distance(one: str, other: str) -> int:
    # Myers' diagonals: how far one gets with each number of steps.
    reach = {0: 0}
    steps = 0
    while True:
        for diagonal in list(reach):
            i = reach[diagonal]
            while i < len(one) and i + diagonal < len(other) and one[i] == other[i + diagonal]:
                i += 1
            reach[diagonal] = i
        if reach.get(len(other) - len(one), -1) >= len(one):
            return steps
        after: dict[int, int] = {}
        for diagonal, i in reach.items():
            for there, place in ((diagonal - 1, i + 1), (diagonal, i + 1), (diagonal + 1, i)):
                if place <= len(one) and place + there <= len(other):
                    after[there] = max(after.get(there, -1), place)
        reach, steps = after, steps + 1


def longest_palindrome(text: str) -> int:
    # Hashes of both directions, and a search for the longest of each parity.
    prime, base = (1 << 61) - 1, 911_382_323
    power = [1]
    for _ in text:
        power.append(power[-1] * base % prime)

    def hashes(letters: str) -> list[int]:
        found = [0]
        for letter in letters:
            found.append((found[-1] * base + ord(letter)) % prime)
        return found

    ahead, back, size = hashes(text), hashes(text[::-1]), len(text)

    def exists(length: int) -> bool:
        return any(
            (ahead[i + length] - ahead[i] * power[length] - back[size - i] + back[size - i - length] * power[length])
            % prime
            == 0
            for i in range(size - length + 1)
        )

    best = 0
    for parity in (0, 1):
        low, high = 0, (size - parity) // 2 + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if exists(2 * middle + parity) else (low, middle)
        if size:
            best = max(best, 2 * low + parity)
    return best


def shortest_cover(text: str, wanted: str) -> int:
    need = Counter(wanted)
    places: dict[str, list[int]] = {letter: [] for letter in need}
    best = -1 if wanted else 0
    for end, letter in enumerate(text):
        if letter in places:
            places[letter].append(end)
        if need and all(len(places[each]) >= count for each, count in need.items()):
            start = min(places[each][-count] for each, count in need.items())
            if best < 0 or end - start + 1 < best:
                best = end - start + 1
    return best


def fits_pattern(text: str, pattern: str) -> bool:
    reached = {0}
    for sign in re.sub(r"\*+", "*", pattern):
        if sign == "*":
            reached = set(range(min(reached), len(text) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(text) and sign in ("?", text[at])}
    return len(text) in reached


SOLUTIONS = (
    longest_vowel_run,
    rotate_words,
    first_bad_bracket,
    shorten_runs,
    common_prefix,
    word_families,
    undo_shift,
    longest_without_repeats,
    calculate,
    fill_lines,
    unpack,
    edit_distance,
    longest_palindrome,
    shortest_cover,
    fits_pattern,
)

MISTAKES = [
    ("longest-vowel-run", '"aeiouAEIOU"', '"aeiou"'),
    ("longest-vowel-run", "best = max(best, run)", "best = max(best, run) if run > 1 else best"),
    ("rotate-words", "len(each) - steps % len(each)", "steps % len(each)"),
    ("rotate-words", "steps % len(each) if each", "steps if each"),
    ("first-bad-bracket", "return len(text) if still_open else -1", "return -1"),
    (
        "first-bad-bracket",
        "not still_open or still_open.pop() != closing[letter]",
        "not still_open or not still_open.pop()",
    ),
    ("shorten-runs", "end == len(text) or ", "end < len(text) and "),
    ("shorten-runs", "if end - start == 1 else", "if end - start == 0 else"),
    ("common-prefix", "while length < len(first) and length < len(last) and", "while"),
    ("common-prefix", "min(texts), max(texts)", "texts[0], texts[-1]"),
    ("word-families", '"".join(sorted(each))', '"".join(sorted(set(each)))'),
    ("word-families", "sorted(each)", "sorted(each.lower())"),
    ("undo-shift", "base - shift", "base + shift"),
    ("undo-shift", "letter.isascii() and letter.isalpha()", "letter.islower()"),
    ("undo-shift", "% 26 + base", "+ base"),
    ("longest-without-repeats", "max(start, last.get(letter, -1) + 1)", "last.get(letter, -1) + 1"),
    ("longest-without-repeats", "index - start + 1", "index - start"),
    ("calculate", '"*": 2', '"*": 1'),
    ("calculate", "rank[operators[-1]] >= rank[letter]", "rank[operators[-1]] > rank[letter]"),
    ("fill-lines", "len(filled[-1]) + 1 + len(each) <= width", "len(filled[-1]) + len(each) <= width"),
    ("fill-lines", "1 + len(each) <= width", "1 + len(each) < width"),
    ("unpack", "count = count * 10 + int(letter)", "count = int(letter)"),
    ("unpack", "parts = outer", "parts = outer\n            count = 1"),
    ("edit-distance", "before + (letter != wanted)", "before + 2 * (letter != wanted)"),
    ("edit-distance", "row[0] = row[0], number", "row[0] = row[0], 0"),
    ("longest-palindrome", "min(right - index, radius[2 * centre - index])", "radius[2 * centre - index]"),
    ("longest-palindrome", "if index + radius[index] > right:", "if False:"),  # right, and too slow
    ("shortest-cover", "lacking -= missing[letter] > 0", "lacking -= 1"),
    ("shortest-cover", "if best < 0 or end - start + 1 < best:", "if best < 0:"),
    ("shortest-cover", "return 0", "return -1"),
    ("fits-pattern", 'return all(letter == "*" for letter in pattern[at:])', "return at == len(pattern)"),
    ("fits-pattern", 'pattern[at] in ("?", text[index])', "pattern[at] == text[index]"),
]

TOO_SLOW = {
    "longest-without-repeats": """
def longest_without_repeats(text):
    best = 0
    for start in range(len(text)):
        seen = set()
        for letter in text[start:]:
            if letter in seen:
                break
            seen.add(letter)
        best = max(best, len(seen))
    return best
""",
    "longest-palindrome": """
def longest_palindrome(text):
    best = 0
    for centre in range(2 * len(text) + 1):
        low, high = (centre - 1) // 2, centre // 2
        if centre % 2 == 1:
            low, high = centre // 2, centre // 2
        else:
            low, high = centre // 2 - 1, centre // 2
        while low >= 0 and high < len(text) and text[low] == text[high]:
            low, high = low - 1, high + 1
        best = max(best, high - low - 1)
    return best
""",
    "edit-distance": """
def edit_distance(one, other):
    if not one or not other:
        return len(one) + len(other)
    return min(edit_distance(one[1:], other) + 1, edit_distance(one, other[1:]) + 1,
               edit_distance(one[1:], other[1:]) + (one[0] != other[0]))
""",
    "shortest-cover": """
from collections import Counter
def shortest_cover(text, wanted):
    for length in range(len(text) + 1):
        for start in range(len(text) - length + 1):
            if not Counter(wanted) - Counter(text[start:start + length]):
                return length
    return -1
""",
    "fits-pattern": """
def fits_pattern(text, pattern):
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(fits_pattern(text[i:], pattern[1:]) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and fits_pattern(text[1:], pattern[1:])
""",
}

TOO_SIMPLE = {
    "calculate": "def calculate(expression):\n    return eval(expression.split('-')[0] or '0')\n",
}
