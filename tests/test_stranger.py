"""A stranger publishes on a hub that somebody else runs, with the commands of the guide, and another user installs it.

Three people with homes of their own: the operator, whose registry runs as a process; ada, whose machine has no gem-hub;
and bob, who has a fresh environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from devtools.newcomer import ENTER, HUB, HUB_GUIDE, REGISTRY, START, Newcomer, commands, served_registry

from gem_hub import sandbox

GEM = """#!{python}
import sys
{hidden}
from gem.cli.main import run
sys.argv[0] = "gem"
run()
"""


class Person:
    """A home, an empty environment that sees the packages of the tests', and a shell in an empty folder."""

    def __init__(self, home: Path, hub: str, hidden: tuple[str, ...] = ()) -> None:
        self.folder = home / "work"
        self.folder.mkdir(parents=True)
        self.hub = hub
        self.home = home
        venv.create(home / "venv", symlinks=True)
        base = {"base": str(home / "venv"), "platbase": str(home / "venv")}
        paths = sysconfig.get_paths("posix_prefix", base)
        self.packages, self.bin = Path(paths["purelib"]), Path(paths["scripts"])
        shared = sysconfig.get_paths()["purelib"]
        (self.packages / "shared.pth").write_text(f"import site; site.addsitedir({shared!r})\n", encoding="utf-8")
        python = self.bin / "python"
        hiding = "".join(f"sys.modules[{name!r}] = None\n" for name in hidden)
        programs = {"gem": GEM.format(python=python, hidden=hiding), "pip": f'#!/bin/sh\nexec {python} -m pip "$@"\n'}
        for name, script in programs.items():
            (self.bin / name).write_text(script, encoding="utf-8")
            (self.bin / name).chmod(0o755)

    def types(self, *lines: str) -> str:
        """Run lines in a shell that stops at the first failure; return stdout."""
        kept = {name: os.environ[name] for name in ("TMPDIR", "LANG") if name in os.environ}
        environment = {
            **kept,
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "VIRTUAL_ENV": str(self.home / "venv"),
            "NO_PROXY": "*",
            "PIP_NO_BUILD_ISOLATION": "0",  # which means true: hatchling is here already
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "UV_NO_CONFIG": "1",
            "UV_OFFLINE": "1",
        }
        text = "\n".join(lines).replace(HUB, self.hub)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout


def served_page(address: str, needed: str = "") -> str:
    """Return a page of a registry, which writes it a moment after a change; ``needed`` is a part of what it awaits."""
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=60) as answer:
                page = str(answer.read().decode())
                if needed in page or time.monotonic() > end:
                    return page
        except urllib.error.HTTPError as error:
            if error.code != 404 or time.monotonic() > end:
                raise
        time.sleep(0.1)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """The address of a registry that an operator runs with the command of the guide, in a process of its own."""
    with served_registry(tmp_path / "operator") as address:
        yield address


@pytest.mark.slow(reason="only separate processes and environments show what each person's machine lacks")
def test_a_stranger_publishes_in_five_commands_and_another_user_installs(hub: str, tmp_path: Path) -> None:
    """From an empty folder to a package that bob finds by search, installs by digest and plays."""
    ada = Person(tmp_path / "ada", hub, hidden=("gem_hub",))
    bob = Person(tmp_path / "bob", hub, hidden=("gem_hub", "gem_testing"))
    steps = commands("gem new my-envs --yes\ncd", REGISTRY)
    assert len(steps) == 5
    shown = ada.types(*steps)
    assert "Logged in as ada" in shown
    assert "my-envs 0.1.0: published" in shown
    wheel = ada.folder / "my-envs" / "dist" / "my_envs-0.1.0-py3-none-any.whl"
    assert wheel.is_file()
    assert ((ada.home / ".config" / "gem" / "credentials.json").stat().st_mode & 0o777) == 0o600

    use, search, install = commands("gem hub use", REGISTRY)
    bob.types(use)
    (found,) = json.loads(bob.types(f"{search} --json"))["packages"]
    assert (found["name"], found["version"]) == ("my-envs", "0.1.0")
    assert not [*bob.packages.glob("my_envs*")]
    bob.types(install)
    direct = json.loads((bob.packages / "my_envs-0.1.0.dist-info" / "direct_url.json").read_text(encoding="utf-8"))
    assert direct["archive_info"]["hashes"]["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    report = json.loads(bob.types("gem rollout my:Treasure-v0-easy --agent reference --episodes 4 --json"))
    assert report["environments"][0]["success_rate"] == 1.0
    # The registry wrote its pages by itself: at its top the command that chooses it, and what ada has published.
    assert 'data-use=""' in served_page(hub)
    assert "my:Treasure-v0" in served_page(f"{hub}p/my-envs/")
    # Nothing that ada has gives bob her rights, and publishing again changes nothing.
    assert not (bob.home / ".config" / "gem" / "credentials.json").exists()
    assert "already published" in ada.types("cd my-envs", "gem hub publish")


@pytest.mark.nightly(reason="the conformance kit and the hack audit run in the registry's sandbox")
@pytest.mark.skipif(sandbox.isolation() == "none", reason="nothing here keeps code apart")
def test_six_commands_lead_to_a_result_on_a_page_of_the_registry(tmp_path: Path, wheels: dict[str, Path]) -> None:
    """From an empty folder; bob finds the package, reads its result, installs it and plays the result again."""
    configuration = f"find_links = [{str(next(iter(wheels.values())).parent)!r}]\n"
    with served_registry(tmp_path / "operator", configuration) as hub:
        ada = Person(tmp_path / "ada", hub, hidden=("gem_hub",))
        bob = Person(tmp_path / "bob", hub, hidden=("gem_hub",))
        steps = commands("gem new my-envs --yes\npip", REGISTRY)
        assert len(steps) == 6
        assert "admitted, as you own the package" in ada.types(*steps)
        use, search, install = commands("gem hub use", REGISTRY)
        bob.types(use)
        (found,) = json.loads(bob.types(f"{search} --json"))["packages"]
        assert found["name"] == "my-envs"
        (board,) = json.loads(bob.types("gem hub info my:Treasure-v0 --results --json"))["leaderboards"]
        assert [entry["agent"] for entry in board["entries"]] == ["reference"]
        bob.types(install)
        assert "same. 12 episodes the same" in bob.types("gem hub results check my:Treasure-v0")
        page = served_page(f"{hub}p/my-envs/", 'class="board"')
    (shown,) = re.findall(r'<section class="board".*?</section>', page, re.DOTALL)
    assert "12 episodes, 0 unknown" in shown


@pytest.mark.nightly
def test_a_newcomer_scores_and_evaluates_with_the_first_page_alone(tmp_path: Path, wheels: dict[str, Path]) -> None:
    """From nothing but Python: install, the first score, a served stand-in and its evaluation, as the page says."""
    trainer = Newcomer(tmp_path / "trainer", next(iter(wheels.values())).parent)
    assert re.search(r"mean return +1\.000", trainer.score())
    shown = trainer.evaluate()
    assert re.search(r"mean return +1\.000", shown)
    assert "20 episodes" in shown
    assert [spent.step for spent in trainer.spent] == ["install", "play", "evaluate"]
    assert all(spent.cpu_seconds > 0 for spent in trainer.spent)


@pytest.mark.nightly
def test_an_author_publishes_the_environment_of_the_first_guide(
    hub: str, tmp_path: Path, wheels: dict[str, Path]
) -> None:
    """From nothing but Python: the guide's package with its game, tested, then the registry's commands."""
    author = Newcomer(tmp_path / "author", next(iter(wheels.values())).parent)
    assert "5 passed" in author.write()
    assert "my-envs 0.1.0: published" in author.publish(hub)


def pythons_for_everybody() -> Iterator[Path]:
    """Yield the installed Pythons that any account of this machine can run, and that GEM supports."""
    for found in dict.fromkeys(map(shutil.which, ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable))):
        python = Path(found or os.devnull).resolve()
        if found and all(folder.stat().st_mode & stat.S_IXOTH for folder in (python, *python.parents)):
            asked = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"
            if subprocess.run([python, "-c", asked], capture_output=True, check=False).returncode == 0:
                yield python


@pytest.fixture
def ordinary(tmp_path: Path, wheels: dict[str, Path]) -> Iterator[Newcomer]:
    """A newcomer without the rights of root, also where these tests have them."""
    folder = next(iter(wheels.values())).parent
    if os.geteuid() != 0:
        yield Newcomer(tmp_path / "author", folder)
        return
    python = next(pythons_for_everybody(), None)
    if python is None:
        pytest.skip("NOT TESTED: no Python here is for other accounts than root's; install Debian's python3-venv")
    with tempfile.TemporaryDirectory() as place:  # pytest's folders are for its own account
        Path(place).chmod(0o755)
        readable = shutil.copytree(folder, Path(place, "wheels"))
        for path in (readable, *readable.iterdir()):
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o644))
        yield Newcomer(Path(place, "author"), readable, python=python, account="nobody")


@pytest.mark.nightly(reason="the conformance kit and the hack audit run in the hub's sandbox")
def test_seven_commands_lead_from_an_empty_folder_to_a_checked_result(ordinary: Newcomer) -> None:
    """From nothing but Python, without root's rights: the package is found, installed, and its result is checked."""
    author = ordinary
    needed = "pip install gem-core gem-testing gem-eval gem-hub"
    author.types("install", *commands("python3 -m venv", START)[:1], ENTER, needed)
    steps = commands("gem new my-envs --yes", HUB_GUIDE)
    assert len(steps) == 7
    shown = author.types("publish", ENTER, *steps)
    assert "admitted, as you own the package" in shown
    assert "same. 12 episodes the same" in shown
    page = (author.home / "hub" / "p" / "my-envs" / "index.html").read_text(encoding="utf-8")
    (board,) = re.findall(r'<section class="board".*?</section>', page, re.DOTALL)
    assert "my:Treasure-v0" in board
    assert "12 episodes, 0 unknown" in board
    use = f"export GEM_HUB={author.home / 'hub'}"
    (found,) = json.loads(author.types("search", ENTER, use, "gem hub search treasure --json"))["packages"]
    assert found["name"] == "my-envs"
    again = ("pip uninstall --quiet --yes my-envs", "gem hub install my-envs", "gem hub results check my:Treasure-v0")
    assert "same. 12 episodes the same" in author.types("check", ENTER, use, *again)
