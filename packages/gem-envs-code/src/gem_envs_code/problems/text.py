"""Problems on text."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.draw import joined, lines, word, words
from gem_envs_code.problems.problem import function, program


def _texts(rng: random.Random) -> Iterator[tuple[str]]:
    yield from (("",), ("a",), ("z",), ("AEIOU",), ("rhythm",), ("aab",), ("baa",), ("a e i",))
    for length in (5, 20, 80, 400):
        yield (word(rng, length, "aeioubcdAEBC "),)
    yield ("b" * 500 + "aei" * 1000 + "c",)


@function(
    "easy",
    "Return the length of the longest run of vowels (a, e, i, o, u, in either case) that stand side by side in a "
    "text; 0 if there is none. A text has up to 10,000 characters.",
    [("queueing up",), ("Sky",)],
    tests=_texts,
)
def longest_vowel_run(text: str) -> int:
    """Longest run of vowels."""
    best = run = 0
    for letter in text:
        run = run + 1 if letter in "aeiouAEIOU" else 0
        best = max(best, run)
    return best


def _rotations(rng: random.Random) -> Iterator[tuple[str, int]]:
    yield from (("abc", 0), ("abc", 3), ("abc", 4), ("a", 100), ("ab cde", 10**12 + 1), ("", 7))
    for _ in range(8):
        yield joined(words(rng, rng.randint(1, 12), 9)), rng.randint(0, 50)


@function(
    "easy",
    "Rotate every word of a sentence to the right by `steps` letters: the last letter of a word comes to its front, "
    "once for each step. Words consist of lower-case letters and are separated by single spaces, which stay; the "
    "sentence may be empty. 0 ≤ steps ≤ 10¹⁸.",
    [("stone age", 2), ("go", 3)],
    tests=_rotations,
)
def rotate_words(sentence: str, steps: int) -> str:
    """Rotate each word to the right."""
    rotated = []
    for each in sentence.split(" "):
        cut = len(each) - steps % len(each) if each else 0
        rotated.append(each[cut:] + each[:cut])
    return " ".join(rotated)


def _brackets(rng: random.Random) -> Iterator[tuple[str]]:
    yield from (("",), ("(",), (")",), ("([)]",), ("(((",), ("{[]}()",), ("()]",), ("a(b)c",), ("[(])",), ("(()",))
    for length in (6, 20, 100):
        for _ in range(2):
            yield (word(rng, length, "()[]{}"),)
    text: list[str] = []
    for _ in range(3000):
        pair = rng.choice(["()", "[]", "{}"])
        at = rng.randrange(len(text) + 1) if len(text) < 40 else len(text)
        text[at:at] = pair
    yield ("".join(text),)
    yield ("".join(text) + "}",)
    yield ("(" * 3000 + ")" * 2999,)


@function(
    "easy",
    "A text holds brackets of three kinds, (), [] and {}, among other characters. Return the index of the first "
    "closing bracket that does not close the innermost open one. If there is none, but brackets stay open at the end, "
    "return the length of the text; if all is well, return -1. A text has up to 10,000 characters.",
    [("f(a[1])",), ("(]",), ("(()",)],
    tests=_brackets,
    split="test",
)
def first_bad_bracket(text: str) -> int:
    """Where brackets stop matching."""
    closing = {")": "(", "]": "[", "}": "{"}
    still_open: list[str] = []
    for index, letter in enumerate(text):
        if letter in "([{":
            still_open.append(letter)
        elif letter in closing and (not still_open or still_open.pop() != closing[letter]):
            return index
    return len(text) if still_open else -1


def _runs(rng: random.Random) -> Iterator[tuple[str]]:
    yield from (("",), ("a",), ("aa",), ("abc",), ("aabaa",), ("a" * 11,), ("ab" * 30,))
    for length in (10, 50, 300):
        yield (word(rng, length, "ab"),)
    yield ("x" * 1000 + "y" + "z" * 999,)


@function(
    "easy",
    "Shorten a text of lower-case letters: each run of two or more equal letters becomes its length followed by the "
    "letter once; a letter that stands alone stays as it is. A text has up to 10,000 letters.",
    [("aaabcc",), ("abc",)],
    tests=_runs,
)
def shorten_runs(text: str) -> str:
    """Run-length encode."""
    parts, start = [], 0
    for end in range(1, len(text) + 1):
        if end == len(text) or text[end] != text[start]:
            parts.append(text[start] if end - start == 1 else f"{end - start}{text[start]}")
            start = end
    return "".join(parts)


def _prefix_lists(rng: random.Random) -> Iterator[tuple[list[str]]]:
    yield from (([""],), (["abc"],), (["abc", "abc"],), (["abc", ""],), (["a", "b"],), (["abcd", "ab", "abc"],))
    for _ in range(6):
        stem = word(rng, rng.randint(0, 12), "ab")
        yield ([stem + word(rng, rng.randint(0, 5), "ab") for _ in range(rng.randint(2, 8))],)


@function(
    "easy",
    "Return the longest text with which every one of the given words begins. There is at least one word; words may be "
    "empty.",
    [(["flower", "flow", "flight"],), (["dog", "race"],)],
    tests=_prefix_lists,
)
def common_prefix(texts: list[str]) -> str:
    """Longest common prefix."""
    first, last = min(texts), max(texts)
    length = 0
    while length < len(first) and length < len(last) and first[length] == last[length]:
        length += 1
    return first[:length]


def _letter_groups(rng: random.Random) -> Iterator[tuple[list[str]]]:
    yield from (([],), ([""],), (["", ""],), (["a", "A"],), (["ab", "ba", "abb", "aab"],), (["listen", "silent"],))
    for count in (5, 40, 300):
        yield (words(rng, count, 4, "abc"),)
    yield (["a" * 200 + word(rng, 3, "xyz") for _ in range(200)],)


@function(
    "easy",
    "Two words are of one family if each can be had by putting the letters of the other into another order; case "
    "matters. Return how many families there are among the given words, of which there are up to 1,000.",
    [(["tea", "eat", "tan", "ate", "nat", "bat"],), (["a", "A"],)],
    tests=_letter_groups,
    split="test",
)
def word_families(texts: list[str]) -> int:
    """Count classes of anagrams."""
    return len({"".join(sorted(each)) for each in texts})


def _ciphers(rng: random.Random) -> Iterator[str]:
    yield lines(0, "Nothing changes")
    yield lines(26, "Nor here: xyz XYZ")
    yield lines(1, "z Z a A")
    yield lines(-3, "abc, XYZ!")
    yield lines(10**15, "Zebra 123")
    for _ in range(7):
        text = joined(words(rng, rng.randint(1, 20), 8, "abcxyzABCXYZ.,!?59"))
        yield lines(rng.randint(-100, 100), text)


@program(
    "easy",
    "The first line holds a whole number k, -10¹⁸ ≤ k ≤ 10¹⁸, and the second a text. The text was made by moving "
    "every Latin letter k places on in the alphabet, from z on to a, keeping its case; all other characters stayed. "
    "Print the text as it was before.",
    ["3\nKhoor, Zruog!\n", "-1\nz\n"],
    tests=_ciphers,
)
def undo_shift(text: str) -> str:
    """Undo a Caesar shift."""
    first, _, message = text.partition("\n")
    shift = int(first)
    plain = []
    for letter in message.rstrip("\n"):
        if letter.isascii() and letter.isalpha():
            base = ord("a") if letter.islower() else ord("A")
            letter = chr((ord(letter) - base - shift) % 26 + base)
        plain.append(letter)
    return "".join(plain)


def _unique_texts(rng: random.Random) -> Iterator[tuple[str]]:
    yield from (("",), ("a",), ("aa",), ("abba",), ("dvdf",), ("tmmzuxt",), ("abcabcbb",), (" ",))
    for length in (10, 60, 300):
        yield (word(rng, length, "abcdefgh"),)
    wide = [chr(0x4E00 + number) for number in range(20_000)]
    yield ("".join(wide),)
    yield ("".join(wide[:19_999]) * 2,)


@function(
    "medium",
    "Return the length of the longest piece of a text, of characters that stand side by side, in which no character "
    "occurs twice. A text has up to 50,000 characters, of any alphabet.",
    [("abcabcbb",), ("pwwkew",)],
    tests=_unique_texts,
)
def longest_without_repeats(text: str) -> int:
    """Longest piece without a repeated character."""
    last: dict[str, int] = {}
    best = start = 0
    for index, letter in enumerate(text):
        start = max(start, last.get(letter, -1) + 1)
        last[letter] = index
        best = max(best, index - start + 1)
    return best


def _expressions(rng: random.Random) -> Iterator[tuple[str]]:
    def expression(depth: int) -> str:
        kind = rng.randrange(4) if depth else 0
        if kind == 0:
            return str(rng.randint(0, 30))
        if kind == 1:
            return f"({expression(depth - 1)})"
        space = " " * rng.randrange(2)
        return f"{expression(depth - 1)}{space}{rng.choice('+-*')}{space}{expression(depth - 1)}"

    yield from (("7",), ("2-3-4",), ("2-3*4",), ("(2-3)*4",), ("2*(3-(4-5))",), ("10 - (2 + 3) * 4",), ("0-5*0",))
    for depth in (2, 3, 4, 5, 6, 7):
        yield (expression(depth),)
    yield ("(" * 80 + "1" + ")" * 80,)
    yield ("-".join(["1"] * 2000),)


@function(
    "medium",
    "Return the value of an expression of whole numbers that are not negative, the operators +, - and *, round "
    "brackets, and spaces. Multiplication comes before the other two, which are worked off from the left. There is no "
    "sign before a number. An expression has up to 10,000 characters and brackets up to 100 deep.",
    [("2 + 3*4",), ("10 - (2 - 7)",)],
    tests=_expressions,
)
def calculate(expression: str) -> int:
    """Evaluate with two stacks."""
    values: list[int] = []
    operators: list[str] = []
    rank = {"+": 1, "-": 1, "*": 2}

    def apply() -> None:
        operator, right, left = operators.pop(), values.pop(), values.pop()
        values.append(left + right if operator == "+" else left - right if operator == "-" else left * right)

    index = 0
    while index < len(expression):
        letter = expression[index]
        if letter.isdigit():
            end = index
            while end < len(expression) and expression[end].isdigit():
                end += 1
            values.append(int(expression[index:end]))
            index = end
            continue
        if letter == "(":
            operators.append(letter)
        elif letter == ")":
            while operators[-1] != "(":
                apply()
            operators.pop()
        elif letter in rank:
            while operators and operators[-1] != "(" and rank[operators[-1]] >= rank[letter]:
                apply()
            operators.append(letter)
        index += 1
    while operators:
        apply()
    return values[0]


def _paragraphs(rng: random.Random) -> Iterator[str]:
    yield lines(5, "a")
    yield lines(3, "abc def ghi")
    yield lines(7, "abc def ghi")
    yield lines(6, "abc def ghi")
    yield lines(4, "ab abcdefgh cd")
    yield lines(1, "a b c")
    for width in (10, 17, 30):
        for _ in range(2):
            yield lines(width, joined(words(rng, rng.randint(5, 60), 12)))


@program(
    "medium",
    "The first line holds a width of 1 to 100, the second up to 1,000 words with single spaces between them. Fill "
    "lines from the front: a word goes onto the current line if the line, with a space before the word, is then no "
    "longer than the width; otherwise it begins a new line. A word that is longer than the width stands alone on a "
    "line of its own. Print the lines.",
    ["11\nthe quick brown fox jumps\n", "3\na bb cccc d\n"],
    tests=_paragraphs,
    split="test",
)
def fill_lines(text: str) -> str:
    """Greedy line breaking."""
    first, *given = text.split()
    width = int(first)
    filled = [given[0]]
    for each in given[1:]:
        if len(filled[-1]) + 1 + len(each) <= width:
            filled[-1] += " " + each
        else:
            filled.append(each)
    return "\n".join(filled)


def _packed(rng: random.Random) -> Iterator[tuple[str]]:
    def packed(depth: int) -> str:
        parts = []
        for _ in range(rng.randint(1, 3)):
            if depth and rng.random() < 0.5:
                parts.append(f"{rng.choice([1, 2, 3, 10])}[{packed(depth - 1)}]")
            else:
                parts.append(word(rng, rng.randint(1, 3), "abc"))
        return "".join(parts)

    yield from (("abc",), ("",), ("1[a]",), ("12[ab]c",), ("2[a2[b]]",), ("a0[b]c",), ("3[]x",), ("2[2[2[2[z]]]]",))
    for depth in (1, 2, 2, 3, 3):
        yield (packed(depth),)
    yield ("100[" * 2 + "q" + "]" * 2,)


@function(
    "medium",
    "Unpack a text of lower-case letters in which `k[…]` stands for what is in the brackets, k times over. k is a "
    "whole number that is not negative; brackets may lie in each other. What is unpacked has up to 100,000 letters.",
    [("3[a2[c]]x",), ("10[z]",)],
    tests=_packed,
)
def unpack(text: str) -> str:
    """Unpack nested repetitions."""
    stack: list[tuple[list[str], int]] = []
    parts: list[str] = []
    count = 0
    for letter in text:
        if letter.isdigit():
            count = count * 10 + int(letter)
        elif letter == "[":
            stack.append((parts, count))
            parts, count = [], 0
        elif letter == "]":
            outer, times = stack.pop()
            outer.append("".join(parts) * times)
            parts = outer
        else:
            parts.append(letter)
    return "".join(parts)


def _word_pairs(rng: random.Random) -> Iterator[tuple[str, str]]:
    yield from (("", ""), ("a", ""), ("", "abc"), ("abc", "abc"), ("abc", "cba"), ("kitten", "sitting"), ("ab", "ba"))
    for length in (5, 12, 40):
        for _ in range(2):
            yield word(rng, length, "abc"), word(rng, length + rng.randint(-3, 3), "abc")
    yield word(rng, 400, "ab"), word(rng, 380, "ab")


@function(
    "medium",
    "Return the least number of steps that turn one word into another, where a step inserts a letter, removes one, or "
    "puts one in the place of another. Words have up to 400 letters.",
    [("horse", "ros"), ("", "ab")],
    tests=_word_pairs,
)
def edit_distance(one: str, other: str) -> int:
    """Levenshtein distance, a row at a time."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, start=1):
        before, row[0] = row[0], number
        for place, wanted in enumerate(other, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (letter != wanted))
    return row[-1]


def _mirrors(rng: random.Random) -> Iterator[tuple[str]]:
    yield from (("",), ("a",), ("ab",), ("aa",), ("aba",), ("abba",), ("abcba",), ("aabb",), ("abacab",), ("bananas",))
    for length in (10, 30, 200):
        for _ in range(2):
            yield (word(rng, length, "ab"),)
    yield ("a" * 60_000,)
    yield ("ab" * 30_000,)
    yield ("a" * 30_000 + "b" + "a" * 29_999,)


@function(
    "hard",
    "Return the length of the longest piece of a text, of characters that stand side by side, that reads the same "
    "from both ends. A text has up to 60,000 lower-case letters; a time that grows with the square of that is too "
    "much.",
    [("babad",), ("cbbd",)],
    tests=_mirrors,
)
def longest_palindrome(text: str) -> int:
    """Manacher's algorithm (Journal of the ACM, 1975), over the text with a separator between its letters."""
    spread = "|" + "|".join(text) + "|"
    radius = [0] * len(spread)
    centre = right = 0
    for index in range(len(spread)):
        if index < right:
            radius[index] = min(right - index, radius[2 * centre - index])
        low, high = index - radius[index] - 1, index + radius[index] + 1
        while low >= 0 and high < len(spread) and spread[low] == spread[high]:
            radius[index] += 1
            low -= 1
            high += 1
        if index + radius[index] > right:
            centre, right = index, index + radius[index]
    return max(radius)


def _windows(rng: random.Random) -> Iterator[tuple[str, str]]:
    yield from (
        ("a", "a"),
        ("a", "aa"),
        ("abc", "d"),
        ("adobecodebanc", "abc"),
        ("aab", "aab"),
        ("baa", "aa"),
        ("abc", ""),
    )
    for length in (10, 40, 200):
        for _ in range(2):
            yield word(rng, length, "abcd"), word(rng, rng.randint(1, 5), "abcd")
    yield "a" * 30_000 + "b" + "c" * 30_000, "abc"
    yield word(rng, 60_000, "ab") + "c", "aabbc"
    yield "a" + "x" * 30_000 + "b" + "x" * 30_000 + "c", "abc"


@function(
    "hard",
    "Return the length of the shortest piece of `text`, of letters that stand side by side, that holds every letter "
    "of `wanted` at least as often as `wanted` does; 0 if `wanted` is empty, and -1 if there is no such piece. Both "
    "consist of lower-case letters; `text` has up to 70,000 and `wanted` up to 100.",
    [("adobecodebanc", "abc"), ("aa", "aaa")],
    tests=_windows,
    split="test",
)
def shortest_cover(text: str, wanted: str) -> int:
    """Two ends that move to the right."""
    missing: dict[str, int] = {}
    for letter in wanted:
        missing[letter] = missing.get(letter, 0) + 1
    lacking, best, start = len(wanted), -1, 0
    if not lacking:
        return 0
    for end, letter in enumerate(text):
        if letter in missing:
            lacking -= missing[letter] > 0
            missing[letter] -= 1
        while not lacking:
            if best < 0 or end - start + 1 < best:
                best = end - start + 1
            if text[start] in missing:
                missing[text[start]] += 1
                lacking += missing[text[start]] > 0
            start += 1
    return best


def _patterns(rng: random.Random) -> Iterator[tuple[str, str]]:
    yield from (("", ""), ("", "*"), ("", "?"), ("abc", "abc"), ("abc", "a*c"), ("abc", "?b?"), ("abc", "*?*?*?*?"))
    yield from (("aab", "c*a*b"), ("abcabc", "*abc"), ("abcabcd", "*abc"), ("a", "**"), ("ab", "a"), ("a.b", "a?b"))
    for length in (5, 10, 30):
        for _ in range(2):
            yield word(rng, length, "ab"), word(rng, rng.randint(2, 8), "ab*?")
    yield "a" * 1000, "*a" * 30 + "b"
    yield "ab" * 600, "*a*b" * 100 + "*"


@function(
    "hard",
    "Tell whether a whole text fits a pattern, in which `*` stands for any number of characters, also none, `?` for "
    "one character, and every other character for itself. Text and pattern have up to 2,000 characters.",
    [("photo.png", "*.p?g"), ("abc", "a?")],
    tests=_patterns,
)
def fits_pattern(text: str, pattern: str) -> bool:
    """Greedy matching that goes back to the last star only."""
    place = star = -1
    index = at = 0
    while index < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, place = at, index
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[index]):
            index += 1
            at += 1
        elif star >= 0:
            place += 1
            index, at = place, star + 1
        else:
            return False
    return all(letter == "*" for letter in pattern[at:])
