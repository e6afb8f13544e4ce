"""Multiple choice: the options of a row, and the right one of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import takewhile
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.content import column_of, is_missing, plain_value, row_name

__all__ = [
    "CHOICE_ANSWERS",
    "CHOICE_KEYS",
    "OPTION_COLUMNS",
    "ChoiceGold",
    "choices_of",
    "chosen_option",
    "gold_of_choice",
    "with_choices",
]

CHOICE_KEYS = ("choices", "options")
"""Columns that hold the options, in order of precedence, in any capitals."""
CHOICE_ANSWERS = (
    "answerkey", "answer", "correct", "correct_option", "answer_index", "answer_idx", "label", "target", "gold",
)  # fmt: skip
"""Columns that hold the right one, likewise."""
_SERIES = re.compile(r"(|(?:option|choice|opt|op)[ _]?)([a-j]|\d)")
"""The name of a column that holds one option, in small letters: ``A``, ``option_a``, ``choice1``."""
_FEWEST_LETTERS = 3
"""Columns that are called by letters alone are options from this number on; two may be a and b of a formula."""
OPTION_COLUMNS = frozenset(
    {"a"}
    | {f"{word}{gap}{first}" for word in ("option", "choice", "opt", "op") for gap in ("", "_", " ") for first in "a01"}
)
"""The columns, in small letters, that hold the first option where each has a column of its own."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERED = re.compile(r"^\s*\(?([A-Za-z])\s*[).:]\s*")
_INLINE = re.compile(r"(?:^|\s)\(?([A-Za-z])\s?[).]\s")
_LIST_OF_TEXTS = re.compile(r"\s*\[\s*['\"].*['\"]\s*\]\s*", re.DOTALL)

_LONGEST_CHOICE = 4000
"""Characters of an answer that can be an option beside the length of the options themselves."""
_ANNOUNCED = re.compile(
    r"(?:so |thus |therefore,? )?(?:(?:the|my) )?(?:final |correct |right |best )*(?:answer|option|choice)\b"
    r"(?:\s+(?:is|would be|must be))?\s*[:=]?\s*(?:option\b|choice\b)?\s*",
    re.IGNORECASE,
)
_UPRIGHT = re.compile(r"\\(?:boxed|fbox|mbox|text(?:bf|it|rm|tt|sf)?|math(?:bf|it|rm|tt|sf))\s*\{([^{}]*)\}")
_BLANK = re.compile(r"\\[ ,;:!]|~")
_WRAPPED = re.compile(
    r"\\\((.*)\\\)|\$\$?([^$]*)\$\$?"
    r"|\*\*(.*)\*\*|__(.*)__|\*(.*)\*|`(.*)`|\"(.*)\"|'(.*)'|\u201c(.*)\u201d|\{(.*)\}|\(([^()]*)\)|\[([^\[\]]*)\]",
    re.DOTALL,
)
_LETTER_ALONE = re.compile(r"[(\[]?\s*(\w+)\s*[)\].:,;]*")
_LETTER_FIRST = re.compile(r"(?:[(\[]\s*(\w+)\s*[)\]][.:]?|(\w+)[).:\]]|(\w+)\s+[-\u2013\u2014:])\s*(\S.*)", re.DOTALL)
_LETTER_BEFORE = re.compile(r"([A-Z])\s+(\S.*)", re.DOTALL)
_NUMBER = re.compile(
    r"([+-]?)(?:(\d{1,3}(?:,\d{3})+|\d{1,400})(\.\d{0,400})?|(\.\d{1,400}))(?:/(\d{1,400}))?", re.ASCII
)


class ChoiceGold(list[str]):
    """The right answer of a multiple-choice question: a list of its letter and its text, with all options beside it.

    Args:
        letter: of the right option.
        options: the text of each option by its letter.
    """

    def __init__(self, letter: str, options: Mapping[str, str]) -> None:
        super().__init__([letter, options[letter]])
        self.letter = letter
        self.options = dict(options)

    def __reduce__(self) -> tuple[Any, ...]:
        return ChoiceGold, (self.letter, self.options)


def choices_of(row: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the options of a row by their letters; None if it has none.

    Forms: a list of texts, with letters before them or without; an object from letters to texts; ARC's object of two
    lists, ``text`` and ``label``, or its list of such objects, also within the question; one text ``"A) … B) …"``, also
    with MathQA's small letters, or as Python writes a list; a column for each option.
    """
    column = column_of(row, CHOICE_KEYS)
    value = None if column is None else plain_value(row[column])
    if column is None:
        if columns := _option_columns(tuple(row)):
            texts = {letter: row[name] for letter, name in zip(_LETTERS, columns, strict=False)}
            held = {letter: str(text).strip() for letter, text in texts.items() if not is_missing(text)}
            return held if len(held) > 1 else None
        question = row.get("question")
        value = plain_value(question.get("choices")) if isinstance(question, Mapping) else None
    if isinstance(value, str) and _LIST_OF_TEXTS.fullmatch(value):
        value = _python_list(value)
    if isinstance(value, str):
        return _inline(value)
    if isinstance(value, Sequence) and len(value) > 1 and all(_is_labelled(item) for item in value):
        return {str(item["label"]): str(item["text"]) for item in value}
    if isinstance(value, Mapping):
        texts, labels = plain_value(value.get("text")), plain_value(value.get("label"))
        if isinstance(texts, Sequence) and isinstance(labels, Sequence) and len(texts) == len(labels) > 1:
            return {str(label): str(text) for label, text in zip(labels, texts, strict=True)}
        if len(value) > 1 and all(isinstance(key, str) and key.upper() in _LETTERS for key in value):
            return {key.upper(): str(text).strip() for key, text in value.items()}
        return None
    if isinstance(value, Sequence) and 1 < len(value) <= len(_LETTERS) and all(isinstance(v, str) for v in value):
        return {letter: _LETTERED.sub("", text).strip() for letter, text in zip(_LETTERS, value, strict=False)}
    return None


@lru_cache(maxsize=1024)
def _option_columns(columns: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the columns of a row that hold one option each, in their order; none if it has no two of a series."""
    series: dict[str, dict[str, str]] = {}
    for name in columns:
        match = _SERIES.fullmatch(name.lower()) if isinstance(name, str) else None
        if match is not None and (match[1] or not match[2].isdigit()):
            series.setdefault(match[1], {})[match[2]] = name
    for word, named in series.items():
        for order in ("abcdefghij", "0123456789", "123456789"):
            held = [named[sign] for sign in takewhile(named.__contains__, order)]
            if len(held) == len(named) >= (2 if word else _FEWEST_LETTERS):
                return tuple(held)
    return ()


def with_choices(question: str, options: Mapping[str, str]) -> str:
    """Return a question with its options below it, one a line, and how to answer."""
    lines = "\n".join(f"{letter}) {text}" for letter, text in options.items())
    return f"{question.rstrip()}\n\n{lines}\n\nAnswer with the letter of the right option."


def gold_of_choice(row: Mapping[str, Any], column: str, options: Mapping[str, str]) -> str:
    """Return the letter of the right option, which a row gives as a letter, as a position from 0, or as its text.

    Raises:
        DatasetError: if it gives none of these.
    """
    value = plain_value(row[column])
    if isinstance(value, list) and len(value) == 1:
        value = plain_value(value[0])
    letters = list(options)
    columns = _option_columns(tuple(row)) if column_of(row, CHOICE_KEYS) is None else ()
    if columns and columns[0][-1] != "0" and str(value).strip().isdigit():
        raise DatasetError(
            f"{row_name(row)} has the answer {value!r:.60} in {column!r}, which may count the columns "
            f"{', '.join(columns)} from 0 or from 1; pass a function map_row that returns the letter"
        )
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(letters):
        return letters[value]
    if isinstance(value, str) and not is_missing(value):
        said = value.strip()
        bare = said.strip("().: ")
        if bare.upper() in options or bare in options:
            return bare if bare in options else bare.upper()
        found = [letter for letter, text in options.items() if text.strip() == said]
        if len(found) == 1:
            return found[0]
        if said.isascii() and said.isdigit() and int(said) < len(letters):
            return letters[int(said)]
    raise DatasetError(
        f"{row_name(row)} has no usable answer in {column!r}: {value!r:.60} is none of the options "
        f"{', '.join(letters)}; remove the row"
    )


def chosen_option(answer: str, options: Mapping[str, str]) -> str | None:
    r"""Return the letter of the option that an answer means; None if it means none, or more than one.

    An answer means an option by its letter, in any of the usual forms (``B``, ``b``, ``(B)``, ``B.``, ``B:``,
    ``**B**``, ``Answer: B``, ``\boxed{B}``), by its whole text, or by both. All letters are read alike. Texts are
    compared character by character, then without capitals, then as numbers; only a text that fits one option counts.

    Args:
        answer: the answer.
        options: the text of each option by its letter; an empty text where only the letters are known.
    """
    if len(answer) > _LONGEST_CHOICE + 2 * max(map(len, options.values()), default=0):
        return None
    text = _undressed(answer)
    letters = {letter.casefold(): letter for letter in options}
    alone = _LETTER_ALONE.fullmatch(text)
    if alone is not None and alone[1].casefold() in letters:
        return letters[alone[1].casefold()]
    fitting = _option_of_text(text, options)
    if fitting is not None:
        return fitting
    before = _LETTER_BEFORE.fullmatch(text)
    if before is not None and before[1] in options and _option_of_text(before[2], options) == before[1]:
        return before[1]
    first = _LETTER_FIRST.fullmatch(text)
    letter = None if first is None else letters.get((first[1] or first[2] or first[3]).casefold())
    return None if first is None or letter is None or _contradicts(first[4], letter, options) else letter


def _undressed(answer: str) -> str:
    """Return an answer without what announces it and the marks around all of it."""
    text = answer.strip()
    for _ in range(8):  # each mark is inside another one
        before = text
        text = _BLANK.sub(" ", _UPRIGHT.sub(r" \1 ", text)).strip()
        wrapped = _WRAPPED.fullmatch(text) or _WRAPPED.fullmatch(text.rstrip("."))
        if wrapped is not None:
            text = next(part for part in wrapped.groups() if part is not None).strip()
        announced = _ANNOUNCED.match(text)
        if announced is not None and announced.end() < len(text):
            text = text[announced.end() :]
        if text == before:
            break
    return text


def _option_of_text(text: str, options: Mapping[str, str]) -> str | None:
    """Return the letter of the one option that has a text."""
    for form in _FORMS:
        said = form(text)
        found = [letter for letter, option in options.items() if option and form(option) == said]
        if said is not None and found:
            return found[0] if len(found) == 1 else None
    return None


def _contradicts(rest: str, letter: str, options: Mapping[str, str]) -> bool:
    """Return whether what stands behind a letter means another option as well."""
    own = options[letter].casefold()
    fitting = _option_of_text(rest, options)
    if fitting is not None:
        return fitting != letter
    others = [other for other in options if other != letter]
    named = re.findall(r"(?<![\w'])[A-Z](?![\w'])", rest)
    if any(word in others for word in named) or (not any(options.values()) and named):
        return True
    lower = rest.casefold()
    texts = [option.casefold() for other, option in options.items() if other != letter and option.strip()]
    return any(text not in own and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", lower) for text in texts)


def _spaced(text: str) -> str:
    return " ".join(_undressed(text).rstrip(".").split())


def _number(text: str) -> Fraction | None:
    match = _NUMBER.fullmatch(_spaced(text).replace("\u2212", "-").replace(" ", ""))
    if match is None or (match[5] is not None and not int(match[5])):
        return None
    whole = (match[2] or "0").replace(",", "") + (match[3] or match[4] or "")
    number = Fraction(f"{match[1]}{whole}" if not whole.endswith(".") else f"{match[1]}{whole[:-1]}")
    return number / int(match[5] or 1)


_FORMS: tuple[Callable[[str], Any], ...] = (_spaced, lambda text: _spaced(text).casefold(), _number)


def _is_labelled(item: Any) -> bool:
    return isinstance(item, Mapping) and {"label", "text"} <= item.keys()


def _python_list(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _inline(text: str) -> dict[str, str] | None:
    parts = _INLINE.split(f" {text}")
    letters, texts = [letter.upper() for letter in parts[1::2]], parts[2::2]
    if len(letters) < 2 or letters != list(_LETTERS[: len(letters)]):
        return None
    # MathQA separates its options by commas.
    return {letter: option.strip().rstrip(",").rstrip() for letter, option in zip(letters, texts, strict=True)}
