"""Shopping, wages, prices and interest."""

from __future__ import annotations

import random
from fractions import Fraction

from gem_envs_math.latex import number
from gem_envs_math.problem import MathProblem, Rejected
from gem_envs_math.word_problems.vocabulary import amount, dollars, people, tell

__all__ = [
    "break_even", "change", "coins", "discounts", "exchange", "how_many", "interest", "price_backwards", "profit",
    "rent", "savings", "shopping", "taxi", "tickets", "two_baskets", "wages",
]  # fmt: skip

_GOODS = (
    ("notebook", 120, 480), ("pen", 60, 290), ("melon", 150, 400), ("loaf of bread", 180, 520),
    ("cup of tea", 140, 390),
    ("sandwich", 290, 750), ("poster", 350, 1200), ("T-shirt", 700, 2500), ("bottle of juice", 110, 340),
    ("bar of chocolate", 90, 310), ("paintbrush", 130, 560), ("light bulb", 160, 640), ("bunch of roses", 480, 1500),
    ("ball of wool", 250, 780), ("jar of honey", 380, 990), ("battery", 75, 260), ("sketch pad", 310, 890),
)  # fmt: skip


def _plural(good: str) -> str:
    head, of, rest = good.partition(" of ")
    ending = "ies" if head[-1] == "y" else "es" if head[-1] in "sxh" else "s"
    head = "loaves" if head == "loaf" else head[:-1] + ending if ending == "ies" else head + ending
    return head + of + rest


def _prices(rng: random.Random, count: int) -> list[tuple[str, int]]:
    """Return goods with their unit prices in cents, each a multiple of five."""
    return [(good, rng.randint(low // 5, high // 5) * 5) for good, low, high in rng.sample(_GOODS, count)]


def _basket(rng: random.Random, count: int) -> tuple[list[str], list[str], int]:
    """Return sentences on prices and purchases, and the sum in cents."""
    goods = _prices(rng, count)
    prices, bought, total = [], [], 0
    for good, price in goods:
        pieces = rng.randint(2, 12)
        prices.append(f"A {good} costs {dollars(price)}.")
        bought.append(f"{pieces} {_plural(good)}")
        total += pieces * price
    return prices, bought, total


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def shopping(rng: random.Random) -> MathProblem:
    """Return a problem on the price of several goods, perhaps with a price that does not matter."""
    hero = people(rng, 1)[0]
    prices, bought, total = _basket(rng, rng.randint(2, 4))
    ask = f"{hero.name} buys {_and(bought)}. How many dollars does {hero.he} pay?"
    return MathProblem("shopping", tell(rng, hero, prices, ask), amount(total))


def change(rng: random.Random) -> MathProblem:
    """Return a problem on the change from a banknote."""
    hero = people(rng, 1)[0]
    prices, bought, total = _basket(rng, rng.randint(1, 3))
    note = next((note for note in (1000, 2000, 5000, 10_000, 20_000) if note > total), None)
    if note is None:
        raise Rejected
    ask = (
        f"{hero.name} buys {_and(bought)} and pays with a {dollars(note)} note. "
        f"How many dollars of change does {hero.he} get?"
    )
    return MathProblem("change", tell(rng, hero, prices, ask), amount(note - total))


def discounts(rng: random.Random) -> MathProblem:
    """Return a problem on a discount, perhaps a coupon, perhaps a tax on top."""
    hero = people(rng, 1)[0]
    good = rng.choice(("coat", "tent", "sofa", "guitar", "camera", "bicycle", "desk", "tablet", "kayak", "telescope"))
    price = Fraction(rng.randint(8, 120) * 1000)
    percent = rng.choice((5, 10, 15, 20, 25, 30, 40))
    told = [f"A {good} costs {dollars(int(price))}.", f"In the sale its price is reduced by {percent}%."]
    price = price * (100 - percent) / 100
    if rng.random() < 0.5:
        coupon = rng.randint(2, 30) * 100
        told.append(f"{hero.name} has a coupon for {dollars(coupon)} off the reduced price.")
        price -= coupon
    if rng.random() < 0.5:
        tax = rng.choice((4, 5, 8, 10, 20))
        told.append(f"A tax of {tax}% is added to what remains.")
        price = price * (100 + tax) / 100
    if price.denominator != 1 or price < 500:
        raise Rejected
    return MathProblem(
        "discounts", tell(rng, hero, told, f"How many dollars does {hero.name} pay for the {good}?"), amount(price)
    )


def price_backwards(rng: random.Random) -> MathProblem:
    """Return a problem that gives the price after one or two changes and asks for the price before."""
    good = rng.choice(("jacket", "printer", "watch", "ladder", "suitcase", "drill", "blender", "stove", "skateboard"))
    old = Fraction(rng.randint(4, 200) * 500)
    price = old
    told: list[str] = []
    for _ in range(rng.randint(1, 2)):
        percent = rng.choice((5, 10, 15, 20, 25, 30, 40, 50))
        up = rng.random() < 0.5
        price = price * (100 + percent if up else 100 - percent) / 100
        told.append(f"{'it' if told else f'the price of a {good}'} {'rose' if up else 'fell'} by {percent}%")
    if price.denominator != 1:
        raise Rejected
    story = f"This year {told[0]}. " + (f"Then {told[1]}. " if len(told) > 1 else "")
    question = f"{story}Now it costs {dollars(int(price))}. How many dollars did it cost before?"
    return MathProblem("price_backwards", question, amount(old))


def how_many(rng: random.Random) -> MathProblem:
    """Return a problem on the number of pieces that a budget allows after another purchase."""
    hero = people(rng, 1)[0]
    (first, first_price), (second, second_price) = _prices(rng, 2)
    pieces, budget = rng.randint(1, 5), rng.randint(20, 150) * 100
    rest = budget - pieces * first_price
    if rest < 2 * second_price:
        raise Rejected
    told = [
        f"{hero.name} has {dollars(budget)}.",
        f"A {first} costs {dollars(first_price)} and a {second} costs {dollars(second_price)}.",
        f"{hero.starts} buys {pieces} {_plural(first) if pieces > 1 else first} first.",
    ]
    ask = f"How many {_plural(second)} can {hero.he} buy at most with the rest?"
    return MathProblem("how_many", tell(rng, hero, told, ask), str(rest // second_price))


def two_baskets(rng: random.Random) -> MathProblem:
    """Return a problem on two purchases of the same goods, which determine the prices."""
    one, two = people(rng, 2)
    (first, p), (second, q) = _prices(rng, 2)
    a, b, c, d = (rng.randint(1, 7) for _ in range(4))
    if a * d == b * c:
        raise Rejected

    def pieces(count: int, good: str) -> str:
        return f"{count} {_plural(good) if count > 1 else good}"

    told = [
        f"{one.name} pays {dollars(a * p + b * q)} for {pieces(a, first)} and {pieces(b, second)}.",
        f"{two.name} pays {dollars(c * p + d * q)} for {pieces(c, first)} and {pieces(d, second)} at the same stall.",
    ]
    good, price = rng.choice(((first, p), (second, q)))
    return MathProblem("two_baskets", tell(rng, None, told, f"How many dollars does one {good} cost?"), amount(price))


def wages(rng: random.Random) -> MathProblem:
    """Return a problem on hours at two rates, and something deducted."""
    hero = people(rng, 1)[0]
    rate, normal = rng.randint(11, 48), rng.choice((30, 35, 36, 38, 40))
    extra, worked = rng.choice((25, 50, 100)), normal + rng.randint(1, 14)
    pay = Fraction(rate * normal) + Fraction(rate * (100 + extra) * (worked - normal), 100)
    told = [
        f"{hero.name} earns ${rate} an hour for the first {normal} hours of a week.",
        f"Each further hour is paid {extra}% more.",
        f"This week {hero.he} worked {worked} hours.",
    ]
    if rng.random() < 0.5:
        fee = rng.randint(12, 90)
        told.append(f"A fee of ${fee} is deducted from {hero.his} pay.")
        pay -= fee
    return MathProblem("wages", tell(rng, hero, told, f"How many dollars does {hero.he} receive?"), amount(pay * 100))


def taxi(rng: random.Random) -> MathProblem:
    """Return a problem on a basic charge and a price for each kilometre, forwards or backwards."""
    hero = people(rng, 1)[0]
    base, per, tip, km = rng.randint(20, 80) * 10, rng.randint(8, 40) * 10, rng.randint(1, 9) * 100, rng.randint(3, 60)
    total = base + per * km + tip
    told = [f"A taxi charges {dollars(base)} for any ride and {dollars(per)} for each kilometre."]
    if rng.random() < 0.5:
        told.append(f"{hero.name} rides {km} kilometres and gives the driver a tip of {dollars(tip)}.")
        return MathProblem("taxi", tell(rng, hero, told, f"How many dollars does {hero.he} spend?"), amount(total))
    told.append(f"{hero.name} gives the driver a tip of {dollars(tip)} and spends {dollars(total)} altogether.")
    return MathProblem("taxi", tell(rng, hero, told, f"How many kilometres was {hero.his} ride?"), str(km))


def break_even(rng: random.Random) -> MathProblem:
    """Return a problem on two tariffs and the quantity at which the higher base charge pays off."""
    what, unit = rng.choice(
        (("gym", "visit"), ("library", "loan"), ("ski lift", "ride"), ("car club", "hour"), ("pool", "swim"))
    )
    base, per = rng.randint(5, 30), rng.randint(4, 25)
    base_two, per_two = base + rng.randint(10, 300), rng.randint(1, per - 1)
    count = (base_two - base) // (per - per_two) + 1
    if count < 3:
        raise Rejected
    told = [
        f"A {what} offers two plans.",
        f"Plan A costs ${base} a month and ${per} for each {unit}.",
        f"Plan B costs ${base_two} a month and ${per_two} for each {unit}.",
    ]
    ask = f"What is the smallest number of {unit}s in a month for which plan B is cheaper than plan A?"
    return MathProblem("break_even", tell(rng, None, told, ask), str(count))


def savings(rng: random.Random) -> MathProblem:
    """Return a problem on weekly savings towards a purchase."""
    hero = people(rng, 1)[0]
    has, earns, spends = rng.randint(5, 200), rng.randint(15, 90), rng.randint(3, 60)
    goal = rng.randint(150, 2500)
    if spends >= earns or goal <= has + earns - spends:
        raise Rejected
    weeks = -((has - goal) // (earns - spends))
    told = [
        f"{hero.name} wants to buy a violin for ${goal} and has saved ${has} so far.",
        f"Every week {hero.he} earns ${earns} and spends ${spends} of it.",
    ]
    return MathProblem(
        "savings", tell(rng, hero, told, f"After how many weeks does {hero.he} have enough?"), str(weeks)
    )


def interest(rng: random.Random) -> MathProblem:
    """Return a problem on simple or compound interest over some years."""
    hero = people(rng, 1)[0]
    principal, rate, years = Fraction(rng.randint(4, 900) * 50), rng.randint(2, 12), rng.randint(2, 6)
    if rng.random() < 0.6:
        told = [f"{hero.name} invests ${principal} at a simple interest of {rate}% a year."]
        gained = principal * rate * years / 100
        ask = f"How many dollars of interest does {hero.he} get in {years} years altogether?"
        return MathProblem("interest", tell(rng, hero, told, ask), amount(gained * 100))
    rate, years = rng.choice((5, 10, 20, 25, 50)), rng.randint(2, 3)
    value = principal * Fraction(100 + rate, 100) ** years
    if (value * 100).denominator != 1:
        raise Rejected
    told = [
        (
            f"{hero.name} invests ${principal} at {rate}% interest a year, and "
            "the interest is added to the capital every year."
        )
    ]
    ask = f"How many dollars is the investment worth after {years} years?"
    return MathProblem("interest", tell(rng, hero, told, ask), amount(value * 100))


def exchange(rng: random.Random) -> MathProblem:
    """Return a problem on money exchanged twice, with a purchase in between."""
    hero = people(rng, 1)[0]
    name = rng.choice(("crowns", "florins", "guilders", "ducats", "talers"))
    rate, taken, fee = rng.randint(3, 40), rng.randint(6, 90) * 10, rng.randint(2, 5)
    got = rate * (taken - fee)
    spent = rng.randint(2, got // rate - 1) * rate
    told = [
        f"One dollar is worth {rate} {name}.",
        f"{hero.name} goes to the bank with ${taken}, pays a fee of ${fee}, and changes the rest into {name}.",
        f"{hero.starts} spends {spent} {name} and changes what is left back into dollars without a fee.",
    ]
    ask = f"How many dollars does {hero.he} get back?"
    return MathProblem("exchange", tell(rng, hero, told, ask), str((got - spent) // rate))


def profit(rng: random.Random) -> MathProblem:
    """Return a problem on goods bought by the crate, partly spoilt, and sold by the piece."""
    hero = people(rng, 1)[0]
    fruit = rng.choice(("oranges", "peaches", "lemons", "avocados", "coconuts", "pears"))
    crates, each, cost = rng.randint(2, 15), rng.randint(4, 12) * 10, rng.randint(8, 40)
    price, bad = rng.randint(9, 30) * 10, rng.randint(3, 30)
    gain = (crates * each - bad) * price - crates * cost * 100
    if gain <= 0 or bad >= crates * each:
        raise Rejected
    told = [
        f"{hero.name} buys {crates} crates of {fruit} for ${cost} a crate.",
        f"There are {each} {fruit} in a crate.",
        f"{hero.starts} throws {bad} rotten {fruit} away and sells all the others for {dollars(price)} each.",
    ]
    return MathProblem(
        "profit", tell(rng, hero, told, f"How many dollars of profit does {hero.he} make?"), amount(gain)
    )


def tickets(rng: random.Random) -> MathProblem:
    """Return a problem on tickets at two prices, and the revenue."""
    show = rng.choice(("play", "match", "concert", "circus", "film", "puppet show"))
    adults, children = rng.randint(12, 250), rng.randint(12, 250)
    adult, child = rng.randint(8, 30), rng.randint(2, 7)
    told = [
        f"{adults + children} people watch a {show}.",
        f"An adult pays ${adult} and a child pays ${child}.",
        f"Altogether they pay ${adults * adult + children * child}.",
    ]
    who, answer = rng.choice((("adults", adults), ("children", children)))
    return MathProblem("tickets", tell(rng, None, told, f"How many {who} are among them?"), str(answer))


def coins(rng: random.Random) -> MathProblem:
    """Return a problem on coins of two values, and their total value."""
    hero = people(rng, 1)[0]
    low, high = sorted(rng.sample((1, 2, 5, 10, 20, 25, 50), 2))
    a, b = rng.randint(3, 90), rng.randint(3, 90)
    told = [
        f"{hero.name}'s jar contains {a + b} coins, each worth either {low} or {high} cents.",
        f"Together they are worth {dollars(a * low + b * high)}.",
    ]
    which, answer = rng.choice(((low, a), (high, b)))
    ask = f"How many {which}-cent coins are in the jar?"
    return MathProblem("coins", tell(rng, hero, told, ask), str(answer))


def rent(rng: random.Random) -> MathProblem:
    """Return a problem on a shared cost that is divided again when a person leaves or joins."""
    friends, more = rng.randint(3, 9), rng.randint(1, 4)
    joins = rng.random() < 0.5
    others = friends + more if joins else friends - more
    if others < 2:
        raise Rejected
    cost = friends * others * rng.randint(4, 90)
    what = rng.choice(("boat", "cabin", "minibus", "hall", "tent", "sauna", "piano", "workshop"))
    verb = "joins" if more == 1 and joins else "join" if joins else "drops out" if more == 1 else "drop out"
    told = [
        f"{friends} friends want to share the rent of a {what} for ${cost} equally.",
        f"Then {more} more {verb} and pays the same share." if joins and more == 1
        else f"Then {more} more {verb} and pay the same share." if joins
        else f"Then {more} of them {verb}, and the others share the whole rent equally.",
    ]  # fmt: skip
    difference = abs(Fraction(cost, friends) - Fraction(cost, others))
    ask = f"By how many dollars does the share of each of the others {'fall' if joins else 'rise'}?"
    return MathProblem("rent", tell(rng, None, told, ask), number(difference))
