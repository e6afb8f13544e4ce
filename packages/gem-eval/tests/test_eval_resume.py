"""Runs that are killed at any moment and resumed hold the same episodes as an undisturbed one."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem_eval.cli.eval import eval_command
from gem_eval.clients import Completion, EndpointClient, ScriptedClient
from gem_eval.fake_model import FakeModel, FakeModelProcess, FakeModelThread
from gem_eval.runs import EvaluationConfig, EvaluationProgress, RunFolder, canonical_lines, evaluate

GUESS = "game:GuessTheNumber-v0-easy"
HANGMAN = "game:Hangman-v0-easy"
EPISODES = 30

MORTAL_AGENT = '''
import os, signal
from gem.policies import make_policy

left = int(os.environ.get("ACTIONS_TO_LIVE", "-1"))

class Agent:
    """Plays as the reference policy does, and kills its own process with its last action."""

    def __init__(self, env):
        self.policy = make_policy("reference", env)

    def reset(self, observation, info):
        self.policy.reset(observation, info)

    def act(self, observation, info):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.policy.act(observation, info)
'''

ARGUMENTS = (GUESS, HANGMAN, "-n", str(EPISODES), "--group", "3", "--concurrency", "7")


def gem(*arguments: str, folder: Path, actions: int = -1) -> int:
    """Run a command in a process of its own; return its exit code."""
    environment = {**os.environ, "ACTIONS_TO_LIVE": str(actions)}
    command = [sys.executable, "-m", "gem", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """A folder with the agent's module, and the episodes of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("resume")
    (folder / "mortal_agent.py").write_text(MORTAL_AGENT)
    assert gem("eval", *ARGUMENTS, "--agent", "mortal_agent:Agent", "--out", "whole", folder=folder) == 0
    lines = list(canonical_lines(RunFolder(folder / "whole")))
    assert len(lines) == 2 * EPISODES
    return folder, lines


def killed_and_resumed(folder: Path, name: str, moments: list[int]) -> RunFolder:
    """Kill a run after so many actions each time, and let it end the last time."""
    begin = ("eval", *ARGUMENTS, "--agent", "mortal_agent:Agent", "--out", name)
    for actions in moments:
        arguments = ("eval", "--resume", name) if (folder / name / "run.json").exists() else begin
        assert gem(*arguments, folder=folder, actions=actions) == -signal.SIGKILL
        run = RunFolder(folder / name)
        assert len({row.key for row in run.rows()}) == len(run.rows(attempts=True))
    assert gem("eval", "--resume", name, folder=folder) == 0
    return RunFolder(folder / name)


@pytest.mark.slow(reason="starts the command five times")
def test_a_run_that_is_killed_can_be_resumed(undisturbed: tuple[Path, list[bytes]]) -> None:
    """After three kills, the run has every episode once, byte-equal but for times to those of a run without any."""
    folder, lines = undisturbed
    run = killed_and_resumed(folder, "killed", [40, 25, 60])
    assert list(canonical_lines(run)) == lines
    assert len(run.rows(attempts=True)) == 2 * EPISODES
    assert len(run.config.resumed) == 3


@pytest.mark.nightly
@pytest.mark.parametrize("moment", range(20))
def test_a_run_killed_at_random_moments(undisturbed: tuple[Path, list[bytes]], moment: int) -> None:
    """The same at random numbers of actions, and with a last line that is cut off at a random byte."""
    folder, lines = undisturbed
    chance = random.Random(moment)
    name = f"random-{moment}"
    begin = ("eval", *ARGUMENTS, "--agent", "mortal_agent:Agent", "--out", name)
    assert gem(*begin, folder=folder, actions=chance.randint(1, 250)) == -signal.SIGKILL
    for file in ("episodes.jsonl", "index.jsonl"):
        path = folder / name / file
        size = path.stat().st_size
        os.truncate(path, max(0, size - chance.choice([0, 1, chance.randint(0, 5000)])))
    assert gem("eval", "--resume", name, folder=folder) == 0
    run = RunFolder(folder / name)
    assert list(canonical_lines(run)) == lines
    assert len(run.rows(attempts=True)) == 2 * EPISODES


@pytest.mark.nightly
def test_a_run_with_a_model_killed_at_random_times(tmp_path: Path) -> None:
    """With a model server, kills at random times lose and double nothing either."""
    chance = random.Random(1)
    with FakeModelProcess(["--policy", GUESS, "--latency", "0.01"]) as server:
        options = (GUESS, "-n", "200", "-u", server.url, "--concurrency", "4")
        assert gem("eval", *options, "--out", "whole", folder=tmp_path) == 0
        for kill in range(20):
            arguments = ("eval", "--resume", "killed") if (tmp_path / "killed" / "run.json").exists() else ()
            arguments = arguments or ("eval", *options, "--out", "killed")
            with subprocess.Popen(
                [sys.executable, "-m", "gem", *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                try:
                    process.communicate(timeout=chance.uniform(0.3, 3.0))
                except subprocess.TimeoutExpired:
                    process.kill()
            if process.returncode == 0 and kill:
                break
        assert gem("eval", "--resume", "killed", folder=tmp_path) == 0
    whole, killed = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "killed")
    assert list(canonical_lines(killed)) == list(canonical_lines(whole))
    assert len(killed.rows(attempts=True)) == 200


STUBBORN_AGENT = '''
import asyncio, sys, threading, time

class Agent:
    """Plays nine episodes and then waits for ever."""

    played = 0

    def reset(self, observation, info):
        type(self).played += 1

    async def act(self, observation, info):
        if self.played > 9:
            print("waiting", flush=True)
            {wait}
        return "no"
'''


@pytest.mark.parametrize("wait", ["await asyncio.Event().wait()", "time.sleep(1e6)"])
def test_an_interruption_keeps_everything(tmp_path: Path, wait: str) -> None:
    """Ctrl-C ends the command with the summary so far and the command to go on; a second one ends it at once."""
    (tmp_path / "stubborn_agent.py").write_text(STUBBORN_AGENT.replace("{wait}", wait))
    arguments = ["eval", GUESS, "-n", "20", "--concurrency", "1", "--agent", "stubborn_agent:Agent", "--out", "my run"]
    with subprocess.Popen(
        [sys.executable, "-m", "gem", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        if "sleep" in wait:  # the event loop itself is blocked
            assert process.stderr is not None
            assert "A second Ctrl-C" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == (-signal.SIGINT if "sleep" in wait else 130)
    assert len(RunFolder(tmp_path / "my run").rows()) == 9
    if "sleep" not in wait:
        assert "recorded in 'my run'" in out
        assert "gem eval --resume 'my run'" in err


NUMBER = "game:GuessTheNumber-v0"


class Answers(EndpointClient):
    """Counts the answers that reached the run, and stops it after so many."""

    def __init__(self, url: str, answers: int | None) -> None:
        super().__init__(url)
        self.left = answers
        self.got = 0

    async def _turn(self) -> None:
        if self.left == 0:
            self.stop.set()
            await asyncio.Event().wait()
        if self.left is not None:
            self.left -= 1

    async def chat(self, *arguments: Any, **options: Any) -> Completion:
        await self._turn()
        completion = await super().chat(*arguments, **options)
        self.got += 1
        return completion

    async def complete(self, *arguments: Any, **options: Any) -> Completion:
        await self._turn()
        completion = await super().complete(*arguments, **options)
        self.got += 1
        return completion

    async def run(self, config: EvaluationConfig, folder: Path) -> EvaluationProgress:
        """Play a run until its end, or until it is stopped; return the last progress."""
        seen: list[EvaluationProgress] = []
        self.stop = asyncio.Event()
        async with self:
            options: dict[str, Any] = {"out": folder, "resume": folder.exists(), "client": self}
            tasks = [
                asyncio.ensure_future(evaluate(config, observer=seen.append, **options)),
                asyncio.ensure_future(self.stop.wait()),
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return seen[-1]


@pytest.mark.parametrize("exact", [False, True], ids=["chat", "exact ids"])
def test_the_episodes_of_a_model_go_on_after_their_last_turn(tmp_path: Path, exact: bool) -> None:
    """A run that is stopped three times is an undisturbed one, and costs the answers that were in flight."""
    config = EvaluationConfig.from_dict(
        {"environment": [NUMBER], "base_url": "http://x/v1", "episodes": 6, "concurrency": 3, "exact_tokens": exact,
         "sampling": {"logprobs": True, "seed": 5}}
    )  # fmt: skip
    with FakeModelThread(FakeModel(NUMBER, dialect="vllm", recode=exact)) as server:
        whole, cut = Answers(server.url, None), tmp_path / "cut"
        asyncio.run(whole.run(config, tmp_path / "whole"))
        got, continued = 0, []
        for answers in (7, 5, 9, None):
            client = Answers(server.url, answers)
            continued.append(asyncio.run(client.run(config, cut)).continued)
            got += client.got
            assert (cut / "unfinished.jsonl").exists() == (answers is not None)
        broken = server.model.continuations.to_dict()["broken"]
    assert continued[0] == 0 < min(continued[1:])
    assert whole.got <= got <= whole.got + 3 * 3
    assert list(canonical_lines(RunFolder(cut))) == list(canonical_lines(RunFolder(tmp_path / "whole")))
    assert broken == 0
    records = [json.loads(line) for line in (cut / "episodes.jsonl").read_text().splitlines()]
    assert len(records) == 6
    assert any(record.get("metadata", {}).get("recalled_turns") for record in records)


def test_what_was_changed_is_not_continued(tmp_path: Path) -> None:
    """With another configuration the unfinished episodes begin anew."""
    config = EvaluationConfig.from_dict(
        {"environment": [NUMBER], "base_url": "http://x/v1", "episodes": 4, "concurrency": 2}
    )
    with FakeModelThread(FakeModel(NUMBER)) as server:
        asyncio.run(Answers(server.url, 5).run(config, tmp_path / "run"))
        assert (tmp_path / "run" / "unfinished.jsonl").read_bytes()

        async def go_on() -> EvaluationProgress:
            seen: list[EvaluationProgress] = []
            async with EndpointClient(server.url) as client:
                other = config.with_settings(sampling={"temperature": 0.5})
                await evaluate(
                    other, out=tmp_path / "run", resume=True, allow_changes=True, client=client, observer=seen.append
                )
            return seen[-1]

        assert asyncio.run(go_on()).continued == 0
    records = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert not any("recalled_turns" in record.get("metadata", {}) for record in records)


def test_the_command_says_what_a_run_of_a_client_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that Python began with a client of its own: the command has none, whatever server a variable names."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    client = ScriptedClient(lambda _: "x")
    asyncio.run(evaluate({"environment": [NUMBER], "episodes": 1}, client=client, out=tmp_path / "run"))
    done = CliRunner().invoke(eval_command, ["--resume", str(tmp_path / "run")])
    assert done.exit_code == 2
    assert "begun from Python with a client of its own" in done.output


def test_the_command_says_which_episodes_began_again(tmp_path: Path) -> None:
    """Where an environment answers otherwise than before."""
    config = EvaluationConfig.from_dict(
        {"environment": [NUMBER], "model": "fake-model", "base_url": "http://x/v1", "episodes": 4, "concurrency": 2}
    )
    folder = tmp_path / "run"
    with FakeModelThread(FakeModel(NUMBER)) as server:
        journal = folder / "unfinished.jsonl"

        async def begin() -> None:
            task = asyncio.ensure_future(evaluate(config.with_settings(base_url=server.url), out=folder))
            while not task.done() and not (journal.exists() and b'"index":1' in journal.read_bytes()):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        asyncio.run(begin())
        journal.write_bytes(journal.read_bytes().replace(b"higher", b"HIGHER"))
        done = CliRunner().invoke(eval_command, ["--resume", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "began again, since the environment answered otherwise than before; after reset: observation" in done.stderr
    assert len(RunFolder(folder).rows()) == 4
