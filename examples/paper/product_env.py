r"""A product that a tool can compute: a task for experiments on how agents come to use tools.

The agent is asked for a product of two digits. It may ask the calculator first, ``<python>7*8</python>``, and answers
with ``\boxed{56}``. A small model learns no products, so it earns reliably by copying: the factors into the call, and
the result into the answer. Random play calls the tool in a share of episodes, and writes the right factors and copies
the result with a given probability, which decides what a warm start can learn.
"""

from __future__ import annotations

import re

import gem
from gem.arguments import real
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, legal, malformed, success

__all__ = ["ProductEnv", "ProductForm"]


class ProductForm:
    """A call of the calculator or an answer; nothing else may stand in the action."""

    _FORM = re.compile(r"<python>([2-9])\*([2-9])</python>|\\boxed\{(\d{1,4})\}")

    def read(self, text: str) -> re.Match[str] | None:
        return self._FORM.fullmatch(text.strip())


class ProductEnv(gem.TextEnv[re.Match[str]]):
    """Name the product of two digits from 2 to 9, with a calculator at hand.

    Args:
        tool_share: the share of random play's episodes that call the calculator.
        copying: the probability with which random play copies factors and results correctly.
        negative: the reward of an action that cannot be read; a wrong answer earns 0, the right one 1.
    """

    form = ProductForm()
    saved = StateFields(_factors=list[int], _result=int)
    request = "What do you write?"

    def __init__(self, tool_share: float = 0.3, copying: float = 1.0, negative: float = -0.1) -> None:
        super().__init__(max_turns=2)
        self.tool_share = real("tool_share", tool_share, minimum=0.0, maximum=1.0)
        self.copying = real("copying", copying, minimum=0.0, maximum=1.0)
        self.negative = real("negative", negative, maximum=0.0)

    def _begin(self) -> None:
        self._factors = [self.rng.randint(2, 9), self.rng.randint(2, 9)]
        self._result = 0

    def _instructions(self) -> str:
        a, b = self._factors
        return f"How much is {a}*{b}? Call <python>2*2</python> or answer \\boxed{{4}}, in 2 turns."

    def _play(self, move: re.Match[str]) -> MoveResult:
        if move[3] is None:
            self._result = int(move[1]) * int(move[2])
            return legal(f"The result is {self._result}.")
        right = self._factors[0] * self._factors[1]
        return success("Right.") if int(move[3]) == right else failure("Wrong.")

    def _malformed(self) -> MoveResult:
        return malformed("Neither a call nor an answer.", self.negative)

    def _random_action(self) -> str:
        rng = self.action_rng
        copies = rng.random() < self.copying
        if self._result:
            return f"\\boxed{{{self._result if copies else rng.randint(4, 81)}}}"
        if rng.random() < self.tool_share:
            a, b = self._factors if copies else (rng.randint(2, 9), rng.randint(2, 9))
            return f"<python>{a}*{b}</python>"
        return f"\\boxed{{{rng.randint(2, 9) * rng.randint(2, 9)}}}"
