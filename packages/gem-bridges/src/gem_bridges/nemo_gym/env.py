"""Environments behind NeMo Gym's resources servers, on rows of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gem.arguments import boolean, check_names, integer, string
from gem.core import Action
from gem.errors import ArgumentError
from gem_bridges.addresses import base_address
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import ForeignTurn
from gem_bridges.foreign_server_env import ForeignServerEnv, reward_of
from gem_bridges.http_json import JsonClient, RefusedError, authorization
from gem_bridges.messages import observed, with_text
from gem_bridges.nemo_gym.response_items import chat_messages, output_items, response_of
from gem_bridges.tool_messages import assistant_message, described_tools

__all__ = ["NemoGymEnv"]

_SEED_BITS = 31
_EXAMPLE = "gem.make('nemo_gym:http://localhost:8000', rows='example.jsonl')"


class NemoGymEnv(ForeignServerEnv):
    """A resources server of NeMo Gym on the rows of a file, as NeMo Gym's own agents play it.

    A server with ``/verify`` is played as by its simple agent: calls of tools are requests to the server, and the first
    answer without calls is verified and ends the episode. At ``max_turns`` the answers are verified as they stand, and
    the episode is truncated. A server with ``/step`` (Gymnasium's form) is played as by its Gymnasium agent: each
    answer is a step, whose reward and end are the server's.

    An action is a text, with ``<tool_call>`` tags where the row has tools, or an assistant message with
    ``tool_calls``. Calls of tools that the row does not have are answered without a request. The row follows from the
    seed; the option ``index`` of :meth:`reset` names one. A sample that the server masks is a fault, not a reward.

    Args:
        url: the server's address, such as ``http://localhost:8000``.
        rows: the file of rows, JSON lines with ``responses_create_params`` and what the server needs.
        show_tools: whether the first observation ends with the tools.
        max_turns: answers of an episode, tool calls included.
        timeout: seconds for each answer.
        max_answer_bytes: size of the largest answer that is read.
        token_variable: the environment variable with a bearer token, for servers behind a proxy that wants one.

    Raises:
        ArgumentError: if ``url`` is no address, or ``rows`` no such file.
    """

    def __init__(
        self,
        url: str,
        *,
        rows: str = "",
        show_tools: bool = True,
        max_turns: int = 50,
        timeout: float = 60.0,
        max_answer_bytes: int = 16 * 2**20,
        token_variable: str | None = None,
    ) -> None:
        super().__init__(max_turns, timeout, max_answer_bytes)
        self.url = base_address("url", url)
        if not rows:
            raise ArgumentError(f"nemo_gym:{url} needs the file of its rows, which no server sends: {_EXAMPLE}")
        self.rows = _rows(Path(string("rows", rows)).expanduser().absolute())
        self.show_tools = boolean("show_tools", show_tools)
        self._http = JsonClient(self.url, self.timeout, self.max_answer_bytes, authorization(token_variable))
        self._is_stepped: bool | None = None  # whether the server has /step
        self._row: dict[str, Any] = {}
        self._items: list[dict[str, Any]] = []  # the output items so far, those of tools included
        self._begun_info: dict[str, Any] = {}

    def sample_random_action(self) -> Action:
        seen = self._observation if isinstance(self._observation, str) else json.dumps(self._observation)
        return str(self.action_rng.choice(seen.split() or ["yes"]))

    def close(self) -> None:
        self._end_session()
        self._http.close()

    def _begin(self, options: Mapping[str, Any], seed: int | None) -> ForeignTurn:
        drawn = self.rng.getrandbits(_SEED_BITS) % len(self.rows)
        check_names("a reset of NeMo Gym", [str(name) for name in options], ("index",))
        index = integer("index", options.get("index", drawn), minimum=0, maximum=len(self.rows) - 1)
        self._end_session()
        self._http.close()  # a session is a cookie
        self._row, self._items = self.rows[index], []
        if self._is_stepped is None:
            self._is_stepped = self._has_steps()
        messages = chat_messages(self._parameters)
        answer = self._asked("/reset" if self._is_stepped else "/seed_session", self._row)
        self._begun_info = answer["info"] if isinstance(answer.get("info"), dict) else {}
        if answer.get("observation"):
            messages.append({"role": "user", "content": str(answer["observation"])})
        shown = observed(messages)
        if self.show_tools and self._tools:
            shown = with_text(shown, described_tools(self._tools))
        return ForeignTurn(shown, info={"index": index}, extra=self._begun_info)

    def _play(self, action: Action) -> ForeignTurn:
        message = assistant_message(action, self._tools)
        items = output_items(message, self._turn)
        self._items += items
        if self._is_stepped:
            return self._stepped(items)
        results = [self._called(item) for item in items if item["type"] == "function_call"]
        self._items += [
            {"type": "function_call_output", "call_id": one["tool_call_id"], "output": one["text"]} for one in results
        ]
        turn = ForeignTurn("\n\n".join(one["text"] for one in results))
        if results:
            turn.info["tool_results"] = results
        if not results or self._turn >= self.max_turns:
            turn = self._verified(turn)
            turn.terminated, turn.truncated = not results, bool(results)
        return turn

    def _drop(self) -> None:
        self._end_session()

    @property
    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self._row["responses_create_params"]
        return parameters

    @property
    def _tools(self) -> list[dict[str, Any]]:
        return [tool for tool in self._parameters.get("tools") or [] if tool.get("type") == "function"]

    def _has_steps(self) -> bool:
        try:
            answer = self._http.request("GET", "/openapi.json")
        except RefusedError as error:
            raise BridgeError(f"{self.url} describes no interface ({error}); is it a server of NeMo Gym?") from None
        paths = answer.get("paths") if isinstance(answer, dict) else None
        if isinstance(paths, dict) and {"/reset", "/step"} <= paths.keys():
            return True
        if isinstance(paths, dict) and {"/seed_session", "/verify"} <= paths.keys():
            return False
        raise BridgeError(f"{self.url} is no resources server of NeMo Gym: it has neither /step nor /verify")

    def _stepped(self, items: list[dict[str, Any]]) -> ForeignTurn:
        answer = self._asked("/step", {**self._row, "response": response_of(items, self._parameters)})
        terminated, truncated = answer.get("terminated", False), answer.get("truncated", False)
        told, info = answer.get("observation"), answer.get("info") or {}
        if not isinstance(terminated, bool) or not isinstance(truncated, bool) or not isinstance(info, dict):
            raise BridgeError(f"{self.url}/step answered outside the protocol: {json.dumps(answer)[:300]}")
        given = info.get("tool_outputs")
        outputs = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
        texts = [str(one.get("output", "")) for one in outputs]
        results = [
            {"tool_call_id": one.get("call_id"), "name": None, "text": text, "ok": True}
            for one, text in zip(outputs, texts, strict=True)
        ]
        texts += [str(told)] if told else []
        turn = ForeignTurn("\n\n".join(texts), reward_of(answer.get("reward")), terminated, truncated, extra=info)
        if results:
            turn.info["tool_results"] = results
        return turn

    def _called(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a call: what the server answers, an error too, is meant for the agent."""
        name = item["name"]
        if name in [tool.get("name") for tool in self._tools]:
            status, content = self._http.fetch("POST", f"/{quote(name, safe='')}", json.loads(item["arguments"]))
            text, ok = content.decode("utf-8", "replace"), 200 <= status < 400
        else:
            known = ", ".join(str(tool.get("name")) for tool in self._tools)
            text, ok = json.dumps({"error": f"there is no tool {name[:64]!r}; there are {known}"}), False
        return {"tool_call_id": item["call_id"], "name": name, "text": text, "ok": ok}

    def _verified(self, turn: ForeignTurn) -> ForeignTurn:
        """Add the reward of the answers so far.

        Raises:
            BridgeError: if the server masks the sample.
        """
        answer = self._asked("/verify", {**self._row, "response": response_of(self._items, self._parameters)})
        if answer.get("mask_sample"):
            why = f"{answer.get('failure_kind')}: {answer.get('failure_reason')}"
            raise BridgeError(f"{self.url} masks the sample, whose reward is no measurement ({why:.300})")
        if "reward" not in answer:
            raise BridgeError(f"{self.url}/verify answered without a reward: {json.dumps(answer)[:300]}")
        turn.reward = reward_of(answer["reward"])
        numbers = {name: value for name, value in answer.items() if isinstance(value, (bool, int, float))}
        turn.info["metrics"] = {name: float(value) for name, value in numbers.items() if name != "reward"}
        return turn

    def _asked(self, path: str, body: object) -> dict[str, Any]:
        answer = self._http.request("POST", path, body)
        if not isinstance(answer, dict):
            raise BridgeError(f"{self.url}{path} answered outside the protocol: {answer!r:.300}")
        return answer

    def _end_session(self) -> None:
        closes, self._begun_info = self._begun_info.get("supports_explicit_close") is True, {}
        if closes:
            with suppress(BridgeError):  # the server may be gone, and the session with it
                self._http.request("POST", "/close", {})


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise ArgumentError(f"rows must be a file of JSON lines, and there is no file {path}")
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            parameters = row["responses_create_params"]
            given, tools = parameters["input"], parameters.get("tools") or []
            listed = [*([] if isinstance(given, str) else given), *tools]
            is_valid = all(isinstance(one, dict) for one in listed)
        except (ValueError, RecursionError, TypeError, LookupError, AttributeError):
            is_valid = False
        if not is_valid:
            raise ArgumentError(
                f"line {number} of {path} is no row of NeMo Gym: responses_create_params has no input of messages"
            )
        found.append(row)
    if not found:
        raise ArgumentError(f"{path} has no rows")
    return found
