"""The arguments of an environment, from the docstring and the signature of its class: :func:`arguments_of`."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import griffe

from devtools.site.public_api import PublicApi
from gem.registry import spec

__all__ = ["Argument", "arguments_of"]

# Docstrings say types in the signature alone, which griffe would warn of for each argument.
logging.getLogger("griffe").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Argument:
    """An argument of an environment's class."""

    name: str
    default: str
    """As the source writes it; empty if there is none."""
    meaning: str


def arguments_of(api: PublicApi, env_id: str) -> tuple[str, list[Argument]]:
    """Return the path of an environment's class, and the arguments that its docstring, or that of a base, describes.

    Raises:
        LookupError: if the class is in no public module.
    """
    found = api.find(str(spec(env_id).entry_point).replace(":", "."))
    classes = [found, *found.mro()] if isinstance(found, griffe.Class) else []
    return found.path, next(filter(None, map(_arguments, classes)), [])


def _arguments(found: griffe.Class) -> list[Argument]:
    """Return the arguments that a class itself describes; one that describes none has those of its base."""
    defaults = {one.name: str(one.default or "") for one in found.parameters}
    sections = found.docstring.parse("google") if found.docstring else []
    return [
        Argument(one.name, defaults.get(one.name, ""), " ".join(one.description.split()))
        for part in sections
        if isinstance(part, griffe.DocstringSectionParameters)
        for one in part.value
    ]
