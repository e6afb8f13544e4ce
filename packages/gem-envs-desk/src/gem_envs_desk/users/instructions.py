"""What an agent asks a user to do with their hands: :func:`asked_hands`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gem.tables import read_table
from gem_envs_desk.task import Hand
from gem_envs_desk.users.stated import occurs
from gem_rollout.simulated_people.sentences import Sentence, clauses_of

__all__ = ["Instructions", "asked_hands"]

_TABLES = read_table(__file__, "instructions.toml")
_VERBS = f"(?:{'|'.join(_TABLES['verbs'])})"
_LEADS = rf"^(?:\W|\b(?:{'|'.join(_TABLES['leads'])})\b)*"
_IMPERATIVE = re.compile(_LEADS + rf"\W*{_VERBS}(?:ing)?\b(?! not\b)(?!\s*[\"']?\s*[:=])")
_NO_INSTRUCTION = re.compile(
    r"\b(?:do not|don't|never|no need|not need|needn't|without|rather than|instead of|not)\b|"
    r"\b(?:i|we)(?:'ll|'ve|'m| will| have| am| can| could| shall| should| would|'d)\b(?! (?:like|need|want|ask) you)|"
    r"\b(?:shall|should|may|can|could|let) (?:i|we|me)\b(?! know)|\byou(?:'ve| have(?! to))\b|\b(?:it|this|that|"
    r"which) (?:will|would|may|can)\b"
)
_CONDITION = re.compile(
    r"^\W*(?:if|once|when|after|as soon as|unless|in case|whenever|since|because|as|while|until|before)\b"
)
_PAIR = re.compile(r"\w+[\"']?\s*[:=]\s*[\"']?(?:true|false|\w+_\w+)\b")
"""An argument with its value, which an agent shows to have it confirmed."""
_ASKS = re.compile(r"\?|\b(?:tell me|let me know|could you|can you|would you|please)\b")
_STEMS: dict[str, str] = _TABLES["stems"]
"""Forms of verbs → those that hands are asked with."""
_STEM = re.compile(rf"\b(?:{'|'.join(_STEMS)})\b")
_AIM = re.compile(r"^\W*(?:now |next |then )?(?:in order )?to (?:turn|switch|enable|disable|activate|deactivate)\b")
_ON = re.compile(r"\b(?:turn|switch|toggle|flip|put|set)(?:ing)?\b.*\bon\b|\b(?:enable|activate|enabling|activating)\b")
_OFF = re.compile(
    r"\b(?:turn|switch|toggle|flip|put|set)(?:ing)?\b.*\boff\b|\b(?:disable|deactivate|disconnect|disabling|"
    r"deactivating|stop)\b"
)
_BARE = re.compile(r"\b(on|off)\W*(?:(?:again|now|please|for me|as well|too)\W*)*$")
_LOOKS = re.compile(
    _LEADS + r"\W*(?:check|look|see|verify|confirm|find|tell|read|describe|let me know|report|show)(?:ing)?\b"
    r"(?! (?:to it|that it is))"
)
_SHALL_BE = re.compile(
    r"\b(?:make sure|ensure|see to it|should be|needs? to be|must be|has to be|have to be|to be)\b.*"
    r"\b(?:(on|enabled|active|activated)|(off|disabled|inactive|deactivated|disconnected))\b"
)
_PRONOUN = re.compile(r"\b(?:it|that|this|them|both)\b")


class Instructions:
    """What the sentences of a message ask for.

    Args:
        hands: what the user can do.
    """

    def __init__(self, hands: Sequence[Hand]) -> None:
        self.hands = hands
        self.found: list[Hand] = []
        """In the order of the message."""
        self.is_lost = False
        """Whether the agent asks for something that the user cannot do."""
        self._passed: list[Hand] = []
        """Hands that a sentence passes on the way, such as the settings in "open the settings and turn it off"."""
        self._named: list[Hand] = []
        """The hands of the last device that was named, for pronouns."""

    def read(self, sentence: Sentence) -> None:
        """Add what a sentence asks for."""
        if _PAIR.search(sentence.text):
            return
        lead, aim, is_asked, before = "", "", False, len(self.found)
        tells = False
        for clause in clauses_of(_STEM.sub(lambda match: _STEMS[match[0]], sentence.text)):
            if _AIM.search(clause):
                aim = _direction(clause)
                self._remember(clause)
                continue
            if _CONDITION.search(clause):
                is_asked, lead = False, ""
                self._remember(clause)
                continue
            shall = _SHALL_BE.search(clause) is not None and not sentence.is_question
            is_told = _IMPERATIVE.search(clause) is not None
            if not is_told and _NO_INSTRUCTION.search(clause):
                is_asked, lead = False, ""
                self._remember(clause)
                continue
            if is_told or shall:
                is_asked, tells = True, True
                lead = _direction(clause) or aim
            elif not is_asked:
                self._remember(clause)
                continue
            elif lead and (bare := _BARE.search(clause)):
                lead = f"turn {bare[1]}"
            looks = not lead and _LOOKS.search(clause) is not None
            self._add(f"{lead} {clause}" if lead else clause, looks)
        if len(self.found) == before and _ASKS.search(sentence.text) and not _CONDITION.search(sentence.text):
            self._add(sentence.text, looks=True)
        self.is_lost = self.is_lost or (tells and len(self.found) == before)
        if any(not hand.looks for hand in self.found[before:]):
            self.found = [hand for hand in self.found if hand not in self._passed]
        self._passed = []

    def _add(self, clause: str, looks: bool) -> None:
        fitting = [
            hand
            for hand in self.hands
            if (hand.looks or not looks) and (asks_for(hand, clause) or (looks and _names(hand, clause)))
        ]
        if not fitting and not looks and (_PRONOUN.search(clause) or _BARE.search(clause)):
            fitting = [hand for hand in self._named if not hand.looks and _fits_direction(hand, clause)]
        for hand in fitting:
            if hand not in self.found:
                self.found.append(hand)
                self._passed += [hand] if hand.looks and not looks else []
        self._remember(clause)

    def _remember(self, clause: str) -> None:
        self._named = [hand for hand in self.hands if _names(hand, clause)] or self._named


def asked_hands(sentences: Sequence[Sentence], hands: Sequence[Hand]) -> Instructions:
    """Return what a message asks the user to do, or to look at."""
    instructions = Instructions(hands)
    for sentence in sentences if hands else ():
        instructions.read(sentence)
    return instructions


def asks_for(hand: Hand, clause: str) -> bool:
    """Return whether a clause names what a hand does."""
    return any(all(occurs(part, clause) for part in words.split("+")) for words in hand.asks)


def _names(hand: Hand, clause: str) -> bool:
    return any(occurs(word, clause) for word in hand.devices)


def _direction(clause: str) -> str:
    shall = _SHALL_BE.search(clause)
    if shall:
        return "turn on" if shall[1] else "turn off"
    return "turn off" if _OFF.search(clause) else "turn on" if _ON.search(clause) else ""


def _fits_direction(hand: Hand, clause: str) -> bool:
    direction = _direction(clause)
    return bool(direction) and any(words.endswith(f"+{direction}") for words in hand.asks)
