"""Checks on arguments, so that every environment rejects bad input with the same messages.

Each function returns its value, so that a constructor reads as a list of assignments::

    self.max_turns = integer("max_turns", max_turns, minimum=1)
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from math import inf, isfinite
from typing import Any, TypeVar

from gem.errors import ArgumentError, ArgumentTypeError, UnknownArgumentError

__all__ = [
    "boolean",
    "check_names",
    "choice",
    "integer",
    "keyword_names",
    "nearest",
    "real",
    "seed_value",
    "string",
    "takes_seed",
]

T = TypeVar("T")

_VARIADIC_KEYWORD = 0x08  # a code flag, documented in the inspect module


def integer(name: str, value: object, *, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return ``value`` as an int if it is one (or one of NumPy, not a bool) within the closed range.

    Raises:
        ArgumentTypeError: if ``value`` is not an int.
        ArgumentError: if it lies outside ``minimum`` … ``maximum``.
    """
    number = _exact_int(value)
    if number is None:
        raise ArgumentTypeError(f"{name} must be an int, got {_show(value)}")
    _check_range(name, number, minimum, maximum)
    return number


def real(name: str, value: object, *, minimum: float | None = None, maximum: float | None = None) -> float:
    """Return ``value`` as a float if it is a finite number (not a bool) within the closed range.

    Raises:
        ArgumentTypeError: if ``value`` is not an int or float.
        ArgumentError: if it is not finite or lies outside ``minimum`` … ``maximum``.
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name} must be a number, got {_show(value)}")
    _check_range(name, value, minimum, maximum)
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if not isfinite(number):
        raise ArgumentError(f"{name} must be finite, got {_show_number(value)}")
    return number


def boolean(name: str, value: object) -> bool:
    """Return ``value`` if it is ``True`` or ``False``; raise ``ArgumentTypeError`` otherwise."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name} must be True or False, got {_show(value)}")
    return value


def string(name: str, value: object) -> str:
    """Return ``value`` if it is a non-empty str.

    Raises:
        ArgumentTypeError: if ``value`` is not a str.
        ArgumentError: if it is empty.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} must be a str, got {_show(value)}")
    if not value:
        raise ArgumentError(f"{name} must not be empty")
    return value


def choice(name: str, value: T, options: Iterable[T]) -> T:
    """Return ``value`` if it is one of ``options``; raise ``ArgumentError`` with all of them otherwise."""
    known = list(options)
    if any(value == option and type(value) is type(option) for option in known):
        return value
    listed = ", ".join(repr(option) for option in known)
    raise ArgumentError(f"{name} must be one of {listed}, got {_show(value)}")


def seed_value(seed: object) -> int:
    """Return ``seed`` as an int if it is a seed: any non-negative int of any size, or one of NumPy.

    Raises:
        ArgumentTypeError: if it is not an int (a bool is not one).
        ArgumentError: if it is negative.
    """
    number = _exact_int(seed)
    if number is None:
        raise ArgumentTypeError(f"seed must be a non-negative int or None, got {_show(seed)}")
    if number < 0:
        raise ArgumentError(f"seed must be a non-negative int or None, got {_show_number(number)}")
    return number


def check_names(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ``UnknownArgumentError`` for the first of ``given`` that is not in ``known``.

    The message holds the nearest known name, or all of them when none is near.
    """
    names = list(known)
    for name in given:
        if name not in names:
            hint = nearest(name, names)
            if hint is not None:
                advice = f"did you mean {hint!r}?"
            elif names:
                advice = f"it takes {', '.join(names)}"
            else:
                advice = "it takes none"
            raise UnknownArgumentError(f"{owner} has no argument {name!r}; {advice}", name)


def keyword_names(method: Any) -> tuple[str, ...] | None:
    """Return the names of a method's arguments without ``self``; None where it takes any name or hides its code."""
    code = getattr(method, "__code__", None)
    if code is None or code.co_flags & _VARIADIC_KEYWORD:
        return None
    names: tuple[str, ...] = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return names


def takes_seed(entry_point: Any) -> bool:
    """Return whether a constructor, or another callable that makes an environment, has a parameter ``seed``."""
    function = getattr(entry_point, "__init__") if isinstance(entry_point, type) else entry_point  # noqa: B009  # mypy distrusts cls.__init__
    code = getattr(function, "__code__", None)
    return code is not None and "seed" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the member of ``known`` that is closest to ``name``, or None when none is close."""
    import difflib

    matches = difflib.get_close_matches(name, list(known), n=1)
    return matches[0] if matches else None


def _exact_int(value: object) -> int | None:
    """Return a value that says by ``__index__`` that it is an int; None for any other, and for a bool."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _check_range(name: str, value: float, minimum: float | None, maximum: float | None) -> None:
    if minimum is not None and value < minimum:
        raise ArgumentError(f"{name} must be at least {minimum}, got {_show_number(value)}")
    if maximum is not None and value > maximum:
        raise ArgumentError(f"{name} must be at most {maximum}, got {_show_number(value)}")


def _show_number(value: float) -> str:
    # Python refuses to print an int of more than 4,300 digits; the message must not fail on that.
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an int of {value.bit_length()} bits"
    return repr(value)


def _show(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # a hostile __repr__ must not hide the message
        return f"an object of type {type(value).__name__}"
    if len(text) > 80:
        text = text[:77] + "..."
    return f"{text} ({type(value).__name__})"
