"""Tasks on an MCP server: walks of calls that change its state, and questions about what it shows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from gem_envs_desk.synthesis.draft_calls import DraftError
from gem_envs_desk.synthesis.drafting import Goal
from gem_envs_desk.synthesis.errors import DescriptionError, UnsupportedSchemaError
from gem_envs_desk.synthesis.making import MadeTasks, collected, task_of_goals
from gem_envs_desk.synthesis.openapi_calls import singular
from gem_envs_desk.synthesis.phrases import can_be_told, value_words
from gem_envs_desk.synthesis.server_arguments import KEY_NAMES, DrawnArguments, drawn_arguments, words_of
from gem_envs_desk.synthesis.server_profile import StateRecord, records_of, state_tables
from gem_envs_desk.synthesis.server_recording import RecordedServer
from gem_envs_desk.synthesis.server_world import ServerDomain, ServerWorld
from gem_envs_desk.task import DeskCall, DeskTask

__all__ = ["server_tasks"]

_WORLDS = 3
"""Initial states of a split."""
_SETUP = (8, 14)
"""The smallest and the largest number of calls that set up an initial state."""
_TRIES = 15
_QUESTION_SHARE = 0.35


def server_tasks(
    recorded: RecordedServer, count: int, seed: int, progress: Callable[[int], object] = lambda done: None
) -> MadeTasks:
    """Return verified tasks on a server. Each state that a check needs is seen once, and each solution twice.

    Args:
        recorded: the server.
        count: the number of tasks.
        seed: decides everything.
        progress: is called with the number of tasks so far.

    Raises:
        DescriptionError: if too few drafts pass the checks.
    """
    domain = ServerDomain(recorded.profile, remembers=True)

    @cache
    def setup(split: str, number: int) -> list[dict[str, Any]]:
        return _setup(recorded, random.Random(f"{seed} {split} {number}"))

    def drafted(level: int, split: str, rng: random.Random) -> DeskTask:
        state = {"setup": setup(split, rng.randrange(_WORLDS))}
        draft = _ServerDraft(recorded, domain.open(state), rng)
        try:
            for _ in range(level):
                draft.add_goal()
        finally:
            draft.world.close()
        return task_of_goals(state, draft.gold, draft.goals)

    return collected(domain, drafted, count, seed, progress, again=_replayed(domain))


def _replayed(domain: ServerDomain) -> Callable[[DeskTask], bool]:
    """Return a check that a solution has the same answers and the same end on a server of its own."""
    alone = ServerDomain(domain.profile)

    def agrees(task: DeskTask) -> bool:
        ends = []
        for one in (domain, alone):
            world = one.open(task.state)
            try:
                ends.append(([world.call(call.tool, call.arguments).text for call in task.gold], world.dump()))
            finally:
                world.close()
        return ends[0] == ends[1]

    return agrees


def _setup(recorded: RecordedServer, rng: random.Random) -> list[dict[str, Any]]:
    """Return calls that make an initial state out of the empty one."""
    domain = ServerDomain(recorded.profile)
    world = domain.open({"setup": []})
    calls: list[dict[str, Any]] = []
    wanted = rng.randint(*_SETUP)
    try:
        state = world.state()
        for _ in range(wanted * _TRIES):
            tool = _tool(recorded, rng)
            drawn = drawn_arguments(tool, list(records_of(state)), recorded.learned, rng)
            result = world.call(tool["name"], drawn.arguments)
            before, state = state, world.state()
            if not result.ok:
                continue
            if state_tables(state) != state_tables(before):
                calls.append({"tool": tool["name"], "arguments": drawn.arguments})
            if len(calls) >= wanted and len(list(records_of(state))) >= 3:
                return calls
    finally:
        world.close()
    raise DescriptionError(f"the MCP server {recorded.profile.name} shows no lists of records that grow by its tools")


def _tool(recorded: RecordedServer, rng: random.Random) -> Mapping[str, Any]:
    """Return a tool that writes."""
    name = rng.choice(recorded.writes)
    return next(one for one in recorded.profile.tools if one["name"] == name)


class _ServerDraft:
    """A task in the making on one server."""

    def __init__(self, recorded: RecordedServer, world: ServerWorld, rng: random.Random) -> None:
        self._recorded, self.world, self._rng = recorded, world, rng
        self._shown = world.state()
        self._initial = list(records_of(self._shown))
        self._numbered: set[str] = set()
        """The lists to which a goal has added a record whose key the server has chosen."""
        self.gold: list[DeskCall] = []
        self.goals: list[Goal] = []

    def add_goal(self) -> None:
        """Add a question, or walk to one more call that changes the state.

        Raises:
            DraftError: if no such call was found.
        """
        if self._rng.random() < _QUESTION_SHARE and self._add_question():
            return
        for _ in range(_TRIES):
            if self._add_change():
                return
        raise DraftError("no call changes anything")

    def _add_change(self) -> bool:
        tool = _tool(self._recorded, self._rng)
        try:
            drawn = drawn_arguments(tool, self._initial, self._recorded.learned, self._rng)
        except UnsupportedSchemaError as error:
            raise DraftError(str(error)) from error
        before = self.world.state()
        result = self.world.call(tool["name"], drawn.arguments)
        after = self.world.state()
        if not result.ok or state_tables(after) == state_tables(before):
            self.world.forget_last_call()
            return False
        numbered = _numbered(before, after, drawn)
        if numbered & self._numbered:
            raise DraftError("the order of two additions would decide their keys")
        self._numbered |= numbered
        self.gold.append(DeskCall(tool["name"], drawn.arguments))
        self.goals.append(Goal(self._wish(tool["name"], drawn), source=len(self.gold) - 1))
        return True

    def _add_question(self) -> bool:
        shown = [(tool, one) for tool, answer in self._shown.items() for one in records_of({tool: answer})]
        reader, record = self._rng.choice(shown)
        told = [name for name, value in record.fields.items() if can_be_told(value)]
        if not told:
            return False
        name = self._rng.choice(told)
        described = self._described(record, name)
        if described is None:
            return False
        call = DeskCall(reader, {})
        if call not in self.gold:  # one answer tells all that is asked
            self.world.call(reader, {})
            self.gold.append(call)
        fact = (record.fields[name], f"The {words_of(name)} is")
        wish = f"Please tell me the {words_of(name)} of {described}."
        self.goals.append(Goal(wish, fact=fact, source=self.gold.index(call)))
        return True

    def _described(self, record: StateRecord, hidden: str) -> str | None:
        """Return words that fit one record of the initial state, without one of its fields."""
        fields = [name for name, value in record.fields.items() if name != hidden and can_be_told(value)]
        self._rng.shuffle(fields)
        for count in (1, 2):
            used = fields[:count]
            alike = [
                one
                for one in self._initial
                if one.place == record.place and all(one.fields.get(name) == record.fields[name] for name in used)
            ]
            if len(alike) == 1 and used:
                noun = singular(words_of(record.place))
                whose = " and ".join(f"whose {words_of(name)} is {value_words(record.fields[name])}" for name in used)
                return f"the {noun} {whose}"
        return None

    def _wish(self, tool: str, drawn: DrawnArguments) -> str:
        """Return the words for a call; a key of a record is described by its other fields, if they tell which one."""
        words: dict[str, str] = {}
        for _, source, value in drawn.sources:
            place, _, name = source.partition(".")
            owners = [one for one in self._initial if one.place == place and one.fields.get(name) == value]
            if len(owners) == 1 and self._rng.random() < 0.5:
                described = self._described(owners[0], name)
                if described is not None:
                    words[json.dumps(value, ensure_ascii=False)] = f"the {words_of(name)} of {described}"
        given = ", ".join(_said(words_of(name), value, words) for name, value in drawn.arguments.items())
        return f"Please {words_of(tool)}: {given}."


def _numbered(before: Mapping[str, Any], after: Mapping[str, Any], drawn: DrawnArguments) -> set[str]:
    """Return the lists that have a new record with a key that the call has not given."""
    sent = [value for _, _, value in drawn.sources]
    known = [(one.place, one.fields.get(name)) for one in records_of(before) for name in KEY_NAMES]
    return {
        one.place
        for one in records_of(after)
        for name in KEY_NAMES & one.fields.keys()
        if (value := one.fields[name]) is not None and value not in sent and (one.place, value) not in known
    }


def _said(name: str, value: Any, words: Mapping[str, str]) -> str:
    """Return an argument in words; objects in lists are spelt out."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return "; ".join(_said(name, one, words) for one in value)
    if isinstance(value, dict):
        return ", ".join(_said(words_of(key), one, words) for key, one in value.items())
    if isinstance(value, list):
        return f"{name} {' and '.join(_said('', one, words).strip() for one in value) or 'none'}"
    shown = words.get(json.dumps(value, ensure_ascii=False), value_words(value))
    return f"{name} {shown}"
