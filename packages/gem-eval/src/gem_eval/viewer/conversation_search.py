"""Which episodes say something, anywhere in their record: :func:`rows_that_say`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from gem_eval.runs import EpisodeRow, RunFolder
from gem_eval.viewer.viewed_run import RunReadError

__all__ = ["rows_that_say"]

_MOST_WORDS = 20


def rows_that_say(folder: RunFolder, rows: Sequence[EpisodeRow], text: str) -> list[int]:
    """Return the positions of the rows in whose record each word of a text stands; A to Z are a to z.

    Records are searched as they are written, so that a word finds observations, answers, reasoning and infos alike, and
    nothing is read twice. A part in double quotes is one word.

    Raises:
        RunReadError: if the episodes cannot be read.
    """
    words = [quoted or word for quoted, word in re.findall(r'"([^"]+)"|(\S+)', text)][:_MOST_WORDS]
    sought = [_written(word) for word in words]
    found: list[int] = []
    if not sought:
        return found
    try:
        with folder.episodes_path.open("rb") as file:
            for number, row in enumerate(rows):
                file.seek(row.offset)
                line = file.read(row.length).lower()
                if all(any(form in line for form in forms) for forms in sought):
                    found.append(number)
    except OSError as error:
        raise RunReadError(f"{folder.episodes_path} cannot be read: {error.strerror or error}") from error
    return found


def _written(word: str) -> set[bytes]:
    """Return a text as JSON may have it, in small letters: in UTF-8, or with escapes alone."""
    raw = json.dumps(word, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    return {raw.lower(), json.dumps(word)[1:-1].encode().lower()}
