"""Servers and workers that end by kill -9 in mid-run: every step has one result, and nobody else notices."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gem
from gem.errors import VectorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import RunningServer

pytestmark = pytest.mark.xdist_group("environment server kills")

COUNTING = "faulty:Counting-v0"


def workers_of(server: RunningServer) -> list[int]:
    """Return the workers of a server."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    return [int(word) for path in tasks for word in path.read_text().split()]


def gone(pids: list[int]) -> bool:
    """Wait until none of the processes runs any more."""
    end = time.monotonic() + 60
    while any(_runs(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill(server: RunningServer) -> list[int]:
    """End a server with kill -9, and return the workers that it had."""
    workers = workers_of(server)
    server.process.kill()
    server.process.wait()
    return workers


def test_without_another_server_the_error_is_clear_and_comes_in_time(serve: Any, faulty_specs: dict[str, str]) -> None:
    """A step is truncated with the cause, a reset raises it, neither waits for ever; no process is left."""
    with serve("faulty", "--workers", "1", **faulty_specs) as server:
        options = {"reconnect_timeout": 0.3}
        with gem.make_vec(
            server.env(COUNTING), num_envs=2, seed=1, mode="server", autoreset="disabled", mode_kwargs=options
        ) as envs:
            envs.reset()
            envs.step(["x"] * 2)
            workers = kill(server)
            results = envs.step(["y"] * 2)
            assert results[3].all()
            assert not results[1].any()
            for info in results[4]:
                assert f"ServiceUnavailableError: no server at {server.url}" in info["error"]
            with pytest.raises(VectorError, match=f"no server at {server.url}"):
                envs.reset()
    assert workers
    assert gone(workers)


class Ledger:
    """What a run of :class:`CountingEnv` has returned, checked against the actions that were sent."""

    def __init__(self, num_envs: int) -> None:
        self.turns = [0] * num_envs
        self.faults: list[list[str]] = [[] for _ in range(num_envs)]
        self.rewards = 0.0

    def take(self, ready: Any, sent: dict[int, str]) -> None:
        """Note results; each is the next count of its environment, or the truncation of its episode."""
        self.rewards += float(ready.rewards.sum())
        for index, observation, truncated, info in zip(
            ready.indices, ready.observations, ready.truncations, ready.infos, strict=True
        ):
            action = sent.pop(index)
            if truncated:
                self.faults[index].append(info["final_info"]["error"])
                self.turns[index] = 0
            else:
                self.turns[index] += 1
                assert observation == f"{self.turns[index]}: {action}"


def run(envs: Any, steps: int, trouble: Callable[[], object]) -> tuple[Ledger, int]:
    """Play with ``send`` and ``recv`` and cause trouble in the middle; return the ledger and the number of steps."""
    ledger, sent, played = Ledger(envs.num_envs), {}, 0
    envs.reset()
    sent = {index: f"{index}" for index in range(envs.num_envs)}
    envs.send(sent)
    while sent:
        if played >= steps // 2 and trouble is not None:
            trouble()
            trouble = None  # type: ignore[assignment]
        ready = envs.recv(timeout=120)
        ledger.take(ready, sent)
        played += len(ready.indices)
        if played < steps:
            again = {index: f"{index} {played}" for index in ready.indices}
            sent.update(again)
            envs.send(again)
    return ledger, played


@pytest.mark.slow(reason="it starts two servers, and waits until one is given up")
def test_the_episodes_of_a_killed_server_go_on_at_the_other(serve: Any, faulty_specs: dict[str, str]) -> None:
    """Each of its environments reports one fault with the cause; those of the other do not notice; counts add up."""
    with (
        serve("faulty", "--workers", "1", **faulty_specs) as one,
        serve("faulty", "--workers", "1", **faulty_specs) as two,
    ):
        urls, workers = [one.env(COUNTING), two.env(COUNTING)], []
        with gem.make_vec(urls, num_envs=6, seed=1, mode="server", mode_kwargs={"reconnect_timeout": 0.5}) as envs:
            ledger, played = run(envs, 600, lambda: workers.extend(kill(one)))
            for index in range(6):
                assert len(ledger.faults[index]) == (1 if index % 2 == 0 else 0)
            causes = {error for faults in ledger.faults for error in faults}
            assert all(one.url in cause and "ServiceUnavailableError" in cause for cause in causes), causes
            assert ledger.rewards == played - 3  # a step without a fault pays one
            assert gone(workers)


@pytest.mark.slow(reason="it starts a server of its own")
def test_a_worker_that_is_killed_costs_its_own_episodes(serve: Any, faulty_specs: dict[str, str]) -> None:
    """After kill -9 of one of two workers, each of its environments reports one fault; counts add up."""
    with serve("faulty", "--workers", "2", **faulty_specs) as server:
        first, second = workers_of(server)
        with gem.make_vec(server.env(COUNTING), num_envs=6, seed=1, mode="server") as envs:
            envs.reset()
            pids = [info["pid"] for info in envs.step(["x"] * 6)[4]]
            assert set(pids) == {first, second}
            ledger, played = run(envs, 600, lambda: os.kill(first, signal.SIGKILL))
            for index, pid in enumerate(pids):
                assert len(ledger.faults[index]) == (pid == first)
                assert all("killed by SIGKILL" in error for error in ledger.faults[index])
            assert ledger.rewards == played - pids.count(first)
        later = workers_of(server)
        assert second in later
        assert len(later) == 2
        kill(server)
        assert gone(later)


@pytest.mark.slow(reason="it starts a server twice")
def test_a_session_that_finds_no_room_goes_on_when_there_is_some(serve: Any, faulty_specs: dict[str, str]) -> None:
    """After a restart with room for one session the second is refused, and opens once the first is closed."""
    with serve("faulty", "--workers", "1", **faulty_specs) as server:
        url = server.env(COUNTING)
        first = gem.make_vec(url, seed=1, mode="server")
        second = gem.make_vec(url, seed=2, mode="server")
        try:
            for envs in (first, second):
                envs.reset()
                envs.step(["x"])
            kill(server)
            options = ("--workers", "1", "--max-sessions", "1", "--port", str(server.port))
            with serve("faulty", *options, **faulty_specs):
                assert "ServerLostError" in first.step(["x"])[4][0]["final_info"]["error"]
                assert "CapacityError" in second.step(["x"])[4][0]["final_info"]["error"]
                first.close()
                while "error" in second.step(["x"])[4][0].get("final_info", {}):
                    pass
                while (text := second.step(["z"])[0][0]) != "1: z":
                    assert text.startswith("2"), text
                    break
                assert second.step(["z"])[0][0].endswith(": z")
        finally:
            first.close()
            second.close()


def test_a_worker_that_dies_in_a_reset_costs_that_reset(faulty: RunningServer) -> None:
    """It is answered with the cause, and the next reset begins an episode in another worker."""
    with gem.make_vec(faulty.env("faulty:Faulty-v0"), num_envs=2, seed=1, mode="server") as envs:
        infos = envs.reset(env0_kwargs={"options": {"die": True}})[1]
        assert "exited with status 3" in infos[0]["error"]
        assert "error" not in infos[1]
        assert envs.reset_at([0])[0][0].startswith("begin")
        assert envs.step(["x"] * 2)[0] == ["1: x"] * 2


def test_the_limit_of_a_step_is_none_of_making(faulty: RunningServer) -> None:
    """An environment may take longer to make than a client lets a step take; it once cost the worker."""
    url = faulty.env("faulty:Slow-v0")
    with gem.make_vec(url, mode="server", step_timeout=0.05, making=0.5) as envs:
        assert "error" not in envs.reset()[1][0]
