r"""From tokens to a formula: recursive descent, with the habits of mathematical writing.

``2x`` is a product, ``1\frac12`` and ``1 1/2`` are mixed numbers, ``1 2`` is an error, ``\frac12`` takes one digit for
each part, ``\sin 2x`` takes the product after it, ``2^10`` takes both digits.
"""

from __future__ import annotations

from fractions import Fraction

from gem_envs_math.grader.algebra import Node, quotient, written
from gem_envs_math.grader.limits import DEPTH, NotMathError, TooMuchError, UnknownNotationError
from gem_envs_math.grader.scan import Token
from gem_envs_math.grader.units import NUMBER_WORDS

__all__ = ["DEGREE", "END", "FormulaParser"]

END = Token("end", "", False, "")
DEGREE = ("v", "°")
_CLOSING = {"(": ")", "[": "]", "{": "}", "lfloor": "rfloor", "lceil": "rceil"}
_CONSTANTS = frozenset({"pi", "e", "i"})
_STARTS = frozenset({"num", "sym", "fn", "(", "[", "{", "frac", "sqrt", "binom", "lfloor", "lceil"})


class FormulaParser:
    """Reads formulas off a list of tokens, from ``position`` on."""

    def __init__(self, tokens: list[Token], position: int = 0, end: int | None = None) -> None:
        self._tokens = tokens
        self._end = len(tokens) if end is None else end
        self.position = position
        self._depth = 0
        self.expects_bars = 0
        self._power_end = -1

    @property
    def next(self) -> Token:
        """The next token."""
        return self._tokens[self.position] if self.position < self._end else END

    @property
    def after_next(self) -> Token:
        """The one after it."""
        return self._tokens[self.position + 1] if self.position + 1 < self._end else END

    def whole(self) -> Node:
        """Read a formula that extends to the last token.

        Raises:
            NotMathError: if there is no such formula.
        """
        node = self.sum()
        if self.next is not END:
            raise NotMathError(self.next.raw)
        return node

    def sum(self) -> Node:
        """Read a sum up to its last term."""
        self._enter()
        node: Node | None = None
        while True:
            sign = self.next.kind
            several = {sign, self.after_next.kind} <= {"+", "-"}
            if sign in ("+", "-"):
                sign = "-" if self._signs() else "+"
            elif node is not None:
                break
            else:
                sign = "+"
            term = self._product()
            if node is None and several and term[0] == "n" and self.next is END:
                raise NotMathError("several signs of one number")  # "--5" may be a slip
            term = ("neg", term) if sign == "-" else term
            node = term if node is None else ("+", node, term)
        self._depth -= 1
        return node

    def _signs(self) -> bool:
        """Read the signs before a term or a factor, as in ``2 - -3``; return whether they make it negative."""
        negative = False
        while self.next.kind in ("-", "+"):
            negative ^= self._take().kind == "-"
        return negative

    def _product(self) -> Node:
        node = self._factor()
        while True:
            kind = self.next.kind
            if kind in ("*", "/"):
                self._take()
                negative = self._signs()
                factor = self._factor()
                node = (kind, node, ("neg", factor) if negative else factor)
            elif kind in _STARTS:
                if kind == "num" and self._before().kind not in (")", "]", "}", "!") and not self._after_power():
                    raise NotMathError("two numbers in a row")
                node = ("*", node, self._factor())
            elif kind == "|" and not self.expects_bars:
                node = ("*", node, self._factor())
            elif kind == "%":  # of everything before it: "100/3%"
                self._take()
                node = ("/", node, ("n", Fraction(100)))
            else:
                return node

    def _factor(self) -> Node:
        node = self._base()
        while True:
            kind = self.next.kind
            if kind == "^":
                self._take()
                if self._takes_circle():
                    node = ("*", node, DEGREE)
                    continue
                if self.next.kind in ("'", "prime"):
                    raise UnknownNotationError("'")
                exponent = self._exponent()
                self._power_end = self.position
                inverse = node[0] == "v" and exponent == ("neg", ("n", Fraction(1)))
                node = (inverse and self._application(f"{node[1]}^-1")) or ("^", node, exponent)
                if node[0] == "^" and node[1][0] == "v" and self.next.kind == "_":  # "x^{2}_{1}"
                    node = ("^", self._symbol(node[1][1]), exponent)
                node = _chosen(node) or node
            elif kind in ("circ", "degree"):
                if kind == "circ" and node[0] == "v":
                    raise UnknownNotationError("a composition")  # of functions
                self._take()
                node = ("*", node, DEGREE)
            elif kind == "!":
                self._take()
                if self.next.kind == "!":
                    raise NotMathError("!!")
                node = ("f", "factorial", node)
            else:
                return node

    def _after_power(self) -> bool:
        """Return whether a number begins a factor, as in "2^6 3^5"."""
        return self._power_end == self.position and self.next.space

    def _takes_circle(self) -> bool:
        for kinds in (("circ",), ("{", "circ", "}"), ("degree",)):
            if [token.kind for token in self._tokens[self.position : self.position + len(kinds)]] == list(kinds):
                self.position += len(kinds)
                return True
        return False

    def _exponent(self) -> Node:
        self._enter()
        negative = self._signs()
        # A letter alone: what follows in brackets is the argument of the function below, as in "sin^n(x)".
        node = self._symbol(str(self._take().value)) if self.next.kind == "sym" else self._base()
        if self.next.kind == "^":
            self._take()
            node = ("^", node, self._exponent())
        if self.next.kind == "!":
            self._take()
            node = ("f", "factorial", node)
        self._depth -= 1
        return ("neg", node) if negative else node

    def _base(self) -> Node:
        token = self.next
        kind = token.kind
        if kind == "num":
            return self._number()
        if kind == "sym":
            self._take()
            node = self._symbol(str(token.value))
            return self._application(node[1]) or node
        if kind in ("(", "[", "{", "lfloor", "lceil"):
            self._take()
            node = self._inside(_CLOSING[kind])
            return ("f", "floor" if kind == "lfloor" else "ceil", node) if kind in ("lfloor", "lceil") else node
        if kind == "|":
            self._take()
            self.expects_bars += 1
            node = self.sum()
            self.expects_bars -= 1
            self._expect("|")
            return ("f", "abs", node)
        if kind == "frac":
            self._take()
            return ("/", self._argument(), self._argument())
        if kind == "binom":
            self._take()
            return ("f", "binom", self._argument(), self._argument())
        if kind == "sqrt":
            return self._root()
        if kind == "fn":
            return self._function()
        if kind == "mathbb":
            raise UnknownNotationError(token.raw)
        raise NotMathError(token.raw or "the end")

    def _number(self) -> Node:
        token = self._take()
        value = token.value
        assert isinstance(value, Fraction)
        if self.next.kind == "_":  # digits of another base are not a number in this one
            self._take()
            index = self._index().strip("()")
            return ("v", f"{token.raw}_{NUMBER_WORDS.get(index.lower(), index)}")
        if self.next.raw.lower() == "base" and self.after_next.kind == "num":
            self._take()
            return ("v", f"{token.raw}_{self._take().raw}")
        if token.raw.isdigit():
            part = self._fraction_behind()
            if part is not None:
                return ("n", value + part)
        return ("n", value)

    def _fraction_behind(self) -> Fraction | None:
        """Read the fraction of a mixed number, if one follows."""
        tokens, start = self._tokens, self.position
        if self.next.kind == "frac":
            reader = FormulaParser(tokens, start + 1, self._end)
            try:
                above, below = reader._argument(), reader._argument()
            except NotMathError:
                return None
            end = reader.position
        elif self.next.kind == "num" and self.next.space and self.after_next.kind == "/" and start + 2 < self._end:
            above, below = ("n", tokens[start].value), ("n", tokens[start + 2].value)
            if tokens[start + 2].kind != "num":
                return None
            end = start + 3
        else:
            return None
        if above[0] != "n" or below[0] != "n" or not above[1] < below[1]:
            return None
        if above[1].denominator != 1 or below[1].denominator != 1 or above[1] <= 0:
            return None
        if end < self._end and tokens[end].kind == "^":
            return None
        self.position = end
        return Fraction(above[1], below[1])

    def _symbol(self, name: str) -> Node:
        if self.next.kind == "_":
            self._take()
            return ("v", f"{name}_{self._index()}")
        if self.next.kind in ("'", "prime"):
            raise UnknownNotationError("'")
        if self.next.kind == "num" and not self.next.space and self.next.raw.isdigit():  # "x1"
            return ("v", f"{name}_{self._take().raw}")
        return ("v", name)

    def _application(self, name: str) -> Node | None:
        """Read the argument of a function without a definition; None if the brackets behind a letter are a factor.

        They hold an argument if that is a number or a letter alone, as in ``P(2)`` and ``y(x)``: a product is not
        written so. Behind f they always do. ``n(n + 1)`` and ``h(a + b)`` are products.
        """
        if name in _CONSTANTS or self.next.kind not in ("(", "["):
            return None
        start = self.position
        self._take()
        sign = "-" if self.next.kind == "-" and self._take() else ""
        bare = self.next.kind in ("num", "sym") and self.after_next.kind == _CLOSING[self._tokens[start].kind]
        if bare:
            token = self._take()
            self._take()
            return ("v", f"{name}({sign}{token.value})")
        self.position = start
        if name[:1] != "f" or (len(name) > 1 and name[1] not in "_^"):
            return None
        self._take()
        argument = self._inside(_CLOSING[self._tokens[start].kind])
        return ("v", f"{name}({written(quotient(argument))})")

    def _index(self) -> str:
        token = self._take()
        if token.kind in ("num", "sym", "word", "fn"):
            return token.raw.removeprefix("\\")
        if token.kind != "{":
            raise NotMathError(token.raw)
        start = self.position
        while self.next.kind not in ("}", "end"):
            self._take()
        inner = self._tokens[start : self.position]
        self._expect("}")
        if any(part.kind == "+" for part in inner):  # "a_{n+k}" is "a_{k+n}"
            try:
                return written(quotient(FormulaParser(inner).whole()))
            except NotMathError:
                pass
        return "".join(part.raw.removeprefix("\\") for part in inner)

    def _argument(self) -> Node:
        """Read the argument of a command: a group, or a single digit or letter."""
        token = self.next
        if token.kind == "{":
            self._take()
            return self._inside("}")
        if token.kind == "num" and token.raw.isdigit():
            if len(token.raw) == 1:
                self._take()
                return ("n", token.value)
            first, rest = token.raw[0], token.raw[1:]
            self._tokens = list(self._tokens)
            self._tokens[self.position] = Token("num", Fraction(int(rest)), False, rest)
            return ("n", Fraction(int(first)))
        if token.kind == "sym":
            self._take()
            return ("v", str(token.value))
        if token.kind in ("frac", "sqrt", "binom"):
            return self._base()
        raise NotMathError(token.raw)

    def _root(self) -> Node:
        token = self._take()
        degree: Node = ("n", Fraction(2))
        if self.next.kind == "[":
            self._take()
            degree = self._inside("]")
        plain = not token.raw.startswith("\\")
        self._enter()
        if self.next.kind == "(" or plain:
            argument = self._base()
        elif self.next.kind == "num":
            # The original text may be "√12": whole numbers belong below the root, as people write it.
            argument = ("n", self._take().value)
        else:
            argument = self._argument()
        self._depth -= 1
        return ("^", argument, ("/", ("n", Fraction(1)), degree))

    def _function(self) -> Node:
        name = str(self._take().value)
        self._enter()
        power: Node | None = None
        base: Node | None = None
        while self.next.kind in ("^", "_"):
            if self._take().kind == "^":
                power = self._exponent()
            else:
                base = self._argument() if self.next.kind != "num" else ("n", self._take().value)
        if self.next.kind == "(":
            self._take()
            arguments = self._arguments()
        elif name in ("gcd", "lcm", "max", "min"):
            raise UnknownNotationError(name)
        else:
            arguments = [self._function_argument()]
        self._depth -= 1
        node = _applied(name, arguments, base)
        if power is None:
            return node
        if power == ("neg", ("n", Fraction(1))):
            inverse = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "sinh": "arcsinh", "cosh": "arccosh"}
            if name not in inverse:
                raise UnknownNotationError(name)
            return ("f", inverse[name], *arguments)
        return ("^", node, power)

    def _function_argument(self) -> Node:
        """Read the product after a function's name, up to the next function."""
        negative = self.next.kind == "-" and bool(self._take())
        node = self._factor()
        while self.next.kind in ("num", "sym", "frac", "sqrt", "{", "*", "/"):
            if self.next.kind in ("*", "/"):
                if self.after_next.kind == "fn" or self.next.kind == "*":
                    break
                self._take()
                node = ("/", node, self._factor())
            else:
                node = ("*", node, self._factor())
        return ("neg", node) if negative else node

    def _arguments(self) -> list[Node]:
        arguments = [self.sum()]
        while self.next.kind == ",":
            self._take()
            arguments.append(self.sum())
        self._expect(")")
        return arguments

    def _inside(self, closing: str) -> Node:
        bars, self.expects_bars = self.expects_bars, 0
        node = self.sum()
        self.expects_bars = bars
        self._expect(closing)
        return node

    def _before(self) -> Token:
        return self._tokens[self.position - 1]

    def _take(self) -> Token:
        token = self.next
        self.position += 1
        return token

    def _expect(self, kind: str) -> None:
        if self._take().kind != kind:
            raise NotMathError(f"no {kind}")

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEPTH:
            raise TooMuchError("too many levels")


def _chosen(node: Node) -> Node | None:
    """Return the number of combinations ``C_5^2`` or of arrangements ``A_5^2``; None if a power is something else."""
    if node[0] != "^" or node[1][0] != "v" or node[2][0] != "n":
        return None
    letter, _, index = node[1][1].partition("_")
    if letter not in ("A", "C", "P") or not index.isdecimal() or not 0 <= node[2][1] <= int(index):
        return None
    return _applied("binom" if letter == "C" else "npr", [("n", Fraction(int(index))), node[2]], None)


def _applied(name: str, arguments: list[Node], base: Node | None) -> Node:
    if name in ("log", "lg"):
        if base is None and len(arguments) == 2:  # "log(8, 2)"
            return ("f", "log", arguments[1], arguments[0])
        # Without a base it may be the decimal or the natural logarithm; the comparison treats it as
        # a function of its own.
        if base is None:
            return ("f", "log10", *arguments)
        return ("f", "log", base, *arguments)
    if base is not None:
        raise UnknownNotationError(name)
    if name == "exp":
        return ("^", ("v", "e"), *arguments)
    if name in ("gcd", "lcm", "max", "min"):
        return ("f", name, *arguments)
    if len(arguments) != (2 if name in ("binom", "npr", "fraction") else 1):
        raise UnknownNotationError(name)
    if name == "fraction":
        return ("/", arguments[0], arguments[1])
    if name == "npr":
        rest = ("+", arguments[0], ("neg", arguments[1]))
        return ("/", ("f", "factorial", arguments[0]), ("f", "factorial", rest))
    return ("f", name, *arguments)
