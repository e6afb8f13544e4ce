"""What dies in mid-run: a step, a worker, a connection, the server, the trainer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gem

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import RunningServer

pytestmark = pytest.mark.xdist_group("environment server kills")


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Poll until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    return [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]


def is_alive(pid: int) -> bool:
    """Whether a process runs, and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_faults_of_an_environment_are_those_of_sync_mode(faulty: RunningServer) -> None:
    """An environment that raises, or returns what no message can hold, costs its own episode and no other."""
    with gem.make_vec(faulty.env("faulty:Faulty-v0"), num_envs=3, seed=1, mode="server") as envs:
        envs.reset()
        _, rewards, _, truncations, infos = envs.step(["raise", "object", "fine"])
        assert truncations.tolist() == [True, True, False]
        assert rewards.tolist() == [0.0, 0.0, 1.0]
        assert infos[0]["final_info"]["error"] == "ValueError: as asked"
        assert "JSON" in infos[1]["final_info"]["error"]
        assert [text.split(":")[0] for text in envs.step(["a", "b", "c"])[0]] == ["1", "1", "2"]


@pytest.mark.slow
def test_a_worker_that_dies_costs_only_its_own_episodes(faulty: RunningServer) -> None:
    """Its episodes are truncated with the cause and go on in another worker; those of other workers do not notice."""
    with gem.make_vec(faulty.env("faulty:Faulty-v0"), num_envs=4, seed=1, mode="server") as envs:
        envs.reset()
        pids = [info["pid"] for info in envs.step(["x"] * 4)[4]]
        assert len(set(pids)) == 2
        observations, _, _, truncations, infos = envs.step(["die", "x", "x", "x"])
        for index in range(4):
            lost = pids[index] == pids[0]
            if index == 0 or truncations[index]:
                assert lost
                assert "exited with status 3" in infos[index]["final_info"]["error"]
                assert observations[index].startswith("begin")
        # Those of the same worker that had their answer before it died report the loss now.
        late = envs.step(["y"] * 4)
        assert all(text == "3: y" for text, pid in zip(late[0], pids, strict=True) if pid != pids[0])
        assert all(truncations[i] or late[3][i] for i, pid in enumerate(pids) if pid == pids[0])
        assert not envs.step(["z"] * 4)[3].any()


@pytest.mark.slow(reason="it waits for the limit of a step")
def test_a_step_that_hangs_ends_at_its_limit(faulty: RunningServer) -> None:
    """A step in an endless loop is truncated after the limit that the client set; the others go on meanwhile."""
    with gem.make_vec(faulty.env("faulty:Faulty-v0"), num_envs=3, seed=1, mode="server", step_timeout=1.0) as envs:
        envs.reset()
        envs.send({0: "hang", 1: "x", 2: "x"})
        quick = envs.recv(min_ready=2)
        assert sorted(quick.indices) == [1, 2]
        slow = envs.recv()
        assert slow.indices == [0]
        assert slow.truncations.all()
        assert "TimeoutError" in slow.infos[0]["final_info"]["error"]
        assert envs.step(["y"] * 3)[0] == ["1: y", "2: y", "2: y"]


def test_waiting_steps_wait_at_the_same_time(faulty: RunningServer, tmp_path: Path) -> None:
    """Steps that wait for something hold up neither each other nor the quick ones: here all wait for one another."""
    with gem.make_vec(faulty.env("faulty:Slow-v0"), num_envs=16, mode="server", step_timeout=60.0) as envs:
        envs.reset()
        envs.send({index: "0" if index == 15 else f"16 in {tmp_path}" for index in range(16)})
        assert envs.recv().indices == [15]
        (tmp_path / "the quick one").touch()
        waited = envs.recv(min_ready=15)
        assert len(waited.indices) == 15
        assert not waited.truncations.any()


@pytest.mark.parametrize("lost", ["answer", "request"])
def test_a_lost_message_neither_loses_nor_repeats_a_step(
    faulty: RunningServer, relay: Callable[[int], Any], lost: str
) -> None:
    """Whether a connection breaks with the call or with its answer on the way, the environment counts each step once.

    An answer that was lost is given again from memory: the step had run.
    """
    with relay(faulty.port) as link:
        url = f"http://127.0.0.1:{link.port}/faulty:Counting-v0"
        with gem.make_vec(url, num_envs=3, seed=1, mode="server") as envs:
            envs.reset()
            for turn in range(1, 9):
                link.lose = lost if turn % 2 else None
                observations, rewards, _, truncations, infos = envs.step([f"{turn}"] * 3)
                assert observations == [f"{turn}: {turn}"] * 3
                assert rewards.tolist() == [1.0] * 3
                assert not truncations.any()
                assert not any("error" in info for info in infos)
            assert link.lost == 4


@pytest.mark.slow(reason="it starts a server twice")
def test_a_killed_server_leaves_no_process_and_its_episodes_end(serve: Any, faulty_specs: dict[str, str]) -> None:
    """After kill -9, no worker is left; the episodes are truncated with the cause and go on at the restarted server."""
    with serve("faulty", "--workers", "2", **faulty_specs) as first:
        envs = gem.make_vec(first.env("faulty:Counting-v0"), num_envs=4, seed=1, mode="server")
        try:
            envs.reset()
            before = envs.step(["x"] * 4)
            workers = children(first.process.pid)
            assert len(workers) == 2
            first.process.kill()
            first.process.wait()
            until(lambda: not any(map(is_alive, workers)))
            with serve("faulty", "--workers", "1", "--port", str(first.port), **faulty_specs):
                observations, rewards, _, truncations, infos = envs.step(["y"] * 4)
                assert truncations.all()
                assert not rewards.any()
                assert all("ServerLostError" in info["final_info"]["error"] for info in infos)
                assert not set(observations) & set(before[0])
                assert envs.step(["z"] * 4)[0] == ["1: z"] * 4
                assert len({info["seed"] for info in infos}) == 4
        finally:
            envs.close()


@pytest.mark.nightly
def test_episodes_move_to_another_server(faulty: RunningServer, serve: Any, faulty_specs: dict[str, str]) -> None:
    """Where a server stays away, its environments go on at another one of the same vector environment."""
    with serve("faulty", "--workers", "1", **faulty_specs) as first:
        urls = [first.env("faulty:Counting-v0"), faulty.env("faulty:Counting-v0")]
        options = {"reconnect_timeout": 0.5}
        with gem.make_vec(urls, num_envs=4, seed=1, mode="server", mode_kwargs=options) as envs:
            envs.reset()
            envs.step(["x"] * 4)
            first.process.kill()
            first.process.wait()
            results = envs.step(["y"] * 4)
            assert results[3].tolist() == [True, False, True, False]
            assert envs.step(["z"] * 4)[0] == ["1: z", "3: z", "1: z", "3: z"]


@pytest.mark.nightly
def test_sessions_of_a_killed_trainer_are_reaped(serve: Any, faulty_specs: dict[str, str]) -> None:
    """After kill -9 of a trainer, its sessions are closed once it had its time to come back."""
    with serve("faulty", "--workers", "1", "--reconnect-timeout", "0.5", **faulty_specs) as server:
        url = server.env("faulty:Counting-v0")
        code = (
            f"import gem, time; v = gem.make_vec({url!r}, num_envs=5, mode='server'); v.reset(); "
            "print('ready', flush=True); time.sleep(600)"
        )
        trainer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        try:
            assert trainer.stdout is not None
            assert trainer.stdout.readline() == "ready\n"
            assert metric(server, "gem_sessions") == 5
            trainer.kill()
            until(lambda: metric(server, "gem_sessions") == 0)
            assert metric(server, "gem_sessions_reaped_total") == 5
        finally:
            trainer.kill()
            trainer.wait()
            trainer.stdout.close()


@pytest.mark.slow(reason="it starts a server of its own")
def test_sigterm_drains(serve: Any, faulty_specs: dict[str, str]) -> None:
    """After SIGTERM open sessions play on, new ones are refused, /ready says so; the server ends with the last one."""
    with serve("faulty", "--workers", "1", **faulty_specs) as server:
        env = gem.make(server.env("faulty:Counting-v0"))
        env.reset()
        os.kill(server.process.pid, signal.SIGTERM)
        until(lambda: get(server, "/ready")[0] == 503)
        assert env.step("x")[0] == "1: x"
        with pytest.raises(gem.errors.GemError, match="shutting down"):
            gem.make(server.env("faulty:Counting-v0"))
        workers = children(server.process.pid)
        env.close()
        assert server.process.wait(timeout=60) == 0
        assert not any(map(is_alive, workers))


def get(server: RunningServer, path: str) -> tuple[int, str]:
    """Return status and text of a page."""
    import http.client

    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def metric(server: RunningServer, name: str) -> float:
    """Return a metric without labels."""
    lines = get(server, "/metrics")[1].splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))
