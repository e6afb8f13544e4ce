"""The page of an episode shows the calls of an agent program to its model as a tree, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import BROWSER, ChromiumPage

from gem_eval.runs import RunConfig, RunFolder
from gem_eval.viewer.viewed_run import as_read_by_page
from gem_rollout.lineages import LineageTree, RecordedCall
from gem_rollout.lineages.tree import recorded_lineages
from gem_rollout.trajectory import Trajectory

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
]

View = Callable[..., ChromiumPage]
ViewCalls = Callable[[dict[str, Any]], ChromiumPage]


@pytest.fixture
def view_calls(
    tmp_path: Path, make_config: Callable[..., RunConfig], make_trajectory: Callable[..., Trajectory], view: View
) -> ViewCalls:
    """A function that opens the page of an episode of three turns with this metadata."""

    def opened(metadata: dict[str, Any]) -> ChromiumPage:
        with RunFolder.create(tmp_path / "run", make_config()) as folder:
            folder.append(make_trajectory(turns=3, metadata=metadata))
        page = view(RunFolder(folder.path), at="#/0/0")
        page.wait_for("document.querySelector('.turn.drawn')")
        return page

    return opened


def call(
    text: str, parent: int | None = None, *, tools: str = "act", answer: str | None = "Yes.", **values: Any
) -> RecordedCall:
    """Return a call with one new message, which was answered unless ``answer`` is None."""
    message = None if answer is None else {"role": "assistant", "content": answer}
    return RecordedCall([{"role": "user", "content": text}], message, parent, tools=tools.split(), **values)


def record_of(*calls: RecordedCall) -> dict[str, Any]:
    """Return the record of these calls, as the metadata of an episode."""
    tree = LineageTree()
    for one in calls:
        tree.add(one)
    return recorded_lineages(tree)


def usage(prompt: int, sampled: int, **more: int) -> dict[str, int]:
    """Return the counts of a call."""
    return {"prompt_tokens": prompt, "completion_tokens": sampled, **more}


@pytest.mark.nightly
def test_lineages_are_a_tree_of_calls(view_calls: ViewCalls) -> None:
    """Main agent, subagent, branch, side calls and compaction, each with its calls, and why it began."""
    page = view_calls(
        record_of(
            call("Solve it.", began="the first call"),
            call("A part.", began="the first call of a conversation", tools="look"),
            call("Go on.", 1, tools="look"),
            call("Go on.", 0),
            call("Or so.", 0),
            call("Or so.", 0, answer=None, error="ModelError: the server answered 500"),
            call("A title?", tools="", began="the first call of a conversation"),
            call("So far: …", began="the first call of a conversation"),
        )
    )
    names = ["Main agent", "Subagent", "Branch of call 1", "Side calls", "After compaction"]
    assert page.texts(".strand h3") == names
    depths = page.evaluate("[...document.querySelectorAll('.strand')].map((e) => e.style.getPropertyValue('--depth'))")
    assert depths == ["0", "1", "1", "1", "0"]
    numbers = [page.texts(f".strand:nth-of-type({place}) .number") for place in range(1, 6)]
    assert numbers == [["1", "4", "6"], ["2", "3"], ["5"], ["7"], ["8"]]
    assert "Began: the first call of a conversation" in page.text(".strand[data-kind=subagent]")


def test_a_call_shows_what_was_new_and_what_it_took(view_calls: ViewCalls) -> None:
    """Its messages and its answer once it is opened; tokens, cache and seconds before; the turn that follows it."""
    page = view_calls(
        record_of(
            call("Solve it.", seconds=2.5, turn=0, usage=usage(1200, 40, cached_tokens=1000), answer="I begin."),
            call("Not so.", 0, seconds=0.5, turn=1, usage=usage(1300, 20), answer="I see."),
            call("Now?", 1, turn=2, answer=None, error="ModelError: the server answered 500", seconds=1.0),
        )
    )
    rows = page.texts(".model-call > summary")
    assert rows[0] == "1I begin.1,200 → 40 tokens, 1,000 cached · 2.5 s"
    assert rows[2] == "3error1.0 s"
    total = "3 calls · 2,500 → 60 tokens (of 2 calls) · 1,000 cached (of 1 call) · 4.0 s"
    assert page.text(".model-calls > .from") == total
    assert page.texts(".model-call .block") == []
    page.click(".model-call:nth-of-type(2) > summary")
    page.wait_for("document.querySelector('.model-call[open] .action')")
    assert page.texts(".model-call[open] .content") == ["Not so.", "I see."]
    page.click(".model-call[open] a")
    page.wait_for("document.querySelector('.turn.current h2')?.textContent === 'Turn 2'")
    assert page.texts(".model-call.current .number") == ["2"]
    page.click(".model-call:nth-of-type(3) > summary")
    page.wait_for("document.querySelector('.model-call[open] .failure')")
    assert page.text(".model-call[open] .failure .content") == "ModelError: the server answered 500"


@pytest.mark.nightly
def test_an_episode_without_a_program_has_no_calls(view_calls: ViewCalls) -> None:
    """Its page is as it was."""
    page = view_calls({})
    assert page.evaluate("document.querySelector('.model-calls, .with-calls')") is None


@pytest.mark.nightly
def test_a_malformed_record_of_calls_leaves_the_conversation(view_calls: ViewCalls) -> None:
    """The page says what is wrong with it."""
    record = record_of(call("Solve it."))
    record["lineages"]["calls"][0]["parent"] = 7
    page = view_calls(record)
    assert page.text(".model-calls .notice") == "Their record cannot be read: call 0: its parent 7 is no earlier call"
    assert len(page.texts(".turn")) > 3


@pytest.mark.nightly
def test_the_json_of_an_episode_is_its_record(view_calls: ViewCalls) -> None:
    """What the server adds for the page is not in it."""
    page = view_calls(record_of(call("Solve it.")))
    page.press("r")
    shown = page.text(".raw .content")
    assert '"sealed"' in shown
    assert "lineage_kinds" not in shown


SHAPES: dict[str, Callable[[int], int | None]] = {
    "a chain": lambda index: index - 1 if index else None,
    "lineages of one call": lambda index: None,
    "branches of branches": lambda index: (index - 1) // 2 if index else None,
    "branches of one call": lambda index: 0 if index else None,
}


@pytest.mark.nightly
@pytest.mark.parametrize("shape", SHAPES)
def test_two_thousand_calls_are_drawn_in_parts(shape: str, view_calls: ViewCalls) -> None:
    """However they hang together, the page holds the first of them, and more on demand."""
    page = view_calls(record_of(*(call(f"Message {index}.", SHAPES[shape](index)) for index in range(2000))))
    assert page.text(".model-calls > .from") == "2,000 calls"
    rows = "document.querySelectorAll('.model-call').length"
    assert 0 < page.evaluate(rows) <= 1000
    assert page.evaluate("document.querySelectorAll('.model-calls *').length") < 10_000
    before = page.evaluate(rows)
    page.evaluate("document.querySelector('.model-calls .more').click()")
    assert page.evaluate(rows) > before


def test_the_page_is_told_the_kinds(make_trajectory: Callable[..., Trajectory]) -> None:
    """Where there are calls, or what is wrong with them; the line of any other episode is sent as it was written."""
    line = make_trajectory(metadata=record_of(call("Solve it."), call("A title?", tools=""))).to_json().encode()
    assert json.loads(as_read_by_page(line)) == {**json.loads(line), "lineage_kinds": {"0": "main", "1": "side"}}
    broken = line.replace(b'"tools":["act"]', b'"tools":[5]')
    fault = json.loads(as_read_by_page(broken))["lineage_fault"]
    assert fault == "call 0: a call's tools must be a list of names"
    other = make_trajectory().to_json().encode()
    assert as_read_by_page(other) == other
