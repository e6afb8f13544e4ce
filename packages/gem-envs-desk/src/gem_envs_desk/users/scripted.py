"""The simulated user that needs no model: :class:`ScriptedUser`.

The user raises one wish after the other, answers questions for what they know, says yes when asked to confirm, and
leaves when the agent wastes their time. Depending on the script they give wrong data first, change their mind when
asked to confirm, or insist when refused. In dual control they use their own tools as the agent asks.

The user looks for words in the agent's message, and does not understand it otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gem_envs_desk.task import DeskCall, Slot, UserScript
from gem_envs_desk.users.base import UserReply

__all__ = ["ScriptedUser"]

_CONFIRM = re.compile(
    r"\b(proceed|go ahead|shall i|should i|do you (?:confirm|agree|want me to|wish me to)|would you like me to|"
    r"yes or no|yes/no|is (?:that|this) (?:correct|right|ok|okay))\b"
)
_WEAK_CONFIRM = re.compile(r"\bconfirm\b")
"""Also in "please confirm your address", which asks for the address."""
_MORE = re.compile(r"\b(anything|something) else\b|\bany other\b|\bfurther (?:help|assist\w*|requests?)\b")
_REFUSAL = re.compile(
    r"\b(cannot|can't|can not|unable|not (?:possible|allowed|eligible|permitted|able)|isn't (?:possible|allowed)|"
    r"against (?:our|the) policy|(?:must|have to) (?:refuse|decline))\b"
)
_ASKING = re.compile(
    r"\?|\b(please|provide|need|require|tell me|give me|send me|share|let me know|may i|can i have|could i have|what)\b"
)
_SENTENCE = re.compile(r"[^.!?]*(?:\.(?=\S)[^.!?]*)*[.!?]*")
"""A point inside an address or a number ends no sentence."""
_MOST_ANSWERS = 40
"""Answers after which a further one is no progress."""
_SPACES = re.compile(r"\s+")

_YES = ("Yes, please.", "Yes, go ahead.", "Yes.")
_ANOTHER_YES = "Yes, as I said."
_BYE = {
    "plain": "No, that was all. Thank you, goodbye.",
    "terse": "No. Bye.",
    "chatty": "No, that was all! Have a lovely day, goodbye!",
    "formal": "No, thank you. That concludes my request. Goodbye.",
}
_LEAVES = "This takes too long, and I have no more time for it. Goodbye."
_ACCEPTS = "That is a pity."
_HEARS = ("All right.", "I see.", "Fine.")
_UNKNOWN = ("I am not sure what you need from me.", "I do not know what to say to that.", "How do you mean?")


class ScriptedUser:
    """Plays a script.

    Args:
        script: the script.
        use: carries out a call of a tool of the user's and returns what the user sees; only dual control needs it.
    """

    def __init__(self, script: UserScript, use: Callable[[DeskCall], str]) -> None:
        self.script, self._use = script, use
        self.wish = 0
        """Index of the wish that is being discussed."""
        self.asked: dict[str, int] = {}
        """Slot → how often the user was asked for it."""
        self.changed = self.protested = self.agreed = False
        """Whether the user has done so in the current wish."""
        self.idle = 0
        """Messages without progress, one after the other."""

    def opening(self) -> str:
        """Return the first message."""
        return f"{self.script.opening} {self.script.wishes[0].says}".strip()

    def reply(self, message: str) -> UserReply:
        """Return the answer to a message of the agent."""
        text = _SPACES.sub(" ", message.casefold().replace("’", "'"))
        text = text.replace("date of birth", "birthday")  # is no date of a wish
        wish = self.script.wishes[self.wish]
        known = sum(self.asked.values())
        answers = [*self._acts(text), *self._slots(text)]
        is_new = bool(answers) and known < _MOST_ANSWERS
        asks_more = _MORE.search(text) is not None
        if self._asks_to_confirm(text, bool(answers), asks_more):
            is_new = is_new or not self.agreed
            answers.append(self._confirmation())
        elif not answers and not asks_more and _REFUSAL.search(text):
            if wish.protest and not self.protested:
                self.protested, is_new = True, True
                answers.append(wish.protest)
            else:
                answers.append(_ACCEPTS)
        elif not answers and asks_more:
            if self.wish + 1 == len(self.script.wishes):
                return UserReply(_BYE[self.script.manner], ends=True)
            self.wish, is_new = self.wish + 1, True
            self.changed = self.protested = self.agreed = False
            answers.append(f"Yes, there is. {self.script.wishes[self.wish].says}")
        if is_new:
            self.idle = 0
        else:
            self.idle += 1
            if self.idle >= self.script.patience:
                return UserReply(_LEAVES, ends=True)
        if not answers and not _ASKING.search(text):
            answers = [_HEARS[(self.idle - 1) % len(_HEARS)]]
        elif not answers:
            # What the user says last counts, so nobody hears the first version of a wish again.
            said = f"As I said: {wish.change}" if self.changed else wish.says
            answers = [_UNKNOWN[(self.idle - 1) % len(_UNKNOWN)], said]
        return UserReply(" ".join(answers))

    def get_state(self) -> dict[str, Any]:
        """Return what the user remembers, JSON values."""
        names = ("wish", "changed", "protested", "agreed", "idle")
        return {**{name: getattr(self, name) for name in names}, "asked": dict(self.asked)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Remember what ``get_state`` returned.

        Raises:
            ValueError, KeyError, TypeError: for anything else.
        """
        wish, idle = int(state["wish"]), int(state["idle"])
        if not 0 <= wish < len(self.script.wishes):
            raise ValueError(f"the user has no wish {wish}")
        asked = {str(name): int(count) for name, count in state["asked"].items()}
        flags = [bool(state[name]) for name in ("changed", "protested", "agreed")]
        self.wish, self.idle, self.asked = wish, idle, asked
        self.changed, self.protested, self.agreed = flags

    def _confirmation(self) -> str:
        wish = self.script.wishes[self.wish]
        if wish.change and not self.changed:
            self.changed = True
            return wish.change
        if self.agreed:
            return _ANOTHER_YES
        self.agreed = True
        return _YES[self.wish % len(_YES)]

    def _asks_to_confirm(self, text: str, is_answered: bool, asks_more: bool) -> bool:
        if _CONFIRM.search(text):
            return not (asks_more and self.agreed)
        return not is_answered and not asks_more and _WEAK_CONFIRM.search(text) is not None

    def _slots(self, text: str) -> list[str]:
        asking = [sentence for sentence in _SENTENCE.findall(text) if _ASKING.search(sentence)]
        return [
            self._answer(slot)
            for slot in (*self.script.wishes[self.wish].slots, *self.script.slots)
            if any(_occurs(word, sentence) for word in slot.asks for sentence in asking)
        ]

    def _answer(self, slot: Slot) -> str:
        name = slot.name if slot in self.script.slots else f"{self.wish}: {slot.name}"
        count = self.asked[name] = self.asked.get(name, 0) + 1
        if slot.wrong and count == 1:
            return slot.wrong
        if slot.wrong and count == 2:
            return f"Sorry, I made a mistake. {slot.says}"
        if slot.after_change and self.changed:
            return slot.after_change
        return slot.says

    def _acts(self, text: str) -> list[str]:
        sentences = _SENTENCE.findall(text)
        done = []
        for hand in self.script.hands:
            parts = [words.split("+") for words in hand.asks]
            if any(all(_occurs(part, sentence) for part in each) for each in parts for sentence in sentences):
                self.asked[hand.call.tool] = self.asked.get(hand.call.tool, 0) + 1
                done.append(self._use(hand.call))
        return done


def _occurs(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None
