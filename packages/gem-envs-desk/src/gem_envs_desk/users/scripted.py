"""The simulated user that needs no model: :class:`ScriptedUser`.

The user raises one wish after the other, answers questions for what they know, denies what is false, says yes when
asked to confirm, reminds the agent of what is still open, and leaves when the agent wastes their time. Depending on the
script they give wrong data first, change their mind when asked to confirm, or insist when refused. In dual control they
use their own tools as the agent asks.

The words that they understand are in :mod:`gem_envs_desk.users.intents`; they understand nothing else. They say yes
only to what :mod:`gem_envs_desk.users.placing` places whole, and ask back otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from gem_envs_desk.task import Aim, DeskCall, Slot, UserScript, Wish
from gem_envs_desk.users.base import UserReply
from gem_envs_desk.users.hearing import Heard
from gem_envs_desk.users.instructions import asked_hands
from gem_envs_desk.users.intents import Intent
from gem_envs_desk.users.knowledge import Knowledge
from gem_envs_desk.users.stated import amounts_in, has_time, names_price

__all__ = ["ScriptedUser"]

_MOST_ANSWERS = 40
"""Answers after which a further one is no progress."""
_MOST_AMOUNTS = 20
_MOST_ALIKE = 3
"""Answers about one thing after which a further one is no progress."""

_YES = ("Yes, please.", "Yes, go ahead.", "Yes.")
_ANOTHER_YES = "Yes, as I said."
_RIGHT = "Yes, that is right."
_BYE = {
    "plain": "that was all. Thank you, goodbye.",
    "terse": "that is all. Bye.",
    "chatty": "that was all! Have a lovely day, goodbye!",
    "formal": "thank you. That concludes my request. Goodbye.",
}
_LEAVES = "This takes too long, and I have no more time for it. Goodbye."
_ACCEPTS = "That is a pity."
_WORKS = "It works now. Thank you."
_STILL = "It still does not work."
_HEARS = ("All right.", "I see.", "Fine.")
_UNKNOWN = ("I am not sure what you need from me.", "I do not know what to say to that.", "How do you mean?")
_NOTHING = "Hello? Are you still there?"
_FOREIGN = "I am sorry, I only understand English."
_NOT_KNOWN = "I cannot tell you that."
_NO_FIGURE = "I do not know the amount. You would have to tell me."
_OTHER_FIGURE = "That is not the amount that you told me before."
_CANNOT_TELL = "I cannot say whether that is right. I have told you what I know."
_NO_OTHER = "No, thank you, I do not want that."
_NO_MORE_TO_KNOW = "No, I have told you what I know."
_IS_IT_DONE = "Is it done, then? You have not told me yet."
_WHICH_DEED = "I am not sure what you want to do."
_AS_SAID = "Please do just what I have asked for."
_IF_RIGHT = "I cannot say whether that amount is right. If it is, please do just what I have asked for."
_WHAT_IN_FULL = "What exactly is it, and what does it cost? I agree to nothing else."
_OPEN = "Wait, we are not finished yet."
_MISSING = {
    "amount": "You have not told me the amount yet.",
    "time": "You have not told me the time yet.",
    "answer": "You have not told me anything about it yet.",
}
_NOT_ON_PHONE = "I do not see how to do that on my phone."
_ALL = re.compile(r"\b(?:that|this) (?:be )?(?:all|everything)\b|\ball (?:set|settled|sorted)\b")
"""A yes to such a question is a no to the others."""
_QUESTIONS = (Intent.PROCEEDS, Intent.VERIFIES, Intent.CONFIRMS, Intent.CHECKS)
_FLAGS = ("changed", "protested", "agreed", "refused")
_LISTS = ("told", "amounts", "last")


class ScriptedUser:
    """Plays a script.

    Args:
        script: the script.
        use: carries out a call of a tool of the user's and returns what the user sees; only dual control needs it.
        aims: what each wish comes to, so that the user knows the names of the deeds to which they agree.
    """

    def __init__(self, script: UserScript, use: Callable[[DeskCall], str], aims: Sequence[Aim] = ()) -> None:
        self.script, self._use, self._aims = script, use, aims
        self.wish = 0
        """Index of the wish that is being discussed."""
        self.asked: dict[str, int] = {}
        """Slot or tool → how often the user was asked for it."""
        self.changed = self.protested = self.agreed = self.refused = False
        """Whether the user, or the agent, has done so in the current wish."""
        self.told: list[str] = []
        """What the user has been told in the current wish, of what a wish can want."""
        self.amounts: list[str] = []
        """The amounts that the agent has named in the current wish."""
        self.last: list[str] = []
        """The slots that the user has answered last."""
        self.said = ""
        """The user's last message, without what they saw."""
        self.idle = 0
        """Messages without progress, one after the other."""
        self._new_amounts: set[str] = set()
        """The amounts that the present message is the first to name."""

    def opening(self) -> str:
        """Return the first message."""
        return f"{self.script.opening} {self.script.wishes[0].says}".strip()

    def reply(self, message: str) -> UserReply:
        """Return the answer to a message of the agent."""
        heard = Heard.of(message)
        parts, progress, ends = self._answers(heard)
        self.idle = 0 if progress else self.idle + 1
        if not ends and self.idle >= self.script.patience:
            return UserReply(_LEAVES, ends=True)
        self.said = " ".join(parts)
        return UserReply(self.said, ends)

    def _acts(self, heard: Heard) -> list[str]:
        """Do with the own hands what the agent asks for; return what is to be seen."""
        seen = []
        for hand in asked_hands([sentence for sentence, _ in heard.sentences], self.script.hands).found:
            if hand.looks and self._is_test(heard):
                continue
            self.asked[hand.call.tool] = self.asked.get(hand.call.tool, 0) + 1
            seen.append(self._use(hand.call))
        if seen and self._is_test(heard):
            seen += self._tested()[0]
        return seen

    def _is_test(self, heard: Heard) -> bool:
        """Return whether the agent wants to know if it works, rather than how things are set."""
        return self._present.test is not None and heard.has(Intent.TESTS)

    def _listen(self, heard: Heard, known: Knowledge) -> None:
        """Remember what the agent says about the present wish."""
        told = []
        if any(Intent.DONE in found and Intent.REFUSES not in found for _, found in heard.sentences):
            told += ["deed", "answer"]
        if heard.answers:
            told.append("answer")
        if any(has_time(sentence.text) for sentence, _ in heard.sentences):
            told.append("time")
        amounts = {
            amount
            for sentence, found in heard.sentences
            if not found & {Intent.NOT_FOUND, Intent.VERIFIES} and not known.is_offer(sentence)
            for amount in amounts_in(sentence.text)
        }
        if amounts:
            told.append("amount")
        self.amounts = sorted({*self.amounts, *amounts})[:_MOST_AMOUNTS]
        self.told += [one for one in dict.fromkeys(told) if one not in self.told]

    def _counts(self, keys: list[str]) -> bool:
        """Return whether answers about these slots are progress."""
        return sum(self.asked.values()) <= _MOST_ANSWERS and any(self.asked.get(key, 0) <= _MOST_ALIKE for key in keys)

    def _corrections(self, known: Knowledge, denied: list[Slot], heard: Heard) -> list[str]:
        parts = []
        for slot in denied:
            if known.is_mistaken(slot):
                parts.append(self._corrected(known, slot))
                continue
            self._ask(known, slot)
            no = "" if parts else "No. " if heard.has(*_QUESTIONS) else "That is not right. "
            said = self._wish_words() if slot.says == self._present.says else known.truth(slot)
            parts.append(f"{no}{said}")
        return parts

    def _corrected(self, known: Knowledge, slot: Slot) -> str:
        self.asked[known.key(slot)] = max(self.asked.get(known.key(slot), 0) + 1, 2)
        return f"Sorry, I made a mistake. {known.truth(slot)}"

    def _ask(self, known: Knowledge, slot: Slot) -> int:
        """Note that the user says the truth about a slot, and return how often they have spoken about it."""
        key = known.key(slot)
        count = self.asked[key] = max(self.asked.get(key, 0) + 1, 2 if slot.wrong else 1)
        return count

    def _checked(self, known: Knowledge, slot: Slot) -> str:
        if known.is_mistaken(slot):
            return self._corrected(known, slot)
        if slot.wrong and not self.asked.get(known.key(slot)):
            return self._answer(known, slot)
        return f"I have checked it. {known.truth(slot)}" if self._ask(known, slot) > 1 else known.truth(slot)

    def _answer(self, known: Knowledge, slot: Slot) -> str:
        if known.is_mistaken(slot):
            return self._corrected(known, slot)
        if slot.wrong and not self.asked.get(known.key(slot)):
            self.asked[known.key(slot)] = 1
            return slot.wrong
        self._ask(known, slot)
        return known.truth(slot)

    def _wish_words(self) -> str:
        """Return what the user wants, as they said it last, and which order it is about if they have said so."""
        wish = self._present
        if self.changed:
            return next((slot.after_change for slot in wish.slots if slot.after_change), f"As I said: {wish.change}")
        known = self._knowledge()
        named = [known.believed(slot) for slot in wish.slots[:1] if self.asked.get(known.key(slot))]
        return " ".join([self._raised(), *named])

    def _raised(self) -> str:
        wish = self._present
        is_again = any(other.says == wish.says for other in self.script.wishes[: self.wish])
        return wish.again if wish.again and is_again else wish.says

    def _knowledge(self) -> Knowledge:
        aim = self._aims[self.wish] if self._aims else None
        return Knowledge(self.script, self.wish, self.changed, self.asked, aim)

    def _confirmation(self, heard: Heard, known: Knowledge) -> str:
        """Return the answer to a request for permission: a yes to what is named, and is what the user wants."""
        wish, placed = self._present, known.placed(heard)
        declined = known.declined(heard)
        if declined is not None:
            return self._answer(known, declined)
        if placed.strange:
            return f"{_WHICH_DEED} {self._wish_words()}"
        if wish.change and not self.changed:
            self.changed = True
            return wish.change
        self.refused = False
        was_agreed, self.agreed = self.agreed, True
        if placed.has_money and not known.repeats_offer(heard):
            return f"{_IF_RIGHT} {self._wish_words()}"
        if not placed.names_deed:
            return f"{_AS_SAID} {self._wish_words()}"
        return _ANOTHER_YES if was_agreed else _YES[self.wish % len(_YES)]

    def _permitted(
        self, heard: Heard, known: Knowledge, parts: list[str], *, progress: bool
    ) -> tuple[list[str], bool, bool]:
        """Add the answer to a request for permission; the first that the user places is progress."""
        before = (self.agreed, self.changed)
        answer = self._confirmation(heard, known)
        return [*parts, answer], progress or (self.agreed, self.changed) != before, False

    def _right(self, heard: Heard, known: Knowledge) -> str:
        """Return the answer to what is right, which can be what the user changes their mind on."""
        if self._present.change and not self.changed and known.states_change(heard):
            self.changed = True
            return self._present.change
        declined = known.declined(heard)
        if declined is not None:
            return self._answer(known, declined)
        if self._new_amounts and known.placed(heard).has_money:
            return f"{_IF_RIGHT} {self._wish_words()}"
        return _RIGHT

    def _verified(self, heard: Heard, known: Knowledge) -> str:
        amounts = {
            amount
            for sentence in heard.where(Intent.VERIFIES)
            if names_price(sentence.text)
            for amount in amounts_in(sentence.text)
        }
        if amounts:
            if amounts & self._new_amounts:
                return f"{_IF_RIGHT} {self._wish_words()}"
            if not self.amounts:
                return _NO_FIGURE
            return _RIGHT if amounts <= set(self.amounts) else _OTHER_FIGURE
        return self._right(heard, known) if known.confirmed(heard) else _CANNOT_TELL

    def _after_refusal(self, heard: Heard, parts: list[str], more: bool) -> tuple[list[str], bool, bool]:
        wish = self._present
        if wish.protest and not self.protested:
            self.protested = True
            return [*parts, wish.protest], True, False
        self.refused = True
        if more:
            closing, progress, ends = self._closing(heard)
            return [*parts, _ACCEPTS, *closing], progress, ends
        return [*parts, f"{_ACCEPTS} {_NO_OTHER}" if heard.proceeds else _ACCEPTS], False, False

    def _tested(self) -> tuple[list[str], bool, bool]:
        """Look whether it works."""
        seen = self._test()
        return ([_STILL, seen] if seen else [_WORKS]), True, False

    def _test(self) -> str:
        """Return what the user sees, if it does not show that they are content."""
        wish = self._present
        if wish.test is None:
            return ""
        seen = self._use(wish.test)
        return "" if wish.passes in seen else seen

    def _closing(self, heard: Heard) -> tuple[list[str], bool, bool]:
        """Remind the agent of what is open, or go on to the next wish, or leave."""
        if not self.refused:
            seen = self._test()
            if seen:
                return [_OPEN, _STILL, seen], False, False
            missing = self._missing()
            if missing:
                return missing, False, False
        is_all = any(_ALL.search(sentence.text) for sentence in heard.where(Intent.MORE))
        if self.wish + 1 == len(self.script.wishes):
            bye = _BYE[self.script.manner]
            if heard.has(Intent.MORE):
                return [f"{'Yes' if is_all else 'No'}, {bye}"], True, True
            return [bye[0].upper() + bye[1:]], True, True
        self.wish += 1
        self.changed = self.protested = self.agreed = self.refused = False
        self.told, self.amounts, self.last = [], [], []
        there_is = "Yes, there is." if heard.has(Intent.MORE) and not is_all else "There is something else."
        return [there_is, self._raised()], True, False

    def _missing(self) -> list[str]:
        """Return the reminder of what the user has not been told."""
        wants = [*self._present.wants]
        for hand in self.script.hands:
            wants += [want for want in hand.wants if self.asked.get(hand.call.tool)]
        missing = [want for want in wants if want not in self.told]
        if not missing:
            return []
        if "deed" in missing:
            return [_IS_IT_DONE] if self.agreed else [_OPEN, self._wish_words()]
        return [_MISSING[missing[0]]]

    def get_state(self) -> dict[str, Any]:
        """Return what the user remembers, JSON values."""
        state = {name: getattr(self, name) for name in ("wish", "idle", "said", *_FLAGS)}
        return {**state, "asked": dict(self.asked), **{name: list(getattr(self, name)) for name in _LISTS}}

    def set_state(self, state: dict[str, Any]) -> None:
        """Remember what ``get_state`` returned.

        Raises:
            ValueError, KeyError, TypeError: for anything else.
        """
        wish, idle = int(state["wish"]), int(state["idle"])
        if not 0 <= wish < len(self.script.wishes):
            raise ValueError(f"the user has no wish {wish}")
        asked = {str(name): int(count) for name, count in state["asked"].items()}
        flags = {name: bool(state[name]) for name in _FLAGS}
        lists = {name: [str(one) for one in state[name]] for name in _LISTS}
        self.wish, self.idle, self.asked, self.said = wish, idle, asked, str(state["said"])
        for name, value in (*flags.items(), *lists.items()):
            setattr(self, name, value)

    @property
    def _present(self) -> Wish:
        return self.script.wishes[self.wish]

    def _answers(self, heard: Heard) -> tuple[list[str], bool, bool]:
        """Return the parts of the answer, whether the agent has made progress, and whether the user leaves."""
        if not heard.sentences:
            return [_NOTHING], False, False
        if heard.is_foreign:
            return [_FOREIGN], False, False
        known = self._knowledge()
        for slot in known.put_right(heard):
            self.asked[known.key(slot)] = 2  # the agent has noticed the mistake for them
        seen = self._acts(heard)
        wanted = known.requested(heard)
        denied = [slot for slot in known.denied(heard) if slot not in wanted]
        checked = [slot for slot in known.to_check(heard, self.last, wanted) if slot not in denied]
        requested = [slot for slot in wanted if slot not in checked]
        before = {*self.amounts}
        if not denied:
            self._listen(heard, known)
        self._new_amounts = {*self.amounts} - before
        answers = [*self._corrections(known, denied, heard)]
        answers += [self._checked(known, slot) for slot in checked]
        answers += [
            _WHAT_IN_FULL if slot.decides and not known.offers_in_full(heard, slot) else self._answer(known, slot)
            for slot in requested
        ]
        slots = [*denied, *checked, *requested]
        if slots:
            self.last = [known.key(slot) for slot in slots]
        progress = bool(seen) or self._counts([known.key(slot) for slot in slots])
        parts = [*seen, *answers]
        if checked and heard.has(Intent.NOT_FOUND):
            return parts, progress, False  # "Are you sure?" asks for no permission then
        if answers and not seen and self._is_test(heard):
            return [*parts, *self._tested()[0]], True, False
        has_acted = bool(seen) and not any(sentence.is_question for sentence in heard.where(Intent.PROCEEDS))
        permits = not denied and not has_acted and not any(slot.decides for slot in slots)
        return self._reacted(heard, known, parts, permits=permits, has_told=bool(slots), progress=progress)

    def _reacted(
        self, heard: Heard, known: Knowledge, parts: list[str], *, permits: bool, has_told: bool, progress: bool
    ) -> tuple[list[str], bool, bool]:
        """Add the reaction to what the agent does, if the data are not all that there is to say.

        Args:
            heard: the message.
            known: what the user knows.
            parts: what they say already.
            permits: whether a permission can be added to it.
            has_told: whether it tells the agent anything.
            progress: whether it is progress.
        """
        more = heard.has(Intent.MORE, Intent.CLOSES)
        if heard.refuses and not has_told and (not parts or more) and not known.is_granted(heard):
            return self._after_refusal(heard, parts, more)
        if heard.proceeds and permits:
            if heard.offers_other:
                return [*parts, f"{_NO_OTHER} {self._wish_words()}"], progress, False
            if not (more and self.agreed):
                return self._permitted(heard, known, parts, progress=progress)
        if parts:
            return parts, progress, False
        if heard.has(Intent.VERIFIES):
            return [self._verified(heard, known)], progress, False
        if heard.has(Intent.CHECKS) and known.confirmed(heard):
            return [self._right(heard, known)], progress, False
        if heard.has(Intent.MORE_TO_KNOW):
            return [_NO_MORE_TO_KNOW], False, False
        if heard.has(Intent.LOOKS_UP) and not known.placed(heard).strange:
            return [_YES[0]], False, False
        if self._present.test is not None and not more and heard.has(Intent.TESTS, Intent.DONE):
            return self._tested()
        if more:
            return self._closing(heard)
        if heard.has(Intent.CONFIRMS) and not heard.has(Intent.WAITS):
            return self._permitted(heard, known, parts, progress=False)
        return self._others(heard, known), False, False

    def _others(self, heard: Heard, known: Knowledge) -> list[str]:
        """Return the answer to a message without any question that the user can answer."""
        if heard.has(Intent.OFFERS_HELP):
            return [self._wish_words()]
        if heard.has(Intent.REPEATS):
            return [self.said or self._wish_words()]
        if known.asks_unknown(heard):
            return [_NOT_KNOWN]
        if asked_hands([sentence for sentence, _ in heard.sentences], self.script.hands).is_lost:
            return [_NOT_ON_PHONE]
        if heard.has(Intent.ASKS):
            return [_UNKNOWN[self.idle % len(_UNKNOWN)], self._wish_words()]
        return [_HEARS[self.idle % len(_HEARS)]]
