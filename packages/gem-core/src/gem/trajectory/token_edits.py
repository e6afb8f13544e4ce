"""A prompt's token ids as an edit of the prompt before.

In the normal case, a prompt is the one before, the ids sampled for it, and new ids; only the new ids are kept. An
edit has the form of a list's in :mod:`gem.trajectory.edits`.
"""

from __future__ import annotations

from gem.errors import TrajectoryError
from gem.trajectory.edits import Edit
from gem.trajectory.text_edits import text_edit

__all__ = ["continues", "token_edit"]


def token_edit(new: list[int], old: list[int], sampled: list[int]) -> Edit:
    """Return a prompt as an edit of the one before.

    Args:
        new: the prompt.
        old: the prompt before.
        sampled: the ids sampled for it.

    Raises:
        TrajectoryError: if an id is no int.
    """
    if old and continues(new, old, sampled):
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
        return {"value": new}
    return {"list": [{"items": list(map(ord, piece))} if isinstance(piece, str) else piece for piece in pieces]}


def continues(new: list[int], old: list[int], sampled: list[int]) -> bool:
    """Return whether a prompt is the one before, the ids sampled for it, and further ids."""
    end = len(old) + len(sampled)
    return new[: len(old)] == old and new[len(old) : end] == sampled


def _checked(ids: list[int]) -> list[int]:
    if not set(map(type, ids)) <= {int}:
        raise TrajectoryError("prompt_token_ids holds something else than ints")
    return ids


def _as_text(ids: list[int]) -> str:
    return "".join(map(chr, ids))
