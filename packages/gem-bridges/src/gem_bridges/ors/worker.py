"""Plays environments of ORS servers with the client of openreward, for ``line_server.py``.

Sessions are those of ``openreward.AsyncEnvironmentsAPI``: their keep-alive runs between the requests, in the event loop
of a thread. The script needs no package of GEM.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from importlib import import_module
from typing import Any

os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"
logging.disable(logging.ERROR)
_LOOP = asyncio.new_event_loop()
threading.Thread(target=_LOOP.run_forever, daemon=True).start()
_GAMES: dict[int, Any] = {}  # number of an episode -> its session
_LOADED: dict[str, Any] = {}  # "environment", "split", "secrets", "seconds" and "url"


class ServerError(Exception):
    """The server is out of reach, too slow, or answers outside the protocol."""


class UnknownSplitError(Exception):
    """The server has no split of that name."""


def _parts(blocks: Any) -> list[dict[str, Any]]:
    """Return the blocks of an answer as content parts of OpenAI's chat API."""
    found: list[dict[str, Any]] = []
    for block in blocks:
        if block.type == "text":
            found.append({"type": "text", "text": block.text})
        else:
            url = f"data:{block.mimeType};base64,{block.data}"
            found.append({"type": "image_url", "image_url": {"url": url}})
    return found


async def _load(request: dict[str, Any]) -> dict[str, Any]:
    client: Any = import_module("openreward.api.environments.client")
    server = client.AsyncEnvironmentsAPI(base_url=request["url"], api_key=request["key"])
    environment = server.get(request["deployment"], variant=request["environment"], base_url=request["url"])
    splits = await environment.list_splits()
    split = request["split"] or (splits[0] if splits else None)
    if split not in splits:
        raise UnknownSplitError(
            f"{request['url']} has the splits {', '.join(map(str, splits)) or '(none)'}, not {split!r}"
        )
    _LOADED.update(environment=environment, split=split, secrets=request["secrets"])
    return {"rows": int(await environment.num_tasks(split))}


async def _open(request: dict[str, Any]) -> dict[str, Any]:
    session = _LOADED["environment"].session(
        split=_LOADED["split"], index=request["row"], secrets=_LOADED["secrets"] or None
    )
    await session.__aenter__()
    _GAMES[request["game"]] = session
    messages = await session.get_messages(format="openai")
    tools = await session.list_tools()
    ending = await session.terminal_tool()
    offered = [
        {"name": one.name, "description": one.description, "parameters": dict(one.input_schema or {})} for one in tools
    ]
    return {
        "messages": messages,
        "tools": offered,
        "terminal": None if ending is None else {"name": ending.name, "arg": ending.arg},
    }


async def _step(request: dict[str, Any]) -> dict[str, Any]:
    """Carry out calls one after another, until one finishes the episode."""
    session = _GAMES[request["game"]]
    refusal: Any = import_module("openreward").api.errors.ToolCallError
    reward, finished = 0.0, False
    metadata: dict[str, Any] = {}
    results: list[dict[str, Any]] = []
    for call in request["calls"]:
        try:
            output = await session.call_tool(call["name"], call["arguments"])
        except refusal as error:
            text = {"type": "text", "text": str(error)}
            results.append({"id": call["id"], "name": call["name"], "content": [text], "ok": False})
            continue
        results.append({"id": call["id"], "name": call["name"], "content": _parts(output.blocks), "ok": True})
        reward += output.reward or 0.0
        metadata.update(output.metadata or {})
        if finished := bool(output.finished):
            break
    return {"results": results, "reward": reward, "done": finished, "metadata": metadata}


async def _close(request: dict[str, Any]) -> dict[str, Any]:
    session = _GAMES.pop(request["game"], None)
    if session is not None:
        await session.__aexit__(None, None, None)
    return {}


_OUTSIDE = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
_OPS = {"load": _load, "open": _open, "step": _step, "close": _close}


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request.

    Raises:
        ServerError: if the server does not answer in time, or with something else than ORS answers.
    """
    if request["op"] == "load":
        import_module("openreward")  # takes seconds, which are not the server's
        _LOADED.update(url=request["url"], seconds=request["seconds"])
    http: Any = import_module("aiohttp")
    wanted = asyncio.run_coroutine_threadsafe(asyncio.wait_for(_OPS[request["op"]](request), _LOADED["seconds"]), _LOOP)
    try:
        return wanted.result()
    except (asyncio.TimeoutError, TimeoutError):
        raise ServerError(f"{_LOADED['url']} gave no answer of ORS within {_LOADED['seconds']:g} s") from None
    except http.ContentTypeError as error:
        raise ServerError(f"{_LOADED['url']} answered with no JSON ({error.message}); is it a server of ORS?") from None
    except http.ClientConnectionError as error:
        raise ServerError(f"{_LOADED['url']} cannot be reached: {error}; is the server running?") from None
    except http.ClientResponseError as error:
        raise ServerError(f"{_LOADED['url']} answered with status {error.status}: {error.message:.300}") from None
    except (*_OUTSIDE, http.http_exceptions.HttpProcessingError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ServerError(
            f"{_LOADED['url']} answered outside the protocol of ORS ({reason:.300}); is it a server of ORS?"
        ) from None
    except MemoryError:
        raise ServerError(f"an answer of {_LOADED['url']} does not fit into the memory of the worker") from None
