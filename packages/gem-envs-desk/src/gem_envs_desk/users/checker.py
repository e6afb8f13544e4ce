"""Holds a model that plays a user to its script: :class:`ScriptChecker`.

The model reveals only what the agent asks for, states only what the script holds, does with its hands only what it was
asked to do, and leaves only when everything is settled. It may evade one question, not the next as well. What the
checker cannot place in a message of the agent it lets the user answer as they like, so that an agent who words a
question oddly is not taken for the user's fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gem_envs_desk.task import DeskCall, DeskTask
from gem_envs_desk.users.agreement import agrees
from gem_envs_desk.users.hearing import Heard
from gem_envs_desk.users.instructions import asked_hands
from gem_envs_desk.users.intents import Intent
from gem_envs_desk.users.knowledge import Knowledge
from gem_envs_desk.users.placing import content_words
from gem_envs_desk.users.script_reader import ScriptReader, conveys, reveals, words_of
from gem_rollout.simulated_people.faults import UserFault, spoken_fault

__all__ = ["ScriptChecker"]

_SETTLES = (Intent.DONE, Intent.REFUSES, Intent.MORE, Intent.CLOSES)
_PROPOSES = (Intent.PROCEEDS, Intent.CONFIRMS, Intent.VERIFIES, Intent.CHECKS, Intent.RESTATES, Intent.PROMISES)
_REQUESTS = (Intent.ASKS, Intent.NOT_FOUND, Intent.RECHECKS, Intent.REPEATS)
_MOST_EVADED = 2
"""Questions for what the script holds that a user may not leave unanswered, one after the other."""


class ScriptChecker(ScriptReader):
    """Reads each turn of a user, whom an agent has written to in free text.

    Args:
        task: the task, with the script.
        agent_tools: the names of the agent's tools.
    """

    def __init__(self, task: DeskTask, agent_tools: Sequence[str]) -> None:
        super().__init__(task)
        self._agent_tools = tuple(agent_tools)

    def fault(
        self,
        text: str,
        *,
        ends: bool,
        turns: Sequence[tuple[str, str]],
        seen: Sequence[tuple[DeskCall, str]] = (),
        told: Sequence[bool] = (),
    ) -> UserFault | None:
        """Return the fault of a reply, or None.

        Args:
            text: the reply, without calls and without the mark of the end.
            ends: whether the user ends the conversation with it.
            turns: the agent's message and the user's reply of each turn; the last has no reply yet.
            seen: the calls of the user's own tools in this turn, with what they showed.
            told: whether the agent has told each fact of the task.
        """
        message, said = turns[-1][0], [reply for _, reply in turns[:-1]]
        fault = spoken_fault(text, ends=ends, message=message, said=said, agent_tools=self._agent_tools)
        if fault is not None:
            return fault
        return next(self._faults(text, ends, turns, seen, told), None)

    def _faults(
        self,
        text: str,
        ends: bool,
        turns: Sequence[tuple[str, str]],
        seen: Sequence[tuple[DeskCall, str]],
        told: Sequence[bool],
    ) -> Iterator[UserFault]:
        message, said = turns[-1][0], [self._opening(), *(reply for _, reply in turns[:-1])]
        heard = Heard.of(message)
        raised = self.raised(said)
        known = self._knowledge(raised, said, heard)
        public = "\n".join([*said, *(agent for agent, _ in turns), *(shown for _, shown in seen)])
        yield from self._deeds(text, heard, seen, said)
        yield from self.solutions(text, public, told)
        # What a wish says itself is no answer to a question.
        wishes = self.script.wishes[: max(raised, self.raised([text]))]
        own = [words for wish in wishes for words in (wish.says, wish.again, wish.change, wish.protest)]
        yield from self._unasked(text, heard, known, raised, "\n".join([public, *own]))
        yield from self.inventions(text, public)
        yield from self.contradictions(text, known.slots, message)
        if agrees(text) and heard.has(*_PROPOSES) and known.denied(heard):
            yield UserFault("false yes", f"the user says yes to something false: {text[:60]!r}")
        if self.raised([text]) > raised and not heard.has(*_SETTLES, Intent.REPEATS, Intent.OFFERS_HELP):
            yield UserFault("early wish", "the user raises a wish before the last one is settled")
        if not ends:
            yield from self._withheld(text, known, turns)
        else:
            yield from self._end(heard, turns, max(raised, self.raised([text])), told)

    def _deeds(
        self, text: str, heard: Heard, seen: Sequence[tuple[DeskCall, str]], said: Sequence[str]
    ) -> Iterator[UserFault]:
        asked = asked_hands([sentence for sentence, _ in heard.sentences], self.script.hands)
        if seen and not asked.found and not asked.is_lost and not heard.has(Intent.ASKS, Intent.TESTS, *_SETTLES):
            yield UserFault("unasked deed", f"the user calls {seen[0][0].tool} unasked")
        if not seen:
            yield from self.claims(text, said)

    def _unasked(self, text: str, heard: Heard, known: Knowledge, raised: int, public: str) -> Iterator[UserFault]:
        """Yield what the reply reveals that the agent has not asked for."""
        wanted = known.requested(heard)
        asked = [*wanted, *known.denied(heard), *known.to_check(heard, [], wanted)]
        free = int(not asked and heard.has(*_REQUESTS))  # a question for something that is not placed
        for wish in self.script.wishes[:raised]:
            is_change = wish.change and content_words(wish.change) <= content_words(text)
            if is_change and not heard.has(*_PROPOSES):
                yield UserFault("early change", "the user changes their mind before anything is proposed")
        later = [slot for wish in self.script.wishes[raised:] for slot in wish.slots]
        # What is asked for may hold what something else does: an address has a zip code.
        told = [public, *(words for slot in asked for words in words_of(slot))]
        for slot in (*known.slots, *later):
            if slot in asked or not reveals(text, slot, "\n".join(told)):
                continue
            if slot not in later and free:
                free -= 1
                told += words_of(slot)
                continue
            yield UserFault("unasked", f"the user tells the {slot.name}, for which nobody has asked")

    def _withheld(self, text: str, known: Knowledge, turns: Sequence[tuple[str, str]]) -> Iterator[UserFault]:
        """Yield that the user has evaded the last questions that are placed, the present one among them."""
        asked = [
            (says, reply)
            for agent, reply in (*turns[:-1], (turns[-1][0], text))
            if (says := self._answers({slot.name for slot in known.requested(Heard.of(agent)) if not slot.decides}))
        ][-_MOST_EVADED:]
        evades = all(not conveys(reply, one, "") for says, reply in asked for one in says)
        if len(asked) == _MOST_EVADED and asked[-1][1] is text and evades:
            yield UserFault("withheld", f"the user answers none of {_MOST_EVADED} questions: {text[:60]!r}")

    def _answers(self, names: set[str]) -> list[str]:
        """Return what the script can say of topics, in whichever wish."""
        slots = (*self.script.slots, *(slot for wish in self.script.wishes for slot in wish.slots))
        return [words for slot in slots if slot.name in names for words in words_of(slot)]

    def _end(
        self, heard: Heard, turns: Sequence[tuple[str, str]], raised: int, told: Sequence[bool]
    ) -> Iterator[UserFault]:
        if len(turns) > 2 * self.script.patience:
            return  # nobody must stay for ever
        refuses = any(Heard.of(agent).refuses for agent, _ in turns)
        if len(turns) == 1 and not heard.has(*_SETTLES):
            yield UserFault("early end", "the user leaves at the first answer")
        elif raised < len(self.script.wishes):
            yield UserFault("early end", f"the user leaves with {len(self.script.wishes) - raised} wishes unsaid")
        elif not any(Heard.of(agent).has(*_SETTLES) for agent, _ in turns):
            yield UserFault("early end", "the user leaves before anything is settled")
        elif not refuses and not all(told) and not heard.has(Intent.CLOSES, Intent.MORE):
            yield UserFault("early end", "the user leaves without what they want to be told")

    def _opening(self) -> str:
        return f"{self.script.opening} {self.script.wishes[0].says}"

    def _knowledge(self, raised: int, said: Sequence[str], heard: Heard) -> Knowledge:
        index = max(raised, 1) - 1
        wish = self.script.wishes[index]
        changed = bool(wish.change) and any(content_words(wish.change) <= content_words(one) for one in said)
        asked = {
            slot.name if slot in self.script.slots else f"{index}: {slot.name}": 2
            for slot in (*wish.slots, *self.script.slots)
            if slot.wrong
        }
        aim = self.task.aims[index] if self.task.aims else None
        return Knowledge(self.script, index, changed, asked, aim)
