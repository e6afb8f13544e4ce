r"""Machine rewrites: gold answers in the style of MATH, each written anew in many ways, right and wrong.

Nothing of the grader is used. A *dressing* changes how a text looks and never its meaning. A *rewriting* writes a known
value (integers, fractions, surds as pairs of integers, polynomials as coefficients) in another way; for a wrong answer
it writes another value. :func:`dressed` applies the dressings to any gold answer, so also to those of a data set.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import gcd

__all__ = ["DRESSINGS", "REWRITINGS", "dressed", "rewrites"]

Chance = random.Random
Rewriting = Callable[[Chance], "tuple[str, str, str]"]
"""Returns a gold answer, a right answer and a wrong one."""

_FRACTION = re.compile(r"\\[dt]?frac\{(-?\d+)\}\{(\d+)\}")
_TEXT = re.compile(r"\\text\{[^{}]*\}|\\mbox\{[^{}]*\}|[A-Za-z]{3,}(?![a-z]*\{)")


def _plain(text: str) -> bool:
    """Return whether a gold answer is a formula without words."""
    return not _TEXT.search(re.sub(r"\\[a-zA-Z]+", "", text)) and "\\text" not in text and "\\mbox" not in text


def _replaced(text: str, old: str, new: str) -> str | None:
    return text.replace(old, new) if old in text else None


def _spaced(text: str) -> str | None:
    if not _plain(text) or "\\" in text.replace("\\frac", "") or re.search(r"\d,\d|\{,\}|\de-", text):
        return None
    return re.sub(r"([-+=(),])", r" \1 ", text)


def _bare_fraction(text: str) -> str | None:
    found = _FRACTION.fullmatch(text)
    return f"{found[1]}/{found[2]}" if found else None


def _short_fraction(text: str) -> str | None:
    changed = re.sub(r"\\frac\{(\d)\}\{(\d)\}", r"\\frac\1\2", text)
    return changed if changed != text else None


def _grouped(text: str) -> str | None:
    return f"{int(text):,}" if re.fullmatch(r"-?\d{4,15}", text) else None


def _grouped_latex(text: str) -> str | None:
    return f"{int(text):,}".replace(",", "{,}") if re.fullmatch(r"-?\d{4,15}", text) else None


def _grouped_thin(text: str) -> str | None:
    return f"{int(text):,}".replace(",", ",\\!") if re.fullmatch(r"-?\d{4,15}", text) else None


def _is_list(text: str) -> bool:
    """Return whether commas in a text divide answers, rather than digits."""
    return "," in text and not re.search(r"\d,\d{3}|,\\!|\{,\}|,$", text)


def _one_value(text: str) -> bool:
    return _plain(text) and not re.search(r"[=,<>]|\\(?:le|ge|ne|in|pm|cup|begin|infty|approx|text|%)|%", text)


DRESSINGS: dict[str, Callable[[str], str | None]] = {
    "dollars": lambda text: f"${text}$" if "$" not in text else None,
    "display": lambda text: f"\\[ {text} \\]" if "$" not in text else None,
    "round delimiters": lambda text: f"\\( {text} \\)" if "$" not in text else None,
    "a box": lambda text: f"\\boxed{{{text}}}" if "$" not in text else None,
    "a full stop": lambda text: f"{text}." if text[-1] not in ".!" else None,
    "blanks around": lambda text: f"  {text}\n",
    "blanks inside": _spaced,
    "thin spaces": lambda text: text.replace(",", ",\\,") if _is_list(text) else None,
    "quad": lambda text: re.sub(r",\s*", r",\\quad ", text) if _is_list(text) else None,
    "left and right": lambda text: (
        text.replace("(", "\\left(").replace(")", "\\right)") if "(" in text and "\\left" not in text else None
    ),
    "without left": lambda text: (
        text.replace("\\left", "").replace("\\right", "") if "\\left" in text and "." not in text else None
    ),
    "dfrac": lambda text: _replaced(text, "\\frac", "\\dfrac"),
    "tfrac": lambda text: _replaced(text, "\\frac", "\\tfrac"),
    "a fraction with a slash": _bare_fraction,
    "a fraction of digits": _short_fraction,
    "doubled backslashes": lambda text: (
        text.replace("\\", "\\\\") if re.search(r"\\(?:frac|sqrt|pi|text|begin|left|cup)\b", text) else None
    ),
    "a name": lambda text: f"x = {text}" if _one_value(text) and "x" not in text else None,
    "a name in capitals": lambda text: f"AB = {text}" if _one_value(text) else None,
    "a function's name": lambda text: (
        f"f(2) = {text}" if _one_value(text) and "f" not in text.replace("\\f", "") else None
    ),
    "commas": _grouped,
    "commas in braces": _grouped_latex,
    "commas with thin spaces": _grouped_thin,
    "Unicode minus": lambda text: text.replace("-", "−") if "-" in text and _plain(text) else None,
    "Unicode pi": lambda text: re.sub(r"\\pi(?![a-zA-Z])\s?", "π", text) if "\\pi" in text else None,
    "Unicode infinity": lambda text: re.sub(r"\\infty\s?", "∞", text) if "\\infty" in text else None,
    "Unicode union": lambda text: re.sub(r"\\cup\s?", "∪", text) if "\\cup" in text else None,
    "braces around": lambda text: f"{{{text}}}" if _one_value(text) else None,
    "brackets around": lambda text: f"({text})" if _one_value(text) and not text.isalpha() else None,
    "exponents in braces": lambda text: re.sub(r"\^(\w)", r"^{\1}", text) if re.search(r"\^\w", text) else None,
    "degrees in words": lambda text: (
        f"{found[1]} degrees" if (found := re.fullmatch(r"(-?[\d.]+)\^\{?\\circ\}?", text)) else None
    ),
    "display style": lambda text: f"\\displaystyle {text}" if _plain(text) else None,
    "text in bold": lambda text: (
        text.replace("\\text{", "\\textbf{") if text.startswith("\\text{") and text.count("{") == 1 else None
    ),
    "text without a command": lambda text: (
        found[1] if (found := re.fullmatch(r"\\text\{([^{}\\]+)\}", text)) else None
    ),
    "capitals": lambda text: (
        f"\\text{{{found[1].upper()}}}" if (found := re.fullmatch(r"\\text\{([a-z]{2,})\}", text)) else None
    ),
    "brackets of a matrix": lambda text: (
        text.replace("pmatrix", "bmatrix") if "begin{pmatrix}" in text and "\\left" not in text else None
    ),
    "array": lambda text: _as_array(text),
    "array in square brackets": lambda text: (
        None
        if (array := _as_array(text)) is None
        else array.replace("\\left(", "\\left[").replace("\\right)", "\\right]")
    ),
    "blanks in a matrix": lambda text: (
        text.replace("&", " & ").replace("\\\\", " \\\\ ") if "begin{" in text and "matrix" in text else None
    ),
    "dividing sign": lambda text: f"{found[1]} \\div {found[2]}" if (found := _FRACTION.fullmatch(text)) else None,
    "times one": lambda text: f"1 \\cdot {text}" if re.fullmatch(r"\d+", text) else None,
}  # fmt: skip
"""Name → function from a gold answer to the same answer in another dress, or None where it does not apply."""


def _as_array(text: str) -> str | None:
    found = re.fullmatch(r"\\begin\{pmatrix\}(.*)\\end\{pmatrix\}", text, re.DOTALL)
    if not found:
        return None
    columns = "c" * (found[1].split("\\\\")[0].count("&") + 1)
    return f"\\left(\\begin{{array}}{{{columns}}}{found[1]}\\end{{array}}\\right)"


def dressed(gold: str) -> Iterator[tuple[str, str]]:
    """Yield each dressing that applies to a gold answer, with the gold answer in it."""
    for name, dress in DRESSINGS.items():
        answer = dress(gold)
        if answer is not None and answer.strip() != gold.strip():
            yield name, answer


def _latex(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    return str(value) if value.denominator == 1 else f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def _fraction(chance: Chance) -> Fraction:
    while True:
        value = Fraction(chance.randint(-90, 90), chance.randint(2, 60))
        if value.denominator > 1:
            return value


def _surd(chance: Chance) -> tuple[int, int]:
    return chance.randint(2, 12), chance.choice((2, 3, 5, 6, 7, 10, 11, 13))


def _polynomial(coefficients: list[int], variable: str = "x") -> str:
    text = ""
    for power in range(len(coefficients) - 1, -1, -1):
        number = coefficients[power]
        if number:
            letter = "" if not power else variable if power == 1 else f"{variable}^{power}"
            size = "" if abs(number) == 1 and power else str(abs(number))
            text += ("-" if number < 0 else "+" if text else "") + size + letter
    return text or "0"


def _from_roots(one: int, two: int) -> list[int]:
    return [one * two, -one - two, 1]


def _unreduced(chance: Chance) -> tuple[str, str, str]:
    value, factor = _fraction(chance), chance.randint(2, 9)
    return (
        _latex(value), f"\\frac{{{value.numerator * factor}}}{{{value.denominator * factor}}}",
        f"\\frac{{{value.numerator * factor}}}{{{value.denominator * (factor + 1)}}}",
    )  # fmt: skip


def _decimal(chance: Chance) -> tuple[str, str, str]:
    value = Fraction(chance.randint(1, 3999), chance.choice((4, 8, 20, 25, 40, 50, 125)))
    return _latex(value), f"{float(value):.10g}", f"{float(value) + 0.001:.10g}"


def _mixed(chance: Chance) -> tuple[str, str, str]:
    below = chance.randint(3, 30)
    whole, above = chance.randint(1, 20), chance.choice([n for n in range(1, below) if gcd(n, below) == 1])
    gold = f"\\frac{{{whole * below + above}}}{{{below}}}"
    space = chance.choice(("", " ", "\\,"))
    return gold, f"{whole}{space}\\frac{{{above}}}{{{below}}}", f"{whole + 1}{space}\\frac{{{above}}}{{{below}}}"


def _surd_whole(chance: Chance) -> tuple[str, str, str]:
    factor, inside = _surd(chance)
    return f"{factor}\\sqrt{{{inside}}}", f"\\sqrt{{{factor * factor * inside}}}", f"\\sqrt{{{factor * inside}}}"


def _surd_below(chance: Chance) -> tuple[str, str, str]:
    factor, inside = _surd(chance)
    gold = f"\\frac{{{factor}\\sqrt{{{inside}}}}}{{{inside}}}"
    return gold, f"\\frac{{{factor}}}{{\\sqrt{{{inside}}}}}", f"\\frac{{{factor}}}{{\\sqrt{{{inside + 1}}}}}"


def _surd_power(chance: Chance) -> tuple[str, str, str]:
    factor, inside = _surd(chance)
    return f"{factor}\\sqrt{{{inside}}}", f"{factor} \\cdot {inside}^{{1/2}}", f"{factor} \\cdot {inside}^{{1/3}}"


def _surd_sum(chance: Chance) -> tuple[str, str, str]:
    factor, inside = _surd(chance)
    whole = chance.randint(1, 20)
    gold = f"{whole}+{factor}\\sqrt{{{inside}}}"
    return gold, f"{factor}\\sqrt{{{inside}}} + {whole}", f"{whole}\\sqrt{{{inside}}} + {factor + (whole == factor)}"


def _conjugate(chance: Chance) -> tuple[str, str, str]:
    root = chance.choice((2, 3, 5, 6, 7))
    whole = chance.randint(3, 9)
    below = whole * whole - root
    gold = f"\\frac{{{whole}-\\sqrt{{{root}}}}}{{{below}}}"
    return gold, f"\\frac{{1}}{{{whole}+\\sqrt{{{root}}}}}", f"\\frac{{1}}{{{whole}-\\sqrt{{{root}}}}}"


def _of_pi(chance: Chance) -> tuple[str, str, str]:
    above, below = chance.randint(2, 40), chance.randint(3, 19)
    gold = f"\\frac{{{above}\\pi}}{{{below}}}"
    return gold, f"\\frac{{{above}}}{{{below}}}\\pi", f"\\frac{{{above}}}{{{below}\\pi}}"


def _plain_pi(chance: Chance) -> tuple[str, str, str]:
    above, below = chance.randint(2, 40), chance.randint(3, 19)
    return f"\\frac{{{above}\\pi}}{{{below}}}", f"{above}*pi/{below}", f"{above}*pi^2/{below}"


def _powers(chance: Chance) -> tuple[str, str, str]:
    base, power = chance.choice((2, 3, 5)), chance.randint(3, 12)
    return f"{base**power}", f"{base}^{{{power}}}", f"{base}^{{{power + 1}}}"


def _huge_power(chance: Chance) -> tuple[str, str, str]:
    base, power = chance.choice((2, 3, 5, 7)), chance.randint(800, 2100)
    return f"{base}^{{{power}}}", f"{base} \\cdot {base}^{{{power - 1}}}", f"{base}^{{{power - 1}}}"


def _factorial(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(20, 2100)
    gold = f"\\frac{{1}}{{{number}!}}"
    return gold, f"1/({number}!)", f"\\dfrac{{1}}{{{number + 1}!}}"


def _scientific(chance: Chance) -> tuple[str, str, str]:
    digits, power = chance.randint(11, 99), chance.randint(3, 9)
    return str(digits * 10**power), f"{digits / 10} \\times 10^{{{power + 1}}}", f"{digits / 10} \\times 10^{{{power}}}"


def _terms(chance: Chance) -> tuple[str, str, str]:
    coefficients = [chance.choice([n for n in range(-9, 10) if n]) for _ in range(4)]
    pieces = [_polynomial([0] * power + [number]) for power, number in enumerate(coefficients)]
    answer = "+".join(pieces).replace("+-", "-")
    other = [*coefficients[:2], coefficients[2] + 1, coefficients[3]]
    return _polynomial(coefficients), answer, _polynomial(other)


def _roots(chance: Chance) -> tuple[str, str, str]:
    one, two = chance.randint(1, 9), chance.randint(1, 9)
    gold = _polynomial(_from_roots(one, two))
    return gold, f"(x-{one})(x-{two})", f"(x-{one})(x+{two})"


def _starred(chance: Chance) -> tuple[str, str, str]:
    coefficients = [chance.choice([n for n in range(-9, 10) if n]) for _ in range(3)]
    gold = _polynomial(coefficients)
    answer = f"{coefficients[2]}*x**2 + {coefficients[1]}*x + {coefficients[0]}".replace("+ -", "- ")
    return gold, answer, answer.replace("x**2", "x**3")


def _factor_order(chance: Chance) -> tuple[str, str, str]:
    a, b, c = chance.sample("abdkpqxyz", 3)
    number = chance.randint(2, 9)
    return f"{number}{a}{b}^2{c}", f"{number} {c} {a} {b}^{{2}}", f"{number}{a}{b}{c}^2"


def _sums_of_letters(chance: Chance) -> tuple[str, str, str]:
    a, b, c = chance.sample("abcdef", 3)
    gold = f"\\frac{{{a}{b}{c}}}{{{a}{b}+{b}{c}+{c}{a}}}"
    return gold, f"S = \\dfrac{{{c}{b}{a}}}{{{c}{b} + {a}{b} + {a}{c}}}", f"\\frac{{{a}{b}{c}}}{{{a}{b}+{b}{c}+{c}}}"


def _two(chance: Chance) -> tuple[int, int]:
    one, two = chance.sample(range(-20, 21), 2)
    return one, two


def _point_equation(chance: Chance) -> tuple[str, str, str]:
    one, two = _two(chance)
    return f"({one},{two})", f"(x, y) = ({one}, {two})", f"(x, y) = ({two}, {one})"


def _point_names(chance: Chance) -> tuple[str, str, str]:
    one, two = _two(chance)
    joint = chance.choice((", ", ",\\ ", " \\text{ and } ", ",\\quad "))
    return f"({one},{two})", f"x = {one}{joint}y = {two}", f"x = {two}{joint}y = {one}"


def _point_brackets(chance: Chance) -> tuple[str, str, str]:
    one, two = _two(chance)
    return f"({one},{two})", f"\\left( {one}, \\; {two} \\right)", f"\\left\\{{ {one}, {two} \\right\\}}"


def _list(chance: Chance) -> tuple[str, str, str]:
    numbers = chance.sample(range(-30, 31), 3)
    other = chance.sample(numbers, 3)
    joined = f"{other[0]}, {other[1]}, {chance.choice(('and ', chr(92) + 'text{ and } ', ''))}{other[2]}"
    return ",".join(map(str, numbers)), joined, ", ".join(map(str, [*numbers[:2], numbers[2] + 1]))


def _set(chance: Chance) -> tuple[str, str, str]:
    numbers = chance.sample(range(-30, 31), 3)
    braces = "\\{" + ", ".join(map(str, numbers[::-1])) + "\\}"
    return ",".join(map(str, numbers)), braces, braces.replace(str(numbers[0]), str(numbers[0] + 61))


def _plus_minus(chance: Chance) -> tuple[str, str, str]:
    size = chance.randint(2, 50)
    return f"{size},-{size}", f"x = \\pm {size}", f"x = \\pm {size + 1}"


def _solutions(chance: Chance) -> tuple[str, str, str]:
    one, two = _two(chance)
    return (
        f"{one},{two}",
        f"x = {two} \\text{{ or }} x = {one}",
        f"x = {two} \\text{{ or }} x = {one + 1 + (one + 1 == two)}",
    )


def _interval(chance: Chance) -> tuple[str, str, str]:
    one, two = sorted(_two(chance))
    return f"[{one},{two})", f"{one} \\le x < {two}", f"{one} < x \\leq {two}"


def _ray(chance: Chance) -> tuple[str, str, str]:
    end = chance.randint(-20, 20)
    return f"({end},\\infty)", f"x > {end}", f"x \\geq {end}"


def _builder(chance: Chance) -> tuple[str, str, str]:
    one, two = sorted(_two(chance))
    sign = chance.choice(("|", "\\mid", ":"))
    domain = chance.choice(("x", "x \\in \\mathbb{R}"))
    answer = f"\\{{ {domain} {sign} {one} < x < {two} \\}}"
    return f"({one},{two})", answer, answer.replace("<", "\\le")


def _outside(chance: Chance) -> tuple[str, str, str]:
    size, middle = chance.randint(1, 9), chance.randint(1, 9)
    gold = f"(-\\infty,{middle - size}) \\cup ({middle + size},\\infty)"
    return gold, f"|x-{middle}| > {size}", f"|x-{middle}| < {size}"


def _either(chance: Chance) -> tuple[str, str, str]:
    one, two = sorted(_two(chance))
    gold = f"(-\\infty,{one}] \\cup [{two},\\infty)"
    return gold, f"x \\le {one} \\text{{ or }} x \\ge {two}", f"x \\le {one} \\text{{ or }} x > {two}"


def _union_order(chance: Chance) -> tuple[str, str, str]:
    a, b, c, d = sorted(chance.sample(range(-20, 21), 4))
    return f"({a},{b}) \\cup ({c},{d})", f"x \\in ({c}, {d}) \\cup ({a}, {b})", f"({a},{c}) \\cup ({b},{d})"


def _linear(chance: Chance) -> tuple[str, str, str]:
    slope, start = chance.choice((2, 3, 4, 5, -2, -3)), chance.randint(1, 9)
    gold = f"y={slope}x+{start}"
    return gold, f"{slope}x - y + {start} = 0".replace("+ -", "- "), f"{slope}x + y + {start} = 0"


def _matrix(chance: Chance) -> tuple[str, str, str]:
    rows = [[chance.randint(-9, 9) for _ in range(2)] for _ in range(2)]
    inner = "\\\\".join("&".join(map(str, row)) for row in rows)
    turned = "\\\\".join("&".join(map(str, row)) for row in [rows[0], [rows[1][0], rows[1][1] + 1]])
    gold = f"\\begin{{pmatrix}}{inner}\\end{{pmatrix}}"
    wide = inner.replace("&", " & ").replace("\\\\", " \\\\ ")
    return gold, f"\\left[\\begin{{array}}{{cc}} {wide} \\end{{array}}\\right]", gold.replace(inner, turned)


def _matrix_scaled(chance: Chance) -> tuple[str, str, str]:
    below = chance.randint(2, 7)
    numbers = [chance.choice([n for n in range(-9, 10) if n]) for _ in range(2)]
    gold = f"\\begin{{pmatrix}}\\frac{{{numbers[0]}}}{{{below}}}\\\\\\frac{{{numbers[1]}}}{{{below}}}\\end{{pmatrix}}"
    column = f"\\begin{{bmatrix}} {numbers[0]} \\\\ {numbers[1]} \\end{{bmatrix}}"
    return gold, f"\\frac{{1}}{{{below}}} {column}", column


def _complex(chance: Chance) -> tuple[str, str, str]:
    real, size = chance.randint(1, 20), chance.randint(2, 20)
    return f"{real}-{size}i", f"-{size}i + {real}", f"{real}+{size}i"


def _percent(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(2, 99)
    return f"{number}\\%", chance.choice((f"{number}", f"{number}%", f"{number} percent")), f"{number + 1}\\%"


def _unit(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(2, 500)
    unit, short, other = chance.choice((("inches", "in", "feet"), ("cm", "cm", "km"), ("meters", "m", "seconds")))
    answer = chance.choice(
        (f"{number}", f"{number} {short}", f"{number}\\mathrm{{~{short}}}", f"{number} \\text{{ {unit}}}")
    )
    return f"{number}\\text{{ {unit}}}", answer, f"{number} {other}"


def _square_unit(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(2, 500)
    return f"{number}\\text{{ cm}}^2", f"{number} \\text{{ square centimeters}}", f"{number}\\text{{ cm}}^3"


def _dollars(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(1000, 9999)
    return f"\\${number:,}", chance.choice((f"{number}", f"{number} dollars", f"\\${number}.00")), f"\\${number + 100}"


def _degrees(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(-180, 180)
    return (
        f"{number}^\\circ",
        chance.choice((f"{number}", f"{number}°", f"{number} \\text{{ degrees}}")),
        f"{number + 5}",
    )


def _approximation(chance: Chance) -> tuple[str, str, str]:
    value = abs(_fraction(chance))
    text = _latex(value)
    return text, f"{text} \\approx {float(value):.3f}", f"{text} \\approx {float(value) * 1.5 + 1:.3f}"


def _computation(chance: Chance) -> tuple[str, str, str]:
    one, two = chance.randint(2, 40), chance.randint(2, 40)
    return str(one * two), f"{one} \\cdot {two} = {one * two}", f"{one} \\cdot {two} = {one * two + 1}"


def _logarithm(chance: Chance) -> tuple[str, str, str]:
    base, power = chance.choice((2, 3, 5)), chance.randint(2, 6)
    return f"{power}", f"\\log_{{{base}}} {base**power}", f"\\log_{{{base}}} {base ** (power + 1)}"


def _exponential(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(2, 20)
    return f"\\frac{{{number}}}{{e}}", f"{number}\\mathrm{{e}}^{{-1}}", f"{number}\\mathrm{{e}}"


def _identity(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(2, 12)
    return f"{number}\\sin 2x", f"{2 * number}\\sin x\\cos x", f"{number}\\sin x\\cos x"


def _choice(chance: Chance) -> tuple[str, str, str]:
    letter, other = chance.sample("ABCDE", 2)
    style = chance.choice(("({})", "{}.", "\\textbf{{({})}}", "\\text{{{}}}", "({}) 5", "{}) 12"))
    return letter, style.format(letter), style.format(other)


def _words(chance: Chance) -> tuple[str, str, str]:
    word, other = chance.sample(
        ("even", "odd", "Tuesday", "Navin", "hyperbola", "ellipse", "yes", "infinitely many"), 2
    )
    return f"\\text{{{word}}}", chance.choice((word, word.upper(), f"\\textbf{{{word}}}", f"{word}.")), other


def _number_words(chance: Chance) -> tuple[str, str, str]:
    names = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
        "thirteen", "fourteen", "fifteen",
    ]  # fmt: skip
    number = chance.randint(0, 14)
    return str(number), chance.choice((names[number], f"\\text{{{names[number]}}}")), names[number + 1]


def _congruence(chance: Chance) -> tuple[str, str, str]:
    modulus = chance.randint(5, 30)
    rest = chance.randint(0, modulus - 1)
    return f"x \\equiv {rest} \\pmod{{{modulus}}}", f"{rest + modulus} \\pmod{{{modulus}}}", str(rest)


def _no_unit(chance: Chance) -> tuple[str, str, str]:
    number = chance.randint(2, 60)
    word = chance.choice(
        ("tenths", "factorial", "squared", "halves", "four", "lakh", "million", "percentage points less")
    )
    return str(number), f"{number} \\text{{ units}}", f"{number} {word}"


REWRITINGS: dict[str, Rewriting] = {
    "not reduced": _unreduced, "decimal": _decimal, "mixed number": _mixed, "whole radicand": _surd_whole,
    "root below": _surd_below, "power one half": _surd_power, "terms of a surd": _surd_sum, "conjugate": _conjugate,
    "pi behind": _of_pi, "plain pi": _plain_pi, "power": _powers, "huge power": _huge_power, "factorial": _factorial,
    "scientific notation": _scientific, "order of terms": _terms, "factored": _roots, "program notation": _starred,
    "order of factors": _factor_order, "letters": _sums_of_letters, "named tuple": _point_equation,
    "point by names": _point_names, "brackets of a point": _point_brackets, "order of a list": _list, "set": _set,
    "plus or minus": _plus_minus, "solutions": _solutions, "inequality": _interval, "ray": _ray,
    "set builder": _builder, "distance": _outside, "either or": _either, "order of a union": _union_order,
    "line": _linear, "matrix": _matrix, "scaled matrix": _matrix_scaled, "complex": _complex, "percent": _percent,
    "unit": _unit, "square unit": _square_unit, "dollars": _dollars, "degrees": _degrees,
    "approximation": _approximation, "computation": _computation, "logarithm": _logarithm, "exponential": _exponential,
    "identity": _identity, "choice": _choice, "words": _words, "number in words": _number_words,
    "congruence": _congruence, "word behind a number": _no_unit,
}  # fmt: skip
"""Name → function that draws a gold answer, a right answer in another notation and a wrong one."""


def rewrites(seed: int, each: int) -> Iterator[tuple[str, bool, str, str]]:
    """Yield kind, label, gold answer and answer: of each rewriting, and of each dressing of its gold answers."""
    chance = random.Random(seed)
    seen: dict[str, int] = {}
    for name, rewrite in REWRITINGS.items():
        for _ in range(each):
            gold, right, wrong = rewrite(chance)
            yield name, True, gold, right
            yield name, False, gold, wrong
            for dressing, answer in dressed(gold):
                if seen.get(dressing, 0) < 2 * each:
                    seen[dressing] = seen.get(dressing, 0) + 1
                    yield f"in {dressing}", True, gold, answer
