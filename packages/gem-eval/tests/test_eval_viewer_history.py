"""The page rebuilds from a record exactly what the agent saw, and shows what each turn added."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from chromium import BROWSER, ChromiumPage

import gem
from gem.wrappers import apply_wrappers, wrapper
from gem_eval.runs import RunFolder
from gem_eval.viewer.viewed_run import as_read_by_page
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
]

PIECES = [
    "The board:\n",
    "🎲🂡 ",
    "é",
    "x" * 70,
    "\n\n",
    "漢字",
    "\u202e",
    "\ud800",
    "a 👩‍👩‍👧 family",
    '"quoted" \\ ',
    "0123456789" * 8,
]


class Talk(gem.Env[Any, Any]):
    """Says and takes random text."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def text(self) -> str:
        return "".join(self.chance.choices(PIECES, k=self.chance.randint(0, 9)))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return self.text(), {"prefix": "Before. ", "suffix": " After."} if self.chance.random() < 0.3 else {}

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return self.text(), 0.0, False, False, {}


def played(wrappers: list[Any], seed: int, turns: int = 7) -> Trajectory:
    """Return an episode of random text under a wrapper."""
    talk = Talk(seed)
    env: Any = apply_wrappers(talk, wrappers)
    builder = TrajectoryBuilder(None, seed)
    observation, info = env.reset(seed=seed)
    builder.begin(observation, info)
    for turn in range(turns):
        action: Any = talk.text()
        if turn % 3 == 1:
            call = {"id": f"c{turn}", "type": "function", "function": {"name": "f", "arguments": '{"a": "🎲"}'}}
            if seed % 2:
                call["function"]["arguments"] = {"a": 1.0, "b": ["é", None]}  # type: ignore[index]
            action = {"role": "assistant", "content": action, "reasoning_content": talk.text(), "tool_calls": [call]}
        observation, reward, terminated, truncated, info = env.step(action)
        builder.add(action, observation, reward, terminated, truncated, info)
    return builder.finish()


HISTORIES = {
    "none": [],
    "concat": ["concat"],
    "concat with action": ["concat_with_action"],
    "the last two turns": [wrapper("concat_with_action", max_history_length=2)],
    "messages": ["messages"],
    "messages, the last of them": [wrapper("sliding_window", turns=2, form="messages")],
}

REBUILT = """
(async () => {
  const { observations } = await import(new URL("page/history.js", document.baseURI));
  const record = RECORD;
  const { seen, finals } = observations(record, record.transitions);
  const all = [...seen, ...finals.map(([, final]) => final)];
  return JSON.stringify(all.map((each) => [each.whole(), each.added, each.kept]));
})()
"""


@pytest.fixture
def rebuild(make_run: Callable[..., RunFolder], view: Callable[..., ChromiumPage]) -> Callable[[Trajectory], Any]:
    """A function that has the page rebuild the observations of an episode: whole, added, kept."""
    page = view(make_run(episodes=1))

    def ask(trajectory: Trajectory) -> Any:
        record = as_read_by_page(trajectory.to_json().encode("ascii"))
        return json.loads(page.evaluate(REBUILT.replace("RECORD", record.decode("ascii"))))

    return ask


def test_the_page_rebuilds_what_the_agent_saw(rebuild: Callable[[Trajectory], Any]) -> None:
    """Under every history wrapper, each observation is the one that the agent got, character by character."""
    for history, wrappers in HISTORIES.items():
        for seed in range(6):
            trajectory = played(wrappers, seed)
            expected = [*(turn.observation for turn in trajectory.transitions), trajectory.final_observation]
            assert [whole for whole, _, _ in rebuild(trajectory)] == expected, (history, seed)


def test_a_turn_shows_what_it_added(rebuild: Callable[[Trajectory], Any]) -> None:
    """Under a history wrapper, a turn shows the new message or text, and how much came before it."""
    talk = "It is your turn again; the board has not changed since your last move, and the clock is running. "
    for history, kept, added in [
        ("messages", "1 message", [{"role": "user", "content": f"{talk}1"}]),
        ("concat_with_action", "99 characters", f"{talk}1"),
    ]:
        builder = TrajectoryBuilder(None, 0)
        env: Any = apply_wrappers(Repeating(talk), history)
        observation, info = env.reset()
        builder.begin(observation, info)
        for turn in range(2):
            observation, *result = env.step(f"My move is number {turn}, and I have thought about it for long enough.")
            builder.add(f"My move is number {turn}, and I have thought about it for long enough.", observation, *result)
        rebuilt = rebuild(builder.finish())
        assert rebuilt[0][1:] == [rebuilt[0][0], None]
        assert rebuilt[1][1] == added
        assert rebuilt[1][2] == kept


class Repeating(gem.Env[Any, Any]):
    """Says one sentence, numbered."""

    def __init__(self, sentence: str) -> None:
        self.sentence, self.turn = sentence, 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return f"{self.sentence}0", {}

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        return f"{self.sentence}{self.turn}", 0.0, False, False, {}


BROKEN = [
    {"text": [[0, 5], "x", ["action", 0, 99]]},
    {"text": [None]},
    {"text": [{"a": 1}]},
    {"list": [[0, 10**9]]},
    {"list": [{"of": 7, "fields": {"content": {"text": [[0, 3]]}}}]},
    {"list": [{"of": 0, "fields": None}, {"items": 3}, [], None]},
    {"other": 1},
    {"text": "no list"},
    {},
]


def test_a_broken_edit_is_no_end_of_the_page(
    make_run: Callable[..., RunFolder], view: Callable[..., ChromiumPage]
) -> None:
    """An edit that fits nothing is shown as what it is, and the other turns are there."""
    run = make_run(episodes=len(BROKEN), turns=3)
    records = [json.loads(run.raw(row)) for row in run.rows()]
    for record, edit in zip(records, BROKEN, strict=True):
        record["transitions"][1].pop("observation", None)
        record["transitions"][1]["observation_edit"] = edit
    (run.path / "episodes.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (run.path / "index.jsonl").unlink()
    page = view(RunFolder(run.path))
    for number, edit in enumerate(BROKEN):
        page.evaluate("document.querySelectorAll('.turn').forEach((turn) => turn.classList.add('left'))")
        page.evaluate(f"location.hash = '#/0/{number}'")
        page.wait_for("document.querySelectorAll('.turn.drawn:not(.left)').length === 3")
        page.press("e")
        page.wait_for("document.querySelectorAll('.turn.drawn:not(.left)').length === 3")
        assert "guess a number" in page.texts(".turn:not(.left)")[2], edit
