"""The three phases of an environment, the errors for calls out of order, and all-or-nothing changes of state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from gem.core import Env
from gem.errors import EpisodeFinishedError, NotSupportedError, ResetNeededError, StateError

__all__ = ["NOT_BEGUN", "OVER", "PLAYING", "EpisodePhase", "out_of_order", "unchanged_on_error"]


class EpisodePhase(Enum):
    """The phase of an environment's episode. The values are part of states."""

    NOT_BEGUN = "not begun"
    PLAYING = "playing"
    OVER = "over"


NOT_BEGUN, PLAYING, OVER = EpisodePhase
"""The members by themselves: before Python 3.12 reading one from its class takes several times as long."""


def out_of_order(env: Env[Any, Any], phase: EpisodePhase) -> ResetNeededError:
    """Return the error for a call that needs an episode in play."""
    if phase is NOT_BEGUN:
        return ResetNeededError(f"{env!r} has not begun; call reset() first")
    return EpisodeFinishedError(f"the episode of {env!r} has ended; call reset() to begin another")


@contextmanager
def unchanged_on_error(env: Env[Any, Any]) -> Iterator[None]:
    """Restore the attributes of ``env`` if the block fails, and turn an ordinary error into a ``StateError``.

    The block must assign new objects and change none in place.

    Raises:
        StateError: if the block raised an error that a damaged state can cause.
    """
    before = dict(env.__dict__)
    try:
        yield
    except BaseException as error:
        env.__dict__.clear()
        env.__dict__.update(before)
        if isinstance(error, NotSupportedError):
            raise
        if isinstance(error, (LookupError, TypeError, ValueError, AttributeError, RecursionError)):
            raise StateError(f"not a state of {type(env).__name__}: {error!r}") from error
        raise
