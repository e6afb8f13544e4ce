"""Servers that say nothing any more, though their connections are there: stalled, frozen, cut off."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gem
from gem.errors import ArgumentError
from gem.vector.engine_access import EngineAccess
from gem_server.errors import ServiceError

if TYPE_CHECKING:
    from conftest import RunningServer

pytestmark = [
    pytest.mark.slow(reason="they wait until a server counts as silent, without using a processor"),
    pytest.mark.xdist_group("environment server silence"),
]

BOUND: dict[str, Any] = {"reconnect_timeout": 2.0}


@pytest.mark.parametrize("form", ["vector", "single"])
def test_a_stalled_connection_ends_the_episodes_with_the_cause(
    faulty: RunningServer, relay: Callable[[int], Any], form: str
) -> None:
    """New connections stall as well. Once the link carries again, the next episodes are played."""
    with relay(faulty.port) as link:
        url = f"http://127.0.0.1:{link.port}/faulty:Counting-v0"
        if form == "single":
            with gem.make(url, **BOUND) as env:
                env.reset(seed=1)
                assert env.step("a")[0] == "1: a"
                link.stalled = True
                _, _, terminated, truncated, info = env.step("b")
                assert (terminated, truncated) == (False, True)
                assert "ServiceUnavailableError" in info["error"]
                with pytest.raises(ServiceError, match="could not begin an episode"):
                    env.reset()
                link.stalled = False
                env.reset()
                assert env.step("c")[0] == "1: c"
            return
        with gem.make_vec(url, num_envs=3, seed=1, mode="server", mode_kwargs=BOUND) as envs:
            envs.reset()
            envs.step(["a"] * 3)
            link.stalled = True
            _, _, _, truncations, infos = envs.step(["b"] * 3)
            assert truncations.all()
            assert all("ServiceUnavailableError" in info["final_info"]["error"] for info in infos)
            link.stalled = False
            envs.reset()
            assert envs.step(["c"] * 3)[0] == ["1: c"] * 3


def test_the_bound_of_many_environments_is_one_of_the_mode(faulty: RunningServer) -> None:
    """Where it is given as an argument of each environment, the error says where it belongs."""
    with pytest.raises(ArgumentError, match="it belongs in mode_kwargs"):
        gem.make_vec(faulty.env("faulty:Counting-v0"), num_envs=2, mode="server", **BOUND)


def test_a_connection_that_stalls_alone_costs_nothing(faulty: RunningServer, relay: Callable[[int], Any]) -> None:
    """The client connects again, and neither loses nor repeats the step whose answer never came."""
    with relay(faulty.port) as link:
        url = f"http://127.0.0.1:{link.port}/faulty:Counting-v0"
        with gem.make_vec(url, num_envs=3, seed=1, mode="server", mode_kwargs={"reconnect_timeout": 8.0}) as envs:
            envs.reset()
            for turn in range(1, 4):
                if turn == 2:
                    link.stall_those_that_are_open()
                observations, _, _, truncations, _ = envs.step([f"{turn}"] * 3)
                assert observations == [f"{turn}: {turn}"] * 3
                assert not truncations.any()


def test_the_episodes_of_a_silent_server_go_on_with_another(faulty: RunningServer, relay: Callable[[int], Any]) -> None:
    """Those of the silent one are truncated with the cause and begin anew elsewhere; the others do not notice."""
    with relay(faulty.port) as link:
        urls = [f"http://127.0.0.1:{port}/faulty:Counting-v0" for port in (link.port, faulty.port)]
        with gem.make_vec(urls, num_envs=4, seed=1, mode="server", mode_kwargs=BOUND) as envs:
            envs.reset()
            before = envs.step(["a"] * 4)[0]
            assert before == ["1: a"] * 4
            link.stalled = True
            _, _, _, truncations, infos = envs.step(["b"] * 4)
            assert sorted(truncations.tolist()) == [False, False, True, True]
            lost = [info["final_info"]["error"] for info in infos if "final_info" in info]
            assert all("ServiceUnavailableError" in error for error in lost)
            expected = ["1: c" if truncated else "3: c" for truncated in truncations]
            assert envs.step(["c"] * 4)[0] == expected


def test_a_slow_step_is_no_silence(faulty: RunningServer, relay: Callable[[int], Any], tmp_path: Path) -> None:
    """The server answers pings while an environment takes its time, however short the patience is."""
    with relay(faulty.port) as link:
        url = f"http://127.0.0.1:{link.port}/faulty:Slow-v0"
        with gem.make_vec(url, num_envs=1, seed=1, mode="server", mode_kwargs=BOUND, step_timeout=120.0) as envs:
            envs.reset()
            before = link.requests

            def release() -> None:
                while link.requests < before + 8:  # the step, and seven pings: longer than the whole bound
                    time.sleep(0.01)
                (tmp_path / "go on").touch()

            thread = threading.Thread(target=release)
            thread.start()
            _, _, _, truncations, infos = envs.step([f"2 in {tmp_path}"])
            thread.join()
            assert not truncations.any(), infos


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the kernel's table of connections")
def test_the_kernel_probes_both_ends_of_a_connection(faulty: RunningServer) -> None:
    """So that a server gives back the connections of clients that have vanished; proc(5): timer 2 is keepalive."""
    with gem.make(faulty.env("faulty:Counting-v0")):
        end = time.monotonic() + 60.0
        while (timers := kernel_timers(faulty.port)) != ["02", "02"]:  # 1 while a packet is not acknowledged
            assert time.monotonic() < end, timers
            time.sleep(0.02)


def kernel_timers(port: int) -> list[str]:
    """Return the kind of timer of each end of the established connections to a port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row[5][:2] for row in rows if f"{port:04X}" in (row[1][-4:], row[2][-4:]) and row[3] == "01"]


@pytest.mark.nightly
def test_who_waits_for_a_notice_of_results_has_one(faulty: RunningServer, relay: Callable[[int], Any]) -> None:
    """Where nobody waits in a call, the thread that watches the connections sees that one has been silent."""
    with relay(faulty.port) as link:
        url = f"http://127.0.0.1:{link.port}/faulty:Counting-v0"
        with gem.make_vec(url, num_envs=2, seed=1, mode="server", mode_kwargs=BOUND) as envs:
            access, ready = EngineAccess.of(envs), threading.Event()
            envs.reset()
            link.stalled = True
            access.notify(ready.set)
            envs.send({0: "a", 1: "a"})
            results: dict[int, Any] = {}
            while len(results) < 2:
                assert ready.wait(60.0)
                ready.clear()
                results.update(access.take_ready())
            assert all(result[3] for result in results.values())


@pytest.mark.nightly
def test_a_frozen_server_is_noticed(serve: Callable[..., Any]) -> None:
    """Its kernel takes connections and bytes, and no process reads them."""
    with serve("game:GuessTheNumber-v0", "--workers", "1") as server:
        url = server.env("game:GuessTheNumber-v0")
        with gem.make_vec(url, num_envs=4, seed=1, mode="server", mode_kwargs=BOUND) as envs:
            envs.reset()
            os.kill(server.process.pid, signal.SIGSTOP)
            try:
                _, _, _, truncations, infos = envs.step(
                    [f"{'x' * 4_000_000} \\boxed{{1}}"] * 4
                )  # more than the kernels take
                assert truncations.all()
                assert all("ServiceUnavailableError" in info["final_info"]["error"] for info in infos)
            finally:
                os.kill(server.process.pid, signal.SIGCONT)
            envs.reset()
            assert "error" not in envs.step(["x"] * 4)[4][0]["final_info"]


@pytest.mark.nightly
@pytest.mark.containers
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.skipif(shutil.which("ip") is None, reason="the program ip (iproute2) is not installed")
def test_a_link_that_is_down_is_noticed_within_the_default(faulty_specs: dict[str, str]) -> None:
    """A client in a network namespace whose link goes down in mid-run has its cause within half a minute, and a bit."""
    tag = f"{os.getpid() % 10_000}"
    space, devices, addresses = f"gems{tag}", (f"va{tag}", f"vb{tag}"), ("10.231.9.1", "10.231.9.2")
    with ExitStack() as stack:
        for words in (
            ("ip", "netns", "add", space),
            ("ip", "link", "add", devices[0], "type", "veth", "peer", "name", devices[1], "netns", space),
            ("ip", "addr", "add", f"{addresses[0]}/24", "dev", devices[0]),
            ("ip", "link", "set", devices[0], "up"),
            ("ip", "-n", space, "addr", "add", f"{addresses[1]}/24", "dev", devices[1]),
            ("ip", "-n", space, "link", "set", devices[1], "up"),
            ("ip", "-n", space, "link", "set", "lo", "up"),
        ):
            subprocess.run(words, check=True, capture_output=True)
            if words[:3] == ("ip", "netns", "add"):
                stack.callback(subprocess.run, ("ip", "netns", "del", space), check=True)
        environment = {**os.environ, **faulty_specs, "GEM_SERVER_TOKEN": "a-token-across-the-link"}
        serving = ["-m", "gem", "serve", "faulty", "--host", addresses[1], "--port", "8080", "--workers", "1", "--json"]
        server = subprocess.Popen(
            ["ip", "netns", "exec", space, sys.executable, *serving], stdout=subprocess.PIPE, text=True, env=environment
        )
        stack.callback(server.wait)
        stack.callback(server.kill)
        assert server.stdout is not None
        stack.callback(server.stdout.close)
        for line in server.stdout:
            if line.startswith("}"):
                break
        code = (
            "import subprocess, time, gem\n"
            f"url = 'http://{addresses[1]}:8080/faulty:Counting-v0'\n"
            "with gem.make_vec(url, num_envs=8, seed=3, mode='server') as envs:\n"
            "    envs.reset()\n"
            "    envs.step(['a'] * 8)\n"
            f"    subprocess.run(['ip', '-n', '{space}', 'link', 'set', '{devices[1]}', 'down'], check=True)\n"
            "    began = time.monotonic()\n"
            "    _, _, _, truncations, infos = envs.step(['b'] * 8)\n"
            "    print(truncations.all(), time.monotonic() - began, infos[0]['final_info']['error'])\n"
        )
        client = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120, check=False
        )
    truncated, seconds, error = client.stdout.split(" ", 2)
    assert truncated == "True", client.stderr
    assert float(seconds) < 60.0
    assert "ServiceUnavailableError" in error
