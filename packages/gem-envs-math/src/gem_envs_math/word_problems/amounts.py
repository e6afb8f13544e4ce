"""Shares, ratios, percentages, mixtures, packing, units and areas."""

from __future__ import annotations

import random
from fractions import Fraction

from gem_envs_math.latex import decimal, number
from gem_envs_math.problem import MathProblem, Rejected
from gem_envs_math.word_problems.vocabulary import THINGS, amount, dollars, people, tell, word

__all__ = [
    "blend", "boxes", "dilution", "fence", "fractions_of_rest", "garden", "groups", "leftovers", "map_scale", "mixture",
    "percent_chain", "ratio", "recipe", "rows", "stacking", "units",
]  # fmt: skip


def boxes(rng: random.Random) -> MathProblem:
    """Return a problem on the number of boxes needed, the last of which may not be full."""
    hero = people(rng, 1)[0]
    things = rng.choice(THINGS)
    pieces, per, size = rng.randint(5, 60), rng.randint(4, 30), rng.randint(5, 48)
    extra = rng.randint(2, 90)
    total = pieces * per + extra
    told = [
        f"{pieces} children each bring {per} {things}, and {hero.name} brings {extra}.",
        f"All of these {things} are packed into boxes that hold {size} each.",
    ]
    if rng.random() < 0.6:
        return MathProblem(
            "boxes", tell(rng, hero, told, "How many boxes are needed for all of them?"), str(-(-total // size))
        )
    if total % size == 0:
        raise Rejected
    return MathProblem(
        "boxes", tell(rng, hero, told, f"How many {things} are in the box that is not full?"), str(total % size)
    )


def leftovers(rng: random.Random) -> MathProblem:
    """Return a problem on the smallest number with given remainders."""
    from math import lcm

    hero = people(rng, 1)[0]
    things = rng.choice(THINGS)
    sizes = rng.sample(range(3, 14), rng.randint(2, 3))
    period = lcm(*sizes)
    value = rng.randint(max(sizes) + 1, 900)
    if value >= period:
        raise Rejected
    rests = [value % size for size in sizes]
    parts = [
        f"in rows of {size} there {'is 1' if rest == 1 else f'are {rest}'} left over"
        for size, rest in zip(sizes, rests, strict=True)
    ]
    told = [
        f"{hero.name} has fewer than {period} {things}.",
        f"If {hero.he} lays them out " + ", ".join(parts[:-1]) + " and " + parts[-1] + ".",
    ]
    if 0 in rests:
        raise Rejected
    return MathProblem("leftovers", tell(rng, None, told, f"How many {things} does {hero.he} have?"), str(value))


def ratio(rng: random.Random) -> MathProblem:
    """Return a problem on a share in a ratio, from the whole or from a difference."""
    partners = people(rng, rng.randint(2, 3))
    parts = [rng.randint(1, 12) for _ in partners]
    unit = rng.randint(3, 90)
    what = rng.choice(("dollars", "grams of saffron", "hours of work", "acres", "bottles of wine"))
    shown = ":".join(map(str, parts))
    names = ", ".join(p.name for p in partners[:-1]) + " and " + partners[-1].name
    asked = rng.randrange(len(partners))
    if rng.random() < 0.5:
        told = [f"{names} share {unit * sum(parts)} {what} in the ratio {shown}, in this order."]
    else:
        high, low = parts.index(max(parts)), parts.index(min(parts))
        if parts[high] == parts[low]:
            raise Rejected
        told = [
            f"{names} share some {what} in the ratio {shown}, in this order.",
            f"{partners[high].name} gets {unit * (parts[high] - parts[low])} more than {partners[low].name}.",
        ]
    ask = f"How many {what} does {partners[asked].name} get?"
    return MathProblem("ratio", tell(rng, None, told, ask), str(unit * parts[asked]))


def fractions_of_rest(rng: random.Random) -> MathProblem:
    """Return a problem on repeated fractions of a remainder; it asks for the rest or the beginning."""
    hero = people(rng, 1)[0]
    start = rng.randint(12, 900) * 2
    rest, told = Fraction(start), []
    uses = rng.sample(("on the first day", "on the second day", "on the third day", "on the fourth day"), 4)
    uses.sort(key=("on the first day", "on the second day", "on the third day", "on the fourth day").index)
    for place in range(rng.randint(2, 4)):
        low = rng.randint(2, 9)
        top = rng.randint(1, low - 1) if low > 2 else 1
        share = Fraction(top, low)
        rest *= 1 - share
        told.append(
            f"{uses[place].capitalize()} {hero.he} walks "
            f"{share.numerator}/{share.denominator} of {'it' if place == 0 else 'what is left'}."
        )
    if rest.denominator != 1 or rest < 3:
        raise Rejected
    if rng.random() < 0.5:
        told.insert(0, f"{hero.name} wants to walk a trail of {start} km.")
        return MathProblem(
            "fractions_of_rest", tell(rng, None, told, "How many kilometres are left after that?"), number(rest)
        )
    told.insert(0, f"{hero.name} wants to walk a long trail.")
    told.append(f"Then {rest} km are left.")
    return MathProblem("fractions_of_rest", tell(rng, None, told, "How many kilometres long is the trail?"), str(start))


def percent_chain(rng: random.Random) -> MathProblem:
    """Return a problem on a population that grows and shrinks by percentages."""
    what = rng.choice(
        (
            "town has {n} inhabitants",
            "forest has {n} trees",
            "herd has {n} animals",
            "club has {n} members",
            "website has {n} readers",
        )
    )
    value = start = Fraction(rng.randint(2, 400) * 50)
    told = [f"A {what.format(n=start)}."]
    for _ in range(rng.randint(2, 4)):
        percent = rng.choice((5, 10, 15, 20, 25, 30, 40, 50))
        up = rng.random() < 0.6
        value = value * (100 + percent if up else 100 - percent) / 100
        told.append(
            f"In the {'next' if len(told) > 1 else 'first'} year the number "
            f"{'grows' if up else 'shrinks'} by {percent}%."
        )
    if value.denominator != 1:
        raise Rejected
    return MathProblem("percent_chain", tell(rng, None, told, "What is the number after that?"), number(value))


def groups(rng: random.Random) -> MathProblem:
    """Return a problem on two overlapping groups (Venn)."""
    a, b, both, neither = (rng.randint(3, 80) for _ in range(4))
    what = rng.choice(
        (
            ("speak French", "speak Spanish"),
            ("play chess", "play tennis"),
            ("own a dog", "own a cat"),
            ("take the bus", "take the tram"),
        )
    )
    total = a + b + both + neither
    told = [f"In a survey of {total} people {a + both} {what[0]} and {b + both} {what[1]}."]
    if rng.random() < 0.5:
        told.append(f"{neither} of them do neither.")
        ask, answer = rng.choice((("How many do both?", both), (f"How many {what[0]} but do not {what[1]}?", a)))
    else:
        told.append(f"{both} of them do both.")
        ask, answer = rng.choice((("How many do neither?", neither), ("How many do exactly one of the two?", a + b)))
    return MathProblem("groups", tell(rng, None, told, ask), str(answer))


def mixture(rng: random.Random) -> MathProblem:
    """Return a problem on two solutions of different strengths, poured together."""
    p, q = rng.sample(range(2, 96), 2)
    a, b = rng.randint(2, 60) * 5, rng.randint(2, 60) * 5
    strength = Fraction(p * a + q * b, a + b)
    what = rng.choice(("salt", "acid", "alcohol", "sugar"))
    if (strength * 10).denominator != 1:
        raise Rejected
    if rng.random() < 0.5:
        told = [f"{a} ml of a solution with {p}% {what} and {b} ml of a solution with {q}% {what} are poured together."]
        return MathProblem(
            "mixture", tell(rng, None, told, f"How many percent of {what} does the result contain?"), decimal(strength)
        )
    told = [
        f"To {a} ml of a solution with {p}% {what} a solution with {q}% {what} is added.",
        f"The result contains {decimal(strength)}% {what}.",
    ]
    return MathProblem("mixture", tell(rng, None, told, "How many millilitres were added?"), str(b))


def dilution(rng: random.Random) -> MathProblem:
    """Return a problem on the amount of water that dilutes a solution."""
    p, volume = rng.randint(6, 90), rng.randint(2, 90) * 10
    q = rng.randint(2, p - 1)
    added = Fraction(p * volume, q) - volume
    if added.denominator != 1 or added > 5000:
        raise Rejected
    what = rng.choice(("syrup", "brine", "disinfectant", "vinegar"))
    told = [f"{volume} ml of {what} have a concentration of {p}%.", f"Water is added until the concentration is {q}%."]
    return MathProblem("dilution", tell(rng, None, told, "How many millilitres of water are added?"), number(added))


def blend(rng: random.Random) -> MathProblem:
    """Return a problem on the price of a blend of two sorts."""
    what = rng.choice(("tea", "coffee", "rice", "nuts", "spice"))
    p, q = (rng.randint(8, 160) * 25 for _ in range(2))
    a, b = rng.randint(2, 30), rng.randint(2, 30)
    price = Fraction(p * a + q * b, a + b)
    if price.denominator != 1 or p == q:
        raise Rejected
    told = [
        f"A shop blends {a} kg of {what} at {dollars(p)} a kilogram with {b} kg of {what} at {dollars(q)} a kilogram."
    ]
    return MathProblem(
        "blend", tell(rng, None, told, "What is a kilogram of the blend worth, in dollars?"), amount(price)
    )


def recipe(rng: random.Random) -> MathProblem:
    """Return a problem on a recipe for more people, in other units."""
    hero = people(rng, 1)[0]
    serves, guests = rng.sample(range(2, 31), 2)
    flour, sugar = rng.randint(4, 90) * 10, rng.randint(2, 60) * 5
    needed = Fraction(flour * guests, serves)
    sweet = Fraction(sugar * guests, serves)
    if needed.denominator != 1 or sweet.denominator != 1:
        raise Rejected
    told = [
        f"A recipe for {serves} people needs {flour} g of flour and {sugar} g of sugar.",
        f"{hero.name} cooks for {guests} people.",
    ]
    if rng.random() < 0.5:
        has = rng.randint(1, int(sweet))
        told.append(f"{hero.starts} has {has} g of sugar at home.")
        if has >= sweet:
            raise Rejected
        return MathProblem(
            "recipe", tell(rng, hero, told, f"How many grams of sugar must {hero.he} buy?"), number(sweet - has)
        )
    ask = f"How many kilograms of flour does {hero.he} need?"
    return MathProblem("recipe", tell(rng, hero, told, ask), decimal(needed / 1000))


_UNITS = (
    ("kilometres", "metres", 1000), ("metres", "centimetres", 100), ("kilograms", "grams", 1000),
    ("litres", "millilitres", 1000), ("hours", "minutes", 60), ("days", "hours", 24), ("tonnes", "kilograms", 1000),
)  # fmt: skip


def units(rng: random.Random) -> MathProblem:
    """Return a problem on a large quantity less several small ones, in two units."""
    large, small, factor = rng.choice(_UNITS)
    whole, piece, count = rng.randint(2, 40), rng.randint(3, 400), rng.randint(2, 30)
    rest = whole * factor - piece * count
    if rest <= 0:
        raise Rejected
    stock = {
        "metres": "rope",
        "centimetres": "ribbon",
        "grams": "flour",
        "millilitres": "juice",
        "minutes": "recording time",
        "hours": "machine time",
        "kilograms": "sand",
    }[small]
    told = [f"A workshop has {whole} {large} of {stock}.", f"{count} orders take {piece} {small} each."]
    return MathProblem("units", tell(rng, None, told, f"How many {small} are left?"), str(rest))


def map_scale(rng: random.Random) -> MathProblem:
    """Return a problem on distances on a map."""
    scale = rng.choice((10_000, 20_000, 25_000, 50_000, 75_000, 100_000, 200_000, 250_000))
    millimetres = rng.randint(12, 480)
    km = Fraction(millimetres * scale, 1_000_000)
    told = [f"A map has the scale 1:{scale}."]
    if rng.random() < 0.5:
        told.append(f"Two villages are {millimetres} mm apart on it.")
        return MathProblem(
            "map_scale", tell(rng, None, told, "How many kilometres are they apart in reality?"), decimal(km)
        )
    told.append(f"Two villages are {decimal(km)} km apart in reality.")
    return MathProblem(
        "map_scale", tell(rng, None, told, "How many millimetres are they apart on the map?"), str(millimetres)
    )


def fence(rng: random.Random) -> MathProblem:
    """Return a problem on posts along a straight fence or around a field."""
    gap, count = rng.randint(2, 12), rng.randint(8, 90)
    if rng.random() < 0.5:
        hero = people(rng, 1)[0]
        told = [
            (
                f"Along the straight road to {hero.name}'s farm, which is {gap * count} m "
                f"long, a tree stands every {gap} m, with one at each end."
            )
        ]
        return MathProblem("fence", tell(rng, None, told, "How many trees are there?"), str(count + 1))
    wide, long = rng.sample(range(4, 60), 2)
    posts, price = 2 * (wide + long), rng.randint(3, 30)
    told = [
        f"A rectangular field is {wide * gap} m wide and {long * gap} m long.",
        f"Around it stands a fence with a post in each corner and a post every {gap} m.",
    ]
    if rng.random() < 0.5:
        return MathProblem("fence", tell(rng, None, told, "How many posts does the fence have?"), str(posts))
    told.append(f"A post costs ${price}.")
    return MathProblem("fence", tell(rng, None, told, "How many dollars do all the posts cost?"), str(posts * price))


def garden(rng: random.Random) -> MathProblem:
    """Return a problem on a garden with a path around it, or tiles for a floor."""
    wide, long, path = rng.randint(4, 40), rng.randint(4, 40), rng.randint(1, 4)
    if rng.random() < 0.5:
        area = (wide + 2 * path) * (long + 2 * path) - wide * long
        told = [
            f"A rectangular garden is {wide} m wide and {long} m long.",
            f"Around it runs a path that is {path} m wide everywhere.",
        ]
        return MathProblem("garden", tell(rng, None, told, "How many square metres does the path cover?"), str(area))
    tile = rng.choice((20, 25, 40, 50))
    count = Fraction(wide * 100, tile) * Fraction(long * 100, tile)
    spare = rng.choice((0, rng.randint(5, 60)))
    if (wide * 100) % tile or (long * 100) % tile:
        raise Rejected
    told = [
        f"The floor of a hall is {wide} m wide and {long} m long, and square tiles with a side of {tile} cm cover it."
    ]
    if spare:
        told.append(f"{spare} more tiles are bought as spares.")
    return MathProblem(
        "garden",
        tell(rng, None, told, "How many tiles are bought in all?" if spare else "How many tiles cover it?"),
        number(count + spare),
    )


def rows(rng: random.Random) -> MathProblem:
    """Return a problem on rows of seats that grow, or a pile that shrinks, by the same number each time."""
    first, step, count = rng.randint(6, 60), rng.randint(1, 9), rng.randint(4, 40)
    last = first + step * (count - 1)
    total = (first + last) * count // 2
    told = [
        (
            f"The first row of a theatre has {first} seats, and each further "
            f"row has {word(step)} more than the one before."
        ),
        f"There are {count} rows.",
    ]
    if rng.random() < 0.5:
        return MathProblem("rows", tell(rng, None, told, "How many seats are there in all?"), str(total))
    taken = rng.randint(5, total - 5)
    told.append(f"{taken} seats are taken.")
    return MathProblem("rows", tell(rng, None, told, "How many seats are free?"), str(total - taken))


def stacking(rng: random.Random) -> MathProblem:
    """Return a problem on a quantity that multiplies again and again."""
    start, factor, every = rng.randint(2, 60), rng.choice((2, 2, 3, 4)), rng.randint(2, 30)
    steps = rng.randint(3, 9)
    end = start * factor**steps
    if end > 500_000:
        raise Rejected
    unit = rng.choice(("minutes", "hours", "days"))
    verb = {2: "doubles", 3: "triples", 4: "quadruples"}[factor]
    what = rng.choice(("bacteria", "algae", "duckweed plants", "yeast cells"))
    told = [f"The number of {what} in a dish {verb} every {every} {unit}.", f"In the beginning there are {start}."]
    if rng.random() < 0.5:
        return MathProblem(
            "stacking", tell(rng, None, told, f"How many are there after {every * steps} {unit}?"), str(end)
        )
    return MathProblem("stacking", tell(rng, None, told, f"After how many {unit} are there {end}?"), str(every * steps))
