"""The interface of a tool: :class:`Tool`, and the result of a call, :class:`ToolResult`."""

from __future__ import annotations

import json
import re
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from gem.errors import ArgumentTypeError, NotSupportedError, ToolError
from gem.faults import INTERRUPTS
from gem.tools.calls import ToolCall, tagged, text_call
from gem.tools.json_values import copied
from gem.tools.typed_arguments import typed_arguments

__all__ = ["Tool", "ToolResult", "failure"]

_LONGEST_MESSAGE = 2000
"""Maximum number of characters of an exception's message that the agent sees."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class ToolResult:
    """The answer of a tool."""

    text: str
    """The text for the agent. A lone surrogate, which no UTF-8 file can hold, becomes a question mark."""
    ok: bool = True
    """False if the call failed; the text then gives the reason."""
    content: tuple[Mapping[str, Any], ...] = ()
    """OpenAI-style content parts that go with the text, pictures for example; JSON values."""
    data: Any = None
    """The same answer as a JSON value, for programs."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ArgumentTypeError(f"the text of a tool's result must be a str, got {type(self.text).__name__}")
        if not self.text.isascii():
            object.__setattr__(self, "text", self.text.encode(errors="replace").decode())
        try:
            if self.content != ():
                object.__setattr__(self, "content", tuple(copied(list(self.content))))
            if self.data is not None:
                object.__setattr__(self, "data", copied(self.data))
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"content and data of a tool's result must be JSON values: {error}") from error


class Tool:
    """A function that an agent can call while it works on a task.

    A subclass sets ``name``, ``description`` and ``parameters``, and defines ``execute``, which may be async. It may
    set ``tag``, and override ``parse`` and ``instruction_string`` for a syntax of its own. A tool with a state over an
    episode defines ``reset``, ``get_state`` and ``set_state``; one with resources of an episode defines
    ``end_episode``; one with other resources defines ``close``.
    ``ToolEnvWrapper.spawn`` copies tools with :func:`copy.deepcopy`; a tool that this cannot copy defines
    ``__deepcopy__``.
    """

    name: str
    """1 to 64 characters of ``a-z A-Z 0-9 _ -``, as chat APIs demand."""
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    """JSON schema of the arguments, an object. None: the tool can be called by text only."""
    tag: str | None = None
    """If set, ``<tag>…</tag>`` in a text calls the tool, with the content as its only required argument."""
    aliases: tuple[str, ...] = ()
    """Other names by which a call finds the tool, unless a tool has that name."""
    parallel: bool = False
    """Whether a call may run at the same time as other calls of one message whose tools allow that too."""

    def to_openai(self) -> dict[str, Any]:
        """Return the function schema that chat APIs take in ``tools``.

        Raises:
            NotSupportedError: if the tool can be called by text only.
        """
        if self.parameters is None:
            raise NotSupportedError(f"tool {self.name} has no parameters schema; it can be called by text only")
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": json.loads(json.dumps(function))}

    def instruction_string(self) -> str:
        """Return the instructions for calling the tool by text."""
        about = f"{self.name}: {self.description}" if self.description else self.name
        argument = self._tag_argument()
        if argument is not None:
            return f"{about}\nTo call it, write <{self.tag}>{argument}</{self.tag}>."
        schema = {} if self.parameters is None else self.parameters
        call = f'<tool_call>{{"name": "{self.name}", "arguments": {{...}}}}</tool_call>'
        return (
            f"{about}\nTo call it, write {call}, where the arguments follow this JSON schema: "
            f"{json.dumps(schema, ensure_ascii=False)}"
        )

    def parse(self, text: str) -> ToolCall | None:
        """Return the first call of this tool in a text, or None.

        Calls in the tool's own tag come before those that name it.
        """
        argument = self._tag_argument()
        if argument is not None:
            assert self.tag is not None
            found = tagged(text, self.tag)
            if found is not None:
                return ToolCall(self.name, {argument: found[0].strip()}, found[1])
        names = (self.name, *self.aliases)
        if not any(name in text for name in names):
            return None  # spares each of many tools the decoding; the wrapper reads the rest once for all
        call = text_call(text)
        return call if call is not None and call.name in names else None

    def execute(self, arguments: Mapping[str, Any]) -> Any:
        """Carry out a call and return a :class:`ToolResult`.

        A subclass may define it with ``async def``; all coroutines of a process run in one event loop. An exception is
        reported to the agent as a failed call, with its message.
        """
        raise NotSupportedError(f"{type(self).__name__} does not implement execute")

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out a call, or return a failed result with the reason.

        An exception of the tool, ``sys.exit`` and a leaked cancellation included, becomes a failed result; an
        interrupt of the program is passed on.
        """
        if call.error is not None:
            return ToolResult(call.error, ok=False)
        arguments = typed_arguments(call.arguments, self.parameters) if call.untyped else call.arguments
        try:
            result: object = self.execute(arguments)
            if isinstance(result, Coroutine):
                from gem.tools.event_loop import completed

                result = completed(result)
        except INTERRUPTS:
            raise
        except BaseException as error:
            return failure(self.name, error)
        if isinstance(result, ToolResult):
            return result
        return ToolResult(f"{self.name} failed: it returned {type(result).__name__} in place of a result.", ok=False)

    def respond(self, text: str) -> tuple[str, ToolResult] | None:
        """Carry out the first call of this tool in a text.

        Returns:
            The text up to the end of the call, and the result. None if the text holds no such call.
        """
        try:
            call = self.parse(text)
        except Exception as error:
            return text, failure(self.name, error)
        return None if call is None else (text[: call.end], self.call(call))

    def reset(self, *args: Any, **kwargs: Any) -> None:
        """Begin a new episode.

        A subclass defines ``reset(self)``, or ``reset(self, env, info)`` to know the episode: ``env`` is the
        :class:`~gem.tools.ToolEnvWrapper` after the reset of its environment, with ``env.episode_values`` (see
        :class:`gem.tools.EpisodeValues`), and ``info`` is the info of that reset. In the second case, a reset with an
        empty ``info`` precedes ``set_state``.
        """

    def end_episode(self) -> None:
        """Release what belongs to the episode, because the environment is about to replace or to remove it.

        Called before the environment is reset or closed. Calling it again does nothing.
        """

    def get_state(self) -> dict[str, Any]:
        """Return the state that later calls depend on, JSON-serialisable; empty for a tool without one."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of ``get_state``; raise ``ValueError`` or ``TypeError`` for anything else."""

    def close(self) -> None:
        """Release the tool's resources. Calling it again does nothing; a later call opens them again."""

    def for_wrapper(self) -> Tool:
        """Return the tool that one wrapper uses: this one, or a copy if it keeps values of an episode."""
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _tag_argument(self) -> str | None:
        """Return the name of the argument that the tag's content fills; None without a tag."""
        if self.tag is None or self.parameters is None:
            return None
        required: list[str] = self.parameters["required"]
        return required[0]

    def check(self) -> None:
        """Raise ``ToolError`` if the tool is declared wrongly."""
        name = getattr(self, "name", None)
        if not isinstance(name, str) or not name:
            raise ToolError(f"{type(self).__name__} needs a name that is a non-empty str, got {name!r}")
        if self.parameters is None:
            return
        if not _NAME.fullmatch(name):
            raise ToolError(f"the name of a tool is 1 to 64 of a-z A-Z 0-9 _ -, got {name!r:.80}")
        self._check_parameters(self.parameters)

    def _check_parameters(self, parameters: Mapping[str, Any]) -> None:
        try:
            json.dumps(parameters)
        except (TypeError, ValueError) as error:
            raise ToolError(f"tool {self.name}: the parameters schema is not JSON: {error}") from error
        if self.tag is None:
            return
        if not _NAME.fullmatch(self.tag) or self.tag == "tool_call":
            raise ToolError(f"tool {self.name}: a tag is 1 to 64 of a-z A-Z 0-9 _ -, not tool_call, got {self.tag!r}")
        required = parameters.get("required", [])
        kinds = [parameters.get("properties", {}).get(name, {}).get("type") for name in required]
        if kinds != ["string"]:
            raise ToolError(
                f"tool {self.name}: a tag holds the one required argument, which must be a string; "
                f"required are {', '.join(required) or 'none'}"
            )


def failure(name: str, error: BaseException) -> ToolResult:
    """Return the result of a call that raised."""
    try:
        message = str(error)[:_LONGEST_MESSAGE]
    except Exception:  # a hostile __str__ must not hide that the call failed
        message = "no message"
    kind = type(error).__name__
    return ToolResult(f"{name} failed: {kind}: {message}" if message else f"{name} failed: {kind}", ok=False)
