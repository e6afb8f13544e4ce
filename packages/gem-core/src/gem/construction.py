"""Classes that refuse a wrong construction, and whose instances remember their arguments: :class:`Constructed`."""

from __future__ import annotations

import sys
from abc import ABC
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar

from gem.arguments import check_names, keyword_names
from gem.errors import ArgumentTypeError, IncompleteEnvError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Constructed"]

_VARIADIC_POSITIONAL = 0x04  # a code flag, documented in the inspect module


class Constructed:
    """The base of classes that declare in ``_required`` what they leave to their subclasses.

    A subclass that leaves one of these methods to its own subclasses declares this with ``abc.ABC`` among its bases.

    Raises:
        IncompleteEnvError: when a class is defined without one of the methods, and when an abstract class is called.
        ArgumentTypeError, UnknownArgumentError: for arguments that the constructor does not take.
    """

    _required: ClassVar[tuple[str, ...]] = ()
    """The methods that the class with this declaration leaves to its subclasses."""

    _missing: ClassVar[tuple[str, ...]] = ()
    """Those of them that this class lacks."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declares = next(base for base in cls.__mro__ if "_required" in base.__dict__)
        cls._missing = tuple(name for name in cls._required if getattr(cls, name) is getattr(declares, name))
        if cls._missing and cls is not declares and ABC not in cls.__bases__ and not _is_being_restored():
            raise IncompleteEnvError(
                f"{cls.__name__} does not define {' or '.join(cls._missing)}; define it, or add abc.ABC to the "
                "bases of a class that leaves it to its subclasses"
            )

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse unknown arguments with the nearest name, and remember the known ones."""
        if cls._missing:
            raise IncompleteEnvError(f"{cls.__name__} is abstract: it does not define {' or '.join(cls._missing)}")
        _check_signature(cls, args, kwargs)
        self = super().__new__(cls)
        self._arguments = (args, kwargs)
        return self

    def _arguments_with(self, overrides: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of the constructor, some of them replaced by name."""
        args, kwargs = self._arguments
        # By name, so that the caller can also override a positional argument.
        names = _positional_names(type(self))[: len(args)]
        return args[len(names) :], {**dict(zip(names, args, strict=False)), **kwargs, **overrides}


def _is_being_restored() -> bool:
    """Return whether the class that is being created gets its methods later.

    cloudpickle restores a class so: it calls ``types.new_class`` and then sets the attributes, ``_missing`` among them.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name == "__init_subclass__":
        frame = frame.f_back
    return frame.f_globals.get("__name__") == "types"


def _positional_names(cls: type) -> tuple[str, ...]:
    """Return the constructor's positional names; none if it accepts any number or hides its code."""
    code = _constructor_code(cls)
    if code is None or code.co_flags & _VARIADIC_POSITIONAL:
        return ()
    return code.co_varnames[1 : code.co_argcount]


def _constructor_code(cls: type) -> CodeType | None:
    return getattr(getattr(cls, "__init__"), "__code__", None)  # noqa: B009  # mypy distrusts cls.__init__


def _check_signature(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if getattr(cls, "__init__") is object.__init__:  # noqa: B009  # as above; it takes anything where __new__ is overridden
        if args:
            raise ArgumentTypeError(f"{cls.__name__} got {len(args)} positional arguments; it takes none")
        check_names(cls.__name__, kwargs, ())
        return
    code = _constructor_code(cls)
    if code is None:  # one that a decorator replaced: Python itself checks
        return
    positional = code.co_varnames[1 : code.co_argcount]
    if len(args) > len(positional) and not code.co_flags & _VARIADIC_POSITIONAL:
        takes = f"takes {', '.join(positional)}" if positional else "takes none"
        raise ArgumentTypeError(
            f"{cls.__name__} got {len(args)} positional arguments; it {takes}. Use keyword arguments"
        )
    names = keyword_names(getattr(cls, "__init__"))  # noqa: B009  # as above
    if names is not None:
        check_names(cls.__name__, kwargs, names)
