"""A prompt's token ids as an edit of the prompt before.

In the normal case, a prompt is the one before, the ids sampled for it, and new ids; only the new ids are kept. An
edit has the form of a list's in :mod:`gem_rollout.trajectory.edits`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from gem.errors import TrajectoryError
from gem_rollout.trajectory.edits import Edit
from gem_rollout.trajectory.text_edits import text_edit

__all__ = ["continues", "packed", "token_edit"]


def packed(ids: Sequence[int]) -> Sequence[int]:
    """Return token ids in four bytes each, which compare as memory does; a list where they are no such numbers."""
    if type(ids) is array:
        return ids
    try:
        return array("I", ids)
    except (TypeError, ValueError, OverflowError):
        return list(ids)


def token_edit(new: Sequence[int], old: Sequence[int], sampled: Sequence[int]) -> Edit:
    """Return a prompt as an edit of the one before.

    Args:
        new: the prompt, best :func:`packed`, as the other two.
        old: the prompt before.
        sampled: the ids sampled for it.

    Raises:
        TrajectoryError: if an id is no int.
    """
    if len(old) and continues(packed(new), packed(old), packed(sampled)):
        end = len(old) + len(sampled)
        added = _checked(new[end:])
        return {"list": [[0, len(old)], ["action", 0, len(sampled)], *([{"items": added}] if added else [])]}
    _checked(new)
    try:
        # A context that was cut or rendered anew. As texts with a character for each id, edits of texts find it.
        pieces = text_edit(_as_text(old), _as_text(new), _as_text(sampled))
    except ValueError:  # an id that is no code point
        pieces = None
    if pieces is None:
        return {"value": list(new)}
    return {"list": [{"items": list(map(ord, piece))} if isinstance(piece, str) else piece for piece in pieces]}


def continues(new: Sequence[int], old: Sequence[int], sampled: Sequence[int]) -> bool:
    """Return whether a prompt is the one before, the ids sampled for it, and further ids, all of one type."""
    end = len(old) + len(sampled)
    return new[: len(old)] == old and new[len(old) : end] == sampled


def _checked(ids: Sequence[int]) -> list[int]:
    if type(ids) is array:
        return ids.tolist()
    if not set(map(type, ids)) <= {int}:
        raise TrajectoryError("prompt_token_ids holds something else than ints")
    return list(ids)


def _as_text(ids: Sequence[int]) -> str:
    return "".join(map(chr, ids))
