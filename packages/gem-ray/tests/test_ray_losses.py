"""Nodes and drivers that die in mid-run, and nodes on a link with delay and loss: clusters of several nodes, at night.

Each driver is a process of its own, whose output is read line by line.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest

from gem_rollout.trajectory import read_trajectories

pytestmark = [pytest.mark.nightly, pytest.mark.xdist_group("ray")]

HEAD = """
import json, os, sys
import gem, gem_ray
from gem_rollout.trajectory import read_trajectories

class Process(gem.Env):
    '''Says which process it runs in; its episodes last twenty turns.'''

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.turn = 0
        return "begin", {"pid": os.getpid()}

    def step(self, action):
        self.turn += 1
        if isinstance(action, str) and action:
            import time
            time.sleep(float(action))
        return f"turn {self.turn}", 1.0, self.turn == 20, False, {"pid": os.getpid()}

gem.register("test:Process-v0", Process)

def say(**values):
    print(json.dumps(values), flush=True)
"""


def driver(
    source: str, address: str, stack: ExitStack, prefix: Sequence[str] = (), before: str = ""
) -> subprocess.Popen[str]:
    """Start a program that is connected to a cluster; ``before`` runs first."""
    program = (
        f"{HEAD}\n{before}\nimport ray\nray.init(address={address!r}, log_to_driver=False)\n{textwrap.dedent(source)}"
    )
    process = subprocess.Popen(
        [*prefix, sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stack.callback(lambda: (process.kill(), process.communicate()))
    return process


def heard(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next thing that a driver says."""
    output: IO[str] | None = process.stdout
    assert output is not None
    for line in output:
        if line.startswith("{"):
            said: dict[str, Any] = json.loads(line)
            return said
    raise AssertionError(f"the driver ended: {process.communicate()[1]}")


def answer(process: subprocess.Popen[str]) -> None:
    """Let a driver that reads a line go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def node_of(nodes: Sequence[Any], pid: int, below: Callable[[int], list[int]]) -> Any:
    """Return the node that a process belongs to."""
    return next(node for node in nodes if pid in below(node.process.pid))


@pytest.fixture(scope="module")
def head(start_node: Callable[..., Any]) -> Any:
    """The head of a cluster without room for actors."""
    return start_node(cpus=0)


MOVING = """
envs = gem.make_vec("test:Process-v0", num_envs=8, mode="ray", seed=3, mode_kwargs={"envs_per_actor": 4})
infos = envs.reset()[1]
say(pids=[info["pid"] for info in infos])
input()
# The other actor goes on while this one has no node.
envs.send([""] * 8)
ready = set()
while len(ready) < 4:
    got = envs.recv()
    ready.update(got.indices)
    assert not got.truncations.any()
say(went_on=sorted(ready))
while envs.num_pending:
    got = envs.recv(min_ready=envs.num_pending)
say(truncated=sorted(got.indices), flags=got.truncations.tolist(), errors=[info["error"] for info in got.infos],
    pids=[info["pid"] for info in got.infos], lost=envs.lost_episodes, incarnations=envs.incarnations)
turns = [envs.step([""] * 8)[0] for _ in range(5)]
say(turns=turns[-1])
envs.close()
"""
"""Two actors of four environments, one of which loses its node."""


def check_move(
    run: subprocess.Popen[str], lost: Any, below: Any, lose: Callable[[], object], join: Callable[[], Any]
) -> None:
    """Lose a node of a driver that runs ``MOVING``, have another one join, and check what the driver says.

    Args:
        run: the driver.
        lost: the node.
        below: the processes of a node.
        lose: makes the node unreachable.
        join: starts another node.
    """
    pids = heard(run)["pids"]
    gone = [index for index, pid in enumerate(pids) if pid in below(lost.process.pid)]
    assert gone in ([0, 1, 2, 3], [4, 5, 6, 7])
    stay = [index for index in range(8) if index not in gone]
    lose()
    answer(run)
    assert heard(run)["went_on"] == stay
    newcomer = join()
    said = heard(run)
    assert said["truncated"] == gone
    assert said["flags"] == [True] * 4
    assert all(error.startswith("ProcessCrashError: the Ray actor") for error in said["errors"])
    assert set(said["pids"]) <= set(below(newcomer.process.pid))
    assert said["lost"] == 4
    one, other = sorted(said["incarnations"])
    assert one == 1 < other  # until Ray notices, it may place a new actor on the dead node
    turns = heard(run)["turns"]
    assert {turns[index] for index in gone} == {"turn 5"}
    assert {turns[index] for index in stay} == {"turn 6"}
    assert run.wait(120) == 0
    newcomer.kill()


def test_a_lost_node_is_replaced_by_one_that_joins(start_node: Callable[..., Any], head: Any, below: Any) -> None:
    """Four episodes are truncated with their cause and four go on; the environments move to a node that came later."""
    nodes = [start_node(head.address, cpus=1) for _ in range(2)]
    with ExitStack() as stack:
        run = driver(MOVING, head.address, stack)
        check_move(run, nodes[0], below, nodes[0].kill, lambda: start_node(head.address, cpus=1))
    for node in nodes:
        node.kill()


ENGINE = """
import asyncio
import gem_rollout.environments
from gem.errors import VectorError
from gem.policies import ScriptedPolicy
from gem_ray.vector_env import RayVectorEnv
from gem_rollout import RolloutEngine, plan_episodes

made = []

def backend(*arguments, **options):
    made.append(RayVectorEnv(*arguments, **options))
    return made[0]

gem_rollout.environments.lookup = lambda *_: backend

async def play():
    plan = plan_episodes("test:Process-v0", 64)
    async with RolloutEngine(plan, lambda env: ScriptedPolicy(["0.02"] * 20), concurrency=4, mode="ray") as engine:
        await engine.take()
        made[0]._start_timeout = 20.0  # which the first start may exceed on a busy machine
        say(began=True)
        await asyncio.to_thread(input)
        async for _ in engine:
            pass

try:
    asyncio.run(play())
except VectorError as error:
    say(error=str(error))
"""
"""An engine whose environments have no node any more."""


def test_an_engine_without_a_node_ends_in_time(start_node: Callable[..., Any], head: Any) -> None:
    """It waits for another node as long as a start may take, and then says what the actors need."""
    node = start_node(head.address, cpus=1)
    with ExitStack() as stack:
        run = driver(ENGINE, head.address, stack)
        assert heard(run)["began"]
        node.kill()
        answer(run)
        assert "1 of 1 Ray actors, with 8 environments, did not start within 20 s" in heard(run)["error"]
        assert run.wait(120) == 0


def test_a_sharded_rollout_survives_the_loss_of_a_node(
    start_node: Callable[..., Any], head: Any, tmp_path: Path, below: Any
) -> None:
    """Every key is delivered once, by the nodes that are left."""
    nodes = [start_node(head.address, cpus=1) for _ in range(2)]
    out = tmp_path / "episodes.jsonl"
    with ExitStack() as stack:
        run = driver(
            f"""
            from gem.policies import ScriptedPolicy
            played = gem_ray.rollout("test:Process-v0", lambda env: ScriptedPolicy(["0.02"] * 20), episodes=96,
                                     num_envs=8, shards=2, out={str(out)!r})
            keys = []
            for trajectory in played:
                keys.append(trajectory.seed)
                if len(keys) == 8:
                    say(pid=trajectory.transitions[0].info["pid"])
                    input()
            errors = [episode.error for episode in read_trajectories({str(out)!r}) if episode.error]
            say(keys=sorted(keys), incarnations=played.incarnations, errors=errors)
            """,
            head.address,
            stack,
        )
        node_of(nodes, heard(run)["pid"], below).kill()
        answer(run)
        said = heard(run)
        assert said["keys"] == list(range(96))
        assert said["errors"] == []
        assert sum(said["incarnations"]) >= 3
        assert run.wait(120) == 0
    assert len(out.read_text().splitlines()) == 96
    for node in nodes:
        node.kill()


def killed(process: subprocess.Popen[str], others: Iterable[int]) -> None:
    """Kill a driver, and wait for the end of processes that must end with it."""
    with ExitStack() as stack:
        waiting = {os.pidfd_open(pid): pid for pid in others}
        for descriptor in waiting:
            stack.callback(os.close, descriptor)
        process.send_signal(signal.SIGKILL)
        while waiting:
            ended = select.select(list(waiting), [], [], 120)[0]
            assert ended, f"still there: {[Path(f'/proc/{pid}/cmdline').read_text() for pid in waiting.values()]}"
            for descriptor in ended:
                del waiting[descriptor]


@pytest.mark.parametrize("own_cluster", [False, True], ids=["a cluster of others", "a cluster of its own"])
def test_a_killed_driver_leaves_no_process(
    start_node: Callable[..., Any], head: Any, own_cluster: bool, below: Any, start_of_node: str
) -> None:
    """After kill -9 of the trainer, its actors end; so does the cluster that it began itself, and no other."""
    node = None if own_cluster else start_node(head.address, cpus=2)
    with ExitStack() as stack:
        source = """
            envs = gem.make_vec("test:Process-v0", num_envs=8, mode="ray", seed=3, mode_kwargs={"envs_per_actor": 4})
            envs.send_reset(range(8))
            infos = envs.recv(min_ready=8).infos
            envs.send(["60"] * 8)  # in the middle of a step
            say(pids=[info["pid"] for info in infos])
            input()
            """
        run = driver(
            source, "local" if own_cluster else head.address, stack, before=start_of_node if own_cluster else ""
        )
        killed(run, {*heard(run)["pids"], *(below(run.pid)[1:] if own_cluster else [])})
    assert head.process.poll() is None
    if node is not None:
        assert node.process.poll() is None
        node.kill()


def test_a_rollout_whose_driver_was_killed_is_resumed(
    start_node: Callable[..., Any], head: Any, tmp_path: Path, below: Any
) -> None:
    """The same call in a new process plays what the file lacks: every key is there once, with a whole episode."""
    node = start_node(head.address, cpus=2)
    out = tmp_path / "a run ä" / "episodes.jsonl"
    source = f"""
        from gem.policies import ScriptedPolicy
        pids = set()
        played = gem_ray.rollout("test:Process-v0", lambda env: ScriptedPolicy(["0.02"] * 20), episodes=96,
                                 num_envs=4, shards=2, out={str(out)!r})
        for count, trajectory in enumerate(played, 1):
            pids.add(trajectory.transitions[0].info["pid"])
            if len(pids) == 2:
                say(pids=sorted(pids))
                input()
                pids.clear()
        say(count=count)
        """
    with ExitStack() as stack:
        run = driver(source, head.address, stack)
        killed(run, heard(run)["pids"])
        before = list(read_trajectories(out))
        assert 2 <= len(before) < 96
        with out.open("a", encoding="utf-8") as file:
            file.write('{"schema": 1, "spec"')  # as if it had died while it was writing
        run = driver(source, head.address, stack)
        said = heard(run)
        while "pids" in said:
            answer(run)
            said = heard(run)
        assert said["count"] == 96 - len(before)
        assert run.wait(120) == 0
    episodes = list(read_trajectories(out))
    assert sorted(episode.seed or 0 for episode in episodes) == list(range(96))
    assert all(len(episode.transitions) == 20 and episode.failure is None for episode in episodes)
    assert [episode.key for episode in episodes[: len(before)]] == [episode.key for episode in before]
    node.kill()


RELAY = """
import contextlib, ctypes, fcntl, heapq, os, random, select, struct, sys, time
def open_tun(pid):
    with open(f"/proc/{pid}/ns/net") as file:
        assert ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0) == 0
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", b"tun0", 0x0001 | 0x1000))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
    return tun
ends = [open_tun(name) for name in sys.argv[1:3]]
delay, loss, chance = float(sys.argv[3]), float(sys.argv[4]), random.Random(1)
print("ready", flush=True)
queue, count = [], 0
while True:
    timeout = max(0.0, queue[0][0] - time.monotonic()) if queue else None
    for tun in select.select(ends, [], [], timeout)[0]:
        packet = os.read(tun, 65536)
        if chance.random() >= loss:
            count += 1
            heapq.heappush(queue, (time.monotonic() + delay, count, ends[tun == ends[0]], packet))
    while queue and queue[0][0] <= time.monotonic():
        with contextlib.suppress(OSError):  # that end is not up
            os.write(queue[0][2], heapq.heappop(queue)[3])
"""
"""Two TUN devices in the network namespaces of two processes; a relay between them delays and drops packets."""

PING = """
import json, select, socket, sys, time
here, there = sys.argv[1:]
begun, times = {}, {}
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
    sock.bind((here, 0))
    for number in range(500):
        data = [0x0800, 0, 1, number]
        total = sum(data)
        data[1] = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        begun[number] = time.monotonic()
        sock.sendto(b"".join(value.to_bytes(2, "big") for value in data), (there, 0))
        while number % 100 == 99 and len(times) < len(begun) and select.select([sock], [], [], 1.0)[0]:
            answer = sock.recv(2048)[20:]
            if answer[0] == 0:
                arrived = int.from_bytes(answer[6:8], "big")
                times[arrived] = time.monotonic() - begun[arrived]
print(json.dumps([1000 * min(times.values()), len(begun) - len(times)]))
"""
"""The shortest round trip of five hundred packets in milliseconds, and how many got lost."""


class Link:
    """A link between two hosts.

    Args:
        hosts: address → prefix of a command that runs there.
        relay: the process that all packets pass.
    """

    def __init__(self, hosts: dict[str, list[str]], relay: subprocess.Popen[str]) -> None:
        self.hosts = hosts
        self._relay = relay

    def cut(self) -> None:
        """Let no packet through any more, and say so to nobody."""
        self._relay.send_signal(signal.SIGSTOP)


@pytest.fixture
def link() -> Iterator[Link]:
    """Two network namespaces, with 10 ms and 1 % of loss each way between them."""
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        pytest.skip("network namespaces with TUN devices between them need root, and a kernel that has such devices")
    with ExitStack() as stack:
        # Namespaces without names: other programs may unmount those below /run/netns.
        hosts, pids = {}, []
        for number in (1, 2):
            holder = subprocess.Popen(
                ["unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && read line"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(lambda holder=holder: (holder.kill(), holder.communicate()))
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            pids.append(str(holder.pid))
            hosts[f"10.77.3.{number}"] = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        relay = subprocess.Popen(
            [sys.executable, "-c", RELAY, *pids, "0.01", "0.01"], stdout=subprocess.PIPE, text=True
        )
        stack.callback(lambda: (relay.kill(), relay.communicate()))
        assert relay.stdout is not None
        assert relay.stdout.readline() == "ready\n"
        for address, prefix in hosts.items():
            subprocess.run([*prefix, "ip", "address", "add", f"{address}/24", "dev", "tun0"], check=True)
            subprocess.run([*prefix, "ip", "link", "set", "tun0", "up"], check=True)
        (here, first), (there, _) = hosts.items()
        pings = subprocess.run(
            [*first, sys.executable, "-c", PING, here, there], stdout=subprocess.PIPE, text=True, check=True
        )
        milliseconds, lost = json.loads(pings.stdout)
        assert milliseconds >= 20  # the link is what it claims to be
        assert lost > 0
        yield Link(hosts, relay)


def test_a_slow_and_lossy_link_changes_no_episode(start_node: Callable[..., Any], link: Link) -> None:
    """Environments on another host, 10 ms away with 1 % of the packets lost, play the episodes of sync mode."""
    (here, first), (there, second) = link.hosts.items()
    head = start_node(cpus=0, ip=here, prefix=first)
    node = start_node(head.address, cpus=2, ip=there, prefix=second)
    with ExitStack() as stack:
        run = driver(
            """
            def play(mode):
                seen = []
                with gem.make_vec("game:Wordle-v0-easy", num_envs=64, mode=mode, seed=3) as envs:
                    seen.append(envs.reset())
                    for turn in range(30):
                        words = ["\\boxed{crane}", "\\boxed{moist}", "none"]
                        actions = [words[(turn + index) % 3] for index in range(64)]
                        results = envs.step(actions)
                        seen.append([getattr(result, "tolist", lambda: result)() for result in results])
                return seen
            say(equal=play("ray") == play("sync"), nodes=[node["NodeManagerAddress"] for node in ray.nodes()])
            """,
            head.address,
            stack,
            first,
        )
        said = heard(run)
        assert said["equal"]
        assert sorted(said["nodes"]) == [here, there]
        assert run.wait(120) == 0
    for each in (node, head):
        each.kill()


def test_a_host_that_cannot_be_reached_is_replaced(
    start_node: Callable[..., Any], link: Link, below: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing dies and nothing is reported, the packets only stop: the episodes there are truncated as in any loss."""
    for name, value in {"period_ms": 1000, "timeout_ms": 3000, "failure_threshold": 5}.items():
        monkeypatch.setenv(f"RAY_health_check_{name}", str(value))
    (here, first), (there, second) = link.hosts.items()
    head = start_node(cpus=1, ip=here, prefix=first)
    far = start_node(head.address, cpus=1, ip=there, prefix=second)
    with ExitStack() as stack:
        run = driver(MOVING, head.address, stack, first)
        check_move(run, far, below, link.cut, lambda: start_node(head.address, cpus=1, ip=here, prefix=first))
    for each in (far, head):
        each.kill()
