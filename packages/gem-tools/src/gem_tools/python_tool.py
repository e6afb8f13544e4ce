"""The tool that runs an agent's Python in a sandbox: :class:`PythonTool`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from gem.arguments import boolean, choice, real
from gem.errors import ArgumentTypeError
from gem.tools.base import Tool, ToolResult
from gem.tools.calls import ToolCall, tagged
from gem_tools.sandbox import Execution, Limits, Sandbox, default_sandbox

if TYPE_CHECKING:
    from gem_tools.sandbox import Session

__all__ = ["PythonTool"]

_PRINTED = "Code execution result: "
"""The beginning of every answer, as published."""

_FENCE = re.compile(r"```\n?python")
_UNDEFINED = re.compile(r"NameError: name '(\w+)' is not defined")

_LONGEST_SESSION = 256
"""The number of calls that a session remembers for ``set_state``."""

_MODULES = (
    "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq", "itertools", "json",
    "math", "numpy", "operator", "pandas", "random", "re", "statistics", "string", "sympy", "sys", "time",
)  # fmt: skip

_IMPORTS = {
    **{name: f"import {name}" for name in _MODULES},
    "Counter": "from collections import Counter",
    "Decimal": "from decimal import Decimal",
    "Fraction": "from fractions import Fraction",
    "combinations": "from itertools import combinations",
    "defaultdict": "from collections import defaultdict",
    "deque": "from collections import deque",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "permutations": "from itertools import permutations",
    "product": "from itertools import product",
    "sp": "import sympy as sp",
}
"""A name that agents use without importing it → the import that defines it."""


_PARAMETERS = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "A complete program; print the results."}},
    "required": ["code"],
}


class PythonTool(Tool):
    """Runs an agent's Python code outside the trainer's process; see :mod:`gem_tools.sandbox`.

    In text, the first complete ``<python>…</python>`` or fenced block of the language ``python`` is run, of
    several the one that ends first; natively, a call of ``python`` with the argument ``code``. The result
    contains the standard output and then the error output, for example a traceback. The call succeeds
    if the program ends with exit code 0.

    A program that fails because it did not import a common name (``math``, ``np``, …) is run again with that
    import. ``_IMPORTS`` lists the names.

    Args:
        timeout: the time limit of a call, in seconds of wall-clock time.
        sandbox: ``"auto"`` for the shared sandbox of the process, which warns if no jail is available;
            ``"required"`` to raise an error instead; or a :class:`~gem_tools.sandbox.Sandbox` with its own limits.
        keep_error_last_line: whether to show only the last line of an error, without the traceback.
        session: whether variables, imports and functions stay from one call of an episode to the next. A call that runs
            into a limit ends the session; the next call begins a new one, and the result says so.

    Raises:
        SandboxError: with ``"required"``, if no jail is available.
    """

    name = "python"
    description = "Run a Python program and see what it prints."
    parameters = _PARAMETERS
    tag = "python"

    def __init__(
        self,
        timeout: float = 5.0,
        sandbox: str | Sandbox = "auto",
        keep_error_last_line: bool = False,
        session: bool = False,
    ) -> None:
        self.timeout = real("timeout", timeout, minimum=0.0, maximum=86_400.0)
        self.sandbox = _sandbox(sandbox)
        self.keep_error_last_line = boolean("keep_error_last_line", keep_error_last_line)
        self.session = boolean("session", session)
        self._open: Session | None = None
        self._past: list[str] = []

    @property
    def limits(self) -> Limits:
        """The limits of one call."""
        return replace(self.sandbox.limits, seconds=self.timeout)

    def instruction_string(self) -> str:
        kept = "Variables, imports and functions stay from one program to the next. " if self.session else ""
        return (
            "You can run Python while you work on the task. Write a complete program, with its imports, between "
            "<python> and </python> or in a ```python block; you are then told what it printed, after "
            f'"{_PRINTED.strip()}". {kept}Give your final answer as the task asks for it.'
        )

    def parse(self, text: str) -> ToolCall | None:
        found = [call for call in (tagged(text, "python"), _fenced(text)) if call is not None]
        if not found:
            return super().parse(text)
        code, end = min(found, key=lambda call: call[1])
        return ToolCall(self.name, {"code": dedent(code).strip()}, end)

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        code = arguments.get("code")
        if not isinstance(code, str):
            raise ArgumentTypeError(f"the argument code must be a str, got {type(code).__name__}")
        done = self._run(code)
        missing = None if done.ok else _UNDEFINED.search(done.error(last_line_only=True))
        if missing is not None and missing[1] in _IMPORTS:
            done = self._run(code, prelude=_IMPORTS[missing[1]])
        return self._told(done)

    def reset(self) -> None:
        self._end_session()
        self._past = []

    def get_state(self) -> dict[str, Any]:
        return {"past": list(self._past)} if self.session else {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        past = state.get("past", [])
        if not isinstance(past, list) or not all(isinstance(code, str) for code in past):
            raise ArgumentTypeError(f"past must be a list of programs, got {past!r:.80}")
        self._end_session()
        self._past = list(past)

    def close(self) -> None:
        self._end_session()

    def __deepcopy__(self, memo: dict[int, Any]) -> PythonTool:
        return type(self)(self.timeout, self.sandbox, self.keep_error_last_line, self.session)

    def _run(self, code: str, prelude: str = "") -> Execution:
        if not self.session:
            return self.sandbox.run(code, limits=self.limits, prelude=prelude)
        if self._open is None:
            self._open = self.sandbox.session(limits=self.limits)
            for earlier in self._past:
                self._open.run(earlier)
        program = f"{prelude}\n{code}" if prelude else code
        done = self._open.run(program)
        if done.session_ended:
            self._past = []
        else:
            self._past = [*self._past, program][-_LONGEST_SESSION:]
        return done

    def _told(self, done: Execution) -> ToolResult:
        error = done.error(last_line_only=self.keep_error_last_line)
        if done.timed_out:
            error += f"\nExecution timed out after {self.timeout:g} seconds."
        printed = f"{done.stdout}\n{error}" if error else done.stdout
        data = {"exit_code": done.exit_code, "timed_out": done.timed_out, "limit": done.limit}
        return ToolResult(f"{_PRINTED}{printed.lstrip()}\n", ok=done.ok, data=data)

    def _end_session(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def _sandbox(sandbox: object) -> Sandbox:
    if isinstance(sandbox, Sandbox):
        return sandbox
    return default_sandbox(str(choice("sandbox", sandbox, ("auto", "required"))))


def _fenced(text: str) -> tuple[str, int] | None:
    """Return the content of the first fenced block of the language python and the index after it, or None."""
    fence = _FENCE.search(text)
    if fence is None:
        return None
    end = text.find("```", fence.end())
    return None if end < 0 else (text[fence.end() : end], end + 3)
