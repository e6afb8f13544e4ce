"""Our own copy of reasoning-gym, whose modules load on first use.

``import reasoning_gym`` imports all of its data sets, with sympy and matplotlib, for 1.5 seconds of processor time,
and some of them draw from the process's generators or evaluate a model's text. Here its source files run a second
time, under other names: a data set loads only its own modules, and the corrections
(:mod:`gem_envs_reasoning.corrections`) apply only to this copy. A program that imports ``reasoning_gym`` gets the
unchanged library.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

from gem_envs_reasoning.corrections import BUILTINS, MODULES
from gem_envs_reasoning.installation import LIBRARY, library_folder

__all__ = ["load"]

_COPY = "_gem_reasoning_gym"
"""The second part of a module's name stays the category, as the library itself reads it from there."""

_LOCK = threading.RLock()
# Their __init__ only imports every data set of a category.
_INDEXES = frozenset(
    [
        "algebra", "algorithmic", "arc", "arithmetic", "code", "cognition", "games", "geometry", "graphs", "induction",
        "logic", "probability", "coaching",
    ]
)  # fmt: skip


def load(name: str) -> ModuleType:
    """Return a module of the copy, for example ``"arithmetic.gcd"``; ``""`` is the package itself."""
    full = f"{_COPY}.{name}" if name else _COPY
    # A module that another thread is still running is in sys.modules already, so take the lock first.
    with _LOCK:
        return sys.modules.get(full) or _run(full, name)


def _run(full: str, name: str) -> ModuleType:
    base = library_folder().joinpath(*name.split(".")) if name else library_folder()
    package = base.is_dir()
    source = base / "__init__.py" if package else base.with_suffix(".py")
    if not source.is_file() and not package:
        raise ModuleNotFoundError(f"reasoning-gym has no module {name!r}", name=f"{LIBRARY}.{name}")
    parent = load(name.rpartition(".")[0]) if name else None
    if full in sys.modules:  # the package imports it
        return sys.modules[full]
    spec = importlib.util.spec_from_file_location(
        full, source, submodule_search_locations=[str(base)] if package else None
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__builtins__"] = _builtins_of(name, module)
    if name in _INDEXES:
        module.__dict__["__getattr__"] = _member_of(name)
    sys.modules[full] = module
    try:
        if name and name not in _INDEXES and source.is_file():
            spec.loader.exec_module(module)
        _correct(name, module)
    except BaseException:
        del sys.modules[full]
        raise
    if parent is not None:
        setattr(parent, name.rpartition(".")[2], module)
    return module


def _builtins_of(name: str, module: ModuleType) -> dict[str, Any]:
    # Functions keep the builtins that their module has when they are defined, so this cannot wait.
    return BUILTINS[name](module, _BUILTINS) if name in BUILTINS else _BUILTINS


def _correct(name: str, module: ModuleType) -> None:
    correct = MODULES.get(name)
    if correct is not None:
        correct(module)


def _member_of(package: str) -> Any:
    """Return a module for ``from ..coaching import BaseCurriculum``: the few names that data sets import."""
    homes = {
        "BaseCurriculum": "coaching.base_curriculum",
        "AttributeDefinition": "coaching.attributes",
        "RangeAttributeDefinition": "coaching.attributes",
        "ScalarAttributeDefinition": "coaching.attributes",
    }

    def member(name: str) -> Any:
        if package == "coaching" and name in homes:
            return getattr(load(homes[name]), name)
        raise AttributeError(f"the index {package!r} of the copy has no {name!r}")

    return member


def _import(
    name: str,
    globals: Any = None,  # noqa: A002  # the names of __import__
    locals: Any = None,  # noqa: A002
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    """Import as ``__import__`` does, but let the library's modules find each other in the copy."""
    if level and globals:
        name = importlib.util.resolve_name("." * level + name, globals["__package__"])
    if name.partition(".")[0] not in (LIBRARY, _COPY):
        return builtins.__import__(name, globals, locals, fromlist, 0)
    inside = name.partition(".")[2]
    module = load(inside)
    if not fromlist:
        return load("")
    for wanted in fromlist:
        if wanted == "*" or wanted in module.__dict__ or not hasattr(module, "__path__"):
            continue
        try:
            load(f"{inside}.{wanted}" if inside else wanted)
        except ModuleNotFoundError as error:
            if not str(error.name).startswith(LIBRARY):
                raise
    return module


def _say_nothing(*values: Any, **options: Any) -> None:
    pass


# Some data sets print while they make an item.
_BUILTINS = {**vars(builtins), "__import__": _import, "print": _say_nothing}
