"""An agent's message as a user understands it: :class:`Heard`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gem_envs_desk.users.intents import Intent, intents_of
from gem_envs_desk.users.stated import data_in
from gem_rollout.simulated_people.sentences import Sentence, is_foreign, sentences_of

__all__ = ["Heard"]

_NO_ANSWER = frozenset(
    {
        Intent.ASKS, Intent.THANKS, Intent.WAITS, Intent.PROMISES, Intent.OFFERS_HELP, Intent.MORE, Intent.CLOSES,
        Intent.NOT_FOUND, Intent.PROCEEDS, Intent.VERIFIES, Intent.SMALL_TALK,
    }
)  # fmt: skip
"""What a sentence does that answers no question."""
_NO_CHECK = frozenset(
    {Intent.PROCEEDS, Intent.LOOKS_UP, Intent.MORE, Intent.OFFERS_HELP, Intent.NOT_FOUND, Intent.OFFERS_LIST}
)
_NO_YES = re.compile(
    r"\b(?:which|what|why|where|when|who|whom|how)\b|\b(?:could|can|would|will) you\b|\b(?:can|could|may) i\b|"
    r"\bplease\b"
)
"""In questions that are not answered by yes or no."""
_WHOLE = re.compile(
    r"^\W*(?:is|are) (?:that|this|it|these|those|all|everything|the above|the following)\b[^,]*\b(?:correct|right|"
    r"accurate|true)\b|"
    r"^\W*(?:right|correct|yes|true)\W*$|\bconfirm (?:if|that|whether) (?:this|these|that|it|everything|all|"
    r"the above|the details)\b|"
    r"^\W*am i (?:right|correct)\b|\b(?:do|did) i (?:understand|get) (?:you|that|this|it)\b"
)
_THAT = re.compile(r"\b(?:do|like|want) (?:that|this|so|it)\b")
"""Refers to what was said before."""
_FEWEST_WORDS = 3
"""Words of a sentence that answers a question."""


@dataclass(frozen=True)
class Heard:
    """The sentences of a message, each with all that it can mean."""

    sentences: tuple[tuple[Sentence, frozenset[Intent]], ...]
    is_foreign: bool

    @classmethod
    def of(cls, message: str) -> Heard:
        """Understand a message."""
        sentences = sentences_of(message)
        return cls(tuple((sentence, _meant(sentence)) for sentence in sentences), is_foreign(sentences))

    def has(self, *intents: Intent) -> bool:
        """Return whether any sentence can mean one of these."""
        return any(found.intersection(intents) for _, found in self.sentences)

    def where(self, *intents: Intent) -> Iterator[Sentence]:
        """Yield the sentences that can mean one of these."""
        return (sentence for sentence, found in self.sentences if found.intersection(intents))

    @property
    def refuses(self) -> bool:
        """Whether the agent refuses something, rather than not to find it."""
        return any(Intent.REFUSES in found and Intent.NOT_FOUND not in found for _, found in self.sentences)

    @property
    def proceeds(self) -> bool:
        """Whether the agent asks for permission to do what the user wants."""
        return any(
            Intent.PROCEEDS in found and not found & {Intent.LOOKS_UP, Intent.MORE} for _, found in self.sentences
        )

    @property
    def offers_other(self) -> bool:
        """Whether the agent asks for permission to do something else."""
        if not self.has(Intent.PROCEEDS):
            return False
        return any(
            Intent.OFFERS_OTHER in found
            and (Intent.PROCEEDS in found or any(_THAT.search(one.text) for one in self.where(Intent.PROCEEDS)))
            for _, found in self.sentences
        )

    @property
    def asks_whole(self) -> bool:
        """Whether the agent asks whether all is right, without saying what."""
        return any(_WHOLE.search(sentence.text) for sentence in self.where(Intent.VERIFIES))

    @property
    def answers(self) -> bool:
        """Whether the agent says anything that can answer a question."""
        return any(
            not found & _NO_ANSWER and len(sentence.text.split()) >= _FEWEST_WORDS and not sentence.is_question
            for sentence, found in self.sentences
        )


def _meant(sentence: Sentence) -> frozenset[Intent]:
    """Return all that a sentence can mean; a yes-or-no question with data asks whether they are right."""
    found = intents_of(sentence)
    if not sentence.is_question or found & _NO_CHECK or _NO_YES.search(sentence.text):
        return found
    return found | {Intent.VERIFIES if data_in(sentence.text, sentence.written) else Intent.CHECKS}
