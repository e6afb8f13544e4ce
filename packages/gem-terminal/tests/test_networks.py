"""Networks of episodes: each has its own, which reaches neither the machine nor another episode."""

from __future__ import annotations

import os
import re
import secrets
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Network
from pathlib import Path
from threading import Thread
from typing import NoReturn

import pytest

from gem_terminal import TerminalEnv
from gem_terminal.engines import Channel, Container, Engine, host_networks
from gem_terminal.engines.docker import DockerEngine, networks
from gem_terminal.engines.docker.container import DockerContainer
from gem_terminal.engines.docker.images import LABEL
from gem_terminal.engines.host_networks import POOLS, free_network, own_networks, routed_networks
from gem_terminal.engines.namespace.network import PROGRAM, has_program
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

LIMITS = ResourceLimits(network=True, memory=256 << 20, processes=128)
PORT = 18080
"""A port that every episode uses."""

# A server on all addresses and on an abstract socket, which answers with its word. It says when it listens.
SERVER = f"""
use IO::Socket::INET; use IO::Socket::UNIX; $| = 1;
my $tcp = IO::Socket::INET->new(Listen => 64, LocalPort => {PORT}, ReuseAddr => 1) or die "port: $!";
my $unix = IO::Socket::UNIX->new(Listen => 8, Local => "\\0episode") or die "abstract: $!";
print "listening\\n";
while (my $client = $tcp->accept) {{ print $client "$ARGV[0]\\n"; close $client }}
"""
# Asks every address at once, and prints each answer.
ASK = """
for target; do
  timeout 1 bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1##*:}" && read -r line <&3 && echo "$1 $line"' ask "$target" &
done 2>/dev/null; wait; echo asked
"""
# A server on all addresses of IPv6, which answers with its word.
SERVER_OF_IPV6 = f"""
use Socket qw(AF_INET6 SOCK_STREAM IN6ADDR_ANY pack_sockaddr_in6); $| = 1;
socket(my $tcp, AF_INET6, SOCK_STREAM, 0) or die "socket: $!";
bind($tcp, pack_sockaddr_in6({PORT}, IN6ADDR_ANY)) && listen($tcp, 8) or die "port: $!";
print "listening\\n";
while (accept(my $client, $tcp)) {{ syswrite($client, "$ARGV[0]\\n"); close $client }}
"""
ADDRESSES = r"""grep -B1 '/32 host LOCAL' /proc/net/fib_trie | grep -o '[0-9.]\{7,\}' | sort -u"""


@pytest.fixture(autouse=True)
def _program(request: pytest.FixtureRequest, missing_engine: Callable[[str, object], NoReturn]) -> None:
    """The namespace engine connects no container without slirp4netns."""
    is_namespace = "engine" in request.fixturenames and request.getfixturevalue("engine").name == "namespace"
    if is_namespace and not has_program():
        missing_engine("namespace", f"{PROGRAM} or /dev/net/tun is missing")


def output(container: Container, script: str, *arguments: str) -> str:
    """What a script prints."""
    return container.run(("bash", "-c", script, "sh", *arguments), seconds=120).output.decode()


@contextmanager
def serving(container: Container, word: str, server: str = SERVER) -> Iterator[None]:
    """A server of an agent, which listens."""
    channel = container.open(("perl", "-e", server, word))
    try:
        assert _read(channel) == "listening\n"
        yield
    finally:
        channel.close()


def _read(channel: Channel) -> str:
    said = b""
    while not said.endswith(b"\n") and (more := channel.read(60.0)) is not None:
        said += more
    return said.decode()


@pytest.fixture
def machine() -> Iterator[str]:
    """A service of this machine on all its addresses, as ``port word``; it answers every connection."""
    word = secrets.token_hex(8)
    both = {"family": socket.AF_INET6, "dualstack_ipv6": True} if socket.has_dualstack_ipv6() else {}
    with socket.create_server(("", 0), backlog=256, **both) as server:

        def answer() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.sendall(f"{word}\n".encode())

        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield f"{server.getsockname()[1]} {word}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def own_addresses() -> list[str]:
    """The IPv4 addresses of this machine."""
    found = Path("/proc/net/fib_trie").read_text(encoding="utf-8")
    return sorted(set(re.findall(r"\|-- (\S+)\n\s+/32 host LOCAL", found)))


@pytest.mark.slow(reason="Docker makes each bridge and starts each container in tenths of a second")
@pytest.mark.every_engine
@pytest.mark.parametrize("episodes", [3, pytest.param(50, marks=pytest.mark.nightly)])
def test_no_episode_sees_another_or_the_machine(engine: Engine, small: Image, machine: str, episodes: int) -> None:
    """All use one port and one abstract name; each meets itself at every address, if anybody."""
    port, word = machine.split()
    reference = engine.prepare(small)
    with ExitStack() as stack, ThreadPoolExecutor(8) as pool:
        containers = list(pool.map(lambda _: stack.enter_context(engine.start(reference, LIMITS)), range(episodes)))
        for number, container in enumerate(containers):
            stack.enter_context(serving(container, f"episode-{number}"))
        inside = {
            address for found in pool.map(lambda each: output(each, ADDRESSES), containers) for address in found.split()
        }
        gateways = {str(each.network.subnet[1]) for each in containers if hasattr(each, "network")}
        machines = {*own_addresses(), *gateways, "10.0.2.2", "10.0.2.3"}
        targets = [f"{address}:{PORT}" for address in sorted(inside)]
        targets += [f"{address}:{port}" for address in sorted(machines)]

        def meets(numbered: tuple[int, Container]) -> None:
            number, container = numbered
            assert output(container, f"read -r line < /dev/tcp/127.0.0.1/{PORT}; echo $line") == f"episode-{number}\n"
            answers = dict(line.split() for line in output(container, ASK, *targets).splitlines() if " " in line)
            assert set(answers.values()) <= {f"episode-{number}"}, word
            assert output(container, "grep -c @ /proc/net/unix").strip() == "1", "its own abstract socket alone"

        list(pool.map(meets, enumerate(containers)))


def test_the_network_of_the_machine_must_be_asked_for(engine: Engine, small: Image, machine: str) -> None:
    """With it the same questions are answered, which shows that they can be."""
    port, word = machine.split()
    with engine.start(engine.prepare(small), ResourceLimits(network=True, host_network=True)) as container:
        targets = [f"{address}:{port}" for address in own_addresses()]
        answers = [line.split() for line in output(container, ASK, *targets).splitlines() if " " in line]
        assert sorted(answers) == sorted([target, word] for target in targets)


def addresses_of_ipv6(text: str) -> set[str]:
    """What ``/proc/net/if_inet6`` lists, each also with the names of interfaces, which a local one needs."""
    fields = [line.split() for line in text.splitlines()]
    found = {":".join(each[0][place : place + 4] for place in range(0, 32, 4)) for each in fields}
    return found | {f"{each}%{name}" for each in found for name in ("lo", "eth0")}


@pytest.mark.parametrize("network", [False, True])
def test_ipv6_leads_to_the_own_loopback_alone(engine: Engine, small: Image, machine: str, network: bool) -> None:
    """Two episodes with a server on all addresses: neither reaches the other's or the machine's at any of theirs."""
    if not Path("/proc/net/if_inet6").exists():
        pytest.skip("NOT TESTED: the kernel has no IPv6 here")
    port, word = machine.split()
    reference, limits = engine.prepare(small), ResourceLimits(network=network, memory=256 << 20, processes=128)
    machines = {"::1", "::ffff:127.0.0.1", *addresses_of_ipv6(Path("/proc/net/if_inet6").read_text())}
    with ExitStack() as stack:
        containers = [stack.enter_context(engine.start(reference, limits)) for _ in range(2)]
        for number, container in enumerate(containers):
            stack.enter_context(serving(container, f"episode-{number}", SERVER_OF_IPV6))
        inside = [addresses_of_ipv6(output(each, "cat /proc/net/if_inet6")) for each in containers]
        targets = [f"{address}:{PORT}" for address in sorted({"::1"}.union(*inside))]
        targets += [f"{address}:{port}" for address in sorted(machines)]
        for number, container in enumerate(containers):
            answers = dict(line.split() for line in output(container, ASK, *targets).splitlines() if " " in line)
            assert set(answers.values()) <= {f"episode-{number}"}, word
            if engine.name == "namespace":  # with Docker it is the engine's affair whether there is IPv6
                assert output(container, f"read -r line < /dev/tcp/::1/{PORT}; echo $line") == f"episode-{number}\n"


@pytest.mark.parametrize("given", [None, False, True, "host"])
def test_the_argument_of_an_environment(tmp_path: Path, given: bool | str | None) -> None:
    """``network="host"`` is a network that the task need not ask for, and nothing else shares the machine's."""
    (tmp_path / "environment").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "task.toml").write_text("[environment]\nnetwork_mode = 'no-network'\n")
    (tmp_path / "instruction.md").write_text("Do nothing.")
    (tmp_path / "environment/Dockerfile").write_text("FROM debian:bookworm-slim\n")
    (tmp_path / "tests/test.sh").write_text("true\n")
    limits = TerminalEnv(path=tmp_path, network=given).task.limits
    assert (limits.network, limits.host_network) == (bool(given), given == "host")


@pytest.mark.only_engine("namespace")
def test_without_the_program_a_network_is_refused(
    engine: Engine, small: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the package and the ways around it; a container without network, or that may share, starts."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bwrap", "unshare"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))
    reference = engine.prepare(small)
    with pytest.raises(EngineError, match=r"apt install slirp4netns\), pass network=False, or .* network='host'"):
        engine.start(reference, LIMITS)
    for allowed in (ResourceLimits(), ResourceLimits(network=True, host_network=True)):
        engine.start(reference, allowed).remove()
    assert engine.about().network == f"none: {PROGRAM} is missing"


# Runs in a network namespace of its own, in which it is the machine: with a name server on its loopback.
RESOLVES = """
import socket, subprocess, sys, threading
from pathlib import Path
from gem_processes import linux
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.task import Image, ResourceLimits
linux.enable_loopback()
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
def answer():
    while True:
        asked, peer = server.recvfrom(512)
        end = asked.index(b"\\0", 12) + 5
        kind = asked[end - 4 : end - 2]
        found = b"\\xc0\\x0c\\0\\x01\\0\\x01\\0\\0\\0\\x3c\\0\\x04\\xcb\\0\\x71\\x07" if kind == b"\\0\\x01" else b""
        head = asked[:2] + b"\\x81\\x80\\0\\x01" + (b"\\0\\x01" if found else b"\\0\\0") + b"\\0\\0\\0\\0"
        server.sendto(head + asked[12:end] + found, peer)
threading.Thread(target=answer, daemon=True).start()
tcp = socket.create_server(("127.0.0.1", 0))
engine = NamespaceEngine(Path(sys.argv[1]))
with engine.start(engine.prepare(Image(name=sys.argv[2])), ResourceLimits(network=True)) as container:
    ask = "getent ahostsv4 task.example | head -n 1 | cut -d' ' -f1; "
    ask += "(exec 3<>/dev/tcp/10.0.2.3/$1) 2>/dev/null && echo reached"
    print(container.run(("bash", "-c", ask, "sh", str(tcp.getsockname()[1])), seconds=60).output.decode().split())
engine.close()
"""


@pytest.mark.only_engine("namespace")
def test_names_are_resolved_through_the_machine(engine: Engine, small: Image, cache: Path, tmp_path: Path) -> None:
    """Also by a name server on the machine's loopback, of which no other port is open."""
    if os.getuid() != 0:
        pytest.skip("only root may have port 53 in a network namespace")
    engine.prepare(small)
    resolver, script = tmp_path / "resolv.conf", tmp_path / "script.py"
    resolver.write_text("nameserver 127.0.0.1\n")
    script.write_text(RESOLVES)
    bind = 'mount --bind "$1" "$(realpath /etc/resolv.conf)" && shift && exec "$@"'
    command = ["unshare", "--net", "--mount", "sh", "-c", bind, "sh", str(resolver)]
    command += [sys.executable, str(script), str(cache), str(small.name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("['203.0.113.7']", "")


# Starts a container with a network, says what belongs to it, and waits.
TRAINER = """
import sys
from pathlib import Path
from gem_terminal.engines import engine_by_name
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.task import Image, ResourceLimits
engine = NamespaceEngine(Path(sys.argv[2])) if sys.argv[1] == "namespace" else engine_by_name(sys.argv[1])
container = engine.start(engine.prepare(Image(name=sys.argv[3])), ResourceLimits(network=True))
helper = container._network._process.pid if sys.argv[1] == "namespace" else 0
print(helper, ContainerOwner.this_process(), flush=True)
sys.stdin.read()
container.remove()
"""


@pytest.mark.sampled(2)
@pytest.mark.only_engine("docker", "namespace")  # its trainer makes one itself
@pytest.mark.every_engine
@pytest.mark.parametrize("how", ["killed", "removed"])
def test_nothing_is_left_of_a_network(engine: Engine, small: Image, cache: Path, tmp_path: Path, how: str) -> None:
    """No slirp4netns, and no bridge after a reaper, whether the trainer removes its container or is killed."""
    engine.prepare(small)
    (tmp_path / "trainer.py").write_text(TRAINER)
    command = [sys.executable, str(tmp_path / "trainer.py"), engine.name, str(cache), str(small.name)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as trainer:
        assert trainer.stdout is not None
        helper, owner = trainer.stdout.readline().split()
        ends = os.pidfd_open(int(helper)) if int(helper) else None
        try:
            assert len(networks_of(engine, owner)) == isinstance(engine, DockerEngine)
            engine.reap()
            assert len(networks_of(engine, owner)) == isinstance(engine, DockerEngine), "its owner lives"
            if how == "killed":
                trainer.kill()
                trainer.wait()
                engine.reap()
            else:
                trainer.communicate()
            assert networks_of(engine, owner) == []
            if ends is not None:
                assert select.select([ends], [], [], 60)[0], f"{PROGRAM} goes on"
        finally:
            if ends is not None:
                os.close(ends)
            trainer.kill()


def networks_of(engine: Engine, owner: str) -> list[str]:
    """The Docker networks of a process."""
    if not isinstance(engine, DockerEngine):
        return []
    return [each["Name"] for each in engine.client.api.networks(filters={"label": f"{LABEL}={owner}"})]


@pytest.mark.every_engine
@pytest.mark.only_engine("docker")
class TestBridges:
    """The bridges of Docker episodes."""

    def test_a_restart_keeps_the_machine_closed(
        self, engine: Engine, small: Image, machine: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A container whose processes cannot be killed is restarted, in a new network namespace."""
        with engine.start(engine.prepare(small), LIMITS) as container:
            assert isinstance(container, DockerContainer)
            assert container.network is not None
            monkeypatch.setattr(DockerContainer, "_kill", lambda _, done: done.set_result(False))
            with monkeypatch.context() as patch:
                patch.setattr("gem_terminal.engines.docker.container.others_than", _refuses)
                container.kill_all()
            target = f"{container.network.subnet[1]}:{machine.split()[0]}"
            assert output(container, ASK, target) == "asked\n"

    @pytest.mark.parametrize(
        ("pools", "message"),
        [
            ("10.0.0.0/30", "must hold 16 addresses"),
            ("ten", "must be IPv4 networks"),
            ("127.0.0.0/28", "no subnet is free"),
        ],
    )
    def test_pools_that_hold_no_subnet(
        self, engine: Engine, small: Image, monkeypatch: pytest.MonkeyPatch, pools: str, message: str
    ) -> None:
        """A clear error, and nothing is left."""
        monkeypatch.setenv(POOLS, pools)
        if pools.startswith("127"):
            monkeypatch.setattr(networks, "routed_networks", lambda: [IPv4Network("127.0.0.0/8")])
        assert isinstance(engine, DockerEngine)
        with pytest.raises(EngineError, match=message):
            engine.start(engine.prepare(small), LIMITS)
        assert networks_of(engine, str(engine._owner)) == []

    def test_a_subnet_that_another_process_took(
        self, engine: Engine, small: Image, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The engine refuses it, and the next one is tried until the pool is empty."""
        monkeypatch.setattr(networks, "routed_networks", list)
        monkeypatch.setenv(POOLS, "10.248.0.0/27")
        assert isinstance(engine, DockerEngine)
        labels = {LABEL: str(engine._owner)}
        made = [networks.create_network(engine.client, labels) for _ in range(2)]
        try:
            assert sorted(str(each.subnet) for each in made) == ["10.248.0.0/28", "10.248.0.16/28"]
            with pytest.raises(EngineError, match="no subnet is free"):
                networks.create_network(engine.client, labels)
        finally:
            for each in made:
                engine.client.api.remove_network(each.id)

    def test_a_container_that_does_not_start_leaves_no_network(self, engine: Engine) -> None:
        """The network was made first."""
        assert isinstance(engine, DockerEngine)
        with pytest.raises(EngineError, match="could not start"):
            engine.start("no-such-image:anywhere", LIMITS)
        assert networks_of(engine, str(engine._owner)) == []


def _refuses(*_: object) -> list[int]:
    raise OSError("not here")


ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0102000A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
br0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
br1\t1000F90A\t00000000\t0001\t0\t0\t0\tF0FFFFFF\t0\t0\t0
gone\t2000F90A\t00000000\t0001\t0\t0\t0\tF0FFFFFF\t0\t0\t0
"""
ADDRESS = "".join(f"|-- {each}\n      /32 host LOCAL\n" for each in ("10.0.2.15", "127.0.0.1", "10.249.0.17"))


def test_what_belongs_to_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its addresses, its bridges with their containers, link-local addresses, and the bridges of later episodes.

    A pool in which the machine has another network stays open, and so does the bridge of the container itself.
    """
    files = {"/proc/net/route": ROUTES, "/proc/net/fib_trie": ADDRESS, "/etc/resolv.conf": "nameserver 192.168.200.1\n"}
    files["/sys/class/net/eth0/uevent"] = "INTERFACE=eth0\nIFINDEX=4\n"
    files["/sys/class/net/gone/uevent"] = ""
    files |= {f"/sys/class/net/{each}/uevent": f"DEVTYPE=bridge\nINTERFACE={each}\n" for each in ("br0", "br1")}
    monkeypatch.setattr(host_networks, "_read", files.__getitem__)
    monkeypatch.setenv(POOLS, "10.249.0.0/16,192.168.128.0/17,10.0.0.0/20")
    common = ["10.0.2.15/32", "10.249.0.0/16", "169.254.0.0/16", "172.17.0.0/16"]
    assert sorted(own_networks()) == common
    assert sorted(own_networks(IPv4Network("172.17.0.0/16"))) == common[:3]
    assert sorted(own_networks(IPv4Network("10.249.0.16/28"))) == [common[0], common[1], "10.249.0.17/32", *common[2:]]
    assert IPv4Network("192.168.200.1") in routed_networks()
    assert IPv4Network("0.0.0.0/0") not in routed_networks()
    assert free_network(["10.0.2.0/24", "192.168.200.0/24", "172.17.3.0/24", "10.1.0.0/24"]) == IPv4Network(
        "10.1.0.0/24"
    )
    with pytest.raises(EngineError, match=r"routes into every network .*10\.0\.0\.0/8"):
        free_network(["10.0.0.0/8"])


REFUSES_AT_HOME = """
import os
from ipaddress import IPv4Network
from pathlib import Path
from gem_terminal.engines.docker.networks import refuse_own_networks
from gem_terminal.errors import EngineError
try:
    refuse_own_networks(os.getpid(), IPv4Network("10.1.0.0/28"))
except EngineError as error:
    print(error)
print(Path("/proc/net/route").read_text().splitlines()[1:])
"""


def test_the_routes_of_this_machine_stay() -> None:
    """A container that ended, and whose id a process of this machine has now, has its network."""
    if os.geteuid() != 0:
        pytest.skip("only root sets routes")
    command = ["unshare", "--net", sys.executable, "-c", REFUSES_AT_HOME]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0].endswith("the container has ended, or has the network of this machine")
    assert said[1:] == ["[]"]


@pytest.mark.only_engine("namespace")
def test_mounts_of_others_stay(engine: Engine, small: Image, tmp_path: Path) -> None:
    """Those that this machine shares among mount namespaces, as Docker's folders are, with the mounts in them.

    slirp4netns unmounts all but its own folder, and makes only the root private before.
    """
    if os.geteuid() != 0:
        pytest.skip("only root shares mounts")
    shared = tmp_path / "shared"
    inner = shared / "inner"
    inner.mkdir(parents=True)
    subprocess.run(["mount", "--bind", shared, shared], check=True)
    try:
        subprocess.run(["mount", "--make-shared", shared], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "inner", inner], check=True)
        (inner / "file").write_text("kept")
        with engine.start(engine.prepare(small), LIMITS):
            assert (inner / "file").read_text() == "kept"
    finally:
        subprocess.run(["umount", "--lazy", shared], check=True)
