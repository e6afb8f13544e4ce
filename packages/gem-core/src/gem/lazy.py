"""Packages whose names load on first use (PEP 562)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["loaded_on_use"]


def loaded_on_use(
    namespace: dict[str, object], homes: dict[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    Args:
        namespace: the package's ``globals()``, where a name is put once it is loaded.
        homes: each public name and the module that it lives in.
    """

    def resolve(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        from importlib import import_module

        namespace[name] = value = getattr(import_module(homes[name]), name)
        return value

    return resolve, lambda: sorted({*namespace, *homes})
