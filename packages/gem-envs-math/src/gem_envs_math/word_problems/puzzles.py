"""Puzzles: heads and legs, averages, digits, tournaments, queues."""

from __future__ import annotations

import random
from fractions import Fraction

from gem_envs_math.latex import decimal
from gem_envs_math.problem import MathProblem, Rejected
from gem_envs_math.word_problems.vocabulary import people, tell, times, word

__all__ = [
    "average_joined", "average_missing", "consecutive", "digits", "handshakes", "heads_and_legs", "number_riddle",
    "outfits", "queue", "quiz", "transfers",
]  # fmt: skip


def heads_and_legs(rng: random.Random) -> MathProblem:
    """Return a problem on two kinds with different numbers of legs, wheels or arms."""
    place, (one, p), (two, q), part = rng.choice(
        (
            ("farm", ("hens", 2), ("cows", 4), "legs"),
            ("terrarium", ("spiders", 8), ("beetles", 6), "legs"),
            ("rental shop", ("bicycles", 2), ("tricycles", 3), "wheels"),
            ("car park", ("cars", 4), ("motorcycles", 2), "wheels"),
            ("workshop", ("stools with three legs", 3), ("chairs with four legs", 4), "legs"),
        )
    )
    a, b = rng.randint(4, 300), rng.randint(4, 300)
    told = [
        f"On a {place} there are {a + b} {one} and {two} altogether."
        if place == "farm"
        else f"In a {place} there are {a + b} {one} and {two} altogether."
    ]
    told.append(f"They have {a * p + b * q} {part} in total.")
    which, answer = rng.choice(((one, a), (two, b)))
    return MathProblem("heads_and_legs", tell(rng, None, told, f"How many {which} are there?"), str(answer))


def average_missing(rng: random.Random) -> MathProblem:
    """Return a problem on the result that lifts an average to a goal."""
    hero = people(rng, 1)[0]
    scores = [rng.randint(40, 98) for _ in range(rng.randint(3, 6))]
    goal = rng.randint(50, 95)
    needed = goal * (len(scores) + 1) - sum(scores)
    if not 0 < needed <= 100:
        raise Rejected
    listed = ", ".join(map(str, scores[:-1])) + f" and {scores[-1]}"
    told = [f"{hero.name} got {listed} points in {word(len(scores))} tests."]
    ask = f"How many points does {hero.he} need in the next test for an average of {goal}?"
    return MathProblem("average_missing", tell(rng, hero, told, ask), str(needed))


def average_joined(rng: random.Random) -> MathProblem:
    """Return a problem on averages of two groups, put together or taken apart."""
    a, b, p, q = rng.randint(3, 40), rng.randint(3, 40), rng.randint(20, 95), rng.randint(20, 95)
    joint = Fraction(a * p + b * q, a + b)
    if (joint * 100).denominator != 1 or p == q:
        raise Rejected
    told = [f"The average of {a} measurements is {p}."]
    if rng.random() < 0.5:
        told.append(f"{b} further measurements have an average of {q}.")
        return MathProblem(
            "average_joined", tell(rng, None, told, "What is the average of all of them?"), decimal(joint)
        )
    told.append(f"With {b} further measurements the average of all is {decimal(joint)}.")
    return MathProblem("average_joined", tell(rng, None, told, "What is the average of the further ones?"), str(q))


def consecutive(rng: random.Random) -> MathProblem:
    """Return a problem on consecutive numbers with a given sum."""
    count, kind = rng.randint(3, 7), rng.choice(("whole", "even", "odd"))
    step = 1 if kind == "whole" else 2
    first = rng.randint(5, 900)
    if kind != "whole":
        first += first % 2 if kind == "even" else 1 - first % 2
    total = sum(first + step * i for i in range(count))
    told = [f"The sum of {word(count)} consecutive {kind} numbers is {total}."]
    which, answer = rng.choice((("smallest", first), ("largest", first + step * (count - 1))))
    told[0] = ("On a slip of paper it says: " if rng.random() < 0.5 else "") + told[0]
    return MathProblem("consecutive", tell(rng, None, told, f"What is the {which} of these numbers?"), str(answer))


def digits(rng: random.Random) -> MathProblem:
    """Return a problem on a number of two or three digits with known properties of its digits."""
    if rng.random() < 0.5:
        tens, ones = rng.randint(1, 9), rng.randint(1, 9)
        if tens == ones:
            raise Rejected
        value, back = 10 * tens + ones, 10 * ones + tens
        offset = rng.randint(2, 900)
        larger = value > back
        told = [
            f"The digits of a two-digit number add up to {tens + ones}.",
            f"With the digits reversed it becomes {abs(value - back)} {'smaller' if larger else 'larger'}.",
        ]
        return MathProblem(
            "digits", tell(rng, None, told, f"What do you get if you add {offset} to the number?"), str(value + offset)
        )
    a, b, c = rng.randint(1, 9), rng.randint(0, 9), rng.randint(0, 9)
    k = rng.randint(2, 4)
    if c * k != a:
        raise Rejected
    if c == 0:
        raise Rejected
    difference = a - b
    if difference == 0:
        raise Rejected
    offset = rng.randint(2, 900)
    told = [
        f"The digits of a three-digit number add up to {a + b + c}.",
        f"Its hundreds digit is {times(k)} its ones digit.",
        f"Its tens digit is {abs(difference)} {'less' if difference > 0 else 'more'} than its hundreds digit.",
    ]
    return MathProblem(
        "digits",
        tell(rng, None, told, f"What do you get if you add {offset} to the number?"),
        str(100 * a + 10 * b + c + offset),
    )


def number_riddle(rng: random.Random) -> MathProblem:
    """Return a problem on operations on an unknown number, and the result."""
    hero = people(rng, 1)[0]
    value = Fraction(rng.randint(3, 150))
    start, told = value, [f"{hero.name} thinks of a number."]
    for _ in range(rng.randint(2, 6)):
        kind = rng.choice(("adds", "subtracts", "multiplies", "divides"))
        n = rng.randint(2, 60) if kind in ("adds", "subtracts") else rng.randint(2, 9)
        if kind == "adds":
            value, text = value + n, f"{hero.starts} adds {n}."
        elif kind == "subtracts":
            value, text = value - n, f"{hero.starts} subtracts {n}."
        elif kind == "multiplies":
            value, text = value * n, f"{hero.starts} multiplies the result by {n}."
        else:
            value, text = value / n, f"{hero.starts} divides the result by {n}."
        if value.denominator != 1 or not 0 < value < 50_000:
            raise Rejected
        told.append(text)
    told.append(f"The result is {value}.")
    return MathProblem("number_riddle", tell(rng, None, told, "Which number was it?"), str(start))


def handshakes(rng: random.Random) -> MathProblem:
    """Return a problem on handshakes or matches in which each person meets every other person."""
    teams = rng.randint(6, 60)
    kind = rng.randrange(4)
    if kind == 0:
        rounds, length, pause = rng.randint(1, 4), rng.randint(20, 90), rng.randint(3, 90)
        told = [
            (
                f"In a chess club of {teams} members everybody plays {word(rounds)} "
                f"{'game' if rounds == 1 else 'games'} against everybody else."
            ),
            f"A game lasts {length} minutes on average, and {pause} spectators watch.",
        ]
        return MathProblem(
            "handshakes",
            tell(rng, None, told, "How many games are played in all?"),
            str(rounds * teams * (teams - 1) // 2),
        )
    if kind == 1:
        late, guests = rng.randint(2, 12), teams
        told = [
            f"{guests} guests shake hands, everybody once with everybody else.",
            f"Then {late} more guests arrive and shake hands with all who are there and with each other.",
        ]
        everybody = guests + late
        return MathProblem(
            "handshakes",
            tell(rng, None, told, "How many handshakes are there altogether?"),
            str(everybody * (everybody - 1) // 2),
        )
    if kind == 2:
        games = teams * (teams - 1) // 2
        break_minutes = rng.randint(5, 95)
        told = [
            f"In a league every team plays every other team once, which makes {games} matches.",
            f"A match lasts {break_minutes} minutes.",
        ]
        return MathProblem("handshakes", tell(rng, None, told, "How many teams are there?"), str(teams))
    couples = rng.randint(4, 60)
    guests = 2 * couples
    singles = rng.randint(2, 40)
    everybody = guests + singles
    told = [
        f"{couples} couples and {singles} single guests come to {people(rng, 1)[0].name}'s party.",
        "Everybody shakes hands once with everybody else except with their own partner.",
    ]
    return MathProblem(
        "handshakes",
        tell(rng, None, told, "How many handshakes are there?"),
        str(everybody * (everybody - 1) // 2 - couples),
    )


def outfits(rng: random.Random) -> MathProblem:
    """Return a problem on choices that multiply, except for some forbidden combinations."""
    hero = people(rng, 1)[0]
    shirts, trousers, hats, shoes = rng.randint(3, 15), rng.randint(2, 12), rng.randint(2, 9), rng.randint(2, 8)
    bad_shirts, bad_trousers = rng.randint(1, shirts - 1), rng.randint(1, trousers - 1)
    told = [
        f"{hero.name} has {shirts} shirts, {trousers} pairs of trousers, {hats} hats and {shoes} pairs of shoes.",
        (
            f"{hero.starts} always wears one of each, but never one of the {bad_shirts} red shirts "
            f"with one of the {bad_trousers} green pairs of trousers."
        )
        if bad_shirts > 1 and bad_trousers > 1
        else f"{hero.starts} always wears one of each.",
    ]
    combinations = shirts * trousers - (bad_shirts * bad_trousers if bad_shirts > 1 and bad_trousers > 1 else 0)
    return MathProblem(
        "outfits",
        tell(rng, hero, told, f"How many different outfits can {hero.he} wear?"),
        str(combinations * hats * shoes),
    )


def queue(rng: random.Random) -> MathProblem:
    """Return a problem on places in a line of people."""
    one, two = people(rng, 2)
    front, between, back = rng.randint(2, 60), rng.randint(2, 60), rng.randint(2, 60)
    told = [
        f"{one.name} and {two.name} stand in a queue, {one.name} nearer to the front.",
        f"There are {front} people in front of {one.name} and {back} people behind {two.name}.",
    ]
    if rng.random() < 0.5:
        told.append(f"Between the two there are {between} people.")
        return MathProblem(
            "queue", tell(rng, None, told, "How many people are in the queue?"), str(front + between + back + 2)
        )
    told.append(f"The queue has {front + between + back + 2} people.")
    return MathProblem("queue", tell(rng, None, told, "How many people stand between the two?"), str(between))


def quiz(rng: random.Random) -> MathProblem:
    """Return a problem on points for right answers, and points lost for wrong ones."""
    hero = people(rng, 1)[0]
    right, wrong, plus, minus = rng.randint(5, 60), rng.randint(2, 30), rng.randint(3, 12), rng.randint(1, 6)
    total = right * plus - wrong * minus
    if total <= 0:
        raise Rejected
    told = [
        f"In a quiz every right answer brings {plus} points and every wrong answer costs {minus}.",
        f"{hero.name} answers all {right + wrong} questions and ends with {total} points.",
    ]
    which, answer = rng.choice((("right", right), ("wrong", wrong)))
    return MathProblem("quiz", tell(rng, None, told, f"How many of {hero.his} answers are {which}?"), str(answer))


def transfers(rng: random.Random) -> MathProblem:
    """Return a problem on two shelves and the transfer that makes them equal or one a multiple of the other."""
    a, b, moved = rng.randint(8, 200), rng.randint(4, 200), rng.randint(2, 60)
    k = rng.randint(1, 5)
    if moved >= a or (b + moved) != k * (a - moved) or (a == b):
        raise Rejected
    ratio = "as many" if k == 1 else f"{times(k)} as many"
    told = [
        f"Together two shelves hold {a + b} books.",
        (
            f"If {moved} books are moved from the upper to the lower shelf, the "
            f"lower shelf holds {ratio} as the upper one."
        ),
    ]
    which, answer = rng.choice((("upper", a), ("lower", b)))
    return MathProblem(
        "transfers",
        tell(rng, None, told, f"How many books does the {which} shelf hold now, before anything is moved?"),
        str(answer),
    )
