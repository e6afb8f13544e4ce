"""Rows in the form of the published data sets, made by bundled environments, for attacks without a network.

The code that asks and pays is that of the published id; questions and answers are others. ``attack_audit.py`` says so
beside its figures.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import chain, islice
from typing import Any

from PIL import Image

from gem.env_spec import EnvSpec
from gem.registry import make
from gem_envs_code.problems import all_problems, suite_of

__all__ = ["has_made_rows", "made_rows"]

ROWS = 40
"""Of a set; the attacks play 32 seeds of a variant at the most."""
TESTS = 6
"""Of a program."""

Row = dict[str, Any]


def has_made_rows(spec: EnvSpec) -> bool:
    """Return whether rows can be made for an environment: one over a data set, of a class that reads such rows."""
    return spec.requires == ("dataset",) and _class_of(spec) in _MAKERS


def made_rows(spec: EnvSpec) -> list[Row]:
    """Return rows for an environment of which :func:`has_made_rows` is true."""
    statements = spec.namespace == "logic"
    return list(islice(_statements() if statements else _MAKERS[_class_of(spec)](), ROWS))


def _class_of(spec: EnvSpec) -> str:
    return str(spec.entry_point).partition(":")[2]


def _statements() -> Iterator[Row]:
    """Yield a theory with one statement each, as RuleTaker has them."""
    for row, _ in _played("logic:RuleWorlds-v0"):
        for number, answer in enumerate(row["answer"].split(", "), 1):
            (statement,) = re.findall(rf"^{number}\. (.+)$", row["statement"], re.MULTILINE) or [row["statement"]]
            yield {"question": f"{row['theory']}\n\n{statement}", "answer": answer}


def _short_answers() -> Iterator[Row]:
    for row, _ in _played("qa:Atlas-v0"):
        yield {"question": row["question"], "answer": row["answer"]}


def _problems() -> Iterator[Row]:
    names = ("math:Algebra-v0", "math:WordProblems-v0", "math:Arithmetic-v0")
    for row, _ in chain.from_iterable(zip(*map(_played, names), strict=True)):
        yield {"problem": row["problem"], "answer": row["answer"]}


def _figures() -> Iterator[Row]:
    for row, observation in _played("math:Geometry-v0"):
        (address,) = (part["image_url"]["url"] for part in observation if part["type"] == "image_url")
        picture = Image.open(BytesIO(base64.b64decode(address.partition(",")[2])))
        yield {"problem": row["problem"], "answer": row["answer"], "images": [picture]}


def _programs() -> Iterator[Row]:
    """Yield bundled problems without a checker, with their first tests in the form of TACO."""
    for problem in all_problems():
        suite = suite_of(problem)
        if suite.checker is None:
            cases = suite.cases[:TESTS]
            inputs, outputs = [case.input for case in cases], [case.output for case in cases]
            tests: Row = {"inputs": inputs, "outputs": outputs}
            if suite.function is not None:
                calls = [json.loads(text) for text in inputs]
                tests = {
                    "fn_name": suite.function,
                    "inputs": calls,
                    "outputs": [[json.loads(text)] for text in outputs],
                }
            yield {"problem": problem.statement, "tests": json.dumps(tests)}


def _played(env_id: str) -> Iterator[tuple[Row, Any]]:
    """Yield the row and the observation of one episode after the other."""
    with make(env_id) as env:
        for seed in range(ROWS):
            observation, _ = env.reset(seed=seed)
            yield env.unwrapped.row, observation  # type: ignore[attr-defined]


_MAKERS: dict[str, Callable[[], Iterator[Row]]] = {
    "MathEnv": _problems,
    "MathVisualEnv": _figures,
    "QaEnv": _short_answers,
    "CodeEnv": _programs,
}
