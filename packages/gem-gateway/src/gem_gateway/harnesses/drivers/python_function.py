"""Calls a function as an agent program, in a process of its own: ``python_function.py module:function``.

What is wrong with the function is the last line of the error output, after the traceback, since that line is what a
failed episode shows.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import traceback
from collections.abc import Awaitable
from typing import Any, NoReturn

from gem_gateway.harnesses.agent_task import AgentTask

_FAILED = 1


def main(target: str) -> None:
    """Call the function with the task of the environment's variables, and write its answer down."""
    function = _found(target)
    task = AgentTask.from_variables()
    try:
        answer = function(task)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_awaited(answer))
    except Exception as error:
        traceback.print_exc()
        _end(f"{target} raised {_described(error)}")
    if inspect.isgenerator(answer) or inspect.isasyncgen(answer):
        _end(f"{target} is a generator; the function must return its final answer, or None")
    if answer is not None:
        task.answer_file.write_text(str(answer), encoding="utf-8", errors="replace")


def _found(target: str) -> Any:
    """Return the function; end the process if there is none."""
    module, _, name = target.partition(":")
    try:
        function: Any = importlib.import_module(module)
    except Exception as error:  # whatever an import runs
        traceback.print_exc()
        _end(f"python:{target}: importing {module} raised {_described(error)}")
    for part in name.split("."):
        try:
            function = getattr(function, part)
        except AttributeError:
            _end(f"python:{target}: {module} has no {name!r}")
    if not callable(function):
        _end(f"python:{target}: {name} is {type(function).__name__}, no function of a task")
    return function


def _described(error: Exception) -> str:
    """Return an error's type and message in one line, and the line of the innermost frame."""
    message = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    place = f", in line {frames[-1].lineno} of {frames[-1].filename}" if frames else ""
    return f"{type(error).__name__}{f': {message}' if message else ''}{place}"


def _end(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    sys.exit(_FAILED)


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer


if __name__ == "__main__":
    main(sys.argv[1])
