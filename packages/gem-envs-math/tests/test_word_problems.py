"""Every answer again, from nothing but the story's text: by simulation, by search, by linear algebra."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest

from gem_envs_math import WordProblemsEnv
from gem_envs_math.word_problems import KINDS

F = Fraction
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = {
    name: place
    for place, name in enumerate(
        [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        1,
    )
}
ASIDE = re.compile(
    r"(?<=[.!?] )(?:[A-Z]\w+ is 1\d\d centimetres tall|On the way [A-Z]\w+ passes \d+ parked bicycles"
    r"|The clock on [A-Z]\w+'s wall is \d+ years old|[A-Z]\w+ lives at number \d+ of a long street"
    r"|The radio in the room has \d+ channels|[A-Z]\w+'s neighbour owns \d+ records"
    r"|Somebody has left a magazine of \d+ pages on the chair"
    r"|[A-Z]\w+'s old rucksack has a label with the number \d+)\. "
)
TIMES = r"(twice|\w+ times)"


def factor(text: str) -> int:
    return 2 if text == "twice" else WORDS.index(text.split()[0]) if text.split()[0] in WORDS else int(text.split()[0])


def count(text: str) -> int:
    return WORDS.index(text.lower()) if text.lower() in WORDS else int(text)


def numbers(text: str) -> list[Fraction]:
    return [F(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def find(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text)
    assert match is not None, (pattern, text)
    return match.groups()


def fractions(pattern: str, text: str) -> list[Fraction]:
    return [F(part) for part in find(pattern, text)]


def minutes(text: str) -> int:
    hours, rest = text.split(":")
    return 60 * int(hours) + int(rest)


def clock(total: int) -> str:
    return f"{total // 60 % 24:02}:{total % 60:02}"


def only(found: Iterable[Any]) -> Any:
    values = list(found)
    assert len(values) == 1, values
    return values[0]


def linear_solution(equations: list[dict[str, Fraction]]) -> dict[str, Fraction]:
    """Solve sums of unknowns that are zero; the key "" is the constant. Gauss and Jordan, exact."""
    unknowns = sorted({name for equation in equations for name in equation} - {""})
    rows = [[equation.get(name, F(0)) for name in unknowns] + [-equation.get("", F(0))] for equation in equations]
    for column in range(len(unknowns)):
        pivot = next(row for row in rows[column:] if row[column])
        rows.remove(pivot)
        rows.insert(column, [value / pivot[column] for value in pivot])
        for place, row in enumerate(rows):
            if place != column:
                rows[place] = [a - row[column] * b for a, b in zip(row, rows[column], strict=True)]
    assert all(not any(row) for row in rows[len(unknowns) :])
    return {name: rows[place][-1] for place, name in enumerate(unknowns)}


VERB = (
    r"(?:has|have|owns|own|scored|score|read|sold|sell|collected|collect|weighs|weigh|costs|cost|lasts|last|holds|hold"
    r"|measures|measure)"
)


def holders(text: str) -> list[str]:
    return [name.lower() for name in re.split(r", | and ", text)]


def comparison(text: str) -> Fraction:
    *told, ask = re.split(r"(?<=[.]) ", text)
    equations: list[dict[str, Fraction]] = []
    for sentence in told:
        s, rest = find(rf"^(.*?) {VERB} (.*)\.$", sentence)
        equation = {s.lower(): F(-1)}
        other = re.search(r" (?:than|as) ([^ ]+|[Tt]he [\w ]+?)(?: and (.+) together)?$", rest)
        if rest.endswith("altogether"):
            equations.append({**dict.fromkeys(holders(s), F(-1)), "": numbers(rest)[0]})
            continue
        if other is None:
            equation[""] = numbers(rest)[0]
        elif other[2]:
            equation[other[1].lower()], equation[other[2].lower()] = F(1), F(1)
        else:
            t = other[1].lower()
            if "%" in rest:
                equation[t] = 1 + numbers(rest)[0] / 100
            elif rest.startswith("half"):
                equation[t] = F(1, 2)
            elif re.match(TIMES + " as", rest):
                equation[t] = F(factor(find(TIMES, rest)[0]))
            else:
                less = re.search(r"\b(?:fewer|less|shorter)\b", rest)
                equation[t], equation[""] = F(1), -numbers(rest)[0] if less else numbers(rest)[0]
        equations.append(equation)
    values = linear_solution(equations)
    if "altogether" in ask:
        return sum((values[name] for name in holders(find(rf"(?:do|did) (.*) {VERB} altogether", ask)[0])), F(0))
    if " than " in ask:
        s, t = find(rf"(?:does|did) (.*) {VERB} than (.*)\?", ask)
        return values[s.lower()] - values[t.lower()]
    return values[find(rf"(?:does|did) (.*) {VERB}\?", ask)[0].lower()]


Step = Callable[[Fraction], Fraction]


def event(sentence: str) -> Step | None:
    """What a sentence does to the quantity; None where it says the beginning, the end or what is hidden."""
    low = sentence.lower()
    n = numbers(low)
    if "20%" in low:
        return lambda x: x * 4 / 5
    for name, share in (("half", F(1, 2)), ("a third", F(2, 3)), ("a quarter", F(3, 4))):
        if name in low:
            return lambda x: x * share
    if "doubles" in low or "as much water flows in" in low:
        return lambda x: 2 * x
    if "get on and" in low:
        return lambda x: x + n[0] - n[1]
    group = re.search(r"\b(\w+) (?:packs|trays|racks|canisters|groups) of (\d+)", low)
    if group:
        return lambda x: x + count(group[1]) * int(group[2])
    group = re.search(r"for (\w+) weeks .* \$(\d+) a week", low)
    if group:
        return lambda x: x + count(group[1]) * int(group[2])
    group = re.search(r"(\d+) (?:cousins|customers buy|buckets of|tickets for \$)\s?(\d+)", low)
    if group:
        return lambda x: x - int(group[1]) * int(group[2])
    if re.search(r"finds|gives \w+ \d+ more|gets \d+ more|bakes|brings|adds|pours|get on|pays in \$|transfers", low):
        return lambda x: x + n[0]
    if re.search(r"gives \d+|loses|sells|collects|takes \d+|leak|get off|withdraws|bill", low) and n:
        return lambda x: x - n[0]
    return None


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?]) ", text)


def events(text: str) -> Fraction:
    first, *told, _ = sentences(text)
    value = numbers(first)[0]
    for sentence in told:
        step = event(sentence)
        assert step is not None, sentence
        value = step(value)
    return value


def run(start: Fraction, steps: list[Step]) -> Fraction:
    for step in steps:
        start = step(start)
    return start


def events_backwards(text: str) -> Fraction:
    _, *told, last, _ = sentences(text)
    steps = [event(sentence) for sentence in told]
    assert all(steps)
    end = numbers(last)[0]
    known = [step for step in steps if step]
    # All steps are a·x + b with a > 0, so two values tell the line.
    low, high = run(F(0), known), run(F(1), known)
    start = (end - low) / (high - low)
    assert run(start, known) == end
    return start


def events_gap(text: str) -> Fraction:
    first, *told, last, _ = sentences(text)
    start, end = numbers(first)[0], numbers(last)[0]

    def final(hidden: Fraction) -> Fraction:
        value = start
        for sentence in told:
            step = event(sentence)
            value = value - hidden if step is None else step(value)
        return value

    assert sum(event(sentence) is None for sentence in told) == 1
    return only(F(n) for n in range(1, 400) if final(F(n)) == end)


def singular(good: str) -> str:
    head, of, rest = good.partition(" of ")
    known = {
        "loaves": "loaf",
        "sandwiches": "sandwich",
        "batteries": "battery",
        "bunches": "bunch",
        "paintbrushes": "paintbrush",
    }
    return (known.get(head) or (head[:-1] if head.endswith("s") and head != "glass" else head)) + of + rest


def basket(text: str) -> Fraction:
    prices = {good: F(price) for good, price in re.findall(r"[Aa] ([\w -]+?) costs \$(\d+(?:\.\d+)?)", text)}
    bought = find(r"\. \w+ buys (.*?)(?:\.| and pays)", text)[0]
    total = F(0)
    for pieces, good in re.findall(r"(\d+) ([\w -]+?)(?:, | and (?=\d)|$)", bought):
        total += int(pieces) * prices[singular(good)]
    return total


def shopping(text: str) -> Fraction:
    return basket(text)


def change(text: str) -> Fraction:
    return F(find(r"pays with a \$(\d+) note", text)[0]) - basket(text)


def discounts(text: str) -> Fraction:
    price = F(find(r"costs \$([\d.]+)\.", text)[0])
    price -= price * F(find(r"reduced by (\d+)%", text)[0]) / 100
    coupon = re.search(r"coupon for \$(\d+)", text)
    tax = re.search(r"tax of (\d+)%", text)
    price -= F(coupon[1]) if coupon else 0
    return price + price * F(tax[1]) / 100 if tax else price


def price_backwards(text: str) -> Fraction:
    now = F(find(r"costs \$([\d.]+)\. How", text)[0])
    moves = re.findall(r"(rose|fell) by (\d+)%", text)

    def after(price: Fraction) -> Fraction:
        for verb, percent in moves:
            price = price + price * int(percent) / 100 if verb == "rose" else price - price * int(percent) / 100
        return price

    return only(F(n * 5) for n in range(1, 201) if after(F(n * 5)) == now)


def how_many(text: str) -> Fraction:
    budget = F(find(r"has \$(\d+)", text)[0])
    _, p, q = find(r"A ([\w -]+?) costs \$([\d.]+) and a [\w -]+ costs \$(\d+(?:\.\d+)?)", text)
    budget -= int(find(r"buys (\d+)", text)[0]) * F(p)
    pieces = 0
    while budget >= F(q):
        budget, pieces = budget - F(q), pieces + 1
    return F(pieces)


def two_baskets(text: str) -> Fraction:
    equations = []
    for paid, a, one, b, two in re.findall(
        r"pays \$([\d.]+) for (\d+) ([\w -]+?) and (\d+) ([\w -]+?)(?: at the same stall)?\.", text
    ):
        names = [good if pieces == "1" else singular(good) for pieces, good in ((a, one), (b, two))]
        equations.append({names[0]: F(a), names[1]: F(b), "": -F(paid)})
    return linear_solution(equations)[find(r"one ([\w -]+) cost\?", text)[0]]


def wages(text: str) -> Fraction:
    rate, normal = fractions(r"earns \$(\d+) an hour for the first (\d+)", text)
    extra, worked = F(find(r"paid (\d+)% more", text)[0]), int(find(r"worked (\d+) hours", text)[0])
    fee = re.search(r"fee of \$(\d+)", text)
    pay = sum((rate if hour < normal else rate + rate * extra / 100 for hour in range(worked)), F(0))
    return pay - (int(fee[1]) if fee else 0)


def taxi(text: str) -> Fraction:
    base, per = fractions(r"charges \$([\d.]+) for any ride and \$([\d.]+) for each", text)
    tip = F(find(r"tip of \$(\d+)", text)[0])
    spent = re.search(r"spends \$([\d.]+) altogether", text)
    if spent is None:
        return base + per * F(find(r"rides (\d+) kilo", text)[0]) + tip
    return only(F(km) for km in range(1, 200) if base + per * km + tip == F(spent[1]))


def break_even(text: str) -> Fraction:
    (a, p), (b, q) = re.findall(r"costs \$(\d+) a month and \$(\d+)", text)
    uses = 0
    while int(b) + int(q) * uses >= int(a) + int(p) * uses:
        uses += 1
    return F(uses)


def savings(text: str) -> Fraction:
    goal, has = (int(n) for n in find(r"for \$(\d+) and has saved \$(\d+)", text))
    earns, spends = (int(n) for n in find(r"earns \$(\d+) and spends \$(\d+)", text))
    weeks = 0
    while has < goal:
        has, weeks = has + earns - spends, weeks + 1
    return F(weeks)


def interest(text: str) -> Fraction:
    principal, rate = fractions(r"invests \$(\d+) at (?:a simple interest of )?(\d+)%", text)
    years = int(find(r"(\d+) years", text)[0])
    value = principal
    for _ in range(years):
        value += (principal if "simple" in text else value) * rate / 100
    return value - principal if "simple" in text else value


def exchange(text: str) -> Fraction:
    rate, has, fee, spent = fractions(r"worth (\d+) .* with \$(\d+), pays a fee of \$(\d+).* spends (\d+) ", text)
    return ((has - fee) * rate - spent) / rate


def profit(text: str) -> Fraction:
    crates, cost, each, bad, price = fractions(
        r"buys (\d+) crates .* \$(\d+) a crate.*There are (\d+) .* throws (\d+) rotten .* for \$([\d.]+) each", text
    )
    return (crates * each - bad) * price - crates * cost


def two_kinds(total: int, p: Fraction, q: Fraction, worth: Fraction) -> tuple[int, int]:
    return only((a, total - a) for a in range(total + 1) if a * p + (total - a) * q == worth)


def tickets(text: str) -> Fraction:
    total, p, q, paid = fractions(r"(\d+) people .* adult pays \$(\d+) and a child pays \$(\d+)\. .* pay \$(\d+)", text)
    adults, children = two_kinds(int(total), p, q, paid)
    return F(adults if "How many adults" in text else children)


def coins(text: str) -> Fraction:
    total, p, q, worth = fractions(
        r"(\d+) coins, each worth either (\d+) or (\d+) cents\..* worth \$([\d.]+\d|\d)\.? ", text
    )
    low, high = two_kinds(int(total), p, q, worth * 100)
    return F(low if F(find(r"How many (\d+)-cent", text)[0]) == p else high)


def rent(text: str) -> Fraction:
    friends, cost = fractions(r"(\d+) friends .* \$(\d+) equally", text)
    more = int(find(r"Then (\d+) ", text)[0])
    others = friends - more if "drop" in text else friends + more
    return abs(cost / friends - cost / others)


def legs(text: str) -> Fraction:
    total = F(0)
    for hours, rest, speed in re.findall(r"takes (?:(\d+) hours?)?(?: and )?(?:(\d+) minutes)? at (\d+) km", text):
        total += (int(hours or 0) + F(int(rest or 0), 60)) * int(speed)
    return total


def average_speed(text: str) -> Fraction:
    if "returns" in text:
        distance, a, b = fractions(r"of (\d+) km at (\d+) km .* at (\d+) km", text)
        return 2 * distance / (distance / a + distance / b)
    a, h, b, k = fractions(r"at (\d+) km per hour for (\d+) hours? and then at (\d+) km per hour for (\d+)", text)
    return (a * h + b * k) / (h + k)


def meeting(text: str) -> Fraction:
    apart = F(find(r"are (\d+) km apart", text)[0])
    begin, a = find(r"At (\d\d:\d\d) \w+ sets out .*? at (\d+) km", text)
    late, b = find(r"At (the same time|\d\d:\d\d) \w+ sets out towards \w+'s house at (\d+) km per hour\. How", text)
    wait = 0 if late == "the same time" else minutes(late) - minutes(begin)
    gone = F(int(a) * wait, 60)
    together = (apart - gone) / F(int(a) + int(b), 60)
    return wait + together if "How many minutes" in text else F(int(a), 60) * (wait + together)


def catching_up(text: str) -> Fraction:
    slow = F(find(r"leaves home at (\d+) km", text)[0])
    ahead, fast = fractions(r"(\d+) minutes later .* at (\d+) km", text)
    return only(F(t) for t in range(1, 1000) if slow * (ahead + t) == fast * t)


def current(text: str) -> Fraction:
    distance, down, up = fractions(r"covers (\d+) km in ([\d.]+) hours, .* takes ([\d.]+) hours", text)
    still, flow = only((s, f) for s in range(1, 60) for f in range(1, s) if distance == down * (s + f) == up * (s - f))
    return F(still if "still water?" in text or "still water," in text else flow)


def together(text: str) -> Fraction:
    hours = [F(h) for h in re.findall(r"can [\w ]+ in (\d+) hours", text)]
    joint = re.search(r"it takes ([\d.]+) hours", text)
    speed = sum(1 / hour for hour in hours)
    return 1 / speed if joint is None else 1 / (1 / F(joint[1].rstrip(".")) - speed)


def two_shifts(text: str) -> Fraction:
    a, b = fractions(r"in (\d+) hours, and .* in (\d+) hours", text)
    alone = F(find(r"alone for (\d+) hour", text)[0])
    return only(F(t, 2) for t in range(1, 200) if (alone + F(t, 2)) / a + F(t, 2) / b == 1)


def tank(text: str) -> Fraction:
    size, held = fractions(r"holds (\d+) litres .* now (\d+) litres", text)
    flow = sum(F(n) for n in re.findall(r"brings (\d+)", text)) - F(find(r"(\d+) litres a minute leave", text)[0])
    return only(F(t) for t in range(1, 1000) if held + flow * t == size)


def machines(text: str) -> Fraction:
    m, pieces, h = fractions(r"(\d+) machines make (\d+) \w+ in (\d+) hours", text)
    each = pieces / m / h
    ask = text.rsplit(". ", 1)[1]
    a, b = numbers(ask)
    return (
        each * a * b
        if ask.startswith("How many") and "such machines make" not in ask.split(" do ")[0] and " are needed" not in ask
        else a / (each * b)
        if "needed" in ask
        else b / (each * a)
    )


def reading(text: str) -> Fraction:
    pages, days, per, more = fractions(
        r"of (\d+) pages.* first (\d+) days \w+ reads (\d+) .* reads (\d+) pages more", text
    )
    day, read = 0, F(0)
    while read < pages:
        read, day = read + (per if day < days else per + more), day + 1
    assert read == pages
    return F(day)


def fuel(text: str) -> Fraction:
    per, distance = F(find(r"needs ([\d.]+) litres", text)[0]), F(find(r"drives (\d+) km", text)[0])
    used = per / 100 * distance
    full = re.search(r"were (\d+) litres", text)
    return F(full[1]) - used if full else used * F(find(r"costs (\d+) cents", text)[0])


def candles(text: str) -> Fraction:
    a, p, b, q = fractions(r"is (\d+) mm long .* by (\d+) mm .* is (\d+) mm long .* by (\d+) mm", text)
    hour = only(t for t in range(1, 60) if a - p * t == b - q * t)
    return F(hour) if "After how many" in text else a - p * hour


def gears(text: str) -> Fraction:
    teeth = [F(n) for n in re.findall(r"has (\d+) teeth", text)]
    turns = F(find(r"turns (\d+) times", text)[0])
    for driver, driven in pairwise(teeth):
        turns = turns * driver / driven
    return turns


def elapsed(text: str) -> str:
    spent = sum(int(n) for n in re.findall(r"for (\d+) minutes", text))
    begin = re.search(r"begins at (\d\d:\d\d)", text)
    return (
        clock(minutes(begin[1]) + spent) if begin else clock(minutes(find(r"finishes at (\d\d:\d\d)", text)[0]) - spent)
    )


def departures(text: str) -> Fraction:
    first, every = find(r"leaves at (\d\d:\d\d), .* every (\d+) minutes", text)
    last = find(r"(?:including|stop at) (\d\d:\d\d)", text)[0]
    times = list(range(minutes(first), 2 * 1440, int(every)))
    if "including" in text:
        return F(sum(t <= minutes(last) for t in times))
    return F(min(t for t in times if t >= minutes(last)) - minutes(last))


def shifts(text: str) -> Fraction | str:
    a, b = (int(n) for n in find(r"every (\d+) minutes and another one every (\d+)", text))
    again = next(t for t in range(1, 10_000) if t % a == 0 and t % b == 0)
    return clock(minutes(find(r"At (\d\d:\d\d)", text)[0]) + again) if "At what time" in text else F(again)


def time_zones(text: str) -> str:
    begin, hours, rest = find(r"at (\d\d:\d\d) local time and flies for (\d+) hours? and (\d+) minutes", text)
    shift, way = find(r"clocks are (\d+) hours? (ahead|behind)", text)
    total = minutes(begin) + 60 * int(hours) + int(rest) + 60 * int(shift) * (1 if way == "ahead" else -1)
    return clock(total % 1440)


def weekday(text: str) -> str:
    today, days = find(r"Today is (\w+), .*? (\d+) days", text)
    step = -1 if "ago" in text else 1
    place = DAYS.index(today)
    for _ in range(int(days)):
        place = (place + step) % 7
    return DAYS[place]


def dates_in(text: str) -> list[date]:
    return [date(int(y), MONTHS[m], int(d)) for d, m, y in re.findall(r"(\d+) ([A-Z]\w+) (\d{4})", text)]


def dates(text: str) -> Fraction:
    begin, end = dates_in(text)
    day, passed = begin, 0
    while day < end:
        day, passed = day + timedelta(1), passed + 1
    return F(passed + ("pages" in text))


def weekday_of_date(text: str) -> str:
    begin, end = dates_in(text)
    known = find(r"is a (\w+)\.", text)[0]
    return DAYS[(DAYS.index(known) + (end - begin).days) % 7]


def age_ratio(text: str) -> Fraction:
    one, k, _ = find(rf"^(\w+) is {TIMES} as old as (\w+)\.", text)
    then = re.search(rf"In (\d+) years \w+ will be {TIMES}", text)
    past = re.search(rf"(\d+) years ago \w+ was {TIMES}", text)
    shift, m = (int(then[1]), factor(then[2])) if then else (-int(past[1]), factor(past[2])) if past else (0, 0)
    old, young = only(
        (factor(k) * y, y) for y in range(1, 100) if factor(k) * y + shift == m * (y + shift) and y + shift > 0
    )
    return F(old if find(r"How old is (\w+) now", text)[0] == one else young)


def age_sum(text: str) -> Fraction:
    one, gap, _ = find(r"^(\w+) is (\d+) years older than (\w+)\.", text)
    then = re.search(r"In (\d+) years their ages will add up to (\d+)", text)
    past = re.search(r"(\d+) years ago their ages added up to (\d+)", text)
    shift, total = (int(then[1]), int(then[2])) if then else (-int(past[1]), int(past[2])) if past else (0, 0)
    a, b = only((y + int(gap), y) for y in range(1, 120) if 2 * y + int(gap) + 2 * shift == total)
    later = re.search(r"How old will (\w+) be in (\d+) years", text)
    who = later[1] if later else find(r"How old is (\w+) now", text)[0]
    return F((a if who == one else b) + (int(later[2]) if later else 0))


def age_three(text: str) -> Fraction:
    one, k, two = find(rf"(\w+) is {TIMES} as old as (\w+)\.", text)
    three, gap, way, four = find(r"(\w+) is (\d+) years (older|younger) than (\w+)\.", text)
    total = int(find(r"The three of them are (\d+)", text)[0])
    ages = linear_solution(
        [
            {one: F(-1), two: F(factor(k))},
            {three: F(-1), four: F(1), "": F(int(gap) if way == "older" else -int(gap))},
            {one: F(1), two: F(1), three: F(1), "": F(-total)},
        ]
    )
    return ages[find(r"How old is (\w+)\?", text)[0]]


def boxes(text: str) -> Fraction:
    children, per, extra, size = fractions(
        r"(\d+) children each bring (\d+) .* brings (\d+)\. .* hold (\d+) each", text
    )
    left, full = int(children * per + extra), 0
    while left > size:
        left, full = left - int(size), full + 1
    return F(left) if "not full" in text else F(full + 1)


def leftovers(text: str) -> Fraction:
    most = int(find(r"fewer than (\d+)", text)[0])
    rows = [(int(a), int(b)) for a, b in re.findall(r"rows of (\d+) there (?:is|are) (\d+)", text)]
    return only(F(n) for n in range(most) if all(n % size == rest for size, rest in rows))


def ratio(text: str) -> Fraction:
    names = re.split(r", | and ", find(r"^(.*?) share", text)[0])
    parts = dict(zip(names, map(int, find(r"ratio ([\d:]+),", text)[0].split(":")), strict=True))
    asked = find(r"does (\w+) get", text)[0]
    more = re.search(r"(\w+) gets (\d+) more than (\w+)\.", text)
    if more:
        unit = F(int(more[2]), parts[more[1]] - parts[more[3]])
    else:
        unit = F(int(find(r"share (\d+) ", text)[0]), sum(parts.values()))
    return unit * parts[asked]


def fractions_of_rest(text: str) -> Fraction:
    left = F(1)
    for top, low in re.findall(r"walks (\d+)/(\d+) of", text):
        left -= left * F(int(top), int(low))
    start = re.search(r"trail of (\d+) km", text)
    return left * int(start[1]) if start else F(find(r"Then (\d+) km", text)[0]) / left


def percent_chain(text: str) -> Fraction:
    value = numbers(text)[0]
    for verb, percent in re.findall(r"(grows|shrinks) by (\d+)%", text):
        value += value * int(percent) / 100 * (1 if verb == "grows" else -1)
    return value


def groups(text: str) -> Fraction:
    total, a, b = (int(n) for n in find(r"of (\d+) people (\d+) .*? and (\d+) ", text))
    none = re.search(r"(\d+) of them do neither", text)
    common = re.search(r"(\d+) of them do both", text)
    both = (
        only(n for n in range(min(a, b) + 1) if a + b - n == total - int(none[1]))
        if none
        else int(common[1])
        if common
        else 0
    )
    ask = text.rsplit(". ", 1)[1]
    if "both" in ask:
        return F(both)
    return F(a - both) if "but do not" in ask else F(total - a - b + both) if "neither" in ask else F(a + b - 2 * both)


def mixture(text: str) -> Fraction:
    if "poured together" in text:
        a, p, b, q = fractions(r"(\d+) ml .*? with (\d+)% \w+ and (\d+) ml .*? with (\d+)%", text)
        return (a * p + b * q) / (a + b)
    a, p, q, strength = fractions(r"To (\d+) ml .*? with (\d+)% .*? with (\d+)% .*? contains ([\d.]+)%", text)
    return only(F(b) for b in range(5, 301, 5) if a * p + b * q == strength * (a + b))


def dilution(text: str) -> Fraction:
    volume, p, q = fractions(r"(\d+) ml .*? of (\d+)%\. .*? is (\d+)%", text)
    return only(F(w) for w in range(1, 5001) if volume * p == q * (volume + w))


def blend(text: str) -> Fraction:
    a, p, b, q = fractions(r"(\d+) kg of \w+ at \$([\d.]+) a kilogram with (\d+) kg of \w+ at \$([\d.]+) a", text)
    return (a * p + b * q) / (a + b)


def recipe(text: str) -> Fraction:
    serves, flour, sugar, guests = fractions(
        r"for (\d+) people needs (\d+) g .* and (\d+) g of sugar.* for (\d+) people", text
    )
    has = re.search(r"has (\d+) g of sugar", text)
    return sugar / serves * guests - int(has[1]) if has else flour / serves * guests / 1000


def units(text: str) -> Fraction:
    sizes = {
        ("kilometres", "metres"): 1000, ("metres", "centimetres"): 100, ("kilograms", "grams"): 1000,
        ("litres", "millilitres"): 1000, ("hours", "minutes"): 60, ("days", "hours"): 24, ("tonnes", "kilograms"): 1000,
    }  # fmt: skip
    whole, large, orders, piece, small = find(r"has (\d+) (\w+) of .* (\d+) orders take (\d+) (\w+) each", text)
    return F(int(whole) * sizes[large, small] - int(orders) * int(piece))


def map_scale(text: str) -> Fraction:
    scale = int(find(r"1:(\d+)", text)[0])
    mm = re.search(r"are (\d+) mm apart", text)
    return F(int(mm[1]) * scale, 1_000_000) if mm else F(find(r"are ([\d.]+) km", text)[0]) * 1_000_000 / scale


def fence(text: str) -> Fraction:
    if "tree" in text:
        length, gap = fractions(r"(\d+) m long, .* every (\d+) m", text)
        return F(len(range(0, int(length) + 1, int(gap))))
    wide, long, gap = (int(n) for n in find(r"(\d+) m wide and (\d+) m long.* every (\d+) m", text))
    posts = {
        (x, y) for x in range(0, wide + 1, gap) for y in range(0, long + 1, gap) if x in (0, wide) or y in (0, long)
    }
    price = re.search(r"post costs \$(\d+)", text)
    return F(len(posts) * (int(price[1]) if price else 1))


def garden(text: str) -> Fraction:
    wide, long = (int(n) for n in find(r"(\d+) m wide and (\d+) m long", text))
    path = re.search(r"path that is (\d+) m", text)
    if path:
        w = int(path[1])
        return F(
            sum(
                not (w <= x < w + wide and w <= y < w + long)
                for x, y in product(range(wide + 2 * w), range(long + 2 * w))
            )
        )
    side = int(find(r"side of (\d+) cm", text)[0])
    spare = re.search(r"(\d+) more tiles", text)
    return F(len(range(0, wide * 100, side)) * len(range(0, long * 100, side)) + (int(spare[1]) if spare else 0))


def rows(text: str) -> Fraction:
    first, step = find(r"has (\d+) seats, and each further row has (\w+) more", text)
    total = sum(int(first) + count(step) * i for i in range(int(find(r"There are (\d+) rows", text)[0])))
    taken = re.search(r"(\d+) seats are taken", text)
    return F(total - (int(taken[1]) if taken else 0))


def stacking(text: str) -> Fraction:
    verb, every = find(r"in a dish (\w+) every (\d+)", text)
    size, by = int(find(r"there are (\d+)\.", text)[0]), {"doubles": 2, "triples": 3, "quadruples": 4}[verb]
    end = re.search(r"are there (\d+)\?", text)
    passed = 0
    if end:
        while size < int(end[1]):
            size, passed = size * by, passed + int(every)
        assert size == int(end[1])
        return F(passed)
    for _ in range(0, int(find(r"after (\d+)", text)[0]), int(every)):
        size *= by
    return F(size)


def heads_and_legs(text: str) -> Fraction:
    has = {"hens": 2, "cows": 4, "spiders": 8, "beetles": 6, "bicycles": 2, "tricycles": 3, "cars": 4, "motorcycles": 2,
           "stools with three legs": 3, "chairs with four legs": 4}  # fmt: skip
    total, one, two = find(r"there are (\d+) (.*) and (.*) altogether", text)
    a, b = two_kinds(int(total), F(has[one]), F(has[two]), F(find(r"They have (\d+)", text)[0]))
    return F(a if find(r"How many (.*) are there\?", text)[0] == one else b)


def average_missing(text: str) -> Fraction:
    scores = numbers(find(r"got (.*?) points", text)[0])
    goal = F(find(r"average of (\d+)", text)[0])
    return only(F(n) for n in range(101) if (sum(scores) + n) / (len(scores) + 1) == goal)


def average_joined(text: str) -> Fraction:
    a, p = fractions(r"average of (\d+) measurements is (\d+)", text)
    b = F(find(r"(\d+) further", text)[0])
    if "What is the average of all" in text:
        q = F(find(r"have an average of (\d+)", text)[0])
        return (a * p + b * q) / (a + b)
    joint = F(find(r"of all is ([\d.]+)\. ", text)[0])
    return (joint * (a + b) - a * p) / b


def consecutive(text: str) -> Fraction:
    word, kind, total = find(r"sum of (\w+) consecutive (\w+) numbers is (\d+)", text)
    size, step = count(word), 1 if kind == "whole" else 2
    run_ = only(
        r
        for first in range(1, 1200)
        if sum(r := range(first, first + step * size, step)) == int(total)
        and (step == 1 or first % 2 == (kind == "odd"))
    )
    return F(run_[0] if "smallest" in text else run_[-1])


def digits(text: str) -> Fraction:
    total = int(find(r"add up to (\d+)", text)[0])
    offset = int(find(r"if you add (\d+)", text)[0])
    if "two-digit" in text:
        by, way = find(r"becomes (\d+) (smaller|larger)", text)
        shift = int(by) if way == "larger" else -int(by)
        return only(
            F(n + offset) for n in range(10, 100) if n // 10 + n % 10 == total and int(str(n)[::-1]) == n + shift
        )
    k = factor(find(TIMES, text)[0])
    by, way = find(r"is (\d+) (less|more) than", text)
    shift = int(by) if way == "more" else -int(by)
    return only(
        F(n + offset)
        for n in range(100, 1000)
        if sum(map(int, str(n))) == total and n // 100 == k * (n % 10) and n // 10 % 10 == n // 100 + shift
    )


def number_riddle(text: str) -> Fraction:
    value = F(find(r"The result is (\d+)", text)[0])
    undo = {
        "adds": lambda x, n: x - n,
        "subtracts": lambda x, n: x + n,
        "multiplies": lambda x, n: x / n,
        "divides": lambda x, n: x * n,
    }
    for verb, n in reversed(re.findall(r"(adds|subtracts|multiplies|divides)[a-z ]* (\d+)", text)):
        value = undo[verb](value, int(n))
    return value


def handshakes(text: str) -> Fraction:
    if "chess club" in text:
        members, rounds = find(r"club of (\d+) members everybody plays (\w+)", text)
        return F(count(rounds) * sum(1 for i in range(int(members)) for _ in range(i)))
    if "league" in text:
        games = int(find(r"makes (\d+) matches", text)[0])
        return only(F(n) for n in range(2, 100) if sum(range(n)) == games)
    if "couples" in text:
        couples, singles = (int(n) for n in find(r"(\d+) couples and (\d+) single", text))
        guests = [(i, side) for i in range(couples) for side in (0, 1)] + [(couples + i, 0) for i in range(singles)]
        return F(sum(a[0] != b[0] for i, a in enumerate(guests) for b in guests[:i]))
    a, b = (int(n) for n in find(r"(\d+) guests shake .* (\d+) more", text))
    return F(sum(range(a + b)))


def outfits(text: str) -> Fraction:
    shirts, trousers, hats, shoes = (
        int(n) for n in find(r"(\d+) shirts, (\d+) pairs of trousers, (\d+) hats and (\d+)", text)
    )
    bad = re.search(r"the (\d+) red .* the (\d+) green", text)
    red, green = (int(bad[1]), int(bad[2])) if bad else (0, 0)
    return F(sum(not (s < red and t < green) for s in range(shirts) for t in range(trousers)) * hats * shoes)


def queue(text: str) -> Fraction:
    front, back = (int(n) for n in find(r"are (\d+) people in front .* and (\d+) people behind", text))
    between = re.search(r"two there are (\d+) people", text)
    if between:
        return F(len(["x"] * front + ["one"] + ["x"] * int(between[1]) + ["two"] + ["x"] * back))
    return F(int(find(r"queue has (\d+)", text)[0]) - front - back - 2)


def quiz(text: str) -> Fraction:
    plus, minus, total, points = fractions(
        r"brings (\d+) points .* costs (\d+)\. .* all (\d+) questions .* with (\d+) points", text
    )
    right, wrong = two_kinds(int(total), plus, -minus, points)
    return F(right if "are right" in text else wrong)


def transfers(text: str) -> Fraction:
    total, moved = (int(n) for n in find(r"hold (\d+) books\. If (\d+) books", text))
    ratio_ = re.search(rf"holds {TIMES} as many", text)
    k = factor(ratio_[1]) if ratio_ else 1
    upper = only(n for n in range(moved, total) if total - n + moved == k * (n - moved))
    return F(upper if "does the upper" in text else total - upper)


SOLVERS: dict[str, Callable[[str], Any]] = {
    solver.__name__: solver
    for solver in (
        comparison, events, events_backwards, events_gap, shopping, change, discounts, price_backwards, how_many,
        two_baskets, wages, taxi, break_even, savings, interest, exchange, profit, tickets, coins, rent, legs,
        average_speed, meeting, catching_up, current, together, two_shifts, tank, machines, reading, fuel, candles,
        gears, elapsed, departures, shifts, time_zones, weekday, dates, weekday_of_date, age_ratio, age_sum, age_three,
        boxes, leftovers, ratio, fractions_of_rest, percent_chain, groups, mixture, dilution, blend, recipe, units,
        map_scale, fence, garden, rows, stacking, heads_and_legs, average_missing, average_joined, consecutive, digits,
        number_riddle, handshakes, outfits, queue, quiz, transfers,
    )
}  # fmt: skip
SOLVERS["comparison_backwards"] = comparison


def solve(row: Any) -> Any:
    text = ASIDE.sub("", row["problem"])
    return SOLVERS[row["kind"]](text)


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_a_second_solver_finds_the_same_answers(level: str, share: float) -> None:
    """The answers of many stories agree with solvers that read nothing but the text."""
    for split, count in (("train", 3300), ("test", 830)):
        env: Any = WordProblemsEnv(level=level, split=split)
        for index in range(int(share * count)):
            row = env.rows[index]
            found = solve(row)
            expected = row["answer"] if isinstance(found, str) else F(row["answer"])
            assert found == expected, row


@pytest.mark.slow
def test_there_are_more_than_forty_kinds() -> None:
    """The kinds that come up are those that have a solver, and there are more than forty."""
    kinds = {WordProblemsEnv(level=level).rows[index]["kind"] for level in KINDS for index in range(1500)}
    assert kinds == set(SOLVERS)
    assert len(kinds) > 40


def test_numbers_are_sensible() -> None:
    """No answer is negative, none has more than two decimals unless it is a quotient of measures, none is huge."""
    env: Any = WordProblemsEnv()
    for index in range(3000):
        answer = env.rows[index]["answer"]
        if re.fullmatch(r"[\d.]+", answer):
            assert 0 <= float(answer) < 10_000_000
            assert len(answer.partition(".")[2]) <= 3, env.rows[index]
        else:
            assert re.fullmatch(r"\d\d:\d\d", answer) or answer in DAYS, answer
