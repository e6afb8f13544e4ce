"""Hooks that run first in a forked child of this process: :func:`after_fork_in_child`.

A child has one thread, and copies of all other objects: locks of the parent's threads that no thread will release
here, and connections and processes of the parent. A hook replaces the former and closes the latter.
"""

from __future__ import annotations

import itertools
import os
import types
import weakref
from collections.abc import Callable
from functools import partial
from typing import TypeVar

__all__ = ["after_fork_in_child"]

Hook = TypeVar("Hook", bound=Callable[[], object])

_hooks: dict[int, tuple[Callable[..., object], weakref.ref[object] | None]] = {}
"""Each hook in the order of registration; a method as its function and its object."""
_numbers = itertools.count()


def after_fork_in_child(hook: Hook) -> Hook:
    """Call a function without arguments in every forked child, before any other code runs there.

    Usable as a decorator. Hooks run in the order of their registration; an error in one does not stop the others. On
    systems without fork, no hook is called.

    Args:
        hook: a function, which stays registered; or a method, which is removed together with its object.
    """
    number = next(_numbers)
    if isinstance(hook, types.MethodType):
        # Called with the reference, which pop takes as its default.
        _hooks[number] = hook.__func__, weakref.ref(hook.__self__, partial(_hooks.pop, number))
    else:
        _hooks[number] = hook, None
    return hook


def _run_all() -> None:
    errors = []
    for function, reference in list(_hooks.values()):
        arguments = () if reference is None else (reference(),)
        if None not in arguments:  # the object was garbage-collected
            try:
                function(*arguments)
            except Exception as error:
                errors.append(error)
    if errors:
        raise errors[0]  # Python reports the error, and the child continues


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_run_all)
