"""The reference policy of desks with typed speech acts: :class:`ActPolicy`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gem
from gem.core import Info
from gem_envs_desk.acts.language import ANYTHING_ELSE, ASK, DONE, PROPOSE, REFUSED, TELL, DeskActs
from gem_envs_desk.reference import call_text
from gem_envs_desk.task import CASE, USER, Aim, DeskCall, DeskTask, Wish

__all__ = ["ActPolicy", "ObedientActPolicy", "plan"]


class ActPolicy(gem.Policy[str, str]):
    """Serves the customer as the policy demands, one call a turn; it reads the solution from the environment.

    A call that fails for no reason is repeated.
    """

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[str] = []
        self._last = ""

    def reset(self, observation: str, info: Info) -> None:
        env: Any = self.env.unwrapped
        self._left = [call_text(call) for call in self._plan(env.current, env.domain.acts)][::-1]
        self._last = ""

    def act(self, observation: str, info: Info) -> str:
        if "temporarily unavailable" not in observation:
            self._last = self._left.pop() if self._left else call_text(_ask(ANYTHING_ELSE))
        return self._last

    def _plan(self, task: DeskTask, acts: DeskActs) -> list[DeskCall]:
        return plan(task, acts)


class ObedientActPolicy(ActPolicy):
    """Does what the customer says at first and refuses nothing: the baseline that every desk must defeat."""

    def _plan(self, task: DeskTask, acts: DeskActs) -> list[DeskCall]:
        naive = task.gold if task.naive is None else task.naive

        def obeyed(aim: Aim) -> Aim:
            by_hand = [call for call in naive if call.by == USER]
            wanted = (*(call for call in aim.agrees if call in naive), *by_hand) if aim.grounds else aim.first
            calls = tuple(wanted)
            return replace(aim, gold=calls or aim.gold, first=(), grounds=() if calls else aim.grounds)

        return plan(replace(task, aims=tuple(map(obeyed, task.aims))), acts)


def plan(task: DeskTask, acts: DeskActs) -> list[DeskCall]:
    """Return the calls of an episode in which nothing fails."""
    assert task.script is not None
    email = next(row["email"] for row in task.state["customers"] if row["customer_id"] == task.customer)
    calls = [_ask("e-mail"), DeskCall("find_customer", {"email": email})]
    for wish, aim in zip(task.script.wishes, task.aims, strict=True):
        calls += _questions(wish, acts)
        calls += _refusal(wish, aim) if aim.grounds else _service(wish, aim, acts)
        calls.append(_ask(ANYTHING_ELSE))
    return calls


def _questions(wish: Wish, acts: DeskActs) -> Iterator[DeskCall]:
    """Yield a question for each slot; a second one for those that the customer gets wrong at first."""
    for slot in wish.slots:
        if slot.name in acts.topics and not slot.extra:
            yield from [_ask(slot.name)] * (2 if slot.wrong else 1)


def _refusal(wish: Wish, aim: Aim) -> Iterator[DeskCall]:
    yield from [_tell(REFUSED, aim.grounds[0])] * (1 + len(wish.protests))
    yield from aim.gold


def _service(wish: Wish, aim: Aim, acts: DeskActs) -> Iterator[DeskCall]:
    for call in aim.first:
        yield _propose(call)
    for index, call in enumerate(aim.gold):
        if call.by == USER:
            arguments = {name: value for name, value in call.arguments.items() if name != "phone_number"}
            yield _propose(DeskCall(call.tool, arguments))
        else:
            if call.tool in acts.writes and call.tool != CASE:
                yield _propose(call)
            yield call
        yield from (_tell(fact.name, fact.value) for fact in aim.facts if fact.source == index)
    if "deed" in wish.wants:
        yield _tell(DONE, aim.gold[-1].tool)


def _ask(what: str) -> DeskCall:
    return DeskCall(ASK, {"what": what})


def _propose(call: DeskCall) -> DeskCall:
    return DeskCall(PROPOSE, {"action": call.tool, "arguments": dict(call.arguments)})


def _tell(fact: str, value: str | float) -> DeskCall:
    return DeskCall(TELL, {"fact": fact, "value": value})
