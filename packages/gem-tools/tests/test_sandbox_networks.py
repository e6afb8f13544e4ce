"""The network of an execution: servers of its own on 127.0.0.1 and ::1, and nobody else's."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_sandbox_attacks import PATIENT, TOGETHER

from gem_tools.sandbox import Sandbox, SandboxError
from gem_tools.sandbox.inside.watchdog import SOCKET_MEMORY

LISTEN = (
    "import socket\nfamily = socket.AF_INET6 if ':' in {host!r} else socket.AF_INET\n"
    "server = socket.create_server(({host!r}, {port}), family=family, backlog=4096)\n"
    "address = server.getsockname()[:2]\n"
)
SERVER = (
    LISTEN + "client = socket.create_connection(address)\nother = server.accept()[0]\n"
    "other.sendall(b'{word}')\nprint(client.recv(9).decode(), address[1])"
)
"""A server and its client in one program."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """The jail, where its executions have networks of their own."""
    if os.statvfs("/proc/sys").f_flag & os.ST_RDONLY:
        pytest.skip("NOT TESTED: the kernel's settings cannot be written here")
    with Sandbox("required", PATIENT) as sandbox:
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
        yield sandbox


@pytest.fixture(params=["127.0.0.1", "::1"])
def host(request: pytest.FixtureRequest) -> str:
    """An address of the loopback that this machine has as well."""
    address: str = request.param
    try:
        listen(address).close()
    except OSError as error:
        pytest.skip(f"NOT TESTED, {address}: this machine has no such address ({error})")
    return address


def listen(host: str) -> socket.socket:
    """A server of this machine on any port."""
    return socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def test_a_server_of_this_machine_is_out_of_reach(sandbox: Sandbox, host: str) -> None:
    """Loopback inside is not the trainer's, under any of its names."""
    with listen(host) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        for address in (host, "localhost", "ip6-localhost", "::ffff:127.0.0.1", "::", "0.0.0.0"):
            done = sandbox.run(f"import socket\nsocket.create_connection(({address!r}, {port}), 5)")
            assert "ConnectionRefusedError" in done.stderr, address
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_address_of_this_machine_has_a_route(sandbox: Sandbox) -> None:
    """Of IPv6 as of IPv4: nothing but the loopback is there, without an interface to name."""
    found = Path("/proc/net/if_inet6").read_text().split("\n") if Path("/proc/net/if_inet6").exists() else []
    addresses = [":".join(line[place : place + 4] for place in range(0, 32, 4)) for line in found if line[-2:] != "lo"]
    code = (
        "import socket\nfor address in {addresses!r}:\n    for scope in range(5):\n"
        "        kind = socket.SOCK_DGRAM\n        try:\n"
        "            with socket.socket(socket.AF_INET6, kind) as link: link.connect((address, 9, 0, scope))\n"
        "        except OSError: continue\n        print('REACHED', address, scope)\n"
    )
    wanted = ["2001:db8::1", "ff02::1", *(each for each in addresses if each)]
    assert sandbox.run(code.format(addresses=wanted)).stdout == ""


def test_each_program_reaches_its_own_servers_and_nobody_elses(sandbox: Sandbox, host: str) -> None:
    """Programs that run at the same time have the same address and port, and each talks to itself."""
    sessions = [sandbox.session() for _ in range(3)]
    for number, session in enumerate(sessions):
        done = session.run(SERVER.format(host=host, port=8000, word=f"to {number}"))
        assert done.stdout == f"to {number} 8000\n", done
    for address in (host, "0.0.0.0", "::", "localhost", "ip6-localhost", socket.gethostname()):
        done = sandbox.run(f"import socket\nsocket.create_connection(({address!r}, 8000), 5)")
        assert "ConnectionRefusedError" in done.stderr, address
    for session in sessions:
        session.close()


def test_a_server_of_a_program_is_out_of_reach_of_this_machine(sandbox: Sandbox, host: str) -> None:
    """Also under the address of all interfaces."""
    with listen(host) as free:
        port = free.getsockname()[1]
    everywhere = "::" if ":" in host else "0.0.0.0"
    with sandbox.session() as session:
        assert session.run(LISTEN.format(host=everywhere, port=port) + "print('listens')").stdout == "listens\n"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, port), 5)


# As models and the guides of the libraries write them; each prints what its client hears.
SERVERS = """
import asyncio, http.server, socket, socketserver, threading, urllib.request
from multiprocessing.connection import Client, Listener

async def echo(reader, writer):
    writer.write(await reader.readline())
    await writer.drain()
    writer.close()

async def ask(host, at):
    server = await asyncio.start_server(echo, host, 0 if host else 8123)
    port = server.sockets[0].getsockname()[1]
    async with server:
        for one in at:
            reader, writer = await asyncio.open_connection(one, port)
            writer.write(f"asyncio {host} {one}\\n".encode())
            print((await reader.readline()).decode().strip())
            writer.close()

everywhere = ["127.0.0.1", "::1", "localhost"]
for host, at in (("localhost", ["localhost", "127.0.0.1"]), ("::1", ["::1"]), (None, everywhere)):
    asyncio.run(ask(host, at))

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass

class Six(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

Four = http.server.HTTPServer
for kind, host, url in ((Four, "localhost", "localhost"), (Six, "::1", "[::1]"), (Six, "::", "127.0.0.1")):
    with kind((host, 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with urllib.request.urlopen(f"http://{url}:{server.server_port}/") as answer: print("http", url, answer.status)
        server.shutdown()

for name in ("localhost", "ip6-localhost"): print({found[4][0] for found in socket.getaddrinfo(name, 80)})
print("dual stack", socket.has_dualstack_ipv6())
with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    with socket.create_connection(("127.0.0.1", server.getsockname()[1])): print(server.accept()[1][0])
with socket.create_server(("localhost", 0)) as server:
    with socket.create_connection(server.getsockname()): print(server.accept()[1][0])
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as two:
    one.bind(("::1", 0))
    two.sendto(b"datagram", one.getsockname())
    print(one.recvfrom(99)[0].decode())
with Listener(("localhost", 0), authkey=b"k") as listener:
    threading.Thread(target=lambda: listener.accept().send("listener")).start()
    with Client(listener.address, authkey=b"k") as client: print(client.recv())
"""
SAID = """asyncio localhost localhost
asyncio localhost 127.0.0.1
asyncio ::1 ::1
asyncio None 127.0.0.1
asyncio None ::1
asyncio None localhost
http localhost 200
http [::1] 200
http 127.0.0.1 200
{'127.0.0.1'}
{'::1'}
dual stack True
::ffff:127.0.0.1
127.0.0.1
datagram
listener
"""


@pytest.mark.parametrize("host", ["::1"], indirect=True)
def test_servers_of_libraries_listen_on_both_addresses(sandbox: Sandbox, host: str) -> None:
    """Those of asyncio, http.server, multiprocessing and sockets, one at a port of both families."""
    done = sandbox.run(SERVERS)
    assert (done.stdout, done.stderr) == (SAID, ""), host


USES = {
    "connections": SERVER.format(host="HOST", port=8001, word="x") + "\nother.close(); client.close(); server.close()",
    "a route": "socket.socket(family, socket.SOCK_DGRAM).connect(('HOST', 9))",
    "no route": "socket.socket(family, socket.SOCK_DGRAM).connect_ex(('AWAY', 9))",
}
LOOK = (
    "import glob\nfor name in 'snmp snmp6 rt6_stats ipv6_route netstat tcp tcp6 udp6 igmp6'.split():\n"
    "    for path in glob.glob(f'/proc/self/net/{name}'): print(name, open(path).read())\n"
)


@pytest.mark.parametrize("use", USES)
def test_a_network_that_was_used_serves_no_other_program(sandbox: Sandbox, host: str, use: str) -> None:
    """Ports whose connections have ended are free, and all that the kernel shows is that of a new network."""
    away = "2001:db8::1" if ":" in host else "203.0.113.1"
    family = f"import socket\nfamily = socket.AF_INET6 if ':' in {host!r} else socket.AF_INET\n"
    unused = sandbox.run(LOOK).stdout
    assert unused.count("Tcp:") == 2
    for _ in range(2):
        assert sandbox.run(family + USES[use].replace("HOST", host).replace("AWAY", away)).ok
        assert sandbox.run(LOOK).stdout == unused
        bind = f"{family}socket.socket(family).bind(({host!r}, 8001))\nprint('free')"
        assert sandbox.run(bind).stdout == "free\n"


def test_a_network_without_use_serves_again(sandbox: Sandbox) -> None:
    """Or each execution would wait for the kernel to make one."""
    look = "import os\nprint(os.stat('/proc/self/ns/net').st_ino)"
    assert len({sandbox.run(look).stdout for _ in range(4)}) == 1


@pytest.mark.parametrize("host", ["::1"], indirect=True)
def test_a_program_joins_no_groups_of_ipv6(sandbox: Sandbox, host: str) -> None:
    """Options of protocols have no effect but the one that servers need, whatever their numbers mean elsewhere."""
    look = "open('/proc/self/net/igmp6').read()"
    code = (
        f"import socket, struct\nbefore = {look}\nlink = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
        "group = socket.inet_pton(socket.AF_INET6, 'ff02::77') + struct.pack('I', 1)\n"
        "link.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)\n"
        "link.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)\n"
        f"print(before == {look}, link.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY))\n"
        "stream = socket.socket()\nstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 5)\n"
        "print(stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT))"
    )
    assert sandbox.run(code).stdout == "True 1\n0\n", host


BOTH = pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=pytest.mark.nightly)], indirect=True)


@BOTH
def test_connections_that_nobody_accepts_count_as_sockets(sandbox: Sandbox, host: str) -> None:
    """A program with one descriptor has as many as its server's queue takes."""
    code = LISTEN.format(host=host, port=0) + (
        "import time\nfor _ in range(4000):\n"
        "    with socket.create_connection(address) as client: client.send(b'x')\ntime.sleep(100)"
    )
    done = sandbox.run(code, limits=TOGETHER)
    assert (done.limit, done.exit_code, done.timed_out) == ("memory", None, False), done


@BOTH
def test_connections_hold_no_more_than_a_socket_counts_for(sandbox: Sandbox, host: str) -> None:
    """What a sender gets rid of while nobody reads, both ends together; and few of those that have ended are kept."""
    listening = LISTEN.format(host=host, port=0)
    open_one = listening + (
        "client = socket.create_connection(address)\nother = server.accept()[0]\n"
        "other.sendall(b'x' * 50_000); client.recv(50_000)\nclient.settimeout(0.5)\nsent = 0\n"
        "try:\n    while True: sent += client.send(bytes(65536))\nexcept TimeoutError: print(sent)"
    )
    assert 0 < int(sandbox.run(open_one).stdout) < 2 * SOCKET_MEMORY
    ended = listening + (
        "import re\nfor _ in range(1500):\n"
        "    with socket.create_connection(address): other = server.accept()[0]\n    other.close()\n"
        "print(re.search(r'tw (\\d+)', open('/proc/self/net/sockstat').read())[1])"
    )
    assert 0 < int(sandbox.run(ended).stdout) <= 1024
