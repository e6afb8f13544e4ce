"""Problems on lists."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from gem_envs_code.problems.draw import integers, lines
from gem_envs_code.problems.problem import function, program


def _votes(rng: random.Random) -> Iterator[tuple[list[int]]]:
    yield from (([7],), ([1, 2],), ([1, 1],), ([2, 2, 1],), ([1, 2, 2, 3],), ([3, 1, 3, 2, 3],), ([0, 0, 1, 1],))
    for count in (9, 20, 51):
        for _ in range(2):
            yield (integers(rng, count, 0, 1),)
    crowd = [-5] * 25_001 + list(range(25_000))
    rng.shuffle(crowd)
    yield (crowd,)
    yield (list(range(50_000)),)


@function(
    "easy",
    "Return the number that makes up more than half of a list of up to 50,001 whole numbers, or None if there is "
    "none. The list is not empty.",
    [([3, 3, 4, 3],), ([1, 2],)],
    tests=_votes,
)
def majority(votes: list[int]) -> int | None:
    """Boyer and Moore's vote, and a count."""
    leader, lead = votes[0], 0
    for vote in votes:
        if not lead:
            leader = vote
        lead += 1 if vote == leader else -1
    return leader if 2 * votes.count(leader) > len(votes) else None


def _rankings(rng: random.Random) -> Iterator[tuple[list[int]]]:
    yield from (([],), ([4],), ([4, 4],), ([4, 5],), ([5, 4, 5],), ([-1, -2, -1],), ([0, -5],), ([9, 9, 9, 1],))
    for count in (3, 10, 200):
        for _ in range(2):
            yield (integers(rng, count, -5, 5),)


@function(
    "easy",
    "Return the second largest of the different numbers in a list of up to 10,000 whole numbers, or None if it does "
    "not hold two different ones.",
    [([4, 9, 9, 2],), ([7, 7],)],
    tests=_rankings,
    split="test",
)
def second_largest(numbers: list[int]) -> int | None:
    """Second largest distinct number."""
    different = sorted(set(numbers))
    return different[-2] if len(different) > 1 else None


def _temperatures(rng: random.Random) -> Iterator[str]:
    yield lines(1, (5,))
    yield lines(2, (5, 5))
    yield lines(3, (1, 2, 3))
    yield lines(3, (3, 2, 1))
    yield lines(6, (1, 2, 2, 3, 4, 5))
    yield lines(5, (-3, -2, -1, -1, 0))
    for count in (10, 30, 1000):
        for _ in range(2):
            yield lines(count, integers(rng, count, -4, 4))


@program(
    "easy",
    "The first line holds n, 1 ≤ n ≤ 1,000, and the second the temperatures of n days. Print the greatest number of "
    "days in a row of which each was warmer than the one before; the first of them counts.",
    ["7\n3 5 4 6 8 9 9\n", "1\n0\n"],
    tests=_temperatures,
)
def warming(text: str) -> str:
    """Longest strictly rising run."""
    _, *days = map(int, text.split())
    best = run = 1
    for before, after in zip(days, days[1:]):  # noqa: B905, RUF007
        run = run + 1 if after > before else 1
        best = max(best, run)
    return str(best)


def _sums(rng: random.Random) -> Iterator[tuple[list[int], int]]:
    yield from (([3, 3], 6), ([2, 7, 11, 15], 9), ([-1, 1], 0), ([0, 4, 3, 0], 0), ([5, 1, 5], 10), ([5], 10), ([], 0))
    yield from (([1, 2, 3], 7), ([4, 1], 8))
    for count in (5, 10, 50):
        for _ in range(2):
            yield integers(rng, count, -20, 20), rng.randint(-30, 30)
    yield [*range(0, 80_000, 2), 1, 99_999], 100_000
    yield list(range(0, 60_000, 2)), 3


def _is_pair(arguments: list[Any], output: object, expected: object) -> bool:
    """Whether two indices are as wanted."""
    numbers, total = arguments
    if expected == []:
        return output == []
    if type(output) is not list or len(output) != 2 or any(type(index) is not int for index in output):
        return False
    one, other = output
    return 0 <= one < other < len(numbers) and bool(numbers[one] + numbers[other] == total)


@function(
    "easy",
    "Return a list of two indices i < j, from 0, of numbers in a list whose sum is `total`. Any such pair is right; "
    "return an empty list if there is none. The list holds up to 50,000 whole numbers; trying every pair takes too "
    "long.",
    [([2, 7, 11, 15], 9), ([1, 2], 7)],
    tests=_sums,
    check=_is_pair,
)
def two_with_sum(numbers: list[int], total: int) -> list[int]:
    """One pass with a table."""
    seen: dict[int, int] = {}
    for index, number in enumerate(numbers):
        if total - number in seen:
            return [seen[total - number], index]
        seen.setdefault(number, index)
    return []


def _intervals(rng: random.Random) -> Iterator[str]:
    yield lines(1, (1, 1))
    yield lines(2, (1, 2), (2, 3))
    yield lines(2, (1, 2), (3, 4))
    yield lines(3, (1, 10), (2, 3), (4, 5))
    yield lines(3, (5, 6), (1, 2), (2, 5))
    for count in (5, 20, 300):
        for _ in range(2):
            rows = []
            for _ in range(count):
                low = rng.randint(-3 * count, 3 * count)
                rows.append((low, low + rng.randint(0, 6)))
            yield lines(count, *rows)


@program(
    "medium",
    "The first line holds n, 1 ≤ n ≤ 1,000, and each further line the ends a ≤ b of a closed interval of whole "
    "numbers. Join intervals that have a number in common until none do. Print what is left, one interval a line, "
    "from the smallest on.",
    ["3\n5 8\n1 3\n2 4\n", "2\n1 2\n3 4\n"],
    tests=_intervals,
)
def join_intervals(text: str) -> str:
    """Sort and sweep."""
    _, *rows = text.strip().splitlines()
    joined: list[list[int]] = []
    for low, high in sorted((int(row.split()[0]), int(row.split()[1])) for row in rows):
        if joined and low <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], high)
        else:
            joined.append([low, high])
    return "\n".join(f"{low} {high}" for low, high in joined)


def _profits(rng: random.Random) -> Iterator[str]:
    yield lines(1, (-5,))
    yield lines(1, (0,))
    yield lines(3, (-3, -1, -2))
    yield lines(5, (1, -1, 1, -1, 1))
    yield lines(4, (5, -9, 6, 1))
    for count in (5, 30, 200):
        for _ in range(2):
            yield lines(count, integers(rng, count, -20, 15))
    yield lines(30_000, integers(rng, 30_000, -1000, 1000))


@program(
    "medium",
    "The first line holds n, 1 ≤ n ≤ 30,000, and the second n whole numbers. Print the greatest sum of one or more of "
    "them that stand side by side.",
    ["5\n2 -1 3 -5 1\n", "2\n-4 -2\n"],
    tests=_profits,
)
def best_stretch(text: str) -> str:
    """Kadane's algorithm."""
    _, first, *rest = map(int, text.split())
    best = ending = first
    for number in rest:
        ending = max(number, ending + number)
        best = max(best, ending)
    return str(best)


def _permutations(rng: random.Random) -> Iterator[tuple[list[int]]]:
    yield from (([],), ([1],), ([1, 2],), ([2, 1],), ([1, 1, 1],), ([3, 2, 1],), ([1, 3, 2, 3, 1],), ([2, 1, 2, 1],))
    for count in (8, 30, 200):
        for _ in range(2):
            yield (integers(rng, count, -count, count),)
    yield (integers(rng, 30_000, -(10**9), 10**9),)
    yield (list(range(30_000, 0, -1)),)


@function(
    "medium",
    "Return in how many pairs of places i < j of a list of up to 30,000 whole numbers the number at i is larger than "
    "that at j. A time that grows with the square of the length is too much.",
    [([2, 4, 1, 3],), ([1, 2, 3],)],
    tests=_permutations,
    split="test",
)
def disorder(numbers: list[int]) -> int:
    """Count inversions while merging."""

    def count(part: list[int]) -> tuple[int, list[int]]:
        if len(part) < 2:
            return 0, part
        middle = len(part) // 2
        left_count, left = count(part[:middle])
        right_count, right = count(part[middle:])
        total, merged, i, j = left_count + right_count, [], 0, 0
        while i < len(left) and j < len(right):
            if left[i] <= right[j]:
                merged.append(left[i])
                i += 1
            else:
                merged.append(right[j])
                total += len(left) - i
                j += 1
        return total, merged + left[i:] + right[j:]

    return count(numbers)[0]


def _climbs(rng: random.Random) -> Iterator[tuple[list[int]]]:
    yield from (
        ([],),
        ([1],),
        ([2, 2, 2],),
        ([3, 2, 1],),
        ([1, 2, 3],),
        ([10, 9, 2, 5, 3, 7, 101, 18],),
        ([4, 10, 4, 3, 8, 9],),
    )
    for count in (8, 12, 30, 200):
        for _ in range(2):
            yield (integers(rng, count, 0, count),)
    yield (integers(rng, 20_000, 0, 10**9),)
    yield (list(range(20_000)),)


@function(
    "medium",
    "Return the greatest length of a strictly rising sequence that is left when numbers are removed from a list of up "
    "to 20,000 whole numbers. A time that grows with the square of the length is too much.",
    [([10, 9, 2, 5, 3, 7, 101, 18],), ([7, 7],)],
    tests=_climbs,
)
def longest_climb(numbers: list[int]) -> int:
    """Smallest last number for every length."""
    from bisect import bisect_left

    ends: list[int] = []
    for number in numbers:
        place = bisect_left(ends, number)
        ends[place : place + 1] = [number]
    return len(ends)


def _windows(rng: random.Random) -> Iterator[tuple[list[int], int]]:
    yield from (([5], 1), ([1, 2], 1), ([1, 2], 2), ([3, 3, 3], 2), ([9, 8, 7, 6], 2), ([-1, -3, -2], 3))
    for count in (10, 40, 300):
        for _ in range(2):
            yield integers(rng, count, -20, 20), rng.randint(1, count)
    yield integers(rng, 40_000, -(10**9), 10**9), 20_000
    yield list(range(40_000, 0, -1)), 20_000


@function(
    "medium",
    "Return the list of the largest numbers of every `width` numbers that stand side by side in a list of up to "
    "40,000 whole numbers, from the front on. 1 ≤ width ≤ length. Looking at each number of every window takes too "
    "long.",
    [([1, 3, -1, -3, 5, 3], 3), ([4], 1)],
    tests=_windows,
)
def window_maxima(numbers: list[int], width: int) -> list[int]:
    """A queue of indices whose numbers fall."""
    from collections import deque

    falling: deque[int] = deque()
    maxima = []
    for index, number in enumerate(numbers):
        while falling and numbers[falling[-1]] <= number:
            falling.pop()
        falling.append(index)
        if falling[0] <= index - width:
            falling.popleft()
        if index >= width - 1:
            maxima.append(numbers[falling[0]])
    return maxima


def _meetings(rng: random.Random) -> Iterator[tuple[list[list[int]]]]:
    yield from (
        ([],),
        ([[0, 5]],),
        ([[0, 5], [5, 9]],),
        ([[0, 5], [4, 9]],),
        ([[1, 9], [2, 3], [3, 4]],),
        ([[2, 3]] * 4,),
    )
    for count in (5, 20, 300):
        for _ in range(2):
            rows = []
            for _ in range(count):
                begin = rng.randint(0, 3 * count)
                rows.append([begin, begin + rng.randint(1, 8)])
            yield (rows,)
    yield ([[begin, begin + 10**6] for begin in integers(rng, 10_000, 0, 10**9)],)


@function(
    "medium",
    "Meetings are lists [begin, end] of whole numbers, begin < end. Return the least number of rooms in which all of "
    "them can be held. A meeting may begin in a room at the moment at which another ends there. There are up to "
    "10,000.",
    [([[0, 30], [5, 10], [15, 20]],), ([[7, 10], [2, 7]],)],
    tests=_meetings,
)
def rooms_needed(meetings: list[list[int]]) -> int:
    """Sweep over begins and ends."""
    begins = sorted(meeting[0] for meeting in meetings)
    ends = sorted(meeting[1] for meeting in meetings)
    over = most = 0
    for running, begin in enumerate(begins, start=1):
        while ends[over] <= begin:
            over += 1
        most = max(most, running - over)
    return most


def _targets(rng: random.Random) -> Iterator[tuple[list[int], int]]:
    yield from (
        ([], 0),
        ([1], 1),
        ([1], 0),
        ([0], 0),
        ([0, 0, 0], 0),
        ([1, -1, 0], 0),
        ([1, 1, 1], 2),
        ([3, 4, -7, 3], 7),
    )
    for count in (6, 20, 100):
        for _ in range(2):
            yield integers(rng, count, -3, 3), rng.randint(-4, 4)
    yield integers(rng, 30_000, -5, 5), 7
    yield [0] * 30_000, 0


@function(
    "medium",
    "Return how many stretches of one or more numbers that stand side by side in a list have the sum `total`. The "
    "list holds up to 30,000 whole numbers, which may be negative.",
    [([1, 2, 3, -3, 3], 3), ([0, 0], 0)],
    tests=_targets,
)
def stretches_with_sum(numbers: list[int], total: int) -> int:
    """Count differences of sums from the front."""
    seen = {0: 1}
    running = found = 0
    for number in numbers:
        running += number
        found += seen.get(running - total, 0)
        seen[running] = seen.get(running, 0) + 1
    return found


def _bars(rng: random.Random) -> Iterator[tuple[list[int]]]:
    yield from (
        ([],),
        ([0],),
        ([3],),
        ([2, 4],),
        ([4, 2],),
        ([2, 1, 5, 6, 2, 3],),
        ([1, 1, 1],),
        ([3, 0, 3],),
        ([5, 4, 3, 2, 1],),
    )
    for count in (6, 20, 100):
        for _ in range(2):
            yield (integers(rng, count, 0, 12),)
    yield (integers(rng, 40_000, 0, 10**9),)
    yield (list(range(40_000)),)
    yield ([7] * 40_000,)


@function(
    "hard",
    "Bars of width 1 and the given heights stand side by side. Return the area of the largest rectangle that they "
    "cover altogether. There are up to 40,000 bars, of heights from 0 to 10⁹; a time that grows with the square of "
    "their number is too much.",
    [([2, 1, 5, 6, 2, 3],), ([2, 4],)],
    tests=_bars,
)
def largest_rectangle(heights: list[int]) -> int:
    """A stack of rising bars."""
    rising: list[tuple[int, int]] = []
    best = 0
    for index, height in enumerate([*heights, 0]):
        start = index
        while rising and rising[-1][1] >= height:
            start, tall = rising.pop()
            best = max(best, tall * (index - start))
        rising.append((start, height))
    return best


def _jobs(rng: random.Random) -> Iterator[tuple[list[list[int]]]]:
    yield from (
        ([],),
        ([[1, 2, 5]],),
        ([[1, 3, 5], [3, 4, 5]],),
        ([[1, 3, 5], [2, 4, 6], [3, 5, 5]],),
        ([[1, 10, 9], [2, 3, 5], [4, 5, 5]],),
    )
    for count in (5, 10, 12, 100):
        for _ in range(2):
            rows = []
            for _ in range(count):
                begin = rng.randint(0, 2 * count)
                rows.append([begin, begin + rng.randint(1, 10), rng.randint(1, 50)])
            yield (rows,)
    yield (
        [[begin, begin + rng.randint(1, 10**6), rng.randint(1, 10**6)] for begin in integers(rng, 10_000, 0, 10**9)],
    )


@function(
    "hard",
    "Jobs are lists [begin, end, pay] of whole numbers, begin < end. Return the greatest total pay of jobs of which "
    "no two overlap; one may begin at the moment at which another ends. There are up to 10,000 jobs.",
    [([[1, 3, 50], [2, 4, 10], [3, 5, 40]],)],
    tests=_jobs,
    split="test",
)
def best_pay(jobs: list[list[int]]) -> int:
    """Weighted interval scheduling, by ends."""
    from bisect import bisect_right

    ends, best = [float("-inf")], [0]
    for begin, end, pay in sorted(jobs, key=lambda job: job[1]):
        total = best[bisect_right(ends, begin) - 1] + pay
        if total > best[-1]:
            ends.append(end)
            best.append(total)
    return best[-1]
