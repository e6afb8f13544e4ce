"""The scripted policies that answer in the model's place.

Each is a function of the request alone. A policy that plays a game is fed the conversation from its beginning at every
request, so the server keeps no state of episodes and may be asked in any order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from gem.core import Action
from gem.errors import ArgumentError, GemError, NotSupportedError
from gem_eval.fake_model.conversation import text_of
from gem_eval.fake_model.json_instances import instance
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest, SampledCall, UnusableRequest
from gem_eval.fake_model.reference_policies import reference_answers

__all__ = ["AnswerMaker", "answer_maker", "as_answer", "call_tool"]

AnswerMaker = Callable[[ModelRequest], "ModelAnswer | Action"]
"""Returns an answer, its text, or an assistant message."""

_NAMES = "echo, constant:TEXT, null, random, judge[:NUMBER], tool[:NAME], script:FILE, module:function, or an id"


def answer_maker(policy: str | AnswerMaker) -> AnswerMaker:
    """Return the policy of a name.

    ====================  ==============================================================================
    ``echo``              repeats the last message
    ``constant:TEXT``     always answers TEXT
    ``null``              always answers nothing
    ``random``            a few random words; random arguments where the request offers tools
    ``judge[:NUMBER]``    JSON by the schema of the request; NUMBER wherever its bounds admit it
    ``tool[:NAME]``       calls a tool of the request with random arguments that fit its schema
    ``script:FILE``       the k-th line of FILE to the k-th turn: text, or an assistant message in JSON
    ``module:function``   a function that takes a request and returns text or an assistant message
    an environment's id   its reference policy, if that plays from observations alone; also several, with commas
    ====================  ==============================================================================

    Where the request sets a JSON schema, all but the last four answer by it.

    Raises:
        ArgumentError: for another name, or a script that cannot be read.
        NotSupportedError: if the environment has no reference policy that plays from observations.
        GemError: if the environment or the function is not found.
    """
    if callable(policy):
        return policy
    kind, _, rest = policy.partition(":")
    if kind == "constant":
        return _by_schema(lambda request: rest)
    if kind == "judge":
        return _judge(rest)
    if kind == "tool":
        return lambda request: call_tool(request, rest)
    if kind == "script":
        return _script(Path(rest))
    if policy in ("echo", "null", "random"):
        return _by_schema({"echo": _echo, "null": lambda request: "", "random": _random}[policy])
    from gem.registry import spec

    try:
        return reference_answers([spec(name) for name in policy.split(",")])
    except (GemError, ValueError) as error:
        if isinstance(error, NotSupportedError) or not rest:
            raise
        return _function(policy, error)


def as_answer(value: object) -> ModelAnswer:
    """Return an answer for what a policy returned.

    Raises:
        UnusableRequest: if it is neither text nor an assistant message.
    """
    if isinstance(value, ModelAnswer):
        return value
    if isinstance(value, str):
        return ModelAnswer(value)
    if not isinstance(value, Mapping):
        raise UnusableRequest(f"the scripted policy returned {type(value).__name__}, neither text nor a message", 500)
    calls = []
    for call in value.get("tool_calls") or ():
        function = call["function"]
        arguments = function.get("arguments", "{}")
        arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
        calls.append(SampledCall(function["name"], arguments, call.get("id")))
    content = value.get("content")
    text = None if content is None else text_of(content)
    return ModelAnswer(text, value.get("reasoning_content") or value.get("reasoning"), calls)


def _by_schema(policy: AnswerMaker) -> AnswerMaker:
    def answer(request: ModelRequest) -> ModelAnswer | Action:
        if request.schema is not None:
            return json.dumps(instance(request.schema, request.rng))
        if request.forced_tool:
            return call_tool(request, "")
        return policy(request)

    return answer


def _echo(request: ModelRequest) -> str:
    return text_of(request.messages[-1].get("content")) if request.messages else ""


def _random(request: ModelRequest) -> ModelAnswer | Action:
    if request.tools and request.rng.random() < 0.5:
        return call_tool(request, "")
    return " ".join(request.rng.choice(_WORDS) for _ in range(request.rng.randint(1, 12)))


def _judge(number: str) -> AnswerMaker:
    try:
        value = float(number) if number else None
    except ValueError:
        raise ArgumentError(f"judge:NUMBER needs a number, got {number!r}") from None

    def judge(request: ModelRequest) -> str:
        schema = request.schema or {"type": "object", "properties": {"score": {"type": "number"}}}
        return json.dumps(instance(schema, request.rng, value))

    return judge


def call_tool(request: ModelRequest, name: str) -> ModelAnswer:
    """Return a call of a tool that the request offers, with random arguments that fit its schema."""
    functions = [
        tool["function"]
        for tool in request.tools
        if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping)
    ]
    choice = request.body.get("tool_choice")
    if isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping):
        name = str(choice["function"].get("name"))
    if name:
        functions = [function for function in functions if function.get("name") == name]
    if not functions:
        return ModelAnswer(f"The tool {name} is not offered." if name else "No tool is offered.")
    function = request.rng.choice(functions)
    arguments = instance(function.get("parameters") or {"type": "object"}, request.rng)
    return ModelAnswer(None, tool_calls=[SampledCall(str(function.get("name")), json.dumps(arguments))])


def _script(path: Path) -> AnswerMaker:
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"the script {path} cannot be read: {error}") from error
    if not lines:
        raise ArgumentError(f"the script {path} holds no answer")
    answers: list[Action] = [_scripted(line, path) for line in lines]

    def answer(request: ModelRequest) -> Action:
        turn = sum(message.get("role") == "assistant" for message in request.messages)
        chosen: Action = answers[min(turn, len(answers) - 1)]
        return chosen

    return answer


def _scripted(line: str, path: Path) -> Action:
    if not line.startswith("{"):
        return line
    try:
        message: Action = json.loads(line)
        as_answer(message)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentError(f"in {path}, this line is no assistant message: {line[:80]!r} ({error!r})") from error
    return message


def _function(target: str, not_found: Exception) -> AnswerMaker:
    from gem.entry_points import load

    try:
        function = load(target)
    except GemError:
        raise ArgumentError(f"policy must be {_NAMES}, got {target!r}: {not_found}") from not_found
    if not callable(function):
        raise ArgumentError(f"the policy {target!r} is {type(function).__name__}, which cannot be called")
    made: AnswerMaker = function
    return made


_WORDS = ("the", "a", "move", "left", "right", "up", "down", "answer", "number", "\\boxed{1}", "yes", "no")
