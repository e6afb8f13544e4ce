"""Texts that GEM wrote into files of a user: replaced as long as nobody edited them, and never otherwise.

A managed text ends with a line that holds the digest of what stands above it. In a file with text of the user's, it
begins with a line too. Line ends do not count, since git may change them.
"""

from __future__ import annotations

import hashlib
import re

from gem.errors import ArgumentError

__all__ = ["is_unedited", "managed", "with_section"]

_BEGIN = "<!-- gem skill: begin -->"
_END = re.compile(
    r"<!-- gem skill: end, ([0-9a-f]{16}); 'gem skill install' replaces it while it is unedited -->(?:\r?\n)?"
)


def managed(text: str) -> str:
    """Return a text with the last line by which :func:`is_unedited` knows it."""
    return f"{text}<!-- gem skill: end, {_digest(text)}; 'gem skill install' replaces it while it is unedited -->\n"


def is_unedited(text: str) -> bool:
    """Return whether a text is as :func:`managed` returned it, of whatever version."""
    text = _with_newlines(text)
    ends = list(_END.finditer(text))
    return len(ends) == 1 and ends[0].end() == len(text) and ends[0][1] == _digest(text[: ends[0].start()])


def with_section(text: str, section: str, name: str) -> str:
    """Return the text of a file of a user's with a managed section: in the place of an earlier one, else at the end.

    Args:
        text: the text of the file; the section gets its line ends.
        section: the section, without the lines around it.
        name: the name of the file, for messages.

    Raises:
        ArgumentError: if the section in the file was edited, or has only one of its two lines.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = f"{_BEGIN}\n{managed(section)}".replace("\n", newline)
    begins, ends = list(re.finditer(rf"{re.escape(_BEGIN)}\r?\n", text)), list(_END.finditer(text))
    if not begins and not ends:
        gap = "" if not text else newline if text.endswith("\n") else 2 * newline
        return text + gap + block
    if len(begins) != 1 or len(ends) != 1 or not is_unedited(text[begins[0].end() : ends[0].end()]):
        raise ArgumentError(
            f"the section of 'gem skill' in {name} was edited; move your text out of the section, delete what begins "
            f"with {_BEGIN!r} and ends with '<!-- gem skill: end, …', and run the command again"
        )
    return text[: begins[0].start()] + block + text[ends[0].end() :]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")
