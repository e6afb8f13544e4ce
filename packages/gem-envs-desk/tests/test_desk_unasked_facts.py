"""A fact that is true may be told to a customer who has not asked for it; one that is not true may not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from desk_served import Served, served, tell, texts
from test_desk_acts import DESKS, desk, play, tasks

from gem_envs_desk.acts.language import TELL, SpeechAct
from gem_envs_desk.acts.user import ActUser


def column_of(own: Served, table: str, column: str) -> tuple[list[Any], list[Any]]:
    """Return the values of a column in the customer's rows or those of nobody, and those that only others have."""
    lines = {row["phone_number"]: row["customer_id"] for row in own.task.state.get("lines", ())}
    owners = [row.get("customer_id", lines.get(row.get("phone_number"), "")) for row in own.task.state.get(table, ())]
    rows = list(zip(own.task.state.get(table, ()), owners, strict=True))
    true = [row[column] for row, owner in rows if owner in ("", own.task.customer)]
    return true, [row[column] for row, _ in rows if row[column] not in true]


def unasked(own: Served, env: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield the kinds of facts that the first wish does not ask for: one that is true, and others that are not."""
    aim = own.task.aims[0]
    asked = {fact.name for fact in aim.facts}
    arguments = {name for call in aim.gold for name in call.arguments}
    for fact, kind in env.domain.acts.facts.items():
        if fact in asked or not arguments.isdisjoint(kind.arguments):
            continue
        rows, theirs = column_of(own, *kind.column)
        true = [*kind.named, *rows]
        invented = "2031-01-01" if isinstance([*true, 0.0][0], str) else 9876.5
        yield fact, next(iter(true), None), [*theirs[:1], invented]


@pytest.mark.parametrize("name", DESKS)
def test_what_is_true_may_be_told_unasked(name: str) -> None:
    """A price of the shop, a time of a flight, a date of one's own; nobody else's, and nothing that is reckoned."""
    count = {True: 0, False: 0}
    for env, own, seed in tasks(name, 1, range(4)):
        for fact, true, untrue in unasked(own, env):
            for value in ([] if true is None else [true], untrue):
                for one in value:
                    env.reset(seed=seed)
                    reward, info = play(env, texts([*own.plan[:2], tell(fact, one), *own.plan[2:]]))
                    assert (reward, info["predicates"]["facts"]) == (float(one == true), one == true), (fact, one, info)
                    count[one == true] += 1
    assert count[True] >= 1
    assert count[False] >= 4


@pytest.mark.parametrize(("name", "fact"), [("Retail", "price"), ("Telecom", "due date")])
def test_who_asks_is_told_one_fact_alone(name: str, fact: str) -> None:
    """Another one of the kind is a guess, though it is true of something else."""
    count = 0
    for env, own, seed in tasks(name, 1, range(30)):
        places = [index for index, call in enumerate(own.plan) if own.is_telling(call, fact)]
        others, _ = column_of(own, *env.domain.acts.facts[fact].column)
        other = next((one for one in others if places and one != own.plan[places[0]].arguments["value"]), None)
        if other is not None:
            actions = [*own.plan[: places[0]], tell(fact, other), *own.plan[places[0] :]]
            env.reset(seed=seed)
            reward, info = play(env, texts(actions))
            assert (reward, info["predicates"]["facts"]) == (0.0, False)
            count += 1
    assert count >= 2


def test_a_reason_that_the_desk_does_not_have_is_asked_back() -> None:
    """It refuses nothing, and costs nothing but patience."""
    for env, own, seed in tasks("Library", 1, range(4)):
        env.reset(seed=seed)
        assert play(env, texts([*own.plan[:2], tell("refused", "It is a film."), *own.plan[2:]]))[0] == 1.0


def test_what_nobody_wants_to_know_is_heard_without_thanks() -> None:
    """Such as the price of what the customer will not pay for."""
    env = desk("Telecom", level=2)
    for number in range(40):
        env.reset(options={"task": number})
        task = served(env).task
        wish = next((index for index, aim in enumerate(task.aims) if "not for nothing" in aim.grounds), None)
        if wish is not None:
            assert task.script is not None
            user = ActUser(task.script, task.aims, env.domain.acts, task.state, lambda call: "")
            user.wish = wish
            assert user.answer(SpeechAct(TELL, "data price", 10)).text == "I see."
            break
    else:
        raise AssertionError("nobody wants data for nothing")
