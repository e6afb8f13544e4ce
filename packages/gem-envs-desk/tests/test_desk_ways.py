"""Each correct way to serve a customer earns the same, whatever the calls and their order, and its neighbours less."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from desk_orders import identified_otherwise, in_other_order, in_wrong_order, with_detours
from desk_served import Served, propose, served, texts
from desk_ways import Calls, found_ways, has_effect, keeps_to_policy, nearby_calls, settled_by
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_desk_acts import DESKS, desk, play, tasks

from gem_envs_desk.acts.env import ActDeskEnv
from gem_envs_desk.checks import gold_run
from gem_envs_desk.store import differences
from gem_envs_desk.task import DeskCall

LEVELS = {"Retail": 1, "Airline": 1, "Telecom": 2, "Library": 1}
"""Desk → the level whose ways are searched for; a line with one fault has but one."""
CHEAP = {"Retail": 5, "Airline": 4, "Telecom": 19, "Library": 4}
"""Desk → the seed of a task whose ways are found fast: a swap, bags, an overdue bill and a switch, fines."""
STEPS = {"Airline": 26, "Library": 4}
"""Desk → the seed of a task that can be settled in three steps, or two: bags beyond those that are free, fines."""
NUMBERS = st.integers(0, 2**32)


def played(env: ActDeskEnv, own: Served, seed: int, index: int, calls: Calls) -> float:
    """Return what a conversation earns in which these calls settle a wish."""
    env.reset(seed=seed)
    return play(env, texts(settled_by(own, env.domain, index, calls)))[0]


def proved(name: str, seeds: range, *, detours: int = 0, most: int = 40) -> tuple[int, int]:
    """Assert that of all calls that end as the gold calls do, those earn 1 that the policy allows, and the others 0.

    Args:
        name: the desk.
        seeds: the tasks.
        detours: calls of a way that lead no nearer to the end.
        most: how many of the others are played, for each wish.

    Returns:
        How many ways were right, and how many were wrong.
    """
    right = wrong = 0
    for env, own, seed in tasks(name, LEVELS[name], seeds):
        for index, aim in enumerate(own.task.aims):
            if not has_effect(env.domain, own.task, aim.gold):
                continue  # a question, whose answer is only read
            rng = Random(f"{name} {seed} {index}")
            ways = found_ways(env.domain, own.task, aim, nearby_calls(env.domain, own.task, aim, rng), detours)
            allowed = [way for way in ways if keeps_to_policy(own.task, aim, way)]
            others = [way for way in ways if way not in allowed]
            assert all(way in allowed for way in (aim.gold, *aim.ways) if has_effect(env.domain, own.task, way))
            for way in allowed:
                assert played(env, own, seed, index, way) == 1.0, way
            for way in rng.sample(others, min(len(others), most)):
                assert played(env, own, seed, index, way) == 0.0, way
            right, wrong = right + len(allowed), wrong + len(others)
    return right, wrong


@pytest.mark.parametrize("name", DESKS)
def test_ways_with_the_same_end_earn_as_much_if_the_policy_allows_them(name: str) -> None:
    """Of all calls near a task's that end as the gold calls do; bags, fines and repairs have several right ways."""
    right, _ = proved(name, range(CHEAP[name], CHEAP[name] + 1), most=4)
    assert right >= {"Retail": 2, "Airline": 3, "Telecom": 4, "Library": 5}[name]


@pytest.mark.nightly
@pytest.mark.parametrize("name", DESKS)
def test_ways_of_20_tasks_earn_as_much_if_the_policy_allows_them(name: str) -> None:
    """So do those of 20 tasks of each desk, and some are forbidden although nobody sees it in the end."""
    right, wrong = proved(name, range(20))
    assert right >= 30
    assert wrong >= 1


@pytest.mark.nightly
@pytest.mark.parametrize("name", DESKS)
def test_detours_to_the_same_end_earn_as_much_if_the_policy_allows_them(name: str) -> None:
    """So do those with a call that leads away from the end, and is made good."""
    _, wrong = proved(name, range(CHEAP[name], CHEAP[name] + 1), detours=1)
    assert wrong >= (12 if name == "Telecom" else 0)


@pytest.mark.parametrize("name", DESKS)
def test_a_customer_may_be_found_by_other_data_as_well(name: str) -> None:
    """The last name and a second datum, or the number of a line, identify as the e-mail address does, once said."""
    count = 0
    for env, own, _ in tasks(name, 1, range(5)):
        actions = identified_otherwise(own, own.plan)
        count += actions != [*own.plan]
        assert play(env, texts(actions))[0] == 1.0
    assert count >= 2


def steps(name: str, seeds: range) -> Iterator[tuple[ActDeskEnv, Served, int, int, Calls]]:
    """Yield the ways of several steps: the environment, the task, its seed, the index of the wish, and the steps."""
    for env, own, seed in tasks(name, 1, seeds):
        for index, aim in enumerate(own.task.aims):
            yield from ((env, own, seed, index, way) for way in aim.ways if len(way) > 1)


@pytest.mark.parametrize("name", STEPS)
def test_all_steps_may_be_agreed_to_before_the_first(name: str) -> None:
    """A customer who has said yes to each step has said it to the way, which the policy allows."""
    count = 0
    for env, own, seed, index, way in steps(name, range(STEPS[name], STEPS[name] + 1)):
        assert keeps_to_policy(own.task, own.task.aims[index], way)
        actions = settled_by(own, env.domain, index, way)
        others = [action for action in actions if action not in map(propose, way)]
        env.reset(seed=seed)
        first = others.index(way[0])
        assert play(env, texts([*others[:first], *map(propose, way), *others[first:]]))[0] == 1.0
        count += 1
    assert count >= 3


def test_the_charge_of_a_later_step_may_not_be_tried_first() -> None:
    """A yes to two bags more at the charge of one costs, though all bags are paid for in the end."""
    count = 0
    for env, own, seed, index, way in steps("Airline", range(STEPS["Airline"], STEPS["Airline"] + 1)):
        (gold,) = own.task.aims[index].gold
        actions: list[DeskCall] = settled_by(own, env.domain, index, (gold,))
        place = actions.index(propose(gold))
        env.reset(seed=seed)
        reward, info = play(env, texts([*actions[:place], propose(way[-1]), *actions[place:]]))
        assert (reward, info["predicates"]["confirmed"], info["predicates"]["state"]) == (0.0, False, True)
        count += 1
    assert count >= 3


@pytest.mark.parametrize("name", DESKS)
def test_what_is_done_may_be_proposed_once_more(name: str) -> None:
    """A yes to what has been done already is one to nothing new."""
    count = 0
    for env, own, _ in tasks(name, LEVELS[name], range(CHEAP[name], CHEAP[name] + 1)):
        again = [one for call in own.plan for one in ([call, propose(call)] if own.is_write(call) else [call])]
        count += len(again) - len(own.plan)
        assert play(env, texts(again))[0] == 1.0
    assert count >= 1


def assert_neighbours_cost(name: str, level: int, seed: int, number: int) -> bool:
    """Assert that calls which differ from right ones in one place earn 1 only if they are right as well.

    Returns:
        Whether there were such calls, each of which changes something.
    """
    rng = Random(number)
    env = desk(name, level=level, max_turns=200)
    env.reset(seed=seed)
    own, domain = served(env), env.domain
    index = rng.randrange(len(own.task.aims))
    aim = own.task.aims[index]
    calls = list(rng.choice((aim.gold, *aim.ways)))
    nearby, place = nearby_calls(domain, own.task, aim, rng), rng.randrange(len(calls) + 1)
    kind = rng.choice(("one more", "another", "one less", "swapped"))
    if kind == "one more":
        calls.insert(place, rng.choice(nearby or calls))
    elif kind == "another":
        place %= len(calls)
        calls[place] = rng.choice([call for call in nearby if call.tool == calls[place].tool] or calls)
    elif kind == "one less":
        del calls[place % len(calls)]
    else:
        rng.shuffle(calls)
    if not calls or not has_effect(domain, own.task, tuple(calls)):
        return False
    end, other = (gold_run(domain, own.task, one).end for one in (aim.gold, calls))
    is_right = not differences(other, end, 1) and keeps_to_policy(own.task, aim, tuple(calls))
    assert played(env, own, seed, index, tuple(calls)) == float(is_right), (kind, calls)
    return True


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(DESKS), st.integers(0, 1), NUMBERS)
def test_one_call_more_less_or_another_costs(name: str, seed: int, number: int) -> None:
    """Another article, amount or record, a call more, one less, or another order: 0, unless that is right as well."""
    assume(assert_neighbours_cost(name, 1, seed, number))


@pytest.mark.nightly
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(DESKS), st.integers(1, 3), st.integers(0, 30), NUMBERS)
def test_one_call_more_less_or_another_costs_1000_times(name: str, level: int, seed: int, number: int) -> None:
    """So it does 1,000 times, at every level."""
    assume(assert_neighbours_cost(name, level, seed, number))


def assert_only_the_policys_order_counts(name: str, level: int, seed: int, number: int) -> None:
    """Assert that a plan in another order, with another identification and with detours earns 1, and a wrong one 0."""
    rng = Random(number)
    env = desk(name, level=level, max_turns=200)
    env.reset(seed=seed)
    own = served(env)
    index = rng.randrange(len(own.task.aims))
    aim = own.task.aims[index]
    actions = settled_by(own, env.domain, index, rng.choice((aim.gold, *aim.ways)))
    if rng.random() < 0.5:
        actions = identified_otherwise(own, actions)
    right = with_detours(own, in_other_order(own, actions, rng), rng)
    reward, info = play(env, texts(right))
    assert reward == 1.0, (info["broken"], info["differences"], right)
    wrong = in_wrong_order(own, actions, rng)
    if wrong is not None:
        env.reset(seed=seed)
        assert play(env, texts(wrong))[0] == 0.0, wrong


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(DESKS), st.integers(0, 1), NUMBERS)
def test_orders_that_the_policy_leaves_open_change_nothing(name: str, seed: int, number: int) -> None:
    """Proposals, calls and facts in other orders, another identification, readings and denied proposals in between."""
    assert_only_the_policys_order_counts(name, 1, seed, number)


@pytest.mark.nightly
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(DESKS), st.integers(1, 3), st.integers(0, 30), NUMBERS)
def test_orders_that_the_policy_leaves_open_change_nothing_1000_times(
    name: str, level: int, seed: int, number: int
) -> None:
    """So it is 1,000 times at every level, and each order that the policy demands costs if it is broken."""
    assert_only_the_policys_order_counts(name, level, seed, number)
