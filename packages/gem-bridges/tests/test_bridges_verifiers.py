"""Packages of verifiers before 0.4, and task sets of 0.4; by night with published releases in Pythons of their own.

None of its environment packages could be had from the package index. So the packages in ``data/verifiers_packages``
follow its documentation, and one of them is the class that verifiers itself brings for Reasoning Gym.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, ArgumentTypeError
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import MalformedActionError
from gem_bridges.messages import observed
from gem_bridges.tool_messages import assistant_message, described_tools
from gem_bridges.verifiers.messages import messages_after

PACKAGES = str(Path(__file__).parent / "data" / "verifiers_packages")
RELEASES = ("verifiers==0.1.14", "verifiers==0.3.0")
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two\n numbers.",
        "parameters": {"type": "object", "properties": {"first": {"type": "integer"}, "note": {"type": "string"}}},
    },
}


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a chat message."""
    return {"role": role, "content": content, **more}


def test_messages_become_one_observation() -> None:
    """Speakers are named where the assistant is one of them; pictures stay content parts."""
    assert observed([said("system", "Be brief."), said("user", "2+2?")]) == "Be brief.\n\n2+2?"
    assert (
        observed([said("user", "a"), said("assistant", "b"), said("user", "c")]) == "User: a\n\nAssistant: b\n\nUser: c"
    )
    assert observed([said("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])]) == "a\nb"
    picture = {"type": "image_url", "image_url": {"url": "data:,x"}}
    assert observed([said("system", "Look."), said("user", [picture])]) == [{"type": "text", "text": "Look."}, picture]
    called = said("assistant", None, tool_calls=[{"id": "1", "function": {"name": "add", "arguments": "{}"}}])
    assert observed([called]) == 'Assistant: <tool_call>{"name": "add", "arguments": "{}"}</tool_call>'
    assert observed([]) == ""


def test_only_new_messages_are_shown() -> None:
    """Unless the environment has rewritten the conversation: then all of it is new."""
    before = [said("user", "a")]
    answer = said("assistant", "b")
    new = [said("tool", "c"), said("user", "d")]
    assert list(messages_after(before, answer, [*before, answer, *new])) == new
    for rewritten in ([said("user", "x"), answer, *new], [*before, *new], [*before, answer], new, []):
        assert list(messages_after(before, answer, rewritten)) == rewritten


def test_actions_become_messages() -> None:
    """Calls are read where tools are on offer, in tags or native, with types of the schema."""
    text = 'So: <tool_call>{"name": "add", "arguments": {"first": 3}}</tool_call>'
    assert assistant_message(text, ()) == said("assistant", text)
    message = assistant_message(text, [ADD])
    assert message["content"] == text
    assert message["tool_calls"] == [
        {"id": "call_0", "type": "function", "function": {"name": "add", "arguments": '{"first": 3}'}}
    ]
    native = said("assistant", None, tool_calls=[{"id": "x", "function": {"name": "add", "arguments": '{"first": 3}'}}])
    message = assistant_message(native, [ADD])
    assert (message["content"], message["tool_calls"][0]["id"]) == (None, "x")
    untyped = (
        "<tool_call><function=add><parameter=first>3</parameter><parameter=note>4</parameter></function></tool_call>"
    )
    (call,) = assistant_message(untyped, [ADD])["tool_calls"]
    assert call["function"]["arguments"] == '{"first": 3, "note": "4"}'
    for nothing in ("", " \n", said("assistant", None), said("assistant", "")):
        with pytest.raises(MalformedActionError):
            assistant_message(nothing, [ADD])
    with pytest.raises(MalformedActionError, match="cannot be read"):
        assistant_message("<tool_call>{add}</tool_call>", [ADD])


def test_tools_are_described() -> None:
    """Each on a line, with the schema of its arguments."""
    lines = described_tools([ADD]).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith('- add: Add two numbers. Arguments: {"type": "object"')


def test_arguments_are_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before a process is started."""
    with pytest.raises(ArgumentError, match="split must be"):
        gem.make("verifiers:wordle", split="test")
    with pytest.raises(ArgumentError, match="there is no folder"):
        gem.make("verifiers:wordle", folder=str(tmp_path / "none"))
    with pytest.raises(ArgumentTypeError, match="args must be a dict"):
        gem.make("verifiers:wordle", args=[1])
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(ArgumentError, match="no variable SOME_KEY"):
        gem.make("verifiers:wordle", variables=["SOME_KEY"]).reset(seed=0)


def test_a_python_without_verifiers_is_named() -> None:
    """With the releases that are needed, and no process is left."""
    env = gem.make("verifiers:owner/some-package@1.0")
    with pytest.raises(BridgeError, match=r"No module named 'verifiers'; install verifiers there"):
        env.reset(seed=0)
    env.close()


@pytest.fixture(scope="module", params=RELEASES)
def python(request: pytest.FixtureRequest) -> Iterator[str]:
    """A Python with a published release, and Reasoning Gym."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "bin", "python")
        pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
        subprocess.run([sys.executable, "-m", "uv", "venv", "-q", "--clear", "-p", sys.executable, folder], check=True)
        install = [sys.executable, "-m", "uv", "pip", "install", "-q", "-p", str(path), request.param, "reasoning-gym"]
        subprocess.run([*install, "datasets"], check=True)
        yield str(path)


def played(env: Any, *, seed: int | None = None, index: int | None = None, say: Any) -> tuple[list[str], float, Any]:
    """Play an episode; return what was shown, the return and the last info."""
    observation, info = env.reset(seed) if index is None else env.reset(seed, {"index": index})
    shown, total, over = [str(observation)], 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(say(shown))
        shown.append(str(observation))
        total += reward
        over = terminated or truncated
        assert not truncated, info
    return shown, total, info


def halving(shown: list[str]) -> str:
    """Guess between what is known."""
    low, high = 1, 100
    guess = 50
    for answer in shown[1:]:
        low, high = (guess + 1, high) if answer == "higher" else (low, guess - 1)
        guess = (low + high) // 2
    return f"I guess {guess}"


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_published_releases_play_and_score(python: str) -> None:
    """Single turn with examples and weights, several turns, tools, and Reasoning Gym; faults with their reason."""
    single = gem.make("verifiers:capital-questions", python=python, folder=PACKAGES, args={"punctual": 0.5})
    try:
        shown, total, info = played(single, index=1, say=lambda _: "<capital>Tokyo</capital>.")
        assert shown[0].startswith("System: Answer in <capital> tags.\n\nUser: Of Italy?\n\nAssistant: <capital>Rome")
        assert (shown[0].rpartition("\n")[2], total) == ("User: What is the capital of Japan?", 1.5)
        assert info["metrics"].items() >= {"right": 1.0, "ends_with_a_stop": 1.0}.items()
        assert info["success"]
        _, total, info = played(single, index=0, say=lambda _: "<capital>Tokyo</capital>.")
        assert (total, info["success"]) == (0.5, True)  # verifiers' own threshold
        assert played(single, index=0, say=lambda _: "Paris")[1:][0] == 0.0
        assert {single.reset(seed=seed)[1]["index"] for seed in range(20)} == {0, 1, 2}
        with pytest.raises(ArgumentError, match="at most 2"):
            single.reset(options={"index": 3})
    finally:
        single.close()
    tools = gem.make("verifiers:adding_tool", python=python, folder=PACKAGES)
    try:
        tools.reset(options={"index": 0})
        call = '<tool_call>{"name": "add", "arguments": {"first": 17, "second": 25}}</tool_call>'
        observation, reward, terminated, _, info = tools.step(call)
        assert (observation, reward, terminated, info["tool_results"][0]["text"]) == ("42", 0.0, False, "42")
        observation, _, terminated, _, info = tools.step("<tool_call>{nothing}</tool_call>")
        assert ("not understood" in str(observation), terminated, info["action_status"]) == (True, False, "malformed")
        assert tools.step("It is 42.")[1:3] == (1.0, True)
    finally:
        tools.close()
    gym = gem.make("verifiers:reasoning_gym_env", python=python, folder=PACKAGES)
    try:

        def solved(shown: list[str]) -> str:
            asked = shown[0].rpartition("Calculate ")[2].rstrip(".")
            return f"<answer>{eval(asked.replace('/', '//'))}</answer>"  # the package's own sums

        assert [played(gym, index=row, say=solved)[1] for row in range(5)] == [1.0] * 5
        assert [played(gym, index=row, say=lambda _: "<answer>x</answer>")[1] < 0.1 for row in range(5)] == [True] * 5
    finally:
        gym.close()


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_episodes_follow_from_their_seeds(python: str) -> None:
    """Also where a package draws from the global generator: in two processes, interleaved, pickled and restored."""
    one = gem.make("verifiers:number_guessing", python=python, folder=PACKAGES)
    other = gem.make("verifiers:number_guessing", python=python, folder=PACKAGES)
    restored = None
    try:
        episodes = [played(one, seed=seed, say=halving) for seed in range(4)]
        assert {total for _, total, _ in episodes} == {1.0}
        assert len({tuple(shown[1:]) for shown, _, _ in episodes}) > 1
        assert [played(other, seed=seed, say=halving) for seed in (3, 2)] == [episodes[3], episodes[2]]
        shown = [str(one.reset(2)[0])]
        other.reset(3)
        for _ in range(2):
            shown.append(str(one.step(halving(shown))[0]))
            other.step("I guess 1")
        restored = pickle.loads(pickle.dumps(one))
        other.set_state(one.get_state())
        for env in (one, restored, other):
            seen = list(shown)
            while len(seen) < len(episodes[2][0]):
                seen.append(str(env.step(halving(seen))[0]))
            assert seen == episodes[2][0]
        _, info = one.reset(1)
        _, _, terminated, truncated, info = one.step("no number")
        assert (terminated, truncated, "ValueError" in info["error"]) == (False, True, True)
        assert played(one, seed=3, say=halving) == episodes[3]
    finally:
        for env in (one, other, restored):
            if env is not None:
                env.close()


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_packages_that_cannot_be_loaded(python: str, tmp_path: Path) -> None:
    """Each with its reason, and with a process that takes the next request."""
    sources = {
        "no_loader": "",
        "leaves": "import sys\ndef load_environment():\n    sys.exit('a key is missing')",
        "wrong_kind": "def load_environment():\n    return 1",
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    reasons = {
        "no_loader": "load_environment",
        "leaves": "SystemExit: a key is missing",
        "wrong_kind": "returned a int",
        "none_such": "No module named 'none_such'; install it there",
    }
    for name, reason in reasons.items():
        env = gem.make(f"verifiers:{name}", python=python, folder=str(tmp_path))
        with pytest.raises(BridgeError, match=reason):
            env.reset(seed=0)
        env.close()


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_task_set_is_scored_as_by_its_own_evaluation(published: Callable[..., Path], tmp_path: Path) -> None:
    """Of verifiers 0.4, with the harness that the library calls null and with the one that is the default here."""
    python = published("verifiers==0.4.0")
    answers = ["It is 0 .", "1", "It makes 4", "6", "8 or 9."]
    script = tmp_path / "answers.json"
    asked = [{"texts": [f"What is {number} and {number}?"], "actions": [said]} for number, said in enumerate(answers)]
    script.write_text(json.dumps(asked), encoding="utf-8")
    driver = str(Path(__file__).parent / "drivers" / "verifiers_direct.py")
    command = [str(python), driver, "sum_tasks", str(script)]
    environment = {**os.environ, "PYTHONPATH": PACKAGES}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    scores = json.loads(done.stdout.splitlines()[-1])
    assert [reward for reward, _ in scores] == [1.25, 0.0, 1.0, 1.0, 1.25]
    with gem.make("verifiers:sum_tasks", python=str(python), folder=PACKAGES) as env:
        for index, said in enumerate(answers):
            assert env.reset(options={"index": index})[0] == f"Be brief.\n\nWhat is {index} and {index}?"
            _, reward, terminated, truncated, info = env.step(said)
            assert (reward, terminated, truncated) == (scores[index][0], True, False)
            assert info["metrics"].items() >= scores[index][1].items()
            assert info["metrics"]["stops"] == 0.25 * said.endswith(".")
    with gem.make("verifiers:sum_tasks", python=str(python), folder=PACKAGES, args={"count": 2}) as env:
        assert {env.reset(seed=seed)[1]["index"] for seed in range(8)} == {0, 1}
    (tmp_path / "old_one.py").write_text("import verifiers as vf\ndef load_environment() -> vf.Environment: ...\n")
    for wrong, why in (("old-one", "'verifiers>=0.1.11,<0.4' there"), ("none_such", "not found")):
        old = gem.make(f"verifiers:{wrong}", python=str(python), folder=str(tmp_path))
        with old, pytest.raises(BridgeError, match=re.escape(why)):
            old.reset(seed=0)
