"""Episodes on a repository: tools, verdicts and rewards."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gem.text import TERMINAL_STATE
from gem_envs_swe import SweEnv
from gem_envs_swe.policies.reference import SweReferencePolicy
from gem_terminal.engines import Engine


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Return an assistant message with a native call."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}


@pytest.fixture
def env(tally: Path, engine: Engine) -> Iterator[SweEnv]:
    """An environment on the set."""
    with SweEnv(tally, engine=engine) as made:
        yield made


@pytest.mark.slow(reason="the first test builds the image of the set")
@pytest.mark.only_engine("namespace", "docker")
def test_an_episode(env: SweEnv) -> None:
    """The agent finds the bug with the tools and mends it; the hidden tests pass, and the diff is kept."""
    opening, info = env.reset(options={"task": "tally-chunks"})
    assert info["task"] == "tally-chunks"
    assert "chunks of tally.counting" in opening
    assert "<submit/>" in opening
    view = env.step(call("view", path="tally/counting.py", first=6, last=10))[0]
    assert "    10\t    return [items[at : at + size] for at in range(0, len(items) - 1, size)]" in view
    assert "tally/counting.py:10:" in env.step(call("search", pattern=r"len\(items\) - 1", path="."))[0]
    assert "3 passed" in env.step(call("run_tests", tests=["tests/test_counting.py"]))[0]
    edited = env.step(call("edit", path="tally/counting.py", old="len(items) - 1, size", new="len(items), size"))[0]
    assert "len(items), size" in edited
    assert "chunks" in env.step("<bash>git diff</bash>")[0]
    observation, reward, terminated, truncated, info = env.step("<submit/>")
    assert (observation, reward, terminated, truncated) == (TERMINAL_STATE, 1.0, True, False), info
    assert info["success"]
    assert (info["tests_mended"], info["tests_to_mend"], info["tests_kept"]) == (3, 3, 5)
    assert "-    return [items[at : at + size] for at in range(0, len(items) - 1, size)]" in info["diff"]


@pytest.mark.slow(reason="tests run in its container")
@pytest.mark.only_engine("namespace")
def test_wrong_edits_say_what_to_do(env: SweEnv) -> None:
    """A text that is missing, or there twice, or differs in blanks, changes nothing; the message has the lines."""
    env.reset(options={"task": "tally-chunks"})
    path = "tally/counting.py"

    def said(**arguments: str) -> str:
        return str(env.step(call("edit", **{"path": path, "new": "x", **arguments}))[0])

    assert (
        said(old="self.counts")
        == f"{path} has the text 6 times, at the lines 24, 28, 28, 29, 33, 33; add lines around it"
    )
    assert "does not have the text exactly; its first line, but for blanks, is at 8: view it" in said(
        old="if size < 1:\n  raise"
    )
    assert "view the file and copy it exactly" in said(old="nowhere")
    assert "there is no such file; with an empty old text, edit makes it" in said(path="new.py", old="a")
    assert "exists; an empty old text makes new files only" in said(old="")
    assert "not a regular file" in said(path="tally", old="a")
    assert "must be a string" in env.step(call("edit", path=path, old=3, new="x"))[0]
    assert "are the same text" in said(old="x")
    assert env.step(call("edit", path="tally/more.py", old="", new="A = 1\n"))[0] == "Written to tally/more.py."
    *_, info = env.step("<submit/>")
    assert info["diff"].startswith("diff --git a/tally/more.py b/tally/more.py\nnew file mode 100644\n")
    assert "counting.py" not in info["diff"]


@pytest.mark.slow(reason="tests run in its container")
@pytest.mark.only_engine("namespace")
def test_tools_take_hostile_words_as_words(env: SweEnv) -> None:
    """Paths and patterns are no scripts and no options, and bad ones get a sentence."""
    env.reset(options={"task": "tally-chunks"})
    env.step(call("edit", path="-n; touch /tmp/pwned #", old="", new="$(touch /tmp/pwned)\n"))
    assert "touch /tmp/pwned" in env.step(call("view", path="./-n; touch /tmp/pwned #"))[0]
    env.step(call("search", pattern="$(touch /tmp/pwned)", path="."))
    env.step(call("search", pattern="-r", path="--help"))
    env.step(call("run_tests", tests=["; touch /tmp/pwned", "$(touch /tmp/pwned)"]))
    assert "there is no such file" in env.step(call("view", path="no\0where"))[0]
    for path in ("\ud800", "a" * 5000, ""):
        *_, info = env.step(call("view", path=path))
        assert not info["tool_results"][0]["ok"]
    assert "No such file" in env.step("<bash>ls /tmp/pwned</bash>")[0]
    assert "no tool called 'send_keys'. The tools are: bash, view, edit, search, run_tests, submit." in env.step(
        call("send_keys", keys=["a"])
    )[0]  # fmt: skip
    assert env.step(call("view", path="tally"))[0].splitlines() == ["__init__.py", "counting.py"]
    assert env.step(call("view", path="setup.py", first=9))[0] == "the file has 2 lines"


@pytest.mark.only_engine("namespace")
def test_the_solution_is_nowhere_in_the_container(env: SweEnv) -> None:
    """Neither the tree, nor its history, nor byte code holds the line that was broken, or the hidden tests."""
    env.reset(options={"task": "tally-chunks"})
    for line in ("range(0, len(items), size)", "test_chunk_sizes"):
        search = f"grep -rlsF '{line}' /code /home /tmp /opt /root /var/tmp | wc -l"
        assert env.step(f"<bash>{search}</bash>")[0] == "0\n[exit code 0]"
        history = "git log --all -p | cat; git cat-file --batch-all-objects --batch"
        assert env.step(f"<bash>{{ {history}; }} | grep -cF '{line}'</bash>")[0] == "0\n[exit code 1]"
    assert env.step("<bash>git log --all --format=%s | cat</bash>")[0] == "The package\n[exit code 0]"


@pytest.mark.nightly
@pytest.mark.usefixtures("engine_variables")
def test_an_episode_goes_on_elsewhere(tally: Path) -> None:
    """A pickled copy repeats the tools in a container of its own, and the state survives JSON."""
    with SweEnv(tally) as env:
        env.reset(options={"task": "tally-most"})
        env.step(call("edit", path="note.txt", old="", new="a\n"))
        env.step(call("edit", path="note.txt", old="a", new="b"))
        copied = pickle.loads(pickle.dumps(env))
        state = json.loads(json.dumps(env.get_state()))
        assert [action["action"] for action in state["actions"]] == ["edit", "edit"]
        assert "b" in env.step(call("view", path="note.txt"))[0]
    with copied:
        copied.set_state({**state, "snapshot": None})
        assert copied.step(call("search", pattern="^b$", path="note.txt"))[0] == "note.txt:1:b"


@pytest.mark.nightly
@pytest.mark.only_engine("namespace", "docker")
def test_episodes_at_once_know_nothing_of_each_other(tally: Path, engine: Engine) -> None:
    """Of 32, each has its own file alone in its diff, and the half that mends the code earns 1.0."""
    envs = [SweEnv(tally, tasks=["tally-most"], engine=engine, warm=0) for _ in range(32)]

    def play(number: int) -> tuple[float, str]:
        env = envs[number]
        with env:
            env.reset()
            env.step(call("edit", path=f"n{number}.txt", old="", new="x\n"))
            if number % 2:
                env.step(SweReferencePolicy(env).act("", {}))
            _, reward, *_, info = env.step("<submit/>")
            return float(reward), str(info["diff"])

    with ThreadPoolExecutor(32) as pool:
        ended = list(pool.map(play, range(32)))
    assert [reward for reward, _ in ended] == [0.0, 1.0] * 16
    for number, (_, diff) in enumerate(ended):
        assert re.findall(r"^\+\+\+ b/(n\d+\.txt)$", diff, re.MULTILINE) == [f"n{number}.txt"]
