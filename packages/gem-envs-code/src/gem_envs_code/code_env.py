"""Programming problems of published data sets: :class:`CodeEnv`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from gem.arguments import boolean, choice, integer, real, string
from gem.core import Observation
from gem.errors import DatasetError
from gem.text import extract_code_from_model
from gem_envs_code.judge import JudgeResult, importable, judge, library_names, limits_for, shared_sandbox
from gem_envs_code.needed_libraries import needed_libraries
from gem_envs_code.suite import Suite, read_suite
from gem_questions import Grade, QuestionEnv, Rows, RowStream, open_dataset
from gem_questions.question import RowMap
from gem_questions.schemas import RowContent, read_row

__all__ = ["MALFORMED_REWARD", "PAID_FOR", "CodeEnv", "JudgedEnv"]

MALFORMED_REWARD = -0.1
PAID_FOR = ("all", "fraction")
"""What a reward is paid for: all tests together, or each test."""

_PROGRAM = "Write a Python program that reads from standard input and writes to standard output."
_FUNCTION = "Write a Python function `{name}`."
_IMPORTS = "It can import {libraries}."
_FORMAT = "Put the whole of it into one fenced block:\n```python\n# your code\n```"


class JudgedEnv(QuestionEnv):
    """One problem per episode, answered by a program in the last fenced block of the action.

    Rewards: 1.0 for a program that passes all tests, 0.0 for any other, -0.1 without a closed fenced block. With
    ``reward="fraction"``, a program earns the fraction of the tests that it passes.

    Programs import the standard library, and of the installed libraries those in ``libraries`` alone, so that a
    reward does not depend on the trainer's own environment.

    Info of a step, besides that of a :class:`gem_questions.QuestionEnv`: ``tests_passed``, the number of tests passed
    before the first failure, or of all with ``reward="fraction"``; ``tests_total``; ``failure``, the reason of the
    first failure: ``"wrong answer"``, ``"time limit"``, ``"runtime error"`` or ``"memory"``, or None.
    """

    def __init__(
        self,
        rows: Rows | RowStream,
        *,
        shuffle: bool = True,
        map_row: RowMap | None = None,
        seed: int | None = None,
        max_tests: int | None = None,
        max_workers: int | None = None,
        seconds: float = 10.0,
        memory: int = 1 << 30,
        reward: str = "all",
        libraries: Sequence[str] = (),
    ) -> None:
        self.reward = choice("reward", reward, PAID_FOR)
        self.libraries = library_names(libraries)
        self.max_tests = None if max_tests is None else integer("max_tests", max_tests, minimum=1)
        self.max_workers = None if max_workers is None else integer("max_workers", max_workers, minimum=1)
        self.seconds = real("seconds", seconds, minimum=0.01, maximum=3600.0)
        self.memory = integer("memory", memory, minimum=16 << 20)
        self._suite: tuple[Mapping[str, Any], Suite] | None = None
        self._sandbox = shared_sandbox(self.libraries).handle()
        super().__init__(rows, shuffle=shuffle, seed=seed, map_row=map_row)

    def statement(self, row: Mapping[str, Any]) -> str:
        """Return the problem, without the format of the answer."""
        raise NotImplementedError

    def suite(self, row: Mapping[str, Any]) -> Suite:
        """Return the tests of a problem."""
        raise NotImplementedError

    def function(self, row: Mapping[str, Any]) -> str | None:
        """Return the name of the required function; None for a program that reads and writes."""
        return self._suite_of(row).function

    def question(self, row: Mapping[str, Any]) -> Observation:
        name = self.function(row)
        task = _PROGRAM if name is None else _FUNCTION.format(name=name)
        imports = _IMPORTS.format(libraries=" and ".join(["the standard library", *self.libraries]))
        return f"{self.statement(row).strip()}\n\n{task} {imports} {_FORMAT}"

    def grade(self, action: object, row: Mapping[str, Any]) -> Grade:
        suite = self._suite_of(row)
        code = extract_code_from_model(action)
        if code is None:
            info: dict[str, Any] = {"tests_passed": 0, "tests_total": len(suite.cases), "failure": None}
            return Grade(MALFORMED_REWARD, correct=False, well_formed=False, info=info)
        result = self.judge(code, suite)
        info = {"tests_passed": result.passed, "tests_total": result.total, "failure": result.failure}
        paid = result.passed / result.total if self.reward == "fraction" else float(result.accepted)
        return Grade(paid, result.accepted, info=info)

    def judge(self, code: str, suite: Suite) -> JudgeResult:
        """Run a program in the sandbox."""
        limits = limits_for(suite, seconds=self.seconds, memory=self.memory)
        every = self.reward == "fraction"
        return judge(code, suite, sandbox=self._sandbox.value, limits=limits, workers=self.max_workers, every=every)

    def close(self) -> None:
        """Release the sandbox, which ends with its last user. A later step opens it again."""
        self._sandbox.close()

    def _suite_of(self, row: Mapping[str, Any]) -> Suite:
        """Return the tests of a row, which are read once per episode."""
        if self._suite is None or self._suite[0] is not row:
            self._suite = row, self.suite(row).longest(self.max_tests)
        return self._suite[1]


class CodeEnv(JudgedEnv):
    """Problems of a data set with a column of tests.

    Unlike in the original, all tests of a problem run unless ``max_tests`` limits them, a program fails even if it
    fails only after it has printed the right output, numbers with a decimal point may differ by 10⁻⁶, and the question
    states the action format.

    Args:
        dataset_name: name on the Hugging Face hub.
        split: split of the data set.
        dataset: a path or rows that replace the one on the hub; see :func:`gem_questions.open_rows`.
        question_key: column of the problem. None: recognised, like that of the tests; see :mod:`gem_questions.schemas`.
        test_key: column of the tests; see :func:`gem_envs_code.suite.read_suite` for its forms.
        seed: seed of the order, until a reset gives another.
        max_workers: number of tests that run side by side; None: one for each processor.
        max_tests: maximum number of tests, those with the longest inputs; None for all.
        verbose: accepted for compatibility; nothing is printed.
        sandbox_type: accepted for compatibility, ``"none"`` or ``"bwrap"``; programs always run in the sandbox of
            :mod:`gem_tools.sandbox`.
        seconds: CPU time limit of each test.
        memory: memory limit of each test in bytes.
        eval: keep the order of the data set.
        streaming: read the set from front to back, for sets larger than memory; see :func:`gem_questions.open_rows`.
        reward: ``"all"`` pays for passing all tests, ``"fraction"`` for the fraction of the tests that pass.
        libraries: import names of installed libraries that programs may use, such as ``["numpy"]``, with all that
            these depend on; by default the standard library alone.
        map_row: a function from a row to a pair of problem and tests, or to another row; see
            :class:`gem_questions.QuestionEnv`.

    Raises:
        DatasetError: if the data set is unavailable, or a row has no problem or no tests; the message names the row.
        ArgumentError: if one of the libraries is not installed.
    """

    def __init__(
        self,
        dataset_name: str | None = "",
        split: str | None = None,
        dataset: str | os.PathLike[str] | Rows | None = None,
        question_key: str | None = None,
        test_key: str | None = None,
        seed: int | None = None,
        max_workers: int | None = None,
        max_tests: int | None = None,
        verbose: bool = False,
        sandbox_type: str = "none",
        seconds: float = 10.0,
        memory: int = 1 << 30,
        eval: bool = False,  # noqa: A002  # the name that the original's MathEnv has for it
        streaming: bool = False,
        reward: str = "all",
        libraries: Sequence[str] = (),
        map_row: RowMap | None = None,
    ) -> None:
        boolean("verbose", verbose)
        choice("sandbox_type", sandbox_type, ("none", "bwrap"))
        self.question_key = None if question_key is None else string("question_key", question_key)
        self.test_key = None if test_key is None else string("test_key", test_key)
        self._content: tuple[Mapping[str, Any], RowContent] | None = None
        self._importable = importable(library_names(libraries))
        shuffle = not boolean("eval", eval)
        super().__init__(
            open_dataset(dataset_name, split, dataset, streaming=streaming),
            shuffle=shuffle,
            map_row=map_row,
            seed=seed,
            max_tests=max_tests,
            max_workers=max_workers,
            seconds=seconds,
            memory=memory,
            reward=reward,
            libraries=libraries,
        )

    def content(self, row: Mapping[str, Any]) -> RowContent:
        """Return what a row says: its problem and its tests."""
        if self._content is None or self._content[0] is not row:
            self._content = row, read_row(row, "code", self.question_key, self.test_key)
        return self._content[1]

    def statement(self, row: Mapping[str, Any]) -> str:
        return self.content(row).question.encode("utf-8", "replace").decode()

    def suite(self, row: Mapping[str, Any]) -> Suite:
        column = "column with tests" if self.test_key is None else f"column {self.test_key!r}"
        suite = read_suite(self.content(row).gold, f"the {column} of {_named(row)}")
        if missing := needed_libraries(suite) - self._importable:
            names = ", ".join(map(repr, sorted({*self.libraries, *missing})))
            raise DatasetError(
                f"the tests of {_named(row)} import {', '.join(sorted(missing))}, and without libraries=[{names}] no "
                "program can pass them; install these and pass the argument, or remove the row"
            )
        return suite

    def check_row(self, row: Mapping[str, Any]) -> None:
        self.suite(row)

    def sample_random_action(self) -> str:
        """Return a program that prints its input, or a function that returns its first argument."""
        function = self.function(self.row)
        body = "print(input())" if function is None else f"def {function}(*arguments):\n    return arguments[0]"
        return f"```python\n{body}\n# {self.action_rng.randrange(1000)}\n```"


def _named(row: Mapping[str, Any]) -> str:
    return f"row {row.index}" if hasattr(row, "index") else "a row"
