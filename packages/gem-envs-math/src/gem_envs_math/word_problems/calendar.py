"""Clocks, calendars and ages."""

from __future__ import annotations

import random
from datetime import date, timedelta

from gem_envs_math.problem import MathProblem, Rejected
from gem_envs_math.word_problems.vocabulary import DAYS, MONTHS, clock, people, tell, times

__all__ = [
    "age_ratio", "age_sum", "age_three", "dates", "departures", "elapsed", "shifts", "time_zones", "weekday",
    "weekday_of_date",
]  # fmt: skip


def elapsed(rng: random.Random) -> MathProblem:
    """Return a problem on a period of several parts that asks for its end or its beginning."""
    hero = people(rng, 1)[0]
    begin = rng.randint(6 * 60, 13 * 60)
    parts = [rng.randint(10, 130) for _ in range(rng.randint(2, 4))]
    activities = rng.sample(
        (
            "cooks",
            "works in the garden",
            "reads",
            "practises the piano",
            "repairs a bicycle",
            "paints",
            "swims",
            "writes letters",
        ),
        len(parts),
    )
    end = begin + sum(parts)
    done = ", then ".join(f"{activity} for {part} minutes" for activity, part in zip(activities, parts, strict=True))
    if rng.random() < 0.6:
        told = [f"{hero.name} begins at {clock(begin)}.", f"{hero.starts} {done}."]
        ask = f"At what time does {hero.he} finish? Give it on the 24-hour clock, as in 09:05."
        return MathProblem("elapsed", tell(rng, hero, told, ask), clock(end), plain=False)
    told = [f"{hero.name} finishes at {clock(end)}.", f"Before that {hero.he} {done}, without a break."]
    ask = f"At what time did {hero.he} begin? Give it on the 24-hour clock, as in 09:05."
    return MathProblem("elapsed", tell(rng, hero, told, ask), clock(begin), plain=False)


def departures(rng: random.Random) -> MathProblem:
    """Return a problem on a bus that leaves at regular intervals."""
    first, every = rng.randint(5 * 60, 8 * 60), rng.randint(7, 45)
    number = rng.randint(3, 98)
    if rng.random() < 0.5:
        last = first + every * rng.randint(8, 30) + rng.randint(0, every - 1)
        if last >= 24 * 60:
            raise Rejected
        told = [
            f"The first bus of line {number} leaves at {clock(first)}, and after that one leaves every {every} minutes."
        ]
        ask = f"How many buses of this line leave up to and including {clock(last)}?"
        return MathProblem("departures", tell(rng, None, told, ask), str((last - first) // every + 1))
    hero = people(rng, 1)[0]
    arrives = first + rng.randint(40, 500)
    wait = -(arrives - first) % every
    if wait < 2:
        raise Rejected
    told = [
        f"The first bus of line {number} leaves at {clock(first)}, and after that one leaves every {every} minutes.",
        f"{hero.name} comes to the stop at {clock(arrives)}.",
    ]
    return MathProblem(
        "departures", tell(rng, None, told, f"How many minutes does {hero.he} wait for the next bus?"), str(wait)
    )


def shifts(rng: random.Random) -> MathProblem:
    """Return a problem on two periodic events and the next time that they coincide."""
    from math import lcm

    a, b = rng.sample(range(6, 60), 2)
    again = lcm(a, b)
    begin = rng.randint(0, 8 * 60)
    lights = rng.choice(("lighthouse", "church bell", "fountain", "siren"))
    if again > 900:
        raise Rejected
    told = [
        f"One {lights} can be noticed every {a} minutes and another one every {b} minutes.",
        f"At {clock(begin)} both are noticed at once.",
    ]
    if rng.random() < 0.5:
        return MathProblem(
            "shifts", tell(rng, None, told, "After how many minutes does that happen again?"), str(again)
        )
    ask = "At what time does that happen again? Give it on the 24-hour clock, as in 09:05."
    return MathProblem("shifts", tell(rng, None, told, ask), clock(begin + again), plain=False)


def time_zones(rng: random.Random) -> MathProblem:
    """Return a problem on a flight between two places with different clocks."""
    begin, flight = rng.randint(0, 23 * 60 + 59), rng.randint(65, 15 * 60)
    ahead = rng.choice([hours for hours in range(-11, 12) if hours])
    hours, minutes = divmod(flight, 60)
    told = [
        (
            f"A plane takes off at {clock(begin)} local time and flies for {hours} "
            f"{'hour' if hours == 1 else 'hours'} and {minutes} minutes."
        ),
        (
            f"Where it lands, the clocks are {abs(ahead)} "
            f"{'hour' if abs(ahead) == 1 else 'hours'} {'ahead' if ahead > 0 else 'behind'}."
        ),
    ]
    ask = "What is the local time there when it lands? Give it on the 24-hour clock, as in 09:05."
    return MathProblem(
        "time_zones", tell(rng, None, told, ask), clock((begin + flight + 60 * ahead) % 1440), plain=False
    )


def weekday(rng: random.Random) -> MathProblem:
    """Return a problem on the day of the week a number of days before or after a given one."""
    hero = people(rng, 1)[0]
    today, days, event = (
        rng.randrange(7),
        rng.randint(9, 999),
        rng.choice(("holiday", "exam", "journey", "concert", "wedding")),
    )
    if rng.random() < 0.5:
        told = [f"Today is {DAYS[today]}, and {hero.name}'s {event} begins in {days} days."]
        return MathProblem(
            "weekday",
            tell(rng, hero, told, "On which day of the week does it begin?"),
            DAYS[(today + days) % 7],
            plain=False,
        )
    told = [f"Today is {DAYS[today]}, and {hero.name}'s {event} was {days} days ago."]
    return MathProblem(
        "weekday", tell(rng, hero, told, "On which day of the week was it?"), DAYS[(today - days) % 7], plain=False
    )


def _written(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def dates(rng: random.Random) -> MathProblem:
    """Return a problem on the number of days between two dates."""
    hero = people(rng, 1)[0]
    begin = date(rng.randint(1950, 2040), 1, 1) + timedelta(rng.randint(0, 364))
    end = begin + timedelta(rng.randint(20, 700))
    told = [f"{hero.name} starts a diary on {_written(begin)} and closes it on {_written(end)}."]
    if rng.random() < 0.5:
        ask = (
            "How many days lie from the first of these dates to the second, if "
            "the second is counted and the first is not?"
        )
        return MathProblem("dates", tell(rng, None, told, ask), str((end - begin).days))
    told.append(f"{hero.starts} writes one page on each day, the first and the last day included.")
    return MathProblem(
        "dates", tell(rng, None, told, f"How many pages does {hero.he} write?"), str((end - begin).days + 1)
    )


def weekday_of_date(rng: random.Random) -> MathProblem:
    """Return a problem on the weekday of a date, given that of another."""
    begin = date(rng.randint(1900, 2080), 1, 1) + timedelta(rng.randint(0, 364))
    end = begin + timedelta(rng.randint(20, 800))
    told = [f"{_written(begin)} is a {DAYS[begin.weekday()]}."]
    return MathProblem(
        "weekday_of_date",
        tell(rng, None, told, f"Which day of the week is {_written(end)}?"),
        DAYS[end.weekday()],
        plain=False,
    )


def age_ratio(rng: random.Random) -> MathProblem:
    """Return a problem on the ratio of two ages now and at another time."""
    one, two = people(rng, 2)
    young, k, then = rng.randint(2, 30), rng.randint(2, 9), rng.randint(2, 40)
    old = k * young
    later = rng.random() < 0.7
    if not later:
        then = -then
    if young + then <= 0 or (old + then) % (young + then) or not 12 < old < 110 or old + then > 115:
        raise Rejected
    factor = (old + then) // (young + then)
    if not 2 <= factor <= 12:
        raise Rejected
    when = f"In {then} years {one.name} will be" if later else f"{-then} years ago {one.name} was"
    told = [f"{one.name} is {times(k)} as old as {two.name}.", f"{when} {times(factor)} as old as {two.name}."]
    who, answer = rng.choice(((one, old), (two, young)))
    return MathProblem("age_ratio", tell(rng, None, told, f"How old is {who.name} now?"), str(answer))


def age_sum(rng: random.Random) -> MathProblem:
    """Return a problem on a sum of ages, a difference, and a shift in time."""
    one, two = people(rng, 2)
    a, b, then = rng.randint(5, 80), rng.randint(5, 80), rng.randint(2, 25)
    if a <= b or (then >= b):
        raise Rejected
    told = [f"{one.name} is {a - b} years older than {two.name}."]
    later = rng.random() < 0.5
    total = a + b + 2 * then if later else a + b - 2 * then
    told.append(
        f"In {then} years their ages will add up to {total}."
        if later
        else f"{then} years ago their ages added up to {total}."
    )
    who, age = rng.choice(((one, a), (two, b)))
    if rng.random() < 0.5:
        return MathProblem("age_sum", tell(rng, None, told, f"How old is {who.name} now?"), str(age))
    return MathProblem(
        "age_sum", tell(rng, None, told, f"How old will {who.name} be in {then + 3} years?"), str(age + then + 3)
    )


def age_three(rng: random.Random) -> MathProblem:
    """Return a problem on three ages in a chain, and their sum."""
    one, two, three = people(rng, 3)
    c, k, d = rng.randint(2, 24), rng.randint(2, 4), rng.randint(2, 30)
    b = k * c
    a = b + d if rng.random() < 0.5 else b - d
    if a < 1 or b > 90 or a > 100:
        raise Rejected
    told = [
        f"{two.name} is {times(k)} as old as {three.name}.",
        f"{one.name} is {d} years {'older' if a > b else 'younger'} than {two.name}.",
        f"The three of them are {a + b + c} years old together.",
    ]
    rng.shuffle(told)
    who, age = rng.choice(((one, a), (two, b), (three, c)))
    return MathProblem("age_three", tell(rng, None, told, f"How old is {who.name}?"), str(age))
