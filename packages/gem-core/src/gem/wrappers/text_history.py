"""The history of an episode as one text: :class:`Concat` and :class:`ConcatWithAction`."""

from __future__ import annotations

from collections import deque
from typing import Any

from gem.arguments import integer
from gem.core import Action, Env, Info
from gem.wrappers.history import (
    Content,
    HistoryWrapper,
    affixes,
    content_of,
    copied,
    join,
    latest_turns,
    piece,
    shown_action,
)

__all__ = ["Concat", "ConcatWithAction"]


class Concat(HistoryWrapper):
    """Shows all observations of the episode so far, one after the other, without the actions.

    Each ends with a newline, which is added where it is missing, except to an empty observation. Where observations
    are lists of content parts, so is the history, and texts between two pictures are one part.

    A step appends to the text so far, so the only cost that grows with the episode is the copy of the text.

    Args:
        env: the environment.
        max_history_length: show only this many of the latest turns, that is one observation more. As
            published, the first observation falls out too, and with it the instructions;
            the wrapper ``sliding_window`` keeps them.
        announce: say in the first observation what of earlier turns will be shown.
    """

    _include_action = False

    def __init__(self, env: Env[Any, Any], max_history_length: int | None = None, announce: bool = False) -> None:
        super().__init__(env, announce)
        self._joined: Content = ""
        self._latest: deque[Content] | None = None
        """With a limit: the pieces that ``_joined`` is made of."""
        self._max_turns = max_history_length
        if max_history_length is not None:
            integer("max_history_length", max_history_length, minimum=1, maximum=10**6)
            self._latest = deque(maxlen=max_history_length * (2 if self._include_action else 1) + 1)

    def _announcement(self) -> str:
        if self._include_action:
            return super()._announcement() if self._max_turns is None else latest_turns(self._max_turns)
        which = "Earlier" if self._max_turns is None else f"The {self._max_turns} previous"
        return f"{which} observations are shown to you, without your actions."

    def _begin(self, observation: Content) -> None:
        self._joined = ""
        if self._latest is not None:
            self._latest.clear()
        self._add(piece(observation))

    def _extend(self, action: Action, observation: Content, info: Info) -> None:
        if self._include_action:
            self._add(piece(shown_action(action, info)), piece(observation))
        else:
            self._add(piece(observation))

    def _add(self, *pieces: Content) -> None:
        if self._latest is not None:
            self._latest.extend(pieces)
            self._joined = join(self._latest)
            return
        added, joined = join(pieces), self._joined
        if isinstance(added, str) and isinstance(joined, str):
            # CPython extends a text in place if this name holds the only reference to it. So once the caller has
            # dropped the last observation (a worker that sent it), there is not even a copy.
            self._joined = ""
            joined += added
            self._joined = joined
        else:
            self._joined = join((joined, added))

    def _shown(self, info: Info) -> Content:
        prefix, suffix = affixes(info)
        return join((prefix, self._joined, suffix)) if prefix or suffix else _handed_out(self._joined)

    def _own_state(self) -> Info:
        return {"pieces": copied([self._joined] if self._latest is None else list(self._latest))}

    def _set_own_state(self, state: Info) -> None:
        pieces = [content_of(item) for item in copied(state["pieces"])]
        if self._latest is not None:
            self._latest = deque(pieces, maxlen=self._latest.maxlen)
        self._joined = join(pieces)


class ConcatWithAction(Concat):
    """Shows all observations and actions of the episode so far in their order; see :class:`Concat`.

    An action that is an assistant message appears as its text, with each native tool call as
    ``<tool_call>{…}</tool_call>``.
    """

    _include_action = True


def _handed_out(content: Content) -> Content:
    return content if isinstance(content, str) else list(content)
