"""The customer who answers typed speech acts: :class:`ActUser`.

The customer raises one wish after the other, says what they are asked for, compares a proposal with the script in all
that they know of it, and leaves when everything is settled. Depending on the script they give wrong data first, change
their mind at the first proposal, or insist when refused. Texts that the agent merely says change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gem.tables import read_table
from gem_envs_desk.acts.language import (
    ANYTHING_ELSE,
    ASK,
    DONE,
    PROPOSE,
    REFUSED,
    TELL,
    DeskActs,
    FactKind,
    SpeechAct,
    canonical,
    exact_number,
    plain_words,
)
from gem_envs_desk.facts import shows
from gem_envs_desk.task import CASE, Aim, DeskCall, Hand, Slot, UserScript, Wish
from gem_envs_desk.users.stated import has_time
from gem_rollout.simulated_people.faults import UserFault

__all__ = ["ActReply", "ActUser"]

_MOST_ALIKE = 3
"""Questions for one thing after which a further one is wasted."""
_LONGEST_ANSWER = 100
"""Characters of a value that is told."""
_WORDS: dict[str, Any] = read_table(__file__, "answers.toml")
_FLAGS = ("changed", "refused")
_WISH = "wish"
"""The topic that asks for the wish itself."""


class ActReply(NamedTuple):
    """What the customer answers to an act."""

    text: str
    agrees: bool = False
    """Whether it is a yes to a proposal of the agent's own action."""
    ends: bool = False
    is_content: bool = False
    """Whether the customer leaves because everything is settled."""
    is_wasted: bool = False
    """Whether the act has brought nothing."""
    fault: UserFault | None = None
    """If the customer, not the agent, has spoiled the episode, the reason; it is over then."""


class ActUser:
    """Plays a script for typed speech acts.

    Args:
        script: the script.
        aims: what each wish comes to.
        acts: the names of the desk.
        state: the initial state, for what a customer knows of a row.
        use: carries out a call of a tool of the customer's and returns what they see.
    """

    def __init__(
        self,
        script: UserScript,
        aims: Sequence[Aim],
        acts: DeskActs,
        state: Mapping[str, Any],
        use: Callable[[DeskCall], str],
    ) -> None:
        self.script, self.aims, self.acts, self._state, self._use = script, aims, acts, state, use
        self.wish = 0
        """Index of the wish that is being discussed."""
        self.asked: dict[str, int] = {}
        """Slot or tool → how often the customer was asked for it."""
        self.told: list[str] = []
        """What the customer has been told in the present wish, of what a wish can want."""
        self.changed = self.refused = False
        """Whether the customer, or the agent, has done so in the present wish."""
        self.protested = 0
        """How often the customer has insisted in the present wish."""
        self.wasted = 0
        """Acts of the episode that have brought nothing. Their sum counts, so that their order does not."""

    def opening(self) -> str:
        """Return the first message."""
        return f"{self.script.opening} {self.script.wishes[0].says}".strip()

    def answer(self, act: SpeechAct) -> ActReply:
        """Return the answer to an act."""
        reply = {ASK: self._asked, PROPOSE: self._proposed, TELL: self._told}.get(act.kind, self._hears)(act)
        self.wasted += reply.is_wasted
        if not reply.ends and self.wasted >= 2 * self.script.patience:
            return ActReply(_WORDS["leaves"], ends=True)
        return reply

    def get_state(self) -> dict[str, Any]:
        """Return what the customer remembers, JSON values."""
        flags = {name: getattr(self, name) for name in _FLAGS}
        counts = {"wish": self.wish, "wasted": self.wasted, "protested": self.protested}
        return {**counts, "asked": {**self.asked}, "told": [*self.told], **flags}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Remember what ``get_state`` returned.

        Raises:
            ValueError, KeyError, TypeError: for anything else.
        """
        wish = int(state["wish"])
        if not 0 <= wish < len(self.script.wishes):
            raise ValueError(f"the user has no wish {wish}")
        asked = {str(name): int(count) for name, count in state["asked"].items()}
        flags = {name: bool(state[name]) for name in _FLAGS}
        told, wasted, protested = [str(one) for one in state["told"]], int(state["wasted"]), int(state["protested"])
        if protested < 0:
            raise ValueError(f"nobody insists {protested} times")
        self.wish, self.asked, self.told, self.wasted, self.protested = wish, asked, told, wasted, protested
        for name, value in flags.items():
            setattr(self, name, value)

    @property
    def _present(self) -> Wish:
        return self.script.wishes[self.wish]

    def _hears(self, act: SpeechAct) -> ActReply:
        del act  # its words are for nobody
        return ActReply(_WORDS["hears"])

    def _asked(self, act: SpeechAct) -> ActReply:
        topic = plain_words(act.name)
        if topic == plain_words(ANYTHING_ELSE):
            return self._closing()
        if topic not in map(plain_words, self.acts.topics):
            return ActReply(_WORDS["what"], is_wasted=True)
        slots = (*self._present.slots, *self.script.slots)
        slot = next((slot for slot in slots if plain_words(slot.name) == topic), None)
        if slot is None and topic == _WISH:
            slot = Slot(_WISH, (), self._present.says)
        if slot is None:
            return ActReply(_WORDS["not_known"], is_wasted=True)
        key = slot.name if slot in self.script.slots else f"{self.wish}: {slot.name}"
        count = self.asked[key] = self.asked.get(key, 0) + 1
        return ActReply(self._known(slot, count), is_wasted=count > _MOST_ALIKE)

    def _known(self, slot: Slot, count: int) -> str:
        # Who has said yes to a proposal has seen the right record there.
        is_wrong = bool(slot.wrong) and not self._has_agreed
        if is_wrong and count == 1:
            return slot.wrong
        truth = self._words() if slot.name == _WISH else self._truth(slot)
        return f"Sorry, I made a mistake. {truth}" if is_wrong and count == 2 else truth

    def _truth(self, slot: Slot) -> str:
        return slot.after_change if slot.after_change and self.changed else slot.says

    def _proposed(self, act: SpeechAct) -> ActReply:
        action, arguments = act.name.strip(), act.value
        if any(hand.call.tool == action for hand in self.script.hands):
            return self._with_own_hands(action, arguments)
        if action not in self.acts.writes:
            return ActReply(_WORDS["which_action"], is_wasted=True)
        if action == CASE:
            return ActReply(_WORDS["hears"])
        wish, aim = self._present, self.aims[self.wish]
        wanted = [call for call in self._wanted(wish, aim) if call.tool == action]
        if not wanted:
            return self._denies(arguments)
        if "" in arguments.values() or not any(set(call.arguments) == set(arguments) for call in wanted):
            return ActReply(_WORDS["whole_action"], is_wasted=True)
        if not any(self._judged(action, call.arguments) == self._judged(action, arguments) for call in wanted):
            return self._denies(arguments)
        if wish.change and not self.changed:
            self.changed = True
            return ActReply(wish.change)
        self.refused = False
        key = f"{self.wish}: {action}"
        count = self.asked[key] = self.asked.get(key, 0) + 1
        return ActReply(_WORDS["yes"][self.wish % len(_WORDS["yes"])], agrees=True, is_wasted=count > _MOST_ALIKE)

    def _denies(self, arguments: Mapping[str, Any]) -> ActReply:
        """Say what is wanted, and again which record it is about if that was told and the proposal names another."""
        words = self._words()
        for slot in self._present.slots[:1]:  # the record's
            count = self.asked.get(f"{self.wish}: {slot.name}", 0)
            told = slot.wrong if slot.wrong and count == 1 else self._truth(slot)
            is_said = told.split(". ")[0] in words  # a note may follow
            if count and not is_said and not any(shows(told, str(value)) for value in arguments.values()):
                words = f"{words} {told}"
        return ActReply(f"{_WORDS['not_that']} {words}", is_wasted=True)

    def _wanted(self, wish: Wish, aim: Aim) -> tuple[DeskCall, ...]:
        return aim.first if wish.change and not self.changed else aim.agrees

    def _judged(self, action: str, arguments: Mapping[str, Any]) -> dict[str, object]:
        """Return what the customer knows of the arguments of a proposal."""
        believed = self.acts.unknown.get(action, ())
        judged: dict[str, object] = {}
        for name, value in arguments.items():
            if name in self.acts.lookups:
                table, column = self.acts.lookups[name]
                rows = [row for row in self._state[table] if canonical(row[name]) == canonical(value)]
                judged[name] = rows[0][column] if rows else None
            elif name not in believed:
                judged[name] = canonical(value)
        return judged

    def _with_own_hands(self, action: str, arguments: Mapping[str, Any]) -> ActReply:
        def fits(hand: Hand) -> bool:
            wanted = dict(hand.call.arguments)
            # The agent may leave out which phone: it is the one in the customer's hand.
            return hand.call.tool == action and canonical(wanted) == canonical(
                {"phone_number": wanted["phone_number"], **arguments}
            )

        hand = next(filter(fits, self.script.hands), None)
        if hand is None:
            return ActReply(_WORDS["not_on_phone"], is_wasted=True)
        key = f"{hand.call.tool} {canonical(hand.call.arguments)}"
        count = self.asked[key] = self.asked.get(key, 0) + 1
        if hand.wants and hand.call.tool not in self.asked:
            self.asked[hand.call.tool] = 1
        return ActReply(self._use(hand.call), is_wasted=count > _MOST_ALIKE)

    def _told(self, act: SpeechAct) -> ActReply:
        fact, value = act.name.strip().casefold(), act.value
        if fact == DONE:
            if value not in (*self.acts.writes, *(hand.call.tool for hand in self.script.hands)):
                return ActReply(_WORDS["what_is_done"], is_wasted=True)
            return self._learns("deed", "answer")
        if fact == REFUSED:
            return self._refused(value)
        kind = self.acts.facts.get(fact)
        if kind is None:
            return ActReply(_WORDS["how_much"], is_wasted=True)
        if not _is_clear(kind, value):
            return ActReply(_WORDS["how_much"], is_wasted=True)
        return self._learns(kind.wants, "answer")

    def _learns(self, *wants: str) -> ActReply:
        # Whoever wants a connection wants to know what it costs, unless they will not pay.
        is_wanted = not {*wants}.isdisjoint(self._wants) or (self._present.test and not self.aims[self.wish].grounds)
        answer = self._by_manner("notes", self.wish + len(self.told)) if is_wanted else _WORDS["hears"]
        self.told += [want for want in wants if want not in self.told]
        return ActReply(answer)

    def _by_manner(self, name: str, turn: int = 0) -> str:
        """Return what customers of this manner say; where there are several, the one of a turn."""
        words: str | list[str] = _WORDS[name][self.script.manner]
        return words if isinstance(words, str) else words[turn % len(words)]

    def _refused(self, ground: object) -> ActReply:
        if ground not in self.acts.grounds:
            return ActReply(_WORDS["why_not"], is_wasted=True)
        protests = self._present.protests
        if self.protested < len(protests):
            self.protested += 1
            return ActReply(protests[self.protested - 1])
        self.refused = True
        return ActReply(self._by_manner("accepts"))

    def _closing(self) -> ActReply:
        """Remind the agent of what is open, or go on to the next wish, or leave."""
        if not self.refused:
            seen = self._test()
            if seen:
                return ActReply(f"{_WORDS['open']} {_WORDS['still']} {seen}", is_wasted=True)
            missing = self._missing()
            if missing:
                return ActReply(f"{_WORDS['open']} {missing}", is_wasted=True)
        if self.wish + 1 == len(self.script.wishes):
            return ActReply(self._by_manner("bye"), ends=True, is_content=True)
        self.wish += 1
        self.changed = self.refused = False
        self.protested, self.told = 0, []
        parts = (self._by_manner("more", self.wish), self._present.lead, self._words())
        return ActReply(" ".join(filter(None, parts)))

    def _test(self) -> str:
        """Return what the customer sees, if it does not show that they are content."""
        wish = self._present
        if wish.test is None:
            return ""
        seen = self._use(wish.test)
        return "" if wish.passes in seen else seen

    def _missing(self) -> str:
        """Return the reminder of what the customer has not been told."""
        missing = [want for want in self._wants if want not in self.told]
        if missing[:1] == ["deed"] and not self._has_agreed:
            return self._words()  # nothing has been proposed that could be done by now
        return str(_WORDS["missing"][missing[0]]) if missing else ""

    @property
    def _has_agreed(self) -> bool:
        """Whether the customer has said yes to a proposal in the present wish."""
        return any(self.asked.get(f"{self.wish}: {tool}") for tool in self.acts.writes)

    @property
    def _wants(self) -> list[str]:
        """What the customer wants to be told in the present wish."""
        wants: list[str] = [*self._present.wants]
        if self._present.test is not None:
            wants += [want for hand in self.script.hands if self.asked.get(hand.call.tool) for want in hand.wants]
        return wants

    def _words(self) -> str:
        """Return what the customer wants."""
        wish = self._present
        if self.changed:
            changed = (slot.after_change for slot in wish.slots if slot.after_change)
            return next(changed, f"As I said: {wish.change}")
        return wish.says


def _is_clear(kind: FactKind, value: object) -> bool:
    """Return whether a customer who does not know a fact hears that this is one of its kind."""
    text = str(value).strip()
    if kind.form:
        return re.fullmatch(kind.form, text, re.IGNORECASE) is not None
    if kind.wants == "amount":
        return exact_number(value) is not None
    return has_time(text.casefold()) if kind.wants == "time" else 0 < len(text) <= _LONGEST_ANSWER
