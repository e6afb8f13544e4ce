"""Classes of the original GEM with other names or arguments.

Only :mod:`gem.migration` leads here, for code that was written for the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from gem.core import Env
from gem.errors import ArgumentError, MissingPluginError
from gem.tools.base import Tool, ToolResult, failure

__all__ = ["WRAPPER_FACTORY", "BaseTool", "ObservationWrapper", "get_wrapper_fns"]

_WrapperFunction = Callable[..., Env[Any, Any]]


def ObservationWrapper(  # noqa: N802  # the name of a class of the original
    env: Env[Any, Any],
    include_action: bool = True,
    include_chat_template: bool = True,
    apply_chat_template_on_reset: bool = False,
    max_history_length: int | None = None,
    tokenizer: Any = None,
) -> Env[Any, Any]:
    """Return the observation wrapper for these arguments of the original's one class.

    Raises:
        ArgumentError: for combinations that the original refuses as well.
        ArgumentTypeError: if a chat template is asked for without a tokenizer.
    """
    from gem.wrappers.chat_history import ConcatChat, ConcatChatOnReset
    from gem.wrappers.text_history import Concat, ConcatWithAction

    if include_chat_template and apply_chat_template_on_reset:
        raise ArgumentError("include_chat_template and apply_chat_template_on_reset exclude each other")
    if include_chat_template:
        if not include_action:
            raise ArgumentError("include_chat_template needs include_action=True")
        return ConcatChat(env, tokenizer=tokenizer, max_history_length=max_history_length)
    if apply_chat_template_on_reset:
        return ConcatChatOnReset(
            env, tokenizer=tokenizer, include_action=include_action, max_history_length=max_history_length
        )
    concat = ConcatWithAction if include_action else Concat
    return concat(env, max_history_length=max_history_length)


class _MissingWrapperError(MissingPluginError, KeyError):
    """Also a KeyError, as a mapping's users expect."""

    __str__ = Exception.__str__  # that of KeyError shows the repr of the message


class _WrapperFactory(Mapping[str, _WrapperFunction]):
    """Every wrapper by name, those of plugins included; each is loaded on use.

    The values take an environment and keyword arguments. All of them take ``tokenizer``, as in the original's
    loops over names, and those that need none ignore it.
    """

    def __getitem__(self, name: str) -> _WrapperFunction:
        from gem.wrappers import wrapper

        try:
            found = wrapper(name)
        except MissingPluginError as error:
            raise _MissingWrapperError(str(error)) from None
        return found if _takes_tokenizer(found) else partial(_without_tokenizer, found)

    def __iter__(self) -> Iterator[str]:
        from gem.plugins import names

        return iter(names("gem_wrappers"))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"WRAPPER_FACTORY({', '.join(self)})"


WRAPPER_FACTORY: Mapping[str, _WrapperFunction] = _WrapperFactory()


def get_wrapper_fns(wrappers: str | None, tokenizer: Any = None) -> list[_WrapperFunction]:
    """Return the wrappers of a list of names joined by commas, ready to be applied from the inside out.

    Args:
        wrappers: names; None or an empty string stands for none.
        tokenizer: passed to those that accept one.

    Raises:
        MissingPluginError: if no installed package has the name; the message has the install line.
    """
    names = [name.strip() for name in (wrappers or "").split(",")]
    return [partial(WRAPPER_FACTORY[name], tokenizer=tokenizer) for name in names if name]


def _takes_tokenizer(function: _WrapperFunction) -> bool:
    from inspect import signature

    return "tokenizer" in signature(function).parameters


def _without_tokenizer(
    function: _WrapperFunction, env: Env[Any, Any], *args: Any, tokenizer: Any = None, **kwargs: Any
) -> Env[Any, Any]:
    return function(env, *args, **kwargs)


class BaseTool(Tool):
    """A tool written for the original: it gives ``instruction_string`` and ``execute_action``.

    It can be called by text only. ``tool_type`` is its name.
    """

    tool_type: str = "base"

    def __init__(self, num_workers: int = 1) -> None:
        self.num_workers = num_workers

    @cached_property
    def name(self) -> str:  # type: ignore[override]  # subclasses set tool_type, and are free to set this as well
        return self.tool_type

    def instruction_string(self) -> str:
        """Return the instructions for calling the tool."""
        raise NotImplementedError(f"{type(self).__name__} does not implement instruction_string")

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        """Carry out the call in a text.

        Returns:
            Whether there was a call, whether it failed, the text for the agent, and the part of the text that
            was acted on.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement execute_action")

    def respond(self, text: str) -> tuple[str, ToolResult] | None:
        try:
            is_call, has_error, observation, parsed_action = self.execute_action(text)
            if not is_call:
                return None
            result = ToolResult(observation, ok=not has_error)
        except (Exception, SystemExit) as error:
            return text, failure(self.name, error)
        return parsed_action if isinstance(parsed_action, str) else text, result
