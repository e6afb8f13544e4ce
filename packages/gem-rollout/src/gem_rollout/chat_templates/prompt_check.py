"""Whether a chat template and a stack of wrappers give prompts that only grow: :func:`check_prompts`.

Episodes are played with several kinds of actions, and each prompt is compared with the one before. A trainer that
samples turn by turn, and computes gradients on the last prompt, needs three things:

* every message renders, whatever its role, and its content is in the prompt;
* a prompt begins with the prompt before it;
* after that comes the agent's action, letter by letter as it was sampled. One blank before it counts as nothing, since
  SentencePiece's vocabularies put one before a word and decode it to none.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gem.core import Action, Env, Info, Wrapper
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, GemError, NotSupportedError
from gem.registry import make
from gem.text import action_text
from gem.wrappers import wrapper
from gem.wrappers.history import HistoryWrapper, is_text
from gem_rollout.chat_templates.rendered_text import AROUND, excerpt, place_of
from gem_rollout.history.chat_history import Messages
from gem_rollout.history.chat_template import ChatTokenizer, render

__all__ = ["ACTION_KINDS", "PromptEpisode", "RoleResult", "check_prompts", "check_roles"]

_LINES = (
    "Welcome. Two rules:\n1. Say something.\n2. Say it in words.",
    'You said that. Here is some JSON: {"key": [1, 2], "text": "a \\"quoted\\" word"}',
    "Umlauts, signs and pictures: äöü ß – 测试 🙂",
    "Code:\n\n```python\nif a < b and c > d:\n    print('x & y')\n```",
    "<answer>Tags</answer> of no template, a \\ backslash, a {{ brace }} and a % sign.",
    "One short line",
)


class _ChatExample(Env[str, str]):
    """A conversation about nothing, whose observations hold what templates may mistreat."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self._turn = 0
        return _LINES[0], {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self._turn += 1
        return f"{_LINES[self._turn % len(_LINES)]} (turn {self._turn})", 0.0, False, False, {}

    def sample_random_action(self) -> str:
        return f"My answer is:\n\n\\boxed{{{self.rng.randint(0, 99)}}}"


class _LatestAnswer(Wrapper[Any, Any]):
    """Remembers the latest observation, as the history wrapper around it gets it."""

    latest: tuple[str, ...] = ()
    """Its text; for native calls the text of each result."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = super().reset(seed=seed, options=options)
        self.latest = (_text_of(observation),)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        result = self.env.step(action)
        self.latest = (_text_of(result[0]),)
        if isinstance(action, dict):
            self.latest = tuple(answer["text"] for answer in result[4].get("tool_results", ())) or self.latest
        return result


@dataclass(frozen=True)
class PromptEpisode:
    """The prompts of one episode."""

    actions: str
    """A name of :data:`ACTION_KINDS`."""
    turns: int
    """Turns whose prompts were compared."""
    problem: str | None = None
    """None if everything holds; else ``"refused"``, ``"lost"``, ``"rewritten"`` or ``"changed"``."""
    turn: int | None = None
    """The turn whose answer brought the problem, from 1; 0 for the first prompt."""
    message: str = ""
    """What happened, in a sentence."""
    agreed: str = ""
    """The end of the text that two prompts have in common."""
    before: str = ""
    """What the earlier prompt, or the action, goes on with."""
    now: str = ""
    """What the later prompt goes on with."""

    @property
    def holds(self) -> bool:
        return self.problem is None


@dataclass(frozen=True)
class RoleResult:
    """What a template makes of a role."""

    role: str
    renders: bool
    reason: str = ""
    """What the template raised; empty if it left the message out."""


@dataclass
class _Prompts:
    """The prompts of an episode that is being played."""

    actions: str
    turns: int = 0
    latest: str = ""
    said: str | None = None
    """The latest action, where the prompt must hold it letter by letter."""
    found: PromptEpisode | None = field(default=None, init=False)

    def fail(self, problem: str, message: str, parts: tuple[str, str, str] = ("", "", "")) -> None:
        self.found = PromptEpisode(self.actions, self.turns, problem, self.turns, message, *parts)

    def add(self, prompt: str, answers: Iterable[str]) -> None:
        """Compare the next prompt with the one before it."""
        if self.turns and not prompt.startswith(self.latest):
            self.fail(
                "rewritten",
                f"the prompt after turn {self.turns} does not begin with the prompt before it",
                _difference(self.latest, prompt),
            )
        elif self.turns and self.said is not None and not self._is_kept(prompt, self.said):
            self.fail(
                "changed",
                f"the prompt after turn {self.turns} does not hold the action as it was sampled",
                _difference(self.latest + self.said, prompt),
            )
        elif (
            lost := next((answer for answer in answers if place_of(answer, prompt[len(self.latest) :]) < 0), None)
        ) is not None:
            who = "the first observation" if not self.turns else f"the answer to turn {self.turns}"
            self.fail("lost", f"the template leaves out {who}: {excerpt(lost)!r}")
        self.latest = prompt

    def _is_kept(self, prompt: str, said: str) -> bool:
        return prompt.startswith((self.latest + said, f"{self.latest} {said}"))


def check_prompts(
    tokenizer: ChatTokenizer,
    wrappers: str | Sequence[str] = "concat_chat",
    env_id: str | EnvSpec | None = None,
    *,
    kinds: Iterable[str] = (),
    turns: int = 6,
    seed: int = 0,
    arguments: Mapping[str, Any] | None = None,
) -> list[PromptEpisode]:
    """Play an episode with each kind of actions and compare its prompts.

    Args:
        tokenizer: renders messages.
        wrappers: names, from the inside out, joined by commas or in a list. One of them shows the history as a prompt
            (``concat_chat``, ``concat_chat_on_reset``) or as messages, which are then rendered here.
        env_id: the environment; None for a small conversation with awkward texts.
        kinds: names of :data:`ACTION_KINDS`; by default all that the stack can answer.
        turns: turns of an episode, unless it ends earlier.
        seed: seed of the episodes.
        arguments: passed on to the template, for example ``enable_thinking``.

    Raises:
        ArgumentError: for an unknown kind, for wrappers that show plain text, and if the template cannot even render
            a conversation of user and assistant.
        GemError: of the environment and the wrappers.
    """
    names = wrappers.split(",") if isinstance(wrappers, str) else [*wrappers]
    chosen = list(kinds)
    unknown = sorted(set(chosen) - ACTION_KINDS.keys())
    if unknown:
        raise ArgumentError(f"there are no actions called {unknown[0]!r}, only {', '.join(ACTION_KINDS)}")
    if turns < 1:
        raise ArgumentError(f"turns must be at least 1, got {turns}")
    with _stacked(tokenizer, names, env_id, arguments or {}) as env:
        tools = getattr(env, "tools", ())
        if not chosen:
            chosen = [kind for kind in ACTION_KINDS if tools or not kind.startswith("tool")]
        elif not tools and any(kind.startswith("tool") for kind in chosen):
            raise ArgumentError(
                "the wrappers bring no tool to call; begin them with one, such as python_tool,concat_chat"
            )
        return [_played(env, tokenizer, kind, turns, seed, arguments or {}) for kind in chosen]


def check_roles(tokenizer: ChatTokenizer, arguments: Mapping[str, Any] | None = None) -> list[RoleResult]:
    """Return what the template makes of each role, in the places where conversations have it.

    Some templates render a tool's answer only after a native call (Gemma 4, gpt-oss), others render no such calls; both
    render the role.
    """
    asked, said = {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}
    answer = {"role": "tool", "content": _MARK, "tool_call_id": "call00001"}

    def calling(at: str) -> dict[str, Any]:
        function = {"name": "look", "arguments": {"at": at}}
        call = {"id": "call00001", "type": "function", "function": function}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    tried: dict[str, list[list[dict[str, Any]]]] = {
        "user": [[{"role": "user", "content": _MARK}]],
        "assistant": [[asked, {"role": "assistant", "content": _MARK}, {"role": "user", "content": "three"}]],
        "system": [[{"role": "system", "content": _MARK}, asked]],
        "tool": [[asked, said, answer], [asked, calling("here"), answer]],
        "assistant with tool calls": [[asked, calling(_MARK)]],
    }
    return [_role_result(tokenizer, role, places, arguments or {}) for role, places in tried.items()]


def _role_result(
    tokenizer: ChatTokenizer, role: str, places: list[list[dict[str, Any]]], arguments: Mapping[str, Any]
) -> RoleResult:
    reason = ""
    for messages in places:
        try:
            if _MARK in render(tokenizer, messages, arguments):
                return RoleResult(role, True)
        except Exception as error:  # templates raise what they like
            reason = reason or f"{type(error).__name__}: {error}"
    return RoleResult(role, False, reason)


_MARK = "27182818"
"""A content that no template prints by itself."""


def _stacked(
    tokenizer: ChatTokenizer, names: list[str], env_id: str | EnvSpec | None, arguments: Mapping[str, Any]
) -> Any:
    """Return the environment in its wrappers, with a :class:`_LatestAnswer` below the first that shows history."""
    env: Env[Any, Any] = _ChatExample() if env_id is None else make(env_id)
    watched = chats = False
    for name in filter(None, map(str.strip, names)):
        target = wrapper(name)
        if not watched and isinstance(target, type) and issubclass(target, HistoryWrapper):
            env, watched = _LatestAnswer(env), True
        taken = _parameters(target)
        given: dict[str, Any] = {}
        if "chat_template_kwargs" in taken:
            given = {"tokenizer": tokenizer, "chat_template_kwargs": dict(arguments)}
        elif "form" in taken:
            given = {"form": "messages"}
        missing = [name for name, default in taken.items() if default is inspect.Parameter.empty and name not in given]
        if missing:
            raise ArgumentError(
                f"the wrapper {name!r} needs the argument {missing[0]!r}, so it cannot be tried by its name alone"
            )
        env = target(env, **given)
        chats = chats or bool(given) or target is Messages
    if not chats:
        raise ArgumentError(
            f"the wrappers {','.join(names)!r} show no history of chat messages; end them with concat_chat or messages"
        )
    return env


def _parameters(target: Callable[..., Any]) -> dict[str, Any]:
    """Return the named parameters of a wrapper after the environment, with their defaults."""
    parameters = list(inspect.signature(target).parameters.values())[1:]
    return {p.name: p.default for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _played(
    env: Any, tokenizer: ChatTokenizer, kind: str, turns: int, seed: int, arguments: Mapping[str, Any]
) -> PromptEpisode:
    """Play one episode and return the first problem of its prompts."""
    prompts = _Prompts(kind)
    over = False
    try:
        observation, _ = env.reset(seed=seed)
        prompts.add(_prompt_of(observation, tokenizer, arguments), env.latest)
        while prompts.found is None and not over and prompts.turns < turns:
            prompts.turns += 1
            action = ACTION_KINDS[kind](env, prompts.latest, prompts.turns)
            prompts.said = action if isinstance(action, str) else None
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
            prompts.add(_prompt_of(observation, tokenizer, arguments), env.latest)
    except GemError:
        raise
    except Exception as error:  # templates raise what they like
        where = f"the prompt after turn {prompts.turns}" if prompts.turns else "the first prompt"
        prompts.fail("refused", f"the template refuses {where}: {type(error).__name__}: {error}")
    return prompts.found or PromptEpisode(kind, prompts.turns)


def _prompt_of(observation: Any, tokenizer: ChatTokenizer, arguments: Mapping[str, Any]) -> str:
    """Return the observation as the prompt of a model: messages are rendered, pictures left out."""
    if isinstance(observation, list) and observation and all("role" in item for item in observation):
        return render(tokenizer, observation, arguments)
    if isinstance(observation, list):
        return "".join(part["text"] for part in observation if is_text(part))
    if isinstance(observation, str):
        return observation
    raise ArgumentError(f"the wrappers show an observation of type {type(observation).__name__}, which is no prompt")


def _text_of(observation: Any) -> str:
    if isinstance(observation, list):
        return "\n".join(part["text"] for part in observation if is_text(part))
    return str(observation)


def _difference(before: str, now: str) -> tuple[str, str, str]:
    """Return the end of the common beginning, and how each of two texts goes on."""
    shared = next((i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now)))
    ends = slice(max(0, shared - AROUND), shared), slice(shared, shared + AROUND)
    return before[ends[0]], before[ends[1]], now[ends[1]]


def _plain(env: Env[Any, Any], prompt: str, turn: int) -> str:
    try:
        action = env.sample_random_action()
    except NotSupportedError:
        action = f"I choose \\boxed{{{turn}}}"
    return (action_text(action) or "").strip() or "yes"


def _reasoned(env: Env[Any, Any], prompt: str, turn: int) -> str:
    # Templates of some reasoning models open the tag themselves.
    opening = "" if prompt.rstrip().endswith("<think>") else "<think>\n"
    return f"{opening}Turn {turn}. Let me think.\n</think>\n\n{_plain(env, prompt, turn)}"


def _called_in_text(env: Env[Any, Any], prompt: str, turn: int) -> str:
    if turn % 3 == 0:  # calls and answers to the task take turns
        return _plain(env, prompt, turn)
    name = json.dumps(env.tools[0].name)  # type: ignore[attr-defined]  # of the tool wrapper
    return f'I use a tool. <tool_call>{{"name": {name}, "arguments": {{}}}}</tool_call>'


def _called_natively(env: Env[Any, Any], prompt: str, turn: int, count: int = 1) -> Action:
    if turn % 3 == 0:
        return _plain(env, prompt, turn)
    calls = [
        {
            "id": f"call{turn:03}{number:02}",  # nine letters and digits, as Mistral's templates demand
            "type": "function",
            "function": {"name": env.tools[0].name, "arguments": "{}"},  # type: ignore[attr-defined]
        }
        for number in range(count)
    ]
    return {"role": "assistant", "content": "I use a tool.", "tool_calls": calls}


ACTION_KINDS: dict[str, Callable[[Env[Any, Any], str, int], Action]] = {
    "text": _plain,
    "reasoning": _reasoned,
    "tool-text": _called_in_text,
    "tool-native": _called_natively,
    "tool-parallel": partial(_called_natively, count=2),
}
"""Name → an action for a turn.

``reasoning`` thinks in ``<think>`` tags first. The last three call the first tool in two turns of three: as text,
natively, and natively twice at once.
"""
