"""Packages whose names load on first use (PEP 562).

The public names of such a package are in one place, the stub ``__init__.pyi`` beside its ``__init__.py``, with one
name a line::

    from gem.core import Env as Env

Type checkers and editors read the stub, as they do for every package; this module reads the same lines at run time,
when a name is used for the first time. Scientific Python's SPEC 1 recommends the same arrangement.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["loaded_on_use"]


def loaded_on_use(namespace: dict[str, Any]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    Args:
        namespace: the package's ``globals()``, which keeps each name once it is loaded.
    """
    homes: dict[str, str] = {}

    def public() -> dict[str, str]:
        """Return each public name and its module."""
        if not homes:
            # Through the loader, as the package may lie in a zip file.
            stub = namespace["__spec__"].loader.get_data(f"{namespace['__path__'][0]}/__init__.pyi").decode()
            for line in stub.splitlines():
                words = line.split()
                if words[:1] == ["from"]:
                    homes[words[-1]] = words[1]
        return homes

    def resolve(name: str) -> object:
        if name == "__all__":
            return sorted(public())
        if name.startswith("__") or name not in public():
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        from importlib import import_module

        namespace[name] = value = getattr(import_module(homes[name]), name)
        return value

    return resolve, lambda: sorted({*namespace, *public()})
