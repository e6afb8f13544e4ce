"""What a forked child of this process does first: :func:`after_fork_in_child`.

A child has one thread, and copies of everything else: locks that threads of the parent hold and will never release
here, connections and processes that belong to the parent. A hook replaces the former and lets go of the latter.
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
    """Call a function without arguments in every forked child, before anything else runs there.

    Usable as a decorator. Hooks run in the order of their registration; one that raises does not stop the others. Where
    the system cannot fork, none is ever called.

    Args:
        hook: a function, which is kept for good; or a method of an object, which is forgotten together with the object.
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
        if None not in arguments:  # the object is gone
            try:
                function(*arguments)
            except Exception as error:
                errors.append(error)
    if errors:
        raise errors[0]  # Python reports it, and the child goes on


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_run_all)
