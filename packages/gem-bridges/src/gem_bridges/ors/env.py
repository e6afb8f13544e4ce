"""Environments behind servers of the Open Reward Standard (ORS), played with openreward's client in its own process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gem.arguments import boolean, string
from gem.core import Action
from gem.errors import ArgumentError
from gem_bridges.addresses import base_address
from gem_bridges.foreign_env import ForeignTurn, MalformedActionError, text_of_action
from gem_bridges.foreign_server_env import reward_of
from gem_bridges.messages import observed, with_text
from gem_bridges.rows_env import RowsEnv
from gem_bridges.tool_messages import assistant_message, described_tools
from gem_bridges.worker_env import WorkerGame
from gem_processes import LineWorker

__all__ = ["ORSEnv", "ORSEpisode"]


class ORSEpisode(WorkerGame):
    """A session in a worker, and what it shows now.

    Attributes:
        index: the task that is played.
        tools: the tools on offer: ``name``, ``description``, ``parameters``.
        terminal: ``name`` and ``arg`` of the tool that takes the agent's message and ends the episode; None if there is
            none.
    """

    def __init__(self, worker: LineWorker, index: int) -> None:
        self.index = index
        super().__init__(worker, {}, {"row": index})
        self.tools: list[dict[str, Any]] = self.shown["tools"]
        self.terminal: dict[str, Any] | None = self.shown["terminal"]

    def call(self, calls: Sequence[Mapping[str, Any]]) -> None:
        """Carry out calls of tools."""
        self.shown = self._asked("step", calls=list(calls))


class ORSEnv(RowsEnv):
    """An environment of an ORS server, played by the client of ``openreward`` in a process and a Python of its own.

    An action calls tools: an assistant message with ``tool_calls``, or a text with ``<tool_call>`` tags. A text without
    calls goes to the environment's terminal tool, or else to its only tool if that takes one text. The reward of a turn
    is the sum over its calls; ``finished`` is ``terminated``, as the protocol has no flag for truncation.
    ``info["server"]`` has the metadata. The seed chooses the task of ``split``; the option ``index`` of :meth:`reset`
    names one. A state is the task with the calls so far, so an environment that depends on more than these has none
    that is worth keeping.

    Args:
        url: the server's address, such as ``http://localhost:8080``.
        environment: which of the server's environments; by default the first.
        split: the split of the tasks; by default the server's first.
        deployment: the name by which a server of several deployments finds this one, ``"owner/name"``.
        python: the Python that has openreward; by default the one of this process.
        key_variable: the environment variable with the API key; by default none is sent.
        secrets: names of environment variables that the environment gets as secrets, such as keys of judges.
        show_tools: whether the first observation ends with the tools.
        max_turns: turns after which an episode is truncated.
        timeout: seconds for an answer of the server, retries included.
        max_memory: bytes of address space that the worker may have, answers included.

    Raises:
        ArgumentError: if ``url`` is no address, or a variable is not set.
    """

    script = Path(__file__).with_name("worker.py")
    max_answer_bytes = 2**24
    start_seconds = 120.0

    def __init__(
        self,
        url: str,
        *,
        environment: str | None = None,
        split: str | None = None,
        deployment: str = "gem",
        python: str | None = None,
        key_variable: str | None = None,
        secrets: Sequence[str] = (),
        show_tools: bool = True,
        max_turns: int = 200,
        timeout: float = 60.0,
        max_memory: int = 2**32,
    ) -> None:
        super().__init__(python, max_turns, timeout, max_memory)
        self.url = base_address("url", url)
        self.environment = None if environment is None else string("environment", environment)
        self.split = None if split is None else string("split", split)
        self.deployment = string("deployment", deployment)
        self.key_variable = None if key_variable is None else string("key_variable", key_variable)
        self.secrets = tuple(string("a name in secrets", name) for name in secrets)
        self.show_tools = boolean("show_tools", show_tools)
        self._variables()

    @property
    def name(self) -> str:
        return f"ors:{self.url}" + ("" if self.environment is None else f"#{self.environment}")

    def close(self) -> None:
        """End the session, then the worker."""
        self._drop()
        super().close()

    def _loading(self) -> dict[str, Any]:
        secrets = self._variables()
        return {
            "url": self.url,
            "environment": self.environment,
            "split": self.split,
            "deployment": self.deployment,
            "key": "" if self.key_variable is None else secrets.pop(self.key_variable),
            "secrets": secrets,
            "seconds": self.timeout,
        }

    def _variables(self) -> dict[str, str]:
        names = [*self.secrets, *([] if self.key_variable is None else [self.key_variable])]
        missing = [name for name in names if name not in os.environ]
        if missing:
            raise ArgumentError(f"{self.name}: this process has no environment variable {', '.join(missing)}")
        return {name: os.environ[name] for name in names}

    @staticmethod
    def _advice(error: str) -> str:
        missing = "No module named 'openreward'" in error
        return "; install openreward there, or name the Python that has it with the argument python" if missing else ""

    def _open(self, seed: int) -> ORSEpisode:
        worker = self._loaded()
        return ORSEpisode(worker, seed % self._row_count)

    def _repeat(self, game: ORSEpisode, text: str) -> None:
        game.call(json.loads(text))

    def _first(self) -> ForeignTurn:
        shown = observed(self._game.shown["messages"])
        if self.show_tools and self._game.tools and self._plain_call("") is None:
            shown = with_text(shown, described_tools(self._game.tools))
        return ForeignTurn(shown, info={"index": self._game.index})

    def _play(self, action: Action) -> ForeignTurn:
        calls = self._calls(action)
        self._journal.append(json.dumps(calls))
        self._game.call(calls)
        turn = self._game.shown
        results = [
            {"tool_call_id": one["id"], "name": one["name"], "text": _text(one), "ok": one["ok"]}
            for one in turn["results"]
        ]
        return ForeignTurn(
            observed([{"role": "tool", "content": one["content"]} for one in turn["results"]]),
            reward_of(turn["reward"]),
            turn["done"],
            extra=turn["metadata"],
            status="legal" if any(one["ok"] for one in results) else "malformed",
            info={"tool_results": results},
        )

    def _calls(self, action: Action) -> list[dict[str, Any]]:
        offered = self._game.tools
        message = assistant_message(action, offered)
        if "tool_calls" in message:
            return [
                {
                    "id": call["id"],
                    "name": call["function"]["name"],
                    "arguments": json.loads(call["function"]["arguments"]),
                }
                for call in message["tool_calls"]
            ]
        call = self._plain_call(text_of_action(action))
        if call is None:
            raise MalformedActionError(f"it calls no tool. {described_tools(offered)}")
        return [call]

    def _plain_call(self, text: str) -> dict[str, Any] | None:
        """Return the call that a text without calls stands for."""
        ending = self._game.terminal
        if ending is not None:
            arguments = {} if ending["arg"] is None else {ending["arg"]: text}
            return {"id": None, "name": ending["name"], "arguments": arguments}
        if len(self._game.tools) != 1:
            return None
        fields = self._game.tools[0]["parameters"].get("properties", {})
        kinds = [part.get("type") for part in fields.values() if isinstance(part, dict)]
        if kinds != ["string"]:
            return None
        return {"id": None, "name": self._game.tools[0]["name"], "arguments": {next(iter(fields)): text}}


def _text(result: Mapping[str, Any]) -> str:
    """Return the text of a call's result, without its pictures."""
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
