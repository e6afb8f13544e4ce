"""The tool that runs an agent's Python in a sandbox: :class:`PythonTool`."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from gem.arguments import boolean, choice, integer, real
from gem.errors import ArgumentTypeError
from gem.text import spoken
from gem.tools.base import Tool, ToolResult
from gem.tools.calls import ToolCall
from gem_tools.sandbox import Execution, InfrastructureError, Limits, Sandbox, default_sandbox
from gem_tools.sandbox.inside import notebook
from gem_tools.text_limits import cut

if TYPE_CHECKING:
    from gem_tools.sandbox import Session

__all__ = ["PythonTool"]

_PRINTED = "Code execution result: "
"""The beginning of every answer, as published."""

_PROGRAM = r"<python>(?!\s*```)|(?i:```\n?(?:python(?:3(?:\.\d{1,2})?)?|py3?)(?![\w.+#-]))"
_ATTRIBUTES = re.compile(r"[ \t]+(?:\{[^\n]*\}|\w+=[\"'][^\n]*)[ \t]*(?=\n)")
"""What the opening line of a fenced block says about the block, such as ``title="a.py"``."""
_FIGURE = re.compile(f"{notebook.FIGURE_MARK}([A-Za-z0-9+/=]*)\x1e\n")
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_MOST_PIXELS = 4_000_000
"""The largest picture that reaches the agent; a small file can hold a huge one."""

_LONGEST_SESSION = 256
"""The number of calls that a session remembers for ``set_state``."""

_SHORT_NAMES = {"np": "numpy", "pd": "pandas", "plt": "numpy", "sp": "sympy"}
"""A name that agents use without importing it → the library of the fork server that serves it best."""
_SHORT_NAME = re.compile(r"\b(?:np|pd|plt|sp)\b")

_PARAMETERS = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "A complete program; print the results."}},
    "required": ["code"],
}


class PythonTool(Tool):
    """Runs an agent's Python code outside the trainer's process; see :mod:`gem_tools.sandbox`.

    In text, the first complete ``<python>…</python>`` or fenced block of the language ``python``, ``python3`` or
    ``py`` is run, unless it stands in the reasoning or in a quotation (:func:`gem.text.spoken`); natively, a call of
    ``python`` with the argument ``code``. The result contains the standard output and then the error output, for
    example a traceback. The call succeeds if the program ends with exit code 0.

    Common names (``math``, ``np``, …) that a program uses and does not define are imported first;
    ``gem_tools.sandbox.inside.notebook.IMPORTS`` lists them.

    Args:
        timeout: the time limit of a call, in seconds of wall-clock time.
        sandbox: ``"auto"`` for the shared sandbox of the process, which warns if no jail is available;
            ``"required"`` to raise an error instead; or a :class:`~gem_tools.sandbox.Sandbox` with its own limits.
        keep_error_last_line: whether to show only the last line of an error, without the traceback.
        session: whether variables, imports and functions stay from one call of an episode to the next. A call that runs
            into a limit ends the session; the next call begins a new one, and the result says so. Between calls the
            session is stopped, except in plain subprocesses.
        display: whether the result ends with the value of the last expression, as in a notebook, unless it is None or
            ends with ``;``. None: in sessions only.
        figures: whether the figures of matplotlib that are open after a call become pictures of the observation, PNG
            files of at most 512 KiB together; the call closes them.
        max_chars: the largest number of characters of output; the middle of more is cut out.

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
        display: bool | None = None,
        figures: bool = False,
        max_chars: int = 20_000,
    ) -> None:
        self.timeout = real("timeout", timeout, minimum=0.0, maximum=86_400.0)
        self.sandbox = _sandbox(sandbox)
        self.keep_error_last_line = boolean("keep_error_last_line", keep_error_last_line)
        self.session = boolean("session", session)
        self.display = self.session if display is None else boolean("display", display)
        self.figures = boolean("figures", figures)
        self.max_chars = integer("max_chars", max_chars, minimum=1)
        self.parallel = not self.session  # a session runs one call at a time, in the order of the calls
        self._open: Session | None = None
        self._past: list[str] = []

    @property
    def limits(self) -> Limits:
        """The limits of one call."""
        limits = self.sandbox.limits
        # The half of the output that is kept from its end has room for the figures.
        output = limits.output + 2 * notebook.LARGEST_FIGURES if self.figures else limits.output
        return replace(limits, seconds=self.timeout, output=output)

    def instruction_string(self) -> str:
        shown = " and the value of its last expression" if self.display else ""
        kept = "Variables, imports and functions stay from one program to the next. " if self.session else ""
        return (
            "You can run Python while you work on the task. Write a complete program, with its imports, between "
            "<python> and </python> or in a ```python block; you are then told what it printed"
            f'{shown}, after "{_PRINTED.strip()}". {kept}Give your final answer as the task asks for it.'
        )

    def parse(self, text: str) -> ToolCall | None:
        if not (found := _programs(text)):
            return super().parse(text)
        code, end = found[0]
        return ToolCall(self.name, {"code": dedent(code).strip()}, end)

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        code = arguments.get("code")
        if not isinstance(code, str):
            raise ArgumentTypeError(f"the argument code must be a str, got {type(code).__name__}")
        try:
            return self._told(self._run(code))
        except InfrastructureError as error:
            data = {"exit_code": None, "timed_out": False, "limit": "infrastructure"}
            return ToolResult(f"{_PRINTED}{error}\n", ok=False, data=data)

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
        return type(self)(
            self.timeout,
            self.sandbox,
            self.keep_error_last_line,
            self.session,
            self.display,
            self.figures,
            self.max_chars,
        )

    def _run(self, code: str) -> Execution:
        prelude = self._prelude(code)
        if not self.session:
            return self.sandbox.run(code, limits=self.limits, prelude=prelude)
        if self._open is None:
            self._open = self.sandbox.session(limits=self.limits)
            for earlier in self._past:
                self._open.run(earlier, prelude=self._prelude(earlier))
        done = self._open.run(code, prelude=prelude)
        self._past = [] if done.session_ended else [*self._past, code][-_LONGEST_SESSION:]
        return done

    def _prelude(self, code: str) -> str:
        options = {notebook.MISSING_IMPORTS: True, notebook.DISPLAY: self.display, notebook.FIGURES: self.figures}
        wanted = [name for name, is_on in options.items() if is_on]
        # The sandbox chooses a fork server by the libraries that it finds mentioned.
        libraries = {_SHORT_NAMES[name] for name in _SHORT_NAME.findall(code)}
        return notebook.options_line([*wanted, *sorted(libraries)])

    def _told(self, done: Execution) -> ToolResult:
        stdout, pictures = _figures(done.stdout) if self.figures else (done.stdout, ())
        error = done.error(last_line_only=self.keep_error_last_line)
        if done.timed_out:
            error += f"\nExecution timed out after {self.timeout:g} seconds."
        printed = cut(f"{stdout}\n{error}" if error else stdout, self.max_chars, has_gap=done.truncated)
        data = {"exit_code": done.exit_code, "timed_out": done.timed_out, "limit": done.limit}
        return ToolResult(f"{_PRINTED}{printed.lstrip()}\n", ok=done.ok, content=pictures, data=data)

    def _end_session(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def _sandbox(sandbox: object) -> Sandbox:
    if isinstance(sandbox, Sandbox):
        return sandbox
    return default_sandbox(str(choice("sandbox", sandbox, ("auto", "required"))))


def _programs(text: str) -> list[tuple[str, int]]:
    """Return the code of each program that a text says itself, and the index after its end."""
    missing = {closing for closing in ("</python>", "```") if closing not in text}
    if len(missing) == 2:
        return []

    def read(opening: re.Match[str]) -> tuple[list[tuple[str, int]], int]:
        closing, begin = ("</python>", opening.end()) if opening[0] == "<python>" else ("```", opening.end())
        if closing == "```" and (attributes := _ATTRIBUTES.match(text, begin)):
            begin = attributes.end()
        end = -1 if closing in missing else text.find(closing, begin)
        if end < 0:
            missing.add(closing)  # further openings need not search for it: the time stays linear
            return [], opening.end()
        return [(text[begin:end], end + len(closing))], end + len(closing)

    return spoken(text, _PROGRAM, read)


def _figures(output: str) -> tuple[str, tuple[dict[str, Any], ...]]:
    """Return the output without its figures, and the figures as content parts."""
    pictures: list[dict[str, Any]] = []

    def taken(match: re.Match[str]) -> str:
        problem = _problem(match[1])
        if problem is None and sum(len(part["image_url"]["url"]) for part in pictures) > notebook.LARGEST_FIGURES:
            problem = "it is too large"
        if problem is not None:
            return f"[a figure was left out: {problem}]\n"
        pictures.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{match[1]}"}})
        return ""

    return _FIGURE.sub(taken, output), tuple(pictures)


def _problem(picture: str) -> str | None:
    """Return why a program's output is no acceptable picture, or None. A program can write the marks itself."""
    try:
        data = base64.b64decode(picture, validate=True)
    except ValueError:
        return "it is not base64"
    if not data.startswith(_PNG) or len(data) < 24:
        return "it is not a PNG file"
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if not 0 < width * height <= _MOST_PIXELS:
        return f"it has {width} × {height} pixels"
    return "it is too large" if len(picture) > notebook.LARGEST_FIGURES else None
