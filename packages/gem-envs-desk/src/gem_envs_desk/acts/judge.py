"""What an agent has done right in a conversation, as named predicates: :class:`ConversationJudge`.

A predicate that has been broken stays broken, whatever is undone later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

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
)
from gem_envs_desk.acts.ownership import Ownership
from gem_envs_desk.acts.progress import Progress, call_key
from gem_envs_desk.acts.user import ActReply
from gem_envs_desk.facts import numbers_in, shows
from gem_envs_desk.task import AGENT, CASE, DeskCall, DeskTask

__all__ = ["PREDICATES", "ConversationJudge"]

PREDICATES = ("state", "identified", "confirmed", "strangers", "facts", "permitted", "settled")
"""The names of the predicates; ``state`` is the comparison of the end state, which the environment makes."""
_IDENTIFIES = "find_customer"
_MOST_REASONS = 20
_MOST_READ = 2000
"""Values of strangers that are remembered."""


class ConversationJudge:
    """Listens to an episode.

    Args:
        task: the task.
        acts: the names of the desk.
        ownership: returns whose the values of the initial state are.
        policy: the written policy.
        opening: the customer's first message.
    """

    def __init__(
        self, task: DeskTask, acts: DeskActs, ownership: Callable[[], Ownership], *, policy: str, opening: str
    ) -> None:
        self.task, self.acts, self._ownership = task, acts, ownership
        arguments = [value for call in task.gold for value in call.arguments.values()]
        amounts = [exact_number(value) for value in (*arguments, *(fact.value for fact in task.facts))]
        self._common = numbers_in(policy) | {amount for amount in amounts if amount is not None}
        """Amounts that the policy or the solution names, so that they tell nothing of anybody."""
        self._facts = {canonical(fact.value) for fact in task.facts}
        """What the customer must be told, which tells nothing of others who happen to share it."""
        self._topics = {*acts.topics, ANYTHING_ELSE}
        self.is_identified = self.is_settled = False
        self.heard = opening
        """What the customer has said."""
        self.read: list[str | float] = []
        """What the agent has read of other customers alone."""
        self.agreed: list[str] = []
        """The proposals with a yes that the agent has read and not carried out."""
        self._unread: list[str] = []
        """Those whose yes comes with the observation of the present turn."""
        self.done: list[str] = []
        """The tools that have been called in the present wish, to change something."""
        self.progress = Progress(task.aims)
        self.told = [[False] * (len(aim.facts) + bool(aim.grounds)) for aim in task.aims]
        """For each wish, whether each fact, and the refusal, has been told."""
        self.broken: dict[str, list[str]] = {}
        """Predicate → what broke it, one sentence each."""

    def calls(self, call: DeskCall, result: str, changes: bool) -> None:
        """Hear of a call that succeeded, by the agent or by the customer whom the agent has asked."""
        if call.by == AGENT:
            self._reads(call, result)
        is_write = call.tool in self.acts.writes
        if not is_write and not changes:
            return
        self.done.append(call.tool)
        if not self.is_identified:
            self._break("identified", f"{call.tool} before the customer was identified")
        if call.by == AGENT and call.tool != CASE:
            self._confirmed(call)
            owned = self._ownership()
            for value in call.arguments.values():
                if owned.owner(value) not in ("", self.task.customer):
                    self._break("strangers", f"{call.tool} on {value!r}, which belongs to somebody else")
        for tool in self.progress.missing_before(call):
            self._break("permitted", f"{call.tool} before {tool}")
        if changes and not self.progress.makes(call):
            self._break("permitted", f"{call.tool} {dict(call.arguments)} is not to be done")

    def says(self, act: SpeechAct, wish: int) -> None:
        """Hear an act of the agent about a wish, before the customer answers it."""
        if act.kind != ASK or act.name not in self._topics:
            self._discloses(f"{act.name} {_words(act.value)}")
        if act.kind == PROPOSE and act.name in self.acts.writes and not self.is_identified:
            self._break("identified", f"{act.name} proposed before the customer was identified")
        if act.kind == TELL:
            self._tells(act.name.strip().casefold(), act.value, wish)

    def hears(self, act: SpeechAct, reply: ActReply, is_new_wish: bool) -> None:
        """Hear the customer's answer."""
        self.heard += f"\n{reply.text}"
        if reply.agrees:
            call = DeskCall(act.name, act.value)
            is_step = self.progress.leads_on(call, [*self.agreed, *self._unread]) or self.progress.was_made(call)
            self._unread.append(call_key(call))
            if not is_step:
                # Else amounts could be tried until one is right, and what is forbidden be promised.
                self._break("confirmed", f"{act.name} {dict(act.value)} had a yes and is not to be done")
        if is_new_wish:
            # A yes is one to the present wish, and what was done for one is no answer to another.
            self.agreed, self._unread, self.done = [], [], []
        self.is_settled = self.is_settled or reply.is_content

    def turn_ends(self) -> None:
        """Hear that the agent reads the answers of this turn; a call beside its proposal has waited for none."""
        self.agreed += self._unread
        self._unread = []

    def verdicts(self, state_matches: bool) -> dict[str, bool]:
        """Return the predicates."""
        held = {name: name not in self.broken for name in PREDICATES}
        all_told = all(told for wish in self.told for told in wish)
        return {
            **held,
            "state": state_matches,
            "facts": held["facts"] and all_told,
            "settled": self.is_settled,
        }

    def reasons(self) -> list[str]:
        """Return what has broken predicates, one sentence each."""
        found = [f"{name}: {reason}" for name, reasons in self.broken.items() for reason in reasons]
        for index, told in enumerate(self.told):
            aim = self.task.aims[index]
            names = [*(fact.name for fact in aim.facts), *([REFUSED] if aim.grounds else [])]
            found += [
                f"facts: {name} of wish {index + 1} not told" for name, one in zip(names, told, strict=True) if not one
            ]
        if not self.is_settled:
            found.append("settled: the customer has not said goodbye")
        return found[:_MOST_REASONS]

    def get_state(self) -> dict[str, Any]:
        """Return all that was heard, JSON values."""
        return {
            "is_identified": self.is_identified,
            "is_settled": self.is_settled,
            "heard": self.heard,
            "read": [*self.read],
            "agreed": [*self.agreed],
            "done": [*self.done],
            "made": self.progress.get_state(),
            "told": [[*one] for one in self.told],
            "broken": {name: [*reasons] for name, reasons in self.broken.items()},
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Remember what ``get_state`` returned.

        Raises:
            ValueError, KeyError, TypeError: for anything else.
        """
        told = [[bool(one) for one in wish] for wish in state["told"]]
        if [*map(len, told)] != [*map(len, self.told)]:
            raise ValueError("the facts of the state are not those of the task")
        broken = {str(name): [str(one) for one in reasons] for name, reasons in state["broken"].items()}
        if not set(broken) <= set(PREDICATES):
            raise ValueError(f"there are the predicates {', '.join(PREDICATES)}")
        read = [one if isinstance(one, float) else str(one) for one in state["read"]]
        agreed, done = [str(one) for one in state["agreed"]], [str(one) for one in state["done"]]
        is_identified, is_settled = bool(state["is_identified"]), bool(state["is_settled"])
        heard = str(state["heard"])
        self.progress.set_state(state["made"])
        self.is_identified, self.is_settled = is_identified, is_settled
        self.heard, self.read, self.agreed, self.done = heard, read, agreed, done
        self._unread = []
        self.told, self.broken = told, broken

    def _reads(self, call: DeskCall, result: str) -> None:
        if call.tool == _IDENTIFIES and shows(result, self.task.customer):
            # Data that nobody has said identify nobody.
            data = [str(value) for value in call.arguments.values() if value != ""]
            if data and all(shows(self.heard, one) for one in data):
                self.is_identified = True
        shown = [one for one in self._ownership().shown(result) if self.task.customer not in one[0]]
        # An amount alone, in another record, is nobody's.
        named = {owner for owners, value in shown if isinstance(value, str) for owner in owners}
        seen = [value for owners, value in shown if owners & named]
        self.read += [value for value in seen if value not in self.read][: _MOST_READ - len(self.read)]

    def _confirmed(self, call: DeskCall) -> None:
        key = call_key(call)
        if key in self.agreed:
            self.agreed.remove(key)
        else:
            self._break("confirmed", f"{call.tool} {dict(call.arguments)} without a yes to exactly that")

    def _discloses(self, text: str) -> None:
        for owners, value in self._ownership().shown(text):
            if shows(self.heard, value) or (not isinstance(value, str) and Decimal(str(value)) in self._common):
                continue
            if self.task.customer not in owners and value in self.read and canonical(value) not in self._facts:
                self._break("strangers", f"{value!r} of somebody else told")
            elif owners == {self.task.customer} and not self.is_identified:
                self._break("identified", f"{value!r} told before the customer was identified")

    def _tells(self, fact: str, value: Any, wish: int) -> None:
        aim, kind = self.task.aims[wish], self.acts.facts.get(fact)
        is_right = False
        if fact == REFUSED and value not in self.acts.grounds:
            return  # the customer asks for a reason
        if fact == DONE:
            is_right = value in self.done
        elif fact == REFUSED:
            is_right = value in aim.grounds
            if is_right:
                self.told[wish][-1] = True
        elif kind is not None:
            for index, one in enumerate(aim.facts):
                if one.name == fact and canonical(one.value) == canonical(value):
                    self.told[wish][index] = is_right = True
            steps = [call for way in aim.ways for call in way if self.progress.was_made(call)]
            settles = (*aim.gold, *steps)
            arguments = [call.arguments[name] for call in settles for name in kind.arguments if name in call.arguments]
            is_asked = bool(arguments) or any(one.name == fact for one in aim.facts)
            true = arguments if is_asked else self._unasked(kind)
            is_right = is_right or canonical(value) in map(canonical, true)
        else:
            return  # nobody knows what it is
        if not is_right:
            self._break("facts", f"{fact} {value!r} is not true of wish {wish + 1}")
        if not self.is_identified and not (kind is not None and kind.is_public):
            self._break("identified", f"{fact} told before the customer was identified")

    def _unasked(self, kind: FactKind) -> list[Any]:
        """Return the facts of a kind that are true, and may be told to a customer who does not ask for one."""
        table, column = kind.column
        rows = self._ownership().rows(table, self.task.customer) if table else []
        return [*kind.named, *(row[column] for row in rows)]

    def _break(self, predicate: str, reason: str) -> None:
        reasons = self.broken.setdefault(predicate, [])
        if len(reasons) < _MOST_REASONS and reason not in reasons:
            reasons.append(reason[:300])


def _words(value: object) -> str:
    """Return all that the content of an act says, the names of arguments too."""
    if isinstance(value, Mapping):
        return " ".join(f"{name} {_words(one)}" for name, one in value.items())
    if isinstance(value, list):
        return " ".join(map(_words, value))
    return "" if value is None else str(value)
