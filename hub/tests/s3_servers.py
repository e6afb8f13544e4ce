"""S3 servers that others wrote, each in an environment of its own: what they bring is too large for the workspace.

``moto`` (81 MB, from PyPI) keeps conditional writes, s3rver (14 MB, from npm) ignores them. Both are simulators: no
release of a server for production could be had from either place.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BUCKET = "hubs"


def install_moto(folder: Path) -> None:
    environment = folder / "moto"
    if not environment.exists():
        uv = [sys.executable, "-m", "uv"]
        _prepared([*uv, "venv", "-q", "--python", sys.executable, str(environment)], folder)
        packages = ["moto[s3]==5.2.*", "flask", "flask-cors"]
        _prepared([*uv, "pip", "install", "-q", "--python", str(environment / "bin/python"), *packages], folder)


def moto_command(folder: Path, port: int) -> list[str]:
    return [str(folder / "moto/bin/moto_server"), "-H", "127.0.0.1", "-p", str(port)]


def install_s3rver(folder: Path) -> None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("NOT TESTED: there is no npm")
    if not (folder / "node_modules/s3rver").exists():
        (folder / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
        _prepared(["npm", "install", "--silent", "--no-audit", "--no-fund", "s3rver@3.7.1"], folder)


def s3rver_command(folder: Path, port: int) -> list[str]:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    return ["node", str(folder / "node_modules/.bin/s3rver"), "-d", str(data), "-p", str(port), "-a", "127.0.0.1"]


COMMANDS = {"moto": (install_moto, moto_command), "s3rver": (install_s3rver, s3rver_command)}
"""What installs a server into a folder, and what returns the command that serves from there at a port."""
KEYS = {"moto": "test", "s3rver": "S3RVER"}


@contextmanager
def serving(name: str, folder: Path, reserve_port: Callable[[], int]) -> Iterator[dict[str, str]]:
    """Run a server with an empty bucket; yield the environment variables that lead to it."""
    install, command_at = COMMANDS[name]
    install(folder)
    port = reserve_port()
    command = command_at(folder, port)
    if name == "s3rver":
        command += ["--configure-bucket", BUCKET]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        _await(process, port)
        url = f"http://127.0.0.1:{port}"
        if name == "moto":
            urllib.request.urlopen(urllib.request.Request(f"{url}/{BUCKET}", method="PUT"), timeout=60).close()
        yield {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": KEYS[name],
            "AWS_SECRET_ACCESS_KEY": KEYS[name],
            "AWS_REGION": "us-east-1",
        }
    finally:
        process.kill()
        process.wait()


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server answers or has ended."""
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        os.sched_yield()
    raise AssertionError(f"the server ended with {process.returncode}")


def _prepared(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode:
        pytest.skip(f"NOT TESTED: {command[0]} could not install it: {done.stderr[-500:]}")
