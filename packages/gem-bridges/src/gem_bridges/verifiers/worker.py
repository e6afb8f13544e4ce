"""Plays rollouts of verifiers in a process and a Python of their own, for ``line_server.py``.

Packages and the libraries that they need stay apart from those of other releases, and many draw from Python's global
generator. A rollout runs in the library's own loop, with its tools, stop conditions and scores; where it asks the
model, it waits for the answer from outside. ``tasksets.py`` loads and runs task sets of verifiers 0.4,
``old_release.py`` packages of the releases before. The scripts need no package of GEM.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import runpy
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_ROLLOUTS: dict[int, Rollout] = {}  # number of a rollout -> what plays it
_LIBRARY: dict[str, Any] = {}  # "load", "play" and "end" of the installed release's script
_LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(_LOOP)
os.environ.setdefault("VF_LOG_LEVEL", "ERROR")
logging.disable(logging.WARNING)


class Rollout:
    """A rollout of one row, which stops at each request to the model."""

    def __init__(self, row: int, seed: int) -> None:
        random.seed(seed)
        if "numpy" in sys.modules:
            import_module("numpy").random.seed(seed % 2**32)
        self._requests: asyncio.Queue[tuple[dict[str, Any], asyncio.Future[Any]]] = asyncio.Queue()
        self._answer: asyncio.Future[Any] | None = None
        self._played = asyncio.ensure_future(_LIBRARY["play"](row, self._ask))

    async def _ask(self, request: dict[str, Any]) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        await self._requests.put((plain(request), answer))
        return await answer

    async def shown(self, message: dict[str, Any] | None) -> dict[str, Any]:
        """Answer the last request; return the next one, or the scored result."""
        if message is not None and self._answer is not None:
            self._answer.set_result(message)
        request = asyncio.ensure_future(self._requests.get())
        await asyncio.wait({request, self._played}, return_when=asyncio.FIRST_COMPLETED)
        if request.done():
            asked, self._answer = request.result()
            return asked
        request.cancel()
        result: dict[str, Any] = plain(self._played.result())
        return result

    async def close(self) -> None:
        """End the rollout."""
        self._played.cancel()
        await asyncio.wait({self._played})


def plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_none=True)
    if isinstance(value, dict):
        return {str(key): plain(held) for key, held in value.items() if held is not None}
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    return value if isinstance(value, (str, int, float, bool)) else str(value)


async def _load(request: dict[str, Any]) -> dict[str, Any]:
    os.environ.update(request["variables"])
    if request["folder"]:
        sys.path.insert(0, request["folder"])
    import_module("verifiers")
    name = "old_release.py" if find_spec("verifiers.envs") else "tasksets.py"
    _LIBRARY.update(runpy.run_path(str(Path(__file__).with_name(name))))
    random.seed(0)  # some draw their rows while they are loaded
    return {"rows": await _LIBRARY["load"](request)}


async def _answered(request: dict[str, Any]) -> dict[str, Any]:
    op = request["op"]
    if op == "load":
        return await _load(request)
    if op == "end":
        await _LIBRARY["end"]()
        return {}
    number = request["game"]
    if op == "close":
        rollout = _ROLLOUTS.pop(number, None)
        if rollout is not None:
            await rollout.close()
        return {}
    if op == "open":
        _ROLLOUTS[number] = Rollout(request["row"], request["seed"])
    return await _ROLLOUTS[number].shown(request.get("message"))


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    return _LOOP.run_until_complete(_answered(request))
