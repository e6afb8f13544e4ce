"""The parts that lineages played, read from tools, order and messages of their calls."""

from __future__ import annotations

from typing import Any

import pytest

from gem.errors import TrajectoryError
from gem_rollout.lineages import LineageTree, RecordedCall
from gem_rollout.lineages.kinds import lineage_kinds

TASK = "Solve the task."


def tree_of(*calls: tuple[int | None, str, str] | RecordedCall) -> LineageTree:
    """Return a tree of answered calls: parent, text of the new message, tools in words."""
    tree = LineageTree()
    for call in calls:
        if not isinstance(call, RecordedCall):
            parent, text, tools = call
            call = RecordedCall([user(text)], answer=assistant("Yes."), parent=parent, tools=tools.split())
        tree.add(call)
    return tree


def user(text: str) -> dict[str, Any]:
    """Return a message to the model."""
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    """Return a message of the model."""
    return {"role": "assistant", "content": text}


def test_calls_that_continue_each_other_are_the_main_lineage() -> None:
    """Branches of it as well, which begin no lineage."""
    tree = tree_of((None, TASK, "act"), (0, "next", "act"), (0, "other", "act"), (2, "next", "act"))
    assert tree.roots() == [0, 0, 0, 0]
    assert lineage_kinds(tree) == {0: "main"}


def test_calls_without_tools_are_side_calls_where_others_have_some() -> None:
    """Also before the main lineage; where no call has tools, the first lineage is the main one."""
    assert lineage_kinds(tree_of((None, "A title?", ""), (None, TASK, "act"))) == {0: "side", 1: "main"}
    assert lineage_kinds(tree_of((None, TASK, ""), (0, "next", ""))) == {0: "main"}


def test_a_lineage_within_another_one_is_a_subagent() -> None:
    """The main lineage goes on afterwards; two subagents at the same time are two."""
    tree = tree_of(
        (None, TASK, "act ask"), (None, "First part.", "act ask"), (None, "Second part.", "act ask"),
        (1, "next", "act ask"), (2, "next", "act ask"), (0, "They say yes.", "act ask"),
    )  # fmt: skip
    assert lineage_kinds(tree) == {0: "main", 1: "subagent", 2: "subagent"}


def test_a_last_lineage_with_other_tools_is_a_subagent() -> None:
    """An episode may end in the middle of its work."""
    assert lineage_kinds(tree_of((None, TASK, "act ask"), (None, "A part.", "act"))) == {0: "main", 1: "subagent"}


def test_a_lineage_with_the_same_tools_after_all_others_is_a_compaction() -> None:
    """Side calls between them change nothing."""
    tree = tree_of((None, TASK, "act"), (0, "next", "act"), (None, "Sum up.", ""), (None, "So far: …", "act"))
    assert lineage_kinds(tree) == {0: "main", 2: "side", 3: "compaction"}


def test_answers_that_are_not_as_recorded_begin_a_changed_history() -> None:
    """A conversation in which the model has spoken, and which continues no recorded call."""
    edited = RecordedCall([user(TASK), assistant("Nobody said this."), user("next")], answer={}, tools=["act"])
    assert lineage_kinds(tree_of((None, TASK, "act"), edited)) == {0: "main", 1: "changed_history"}


def test_the_same_messages_again_are_a_retry() -> None:
    """After an answer; after a failure, the first answered lineage is the main one."""
    assert lineage_kinds(tree_of((None, TASK, "act"), (None, TASK, "act"))) == {0: "main", 1: "retry"}
    failed = RecordedCall([user(TASK)], tools=["act"], error="the server is down")
    assert lineage_kinds(tree_of(failed, (None, TASK, "act"))) == {0: "unanswered", 1: "main"}


def test_no_calls_have_no_kinds() -> None:
    """An empty record is one."""
    assert lineage_kinds(LineageTree()) == {}


@pytest.mark.parametrize("tools", [5, "act", [{}], [["act"]], {"act": 1}])
def test_tools_are_names(tools: Any) -> None:
    """A record with other tools is refused with the number of the call."""
    record = {"messages": [user(TASK)], "answer": assistant("Yes."), "tools": tools}
    with pytest.raises(TrajectoryError, match="call 0: a call's tools must be a list of names"):
        LineageTree.from_list([record])
