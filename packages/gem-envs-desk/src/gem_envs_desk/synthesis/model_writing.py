"""What a model writes: other words for tasks, and lists of tools from a text. Both pass the checks of everything else.

A model writes data alone, never code, so nothing that it returns is executed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gem.errors import GemError
from gem.plugins import lookup, names
from gem.tools.event_loop import completed
from gem_envs_desk.checks import check_task
from gem_envs_desk.domain import DeskDomain
from gem_envs_desk.synthesis.errors import DescriptionError
from gem_envs_desk.synthesis.making import MadeTasks
from gem_envs_desk.synthesis.store_spec import StoreSpec
from gem_envs_desk.synthesis.task_list import TaskList
from gem_envs_desk.synthesis.tool_list import spec_of_tools
from gem_envs_desk.task import DeskTask

__all__ = ["Chat", "chat_with", "phrased", "spec_of_text"]

Chat = Callable[[list[dict[str, Any]]], str]
"""Returns a model's answer to messages."""

_HOOK = "gem_model_clients"
_ROUNDS = 4
"""Attempts of a model at a list of tools; each sees what was wrong with the one before."""
_LONGEST_TEXT = 100_000
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\w.])-?\d+(?:\.\d+)?(?!\w)')
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)

_REPHRASE = """Rewrite this request to an assistant in natural, varied words. Keep every value in quotes and every \
number exactly as it is, keep what is asked for, and add nothing. Answer with the request alone.

"""

_DESIGN = """Design the tools of the service that is described below. Answer with JSON in this form, and nothing else:

{"title": "…",
 "resources": {"order": {"key": "order_id", "properties": {"order_id": {"type": "string"}, "status": {"enum": \
["open", "cancelled"]}, "total": {"type": "number", "minimum": 1, "maximum": 500}}, "required": ["status", "total"]}},
 "tools": [{"name": "cancel_order", "description": "…", "parameters": {"type": "object", "properties": {"order_id": \
{"type": "string"}}, "required": ["order_id"]}, "effect": {"update": "order", "set": {"status": "cancelled"}, \
"where": {"status": "open"}}}]}

An effect has one of create, read, list, update and delete with the name of a resource; "set" gives fixed values, \
"where" what must hold before. Each resource needs a tool that lists its records. A property such as customer_id links \
to the resource customer. Properties are strings, numbers, integers, booleans or enums.

"""


def chat_with(base_url: str | None, model: str | None) -> Chat:
    """Return a function that asks a model; gem-eval brings the clients.

    Raises:
        MissingPluginError: if no installed package has a client for the URL.
        DescriptionError: if there is no URL.
    """
    if base_url is None:
        raise DescriptionError("a model needs --base-url as well: where it is served, as for gem eval")
    scheme = base_url.partition(":")[0].lower()
    scheme = scheme if scheme in names(_HOOK) else "http"
    client = lookup(_HOOK, scheme, "model client", {"http": "gem-eval"})(base_url, model=model)

    def chat(messages: list[dict[str, Any]]) -> str:
        try:
            return str(completed(client.chat(messages)).text)
        except GemError:
            raise
        except Exception as error:
            raise DescriptionError(f"the model at {base_url} gives no answer: {error}"[:500]) from error

    return chat


def phrased(made: MadeTasks, domain: DeskDomain, chat: Chat) -> MadeTasks:
    """Return the tasks in a model's words, where these keep every value and pass the checks, else as they were."""
    tasks: dict[tuple[int, str], list[DeskTask]] = {}
    counts = Counter(made.thrown_away)
    for level, split, task in made.tasks.all():
        text = chat([{"role": "user", "content": f"{_REPHRASE}{task.text}"}]).strip()
        reason = _unfaithful(task, text)
        new = replace(task, text=text)
        if reason is None and any(fault.clause == "leak" for fault in check_task(domain, replace(new, script=None))):
            reason = "it tells the answer"
        if reason is not None:
            counts[f"a wording of the model's, because {reason}"] += 1
        tasks.setdefault((level, split), []).append(new if reason is None else task)
    return MadeTasks(TaskList(tasks), counts)


def spec_of_text(text: str, source: str, chat: Chat) -> StoreSpec:
    """Return the service that a model designs for a description; faults go back to the model.

    Args:
        text: the description.
        source: its name, for messages.
        chat: asks the model.

    Raises:
        DescriptionError: if the model's last attempt has a fault, too.
    """
    messages = [{"role": "user", "content": _DESIGN + text[:_LONGEST_TEXT]}]
    for attempt in range(_ROUNDS):
        answer = chat(messages)
        try:
            return spec_of_tools(_json_in(answer), source)
        except DescriptionError as error:
            if attempt + 1 == _ROUNDS:
                raise DescriptionError(
                    f"the model made no service of {source} in {_ROUNDS} attempts: {error}"
                ) from error
            messages += [
                {"role": "assistant", "content": answer},
                {"role": "user", "content": f"That is not usable: {error}. Answer with the whole JSON again."},
            ]
    raise AssertionError("the last attempt returns or raises")


def _unfaithful(task: DeskTask, text: str) -> str | None:
    """Return why a wording cannot stand for the text of a task, or None."""
    if not text or len(text) > 4 * len(task.text) + 400:
        return "it is empty or too long"
    missing = Counter(_VALUE.findall(task.text)) - Counter(_VALUE.findall(text))
    added = Counter(_VALUE.findall(text)) - Counter(_VALUE.findall(task.text))
    if missing:
        return "a value is missing"
    return "a value was added" if added else None


def _json_in(answer: str) -> Mapping[str, Any]:
    fenced = _FENCE.search(answer)
    text = fenced[1] if fenced else answer[answer.find("{") : answer.rfind("}") + 1]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"the answer is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DescriptionError("the answer is no JSON object")
    return value
