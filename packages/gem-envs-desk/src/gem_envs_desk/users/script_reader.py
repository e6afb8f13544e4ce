"""What words of a user say of their script, whoever plays the user: :class:`ScriptReader`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gem_envs_desk.checks import user_words
from gem_envs_desk.facts import numbers_in, shows
from gem_envs_desk.task import DeskTask, Slot
from gem_envs_desk.users.placing import content_words
from gem_envs_desk.users.stated import data_in, own_choices, own_data, stated_choices
from gem_rollout.simulated_people.faults import UserFault

__all__ = ["ScriptReader", "conveys", "reveals", "words_of"]

_NO_CLAIM = re.compile(r"\b(?:no|not|never|neither|nor|instead|rather than|sorry|made a mistake|my mistake)\b|n't\b")
"""In sentences that do not say what the user wants."""
_CLAIMS = re.compile(
    r"(?<!that )\bi(?:'ve| have| just)? (?:now |just )?"
    r"(?:turned|switched|set|restored|taken(?! note)|reseated|removed|paid|reset)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?<![\w-])(?:[A-Z]{0,4}\d[\d-]*\d{2,}|[\w.+-]+@[\w-]+\.\w[\w.-]*\w)(?![\w-])")
"""Something like an order number, a booking code, a zip code or an e-mail address."""
_ZIP_CODES = ("zip", "street zip")
"""Kinds of data that are zip codes, of the user and in addresses."""
_SMALL = 12
"""Numbers up to this are words like others ("2 questions"), unless the script has a kind of data for them."""
_RAISED = 0.6
"""Share of the content words of a wish with which it is raised."""
_CONVEYED = 0.25
"""Share of the content words of a sentence without data that a paraphrase has."""


class ScriptReader:
    """Compares what a user says with what the script holds.

    Args:
        task: the task, with the script.
    """

    def __init__(self, task: DeskTask) -> None:
        assert task.script is not None
        self.task, self.script = task, task.script
        self.words = [*user_words(self.script), *(hand.request for hand in self.script.hands)]
        """All that the user can say of their own."""

    def claims(self, text: str, said: Sequence[str]) -> Iterator[UserFault]:
        """Yield a deed that words claim, of a user who has done nothing in this turn and claimed nothing before."""
        if self.script.hands and _CLAIMS.search(text) and not any(map(_CLAIMS.search, said)):
            yield UserFault("claimed deed", f"the user has not done what they say: {text[:60]!r}")

    def solutions(self, text: str, public: str, told: Sequence[bool]) -> Iterator[UserFault]:
        """Yield the facts that words tell before the agent has found them."""
        known = "\n".join([public, *self.words])
        for fact, is_told in zip(self.task.facts, told, strict=False):
            if not is_told and shows(text, fact.value) and not shows(known, fact.value):
                yield UserFault("solution", f"the user knows {fact.value!r}, which the agent has yet to find")

    def inventions(self, text: str, public: str) -> Iterator[UserFault]:
        """Yield data and numbers that neither the conversation nor the script has."""
        texts = [*public.split("\n"), *self.words]
        held = "\n".join(texts)
        if (code := _strange_code(text, held)) is not None:
            yield UserFault("invention", f"the user invents {code[:60]!r}")
        data = _data_in_each(texts)
        for kind, values in data_in(text.casefold(), text).items():
            strange = values - data.get(kind, set()) - (_names(data.get(kind, set())) if kind == "name" else set())
            if strange:
                yield UserFault("invention", f"the user invents {min(strange)[:60]!r}")
        strange_numbers = {number for number in numbers_in(text) - numbers_in(held) if number > _SMALL}
        if strange_numbers:
            yield UserFault("invention", f"the user invents {str(min(strange_numbers))[:60]!r}")

    def contradictions(self, text: str, slots: Iterable[Slot], message: str) -> Iterator[UserFault]:
        """Yield other values than those of the slots, unless the agent's message has just named them."""
        sentences = [one for one in re.split(r"[.!?\n]", text.casefold()) if one.strip() and not _NO_CLAIM.search(one)]
        for slot in slots:
            held = own_choices(slot.choices, f"{slot.says} {slot.after_change} {' '.join(self.words)}")
            heard_of = stated_choices(slot.choices, message.casefold())
            for sentence in sentences:
                if other := stated_choices(slot.choices, sentence) - held - heard_of:
                    yield UserFault("contradiction", f"the user says {min(other)!r} in place of {slot.says!r}"[:200])

    def raised(self, said: Sequence[str]) -> int:
        """Return the number of wishes up to the last one that the user has raised."""
        words = frozenset[str]().union(*map(content_words, said))
        raised = 0
        for index, wish in enumerate(self.script.wishes):
            own = content_words(wish.says)
            if len(own & words) >= _RAISED * len(own):
                raised = index + 1
        return raised


def reveals(text: str, slot: Slot, public: str) -> bool:
    """Return whether a reply tells what a slot holds and nobody has said before."""
    for says in words_of(slot):
        if any(shows(text, code) and not shows(public, code) for code in _CODE.findall(says)):
            return True
        own = own_data(says)
        if not own:
            words = " ".join(says.casefold().split()).rstrip(".")
            if len(words) > 12 and words in " ".join(text.casefold().split()) and words not in public.casefold():
                return True
        stated, before = data_in(text.casefold(), text), _data_in_each(public.split("\n"))
        for kind, values in own.items():
            if values & stated.get(kind, set()) - before.get(kind, set()):
                return True
    return False


def conveys(text: str, says: str, public: str) -> bool:
    """Return whether a reply says what a sentence of the script says: all data that nobody has said before, or else
    some of its words.
    """
    codes, own = _CODE.findall(says), own_data(says)
    if not codes and not own:
        words = content_words(says)
        return len(words & content_words(text)) >= _CONVEYED * len(words)
    stated = _data_in_each([text, *public.split("\n")])
    is_stated = all(values <= stated.get(kind, set()) for kind, values in own.items())
    return is_stated and all(shows(text, code) or shows(public, code) for code in codes)


def words_of(slot: Slot) -> list[str]:
    """Return all that a user says of a slot: the truth, what they want later, and what they say by mistake."""
    return [*filter(None, (slot.says, slot.after_change, slot.wrong))]


def _data_in_each(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return the data of texts that stand for themselves.

    An address beside a zip code makes another kind of it, so one that is known is known as both.
    """
    data: dict[str, set[str]] = {}
    for text in texts:
        for kind, values in data_in(text.casefold(), text).items():
            for one in _ZIP_CODES if kind in _ZIP_CODES else (kind,):
                data.setdefault(one, set()).update(values)
    return data


def _names(known: set[str]) -> set[str]:
    """Return full names and their parts."""
    return {part for name in known for part in (*name.split(), name)}


def _strange_code(text: str, held: str) -> str | None:
    return next((code for code in _CODE.findall(text) if code not in held), None)
