"""Holds a model that answers typed speech acts to its script: :class:`ActChecker`.

The scripted customer knows the answer to every act, so a turn of a model is compared with that answer: it says all that
the script says there, and nothing that the script says elsewhere or nowhere. Its words are its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gem_envs_desk.acts.language import PROPOSE, SpeechAct
from gem_envs_desk.acts.user import ActReply
from gem_envs_desk.task import CASE, DeskTask
from gem_envs_desk.users.agreement import agrees
from gem_envs_desk.users.placing import content_words
from gem_envs_desk.users.script_reader import ScriptReader, conveys, reveals
from gem_rollout.simulated_people.faults import UserFault, spoken_fault

__all__ = ["ActChecker"]

_ANSWER = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class ActChecker(ScriptReader):
    """Reads each turn of a user who answers typed speech acts.

    Args:
        task: the task, with the script.
        agent_tools: the names of the agent's tools, which the user cannot know.
    """

    def __init__(self, task: DeskTask, agent_tools: Sequence[str]) -> None:
        super().__init__(task)
        self._agent_tools = tuple(agent_tools)
        self.words += [words for wish in self.script.wishes for words in wish.insists]

    def fault(
        self,
        text: str,
        act: SpeechAct,
        reply: ActReply,
        *,
        ends: bool,
        wish: int,
        said: Sequence[str],
        heard: Sequence[str],
        told: Sequence[bool],
    ) -> UserFault | None:
        """Return the fault of an answer, or None.

        Args:
            text: the answer, without the mark of the end.
            act: what it answers.
            reply: the answer of the script.
            ends: whether the user ends the conversation with it.
            wish: index of the wish that the user discusses once they have answered.
            said: what the user has said before, the first message included.
            heard: the agent's messages; the last one is answered.
            told: whether the agent has told each fact of the task.
        """
        words, tools = "\n".join(self.words), self._agent_tools
        spoken = spoken_fault(text, ends=ends, message=heard[-1], said=(), agent_tools=tools, script=words)
        if spoken is not None:
            return spoken
        return next(self._faults(text, act, reply, ends, wish, said, heard, told), None)

    def _faults(
        self,
        text: str,
        act: SpeechAct,
        reply: ActReply,
        ends: bool,
        wish: int,
        said: Sequence[str],
        heard: Sequence[str],
        told: Sequence[bool],
    ) -> Iterator[UserFault]:
        public = "\n".join([*said, *heard])
        known = f"{public}\n{reply.text}"
        if ends and not reply.ends:
            yield UserFault("early end", "the user leaves before everything is settled")
        yield from self._answers(text, act, reply)
        yield from self.claims(text, said)
        yield from self.solutions(text, public, told)
        yield from self._beyond(text, reply, wish, known)
        yield from self.inventions(text, known)
        slots = (*self.script.wishes[wish].slots, *self.script.slots)
        yield from self.contradictions(text, slots, heard[-1])
        yield from self._withheld(text, reply, ends, public)

    def _answers(self, text: str, act: SpeechAct, reply: ActReply) -> Iterator[UserFault]:
        """Compare yes and no; a case needs neither."""
        if act.kind != PROPOSE or act.name.strip() == CASE:
            return
        answer = _ANSWER.match(text)
        says_yes = agrees(text) if answer is None else answer[1].casefold() == "yes"
        if says_yes and not reply.agrees:
            yield UserFault("false yes", f"the user says yes to what the script denies: {text[:60]!r}")
        if reply.agrees and not says_yes:
            yield UserFault("withheld", f"the user does not say yes to what they want: {text[:60]!r}")

    def _beyond(self, text: str, reply: ActReply, wish: int, known: str) -> Iterator[UserFault]:
        """Yield what the script says elsewhere: later wishes, a change of mind, data that nobody has asked for."""
        if self.raised([text]) > max(wish + 1, self.raised([known])):
            yield UserFault("early wish", "the user raises a wish before the last one is settled")
        change = self.script.wishes[wish].change
        if change and change not in known and content_words(change) <= content_words(text):
            yield UserFault("early change", "the user changes their mind before anything is proposed")
        for slot in (*self.script.slots, *(slot for one in self.script.wishes for slot in one.slots)):
            if reveals(text, slot, known):
                yield UserFault("unasked", f"the user tells the {slot.name}, for which nobody has asked")

    def _withheld(self, text: str, reply: ActReply, ends: bool, public: str) -> Iterator[UserFault]:
        """Yield what the script says here and the answer does not."""
        if reply.ends and not ends:
            yield UserFault("withheld", "the user does not leave, though everything is settled")
        if reply.is_wasted:
            return  # the user asks back, or repeats what they want
        for says in self.words:
            if says and says in reply.text and not conveys(text, says, public):
                yield UserFault("withheld", f"the user does not say {says!r}"[:200])
