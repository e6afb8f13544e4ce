"""Evaluations that something breaks in the middle, round after round: each episode once, as without.

By night 200 rounds. A round begins an evaluation, breaks what its kind says once a drawn number of episodes has ended,
and resumes what did not end well. Beside it stands the same evaluation, undisturbed. The parts have tests of their own
in the main tier (`test_eval_resume.py`, `test_eval_workers.py`, `test_server_kills.py`).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gem_eval.runs import RunFolder, canonical_lines

sys.path += [str(Path(__file__).parents[1] / "packages" / name / "tests") for name in ("gem-eval", "gem-ray")]

from local_node import LocalNode, descendants, settings
from steady_figures import figures

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]

ROUNDS, PARTS = 200, 10
GUESS = "game:GuessTheNumber-v0"
EPISODES = 40
CLOCK = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
MARK = "GEM_CHAOS_ROUND"


def until(condition: Callable[[], Any]) -> Any:
    """Return what a condition returns once it is true, within fifteen minutes: other work may fill the machine."""
    last = time.monotonic() + 900
    while not (found := condition()):
        assert time.monotonic() < last, "nothing has come of it in fifteen minutes"
        time.sleep(0.02)
    return found


def marked(text: str) -> list[int]:
    """Return the processes that a round has started, directly or not, and that still run."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{MARK}={text}".encode() in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found


class Service:
    """A server with a port of its own, which can be killed and started again at the same address."""

    def __init__(self, command: list[str], ready: str) -> None:
        self._command = command
        self._ready = ready
        self.start()

    def start(self) -> None:
        """Start it, and wait until it says that it serves."""
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        said = ""
        while self._ready not in said:
            line = self.process.stdout.readline()
            assert line, said
            said += line

    def kill(self) -> None:
        """Kill it and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


class Cluster:
    """A Ray cluster of a head and a node, each with a processor for environments."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start both nodes."""
        self.folder = Path(tempfile.mkdtemp(prefix="gem-chaos-", dir="/tmp"))  # the paths of its sockets must be short
        self.nodes = [LocalNode(None, 1, self.folder / "head")]
        self.nodes.append(LocalNode(self.nodes[0].address, 1, self.folder / "node"))

    def kill_actor(self, run: Round) -> None:
        """Kill a worker process of either node."""
        for node in self.nodes:
            run.kill_below(node.process.pid, "ray::EnvironmentActor")

    def end(self) -> None:
        """Kill what is left of it."""
        for node in reversed(self.nodes):
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Round:
    """An evaluation that is running, and what it needs."""

    process: subprocess.Popen[bytes]
    folder: Path
    endpoint: Service
    environments: Service
    clock: Path
    cluster: Cluster | None
    chance: random.Random

    def live(self) -> dict[str, Any]:
        """Return what the run says of itself."""
        return (RunFolder(self.folder).live or {}) if (self.folder / "run.json").exists() else {}

    def kill_worker(self) -> None:
        """Kill a process that plays for the evaluation."""
        workers = self.live().get("workers")
        if workers:
            kill(self.chance.choice(workers))

    def kill_below(self, pid: int, words: str = "") -> None:
        """Kill one of the processes below one, of those with these words in their command line."""
        found = [child for child in descendants(pid) if words in _command(child)]
        if found:
            kill(self.chance.choice(found))


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError):  # it ended first
        os.kill(pid, number)


def fill_disk(run: Round) -> None:
    """Let the evaluation write hardly more: no file of it may grow by another kilobyte."""
    import resource

    size = max(path.stat().st_size for path in run.folder.iterdir())
    with suppress(ProcessLookupError):
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (size + run.chance.randrange(1000), size + 1000))


def set_clock(run: Round) -> None:
    """Set the clock of the wall, as the evaluation sees it, by up to a day."""
    run.clock.write_text(f"{run.chance.choice([-1, 1]) * run.chance.randrange(60, 86_400)}s")


def restart(service: Service) -> None:
    service.kill()
    service.start()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:  # it has ended
        return ""


@dataclass(frozen=True)
class Fault:
    """What is broken in a round."""

    options: tuple[str, ...]
    """Of the evaluation."""
    breaks: Callable[[Round], Any]
    served: bool = False
    """Whether a server has the environments."""
    available: bool = True


RAY = find_spec("ray") is not None
ON_RAY = ("--mode", "ray")
FAULTS = {
    "the evaluation": Fault((), lambda run: kill(run.process.pid)),
    "the evaluation with workers": Fault(("--workers", "2"), lambda run: kill(run.process.pid)),
    "a preempted evaluation": Fault((), lambda run: kill(run.process.pid, signal.SIGTERM)),
    "a worker": Fault(("--workers", "2"), Round.kill_worker),
    "a process of environments": Fault(("--mode", "process"), lambda run: run.kill_below(run.process.pid)),
    "the endpoint": Fault((), lambda run: restart(run.endpoint)),
    "the server of environments": Fault((), lambda run: restart(run.environments), served=True),
    "a worker of the server of environments": Fault(
        (), lambda run: run.kill_below(run.environments.process.pid), served=True
    ),
    "the disk": Fault((), fill_disk),
    "the clock": Fault((), set_clock, available=CLOCK is not None),
    "a Ray actor": Fault(ON_RAY, lambda run: run.cluster and run.cluster.kill_actor(run), available=RAY),
    "a Ray node": Fault(ON_RAY, lambda run: run.cluster and run.cluster.nodes[1].kill(), available=RAY),
    "the head of Ray": Fault(ON_RAY, lambda run: run.cluster and run.cluster.nodes[0].kill(), available=RAY),
}
WEIGHTS = [1 if "Ray" in kind else 3 for kind in FAULTS]


class Rounds:
    """Plays rounds beside an endpoint and a server of environments that keep their addresses."""

    def __init__(self, folder: Path, ports: tuple[int, int]) -> None:
        model, serve = (str(port) for port in ports)
        gem = [sys.executable, "-u", "-m", "gem"]
        self.folder = folder
        self.endpoint = Service(
            [*gem, "fake-model", "--policy", GUESS, "--latency", "0.05", "--port", model], "listens on"
        )
        self.environments = Service([*gem, "serve", GUESS, "--workers", "2", "--port", serve], "http://")
        self.urls = (f"http://127.0.0.1:{model}/v1", f"http://127.0.0.1:{serve}")
        self._whole: dict[tuple[tuple[str, ...], bool], RunFolder] = {}

    def close(self) -> None:
        """End both servers."""
        self.endpoint.kill()
        self.environments.kill()

    def evaluation(self, arguments: list[str], mark: str, **variables: str) -> subprocess.Popen[bytes]:
        """Begin an evaluation or its resumption."""
        return subprocess.Popen(
            [sys.executable, "-m", "gem", "eval", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, MARK: mark, **variables},
        )

    def arguments(self, fault: Fault, folder: Path) -> list[str]:
        """Return the arguments of the evaluation of a round."""
        env_id = f"{self.urls[1]}/{GUESS}" if fault.served else GUESS
        options = ("-n", str(EPISODES), "-g", "2", "-u", self.urls[0], "-c", "8", "--retries", "3")
        return [env_id, *options, *fault.options, "--out", str(folder)]

    def whole(self, fault: Fault, variables: dict[str, str]) -> RunFolder:
        """Return the undisturbed run."""
        settings = (fault.options, fault.served)
        if settings not in self._whole:
            folder = self.folder / f"whole {len(self._whole)}"
            with self.evaluation(self.arguments(fault, folder), "whole", **variables) as process:
                _, said = process.communicate(timeout=600)
                assert process.returncode == 0, said.decode()
            self._whole[settings] = RunFolder(folder)
        return self._whole[settings]

    def play(self, number: int) -> tuple[str, bool]:
        """Play a round; return its kind, and whether the evaluation was still running when it was broken."""
        chance = random.Random(f"round {number}")
        kind = chance.choices(list(FAULTS), WEIGHTS)[0]
        fault = FAULTS[kind]
        if not fault.available:
            return f"{kind}, not available", False
        cluster = Cluster() if fault.options == ON_RAY else None
        try:
            return kind, self._play(number, fault, cluster, chance)
        finally:
            if cluster is not None:
                cluster.end()

    def _play(self, number: int, fault: Fault, cluster: Cluster | None, chance: random.Random) -> bool:
        at = {"RAY_ADDRESS": cluster.nodes[0].address} if cluster else {}
        whole, folder = self.whole(fault, at), self.folder / str(number)
        clock = self.folder / f"clock {number}"
        clock.write_text("+0s")
        variables = dict(at)
        if fault.breaks is set_clock:
            real = {"FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1"}
            variables = {"LD_PRELOAD": str(CLOCK), "FAKETIME_DONT_FAKE_MONOTONIC": "1", **real}
        mark, broken = str(number), False
        with self.evaluation(self.arguments(fault, folder), mark, **variables) as process:
            run = Round(process, folder, self.endpoint, self.environments, clock, cluster, chance)
            wanted = chance.randrange(1, EPISODES // 2)
            until(lambda: process.poll() is not None or len(_rows(folder)) >= wanted)
            if process.poll() is None:
                fault.breaks(run)
                broken = True
            _, said = process.communicate(timeout=600)
            ended = process.returncode
        for _ in range(4):
            if ended == 0 and not any(row.failed for row in _rows(folder)):
                break
            resuming = ["--resume", str(folder)] if (folder / "run.json").exists() else self.arguments(fault, folder)
            if cluster is not None and any(node.process.poll() is not None for node in cluster.nodes):
                cluster.end()
                cluster.start()
                at = {"RAY_ADDRESS": cluster.nodes[0].address}
            with self.evaluation(resuming, mark, **at) as process:
                _, said = process.communicate(timeout=600)
                ended = process.returncode
        story = f"round {number}: exit {ended}\n{said.decode()[-3000:]}"
        assert ended == 0, story
        played = RunFolder(folder)
        assert list(canonical_lines(played)) == list(canonical_lines(whole)), story
        attempts = played.rows(attempts=True)
        assert len(attempts) == EPISODES + sum(row.failed for row in attempts), story
        assert figures(played) == figures(whole), story
        assert not list(folder.glob("unfinished*")), story
        until(lambda: not marked(mark))
        return broken


def _rows(folder: Path) -> list[Any]:
    return RunFolder(folder).rows() if (folder / "run.json").exists() else []


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory, reserve_port: Callable[[], int]) -> Iterator[Rounds]:
    """What all rounds share."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings().items():
            patch.setenv(name, value)
        playing = Rounds(tmp_path_factory.mktemp("chaos"), (reserve_port(), reserve_port()))
        yield playing
        playing.close()


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_breaks_each_episode_is_there_once(rounds: Rounds, part: int, record_property: Any) -> None:
    """Records without times and statistics equal those of the undisturbed run; no process and no journal is left."""
    told: dict[str, list[int]] = {}
    for number in range(part, ROUNDS, PARTS):
        kind, broken = rounds.play(number)
        counts = told.setdefault(kind, [0, 0])
        counts[0] += 1
        counts[1] += broken
    record_property("rounds", json.dumps(told))
    print(json.dumps(told))
    possible = sum(count for kind, (count, _) in told.items() if "not available" not in kind)
    assert sum(broken for _, broken in told.values()) >= 0.8 * possible, "most rounds must be broken in the middle"
