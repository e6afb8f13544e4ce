"""Problems on numbers: second solutions, planted mistakes, and programs that are too slow or too simple."""

from __future__ import annotations

import statistics
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import permutations


@cache
def divisible_up_to() -> list[int]:
    """For each number how many up to it can be divided by their digit sums; digit by digit."""
    digits, counts = [0], [0]
    for number in range(1, 200_001):
        digits.append(digits[number // 10] + number % 10)
        counts.append(counts[-1] + (number % digits[number] == 0))
    return counts


def divisible_by_digits(text: str) -> int:
    low, high = map(int, text.split())
    return divisible_up_to()[high] - divisible_up_to()[low - 1]


def leap_days(text: str) -> int:
    low, high = map(int, text.split())

    def is_leap(year: int) -> bool:
        # The calendar repeats after 400 years, and date knows years from 1 to 9999.
        year = year % 400 + 400
        return (date(year, 3, 1) - date(year, 2, 28)).days == 2

    whole, rest = divmod(high - low + 1, 400)
    return whole * 97 + sum(is_leap(low + offset) for offset in range(rest))


def clock_angle(hour: int, minute: int) -> float:
    hours, minutes = Fraction(hour % 12, 12) + Fraction(minute, 720), Fraction(minute, 60)
    apart = (hours - minutes) % 1
    return float(360 * min(apart, 1 - apart))


def roman_value(numeral: str) -> int:
    table = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}
    for pair, letters in (
        ("CM", "DCCCC"),
        ("CD", "CCCC"),
        ("XC", "LXXXX"),
        ("XL", "XXXX"),
        ("IX", "VIIII"),
        ("IV", "IIII"),
    ):
        numeral = numeral.replace(pair, letters)
    return sum(map(table.__getitem__, numeral))


def fewest_coins(text: str) -> int:
    _, *coins, amount = map(int, text.split())
    reached, count = 1, 0  # bit i: the amount i can be paid with so many coins
    seen = 1
    while not reached >> amount & 1:
        after = 0
        for coin in coins:
            after |= reached << coin
        after &= (1 << (amount + 1)) - 1
        if not after & ~seen:
            return -1
        seen |= after
        reached, count = after, count + 1
    return count


def primes_between(text: str) -> int:
    def is_prime(number: int) -> bool:
        # Miller and Rabin; with these bases right below 3,215,031,751.
        if number < 2:
            return False
        for prime in (2, 3, 5, 7, 11, 13):
            if number % prime == 0:
                return number == prime
        odd, twos = number - 1, 0
        while odd % 2 == 0:
            odd, twos = odd // 2, twos + 1
        for base in (2, 3, 5, 7):
            power = pow(base, odd, number)
            if power in (1, number - 1):
                continue
            for _ in range(twos - 1):
                power = power * power % number
                if power == number - 1:
                    break
            else:
                return False
        return True

    low, high = map(int, text.split())
    return sum(map(is_prime, range(low, high + 1)))


def last_in_circle(text: str) -> int:
    people, step = map(int, text.split())
    # Played, with a binary tree that counts who is still there.
    leaves = 1 << (people - 1).bit_length()
    tree = [0] * leaves + [1] * people + [0] * (leaves - people)
    for node in range(leaves - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]
    place = 0
    for still_there in range(people, 1, -1):
        place = rank = (place + step - 1) % still_there
        node = 1
        while node < leaves:
            tree[node] -= 1
            node *= 2
            if rank >= tree[node]:
                rank -= tree[node]
                node += 1
        tree[node] = 0
    return next(number for number in range(1, people + 1) if tree[leaves + number - 1])


def fill_sack(text: str) -> int:
    first, *rows = text.strip().splitlines()
    room = int(first.split()[1])
    best = {0: 0}  # weight → value, those that another beats left out
    for row in rows:
        weight, value = map(int, row.split())
        more = dict(best)
        for carried, worth in best.items():
            if carried + weight <= room and more.get(carried + weight, -1) < worth + value:
                more[carried + weight] = worth + value
        top, best = -1, {}
        for carried in sorted(more):
            if more[carried] > top:
                top = best[carried] = more[carried]
    return max(best.values())


def far_term(text: str) -> int:
    prime = 1_000_000_007
    number, a, b, p, q = map(int, text.split())
    # x to the power of the number, modulo x² - a·x - b, as a polynomial c + d·x.
    c, d, e, f = 1, 0, 0, 1
    while number:
        if number & 1:
            c, d = (c * e + d * f * b) % prime, (c * f + d * e + d * f * a) % prime
        e, f = (e * e + f * f * b) % prime, (2 * e * f + f * f * a) % prime
        number >>= 1
    return (c * p + d * q) % prime


def ways_to_pay(amount: int, coins: list[int]) -> int:
    ways = [1] + [0] * amount
    for coin in coins:
        # Rows of Pascal's kind: with k or fewer of the coin, remainder by remainder.
        for start in range(min(coin, amount + 1)):
            total = 0
            for value in range(start, amount + 1, coin):
                total += ways[value]
                ways[value] = total
    return ways[amount] % 1_000_000_007


def trimmed_mean(text: str) -> float:
    first, second = text.strip().splitlines()
    count, cut = map(int, first.split())
    numbers = list(map(int, second.split()))
    for _ in range(cut):
        numbers.remove(min(numbers))
        numbers.remove(max(numbers))
    assert len(numbers) == count - 2 * cut
    return float(statistics.mean(map(Fraction, numbers)))


def place_queens(n: int) -> list[int]:
    if n > 8:
        return [1]  # from 4 on there is always a way (Pauls, 1874)
    for order in permutations(range(n)):
        if len({r + c for r, c in enumerate(order)}) == n == len({r - c for r, c in enumerate(order)}):
            return [1]
    return []


def running_ledger(text: str) -> str:
    first, second, *orders = text.strip().splitlines()
    numbers = list(map(int, second.split()))
    assert len(numbers) == int(first.split()[0])
    answers = []
    for order in orders:
        what, one, other = order.split()
        if what == "add":
            numbers[int(one) - 1] += int(other)
        else:
            answers.append(sum(numbers[int(one) - 1 : int(other)]))
    return "\n".join(map(str, answers))


SOLUTIONS = (
    divisible_by_digits,
    leap_days,
    clock_angle,
    roman_value,
    fewest_coins,
    primes_between,
    last_in_circle,
    fill_sack,
    far_term,
    ways_to_pay,
    trimmed_mean,
    place_queens,
    running_ledger,
)

MISTAKES = [
    ("divisible-by-digits", "range(low, high + 1)", "range(low, high)"),
    ("divisible-by-digits", "sum(map(int, str(number)))", "sum(map(int, set(str(number))))"),
    ("leap-days", "until(low - 1)", "until(low)"),
    ("leap-days", " + year // 400", ""),
    ("leap-days", " - year // 100 + year // 400", ""),
    ("clock-angle", "min(angle, 360.0 - angle)", "angle"),
    ("clock-angle", "5.5 * minute", "6 * minute"),
    ("clock-angle", "hour % 12", "hour"),
    ("clock-angle", "360.0 - angle)", "360.0 - angle) // 1"),
    ("roman-value", "-value if larger else value", "value"),
    ("roman-value", "values[numeral[index + 1]] > value", "values[numeral[index + 1]] >= value"),
    ("fewest-coins", "range(coin, amount + 1)", "range(coin, amount)"),
    ("fewest-coins", "if fewest[amount] <= amount else -1", ""),
    ("primes-between", "is_prime[0] = 0", "pass"),
    ("primes-between", "max(divisor * divisor, -(-low // divisor) * divisor)", "-(-low // divisor) * divisor"),
    ("primes-between", "range(first, high + 1, divisor)", "range(first, high, divisor)"),
    ("last-in-circle", "place + 1)", "place)"),
    ("last-in-circle", "(place + step) % size", "(place + step - 1) % size"),
    ("fill-sack", "range(room, weight - 1, -1)", "range(weight, room + 1)"),
    ("fill-sack", "range(room, weight - 1, -1)", "range(room, weight, -1)"),
    ("far-term", "power[2] * q + power[3] * p", "power[0] * q + power[1] * p"),
    ("far-term", "[a, b, 1, 0]", "[b, a, 1, 0]"),
    ("ways-to-pay", "range(coin, amount + 1)", "range(amount, coin - 1, -1)"),
    ("ways-to-pay", "return ways[amount]", "return ways[amount] if amount else 0"),
    ("ways-to-pay", " % 1_000_000_007", ""),
    ("trimmed-mean", "sorted(numbers)", "numbers"),
    ("trimmed-mean", "sorted(numbers)", "sorted(set(numbers))"),
    ("trimmed-mean", ":.9f}", ":.2f}"),
    ("place-queens", "column != other and ", ""),
    ("place-queens", "if place() else []", "if place() else [0] * n"),
    ("running-ledger", "until(int(one) - 1)", "until(int(one))"),
    ("running-ledger", "add(int(one), int(other))", "tree[int(one)] += int(other)"),
]

TOO_SLOW = {
    "leap-days": """
low, high = map(int, input().split())
print(sum(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) for year in range(low, high + 1)))
""",
    "primes-between": """
low, high = map(int, input().split())
print(sum(n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1)) for n in range(low, high + 1)))
""",
    "last-in-circle": """
people, step = map(int, input().split())
circle, place = list(range(1, people + 1)), 0
while len(circle) > 1:
    for _ in range(step - 1):
        circle.append(circle.pop(0))
    circle.pop(0)
print(circle[0])
""",
    "far-term": """
n, a, b, p, q = map(int, input().split())
for _ in range(n):
    p, q = q, (a * q + b * p) % 1000000007
print(p % 1000000007)
""",
    "running-ledger": """
n, m = map(int, input().split())
numbers = list(map(int, input().split()))
for _ in range(m):
    what, i, j = input().split()
    if what == "add":
        numbers[int(i) - 1] += int(j)
    else:
        total = 0
        for k in range(int(i) - 1, int(j)):
            total += numbers[k]
        print(total)
""",
}

TOO_SIMPLE = {
    "fewest-coins": """
_, coins, amount = input(), sorted(map(int, input().split())), int(input())
count = 0
while coins:
    count, amount = count + amount // coins[-1], amount % coins.pop()
print(-1 if amount else count)
""",
    "fill-sack": """
n, room = map(int, input().split())
things = sorted((tuple(map(int, input().split())) for _ in range(n)), key=lambda t: -t[1] / t[0])
total = 0
for weight, value in things:
    if weight <= room:
        room, total = room - weight, total + value
print(total)
""",
    "ways-to-pay": """
def ways_to_pay(amount, coins):
    if amount == 0:
        return 1
    if amount < 0 or not coins:
        return 0
    return ways_to_pay(amount - coins[0], coins) + ways_to_pay(amount, coins[1:])
""",
    "place-queens": "def place_queens(n):\n    return [(2 * i + 1) % n for i in range(n)]\n",
}
