"""By night: a link between two hosts that delays and loses packets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.xdist_group("environment server by night")]


LINK = """
import os, random, select, struct, sys, time, heapq, fcntl
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
def tun(name):
    handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(handle, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return handle
one, two = tun(sys.argv[1]), tun(sys.argv[2])
delay, loss = float(sys.argv[3]), float(sys.argv[4])
chance = random.Random(1)
print("up", flush=True)
waiting, number = [], 0
while True:
    timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
    for source in select.select([one, two], [], [], timeout)[0]:
        packet = os.read(source, 65536)
        if chance.random() >= loss:
            number += 1
            heapq.heappush(waiting, (time.monotonic() + delay, number, two if source == one else one, packet))
    while waiting and waiting[0][0] <= time.monotonic():
        _, _, target, packet = heapq.heappop(waiting)
        try:
            os.write(target, packet)
        except OSError:
            pass
"""


def command(*words: str) -> None:
    """Run a command of the system."""
    subprocess.run(words, check=True, capture_output=True, text=True)


@pytest.mark.containers
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.skipif(shutil.which("ip") is None, reason="the program ip (iproute2) is not installed")
@pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="this kernel has no TUN devices")
def test_a_link_with_delay_and_loss_changes_no_episode(faulty_specs: dict[str, str]) -> None:
    """Server and client in network namespaces, 10 ms and 2 % loss between them: each step counts once, as without."""
    tag = f"{os.getpid() % 10_000}"
    spaces, devices = [f"gems{tag}", f"gemc{tag}"], [f"ts{tag}", f"tc{tag}"]
    addresses = ["10.231.7.1", "10.231.7.2"]
    with ExitStack() as stack:
        for space in spaces:
            command("ip", "netns", "add", space)
            stack.callback(command, "ip", "netns", "del", space)
        link = subprocess.Popen(
            [sys.executable, "-c", LINK, *devices, "0.01", "0.02"], stdout=subprocess.PIPE, text=True
        )
        stack.callback(link.wait)
        stack.callback(link.kill)
        assert link.stdout is not None
        stack.callback(link.stdout.close)
        assert link.stdout.readline() == "up\n"
        for index, (space, device) in enumerate(zip(spaces, devices, strict=True)):
            command("ip", "link", "set", device, "netns", space)
            inside = ["ip", "netns", "exec", space, "ip"]
            command(*inside, "link", "set", "lo", "up")
            command(*inside, "addr", "add", addresses[index], "peer", addresses[1 - index], "dev", device)
            command(*inside, "link", "set", device, "up")
        environment = {**os.environ, **faulty_specs, "GEM_SERVER_TOKEN": "a-token-across-the-link"}
        serving = ["-m", "gem", "serve", "faulty", "--host", addresses[0], "--port", "8080", "--workers", "1", "--json"]
        server = subprocess.Popen(
            ["ip", "netns", "exec", spaces[0], sys.executable, *serving],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        stack.callback(server.wait)
        stack.callback(server.kill)
        assert server.stdout is not None
        stack.callback(server.stdout.close)
        for line in server.stdout:
            if line.startswith("}"):
                break
        code = (
            "import gem\n"
            f"url = 'http://{addresses[0]}:8080/faulty:Counting-v0'\n"
            "with gem.make_vec(url, num_envs=32, seed=3, mode='server') as envs:\n"
            "    envs.reset()\n"
            "    for turn in range(1, 101):\n"
            "        observations, _, _, truncations, _ = envs.step([str(turn)] * 32)\n"
            "        assert set(observations) == {f'{turn}: {turn}'}, observations\n"
            "        assert not truncations.any()\n"
            "print('whole')\n"
        )
        client = subprocess.run(
            ["ip", "netns", "exec", spaces[1], sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
            timeout=300,
            check=False,
        )
        assert (client.stdout, client.returncode) == ("whole\n", 0), client.stderr
