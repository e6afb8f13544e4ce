"""Events from command-line input."""

from __future__ import annotations

from typing import Any, TypeVar

from gem_hub.errors import HubRefusal
from gem_hub.events import EventBase
from gem_hub.records import reasons

__all__ = ["validated"]

E = TypeVar("E", bound=EventBase)


def validated(kind: type[E], **fields: Any) -> E:
    """Return an event; raises HubRefusal with a sentence for each invalid field."""
    try:
        return kind.model_validate(fields)
    except ValueError as error:
        raise HubRefusal(reasons(error)) from error
