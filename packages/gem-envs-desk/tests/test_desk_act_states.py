"""States of conversations by typed speech acts: what cannot be one of this task is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gem_envs_desk.acts.judge import ConversationJudge
from gem_envs_desk.acts.ownership import Ownership
from gem_envs_desk.acts.progress import Progress, call_key
from gem_envs_desk.acts.user import ActUser
from gem_envs_desk.airline.env import AirlineActsDomain

DOMAIN = AirlineActsDomain()
TASK = DOMAIN.task(4, 2, "train")
STEP = call_key(TASK.aims[0].gold[0])
Spoils = Callable[[dict[str, Any]], Any]


def user() -> ActUser:
    """Return the customer of the task."""
    assert TASK.script is not None
    return ActUser(TASK.script, TASK.aims, DOMAIN.acts, TASK.state, lambda call: "")


def judge() -> ConversationJudge:
    """Return the judge of the task."""
    owned = Ownership(DOMAIN.schema, TASK.state)
    return ConversationJudge(TASK, DOMAIN.acts, lambda: owned, policy=DOMAIN.policy, opening="Hello.")


@pytest.mark.parametrize(
    ("listener", "spoils"),
    [
        (judge, lambda state: state["made"].pop()),
        (judge, lambda state: state["made"].append([])),
        (judge, lambda state: state["made"].append([STEP])),
        (judge, lambda state: state["made"][0].append("('cancel_booking', {})")),
        (judge, lambda state: state["made"][0].extend([STEP, STEP])),
        (judge, lambda state: state.pop("made")),
        (judge, lambda state: state["told"].pop()),
        (judge, lambda state: state["told"][0].append(True)),
        (judge, lambda state: state["broken"].update(kindness=["none"])),
        (judge, lambda state: state.pop("heard")),
        (judge, lambda state: state.update(broken=3)),
        (user, lambda state: state.update(wish=3)),
        (user, lambda state: state.update(wish=-1)),
        (user, lambda state: state.update(protested=-1)),
        (user, lambda state: state.update(asked=[1])),
        (user, lambda state: state.pop("changed")),
    ],
)
def test_a_state_of_another_task_is_refused(listener: Callable[[], Any], spoils: Spoils) -> None:
    """Other calls, other numbers of facts or wishes, unknown predicates; the listener stays as it was."""
    one = listener()
    before = json.dumps(one.get_state())
    spoiled = json.loads(before)
    spoils(spoiled)
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        one.set_state(spoiled)
    assert json.dumps(one.get_state()) == before
    one.set_state(json.loads(before))
    assert json.dumps(one.get_state()) == before


def test_what_was_made_for_a_wish_is_part_of_the_state() -> None:
    """After a call and its state, the call is no step any more, and the others are."""
    first, second = (aim.gold[0] for aim in TASK.aims[:2])
    progress, other = Progress(TASK.aims), Progress(TASK.aims)
    assert progress.makes(first)
    other.set_state(json.loads(json.dumps(progress.get_state())))
    assert other.get_state() == [[STEP], *([] for _ in TASK.aims[1:])]
    assert other.was_made(first)
    assert not other.leads_on(first)
    assert other.leads_on(second)
