"""``kill -9`` of the gateway, the evaluation and the model's server: what has left is recorded, nothing comes twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gem_eval.clients import open_client
from gem_eval.fake_model import FakeModel, FakeModelProcess, FakeModelThread
from gem_eval.runs import RunFolder
from gem_gateway.harnesses import harness_policy
from gem_gateway.lineages.journal import read_journal
from gem_rollout import RolloutEngine, plan_episodes
from gem_rollout.lineages.certificate import certify
from gem_rollout.lineages.tree import lineages_of
from gem_rollout.trajectory import Trajectory

GAME = "game:GuessTheNumber-v0-easy"
PROGRAM = Path(__file__).with_name("tiny_agent.py")
MODEL = '''
def answer(asked):
    """Guess 1, 2, 3 … by a call of the tool, one for each answer so far."""
    import json
    messages = getattr(asked, "messages", asked)
    number = sum(message["role"] == "assistant" for message in messages) + 1
    function = {"name": "act", "arguments": json.dumps({"action": "\\\\boxed{%d}" % number})}
    call = {"id": "c%d" % number, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
'''

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to the supervisor")


def until(is_so: Callable[[], bool]) -> None:
    """Wait for an event, at most a minute."""
    deadline = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow(reason="a gateway in a process of its own, which is killed")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 4))])
def test_every_answer_that_left_a_killed_gateway_is_in_its_journal(tmp_path: Path, seed: int) -> None:
    """Killed at any moment, beside four programs that call as fast as they can; the journals read and certify."""
    got: dict[int, list[str]] = {number: [] for number in range(4)}

    def program(number: int, url: str, key: str) -> None:
        messages: list[dict[str, Any]] = []
        while True:
            messages.append({"role": "user", "content": f"{number} {len(messages)}"})
            body = json.dumps({"model": "m", "messages": messages}).encode()
            headers = {"Authorization": f"Bearer {key}.p{number}", "Content-Type": "application/json"}
            try:
                with urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", body, headers)) as answer:
                    said = json.load(answer)["choices"][0]["message"]
            except (OSError, ValueError, urllib.error.URLError):
                return
            messages.append(said)
            got[number].append(said["content"])

    with FakeModelThread(FakeModel("echo")) as model:
        command = [sys.executable, "-m", "gem", "gateway", "--base-url", model.url, "--port", "0", "--json"]
        gateway = subprocess.Popen([*command, "--journal", str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert gateway.stdout is not None
        started = json.loads(gateway.stdout.readline())
        address = started["openai_base_url"], started["api_key"]
        threads = [threading.Thread(target=program, args=(number, *address)) for number in got]
        for thread in threads:
            thread.start()
        most = random.Random(seed).randrange(1, 60)
        until(lambda: sum(map(len, got.values())) >= most)
        gateway.kill()
        gateway.communicate()
        for thread in threads:
            thread.join(60)
    assert sum(map(len, got.values())) >= most
    for number, answers in got.items():
        file = tmp_path / f"p{number}.jsonl"
        if not file.exists():
            assert answers == []
            continue
        tree = read_journal(file)
        recorded = [call.answer["content"] for call in tree.calls if call.answer is not None]
        assert recorded[: len(answers)] == answers
        assert len(recorded) <= len(answers) + 1  # one may have been on its way
        episode = Trajectory(None, 0, [])
        episode.metadata["lineages"] = tree.to_dict()
        assert certify(episode).faults == []


COUNTING = ("-u", "scripted:counting_model:answer")


def evaluation(folder: Path, *arguments: str) -> list[str]:
    program = f"command:'{sys.executable}' -I -S '{PROGRAM}' plays -"
    options = ["--harness", program, "-n", "12", "-c", "3", "--out", "run"]
    return [sys.executable, "-m", "gem", "eval", GAME, *options, *arguments]


def actions(run: RunFolder) -> dict[Any, tuple[str, list[Any]]]:
    """Return outcome and actions of each episode, by its key."""
    found = {}
    for row in run.rows():
        episode = run.episode(row)
        found[row.key] = row.outcome, [turn.action for turn in episode.transitions]
    return found


def finished(folder: Path) -> int:
    index = folder / "run" / "index.jsonl"
    return len(index.read_text().splitlines()) if index.exists() else 0


def undisturbed(tmp_path: Path) -> tuple[Path, dict[str, str], dict[Any, tuple[str, list[Any]]]]:
    """Play an evaluation; return a folder and variables for the same one again, and what it must come to."""
    calm, again = tmp_path / "calm", tmp_path / "killed"
    for folder in (calm, again):
        folder.mkdir()
        (folder / "counting_model.py").write_text(MODEL)
    variables = {**os.environ, "COLUMNS": "200"}
    subprocess.run(evaluation(calm, *COUNTING), cwd=calm, env=variables, check=True, capture_output=True)
    return again, variables, actions(RunFolder(calm / "run"))


def programs() -> set[int]:
    """Return the processes of the agent program that run now."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, IndexError):
                continue
            if str(PROGRAM).encode() in words and state not in "ZX":
                found.add(int(entry.name))
    return found


@pytest.mark.nightly
@pytest.mark.xdist_group("all agent programs of this machine")
def test_a_killed_evaluation_is_resumed_to_what_it_would_have_been(tmp_path: Path) -> None:
    """Killed twice on its way, it leaves no program, plays each episode once, and ends as an undisturbed one does."""
    killed, variables, expected = undisturbed(tmp_path)
    before = programs()
    for enough, command in ((2, evaluation(killed, *COUNTING)), (6, [*evaluation(killed)[:4], "--resume", "run"])):
        process = subprocess.Popen(command, cwd=killed, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        until(lambda: finished(killed) >= enough or process.poll() is not None)  # noqa: B023  # called here alone
        process.send_signal(signal.SIGKILL)
        process.communicate()
        until(lambda: programs() <= before)
    last = [sys.executable, "-m", "gem", "eval", "--resume", "run"]
    subprocess.run(last, cwd=killed, env=variables, check=True, capture_output=True)
    found = actions(RunFolder(killed / "run"))
    assert found == expected
    assert len(found) == 12
    assert programs() <= before


@pytest.mark.nightly
@pytest.mark.xdist_group("all agent programs of this machine")
def test_episodes_of_killed_agents_are_played_again(tmp_path: Path) -> None:
    """Killed from outside at any moment, which is no verdict on them; the run ends as one in which none was killed."""
    killed, variables, expected = undisturbed(tmp_path)
    command = evaluation(killed, *COUNTING)
    before, hit = programs(), set[int]()
    process = subprocess.Popen(command, cwd=killed, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for enough in (0, 1, 3, 5):
        until(lambda: finished(killed) >= enough and programs() - before - hit)  # noqa: B023  # called here alone
        for program in programs() - before - hit:
            hit.add(program)
            try:
                os.kill(program, signal.SIGKILL)
            except ProcessLookupError:
                hit.remove(program)
    process.communicate()
    assert len(hit) >= 4
    found = actions(RunFolder(killed / "run"))
    assert {key: ends for key, ends in found.items() if ends[0] != "unknown"}.items() <= expected.items()
    last = [sys.executable, "-m", "gem", "eval", "--resume", "run"]
    subprocess.run(last, cwd=killed, env=variables, check=True, capture_output=True)
    assert actions(RunFolder(killed / "run")) == expected
    assert programs() <= before


DYING = """
import itertools, json, os, signal
calls = itertools.count(1)
def answer(asked):
    number = next(calls)
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    function = {"name": "act", "arguments": json.dumps({"action": "\\\\boxed{10}"})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
"""


@pytest.mark.slow(reason="a model's server in a process of its own, which is killed")
def test_an_episode_whose_model_server_is_killed_is_recorded_as_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the turns before the kill and the calls of the model, the last of which has an error; it is no verdict."""
    (tmp_path / "dying_model.py").write_text(DYING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    async def play(url: str) -> Trajectory:
        client = open_client(url, "m", retries=0)
        make_policy = harness_policy(f"command:'{sys.executable}' -I -S '{PROGRAM}' plays -", client, box="never")
        try:
            async with RolloutEngine(plan_episodes(GAME, 1, seed=3), make_policy, concurrency=1) as engine:
                return await anext(aiter(engine))
        finally:
            await client.close()

    with FakeModelProcess(["--policy", "dying_model:answer"]) as model:
        record = asyncio.run(play(model.url))
    assert record.outcome == "unknown"
    assert record.failure is not None
    assert (record.failure.source, record.failure.kind) == ("endpoint", "unreachable")
    assert [turn.action for turn in record.transitions] == ["\\boxed{10}"] * 2
    tree = lineages_of(record)
    assert tree is not None
    assert [call.error is None for call in tree.calls] == [True, True, False]
    assert certify(record).faults == []


@pytest.mark.nightly
def test_episodes_of_a_killed_model_server_are_unknown_and_played_when_it_is_back(tmp_path: Path) -> None:
    """What its death ended is classified as the endpoint's fault, and ``--resume`` plays exactly these anew."""
    (tmp_path / "counting_model.py").write_text(MODEL)
    serve = [sys.executable, "-m", "gem", "fake-model", "--policy", "counting_model:answer", "--port"]
    port = "0"
    for attempt in range(2):
        server = subprocess.Popen([*serve, port], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        line = server.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http"))
        port = url.rstrip("/").rpartition(":")[2].partition("/")[0]
        if attempt == 0:
            client = ["--max-calls", "50", "--retries", "0", "--model", "m", "-u", url]
            process = subprocess.Popen(evaluation(tmp_path, *client), cwd=tmp_path, stdout=subprocess.PIPE)
            until(lambda: finished(tmp_path) >= 2)
            server.kill()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        else:
            command = [sys.executable, "-m", "gem", "eval", "--resume", "run"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            server.kill()
        server.communicate()
        outcomes = Counter(row.outcome for row in RunFolder(tmp_path / "run").rows())
        assert set(outcomes) <= {"succeeded", "unsuccessful", "unknown"}
    assert sum(outcomes.values()) == 12
    assert outcomes["unknown"] == 0


TALKS = """
import json, os, sys, urllib.request
url, key = os.environ["OPENAI_BASE_URL"] + "/chat/completions", os.environ["OPENAI_API_KEY"]
talk = [{"role": "user", "content": "Begin."}]
while True:
    body = json.dumps({"model": "m", "messages": talk}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, {"Authorization": f"Bearer {key}"})) as answer:
        said = json.loads(answer.read())["choices"][0]["message"]
    with open(sys.argv[1], "a") as note:
        note.write(said["content"] + "\\n")
    talk += [said, {"role": "user", "content": "Go on."}]
"""
TRAINER = """
import asyncio, sys
from gem_eval.clients import ScriptedClient
from gem_gateway.harnesses import harness_policy
from gem_rollout import RolloutEngine, plan_episodes

async def run():
    client = ScriptedClient(lambda messages: f"answer {len(messages)}")
    make = harness_policy(sys.argv[1], client, box="never", journals=sys.argv[2])
    async with RolloutEngine(plan_episodes("game:GuessTheNumber-v0-easy", 1), make, concurrency=1) as engine:
        async for _ in engine:
            pass

asyncio.run(run())
"""


@pytest.mark.nightly
def test_every_answer_that_a_killed_trainer_gave_is_in_its_journal(tmp_path: Path) -> None:
    """The journal of an episode that was never recorded has each answer that its program has read, in one lineage."""
    note = tmp_path / "note"
    note.touch()
    command = f"command:{shlex.join([sys.executable, '-I', '-S', '-c', TALKS, str(note)])}"
    with subprocess.Popen([sys.executable, "-c", TRAINER, command, str(tmp_path / "journals")]) as trainer:
        until(lambda: note.read_text().count("\n") >= 20 or trainer.poll() is not None)
        trainer.kill()
    (file,) = (tmp_path / "journals").iterdir()
    assert file.name.startswith("game_GuessTheNumber-v0-easy-0-0-")
    calls = read_journal(file).calls
    read = note.read_text().splitlines()
    assert len(read) >= 20
    assert [str((call.answer or {})["content"]) for call in calls[: len(read)]] == read
    assert [call.parent for call in calls] == [None, *range(len(calls) - 1)]
