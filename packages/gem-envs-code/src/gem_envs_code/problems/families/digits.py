"""Structures on the digits of numbers in several bases."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.samples import whole_numbers
from gem_envs_code.problems.structure import structure

digit_value = structure(
    "easy",
    "Write `n`, 1 ≤ `n` ≤ 10¹⁸, as a decimal number, and return $what.",
    code="""
def digit_value(n: int) -> int:
    digits = [int(c) for c in str(n)]
    return $value
""",
    second="""
def digit_value(n):
    digits = []
    while n:
        n, digit = divmod(n, 10)
        digits.insert(0, digit)
    total = $start
    for i, digit in enumerate(digits):
        $step
    return total
""",
    fields="what value start step",
    variants={
        "even-sum": (
            "the sum of the even digits",
            "sum(d for d in digits if d % 2 == 0)",
            "0",
            "total += digit * (1 - digit % 2)",
        ),
        "squares": (
            "the sum of the squares of the digits",
            "sum(d * d for d in digits)",
            "0",
            "total += sum([digit] * digit)",
        ),
        "product": (
            "the product of the digits other than 0",
            "__import__('math').prod(d for d in digits if d)",
            "1",
            "total *= digit or 1",
        ),
        "alternating": (
            "the alternating sum of the digits, which begins with plus at the last digit (1234 gives 4 - 3 + 2 - 1)",
            "sum(digits[::-2]) - sum(digits[-2::-2])",
            "0",
            "total = digit - total",
        ),
        "spread": (
            "the difference between the greatest and the smallest digit",
            "max(digits) - min(digits)",
            "0",
            "total = max([total] + [abs(digit - other) for other in digits])",
        ),
        "steps": (
            "the number of places in which a digit is followed by a greater one",
            "sum(a < b for a, b in zip(digits, digits[1:]))",
            "0",
            "total += i > 0 and digits[i - 1] < digit",
        ),
        "different": ("the number of different digits", "len(set(digits))", "0", "total += digit not in digits[:i]"),
    },
    examples=[(1402,), (7972,)],
    tests=whole_numbers,
    wrong=[
        ("% 2 == 0", "% 2"),
        ("d * d", "d * 2"),
        (" if d)", ")"),
        ("digits[::-2]", "digits[::2]"),
        ("- min(digits)", "- digits[0]"),
        ("a < b", "a <= b"),
        ("len(set(digits))", "len(digits)"),
        ("str(n)", "str(n)[:-1] + '0'"),
    ],
)


def _bounds(rng: random.Random) -> Iterator[tuple[int, int]]:
    yield from (
        (1, 1),
        (5, 4),
        (1, 10),
        (10, 10),
        (11, 11),
        (7, 7),
        (90, 130),
        (100, 199),
        (12, 12),
        (1, 1000),
        (22, 22),
        (990, 1010),
    )
    for highest in (50, 300, 1000, 2000):
        for _ in range(3):
            low = rng.randint(1, highest)
            yield low, low + rng.randint(0, highest)


count_in_range = structure(
    "easy",
    "Return the number of whole numbers from `low` to `high`, both included, that $what. 1 ≤ `low` ≤ 10,000 and "
    "`high` ≤ 10,000; if `high` is smaller than `low`, there are none.",
    code="""
def count_in_range(low: int, high: int) -> int:
    total = 0
    for n in range(low, high + 1):
        digits = str(n)
        if $test:
            total += 1
    return total
""",
    second="""
def count_in_range(low, high):
    def digits_of(n):
        return [] if n == 0 else [*digits_of(n // 10), n % 10]

    def fits(n):
        digits = digits_of(n)
        return $also

    return len(list(filter(fits, range(low, high + 1))))
""",
    fields="what test also",
    variants={
        "palindromes": (
            "read the same backwards in decimal form",
            "digits == digits[::-1]",
            "sum(d * 10**i for i, d in enumerate(digits)) == n",
        ),
        "different-digits": (
            "have no decimal digit twice",
            "len(set(digits)) == len(digits)",
            "max(map(digits.count, digits)) == 1",
        ),
        "rising": (
            "have decimal digits each of which is greater than the one before (numbers of one digit count)",
            "all(a < b for a, b in zip(digits, digits[1:]))",
            "digits == sorted(set(digits))",
        ),
        "self-dividing": (
            "contain no decimal digit 0 and are divisible by each of their digits",
            "'0' not in digits and all(n % int(d) == 0 for d in digits)",
            "min(digits) > 0 and not any(n % d for d in digits)",
        ),
        "more-odd": (
            "have more odd decimal digits than even ones",
            "2 * sum(int(d) % 2 for d in digits) > len(digits)",
            "len([d for d in digits if d & 1]) > len([d for d in digits if not d & 1])",
        ),
        "square-sum": (
            "are the sum of two squares a² + b² of whole numbers a and b of at least 1",
            "any(((n - a * a) ** 0.5).is_integer() for a in range(1, 71) if a * a < n)",
            "any(n == a * a + b * b for a in range(1, int(n**0.5) + 1) for b in range(1, a + 1))",
        ),
    },
    harder="square-sum",
    examples=[(8, 25), (100, 112)],
    tests=_bounds,
    wrong=[
        ("high + 1", "high"),
        ("range(low,", "range(low + 1,"),
        ("a < b", "a <= b"),
        ("'0' not in digits and all(n % int(d) == 0", "all(d == '0' or n % int(d) == 0"),
        ("> len(digits)", ">= len(digits)"),
        ("a * a < n", "a * a <= n"),
        ("digits[::-1]", "''.join(sorted(digits))"),
    ],
)


other_base = structure(
    "easy",
    "Return $what. 1 ≤ `n` ≤ 10⁹ and 2 ≤ `base` ≤ 16; the letters a to f stand for the digits 10 to 15.",
    code="""
def other_base(n: int, base: int) -> $type:
    digits = ""
    rest = n
    while rest:
        digits = "0123456789abcdef"[rest % base] + digits
        rest //= base
    return $value
""",
    second="""
def other_base(n, base):
    values = []
    power = 1
    while power * base <= n:
        power *= base
    rest = n
    while power:
        values.append(rest // power)
        rest %= power
        power //= base
    return $also
""",
    fields="type what value also",
    variants={
        "text": ("str", "`n` written in this base", "digits", "''.join(f'{v:x}' for v in values)"),
        "sum": (
            "int",
            "the sum of the digits of `n` written in this base",
            "sum(int(d, 16) for d in digits)",
            "sum(values)",
        ),
        "zeros": (
            "int",
            "the number of zeros at the end of `n` written in this base",
            "len(digits) - len(digits.rstrip('0'))",
            "next(k for k in range(40) if n % base ** (k + 1))",
        ),
        "reversed": (
            "int",
            "the number that results when the digits of `n` in this base are read backwards",
            "int(digits[::-1], base)",
            "sum(v * base**i for i, v in enumerate(values))",
        ),
        "palindrome": (
            "bool",
            "whether the digits of `n` in this base read the same backwards",
            "digits == digits[::-1]",
            "all(values[i] == values[-1 - i] for i in range(len(values) // 2))",
        ),
    },
    examples=[(45, 2), (255, 16), (36, 6)],
    tests=lambda rng: iter(
        [(1, 2), (8, 2), (9, 2), (10, 3), (7, 8), (170, 13), (999_999_999, 7), (16**5, 16), (2, 10), (585, 2), (81, 3)]
        + [(rng.randint(1, 10 ** rng.randint(1, 9)), rng.randint(2, 16)) for _ in range(16)]
        + [(base**3 + base**k, base) for base, k in ((2, 1), (5, 2), (12, 0), (16, 0), (7, 3))]
    ),
    wrong=[
        ("+ digits\n", "if rest // base else digits\n", ""),
        (
            "[rest % base] + digits",
            '[rest % base] if digits == "" else digits + "0123456789abcdef"[rest % base]',
            "sum palindrome",
        ),
        ("int(d, 16)", "int(d, 16) % 10"),
        ("while rest:", "while rest >= base:", "zeros"),
        (".rstrip('0')", ".replace('0', '')"),
        ("int(digits[::-1], base)", "int(digits[::-1], 16)"),
    ],
)


bit_value = structure(
    "medium",
    "Write `n`, 1 ≤ `n` ≤ 10¹⁸, as a binary number without leading zeros, and return $what.",
    code="""
def bit_value(n: int) -> int:
    bits = f"{n:b}"
    return $value
""",
    second="""
def bit_value(n):
    ones = [i for i in range(n.bit_length()) if n >> i & 1]
    return $also
""",
    fields="what value also",
    variants={
        "run": (
            "the length of the longest run of ones that stand side by side",
            "max(map(len, bits.split('0')))",
            "max(k for k in range(1, 62) if any(all(i + j in ones for j in range(k)) for i in ones))",
        ),
        "gap": (
            "the greatest number of zeros between two neighbouring ones, which is 0 if there are no zeros between ones",
            "max(map(len, bits.strip('0').split('1')))",
            "max([b - a - 1 for a, b in zip(ones, ones[1:])], default=0)",
        ),
        "inverted": (
            "the number that results when every one is replaced by a zero and every zero by a one",
            "int(bits.translate({48: '1', 49: '0'}), 2)",
            "sum(2**i for i in range(ones[-1]) if i not in ones)",
        ),
        "backwards": (
            "the number that results when the digits are read from right to left",
            "int(bits[::-1], 2)",
            "sum(1 << ones[-1] - i for i in ones)",
        ),
        "even-places": (
            "the number of ones at even places, where the last digit has the place 0",
            "bits[::-2].count('1')",
            "len([i for i in ones if i % 2 == 0])",
        ),
        "changes": (
            "the number of places in which two neighbouring digits are different",
            "bits.count('01') + bits.count('10')",
            "bin((n ^ n >> 1) & ((1 << ones[-1]) - 1)).count('1')",
        ),
    },
    examples=[(44,), (7,), (27,)],
    tests=whole_numbers,
    wrong=[
        ("bits.split('0')", "bits.split('0')[1:]", ""),
        (".strip('0')", ""),
        ("49: '0'", "49: '1'"),
        ("bits[::-1]", "bits"),
        ("bits[::-2]", "bits[::2]"),
        (" + bits.count('10')", ""),
        ("max(", "min("),
    ],
)


round_to = structure(
    "easy",
    "Round the whole number `n` to a multiple of `unit`: $what. -10⁹ ≤ `n` ≤ 10⁹ and 2 ≤ `unit` ≤ 10⁶.",
    code="""
def round_to(n: int, unit: int) -> int:
    below = n // unit * unit
    rest = n - below
    return below + unit if $up else below
""",
    second="""
def round_to(n, unit):
    candidates = [n - d for d in range(-unit, unit + 1) if (n - d) % unit == 0]
    return $pick
""",
    fields="what up pick",
    variants={
        "half-up": (
            "the nearest one; if two are equally near, the greater one",
            "2 * rest >= unit",
            "min(candidates, key=lambda c: (abs(c - n), -c))",
        ),
        "half-away": (
            "the nearest one; if two are equally near, the one that is further from zero",
            "2 * rest > unit or (2 * rest == unit and n > 0)",
            "min(candidates, key=lambda c: (abs(c - n), -abs(c)))",
        ),
        "half-even": (
            "the nearest one; if two are equally near, the one that is an even multiple of `unit`",
            "2 * rest > unit or (2 * rest == unit and below // unit % 2)",
            "min(candidates, key=lambda c: (abs(c - n), c // unit % 2))",
        ),
        "away": (
            "if `n` is a multiple, `n` itself, and else the next one further from zero",
            "rest and n > 0",
            "n if n % unit == 0 else max((c for c in candidates if abs(c) > abs(n)), key=lambda c: c * n)",
        ),
        "towards-zero": (
            "if `n` is a multiple, `n` itself, and else the next one nearer to zero",
            "rest and n < 0",
            "min((c for c in candidates if abs(c) <= abs(n) and c * n >= 0), key=lambda c: abs(c - n))",
        ),
        "greater": (
            "the smallest multiple that is greater than `n`, which is never `n` itself",
            "True",
            "min(c for c in candidates if c > n)",
        ),
    },
    examples=[(25, 10), (-25, 10), (-38, 4)],
    tests=lambda rng: iter(
        [(0, 2), (5, 10), (15, 10), (-5, 10), (-15, 10), (1, 2), (-1, 2), (3, 2), (-3, 2), (20, 10), (-20, 10), (7, 3)]
        + [
            (sign * (unit * k + d), unit)
            for unit in (4, 7, 50)
            for k in (0, 3)
            for d in (1, unit // 2)
            for sign in (1, -1)
        ]
        + [(rng.randint(-1000, 1000), rng.randint(2, 60)) for _ in range(10)]
    ),
    wrong=[
        ("n // unit * unit", "int(n / unit) * unit", "half-up"),
        ("2 * rest >= unit", "rest >= unit // 2"),
        ("2 * rest >= unit", "2 * rest > unit"),
        (" and n > 0", ""),
        ("below // unit % 2", "below % 2"),
        ("n < 0", "n <= unit"),
        ("if True else", "if rest else"),
    ],
    split="test",
)
