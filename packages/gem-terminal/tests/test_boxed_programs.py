"""An agent program in its box works there, and reaches its gateway and its episode, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gem.env_spec import EnvSpec
from gem.registry import spec as find_spec
from gem_rollout import EpisodeRequest, RolloutEngine
from gem_rollout.trajectory import EpisodeKey, Trajectory
from gem_terminal.engines import Engine

harnesses = pytest.importorskip("gem_gateway.harnesses")
pytest.importorskip("mcp")
layer = pytest.importorskip("gem_gateway.harnesses.box_layer")
ScriptedClient = pytest.importorskip("gem_eval.clients.scripted").ScriptedClient

pytestmark = pytest.mark.only_engine("namespace", "docker")

TRIES = Path(__file__).with_name("escape_tries.py")
SAID = "this is the machine"
EXPECTED = "the-expected-answer"
TASK = {
    "task.toml": "[agent]\ntimeout_sec = {seconds}\n[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 512\n",
    "instruction.md": "Write hello into /desk/hello.txt.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir /desk\nWORKDIR /desk\n",
    "tests/test.sh": (
        f"#!/bin/bash\n# {EXPECTED}\n"
        '[ "$(cat /desk/hello.txt)" = hello ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n'
    ),
}

Play = Callable[..., list[Trajectory]]


@pytest.fixture
def play(engine: Engine, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return a function that has programs of a few lines play the task: text, model, episodes, box → records."""
    monkeypatch.setenv("GEM_TERMINAL_IMAGES", str(cache))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "programs"))

    def played(
        program: str,
        model: Any = None,
        episodes: int = 1,
        box: str = "always",
        seconds: float = 600.0,
        limit: float = 600.0,
        argument: Any = None,
        env_id: str | None = None,
    ) -> list[Trajectory]:
        folder = tmp_path / "task"
        for name, content in TASK.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content.replace("{seconds}", str(seconds)))
        kwargs = {"path": str(folder), "engine": engine.name, "strict": True}
        spec = (
            EnvSpec("local:hello", "gem_terminal:TerminalEnv", kwargs=kwargs) if env_id is None else find_spec(env_id)
        )
        python = layer.BOX_PYTHON if box == "always" else sys.executable
        command = f"command:{python} -I -S -c {shlex.quote(program)} {shlex.quote(json.dumps(argument))}"
        client = ScriptedClient(model or (lambda _: "Hm."))
        make_policy = harnesses.harness_policy(command, client, box=box, seconds=limit)

        async def run() -> list[Trajectory]:
            plan = [EpisodeRequest(spec, EpisodeKey(spec.id, 0, number)) for number in range(episodes)]
            async with RolloutEngine(plan, make_policy, concurrency=episodes) as running:
                records = [record async for record in running]
            assert lost_descriptors() == set()
            return records

        return asyncio.run(run())

    return played


def lost_descriptors() -> set[int]:
    """Return the descriptors that the event loop takes for watched, and the kernel watches no longer.

    A socket that is closed before its server leaves one. The next socket with its number is never watched, so that no
    program reaches what listens there.
    """
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    watched = Path(f"/proc/self/fdinfo/{selector.fileno()}").read_text()
    return set(selector.get_map()) - {int(number) for number in re.findall(r"^tfd: *(\d+)", watched, re.MULTILINE)}


def test_what_a_program_does_in_its_box_is_verified(play: Play) -> None:
    """Its files are those of the task, its end has the task verified, and the record says where it ran."""
    (record,) = play("from pathlib import Path; Path('hello.txt').write_text('hello')")
    assert (record.outcome, [turn.action for turn in record.transitions]) == ("succeeded", ["<finish/>"])
    assert record.transitions[0].metadata["harness_box"] == "task"


class Meeting:
    """A model through which two programs exchange their addresses and keys, and tell what their tries led to."""

    def __init__(self, programs: int = 2) -> None:
        self._programs = programs
        self._said = asyncio.Condition()
        self._met: list[dict[str, str]] = []
        self.reports: list[dict[str, Any]] = []

    async def answer(self, messages: list[dict[str, Any]]) -> str:
        """Answer each program when both have said the same kind of thing."""
        text = messages[-1]["content"]
        if not text.startswith("{"):
            return "Somebody's."
        said = json.loads(text)
        kept = self._met if "meet" in said else self.reports
        kept.append(said.get("meet", said))
        async with self._said:
            self._said.notify_all()
            await self._said.wait_for(lambda: len(kept) == self._programs)
        return json.dumps(next(one for one in self._met if one != said.get("meet")))


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What a program could reach on this machine, were it not in a box."""
    monkeypatch.setenv("GEM_TEST_SECRET", SAID)
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)  # has the variable from its beginning, as a trainer has
    (tmp_path / "secret").write_text(SAID)
    (tmp_path / "program").write_text("")
    with child, ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("", 0)))
        named, abstract = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        name = f"gem-{os.getpid()}-{id(stack)}"
        named.bind(str(tmp_path / "socket"))
        abstract.bind(f"\0{name}")
        for listener in (tcp, named, abstract):
            listener.listen()
            stack.callback(listener.shutdown, socket.SHUT_RDWR)  # wakes the thread
            threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        yield {
            "port": tcp.getsockname()[1], "address": _own_address(), "abstract": name, "said": SAID,
            "socket": str(tmp_path / "socket"), "file": str(tmp_path / "secret"), "process": os.getpid(),
            "variable": "GEM_TEST_SECRET", "tests": str(tmp_path / "task" / "tests"), "expected": EXPECTED,
            "device": tmp_path.stat().st_dev, "program": str(tmp_path / "program"),
        }  # fmt: skip


def _serve(listener: socket.socket) -> None:
    while True:
        try:
            link, _ = listener.accept()
        except OSError:
            return
        with link:
            link.sendall(SAID.encode())


def _own_address() -> str:
    """Return an address of this machine that is not its loopback, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        try:
            link.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(link.getsockname()[0])


def test_nothing_leads_out_of_a_box(play: Play, given: dict[str, Any]) -> None:
    """Of all tries of two programs that know each other's keys, none reaches the machine or the other's episode."""
    meeting = Meeting()
    given["program"] = f"{layer.BOX}/drivers/in_box.py"
    records = play(TRIES.read_text(), meeting.answer, episodes=2, argument=given)
    assert [report["led"] for report in meeting.reports] == [{}, {}], [record.failure for record in records]
    assert all(report["tried"] >= 20 for report in meeting.reports)


@pytest.mark.only_engine("namespace")
def test_nothing_leads_out_of_a_box_of_its_own(play: Play, given: dict[str, Any]) -> None:
    """So it is for the programs of an environment without a container, whose box bubblewrap makes."""
    pytest.importorskip("gem_envs_games")
    meeting = Meeting()
    given["program"] = f"{layer.BOX}/drivers/in_box.py"
    records = play(TRIES.read_text(), meeting.answer, episodes=2, argument=given, env_id="game:GuessTheNumber-v0-easy")
    assert [report["led"] for report in meeting.reports] == [{}, {}], [record.failure for record in records]


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
def test_without_a_box_the_same_tries_lead_out(play: Play, given: dict[str, Any]) -> None:
    """The tries are real: a program outside reaches ports, sockets, files, processes, and the other's session."""
    meeting = Meeting()
    play(TRIES.read_text(), meeting.answer, episodes=2, box="never", argument=given)
    led = set.intersection(*(set(report["led"]) for report in meeting.reports))
    assert led >= {
        "machine_port", "machine_abstract_socket", "machine_unix_socket", "other_key_at_own_door",
        "other_key_without_a_session", "other_episode_at_own_door", "variables_of_processes", "file_of_the_trainer",
        "file_by_the_roots_of_processes", "file_by_a_working_folder", "signal_to_the_trainer", "tests_of_the_verifier",
        "change_of_the_program",
    }  # fmt: skip


@pytest.mark.nightly
def test_a_program_that_cannot_work_in_its_box_is_no_verdict(play: Play) -> None:
    """Its last words are in the record, and the outcome is unknown."""
    (record,) = play("raise SystemExit('no configuration found')")
    assert record.failure is not None
    assert (record.outcome, record.failure.kind) == ("unknown", "harness_not_started")
    assert "no configuration found" in record.failure.message


KILLS_ITS_SUPERVISOR = """
import json, os, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "What now?"}]}).encode()
url, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
request = urllib.request.Request(f"{url}/chat/completions", body, {"Authorization": f"Bearer {key}"})
urllib.request.urlopen(request).read()
os.kill(os.getppid(), 9)
"""


@pytest.mark.nightly
def test_no_program_evades_its_verdict_by_a_kill(play: Play) -> None:
    """A program that kills what reports on it has ended, and its work is verified."""
    (record,) = play(KILLS_ITS_SUPERVISOR)
    assert [turn.action for turn in record.transitions] == ["<finish/>"]
    assert record.failure is None
    assert record.outcome not in ("unknown", "succeeded")


@pytest.mark.nightly
def test_the_time_of_the_task_ends_a_program(play: Play) -> None:
    """A program that does not end is killed when the time of its task is over, and its work is verified."""
    waits = "from pathlib import Path; import time; Path('hello.txt').write_text('hello'); time.sleep(3600)"
    (record,) = play(waits, seconds=30.0)
    assert (record.outcome, [turn.action for turn in record.transitions]) == ("succeeded", ["<finish/>"])
    assert record.transitions[0].truncated


@pytest.mark.nightly
def test_a_limit_of_the_harness_ends_a_program(play: Play) -> None:
    """A program that does not end within the seconds of its harness has not succeeded, whatever it has done."""
    (record,) = play("import time; time.sleep(3600)", limit=3.0)
    assert (record.outcome, record.stop_reason) == ("incomplete", "seconds")


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
def test_a_command_of_this_machine_stays_outside(play: Play) -> None:
    """Unless a box is asked for, a command means a program of this machine, and the record says that it ran there."""
    (record,) = play("print('Done.')", box="auto")
    assert record.transitions[0].metadata["harness_box"] == "none"
