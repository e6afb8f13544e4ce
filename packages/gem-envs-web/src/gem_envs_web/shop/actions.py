"""The actions of WebShop as an action form: ``search[words]`` and ``click[text]``."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from gem.errors import NotSupportedError

__all__ = ["ShopAction", "ShopActionForm"]

# An argument may hold pairs of brackets, as some options of real shops do, but none within them.
_ACTION = re.compile(r"(search|click)\[([^\[\]\r\n]*(?:\[[^\[\]\r\n]*\][^\[\]\r\n]*)*)\]", re.IGNORECASE)


class ShopAction(NamedTuple):
    """What a customer does."""

    searches: bool
    """Whether it is a search; a click otherwise."""
    argument: str
    """The words or the text of the link in lower case, without blanks around them; never empty."""


class ShopActionForm:
    """Reads the last ``search[…]`` or ``click[…]`` in a text, so that a model may reason before it acts.

    The names of actions are read in any case.
    """

    def read(self, text: str, /) -> ShopAction | None:
        """Return the last action in a text, or None."""
        last = None
        for match in _ACTION.finditer(text):
            if argument := match[2].strip().lower():
                last = ShopAction(match[1].lower() == "search", argument)
        return last

    def sample(self, rng: random.Random, /) -> str:
        """Raise NotSupportedError: what can be clicked depends on the page, so the environment draws actions."""
        raise NotSupportedError("the form of the shop's actions has no examples; ask the environment")
