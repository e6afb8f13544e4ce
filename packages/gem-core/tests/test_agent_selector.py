"""Whose turn it is, while agents join and leave."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gem.errors import ArgumentError, ArgumentTypeError, StateError
from gem.multiagent import AgentSelector

NAMES = ["a", "b", "c", "d", "e"]


def turns(selector: AgentSelector, count: int) -> str:
    taken = []
    for _ in range(count):
        taken.append(selector.selected or "-")
        selector.next()
    return "".join(taken)


def test_turns_go_round() -> None:
    """Everybody in order, again and again."""
    selector = AgentSelector(["a", "b", "c"])
    assert turns(selector, 7) == "abcabca"
    assert selector.next() == "c"


def test_first_and_last_of_a_round() -> None:
    """They mark its two ends."""
    selector = AgentSelector(["a", "b", "c"])
    marks = []
    for _ in range(4):
        marks.append((selector.selected, selector.is_first(), selector.is_last()))
        selector.next()
    assert marks == [("a", True, False), ("b", False, False), ("c", False, True), ("a", True, False)]


def test_one_agent_is_first_and_last() -> None:
    """Every turn of a single agent is a round."""
    selector = AgentSelector(["a"])
    assert (selector.is_first(), selector.is_last(), selector.next()) == (True, True, "a")


def test_nobody() -> None:
    """Without agents there is no turn, and joining begins the first."""
    selector = AgentSelector([])
    assert (selector.selected, selector.next(), selector.get_active_agents()) == (None, None, [])
    selector.add_agent("a")
    assert selector.selected == "a"


def test_all_act_in_parallel() -> None:
    """Every step is a round, and ``next`` changes nothing."""
    selector = AgentSelector(["a", "b"], mode="parallel")
    for _ in range(2):
        assert selector.get_active_agents() == ["a", "b"]
        assert (selector.is_first(), selector.is_last()) == (True, True)
        assert selector.next() == "a"
    selector.remove_agent("a")
    assert selector.get_active_agents() == ["b"]


def test_only_the_selected_agent_acts_in_turns() -> None:
    """``get_active_agents`` is a list of one."""
    assert AgentSelector(["a", "b"]).get_active_agents() == ["a"]


def test_the_turn_stays_when_the_first_agent_leaves_after_acting() -> None:
    """The original skipped the agent after it."""
    selector = AgentSelector(["a", "b", "c"])
    selector.next()
    selector.remove_agent("a")
    assert turns(selector, 4) == "bcbc"


@pytest.mark.parametrize(("leaves", "then"), [("a", "bcbc"), ("b", "acac"), ("c", "abab")])
def test_whoever_leaves_before_the_first_turn_the_others_keep_their_order(leaves: str, then: str) -> None:
    """If it was the turn of the one who leaves, it goes to the one after it."""
    selector = AgentSelector(["a", "b", "c"])
    selector.remove_agent(leaves)
    assert turns(selector, 4) == then


def test_when_the_last_of_a_round_leaves_a_new_round_begins() -> None:
    """With its first agent."""
    selector = AgentSelector(["a", "b", "c"])
    turns(selector, 2)
    selector.remove_agent("c")
    assert (selector.selected, selector.is_first()) == ("a", True)


def test_who_joins_acts_in_the_same_round() -> None:
    """After all others."""
    selector = AgentSelector(["a", "b"])
    turns(selector, 1)
    selector.add_agent("c")
    assert turns(selector, 5) == "bcabc"


def test_who_comes_back_does_not_act_twice_in_a_round() -> None:
    """Leaving and joining again is no way to another turn."""
    selector = AgentSelector(["a", "b", "c"])
    turns(selector, 1)
    selector.remove_agent("a")
    selector.add_agent("a")
    assert turns(selector, 5) == "bcbca"


def test_joining_twice_and_leaving_twice_do_nothing() -> None:
    """As published."""
    selector = AgentSelector(["a", "b"])
    selector.add_agent("a")
    selector.remove_agent("c")
    assert selector.agents == ["a", "b"]


def test_reinit_begins_anew() -> None:
    """Other agents, a first round; the list that was given is not shared."""
    agents = ["x", "y"]
    selector = AgentSelector(["a", "b"])
    selector.next()
    selector.reinit(agents)
    selector.add_agent("z")
    assert (agents, selector.selected, selector.is_first()) == (["x", "y"], "x", True)
    selector.agents.clear()
    assert selector.agents == ["x", "y", "z"]


def test_state_survives_json() -> None:
    """Also where somebody who acted has left."""
    selector = AgentSelector(["a", "b", "c"])
    selector.next()
    selector.remove_agent("a")
    again = AgentSelector.from_state(json.loads(json.dumps(selector.get_state())))
    again.add_agent("a")
    selector.add_agent("a")
    assert turns(again, 6) == turns(selector, 6)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"mode": "sequential", "agents": ["a"], "acted": ["a"]},
        {"mode": "sequential", "agents": ["a", "a"], "acted": []},
        {"mode": "sequential", "agents": "a", "acted": []},
        {"mode": "other", "agents": ["a"], "acted": []},
        {"mode": "sequential", "agents": ["a"], "acted": None},
        None,
    ],
)
def test_a_wrong_state_is_refused(state: Any) -> None:
    """With GEM's own error."""
    with pytest.raises(StateError):
        AgentSelector.from_state(state)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((None,), ArgumentTypeError),
        (("abc",), ArgumentTypeError),
        (({"a", "b"},), ArgumentTypeError),
        (([1],), ArgumentTypeError),
        (([""],), ArgumentError),
        ((["a", "a"],), ArgumentError),
        ((["a"], "x"), ArgumentError),
        ((["a"], None), ArgumentError),
    ],
)
def test_bad_arguments_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    """A set in particular, whose order would be chance."""
    with pytest.raises(error):
        AgentSelector(*arguments)


@pytest.mark.parametrize("name", [None, 3, "", b"a"])
def test_a_name_is_a_non_empty_str(name: Any) -> None:
    """Also where somebody joins later."""
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        AgentSelector(["a"]).add_agent(name)


class Rounds(RuleBasedStateMachine):
    """Agents act, join and leave in any order; the machine only keeps a log of the round."""

    def __init__(self) -> None:
        super().__init__()
        self.selector = AgentSelector(NAMES[:3])
        self.members = NAMES[:3]
        self.acted: list[str] = []

    @rule()
    def act(self) -> None:
        actor = self.selector.selected
        assert (actor is None) == (not self.members)
        if actor is not None:
            assert actor in self.members
            assert actor not in self.acted, "somebody acts twice in a round"
            assert self.selector.is_last() == (set(self.members) - set(self.acted) == {actor})
            self.acted.append(actor)
        self.selector.next()
        self.follow_round()

    @rule(name=st.sampled_from(NAMES))
    def join(self, name: str) -> None:
        turn = self.selector.selected
        self.selector.add_agent(name)
        if name not in self.members:
            self.members.append(name)
        assert self.selector.selected == (turn or name), "joining takes nobody's turn away"
        self.follow_round()

    @rule(name=st.sampled_from(NAMES))
    def leave(self, name: str) -> None:
        turn = self.selector.selected
        self.selector.remove_agent(name)
        if name in self.members:
            self.members.remove(name)
        assert turn == name or self.selector.selected == turn, "another one's leaving takes nobody's turn away"
        self.follow_round()

    @rule()
    def save_and_restore(self) -> None:
        self.selector = AgentSelector.from_state(json.loads(json.dumps(self.selector.get_state())))

    @invariant()
    def members_agree(self) -> None:
        assert self.selector.agents == self.members

    def follow_round(self) -> None:
        waiting = set(self.members) - set(self.acted)
        if self.acted and self.selector.is_first():
            assert not waiting, "a round ends while somebody has not acted"
            self.acted = []
        else:
            assert waiting or not self.members, "a round goes on although all have acted"
            assert not self.acted or not self.selector.is_first()


TestRounds = Rounds.TestCase
