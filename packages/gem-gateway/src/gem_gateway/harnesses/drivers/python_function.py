"""Runs a user's function as an agent program: ``python_function.py module:function``."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys

from gem_gateway.harnesses.agent_task import AgentTask


def main(target: str) -> None:
    """Call the function with the task of the environment's variables, and write its answer down."""
    module, _, name = target.partition(":")
    task = AgentTask.from_variables()
    answer = getattr(importlib.import_module(module), name)(task)
    if inspect.isawaitable(answer):
        answer = asyncio.run(_awaited(answer))
    if answer is not None:
        task.answer_file.write_text(str(answer), encoding="utf-8", errors="replace")


async def _awaited(answer: object) -> object:
    return await answer  # type: ignore[misc]  # inspect has found out


if __name__ == "__main__":
    main(sys.argv[1])
