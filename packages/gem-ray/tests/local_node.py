"""Nodes of Ray as processes of this machine, which can be killed."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["START_OF_NODE", "LocalNode", "descendants", "settings"]

OBJECT_STORE = 80_000_000  # bytes; about the least that Ray accepts

NODE_SETTINGS = {
    "RAY_gcs_server_port_wait_time_s": "300",
    "RAY_gcs_rpc_server_connect_timeout_s": "300",
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
}
"""Time limits of the start of a node, which a busy machine may exceed by far; and no workers without work."""

START_OF_NODE = """
import random, socket
from ray._private import node, parameter, services

def free_ports(count):
    # Ports that the system gives to nobody who does not ask for them by number; and for a minute, in which it
    # remembers a closed connection, to none but a server that may bind it all the same (as reserve_port of the tests).
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first, last = map(int, file.read().split())
    found = []
    for port in random.SystemRandom().sample([*range(1024, first), *range(last + 1, 65536)], 1000):
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.listen(1)
            with socket.create_connection(("127.0.0.1", port)) as client:
                listener.accept()[0].close()
                client.recv(1)
        found.append(port)
        if len(found) == count:
            return found

NAMES = ["dashboard_agent_listen_port", "metrics_agent_port", "runtime_env_agent_port", "metrics_export_port"]
PORTS = dict(zip(NAMES, free_ports(4), strict=True))
initialize, start = parameter.RayParams.__init__, services.start_ray_process

def initialize_with_ports(self, *arguments, **options):
    initialize(self, *arguments, **options)
    vars(self).update(PORTS, no_monitor=True)

def start_with_port(command, *arguments, **options):
    if command[0].endswith("/raylet"):  # it is told the other three
        command = [*command, f"--{NAMES[0]}={PORTS[NAMES[0]]}"]
    return start(command, *arguments, **options)

parameter.RayParams.__init__, services.start_ray_process = initialize_with_ports, start_with_port
node.Node.start_api_server = lambda self, **options: None
"""
"""Code for a process that starts a node, with which a busy machine can start one.

A raylet waits 15 seconds for its agents to choose their ports, which no setting changes, and gives up. It does not wait
for ports that it is told, and Ray does not tell it all of them. Nor does a test need the autoscaler and the dashboard's
server, which take a third of the CPU seconds of a start.
"""

RAY_START = f"{START_OF_NODE}\nfrom ray.scripts.scripts import main\nmain()"
"""The command ``ray``."""


def descendants(pid: int) -> list[int]:
    """Return the living processes below a process, from /proc."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found[1:]


def settings() -> dict[str, str]:
    """Return the environment of every process of a new cluster: a throwaway token, and nothing is reported."""
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        **NODE_SETTINGS,
    }


class LocalNode:
    """A node of a Ray cluster: ``ray start --block``, and all processes below it.

    Args:
        address: of the cluster to join; None for the head of a new one.
        cpus: that it offers.
        folder: for the session of a head.
        ip: its address.
        prefix: of the command, such as ``nsenter --net=FILE``.
        resources: that it offers, as JSON.
    """

    def __init__(
        self,
        address: str | None,
        cpus: int,
        folder: Path,
        *,
        ip: str = "127.0.0.1",
        prefix: Sequence[str] = (),
        resources: str = "{}",
    ) -> None:
        place = ["--head", "--port=0", f"--temp-dir={folder}"] if address is None else [f"--address={address}"]
        options = ["--include-dashboard=false"] if address is None else []
        options += [
            f"--num-cpus={cpus}",
            f"--object-store-memory={OBJECT_STORE}",
            f"--node-ip-address={ip}",
            f"--resources={resources}",
            "--min-worker-port=0",
            "--max-worker-port=0",
            "--disable-usage-stats",
            "--include-log-monitor=false",
            "--block",
        ]
        self.address = address or ""
        command = [*prefix, sys.executable, "-c", RAY_START, "start", *place, *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        said = []
        try:
            for line in self.process.stdout:
                said.append(line)
                if found := re.search(r"--address='([\d.:]+)'", line):
                    self.address = found[1]
                if "--block" in line:
                    return
        except BaseException:  # an interrupt
            self.kill()
            raise
        self.kill()
        raise RuntimeError("".join(said))

    def kill(self) -> None:
        """Kill all processes of the node at once, as a power failure does; once more does nothing."""
        if self.process.returncode is not None:
            return
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
