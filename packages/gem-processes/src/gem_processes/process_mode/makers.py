"""Makers of environments on their way to a worker process.

A maker is pickled: :class:`gem.vector.EnvMaker` is a spec and the names of wrappers, so nothing but text goes along.
The worker imports what a maker refers to; it never runs the trainer's script. What the script, a notebook or a function
defines goes along by value, if cloudpickle is installed.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import FunctionType, ModuleType
from typing import Any

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.vector.env_runner import Maker, describe

__all__ = ["ensure_module", "modules_of", "pack_makers", "unpack_makers"]


_SPAWNED = "__mp_main__"
"""The name of the script in processes that multiprocessing has spawned."""

_SCRIPT = ("__main__", _SPAWNED)


class _ByValueError(Exception):
    """Something has no name under which another process could import it."""


class _MakerPickler(pickle.Pickler):
    """Collects the modules of classes and functions, and refuses those of the script."""

    def __init__(self, buffer: io.BytesIO) -> None:
        super().__init__(buffer, 5)
        self.modules: dict[str, str] = {}

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, (type, FunctionType)):
            name = value.__module__
            if name in _SCRIPT or "<locals>" in value.__qualname__ or "<lambda>" in value.__qualname__:
                raise _ByValueError(f"{value.__qualname__} is defined in the script, a notebook or a function")
            file = getattr(sys.modules.get(name), "__file__", None)
            if file is not None:
                self.modules[name] = file
        return NotImplemented


def pack_makers(makers: Sequence[Maker | None]) -> tuple[dict[str, str], bytes]:
    """Return the files of the modules that makers refer to, and the makers as bytes.

    Raises:
        ArgumentError: if they cannot be sent.
    """
    buffer = io.BytesIO()
    pickler = _MakerPickler(buffer)
    try:
        pickler.dump(list(makers))
        return pickler.modules, buffer.getvalue()
    except Exception as error:
        try:
            cloudpickle: Any = import_module("cloudpickle")
            if _SPAWNED in sys.modules:  # by itself it sends only what is in __main__ by value
                cloudpickle.register_pickle_by_value(sys.modules[_SPAWNED])
            return {}, cloudpickle.dumps(list(makers))
        except ImportError:
            remedy = "define it in a module that can be imported, or install cloudpickle, which sends it by value"
        except Exception:  # plain pickle's reason is the clearer one
            remedy = "pass ids or specs whose arguments can be pickled"
        raise ArgumentError(f"an environment cannot be made in another process: {describe(error)}; {remedy}") from error


def unpack_makers(modules: dict[str, str], data: bytes) -> list[Maker | None]:
    """Undo :func:`pack_makers` in a worker; exceptions of imports are passed on."""
    for name, file in modules.items():
        ensure_module(name, file)
    makers: list[Maker | None] = pickle.loads(data)  # noqa: S301  # from the trainer
    return makers


def modules_of(makers: Sequence[Maker | None]) -> dict[str, str]:
    """Return the modules that a fork server had best import before it forks workers, and their files if known."""
    specs = [getattr(maker, "spec", None) for maker in makers]
    entry_points = {spec.entry_point for spec in specs if isinstance(spec, EnvSpec)}
    names = {name.partition(":")[0] for name in entry_points if isinstance(name, str)}
    return {**dict.fromkeys(sorted(names), ""), **pack_makers(makers)[0]}


def ensure_module(name: str, file: str) -> None:
    """Import a module; from its file if it has no importable name, as pytest's importlib mode leaves it."""
    if name in sys.modules:
        return
    with suppress(ImportError):
        import_module(name)
        return
    spec = spec_from_file_location(name, file) if file else None
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        parts = name.split(".")
        for parent in (".".join(parts[:end]) for end in range(1, len(parts))):
            sys.modules.setdefault(parent, ModuleType(parent))  # pickle imports them on its way
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
