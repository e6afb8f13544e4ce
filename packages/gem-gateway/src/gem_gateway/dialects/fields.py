"""Reading the fields of a request's body, in which a program may have put anything."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gem.errors import GemError
from gem_eval.clients import Sampling
from gem_gateway.call_errors import ModelCallError
from gem_gateway.dialects.base import CallSettings

__all__ = ["function_tool", "names_of", "objects", "optional_text", "picture", "sampling", "text", "unusable", "whole"]

_SHOWN = 80

_SIMPLE = frozenset({int, float, type(None)})


def unusable(message: str, param: str | None = None) -> ModelCallError:
    """Return the error for a field that breaks a rule."""
    return ModelCallError("unusable", message, param=param)


def text(value: Any, param: str) -> str:
    """Return a value that must be text.

    Raises:
        ModelCallError: if it is something else.
    """
    if not isinstance(value, str):
        raise unusable(f"{param} must be a string, got {_kind(value)}", param)
    return value


def optional_text(value: Any, param: str) -> str:
    """Return a value that must be text, or missing, which is the empty text."""
    return "" if value is None else text(value, param)


def objects(value: Any, param: str) -> list[dict[str, Any]]:
    """Return a value that must be a list of objects.

    Raises:
        ModelCallError: if it is something else.
    """
    if not isinstance(value, list):
        raise unusable(f"{param} must be a list, got {_kind(value)}", param)
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise unusable(f"{param}[{index}] must be an object, got {_kind(item)}", f"{param}[{index}]")
    return value


def whole(value: Any, param: str, minimum: int = 0) -> int | None:
    """Return a value that must be a whole number, or missing."""
    if value is None:
        return None
    if type(value) is not int or not minimum <= value < 2**31:
        raise unusable(f"{param} must be a whole number from {minimum} to {2**31 - 1}, got {value!r:.{_SHOWN}}", param)
    return value


def sampling(body: Mapping[str, Any], most: str, extra: dict[str, Any], **fixed: Any) -> Sampling:
    """Return how a request wants the model to sample.

    Args:
        body: with ``temperature``, ``top_p``, ``seed`` and a limit, each of which may be missing.
        most: the name of the field that limits the answer's tokens.
        extra: further fields for the model's server.
        fixed: other fields of :class:`Sampling`.

    Raises:
        ModelCallError: for values that no server takes.
    """
    most_tokens = whole(body.get(most), most, minimum=1)
    numbers = body.get("temperature"), body.get("top_p"), most_tokens, body.get("seed")
    try:
        if not (extra or any(fixed.values())) and _SIMPLE.issuperset(map(type, numbers)):
            return _plain_sampling(*numbers)
        temperature, top_p, _, seed = numbers
        return Sampling(temperature=temperature, top_p=top_p, max_tokens=most_tokens, seed=seed, extra=extra, **fixed)
    except GemError as error:
        if isinstance(error, ModelCallError):
            raise
        raise unusable(str(error)) from error


@lru_cache(maxsize=1024, typed=True)
def _plain_sampling(temperature: Any, top_p: Any, max_tokens: int | None, seed: Any) -> Sampling:
    """Return a sampling that programs ask for again and again, the same object each time."""
    return Sampling(temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed)


def function_tool(name: Any, description: Any, parameters: Any, param: str) -> dict[str, Any]:
    """Return the declaration of a function as chat APIs take it.

    Raises:
        ModelCallError: if it has no name, or its schema is no object.
    """
    if not isinstance(name, str) or not name:
        raise unusable(f"{param}.name must be a string that is not empty", f"{param}.name")
    if parameters is not None and not isinstance(parameters, dict):
        raise unusable(f"the schema of {name[:_SHOWN]!r} must be an object, got {_kind(parameters)}", param)
    function: dict[str, Any] = {"name": name}
    if description:
        function["description"] = text(description, f"{param}.description")
    function["parameters"] = parameters if parameters is not None else {"type": "object", "properties": {}}
    return {"type": "function", "function": function}


def picture(url: Any, settings: CallSettings, param: str, detail: Any = None) -> dict[str, Any]:
    """Return the content part of a picture.

    Raises:
        ModelCallError: for a URL that somebody would have to fetch, where the settings forbid it.
    """
    address = text(url, param)
    if not address.startswith("data:image/") and not (
        settings.remote_pictures and address.startswith(("http://", "https://"))
    ):
        raise unusable(
            f"{param} must be a data URL (data:image/png;base64,…), for this gateway fetches nothing; "
            f"got {address[:_SHOWN]!r}",
            param,
        )
    part: dict[str, Any] = {"url": address}
    if isinstance(detail, str):
        part["detail"] = detail
    return {"type": "image_url", "image_url": part}


def names_of(tools: list[dict[str, Any]]) -> set[str]:
    """Return the names of declared functions."""
    return {tool["function"]["name"] for tool in tools}


def _kind(value: Any) -> str:
    return {type(None): "null", bool: "a boolean", str: "a string", list: "a list", dict: "an object"}.get(
        type(value), "a number"
    )
