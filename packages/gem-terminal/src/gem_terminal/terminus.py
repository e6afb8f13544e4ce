"""An agent that types into one terminal, after the example of Terminus 2: :class:`TerminusPolicy`.

Terminus is the agent of Terminal-Bench and Harbor that compares models: it has one tool, a terminal, and the model
answers in JSON with keystrokes and the seconds to wait for each. The prompt here is our own; its fields are theirs
(``analysis``, ``plan``, ``commands`` with ``keystrokes`` and ``duration``, ``task_complete``), and as there the agent
confirms that the task is complete before its tests run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gem.arguments import integer
from gem.core import Info
from gem.errors import EpisodeLimitError
from gem.policies import Act, Policy
from gem_terminal.actions import MOST_CALLS
from gem_terminal.bounded_output import BoundedOutput

__all__ = ["TerminusPolicy"]

_PROMPT = """\
You solve a task in a Linux terminal. Each of your answers is one JSON object and nothing else:

{{
  "analysis": "what the terminal shows, what is done, what is missing",
  "plan": "the next steps and why",
  "commands": [
    {{"keystrokes": "ls -la\\n", "duration": 0.5}}
  ],
  "task_complete": false
}}

"analysis", "plan" and "commands" are required. "keystrokes" is typed into the terminal exactly as it is: end a command
with \\n, or it does not run. Keystrokes that consist of a key in the notation of tmux press that key: C-c, C-d, Up,
Escape, Tab. "duration" is the number of seconds to wait for the result of these keystrokes, 1.0 by default and 60.0 at
most; the wait ends early when the shell shows its prompt again. To wait longer, type nothing:
{{"keystrokes": "", "duration": 30}}. At most {calls} commands count. Set "task_complete" to true when the task is done;
you are then asked to confirm it.

The task:
{task}

The terminal shows:
{screen}"""

_CONFIRM = """\
The terminal shows:
{screen}

Is the task complete? Its tests run as soon as you confirm, and you cannot act after that. To confirm, answer with \
"task_complete": true once more; otherwise go on."""

_MALFORMED = "Your answer could not be used: {why} Nothing was typed. Answer with one JSON object as described."
_LEFT_OUT = "[an earlier screen, left out]"
_LONGEST_WAIT = 60.0
_SHORTEST_WAIT = 1.0
"""Seconds to wait at most, whatever shorter time the model names: a wait ends with the next prompt anyway, and a busy
machine takes longer than the model expects."""


class _ChatClient(Protocol):
    """What the policy needs of a model client, as those of ``gem_eval.clients`` are."""

    async def chat(self, messages: list[dict[str, Any]], *, sampling: Any = None) -> Any: ...


@dataclass(frozen=True)
class TerminusAnswer:
    """A model's answer, as far as it can be used."""

    commands: tuple[tuple[str, float], ...] = ()
    """Keystrokes, and the seconds to wait for them."""
    complete: bool = False
    error: str | None = None
    """Why the answer cannot be used."""


class TerminusPolicy(Policy[Any, Any]):
    """Drives a terminal task with any model that answers in text. One object plays one episode at a time.

    The policy keeps the conversation itself, so the environment needs no wrapper for the history. When the model's
    context is full, the older half of the screens is left out of it.

    Args:
        client: a model client, such as ``gem_eval.clients.open_client`` returns; not closed by the policy.
        sampling: passed to the client with each request.
        screen_bytes: the bytes of terminal output in a message; the middle of a longer one is cut out.
        attempts: how often the model is asked for one action, if its answers are malformed; after that the turn
            passes without a key.
    """

    def __init__(
        self, client: _ChatClient, sampling: Any = None, *, screen_bytes: int = 10_000, attempts: int = 3
    ) -> None:
        self.client = client
        self.sampling = sampling
        self._screen_bytes = integer("screen_bytes", screen_bytes, minimum=100)
        self._attempts = integer("attempts", attempts, minimum=1)
        self._messages: list[dict[str, Any]] = []
        self._asked_to_confirm = False
        self._turn = 0

    async def reset(self, observation: Any, info: Info) -> None:
        """Begin a conversation about the task; its terminal has not been looked at yet."""
        self._messages, self._asked_to_confirm, self._turn = [], False, 0

    async def act(self, observation: Any, info: Info) -> Act:
        """Return native calls of ``send_keys``, or of ``finish`` once the model has confirmed.

        Raises:
            ModelError: if the model gives no answer.
            ContextOverflow: if even the shortened conversation is too long.
        """
        self._turn += 1
        if not self._messages:
            task = str(observation)
            prompt = _PROMPT.format(calls=MOST_CALLS - 1, task=task, screen="(a new bash shell, not used yet)")
        else:
            template = _CONFIRM if self._asked_to_confirm else "The terminal shows:\n{screen}"
            prompt = template.format(screen=self._cut(str(observation)))
        self._messages.append({"role": "user", "content": prompt})
        for _ in range(self._attempts):
            completion = await self._answered()
            answer = terminus_answer(completion.text)
            self._messages.append({"role": "assistant", "content": completion.text})
            if answer.error is None:
                break
            self._messages.append({"role": "user", "content": _MALFORMED.format(why=answer.error)})
        else:
            self._messages.pop()  # the next observation is the next message of the user
        finishes = answer.complete and self._asked_to_confirm
        self._asked_to_confirm = answer.complete
        return self._act(completion, answer, finishes)

    async def _answered(self) -> Any:
        while True:
            try:
                return await self.client.chat(self._messages, sampling=self.sampling)
            except EpisodeLimitError:  # the model's context is full
                if not self._shorten():
                    raise

    def _shorten(self) -> bool:
        """Leave out the older half of the screens that are still in the conversation; return whether there are any."""
        shown = [
            message for message in self._messages[1:-1] if message["role"] == "user" and message["content"] != _LEFT_OUT
        ]
        for message in shown[: (len(shown) + 1) // 2]:
            message["content"] = _LEFT_OUT
        return bool(shown)

    def _act(self, completion: Any, answer: TerminusAnswer, finishes: bool) -> Act:
        calls = [
            _call(f"turn_{self._turn}_{number}", "send_keys", keys=_keys(keystrokes), timeout_secs=seconds)
            for number, (keystrokes, seconds) in enumerate(answer.commands or (("", _SHORTEST_WAIT),), start=1)
        ]
        if finishes:
            calls = [*(calls if answer.commands else []), _call(f"turn_{self._turn}_end", "finish")]
        return Act(
            {"role": "assistant", "content": completion.text, "tool_calls": calls},
            prompt_token_ids=completion.prompt_token_ids,
            token_ids=completion.token_ids,
            logprobs=completion.logprobs,
            tokens=completion.tokens,
            usage=completion.usage,
            finish_reason=completion.finish_reason,
            reasoning=completion.reasoning,
            model=completion.model,
            metadata={} if answer.error is None else {"malformed": answer.error},
        )

    def _cut(self, screen: str) -> str:
        kept = BoundedOutput(self._screen_bytes)
        kept.add(screen.encode(errors="replace"))
        return kept.text()


def terminus_answer(text: str) -> TerminusAnswer:
    """Read an answer: the first JSON object with the field ``commands`` in a text; other text around it is ignored."""
    found = _first_object(text)
    if found is None:
        return TerminusAnswer(error='it holds no complete JSON object with the field "commands".')
    commands = found.get("commands")
    if not isinstance(commands, list):
        return TerminusAnswer(error='"commands" must be a list.')
    read: list[tuple[str, float]] = []
    for command in commands[: MOST_CALLS - 1]:  # one call is left for the end of the task
        keystrokes = command.get("keystrokes") if isinstance(command, dict) else None
        if not isinstance(keystrokes, str):
            return TerminusAnswer(error='each command must be an object with the string "keystrokes".')
        read.append((keystrokes, _seconds(command.get("duration", 1.0))))
    return TerminusAnswer(tuple(read), found.get("task_complete") in (True, "true"))


def _first_object(text: str) -> dict[str, Any] | None:
    decoder, start, tries = json.JSONDecoder(strict=False), text.find("{"), 0
    while start >= 0 and tries < 100:  # each try is linear in the text
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(found, dict) and "commands" in found:
                return found
        start, tries = text.find("{", end), tries + 1
    return None


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _SHORTEST_WAIT
    return min(max(float(value), _SHORTEST_WAIT), _LONGEST_WAIT)


def _keys(keystrokes: str) -> Sequence[str]:
    """Return keystrokes as the environment takes them: a line ends with the key that ends lines."""
    return [keystrokes.replace("\r\n", "\r").replace("\n", "\r")] if keystrokes else []


def _call(identity: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
