"""Tools made from plain functions: :func:`tool` and :class:`FunctionTool`.

The schema comes from the type hints and the docstring (``Args:`` in Google style); pydantic makes it, and
checks and converts the arguments of every call.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import typing
import warnings
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, overload

from gem.arguments import boolean
from gem.discovery.pydantic_start import start_pydantic
from gem.errors import ToolError
from gem.tools.base import Tool, ToolResult
from gem.tools.episode import FromEpisode

__all__ = ["FunctionTool", "tool"]

_MOST_PROBLEMS = 20
"""Maximum number of problems with arguments in a message; an agent cannot correct more at once."""

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns|Return|Yields|Raises|Examples?|Notes?):\s*")
_ENTRY = re.compile(r"\*{0,2}(\w+)(?: *\([^()]*\))?: *(.*)")


class FunctionTool(Tool):
    """A function as a tool.

    Args:
        function: takes arguments by keyword, with types that pydantic knows. It returns a str, a
            :class:`gem.tools.ToolResult`, or any value that JSON can hold, which the agent reads as JSON. The agent
            reads the message of an exception. The function may run in several threads at once; async functions
            share one event loop. The episode fills parameters with :class:`gem.tools.FromEpisode` in their annotation.
        name: the function's own unless given.
        description: the first part of the function's docstring, up to its first section, unless given.
        tag: if given, ``<tag>…</tag>`` in a text calls the tool as well, with the content as its only required
            argument, a str.
        parallel: whether a call may run at the same time as other calls of one message.

    Raises:
        ToolError: if the function cannot be a tool; the message gives the reason.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        tag: str | None = None,
        parallel: bool = False,
    ) -> None:
        if not callable(function) or inspect.isasyncgenfunction(function):
            raise ToolError(f"a tool is made of a function that returns one value, got {function!r}")
        self.function: Callable[..., Any] = function
        self.name = name if name is not None else getattr(function, "__name__", type(function).__name__)
        self.tag = tag
        self.parallel = boolean("parallel", parallel)
        summary, described = _read_docstring(inspect.getdoc(function) or "")
        self.description = description if description is not None else summary
        self._fields, self._model, self._from_episode = _argument_model(self.name, function, described)
        self._values: Mapping[str, Any] | None = None
        self._original: FunctionTool | None = None
        self.parameters = _schema(self.name, self._model)
        self.check()
        self.__module__ = getattr(function, "__module__", None) or __name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as without the decorator."""
        return self.function(*args, **kwargs)

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self._original is not None:
            return FunctionTool.for_wrapper, (self._original,)
        # A decorated function is found under its own name, where pickle would look for the undecorated one.
        name = getattr(self.function, "__qualname__", "")
        if getattr(sys.modules.get(self.__module__), name, None) is self:
            return name
        settings = {"name": self.name, "description": self.description, "tag": self.tag, "parallel": self.parallel}
        return partial(FunctionTool, **settings), (self.function,)  # type: ignore[arg-type]

    def for_wrapper(self) -> FunctionTool:
        if not self._from_episode:
            return self
        own = object.__new__(type(self))
        own.__dict__.update(self.__dict__)
        own._original = self._original or self
        return own

    def reset(self, env: Any = None, info: Mapping[str, Any] | None = None) -> None:
        """Begin a new episode: take the values that the function needs.

        Raises:
            ToolError: if the episode has no such value.
        """
        if not self._from_episode:
            return
        self._values = {} if env is None else env.episode_values
        for parameter, (name, optional) in self._from_episode.items():
            if not optional and name not in self._values:
                raise ToolError(
                    f"tool {self.name}: the parameter {parameter} needs the value {name!r} of the episode; "
                    "the environment offers it in the mapping episode_values"
                )

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        from pydantic import ValidationError

        try:
            values = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            return ToolResult(_problems(self.name, error), ok=False)
        given = {name: getattr(values, field) for field, name in self._fields.items()}
        for parameter, (name, _) in self._from_episode.items():
            if self._values is not None and name in self._values:
                given[parameter] = self._values[name]
        result = self.function(**given)
        if isinstance(result, Coroutine):
            from gem.tools.event_loop import completed

            result = completed(result)
        return _result(result)


@overload
def tool(
    function: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    tag: str | None = None,
    parallel: bool = False,
) -> FunctionTool: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, tag: str | None = None, parallel: bool = False
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    tag: str | None = None,
    parallel: bool = False,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a function a tool: ``@tool``, or ``@tool(tag="search")`` with the arguments of :class:`FunctionTool`."""
    if function is None:
        return partial(FunctionTool, name=name, description=description, tag=tag, parallel=parallel)
    return FunctionTool(function, name=name, description=description, tag=tag, parallel=parallel)


def _argument_model(
    name: str, function: Callable[..., Any], described: Mapping[str, str]
) -> tuple[dict[str, str], Any, dict[str, tuple[str, bool]]]:
    """Return the model's fields, each with its parameter; the pydantic model; the parameters that the episode fills.

    Each of the last has the name of its value, and whether it has a default.
    """
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError

    start_pydantic()
    try:
        parameters = inspect.signature(function).parameters.values()
        target = function if inspect.isroutine(function) else type(function).__call__
        hints = typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, ValueError, SyntaxError) as error:
        raise ToolError(f"tool {name}: the function's signature cannot be read: {error}") from error
    fields: dict[str, str] = {}
    definitions: dict[str, Any] = {}
    from_episode: dict[str, tuple[str, bool]] = {}
    for index, parameter in enumerate(parameters):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolError(f"tool {name}: parameter {parameter} cannot be given by keyword")
        if index == 0 and parameter.name in ("self", "cls"):
            raise ToolError(f"tool {name}: make a tool of a bound method, tool(instance.{name}), not of the class's")
        annotation = hints.get(parameter.name, Any)
        mark = next((item for item in typing.get_args(annotation)[1:] if isinstance(item, FromEpisode)), None)
        if mark is not None:
            from_episode[parameter.name] = mark.name or parameter.name, parameter.default is not parameter.empty
            continue
        # Names of its own, because a parameter may have the name of one of the model's methods, or start with "_".
        field = f"argument_{index}"
        fields[field] = parameter.name
        default = ... if parameter.default is parameter.empty else parameter.default
        about = described.get(parameter.name)
        definitions[field] = (annotation, Field(default, alias=parameter.name, description=about))
    try:
        model = create_model(name, __config__=ConfigDict(extra="forbid"), **definitions)
    except (PydanticUserError, TypeError) as error:
        raise ToolError(f"tool {name}: pydantic cannot check its arguments: {error}") from error
    return fields, model, from_episode


def _schema(name: str, model: Any) -> dict[str, Any]:
    from pydantic.errors import PydanticUserError
    from pydantic.json_schema import PydanticJsonSchemaWarning

    try:
        with warnings.catch_warnings():
            # The schema leaves out a default that JSON cannot hold, without a warning.
            warnings.simplefilter("ignore", PydanticJsonSchemaWarning)
            schema: dict[str, Any] = model.model_json_schema()
    except PydanticUserError as error:
        raise ToolError(f"tool {name}: its arguments have no JSON schema: {error}") from error
    # pydantic makes titles of the internal names; they would only cost the model tokens.
    del schema["title"]
    for argument in schema["properties"].values():
        argument.pop("title", None)
    return schema


def _problems(name: str, error: Any) -> str:
    count = error.error_count()
    if count > _MOST_PROBLEMS:
        return f"{name} was not called: {count} problems with its arguments."
    found = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"- {'.'.join(map(str, problem['loc']))[:200]}: {problem['msg']}" for problem in found]
    return "\n".join([f"{name} was not called, because of its arguments:", *lines])


def _result(value: Any) -> ToolResult:
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        return ToolResult(value)
    if value is None:
        return ToolResult("The call was carried out; it returns nothing.")
    from pydantic_core import to_jsonable_python

    try:
        data = to_jsonable_python(value)
        return ToolResult(json.dumps(data, ensure_ascii=False), data=data)
    except (TypeError, ValueError, RecursionError):  # not JSON, for example NaN, or an object that is not data
        return ToolResult(str(value))


def _read_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section, and the description of each parameter in the ``Args:`` section."""
    summary: list[str] = []
    described: dict[str, list[str]] = {}
    section, indent, current = "", 0, ""
    for line in docstring.splitlines():
        heading = _SECTION.fullmatch(line)
        if heading is not None:
            section, indent = heading[1], 0
        elif not section:
            summary.append(line)
        elif section in ("Args", "Arguments", "Parameters") and line.strip():
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            entry = _ENTRY.fullmatch(line.strip()) if depth == indent else None
            if entry is not None:
                current = entry[1]
                described[current] = [entry[2]]
            elif current:
                described[current].append(line.strip())
    return "\n".join(summary).strip(), {name: " ".join(filter(None, lines)) for name, lines in described.items()}
