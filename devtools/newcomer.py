"""Newcomers: users with nothing but Python and pip who do what the documents say, with the wheels of the packages.

``tests/test_stranger.py`` follows them, and ``benchmarks/newcomers.py`` says how long it takes them.
"""

from __future__ import annotations

import os
import pwd
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.shell import ROOT

__all__ = [
    "ENTER",
    "FIRST",
    "HUB",
    "HUB_GUIDE",
    "REGISTRY",
    "START",
    "Newcomer",
    "Spent",
    "commands",
    "served_registry",
]

START = ROOT / "docs" / "start.md"
FIRST = ROOT / "docs" / "guides" / "first-environment.md"
REGISTRY = ROOT / "docs" / "guides" / "registry.md"
HUB_GUIDE = ROOT / "docs" / "guides" / "hub.md"
HUB = "https://hub.example/"
"""The address of a hub in the documents."""
ENTER = ". .venv/bin/activate"
"""Enters the environment of a newcomer."""


@dataclass(frozen=True)
class Spent:
    """What a step of a newcomer took."""

    step: str
    wall_seconds: float
    cpu_seconds: float
    """Of all its processes."""


def commands(first: str, document: Path) -> list[str]:
    """Return the lines of the block of a document that begins so; ``first`` also begins with ``$`` in a session."""
    blocks = re.findall(
        r"^```(?:text|console)\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (block,) = (str(block) for block in blocks if str(block).startswith((first, f"$ {first}")))
    typed = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    return typed or block.splitlines()


class Newcomer:
    """A user with a home of their own, whose pip has no cache and finds the wheels beside its index.

    Args:
        home: a folder to be made.
        wheels: a folder.
        python: whose folder leads the path; None for the one of this process.
        account: the name of an account of this machine whose rights the user has; None for those of this process.
    """

    def __init__(self, home: Path, wheels: Path, *, python: Path | None = None, account: str | None = None) -> None:
        self.home = home
        self.spent: list[Spent] = []
        home.mkdir(parents=True)
        self._account = None if account is None else pwd.getpwnam(account)
        if self._account is not None:
            os.chown(home, self._account.pw_uid, self._account.pw_gid)
        kept = {name: os.environ[name] for name in ("TMPDIR", "LANG", "PIP_INDEX_URL") if name in os.environ}
        self._environment = {
            **kept,
            "PATH": f"{(python or Path(sys.executable)).resolve().parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "PIP_FIND_LINKS": str(wheels),
            "PIP_NO_CACHE_DIR": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def types(self, step: str, *lines: str) -> str:
        """Run lines in a shell that stops at the first failure; return stdout.

        Raises:
            AssertionError: if a line fails; the message holds the output.
        """
        text = "\n".join(lines)
        before, began = _cpu_seconds(), time.perf_counter()
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", text],
            cwd=self.home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user=None if self._account is None else self._account.pw_uid,
            group=None if self._account is None else self._account.pw_gid,
            extra_groups=None if self._account is None else (),
        )
        self.spent.append(Spent(step, time.perf_counter() - began, _cpu_seconds() - before))
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout

    def score(self) -> str:
        """Follow the first page to the first score; return the output of the evaluation."""
        self.types("install", *commands("python3 -m venv", START))
        return self.types("play", ENTER, *commands("gem eval game:GuessTheNumber-v0-easy --agent", START))

    def evaluate(self) -> str:
        """Follow the first page to the evaluation of a served stand-in for a model; return its output."""
        (serve,) = commands("gem fake-model", START)
        (evaluate,) = commands("gem eval game:GuessTheNumber-v0-easy --base-url http://localhost:8000/v1 --ep", START)
        with self._served(f"{serve} --port 0", r"http://[\d.]+:\d+/v1") as address:
            return self.types("evaluate", ENTER, evaluate.replace("http://localhost:8000/v1", address))

    def write(self) -> str:
        """Follow the first guide: its package with its game, installed, played and tested; return what pytest says."""
        self.types("install", *commands("python3 -m venv", FIRST))
        self.types("install", ENTER, "gem new my-envs --yes", "cd my-envs", *commands("pip install --quiet", FIRST)[:1])
        guide = FIRST.read_text(encoding="utf-8")
        for verb, path, text in re.findall(
            r"<!-- (file|append): (\S+) -->\n```\w+\n(.*?)^```", guide, re.MULTILINE | re.DOTALL
        ):
            with (self.home / "my-envs" / path).open("a" if verb == "append" else "w", encoding="utf-8") as file:
                file.write(text)
        self.types("play", ENTER, "cd my-envs", *commands("gem rollout my:Nim", FIRST))
        return self.types("test", ENTER, "cd my-envs", *commands("pytest", FIRST))

    def check(self) -> str:
        """Run the whole conformance kit, as the first guide does; return what it says."""
        return self.types("check", ENTER, "cd my-envs", *commands("gem check\n", FIRST))

    def publish(self, hub: str) -> str:
        """Publish the package in a hub by the commands of the guide to registries; return what they say."""
        lines = commands("gem new my-envs --yes\ncd", REGISTRY)[2:]
        return self.types("publish", ENTER, "cd my-envs", *(line.replace(HUB, hub) for line in lines))

    @contextmanager
    def _served(self, command: str, address: str) -> Iterator[str]:
        program, *words = command.split()
        variables = {**self._environment, "PYTHONUNBUFFERED": "1"}
        arguments = [str(self.home / ".venv" / "bin" / program), *words]
        with served(arguments, address, variables) as found:
            yield found


@contextmanager
def served(arguments: list[str], address: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Run a server while the context lasts; the value is the part of its first line that a pattern finds."""
    process = subprocess.Popen(
        arguments, env=dict(variables), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(address, process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def served_registry(folder: Path, configuration: str = "conformance = false\n") -> Iterator[str]:
    """Run a registry by the command of its guide, as a process of its operator; the value is its address.

    By default it runs no conformance kit, for which it would install gem-core from a package index.
    """
    (serve,) = (line for line in commands("pip install gem-hub", REGISTRY) if line.startswith("gem hub serve"))
    words = serve.replace("/srv/hub", str(folder / "hub")).split()[1:]
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "settings.toml"
    settings.write_text(configuration, encoding="utf-8")
    more = ["--port", "0", "--config", str(settings), "--registration", "open"]
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    with served([sys.executable, "-m", "gem", *words, *more], r"http://127\.0\.0\.1:\d+/", variables) as address:
        yield address


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
