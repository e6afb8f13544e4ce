"""A model that knows the episode: it answers an agent program with the calls of the environment's reference policy."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem.core import Env, Info
from gem.policies import Policy, make_policy
from gem_eval.clients import Completion, ModelError, Sampling
from gem_eval.clients.base import Message
from gem_eval.fake_model.reference_policies import EPISODE_OVER, offered_tool

__all__ = ["ReferenceModel", "with_reference_model"]

_TEXT_CALL = re.compile(r"<tool_call>(.*)</tool_call>", re.DOTALL)
_SHELLS = ("bash", "shell", "exec_command", "run_shell_command")
_EPISODE_COMMAND = re.compile(r"(\S*/episode) (?:act|call) ")
"""How the task names the command that plays the episode."""
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""How mini-swe-agent is told to end."""


class ReferenceModel:
    """Plays through whatever tools a program offers: those of the episode, by any prefix, or a shell.

    The program has to do the calls: the model only writes them, and reads their results from the program's requests. It
    knows one environment at a time.

    Args:
        plays_by_command: whether the program plays by the command ``episode`` in its shell. A tool of its own may
            then have the name of one of the episode's.
    """

    model = "reference"

    def __init__(self, *, plays_by_command: bool = False) -> None:
        self._plays_by_command = plays_by_command
        self.requests: list[tuple[list[Message], list[dict[str, Any]]]] = []
        self._searched = False
        self._command = "./episode"
        self._first: Any = None
        self._policy: Any = None
        self._held: list[tuple[str, dict[str, Any]]] = []  # calls of tools that the program must look up first

    def play(self, env: Env[Any, Any], observation: Any, info: Info) -> None:
        """Answer for this episode from now on; ``observation`` and ``info`` are its first."""
        self._policy, self._held, self._searched = make_policy("reference", env), [], False
        self._policy.reset(observation, info)
        self._first = observation

    async def chat(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        """Return the next call of the reference policy, or a last word when the episode is over."""
        self.requests.append((messages, tools or []))
        names = [tool["function"]["name"] for tool in tools or []]
        if not names:
            return _completion("A title")  # a side request of the program
        if named := next(filter(None, map(_EPISODE_COMMAND.search, map(_text, messages))), None):
            self._command = named[1]
        last = _text(messages[-1])
        if EPISODE_OVER in last:
            if len(names) == 1 and names[0] in _SHELLS:
                return _completion("", [_call(names[0], {"command": _SUBMIT})])
            if "final_answer" in names:
                return _completion("", [_call("final_answer", {"answer": "Done."})])
            return _completion("Done.")
        calls, self._held = self._held or self._calls(last), []
        if "tool_search" in names and not self._searched and self._offered(calls[0][0], names) is None:
            self._held, self._searched = calls, True
            wanted = ",".join(dict.fromkeys(_hidden_name(name) for name, _ in calls))
            return _completion("", [_call("tool_search", {"query": f"select:{wanted}"})])
        self._searched = False
        return _completion("", [self._through(call, names) for call in calls])

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        """Refuse: no program here asks for a continuation."""
        raise AssertionError("a program asked for the continuation of a prompt")

    async def close(self) -> None:
        """Do nothing."""

    def _calls(self, observation: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the reference policy's next action as calls of the episode's tools."""
        # What the program has made of its task is more than the first observation.
        shown, self._first = (observation if self._first is None else self._first), None
        action = self._policy.act(shown, {})
        if isinstance(action, str):
            found = _TEXT_CALL.fullmatch(action.strip())
            if found:
                call = json.loads(found[1])
                return [(call["name"], call["arguments"])]
            return [("act", {"action": action})]
        functions = [call["function"] for call in action["tool_calls"]]
        return [(function["name"], _arguments(function["arguments"])) for function in functions]

    def _offered(self, wanted: str, names: Sequence[str]) -> str | None:
        """Return the program's name of a tool of the episode, with a prefix if one has it; None if it offers none."""
        if self._plays_by_command:
            return None
        return offered_tool(wanted, names)

    def _through(self, call: tuple[str, dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
        """Return a call in the words of the program: of its tool for the episode's, or of its shell."""
        wanted, arguments = call
        offered = self._offered(wanted, names)
        if offered is not None:
            return _call(offered, arguments)
        if "tool_call" in names and not self._plays_by_command:  # Qwen Code's, for tools that it has looked up
            return _call("tool_call", {"name": _hidden_name(wanted), "arguments": arguments})
        shell = next((name for name in names if name in _SHELLS), None)
        if shell is None:
            raise ModelError("bad_request", f"the program offers neither {wanted} nor a shell, but {', '.join(names)}")
        command = f"{self._command} call {wanted} {shlex.quote(json.dumps(arguments))}"
        return _call(shell, {"cmd" if shell == "exec_command" else "command": command})


def _hidden_name(tool: str) -> str:
    """Return the name by which a program with ``tool_search`` knows a tool of the episode."""
    return f"mcp__gem__{tool}"


def _arguments(given: Any) -> dict[str, Any]:
    """Return the arguments of a call, which policies write as JSON or as they are."""
    arguments: dict[str, Any] = json.loads(given) if isinstance(given, str) else dict(given)
    return arguments


_count = 0


def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    global _count
    _count += 1
    function = {"name": name, "arguments": json.dumps(dict(arguments))}
    return {"id": f"call_{_count}", "type": "function", "function": function}


def _completion(text: str, calls: Sequence[dict[str, Any]] = ()) -> Completion:
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = list(calls)
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return Completion(
        message, text, tool_calls=list(calls), usage=usage, finish_reason="tool_calls" if calls else "stop"
    )


def _text(message: Message) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def with_reference_model(make: Callable[[Env[Any, Any]], Any], model: ReferenceModel) -> Callable[[Env[Any, Any]], Any]:
    """Return a maker of policies like ``make``, whose episodes the model knows from their first observation on."""
    return lambda env: _Announced(make(env), model, env)


class _Announced(Policy[Any, Any]):
    """A policy that tells the reference model of each new episode."""

    def __init__(self, policy: Any, model: ReferenceModel, env: Env[Any, Any]) -> None:
        self._policy, self._model, self._env = policy, model, env
        self.end_episode, self.close = policy.end_episode, policy.close

    async def reset(self, observation: Any, info: Info) -> None:
        self._model.play(self._env, observation, info)
        await self._policy.reset(observation, info)

    async def act(self, observation: Any, info: Info) -> Any:
        return await self._policy.act(observation, info)
