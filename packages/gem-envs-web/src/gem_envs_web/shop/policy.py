"""The reference policy of the generated shop, and the wish as it reads it from an instruction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gem.core import Info
from gem.policies import Policy
from gem_envs_web.shop.goods import GoodsType, goods

__all__ = ["ShopPolicy", "ShopWish", "read_wish"]

_SEPARATOR = " [SEP] "
_ASIN = re.compile(r"B0[0-9A-Z]{8}")
_LIMIT = re.compile(r"\$(\d+\.\d\d)|(\d+\.\d\d) dollars")
_TURNS = re.compile(r"^Turn (\d+) of (\d+)\.", re.MULTILINE)
_LAST_PAGE, _PAGES_OF_A_QUERY = 5, 2
_MANY = 1000


class ShopWish(NamedTuple):
    """What an instruction asks for."""

    type: GoodsType
    attributes: tuple[str, ...]
    options: Mapping[str, str]
    price_upper: float


def read_wish(instruction: str) -> ShopWish:
    """Return the wish in an instruction of the generated shop, whose vocabulary is known."""
    kind = max((k for k in goods().types if _found(k.name, instruction)), key=lambda k: _place(k, instruction))
    rest = instruction.replace(kind.name, "", 1) if kind.name in instruction else instruction
    attributes = []
    for attribute in sorted(kind.attributes, key=len, reverse=True):
        if _found(attribute, rest):
            attributes.append(attribute)
            rest = re.sub(rf"\b{re.escape(attribute)}\b", " ", rest)
    limit = _LIMIT.search(rest)
    assert limit is not None, instruction
    rest = rest.replace(limit[0], " ")
    options = {}
    for name, values in kind.options.items():
        for value in sorted(values, key=len, reverse=True):
            if _found(value, rest):
                options[name] = value
                rest = re.sub(rf"\b{re.escape(value)}\b", " ", rest)
                break
    return ShopWish(kind, tuple(attributes), options, float(limit[1] or limit[2]))


def _found(words: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(words)}\b", text) is not None


def _place(kind: GoodsType, instruction: str) -> tuple[int, int]:
    """Prefer the longest name, and of equally long ones the first."""
    return len(kind.name), -instruction.index(kind.name)


class ShopPolicy(Policy[str, str]):
    """Searches for all words of the wish, then with one attribute at a time, and opens what may fit.

    It skips results of another kind or above the limit, and looks last at those that resemble a product without the
    options. Of a product it looks at the options, then at the features, then at the description if that can still make
    it fit. It never trusts a review. When the turns run out, it buys what it is looking at.

    Args:
        careful: whether it confirms attributes; otherwise it buys the first result that has the options.
    """

    def __init__(self, careful: bool = True) -> None:
        self._careful = careful

    def reset(self, observation: str, info: Info) -> None:
        self._wish: ShopWish | None = None
        self._opened: set[str] = set()
        self._unfit: list[tuple[str, float]] = []
        self._page = self._queries = 1
        self._missing: set[str] = set()
        self._look_at("", 0.0)

    def act(self, observation: str, info: Info) -> str:
        parts = _page_parts(observation)
        if self._wish is None:
            self._wish = read_wish(parts[parts.index("Instruction:") + 1])
        wish = self._wish
        if "Search" in parts:
            return f"search[{_query(wish, wish.attributes)}]"
        if any(part.startswith("Page ") and "Total results" in part for part in parts):
            return self._choose(parts, wish, _turns_left(observation))
        if "Buy Now" in parts:
            return self._examine(parts, wish, _turns_left(observation))
        text = _SEPARATOR.join(parts[4:]).lower()
        self._missing = {attribute for attribute in self._missing if attribute not in text}
        return "click[< prev]"

    def _look_at(self, name: str, price: float) -> None:
        """Begin with another product."""
        self._name, self._price = name.lower(), price
        self._done: set[str] = set()
        wanted = () if self._wish is None else self._wish.attributes
        self._missing = {attribute for attribute in wanted if attribute not in self._name}

    def _choose(self, parts: Sequence[str], wish: ShopWish, left: int) -> str:
        hurry = left <= len(wish.options) + 4
        of_kind = False
        shown = [place for place, part in enumerate(parts) if _ASIN.fullmatch(part)]
        for place in shown:
            asin, name, price = parts[place], parts[place + 1], float(parts[place + 2].strip("$"))
            of_kind |= wish.type.name in name.lower()
            if wish.type.name not in name.lower() or price > wish.price_upper:
                continue
            last = self._queries > len(wish.attributes)
            new = asin not in self._opened and (last or not self._resembles_unfit(name.lower(), price))
            if new or hurry:
                self._opened.add(asin)
                self._look_at(name, price)
                return f"click[{asin.lower()}]"
        if of_kind and self._page < (_LAST_PAGE if len(wish.attributes) == 1 else _PAGES_OF_A_QUERY):
            self._page += 1
            return "click[next >]"
        # No search finds hidden attributes, and their words favour other products: look with one attribute at a time.
        attribute = wish.attributes[self._queries % len(wish.attributes)]
        self._page, self._queries = 1, self._queries + 1
        return f"search[{_query(wish, (attribute,))}]"

    def _resembles_unfit(self, name: str, price: float) -> bool:
        return any(attribute in name and 0.7 < price / other < 1.4 for attribute, other in self._unfit)

    def _examine(self, parts: Sequence[str], wish: ShopWish, left: int) -> str:
        to_choose = [value for value in wish.options.values() if value in parts and value not in self._done]
        if left > len(to_choose) + 3:
            if any(value not in parts for value in wish.options.values()):
                stated = next((attribute for attribute in wish.type.attributes if attribute in self._name), "")
                self._unfit.append((stated, self._price))
                return "click[< prev]"
            if self._missing and self._careful:
                # A description states one attribute.
                for page, most in (("features", _MANY), ("description", 1)):
                    if page not in self._done and len(self._missing) <= most:
                        self._done.add(page)
                        return f"click[{page}]"
                return "click[< prev]"
        if to_choose:
            self._done.add(to_choose[0])
            return f"click[{to_choose[0]}]"
        return "click[buy now]"


def _query(wish: ShopWish, attributes: Sequence[str]) -> str:
    return " ".join((wish.type.name, *attributes, *wish.options.values()))


def _page_parts(observation: str) -> list[str]:
    line = next(line for line in observation.splitlines() if _SEPARATOR in line)
    return line.split(_SEPARATOR)


def _turns_left(observation: str) -> int:
    turn = _TURNS.search(observation)
    return int(turn[2]) - int(turn[1]) if turn is not None else _MANY
