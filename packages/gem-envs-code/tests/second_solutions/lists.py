"""Problems on lists: second solutions, planted mistakes, and programs that are too slow or too simple."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from heapq import heappop, heappush
from itertools import accumulate, pairwise


def majority(votes: list[int]) -> int | None:
    number, count = Counter(votes).most_common(1)[0]
    return number if count > len(votes) / 2 else None


def second_largest(numbers: list[int]) -> int | None:
    if not numbers:
        return None
    return max((number for number in numbers if number < max(numbers)), default=None)


def warming(text: str) -> int:
    days = list(map(int, text.split()))[1:]
    rises = "".join("r" if one < other else " " for one, other in pairwise(days))
    return 1 + max(map(len, rises.split()), default=0)


def two_with_sum(numbers: list[int], total: int) -> list[int]:
    # Two fingers on the sorted list.
    ordered = sorted(numbers)
    low, high = 0, len(ordered) - 1
    while low < high:
        found = ordered[low] + ordered[high]
        if found == total:
            return [1]
        low, high = (low + 1, high) if found < total else (low, high - 1)
    return []


def join_intervals(text: str) -> str:
    # Marks on the line, in halves, so that what only touches between two numbers is not joined.
    rows = [tuple(map(int, row.split())) for row in text.strip().splitlines()[1:]]
    changes: dict[int, int] = defaultdict(int)
    for low, high in rows:
        changes[2 * low] += 1
        changes[2 * high + 1] -= 1
    joined, depth, start = [], 0, 0
    for place in sorted(changes):
        if depth == 0:
            start = place
        depth += changes[place]
        if depth == 0:
            joined.append(f"{start // 2} {(place - 1) // 2}")
    return "\n".join(joined)


def best_stretch(text: str) -> int:
    sums = list(accumulate(map(int, text.split()[1:]), initial=0))
    lowest, best = sums[0], sums[1]
    for total in sums[1:]:
        best, lowest = max(best, total - lowest), min(lowest, total)
    return best


def disorder(numbers: list[int]) -> int:
    before: list[int] = []
    total = 0
    for number in reversed(numbers):
        total += bisect_left(before, number)
        insort(before, number)
    return total


def longest_climb(numbers: list[int]) -> int:
    # A tree of maxima over the ranks.
    rank = {number: place for place, number in enumerate(sorted(set(numbers)), start=1)}
    tree = [0] * (len(rank) + 1)
    best = 0
    for number in numbers:
        place, length = rank[number] - 1, 1
        while place:
            length = max(length, tree[place] + 1)
            place &= place - 1
        best, place = max(best, length), rank[number]
        while place < len(tree):
            tree[place] = max(tree[place], length)
            place += place & -place
    return best


def window_maxima(numbers: list[int], width: int) -> list[int]:
    # Maxima from the ends of blocks of the width, either way.
    ahead: list[int] = []
    back: list[int] = []
    for start in range(0, len(numbers), width):
        block = numbers[start : start + width]
        ahead += accumulate(block, max)
        back += list(accumulate(reversed(block), max))[::-1]
    return [max(back[i], ahead[i + width - 1]) for i in range(len(numbers) - width + 1)]


def rooms_needed(meetings: list[list[int]]) -> int:
    ends: list[int] = []
    for begin, end in sorted(meetings):
        if ends and ends[0] <= begin:
            heappop(ends)
        heappush(ends, end)
    return len(ends)


def stretches_with_sum(numbers: list[int], total: int) -> int:
    sums = list(accumulate(numbers, initial=0))
    places: dict[int, list[int]] = defaultdict(list)
    for place, value in enumerate(sums):
        places[value].append(place)
    return sum(bisect_left(places[value - total], place) for place, value in enumerate(sums) if value - total in places)


def largest_rectangle(heights: list[int]) -> int:
    # Bars from the highest on join those beside them.
    width_at: dict[int, int] = {}
    best = 0
    for index in sorted(range(len(heights)), key=lambda i: -heights[i]):
        left, right = width_at.get(index - 1, 0), width_at.get(index + 1, 0)
        width = left + 1 + right
        width_at[index] = width_at[index - left] = width_at[index + right] = width
        best = max(best, width * heights[index])
    return best


def best_pay(jobs: list[list[int]]) -> int:
    # The best that can be had from a moment on, over moments from the last.
    moments = sorted({moment for job in jobs for moment in job[:2]})
    by_begin = defaultdict(list)
    for begin, end, pay in jobs:
        by_begin[begin].append((end, pay))
    best_from: dict[int, int] = {}
    best = 0
    for moment in reversed(moments):
        best = max([best, *(best_from[end] + pay for end, pay in by_begin[moment])])
        best_from[moment] = best
    return best


SOLUTIONS = (
    majority,
    second_largest,
    warming,
    two_with_sum,
    join_intervals,
    best_stretch,
    disorder,
    longest_climb,
    window_maxima,
    rooms_needed,
    stretches_with_sum,
    largest_rectangle,
    best_pay,
)

MISTAKES = [
    ("majority", "leader if 2 * votes.count(leader) > len(votes) else None", "leader"),
    ("majority", "> len(votes)", ">= len(votes)"),
    ("second-largest", "sorted(set(numbers))", "sorted(numbers)"),
    ("second-largest", "different[-2] if len(different) > 1 else None", "different[-2] if different[-2:] else None"),
    ("warming", "after > before", "after >= before"),
    ("warming", "best = run = 1", "best = run = 0"),
    ("two-with-sum", "seen.setdefault(number, index)", "seen[number + 1] = index"),
    ("two-with-sum", "return [seen[total - number], index]", "return [index, seen[total - number]]"),
    ("two-with-sum", "    for index, number", "    seen[numbers[0] if numbers else 0] = 0\n    for index, number"),
    ("join-intervals", "low <= joined[-1][1]", "low < joined[-1][1]"),
    ("join-intervals", "low <= joined[-1][1]", "low <= joined[-1][1] + 1"),
    ("join-intervals", "max(joined[-1][1], high)", "high"),
    ("best-stretch", "max(number, ending + number)", "max(0, ending + number)"),
    ("best-stretch", "best = ending = first", "best, ending = 0, first"),
    ("disorder", "left[i] <= right[j]", "left[i] < right[j]"),
    ("disorder", "total += len(left) - i", "total += 1"),
    ("longest-climb", "bisect_left(ends, number)", "__import__('bisect').bisect_right(ends, number)"),
    ("longest-climb", "return len(ends)", "return max(len(ends), 1)"),
    ("window-maxima", "falling[0] <= index - width", "falling[0] < index - width"),
    ("window-maxima", "index >= width - 1", "index >= width"),
    ("rooms-needed", "ends[over] <= begin", "ends[over] < begin"),
    ("rooms-needed", "enumerate(begins, start=1)", "enumerate(begins)"),
    ("stretches-with-sum", "seen = {0: 1}", "seen = {}"),
    ("stretches-with-sum", "seen[running] = seen.get(running, 0) + 1", "seen[running] = 1"),
    ("largest-rectangle", "[*heights, 0]", "heights"),
    ("largest-rectangle", "start, tall = rising.pop()", "tall = rising.pop()[1]"),
    ("largest-rectangle", "index - start)", "index - start + 1)"),
    ("best-pay", "bisect_right(ends, begin)", "__import__('bisect').bisect_left(ends, begin)"),
    ("best-pay", "key=lambda job: job[1]", "key=lambda job: job[0]"),
]

TOO_SLOW = {
    "majority": """
def majority(votes):
    for vote in votes:
        if sum(other == vote for other in votes) > len(votes) // 2:
            return vote
""",
    "two-with-sum": """
def two_with_sum(numbers, total):
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == total:
                return [i, j]
    return []
""",
    "best-stretch": """
n, numbers = int(input()), list(map(int, input().split()))
print(max(sum(numbers[i:j]) for i in range(n) for j in range(i + 1, n + 1)))
""",
    "disorder": """
def disorder(numbers):
    return sum(numbers[i] > numbers[j] for j in range(len(numbers)) for i in range(j))
""",
    "longest-climb": """
def longest_climb(numbers):
    best = []
    for i, number in enumerate(numbers):
        best.append(1 + max((best[j] for j in range(i) if numbers[j] < number), default=0))
    return max(best, default=0)
""",
    "window-maxima": """
def window_maxima(numbers, width):
    return [max(numbers[i:i + width]) for i in range(len(numbers) - width + 1)]
""",
    "stretches-with-sum": """
def stretches_with_sum(numbers, total):
    count = 0
    for i in range(len(numbers)):
        running = 0
        for number in numbers[i:]:
            running += number
            count += running == total
    return count
""",
    "largest-rectangle": """
def largest_rectangle(heights):
    best = 0
    for i in range(len(heights)):
        low = heights[i]
        for j in range(i, len(heights)):
            low = min(low, heights[j])
            best = max(best, low * (j - i + 1))
    return best
""",
    "rooms-needed": """
def rooms_needed(meetings):
    return max((sum(b <= begin < e for b, e in meetings) for begin, _ in meetings), default=0)
""",
}

TOO_SIMPLE = {
    "best-pay": """
def best_pay(jobs):
    total, free = 0, 0
    for begin, end, pay in sorted(jobs, key=lambda job: -job[2]):
        if begin >= free:
            total, free = total + pay, end
    return total
""",
}
