"""A step survives any output of a model and any argument of a careless caller."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterator
from typing import Any

from gem_testing.clause import clauses_of
from gem_testing.clauses.contract import check_observation
from gem_testing.env_under_test import EnvUnderTest
from gem_testing.episodes import acted_by_each, begin, has_ended, take, values_of
from gem_testing.messages import shorten
from gem_testing.outcomes import Violation

__all__ = ["CLAUSES", "HOSTILE_ACTIONS", "LONG_TEXTS"]

_MARK = "GEM_HOSTILE_ACTION"
_CODE = ("exit()", f"__import__('os').environ.update({_MARK}='1')", "[].__class__.__base__.__subclasses__()")

HOSTILE_ACTIONS: tuple[Any, ...] = (
    *_CODE,
    *(f"\\boxed{{{code}}}" for code in _CODE),
    *(f"<answer>{code}</answer>" for code in _CODE),
    *(f"```python\n{code}\n```" for code in _CODE),
    "",
    " \n\t",
    "\x00",
    "\\boxed{",
    "\\boxed{}",
    "}{",
    "\\boxed{" * 500 + "}" * 500,
    "<tool_call>{",
    "<answer>",
    "```python\n",
    "\\boxed{" + "9" * 5000 + "}",
    "\\boxed{-" + "9" * 5000 + ".5e999}",
    "\\boxed{nan}",
    "\\boxed{1/0}",
    "\\boxed{\ud800}",
    "\udfff\ud800",
    "\u202e\u200b\ufeff",
    "\\boxed{٣ ٣ ٣}",
    "{}{0}%s%(x)d${x}",
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    b"\\boxed{1}",
    ("\\boxed{1}",),
    ["\\boxed{1}"],
    {},
    {"content": None},
    {"role": "assistant", "content": "\ud800"},
    {"role": "assistant", "content": [{"type": "text"}, None, 7]},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": None, "arguments": "{"}}, None]},
    {"role": "assistant", "tool_calls": "all"},
    object(),
)
"""Actions outside every grammar, some of which are code that leaves a mark if it runs; see also ``derived_from``."""

SIZES = (1_000, 4_000, 16_000, 64_000, 256_000, 1_024_000)
"""Characters; each is four times the one before, so that a quadratic step takes sixteen times as long."""
STEEPEST = 8.0
WORTH_MEASURING = 0.004
"""CPU seconds; anything shorter is noise."""

LONG_TEXTS = (
    "a",
    "1",
    "1 ",
    " ",
    "\n",
    "\\",
    "{",
    "{}",
    "\\boxed{",
    "\\boxed{}",
    "\\boxed{1}",
    "```",
    "<a>",
)
"""Each is repeated to a text of every size."""


def actions(under_test: EnvUnderTest) -> None:
    """No action raises; the step's five values keep the contract, and the next reset works."""
    usual = under_test.sampled_action
    for action in (*HOSTILE_ACTIONS, *derived_from(usual)):
        for earlier in (0, 1):
            with under_test.make() as env:
                begin(env, 5)
                if earlier:
                    *_, terminated, truncated, _ = take(env, acted_by_each(env, usual), "step 1 (seed 5)")
                    if has_ended(env, terminated, truncated):
                        continue
                where = f"step {earlier + 1} (seed 5)"
                result = take(env, acted_by_each(env, action), where)
                if os.environ.pop(_MARK, None):
                    raise Violation(
                        f"{where} carried out the action {shorten(action)} as code; read it, or run it in a sandbox"
                    )
                _keeps_the_contract(result, f"{where} answered the action {shorten(action)} and")
                begin(env, None)


def long_text(under_test: EnvUnderTest) -> None:
    """The time of a step grows no faster than the length of the action."""
    usual = under_test.sampled_action
    patterns = [(unit, "") for unit in LONG_TEXTS]
    if isinstance(usual, str) and len(usual) > 1:
        patterns += [(usual, ""), (usual[:-1], ""), (usual[0], usual[:-1]), (usual[-1], usual[:-1]), (" ", usual[:-1])]
    for unit, prefix in patterns:
        spent = 0.0
        for size in SIZES:
            text = prefix + unit * (size // len(unit))
            before, spent = spent, _time_of_step(under_test, text)
            if spent > WORTH_MEASURING and spent > STEEPEST * max(before, WORTH_MEASURING / 4):
                # Measured again, since the machine may have been busy with something else.
                before = min(_time_of_step(under_test, text[: len(prefix) + size // 4]) for _ in range(3))
                spent = min(spent, *(_time_of_step(under_test, text) for _ in range(2)))
                if spent > STEEPEST * max(before, WORTH_MEASURING / 4):
                    raise Violation(
                        f"a step with {shorten(prefix + unit * 3)} repeated to {size} characters took {spent:.3f} s of "
                        f"CPU time, and with a quarter of that {before:.3f} s; read the action in linear time (no "
                        "nested or adjacent repetitions in a pattern)"
                    )


def derived_from(usual: Any) -> Iterator[Any]:
    """Yield actions that nearly look like a well-formed one."""
    if not isinstance(usual, str):
        return
    yield usual * 2
    yield usual[: len(usual) // 2]
    yield usual[::-1]
    yield usual.upper()
    yield usual.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))
    yield usual.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)})  # full-width forms
    yield f"\ud800{usual}\udfff"
    yield usual.replace("}", " \ud800}")
    yield usual.replace("{", "{\x00")
    for number in ("-1", "0", "9" * 25, "9" * 5000, "1.5", "1e999", "²"):
        if (changed := re.sub(r"\d+", number, usual)) != usual:
            yield changed


def _keeps_the_contract(result: tuple[Any, Any, Any, Any, Any], where: str) -> None:
    observation, reward, terminated, truncated, info = result
    for value in values_of(observation):
        check_observation(value, where)
    for value in values_of(reward):
        if not isinstance(value, float) or not math.isfinite(value):
            raise Violation(f"{where} returned the reward {shorten(value)}; return a finite float")
    for value in (*values_of(terminated), *values_of(truncated)):
        if not isinstance(value, bool):
            raise Violation(f"{where} returned the flag {shorten(value)}; return True or False")
    try:
        json.dumps(info, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Violation(f"{where} returned the info {shorten(info)}, which JSON refuses: {error}") from error


def _time_of_step(under_test: EnvUnderTest, action: str) -> float:
    """CPU seconds of this thread."""
    with under_test.make() as env:
        begin(env, 5)
        given = acted_by_each(env, action)
        start = time.thread_time()
        take(env, given, "step 1 (seed 5)")
        return time.thread_time() - start


CLAUSES = clauses_of("hostile", actions, long_text)
