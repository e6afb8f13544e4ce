"""Attacks in the manner of published lists, and those on the jail, in both tiers: none reaches anything outside."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from test_sandbox_attacks import CONTAINED, ENDLESS

from gem_tools.sandbox import Sandbox, SandboxError, SandboxWarning, Session

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOREIGN: dict[str, str] = tomllib.loads(Path(__file__).with_name("foreign_attacks.toml").read_text())
ATTACKS = {**FOREIGN, **{name: code for name, code, _ in CONTAINED}}
LIMITS = replace(ENDLESS, seconds=5.0)


@dataclass
class World:
    """A sandbox, and what is around it."""

    sandbox: Sandbox
    secret: str
    file: Path
    servers: tuple[socket.socket, ...]
    """Of this machine, on 127.0.0.1 and, where it has IPv6, on ::1 at the same port."""
    bystander: subprocess.Popen[bytes]
    neighbour: Session

    def prelude(self) -> str:
        """The names that attacks use. The secret itself stands there backwards."""
        given = {
            "SECRET": self.secret[::-1],
            "SECRET_FILE": str(self.file),
            "PORT": self.servers[0].getsockname()[1],
            "BYSTANDER": self.bystander.pid,
            "TRAINER": os.getpid(),
        }
        return "".join(f"{name} = {value!r}\n" for name, value in given.items())

    def is_as_before(self) -> None:
        """Check that nothing outside has changed, and that the neighbour notices nothing."""
        assert self.file.read_text() == self.secret
        assert self.file.stat().st_mode & 0o777 == 0o644
        assert self.bystander.poll() is None
        for server in self.servers:
            with pytest.raises(BlockingIOError):
                server.accept()
        assert self.neighbour.run("print(x, open('own').read())").stdout == "41 mine\n"
        assert self.sandbox.run("import json, math\nprint(json.dumps(math.floor(1.5)))").stdout == "1\n"


def both_families() -> list[socket.socket]:
    """Servers of one port on the addresses of the loopback that this machine has."""
    first = socket.create_server(("127.0.0.1", 0))
    port = first.getsockname()[1]
    try:
        return [first, socket.create_server(("::1", port), family=socket.AF_INET6)]
    except OSError:
        return [first]


@pytest.fixture(scope="module", params=["required", "restricted"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world for each tier."""
    secret = secrets.token_hex(16)
    file = tmp_path_factory.mktemp("trainer") / "secret"
    file.write_text(secret)
    file.chmod(0o644)
    with (
        pytest.MonkeyPatch.context() as environment,
        Sandbox(request.param, LIMITS) as sandbox,
        ExitStack() as listening,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", SandboxWarning)
        environment.setenv("HF_TOKEN", secret)
        servers = tuple(listening.enter_context(server) for server in both_families())
        for server in servers:
            server.setblocking(False)
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, {request.param}: {error}")
        with subprocess.Popen(["sleep", "3600"]) as bystander, sandbox.session() as neighbour:
            try:
                assert neighbour.run("x = 41\nopen('own', 'w').write('mine')").ok
                yield World(sandbox, secret, file, servers, bystander, neighbour)
            finally:
                bystander.kill()


def test_there_are_enough_attacks() -> None:
    """Seventy and more, each under a name of its own."""
    assert len(ATTACKS) == len(FOREIGN) + len(CONTAINED) >= 70


@pytest.mark.nightly
@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_reaches_anything_outside(world: World, name: str) -> None:
    """It reads no secret, changes no file, ends no process, and its fork server is the same afterwards."""
    generation = world.sandbox._launcher("").generation
    done = world.sandbox.run(ATTACKS[name], prelude=world.prelude())
    assert "REACHED" not in done.stdout
    assert world.secret not in done.stdout + done.stderr
    assert done.limit != "infrastructure"
    world.is_as_before()
    assert world.sandbox._launcher("").generation == generation
