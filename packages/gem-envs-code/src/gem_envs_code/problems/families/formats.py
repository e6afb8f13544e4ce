"""Structures on texts of a fixed form."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.structure import structure

code_check = structure(
    "medium",
    "Return whether a text is a valid $what. The text has up to 100 characters of any kind and may be empty.",
    code="""
def code_check(text: str) -> bool:
    $body
""",
    second="""
def code_check(text):
    import re
    $also
""",
    fields="what body also",
    variants={
        "isbn": (
            "book number of ten places: nine digits and a last place that is a digit or `X` for 10, such that the "
            "sum of 10 times the first, 9 times the second, and so on, down to 1 times the last place is divisible "
            "by 11. Hyphens may stand anywhere and count for nothing",
            "places = text.replace('-', '')\nif len(places) != 10 or any(c not in '0123456789' for c in places[:9]) "
            "or places[9] not in '0123456789X':\n    return False\n"
            "return sum((10 - i) * (10 if c == 'X' else int(c)) for i, c in enumerate(places)) % 11 == 0",
            "match = re.fullmatch('([0-9]{9})([0-9X])', ''.join(text.split('-')))\n"
            "return match is not None and sum(i * int(c) for i, c in enumerate(match[1], 1)) % 11 == (10 if "
            "match[2] == 'X' else int(match[2]))",
        ),
        "luhn": (
            "card number: 2 to 30 digits, which may be separated by single blanks, such that this sum is divisible "
            "by 10: from right to left, the digits are added, but every second one, beginning with the one left of "
            "the last, is doubled before and reduced by 9 if the double is greater than 9",
            "if '  ' in text or text != text.strip():\n    return False\ndigits = text.replace(' ', '')\n"
            "if not 2 <= len(digits) <= 30 or any(c not in '0123456789' for c in digits):\n    return False\n"
            "return sum(int(c) if i % 2 == 0 else 2 * int(c) - 9 * (2 * int(c) > 9) for i, c in "
            "enumerate(reversed(digits))) % 10 == 0",
            "if not re.fullmatch('[0-9]( ?[0-9]){1,29}', text):\n    return False\ndigits = [int(c) for c in text "
            "if c != ' '][::-1]\n"
            "return (sum(digits[::2]) + sum([0, 2, 4, 6, 8, 1, 3, 5, 7, 9][d] for d in digits[1::2])) % 10 == 0",
        ),
        "time": (
            "time of day: hours from 0 to 23 with one or two digits, a colon, and minutes from 00 to 59 with two "
            "digits, optionally followed by another colon and seconds from 00 to 59 with two digits; blanks are not "
            "allowed",
            "parts = text.split(':')\nif len(parts) not in (2, 3) or any(c not in '0123456789' for c in "
            "''.join(parts)):\n    return False\n"
            "return len(parts[0]) in (1, 2) and int(parts[0]) < 24 and all(len(part) == 2 and int(part) < 60 for "
            "part in parts[1:])",
            "return re.fullmatch('([01]?[0-9]|2[0-3])(:[0-5][0-9]){1,2}', text) is not None",
        ),
        "address": (
            "network address: four whole numbers from 0 to 255, separated by dots, written in decimal digits "
            "without a sign, blanks or leading zeros (0 itself is written `0`)",
            "parts = text.split('.')\nreturn len(parts) == 4 and all(part in map(str, range(256)) for part in parts)",
            "one = '(0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])'\nreturn "
            "bool(re.fullmatch(rf'({one}[.]){{3}}{one}', text))",
        ),
        "name": (
            "name of a variable: it consists of one or more small letters from a to z, digits and underscores, does "
            "not begin with a digit, does not end with an underscore and contains no two underscores side by side",
            "if not text or any(c not in 'abcdefghijklmnopqrstuvwxyz0123456789_' for c in text):\n    return False\n"
            "return text[0] not in '0123456789' and text[-1] != '_' and '__' not in text",
            "return re.fullmatch('_?[a-z][a-z0-9]*(_[a-z0-9]+)*|_[0-9][a-z0-9]*(_[a-z0-9]+)*', text) is not None",
        ),
        "colour": (
            "colour: a `#` followed by three or six hexadecimal digits (0 to 9 and a to f or A to F), where the "
            "letters are either all small or all capital",
            "digits = text[1:]\nif text[:1] != '#' or len(digits) not in (3, 6) or any(c not in "
            "'0123456789abcdefABCDEF' for c in digits):\n    return False\n"
            "return digits in (digits.lower(), digits.upper())",
            "return bool(re.fullmatch('#([0-9a-f]{3}|[0-9A-F]{3}|[0-9a-f]{6}|[0-9A-F]{6})', text))",
        ),
    },
    examples=[
        ("0-306-40615-2",),
        ("4539 1488 0343 6467",),
        ("23:05",),
        ("192.168.0.1",),
        ("my_name2",),
        ("#1aF",),
        ("#A0C",),
    ],
    tests=lambda rng: iter(
        [
            (t,)
            for t in (
                "",
                "0306406152",
                "0306406153",
                "080442957X",
                "080442957x",
                "X804429570",
                "03064061522",
                "0-306-4061-5-2-",
                "0 306406152",
                "123456789X",
                "030640615",
                "0000000000",
                "１234567890",
            )
        ]
        + [
            (t,)
            for t in (
                "4539148803436467",
                "4539148803436466",
                "18",
                "0",
                "00",
                "4539  148803436467",
                " 18",
                "18 ",
                "59",
                "8273 1232 7352 0569",
                "8273 1232 7352 0568",
                "1 8",
                "000000000000000000000000000000",
                "0" * 31,
                "1٣",
            )
        ]
        + [
            (t,)
            for t in (
                "0:00",
                "24:00",
                "7:5",
                "07:05",
                "7:05:09",
                "23:59:59",
                "23:60",
                "12:30:60",
                "1:2:3",
                "12:30:",
                ":30",
                "12.30",
                "012:30",
                "12:300",
                " 7:05",
                "12:30:15:10",
                "9:59",
                "19:00:1",
                "٣:05",
                "-1:00",
            )
        ]
        + [
            (t,)
            for t in (
                "0.0.0.0",  # noqa: S104  # a text, not an interface
                "255.255.255.255",
                "256.1.1.1",
                "1.2.3",
                "1.2.3.4.5",
                "01.2.3.4",
                "1.2.3.04",
                "1..2.3",
                "a.b.c.d",
                "1.2.3.-4",
                "1.2.3.4 ",
                "10.0.0.1",
                "100.99.249.250",
                "1.2.3.1000",
                "00.0.0.0",
                "8.8.8.8",
            )
        ]
        + [
            (t,)
            for t in (
                "a",
                "_",
                "_a",
                "a_",
                "a__b",
                "2a",
                "a2",
                "a_2",
                "A",
                "aB",
                "_1",
                "a b",
                "a-b",
                "été",
                "x_y_z",
                "__a",
                "a1_b2_",
                "snake_case_name",
                "_x_1",
                "z9",
            )
        ]
        + [
            (t,)
            for t in (
                "#fff",
                "#FFF",
                "#fFf",
                "#ffff",
                "#12345",
                "#123456",
                "123456",
                "#abcdeg",
                "#ABCDEF",
                "#abcdef",
                "#ABCdef",
                "##123",
                "#",
                "#000",
                "#12 456",
                "#1a2b3c",
                "#1A2B3c",
                "#0F0",
                "#٣٣٣",
                "fabc",
                "x123456",
            )
        ]
    ),
    wrong=[
        ("len(places) != 10 or ", ""),
        ("'0123456789X':", "'0123456789Xx':"),
        ("% 11", "% 10"),
        ("i % 2 == 0", "i % 2"),
        ("'  ' in text or ", ""),
        (" - 9 * (2 * int(c) > 9)", ""),
        ("int(parts[0]) < 24", "int(parts[0]) < 25"),
        ("len(part) == 2 and ", ""),
        ("in (2, 3)", "in (2,)"),
        ("len(parts) == 4 and ", ""),
        ("range(256)", "range(1, 256)"),
        ("range(256)", "range(255)"),
        ("text[-1] != '_' and ", ""),
        (" and '__' not in text", ""),
        ("text[0] not in '0123456789' and ", ""),
        ("(3, 6)", "(3, 4, 6)"),
        ("text[:1] != '#' or ", ""),
        ("digits.lower(), digits.upper()", "digits.lower(),"),
        ("<= 30", "<= 31"),
    ],
)


def _settings(rng: random.Random) -> Iterator[tuple[str]]:
    yield from (
        ("",),
        ("a=1",),
        ("a=1\na=2",),
        ("# a=1",),
        ("a=",),
        ("=1",),
        ("a",),
        ("a=1=2",),
        ("  a = 1  ",),
        ("a=1\n\nb=2\n",),
        ("a=x\nb=# y",),
        ("b=2\na=1\nb=3\na=\n#",),
        ("a = b c ",),
    )
    yield from (("  # a=1\n  # a=2\nb=2",), ("a=1\na = 1",), (" # a=1\na=2\na=3",), ("a=x\na =x \nb= y",))
    for count in (2, 3, 4, 6, 9):
        for _ in range(2):
            rows = []
            for _ in range(count):
                key, value = rng.choice("abcd"), rng.choice(("1", "22", "-5", "x y", "", "q=r"))
                rows.append(
                    rng.choice((f"{key}={value}", f"{key} = {value}", f" {key}={value} ", f"# {key}={value}", "", key))
                )
            yield ("\n".join(rows),)


read_settings = structure(
    "medium",
    "A text consists of lines, in which blanks are the only white space. A line whose first character other than a "
    "blank is `#` is a comment, and a line without `=` means nothing. Every other line is a setting: what stands "
    "before its first `=` is the key, what stands after it is the value, and blanks around either of them do not "
    "belong to it. Key and value may be empty. Return $what. The text has up to 5,000 characters.",
    code="""
def read_settings(text: str) -> $type:
    settings = []
    for line in text.split("\\n"):
        if "=" in line and not line.strip().startswith("#"):
            key, value = line.split("=", 1)
            settings.append((key.strip(), value.strip()))
    return $value
""",
    second="""
def read_settings(text):
    import re
    found = re.findall(r"^(?! *#) *([^=\\n]*?) *= *(.*?) *$$", text, re.MULTILINE)
    result = {}
    for key, value in found:
        $step
    return $also
""",
    fields="what type value step also",
    variants={
        "last": (
            "a dictionary from each key to its value; if a key occurs several times, its last value counts",
            "dict[str, str]",
            "dict(settings)",
            "result[key] = value",
            "result",
        ),
        "first": (
            "a dictionary from each key to its value; if a key occurs several times, its first value that is not "
            "empty counts, or the empty value if there is no other",
            "dict[str, str]",
            "dict(settings[::-1] + [(key, value) for key, value in settings[::-1] if value])",
            "result[key] = result.get(key) or value",
            "result",
        ),
        "lists": (
            "a dictionary from each key to the list of all its values in the order of the lines",
            "dict[str, list[str]]",
            "{key: [v for k, v in settings if k == key] for key, _ in settings}",
            "result.setdefault(key, []).append(value)",
            "result",
        ),
        "conflicts": (
            "the list of the keys that have two different values or more, in alphabetical order",
            "list[str]",
            "sorted({k for k, v in settings for key, other in settings if k == key and v != other})",
            "result.setdefault(key, set()).add(value)",
            "sorted(key for key, values in result.items() if len(values) > 1)",
        ),
        "empty-resets": (
            "a dictionary from each key to its value; a later value of a key replaces an earlier one, and an empty "
            "value removes the key",
            "dict[str, str]",
            "{key: value for key, value in dict(settings).items() if value}",
            "result[key] = value\nif not value:\n    del result[key]",
            "result",
        ),
    },
    examples=[("size = 3\n# size = 5\nname=a=b\nsize=\nnote",), ("x=1\nx = 1\nx=2",)],
    tests=_settings,
    wrong=[
        ('.strip().startswith("#")', '.startswith("#")'),
        ('line.split("=", 1)', 'line.rsplit("=", 1)'),
        ("key.strip()", "key"),
        ("value.strip()", "value"),
        ("dict(settings)", "dict(settings[::-1])"),
        (" and v != other", ""),
        (".items() if value", ".items()"),
    ],
)
