"""An evaluation in several processes: the episodes of one process, whatever dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gem
from gem_eval.cli.run import run_command
from gem_eval.clients import ScriptedClient
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_eval.fake_model.latency import Latency
from gem_eval.runs import (
    EvaluationConfig,
    EvaluationConfigError,
    EvaluationProgress,
    RunFolder,
    canonical_lines,
    evaluate,
    evaluate_sync,
)
from gem_eval.runs.errors import WorkerError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers need a POSIX system")

GUESS = "game:GuessTheNumber-v0-easy"
HANGMAN = "game:Hangman-v0-easy"

AGENTS = '''
import asyncio, os, signal
from pathlib import Path
from gem.policies import make_policy

HERE = Path(__file__).parent
actions = 0


class Reference:
    def __init__(self, env):
        self.policy = make_policy("reference", env)

    def reset(self, observation, info):
        self.policy.reset(observation, info)

    def act(self, observation, info):
        return self.policy.act(observation, info)


class MortalOnce(Reference):
    """Kills its process with the 20th action of it, unless another process was killed before."""

    def act(self, observation, info):
        global actions
        actions += 1
        if actions == 20:
            try:
                (HERE / "killed").touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().act(observation, info)


class Gated(Reference):
    """Acts while the file "gate" is there."""

    async def act(self, observation, info):
        while not (HERE / "gate").exists():
            await asyncio.sleep(0.02)
        return super().act(observation, info)


class BrokenOrGated(Gated):
    """Fails in the episodes of the first four seeds while the file "broken" is there."""

    def seed_episode(self, seed, repetition):
        self.seed = seed

    async def act(self, observation, info):
        if self.seed >= 4:
            return await super().act(observation, info)
        if (HERE / "broken").exists():
            raise RuntimeError("broken")
        return Reference.act(self, observation, info)


class Deadly(Reference):
    """Kills its process in each episode of seed 5."""

    def seed_episode(self, seed, repetition):
        self.seed = seed

    def act(self, observation, info):
        if self.seed == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().act(observation, info)
'''


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a module of agents, ``worker_agents``, which is the current one."""
    (tmp_path / "worker_agents.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "worker_agents", raising=False)
    return tmp_path


def config(*ids: str, **settings: Any) -> EvaluationConfig:
    values = {"environment": list(ids), "episodes": 30, "concurrency": 8, "workers": 2, **settings}
    return EvaluationConfig.from_dict(values)


def whole(settings: EvaluationConfig, folder: Path) -> list[bytes]:
    """Return the episodes of a run in one process."""
    return list(canonical_lines(evaluate_sync(settings.with_settings(workers=1), out=folder)))


async def until(is_so: Callable[[], bool], task: asyncio.Future[Any] | None = None) -> None:
    """Wait for an event, at most a minute."""

    async def wait() -> None:
        while not is_so():
            assert task is None or not task.done(), task.result()
            await asyncio.sleep(0.02)

    await asyncio.wait_for(wait(), 60)


def live(folder: Path) -> dict[str, Any]:
    """Return what ``live.json`` says; nothing before the run begins."""
    return (RunFolder(folder).live or {}) if (folder / "run.json").exists() else {}


def is_alive(pid: int) -> bool:
    """Return whether a process runs, which need not be a child of this one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def played(
    settings: EvaluationConfig, folder: Path, steps: Callable[[asyncio.Future[Any]], Awaitable[None]], **options: Any
) -> tuple[RunFolder, EvaluationProgress]:
    """Play a run while something is done to it; return its folder and the last progress."""
    seen: list[EvaluationProgress] = []

    async def run() -> RunFolder:
        task = asyncio.ensure_future(evaluate(settings, out=folder, observer=seen.append, **options))
        await steps(task)
        return await asyncio.wait_for(task, 120)

    return asyncio.run(run()), seen[-1]


@pytest.mark.slow(reason="starts three worker processes")
def test_the_episodes_are_those_of_one_process_though_a_worker_is_killed(agents: Path) -> None:
    """Byte-equal but for times, each once; a further process takes the place of the killed one, and nothing is left."""
    settings = config(GUESS, HANGMAN, agent="worker_agents:MortalOnce", group=3)
    (agents / "killed").touch()
    expected = whole(settings, agents / "one")
    (agents / "killed").unlink()
    seen: list[EvaluationProgress] = []
    run = evaluate_sync(settings, out=agents / "two", observer=seen.append)
    assert (agents / "killed").exists()
    assert list(canonical_lines(run)) == expected
    assert len(run.rows(attempts=True)) == 60
    assert seen[-1].lost_workers == ["was killed by SIGKILL"]
    assert (seen[-1].finished, seen[-1].failed) == (60, 0)
    assert sorted(path.name for path in run.path.iterdir()) == ["episodes.jsonl", "index.jsonl", "run.json"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": "transformers:models/tiny"}, "is a model in this process"),
        ({"base_url": "http://x/v1", "players": {"user": {"base_url": "scripted:x"}}}, "scripted:x is a model in"),
        ({"agent": "__main__:Agent"}, "__main__:Agent is known in this process alone"),
    ],
)
def test_what_cannot_travel_is_refused_before_a_folder_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], said: str
) -> None:
    """With its name, and what to do."""
    monkeypatch.setattr(sys.modules["__main__"], "Agent", lambda env: gem.make_policy("random", env), raising=False)
    with pytest.raises(EvaluationConfigError, match=said):
        evaluate_sync(config(GUESS, **settings), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_belongs_to_the_caller_alone_is_refused(tmp_path: Path) -> None:
    """A client that is an object, and an environment that is registered from a function."""
    model = config(GUESS, base_url="http://x/v1")
    with pytest.raises(EvaluationConfigError, match="leave out client or workers"):
        evaluate_sync(model, out=tmp_path / "run", client=ScriptedClient(lambda messages: "5"))

    class Local(type(gem.make(GUESS).unwrapped)):  # type: ignore[misc]
        """A game that nobody can import."""

    gem.register("test:Local-v0", Local, replace=True)
    with pytest.raises(EvaluationConfigError, match=r"<locals>\.Local is known in this process alone"):
        evaluate_sync(config("test:Local-v0", agent="random"), out=tmp_path / "run")
    with pytest.raises(EvaluationConfigError, match="workers must be at least 1"):
        config(GUESS, agent="random", workers=0)
    assert not (tmp_path / "run").exists()


async def playing(folder: Path, pid: int) -> tuple[list[int], int]:
    """Wait until a process plays a run; return its workers, and how many episodes are written."""
    await until(lambda: live(folder).get("pid") == pid and bool(live(folder).get("running")))
    return live(folder).get("workers", []), len(RunFolder(folder).rows())


def has_more(folder: Path, rows: int) -> bool:
    """Return whether more episodes are written."""
    return len(RunFolder(folder).rows()) > rows


@pytest.mark.nightly
def test_a_killed_evaluation_leaves_no_worker_and_is_resumed_with_any_number(agents: Path) -> None:
    """After SIGKILL its workers end by themselves; with one, three and two workers the rest is played, each once."""
    settings = config(GUESS, HANGMAN, agent="worker_agents:Gated", group=3)
    (agents / "gate").touch()
    expected = whole(settings, agents / "one")
    (agents / "gate").unlink()
    arguments = [GUESS, HANGMAN, "-n", "30", "--group", "3", "-c", "8", "--agent", "worker_agents:Gated"]
    command = [*arguments, "--workers", "2", "--out", "killed"]
    for workers, then in ((2, 1), (1, 3), (3, 2)):
        with subprocess.Popen(
            [sys.executable, "-m", "gem", "eval", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            pids, before = asyncio.run(playing(agents / "killed", process.pid))
            (agents / "gate").touch()
            asyncio.run(until(partial(has_more, agents / "killed", before)))
            (agents / "gate").unlink()
            process.kill()
        assert len(pids) == (workers if workers > 1 else 0)
        asyncio.run(until(lambda pids=pids: not any(map(is_alive, pids))))  # type: ignore[misc]
        command = ["--resume", "killed", "--workers", str(then)]
    (agents / "gate").touch()
    subprocess.run([sys.executable, "-m", "gem", "eval", *command], check=True, capture_output=True)
    run = RunFolder(agents / "killed")
    assert list(canonical_lines(run)) == expected
    assert len(run.rows(attempts=True)) == 60
    assert run.config.workers == 2


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_evaluation_ends_its_workers(agents: Path, number: int) -> None:
    """In good order, with what is finished, and the line that goes on."""
    command = [sys.executable, "-m", "gem", "eval", GUESS, "-n", "20", "-w", "2", "--agent", "worker_agents:Gated"]
    with subprocess.Popen(
        [*command, "--out", "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        asyncio.run(until(lambda: len(live(agents / "run").get("running", ())) == 20))
        pids = live(agents / "run")["workers"]
        assert len(pids) == 2
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "gem eval --resume run" in err
    assert not any(map(is_alive, pids))
    assert "Traceback" not in err


@pytest.mark.nightly
def test_a_run_with_workers_is_paused_retuned_and_stopped(agents: Path) -> None:
    """What is asked of a run holds for all of its workers together; a stopped one is resumed to its end."""
    folder = agents / "run"
    settings = config(GUESS, agent="worker_agents:Gated", concurrency=5)

    def ask(*arguments: str) -> None:
        done = CliRunner().invoke(run_command, [*arguments, str(folder)], catch_exceptions=False)
        assert done.exit_code == 0, done.output

    async def steps(task: asyncio.Future[Any]) -> None:
        await until(lambda: len(live(folder).get("running", ())) == 5, task)
        ask("pause")
        await until(lambda: live(folder).get("paused") is True, task)
        (agents / "gate").touch()
        await until(lambda: live(folder).get("running") == [], task)
        assert len(RunFolder(folder).rows()) == 5
        (agents / "gate").unlink()
        ask("retune", "--concurrency", "1", "--retries", "3")
        ask("resume")
        await until(lambda: len(live(folder).get("running", ())) == 1, task)
        assert (live(folder)["concurrency"], live(folder)["retries"]) == (1, 3)
        ask("retune", "--concurrency", "4")
        await until(lambda: len(live(folder).get("running", ())) == 4, task)
        ask("stop")

    run, progress = played(settings, folder, steps)
    assert progress.stopped
    assert len(run.rows()) == 5
    (agents / "gate").touch()
    run = evaluate_sync(settings, out=folder, resume=True)
    assert list(canonical_lines(run)) == whole(settings, agents / "one")
    assert len(run.rows(attempts=True)) == 30


@pytest.mark.nightly
def test_failed_episodes_are_queued_again_in_workers(agents: Path) -> None:
    """Beside those that play; each is played once more, and its last attempt counts."""
    folder = agents / "run"
    (agents / "broken").touch()

    async def steps(task: asyncio.Future[Any]) -> None:
        await until(lambda: live(folder).get("failed") == 4 and len(live(folder).get("running", ())) > 2, task)
        (agents / "broken").unlink()
        done = CliRunner().invoke(run_command, ["requeue", str(folder)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        await until(lambda: live(folder).get("failed") == 0, task)
        (agents / "gate").touch()

    run, _ = played(
        config(GUESS, agent="worker_agents:BrokenOrGated", episodes=12, concurrency=6, retries=0), folder, steps
    )
    assert len(run.rows()) == 12
    assert not any(row.failed for row in run.rows())
    assert len(run.rows(attempts=True)) == 16


@pytest.mark.nightly
def test_an_episode_that_kills_every_worker_fails_alone(agents: Path) -> None:
    """After three processes it is recorded as failed, with the reason; all others are as if nothing had happened."""
    expected = whole(config(GUESS, agent="worker_agents:Reference"), agents / "one")
    run = evaluate_sync(config(GUESS, agent="worker_agents:Deadly"), out=agents / "run")
    (failed,) = (row for row in run.rows() if row.failed)
    assert (failed.seed, failed.failure) == (5, {"source": "environment", "kind": "crash"})
    message = json.loads(run.raw(failed))["failure"]["message"]
    assert "workers were lost while they played this episode, the last alone: it was killed by SIGKILL" in message
    lines = [line for line in canonical_lines(run) if b'"failure":{' not in line]
    assert len(lines) == 29
    agent = b'"agent":"worker_agents:Reference"', b'"agent":"worker_agents:Deadly"'
    assert set(lines) < {line.replace(*agent) for line in expected}


@pytest.mark.nightly
def test_rewards_and_trackers_have_the_episodes_of_workers(agents: Path) -> None:
    """They are asked in the process that writes, with records that are those of one process to the byte."""
    settings = config(GUESS, HANGMAN, agent="worker_agents:Reference", rewards=["exact"], track=["jsonl"])
    expected = whole(settings, agents / "one")
    run = evaluate_sync(settings, out=agents / "two")
    assert list(canonical_lines(run)) == expected
    assert all("exact" in row.scores for row in run.rows())
    names = {path.name for path in run.path.iterdir()}
    assert names == {path.name for path in (agents / "one").iterdir()}
    tracked = next(name for name in names if name not in ("episodes.jsonl", "index.jsonl", "run.json"))
    counts = [(agents / run_name / tracked).read_text().count("\n") for run_name in ("one", "two")]
    assert counts[0] == counts[1] >= 60


@pytest.mark.nightly
def test_a_frozen_worker_is_replaced(agents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that says nothing any more, though its process is there."""
    monkeypatch.setattr("gem_eval.runs.workers.pool._MOST_SILENT", 60)
    folder = agents / "run"

    async def steps(task: asyncio.Future[Any]) -> None:
        await until(lambda: len(live(folder).get("running", ())) == 8, task)
        frozen = live(folder)["workers"][0]
        os.kill(frozen, signal.SIGSTOP)
        await until(lambda: frozen not in live(folder).get("workers", [frozen]), task)
        assert not is_alive(frozen)
        (agents / "gate").touch()

    run, progress = played(config(GUESS, agent="worker_agents:Gated"), folder, steps)
    assert set(progress.lost_workers) == {"was killed by SIGKILL"}
    assert len(run.rows(attempts=True)) == len(run.rows()) == 30


NUMBER = "game:GuessTheNumber-v0"


@pytest.mark.nightly
def test_the_episodes_of_a_model_go_on_in_another_worker(tmp_path: Path) -> None:
    """Killed workers and a cancelled evaluation cost no answer that was there, and the episodes are those of one."""
    with FakeModelThread(FakeModel(NUMBER, latency=Latency(0.5))) as server:
        settings = config(
            NUMBER, base_url=server.url, episodes=48, concurrency=6, sampling={"logprobs": True, "seed": 5}
        )
        expected = whole(settings, tmp_path / "one")
        folder = tmp_path / "two"

        async def kills(task: asyncio.Future[Any]) -> None:
            for _ in range(2):
                await until(lambda: any(item["turns"] > 1 for item in live(folder).get("running", ())), task)
                killed = live(folder)["workers"][0]
                os.kill(killed, signal.SIGKILL)
                await until(lambda killed=killed: killed not in live(folder).get("workers", [killed]), task)  # type: ignore[misc]
            task.cancel()

        with pytest.raises(asyncio.CancelledError):
            played(settings, folder, kills)
        left = [path.name for path in folder.glob("unfinished*")]
        assert left == ["unfinished.jsonl"]
        run = evaluate_sync(settings, out=folder, resume=True)
    assert list(canonical_lines(run)) == expected
    assert len(run.rows(attempts=True)) == 48
    records = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    assert sum("recalled_turns" in record.get("metadata", {}) for record in records) > 1
    assert not list(folder.glob("unfinished*"))


@pytest.mark.nightly
def test_workers_that_cannot_start_end_the_run_with_their_reason(agents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a module that is there for the evaluation alone."""
    import importlib

    importlib.import_module("worker_agents")
    (agents / "worker_agents.py").unlink()
    with pytest.raises(WorkerError, match=r"no worker process could start: .*worker_agents"):
        evaluate_sync(config(GUESS, agent="worker_agents:Reference"), out=agents / "run")
