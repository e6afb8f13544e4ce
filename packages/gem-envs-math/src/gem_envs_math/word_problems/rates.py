"""Speeds, work, machines, flows and consumption."""

from __future__ import annotations

import random
from fractions import Fraction

from gem_envs_math.latex import decimal, number
from gem_envs_math.problem import MathProblem, Rejected
from gem_envs_math.word_problems.vocabulary import ORDINALS, clock, people, tell, word

__all__ = [
    "average_speed", "candles", "catching_up", "current", "fuel", "gears", "legs", "machines", "meeting", "reading",
    "tank", "together", "two_shifts",
]  # fmt: skip

_VEHICLES = ("truck", "bus", "cyclist", "train", "motorboat", "hiker", "van", "tractor", "scooter")


def legs(rng: random.Random) -> MathProblem:
    """Return a problem on the distance of a journey in several legs."""
    hero = people(rng, 1)[0]
    told, total = [f"{hero.name} goes on a journey."], Fraction(0)
    for place in range(rng.randint(2, 4)):
        speed, quarters = rng.randint(2, 24) * 4, rng.randint(2, 20)
        hours, minutes = divmod(quarters * 15, 60)
        spent = " and ".join(
            part
            for part in (
                f"{hours} hours" if hours > 1 else "1 hour" if hours else "",
                f"{minutes} minutes" if minutes else "",
            )
            if part
        )
        told.append(f"The {ORDINALS[place]} part takes {spent} at {speed} km per hour.")
        total += Fraction(speed * quarters, 4)
    if rng.random() < 0.4:
        rest = rng.randint(10, 120)
        told.append(f"In between {hero.he} rests for {rest} minutes.")
    return MathProblem("legs", tell(rng, hero, told, "How many kilometres long is the journey?"), number(total))


def average_speed(rng: random.Random) -> MathProblem:
    """Return a problem on a return trip at two speeds, or on two stretches."""
    what = rng.choice(_VEHICLES)
    a, b = rng.sample(range(4, 120, 2), 2)
    distance = rng.randint(2, 60) * 10
    if rng.random() < 0.5:
        told = [
            (
                f"A {what} covers a distance of {distance} km at {a} km per hour "
                f"and returns the same way at {b} km per hour."
            )
        ]
        speed = Fraction(2 * a * b, a + b)
    else:
        h1, h2 = rng.randint(1, 9), rng.randint(1, 9)
        told = [
            (
                f"A {what} moves at {a} km per hour for {h1} {_hours(h1)} and "
                f"then at {b} km per hour for {h2} {_hours(h2)}."
            )
        ]
        speed = Fraction(a * h1 + b * h2, h1 + h2)
    if (speed * 100).denominator != 1:
        raise Rejected
    ask = "What is its average speed over the whole way, in km per hour?"
    return MathProblem("average_speed", tell(rng, None, told, ask), decimal(speed))


def _hours(count: int) -> str:
    return "hour" if count == 1 else "hours"


def meeting(rng: random.Random) -> MathProblem:
    """Return a problem on two travellers towards each other, one of whom may start later."""
    one, two = people(rng, 2)
    a, b, minutes = rng.randint(4, 60), rng.randint(4, 60), rng.randint(3, 40) * 6
    head_start = rng.choice((0, 0, rng.randint(1, 10) * 6))
    begin = rng.randint(6 * 60, 14 * 60) // 5 * 5
    distance = Fraction(a * (minutes + head_start) + b * minutes, 60)
    if distance.denominator != 1:
        raise Rejected
    told = [
        f"The houses of {one.name} and {two.name} are {distance} km apart.",
        f"At {clock(begin)} {one.name} sets out towards {two.name}'s house at {a} km per hour.",
    ]
    if head_start:
        told.append(
            f"At {clock(begin + head_start)} {two.name} sets out towards {one.name}'s house at {b} km per hour."
        )
    else:
        told.append(f"At the same time {two.name} sets out towards {one.name}'s house at {b} km per hour.")
    if rng.random() < 0.5:
        ask = f"How many minutes after {one.name} set out do they meet?"
        return MathProblem("meeting", tell(rng, None, told, ask), str(minutes + head_start))
    ask = f"How many kilometres from {one.name}'s house do they meet?"
    return MathProblem("meeting", tell(rng, None, told, ask), decimal(Fraction(a * (minutes + head_start), 60)))


def catching_up(rng: random.Random) -> MathProblem:
    """Return a problem on a faster traveller who follows another."""
    one, two = people(rng, 2)
    slow = rng.randint(3, 50)
    fast = slow + rng.randint(2, 50)
    ahead = rng.randint(5, 180)
    minutes = Fraction(slow * ahead, fast - slow)
    if minutes.denominator != 1 or not 3 <= minutes <= 900:
        raise Rejected
    told = [
        f"{one.name} leaves home at {slow} km per hour.",
        f"{ahead} minutes later {two.name} leaves the same house on the same road at {fast} km per hour.",
    ]
    ask = f"How many minutes does {two.name} need to catch up with {one.name}?"
    return MathProblem("catching_up", tell(rng, one, told, ask), number(minutes))


def current(rng: random.Random) -> MathProblem:
    """Return a problem on a boat with and against the current."""
    still, flow = rng.randint(6, 40), rng.randint(1, 5)
    down, up = still + flow, still - flow
    distance = rng.randint(1, 12) * down * up // 2 if (down * up) % 2 == 0 else rng.randint(1, 6) * down * up
    t_down, t_up = Fraction(distance, down), Fraction(distance, up)
    if t_down.denominator > 2 or t_up.denominator > 2 or distance > 3000 or t_up == t_down:
        raise Rejected
    hero = people(rng, 1)[0]
    told = [
        (
            f"With the current {hero.name}'s boat covers {distance} km in {decimal(t_down)} hours, "
            f"and against it the same way back takes {decimal(t_up)} hours."
        )
    ]
    what, answer = rng.choice((("the boat in still water", still), ("the current", flow)))
    return MathProblem("current", tell(rng, None, told, f"What is the speed of {what}, in km per hour?"), str(answer))


def together(rng: random.Random) -> MathProblem:
    """Return a problem on workers who finish a job together, or on the time that one of them needs alone."""
    job = rng.choice(
        ("paint a fence", "mow a meadow", "clear a cellar", "tile a floor", "harvest a vineyard", "print a brochure")
    )
    workers = people(rng, rng.randint(2, 3))
    hours = [rng.randint(2, 48) for _ in workers]
    joint = 1 / sum((Fraction(1, hour) for hour in hours), Fraction(0))
    if joint.denominator > 2 or len(set(hours)) < len(hours) or joint in hours:
        raise Rejected
    if rng.random() < 0.5:
        told = [f"{person.name} can {job} in {hour} hours." for person, hour in zip(workers, hours, strict=True)]
        ask = "How many hours do they need if all of them work together?"
        return MathProblem("together", tell(rng, workers[0], told, ask), decimal(joint))
    told = [f"{person.name} can {job} in {hour} hours." for person, hour in zip(workers[:-1], hours, strict=False)]
    last = workers[-1].name
    told.append(f"Together with {last} it takes {decimal(joint)} hours.")
    ask = f"How many hours would {last} need alone?"
    return MathProblem("together", tell(rng, workers[0], told, ask), str(hours[-1]))


def two_shifts(rng: random.Random) -> MathProblem:
    """Return a problem on a job that one worker begins and two finish."""
    one, two = people(rng, 2)
    job = rng.choice(("dig a ditch", "sort the archive", "repair a roof", "build a wall", "pick the cherries"))
    a, b, alone = rng.randint(4, 40), rng.randint(4, 40), rng.randint(1, 12)
    rest = (1 - Fraction(alone, a)) / (Fraction(1, a) + Fraction(1, b))
    if alone >= a or rest.denominator > 2 or rest < 1 or a == b:
        raise Rejected
    told = [
        f"{one.name} can {job} in {a} hours, and {two.name} can do it in {b} hours.",
        f"{one.name} works alone for {alone} {_hours(alone)}; then {two.name} helps until everything is done.",
    ]
    ask = "How many hours do they work together?"
    return MathProblem("two_shifts", tell(rng, one, told, ask), decimal(rest))


def tank(rng: random.Random) -> MathProblem:
    """Return a problem on pipes that fill a tank and a drain that empties it."""
    fill, drain, minutes = (
        [rng.randint(6, 60) for _ in range(rng.randint(1, 3))],
        rng.randint(3, 50),
        rng.randint(8, 240),
    )
    net = sum(fill) - drain
    held = rng.randint(0, 20) * 10
    if net < 2:
        raise Rejected
    size = held + net * minutes
    told = [f"A pool holds {size} litres when it is full, and now {held} litres are in it."]
    told += [f"The {ORDINALS[i]} pipe brings {rate} litres a minute." for i, rate in enumerate(fill)]
    told.append(f"At the same time {drain} litres a minute leave through a drain.")
    return MathProblem("tank", tell(rng, None, told, "After how many minutes is the pool full?"), str(minutes))


def machines(rng: random.Random) -> MathProblem:
    """Return a problem on the output of machines that all work at the same rate."""
    what = rng.choice(("bolts", "bottles", "bricks", "candles", "screws", "pens", "tiles", "boxes"))
    m1, h1, rate, m2, h2 = (
        rng.randint(2, 15),
        rng.randint(2, 12),
        rng.randint(3, 90),
        rng.randint(2, 25),
        rng.randint(2, 24),
    )
    first, second = m1 * h1 * rate, m2 * h2 * rate
    if (m1, h1) == (m2, h2):
        raise Rejected
    story = f"{m1} machines make {first} {what} in {h1} hours, and all of them are equally fast."
    asks = (
        (f"How many {what} do {m2} such machines make in {h2} hours?", second),
        (f"How many such machines are needed to make {second} {what} in {h2} hours?", m2),
        (f"In how many hours do {m2} such machines make {second} {what}?", h2),
    )
    ask, answer = rng.choice(asks)
    return MathProblem("machines", tell(rng, None, [story], ask), str(answer))


def reading(rng: random.Random) -> MathProblem:
    """Return a problem on a book at two paces."""
    hero = people(rng, 1)[0]
    days, per, more, rest_days = rng.randint(2, 12), rng.randint(8, 60), rng.randint(3, 25), rng.randint(2, 15)
    pages = days * per + rest_days * (per + more)
    told = [
        f"{hero.name} reads a book of {pages} pages.",
        f"For the first {days} days {hero.he} reads {per} pages a day.",
        f"After that {hero.he} reads {more} pages more a day than before.",
    ]
    ask = "After how many days in all is the book finished?"
    return MathProblem("reading", tell(rng, hero, told, ask), str(days + rest_days))


def fuel(rng: random.Random) -> MathProblem:
    """Return a problem on fuel consumption for 100 km: the fuel left, or its cost."""
    hero = people(rng, 1)[0]
    per = Fraction(rng.randint(40, 120), 10)
    distance, full, price = rng.randint(3, 60) * 10, rng.randint(35, 90), rng.randint(110, 240)
    used = per * distance / 100
    if used > full - 3:
        raise Rejected
    told = [
        f"{hero.name}'s car needs {decimal(per)} litres of petrol for 100 km.",
        f"{hero.starts} drives {distance} km.",
    ]
    if rng.random() < 0.5:
        told.append(f"When {hero.he} set out, there were {full} litres in the tank.")
        return MathProblem(
            "fuel", tell(rng, hero, told, "How many litres are left in the tank at the end?"), decimal(full - used)
        )
    told.append(f"A litre of petrol costs {price} cents.")
    return MathProblem(
        "fuel", tell(rng, hero, told, "How many cents does the petrol for this drive cost?"), decimal(used * price)
    )


def candles(rng: random.Random) -> MathProblem:
    """Return a problem on two candles that burn down at different rates."""
    a, b = rng.randint(20, 60), rng.randint(10, 40)
    fast, slow = rng.randint(3, 12), rng.randint(1, 8)
    if a <= b or fast <= slow or (a - b) % (fast - slow) or a - fast * (a - b) // (fast - slow) <= 0:
        raise Rejected
    hours = (a - b) // (fast - slow)
    told = [
        f"A thin candle is {a * 10} mm long and burns down by {fast * 10} mm an hour.",
        f"A thick candle is {b * 10} mm long and burns down by {slow * 10} mm an hour.",
        f"Both are lit at {clock(rng.randint(14 * 60, 20 * 60))}.",
    ]
    if rng.random() < 0.5:
        return MathProblem("candles", tell(rng, None, told, "After how many hours are they equally long?"), str(hours))
    ask = "How many millimetres long are they when they are equally long?"
    return MathProblem("candles", tell(rng, None, told, ask), str((a - fast * hours) * 10))


def gears(rng: random.Random) -> MathProblem:
    """Return a problem on wheels that drive each other."""
    teeth = [rng.randint(8, 60) for _ in range(rng.randint(2, 3))]
    turns = rng.randint(6, 400)
    result = Fraction(turns * teeth[0], teeth[-1])
    if result.denominator != 1 or len(set(teeth)) < len(teeth):
        raise Rejected
    chain = ", ".join(f"the {ORDINALS[i]} has {count} teeth" for i, count in enumerate(teeth))
    told = [f"{word(len(teeth)).capitalize()} gear wheels stand in a row and each drives the next: {chain}."]
    ask = f"How often does the last wheel turn while the first turns {turns} times?"
    return MathProblem("gears", tell(rng, None, told, ask), number(result))
