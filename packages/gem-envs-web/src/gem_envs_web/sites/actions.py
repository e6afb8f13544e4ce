"""The actions on the pages of a site: ``click[…]``, ``type[…][…]``, ``select[…][…]``, ``search[…]``, ``answer[…]``."""

from __future__ import annotations

import random
import re
from typing import Literal, NamedTuple, cast

from gem.errors import NotSupportedError

__all__ = ["PageAction", "PageActionForm", "PageVerb"]

PageVerb = Literal["click", "type", "select", "search", "answer"]

# A value may hold pairs of brackets, but none within them; a target holds none.
_VALUE = r"([^\[\]\r\n]*(?:\[[^\[\]\r\n]*\][^\[\]\r\n]*)*)"
_ACTION = re.compile(
    rf"\b(?:(click|search|answer)\[{_VALUE}\]|(type|select)\[([^\[\]\r\n]*)\]\s?\[{_VALUE}\])", re.IGNORECASE
)


class PageAction(NamedTuple):
    """What an agent does on a page."""

    verb: PageVerb
    target: str
    """The label of a link, button or field, the words of a search, or the answer; without blanks around it."""
    value: str = ""
    """What is typed or chosen."""


class PageActionForm:
    """Reads the last action in a text, so that a model may reason before it acts. Verbs are read in any case.

    Args:
        verbs: the actions of the site.
    """

    def __init__(self, *verbs: PageVerb) -> None:
        self.verbs = verbs

    def read(self, text: str, /) -> PageAction | None:
        """Return the last action in a text, or None."""
        last = None
        for match in _ACTION.finditer(text):
            if match[3] is None:
                action = PageAction(cast(PageVerb, match[1].lower()), match[2].strip())
            else:
                action = PageAction(cast(PageVerb, match[3].lower()), match[4].strip(), match[5].strip())
            if action.target and action.verb in self.verbs:
                last = action
        return last

    def sample(self, rng: random.Random, /) -> str:
        """Raise NotSupportedError: what can be done depends on the page, so the environment draws actions."""
        raise NotSupportedError("the form of a site's actions has no examples; ask the environment")
