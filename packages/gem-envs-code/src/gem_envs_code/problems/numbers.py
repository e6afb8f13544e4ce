"""Problems on numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.draw import integers, lines
from gem_envs_code.problems.problem import function, program


def _ranges(rng: random.Random) -> Iterator[str]:
    for low, high in ((1, 1), (1, 9), (10, 10), (11, 11), (1, 100), (99, 101), (100, 100), (199_999, 200_000)):
        yield lines((low, high))
    for _ in range(6):
        low = rng.randint(1, 150_000)
        yield lines((low, rng.randint(low, 200_000)))
    yield lines((1, 200_000))


@program(
    "easy",
    "Two numbers a and b stand on a line, 1 ≤ a ≤ b ≤ 200,000. Print how many whole numbers from a to b, both "
    "included, can be divided by the sum of their digits without a remainder.",
    ["1 12\n", "20 30\n"],
    tests=_ranges,
)
def divisible_by_digits(text: str) -> str:
    """Count Harshad numbers."""
    low, high = map(int, text.split())
    return str(sum(number % sum(map(int, str(number))) == 0 for number in range(low, high + 1)))


def _years(rng: random.Random) -> Iterator[str]:
    for low, high in ((1, 1), (4, 4), (1900, 1900), (2000, 2000), (1, 400), (97, 103), (1, 10**15), (10**15, 10**15)):
        yield lines((low, high))
    for _ in range(6):
        low = rng.randint(1, 10**15)
        yield lines((low, low + rng.randint(0, 10**14)))
    yield lines((1896, 1904))


@program(
    "easy",
    "A year has a 29th of February if it can be divided by 4, unless it can be divided by 100, but it has one after "
    "all if it can be divided by 400. Two years a and b stand on a line, 1 ≤ a ≤ b ≤ 2·10¹⁵. Print how many of the "
    "years from a to b, both included, have one.",
    ["1999 2004\n", "1800 1800\n"],
    tests=_years,
    split="test",
)
def leap_days(text: str) -> str:
    """Count leap years by formula."""
    low, high = map(int, text.split())

    def until(year: int) -> int:
        return year // 4 - year // 100 + year // 400

    return str(until(high) - until(low - 1))


def _clock(rng: random.Random) -> Iterator[tuple[int, int]]:
    yield from ((0, 0), (12, 0), (6, 0), (3, 30), (23, 59), (12, 30), (9, 0), (0, 33), (18, 1))
    for _ in range(8):
        yield rng.randrange(24), rng.randrange(60)


@function(
    "easy",
    "Return the smaller angle, in degrees from 0 to 180, between the hands of a clock with twelve hours, whose hour "
    "hand moves evenly. 0 ≤ hour ≤ 23, 0 ≤ minute ≤ 59. An answer may be off by 10⁻⁶.",
    [(3, 0), (12, 30)],
    tests=_clock,
)
def clock_angle(hour: int, minute: int) -> float:
    """Angle between the hands."""
    angle = abs(30.0 * (hour % 12) - 5.5 * minute)
    return min(angle, 360.0 - angle)


def _romans(rng: random.Random) -> Iterator[tuple[str]]:
    yield from (("I",), ("IV",), ("IX",), ("XL",), ("XC",), ("CD",), ("CM",), ("MMMCMXCIX",), ("MCMXCIV",), ("LVIII",))
    letters_of = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL", 10: "X", 9: "IX"}
    letters_of |= {5: "V", 4: "IV", 1: "I"}
    for _ in range(10):
        rest, text = rng.randint(1, 3999), ""
        for value, letters in letters_of.items():
            text += letters * (rest // value)
            rest %= value
        yield (text,)


@function(
    "easy",
    "Return the value of a Roman numeral from I to MMMCMXCIX, written in the usual way: IV, IX, XL, XC, CD and CM "
    "stand for 4, 9, 40, 90, 400 and 900.",
    [("XIV",), ("MDCLXVI",)],
    tests=_romans,
)
def roman_value(numeral: str) -> int:
    """A letter before a larger one counts against it."""
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    total = 0
    for index, letter in enumerate(numeral):
        value = values[letter]
        larger = index + 1 < len(numeral) and values[numeral[index + 1]] > value
        total += -value if larger else value
    return total


def _coins(rng: random.Random) -> Iterator[str]:
    yield lines(1, (5,), 0)
    yield lines(1, (5,), 3)
    yield lines(3, (1, 3, 4), 6)
    yield lines(2, (3, 5), 7)
    yield lines(2, (3, 5), 4)
    yield lines(4, (1, 5, 10, 25), 30)
    yield lines(3, (1, 15, 25), 30)
    for top in (50, 300, 5000):
        for _ in range(2):
            coins = sorted(set(integers(rng, rng.randint(1, 6), 2, 40)))
            yield lines(len(coins), coins, rng.randint(1, top))
    yield lines(3, (7, 1000, 4999), 50_000)


@program(
    "medium",
    "The first line holds the number of kinds of coins, 1 to 20, the second their values, all different, from 1 to "
    "10,000, and the third an amount from 0 to 50,000. Print the least number of coins that make the amount, each "
    "kind as often as needed, or -1 if it cannot be made.",
    ["3\n1 4 5\n8\n", "2\n4 6\n9\n"],
    tests=_coins,
)
def fewest_coins(text: str) -> str:
    """Fewest coins, by amounts."""
    _, *coins, amount = map(int, text.split())
    fewest = [0] + [amount + 1] * amount
    for coin in coins:
        for value in range(coin, amount + 1):
            if fewest[value - coin] + 1 < fewest[value]:
                fewest[value] = fewest[value - coin] + 1
    return str(fewest[amount] if fewest[amount] <= amount else -1)


def _limits(rng: random.Random) -> Iterator[str]:
    for low, high in (
        (1, 1),
        (1, 2),
        (2, 2),
        (4, 4),
        (9, 9),
        (1, 30),
        (24, 28),
        (10**9 - 10, 10**9),
        (25, 25),
        (1, 10**5),
    ):
        yield lines((low, high))
    for _ in range(4):
        low = rng.randint(1, 10**9 - 10**5)
        yield lines((low, low + rng.randint(0, 10**5)))
    yield lines((10**9 - 10**5, 10**9))


@program(
    "medium",
    "Two numbers a and b stand on a line, 1 ≤ a ≤ b ≤ 10⁹, b - a ≤ 10⁵. Print how many primes there are from a to b, "
    "both included.",
    ["1 10\n", "14 16\n"],
    tests=_limits,
)
def primes_between(text: str) -> str:
    """Segmented sieve."""
    low, high = map(int, text.split())
    root = int(high**0.5) + 1
    small = bytearray([1]) * (root + 1)
    is_prime = bytearray([1]) * (high - low + 1)
    for divisor in range(2, root + 1):
        if not small[divisor]:
            continue
        for multiple in range(divisor * divisor, root + 1, divisor):
            small[multiple] = 0
        first = max(divisor * divisor, -(-low // divisor) * divisor)
        for multiple in range(first, high + 1, divisor):
            is_prime[multiple - low] = 0
    if low == 1:
        is_prime[0] = 0
    return str(sum(is_prime))


def _circles(rng: random.Random) -> Iterator[str]:
    for people, step in ((1, 1), (1, 9), (2, 1), (2, 2), (5, 2), (7, 3), (41, 3), (6, 6), (5, 10**9)):
        yield lines((people, step))
    for _ in range(5):
        yield lines((rng.randint(2, 3000), rng.randint(1, 5000)))
    yield lines((300_000, 200_000))


@program(
    "medium",
    "n people stand in a circle and are numbered from 1 to n. Counting begins at number 1 and goes on and on around "
    "the circle; whoever is counted as the k-th leaves, and counting begins again with the next. n and k stand on a "
    "line, 1 ≤ n ≤ 300,000, 1 ≤ k ≤ 10⁹. Print the number of the one who is left at last.",
    ["5 2\n", "4 1\n"],
    tests=_circles,
    split="test",
)
def last_in_circle(text: str) -> str:
    """The recurrence of Josephus."""
    people, step = map(int, text.split())
    place = 0
    for size in range(2, people + 1):
        place = (place + step) % size
    return str(place + 1)


def _sacks(rng: random.Random) -> Iterator[str]:
    yield lines((1, 5), (6, 10))
    yield lines((1, 5), (5, 10))
    yield lines((3, 50), (10, 60), (20, 100), (30, 120))
    yield lines((2, 0), (1, 1), (2, 9))
    yield lines((3, 6), (4, 6), (3, 4), (3, 4))
    for count in (4, 8, 12, 60):
        for _ in range(2):
            room = rng.randint(5, 100)
            yield lines((count, room), *[(rng.randint(1, 40), rng.randint(1, 100)) for _ in range(count)])
    yield lines((100, 10_000), *[(rng.randint(50, 400), rng.randint(1, 10**6)) for _ in range(100)])


@program(
    "medium",
    "The first line holds the number of things, 1 to 100, and what a sack can carry, 0 to 10,000. Each further line "
    "holds the weight and the value of a thing, at least 1 and at most 10⁶. Print the greatest total value of things, "
    "each taken once or not at all, whose weights together do not exceed what the sack can carry.",
    ["3 7\n3 4\n4 5\n5 8\n"],
    tests=_sacks,
)
def fill_sack(text: str) -> str:
    """Knapsack, by room."""
    first, *things = text.strip().splitlines()
    room = int(first.split()[1])
    best = [0] * (room + 1)
    for thing in things:
        weight, value = map(int, thing.split())
        for space in range(room, weight - 1, -1):
            best[space] = max(best[space], best[space - weight] + value)
    return str(best[room])


def _recurrences(rng: random.Random) -> Iterator[str]:
    for numbers in (
        (0, 1, 1, 5, 7),
        (1, 1, 1, 5, 7),
        (2, 1, 1, 5, 7),
        (10, 1, 1, 0, 1),
        (3, 0, 0, 5, 7),
        (4, 2, 0, 1, 1),
    ):
        yield lines(numbers)
    for top in (20, 10**6, 10**18):
        for _ in range(3):
            yield lines((rng.randint(top // 2, top), *integers(rng, 4, 0, 10**6)))
    yield lines((10**18, 1, 1, 0, 1))


@program(
    "hard",
    "A sequence begins with x₀ = p and x₁ = q, and goes on with xₙ = a·xₙ₋₁ + b·xₙ₋₂. The numbers n, a, b, p, q stand "
    "on a line in this order, 0 ≤ n ≤ 10¹⁸, the others from 0 to 10⁶. Print the remainder of xₙ when it is divided by "
    "1,000,000,007.",
    ["10 1 1 0 1\n", "3 2 3 1 1\n"],
    tests=_recurrences,
)
def far_term(text: str) -> str:
    """Powers of a matrix."""
    prime = 1_000_000_007
    number, a, b, p, q = map(int, text.split())

    def product(one: list[int], other: list[int]) -> list[int]:
        e, f, g, h = other
        return [
            (one[0] * e + one[1] * g) % prime,
            (one[0] * f + one[1] * h) % prime,
            (one[2] * e + one[3] * g) % prime,
            (one[2] * f + one[3] * h) % prime,
        ]

    power, base = [1, 0, 0, 1], [a, b, 1, 0]
    while number:
        if number & 1:
            power = product(power, base)
        base = product(base, base)
        number >>= 1
    return str((power[2] * q + power[3] * p) % prime)


def _payments(rng: random.Random) -> Iterator[tuple[int, list[int]]]:
    yield from ((0, [1, 2]), (5, [1, 2, 5]), (3, [2]), (10, [10]), (4, [1, 2, 3]), (6, [2, 4]), (100, [1]))
    for top in (15, 30, 2000):
        for _ in range(2):
            yield rng.randint(1, top), sorted(set(integers(rng, rng.randint(1, 5), 1, 12)))
    yield 20_000, [1, 2, 5, 10, 20, 50, 100, 200]


@function(
    "hard",
    "Return in how many ways an amount can be paid with coins of the given values, each as often as wanted, divided "
    "by 1,000,000,007: the remainder alone. The order of coins does not matter, and there is one way to pay nothing. "
    "0 ≤ amount ≤ 20,000; up to 10 values, all different and at least 1.",
    [(5, [1, 2, 5]), (3, [2])],
    tests=_payments,
)
def ways_to_pay(amount: int, coins: list[int]) -> int:
    """Count combinations coin by coin."""
    ways = [1] + [0] * amount
    for coin in coins:
        for value in range(coin, amount + 1):
            ways[value] = (ways[value] + ways[value - coin]) % 1_000_000_007
    return ways[amount]


def _measurements(rng: random.Random) -> Iterator[str]:
    yield lines((3, 1), (1, 2, 3))
    yield lines((1, 0), (-7,))
    yield lines((4, 0), (1, 2, 3, 5))
    yield lines((5, 2), (9, -9, 4, 100, -100))
    yield lines((4, 1), (5, 5, 5, 5))
    for count in (5, 20, 1000):
        for _ in range(2):
            cut = rng.randint(0, (count - 1) // 2)
            yield lines((count, cut), integers(rng, count, -1000, 1000))


@program(
    "easy",
    "The first line holds n and k, 1 ≤ n ≤ 1,000, 0 ≤ 2k < n, and the second n whole numbers from -1,000 to 1,000. "
    "Leave out the k smallest and the k largest, counting equal ones singly, and print the mean of the rest. An "
    "answer may be off by 10⁻⁶.",
    ["5 1\n1 2 4 3 90\n", "2 0\n1 2\n"],
    tests=_measurements,
)
def trimmed_mean(text: str) -> str:
    """Mean without the extremes."""
    count, cut, *numbers = map(int, text.split())
    kept = sorted(numbers)[cut : count - cut]
    return f"{sum(kept) / len(kept):.9f}"


def _queens(rng: random.Random) -> Iterator[tuple[int]]:
    yield from ((size,) for size in (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12))


def _no_attacks(arguments: list[int], output: object, expected: object) -> bool:
    """Whether queens stand as wanted."""
    size = arguments[0]
    if expected == []:
        return output == []
    if type(output) is not list or len(output) != size or any(type(column) is not int for column in output):
        return False
    if sorted(output) != list(range(size)):
        return False
    falling = {row - column for row, column in enumerate(output)}
    rising = {row + column for row, column in enumerate(output)}
    return len(falling) == size and len(rising) == size


@function(
    "hard",
    "Put n queens on a board of n by n squares so that no two stand in one row, column or diagonal. Return a list "
    "that holds, for each row from the top, the column of its queen, from 0. Any such list is right; return an empty "
    "list if there is none. 1 ≤ n ≤ 12.",
    [(1,), (3,), (8,)],
    tests=_queens,
    check=_no_attacks,
)
def place_queens(n: int) -> list[int]:
    """Search row by row."""
    placed: list[int] = []

    def place() -> bool:
        row = len(placed)
        if row == n:
            return True
        for column in range(n):
            if all(column != other and abs(column - other) != row - at for at, other in enumerate(placed)):
                placed.append(column)
                if place():
                    return True
                placed.pop()
        return False

    return placed if place() else []


def _changes(rng: random.Random, size: int, count: int) -> str:
    rows = []
    for _ in range(count):
        low = rng.randint(1, size)
        if rng.random() < 0.5:
            rows.append(("sum", low, rng.randint(low, size)))
        else:
            rows.append(("add", low, rng.randint(-1000, 1000)))
    rows.append(("sum", 1, size))
    return lines((size, len(rows)), integers(rng, size, -1000, 1000), *rows)


def _ledgers(rng: random.Random) -> Iterator[str]:
    yield lines((1, 1), (5,), ("sum", 1, 1))
    yield lines((3, 3), (1, 2, 3), ("add", 2, -5), ("sum", 1, 3), ("sum", 2, 2))
    for size, count in ((5, 10), (10, 30), (50, 60)):
        for _ in range(2):
            yield _changes(rng, size, count)
    yield _changes(rng, 20_000, 20_000)


@program(
    "hard",
    "The first line holds n and m, from 1 to 30,000 each, and the second n whole numbers from -1,000 to 1,000. Then "
    "come m lines, worked off from the top: `add i x` adds x, from -1,000 to 1,000, to the i-th number, counted from "
    "1, and `sum i j` asks for the sum of the numbers from the i-th to the j-th, both included, i ≤ j. Print the "
    "answer to every `sum` on a line of its own. There is at least one.",
    ["4 3\n1 2 3 4\nsum 2 3\nadd 3 -5\nsum 1 4\n"],
    tests=_ledgers,
)
def running_ledger(text: str) -> str:
    """Sums by a binary indexed tree (Fenwick, Software: Practice and Experience, 1994)."""
    first, second, *orders = text.strip().splitlines()
    size = int(first.split()[0])
    tree = [0] * (size + 1)

    def add(place: int, value: int) -> None:
        while place <= size:
            tree[place] += value
            place += place & -place

    def until(place: int) -> int:
        total = 0
        while place:
            total += tree[place]
            place &= place - 1
        return total

    for place, value in enumerate(second.split(), start=1):
        add(place, int(value))
    answers = []
    for order in orders:
        what, one, other = order.split()
        if what == "add":
            add(int(one), int(other))
        else:
            answers.append(until(int(other)) - until(int(one) - 1))
    return "\n".join(map(str, answers))
