"""Generators of its own for each game of TextArena, whose games draw from the global ones of Python and NumPy.

A module of TextArena finds :class:`_Dispatcher` under the names ``random``, ``numpy`` and ``np``. It answers with the
generator of the game that plays in this thread, and with the real module outside a game. So games follow from their
seeds side by side in threads, and the generators of the process stay untouched.
"""

from __future__ import annotations

import io
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["GameGenerators", "adopt_modules"]

_PACKAGE = "textarena"
_lock = threading.Lock()


class _Playing(threading.local):
    generators: GameGenerators | None = None


_playing = _Playing()


class GameGenerators:
    """The generators of one game."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._numpy_seed = seed
        self._numpy: Any = None

    @property
    def numpy(self) -> Any:
        """A ``numpy.random.RandomState``, made when a game first asks for it."""
        if self._numpy is None:
            from numpy.random import RandomState

            self._numpy = RandomState(self._numpy_seed)
        return self._numpy

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let modules of TextArena draw from these generators, in this thread."""
        before, _playing.generators = _playing.generators, self
        try:
            yield
        finally:
            _playing.generators = before


class _StandIn(ModuleType):
    """Stands in for a module: all of it, but for what a subclass has itself."""

    def __init__(self, real: ModuleType) -> None:
        super().__init__(real.__name__)
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)


class _Dispatcher(_StandIn):
    """Stands in for the module ``random``, or for ``numpy.random``."""

    def __getattr__(self, name: str) -> Any:
        generators, real = _playing.generators, self.__dict__["_real"]
        if generators is None:
            return getattr(real, name)
        own = generators.random if real is random else generators.numpy
        # Classes, such as random.Random, are no methods of a generator.
        return getattr(own if hasattr(own, name) else real, name)


class _NumPy(_StandIn):
    """NumPy, but for its ``random``."""

    def __init__(self, real: ModuleType) -> None:
        super().__init__(real)
        self.random = _Dispatcher(real.random)


class _QuietNltk(_StandIn):
    """NLTK, but for the printing of its ``download``."""

    def download(self, *names: Any, **options: Any) -> Any:
        """Look for data as NLTK does."""
        return self._real.download(*names, **{**options, "quiet": True, "print_error_to": io.StringIO()})


_random = _Dispatcher(random)


def adopt_modules() -> None:
    """Put the dispatchers into all modules of TextArena that have been imported; games print nothing from then on."""
    with _lock:
        numpy, nltk = sys.modules.get("numpy"), sys.modules.get("nltk")
        for name, module in list(sys.modules.items()):
            if (name == _PACKAGE or name.startswith(f"{_PACKAGE}.")) and "print" not in vars(module):
                for attribute, value in list(vars(module).items()):
                    if value is random:
                        setattr(module, attribute, _random)
                    elif value is numpy and numpy is not None:
                        setattr(module, attribute, _NumPy(numpy))
                    elif value is nltk and nltk is not None:
                        setattr(module, attribute, _QuietNltk(nltk))
                setattr(module, "print", _print_nothing)  # noqa: B010  # mypy knows no such attribute


def _print_nothing(*_: object, **__: object) -> None:
    """Games print what helped their authors."""
