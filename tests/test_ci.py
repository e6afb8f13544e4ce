""".ci/machine on machines of many kinds, which are folders of programs here: the whole PATH of the script."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
USUAL = ("bash", "cat", "mkdir", "mv", "rm", "setsid", "sleep", "tail", "touch")
PRESENT = ("cc", "chromium", "node", "npm", "initdb", "bwrap", "tmux", "ip", "unshare")
SILENT = "#!/bin/sh\nexit 0\n"

# A client that has a server as soon as one has been started.
CLIENT = '#!/bin/sh\ntest -e "$MACHINE/server"\n'
SERVER = '#!/bin/sh\ntouch "$MACHINE/server"\nsleep 60\n'
DEBOOTSTRAP = '#!/bin/sh\nmkdir -p "$3/etc"\ntouch "$3/etc/debian_version"\n'
# Notes the packages that it must install, and copies the programs that each brings.
APT_GET = """#!/bin/sh
[ "$1" = install ] || exit 0
for package in "$@"; do
  echo "$package" >> "$MACHINE/asked"
  if [ -d "$MACHINE/packages/$package" ]; then cp "$MACHINE/packages/$package"/* "$MACHINE/bin"; fi
done
"""
APT_CACHE = '#!/bin/sh\ntest -e "$MACHINE/packages/$2"\n'


class Machine:
    """A machine with a few programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        for name in (*USUAL, "cp", "test"):
            found = shutil.which(name)
            assert found is not None, name
            (folder / "bin" / name).symlink_to(found)
        self.add("id", '#!/bin/sh\n[ "$1" = -u ] && echo 0 || echo root\n')
        for name in PRESENT:
            self.add(name)

    def add(self, name: str, text: str = SILENT) -> None:
        """Put a program onto the machine."""
        self._write(self.folder / "bin" / name, text)

    def remove(self, name: str) -> None:
        """Take a program off the machine."""
        (self.folder / "bin" / name).unlink()

    def offer(self, package: str, programs: Mapping[str, str]) -> None:
        """Put a package into the lists of apt."""
        self.add("apt-get", APT_GET)
        self.add("apt-cache", APT_CACHE)
        (self.folder / "packages" / package).mkdir(parents=True)
        for name, text in programs.items():
            self._write(self.folder / "packages" / package / name, text)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def prepare(self, *phase: str, ci: bool = True) -> subprocess.CompletedProcess[str]:
        """Run .ci/machine with no other program than this machine's."""
        variables = {
            "CI": "true" if ci else "",
            "GEM_CI_STATE": str(self.folder / "state"),
            "MACHINE": str(self.folder),
            "PATH": str(self.folder / "bin"),
        }
        bash = self.folder / "bin" / "bash"
        done = subprocess.run(
            [bash, ROOT / ".ci" / "machine", *phase],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        # The server that was started belongs to this test.
        for line in done.stderr.splitlines():
            if "to stop it: kill" in line:
                with suppress(ProcessLookupError):
                    os.kill(int(line.split()[-1]), signal.SIGTERM)
        return done

    @property
    def asked(self) -> list[str]:
        """The packages that apt was asked to install."""
        path = self.folder / "asked"
        words = path.read_text(encoding="utf-8").split() if path.exists() else []
        return [word for word in words if (self.folder / "packages" / word).exists()]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine where root finds everything but Docker, debootstrap and apt."""
    return Machine(tmp_path / "machine")


@pytest.fixture
def with_apt(machine: Machine) -> Machine:
    """The same with apt, which has Docker and debootstrap."""
    machine.offer("docker.io", {"docker": CLIENT, "dockerd": SERVER})
    machine.offer("debootstrap", {"debootstrap": DEBOOTSTRAP})
    return machine


def settings(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Return the variables that the script exports."""
    words = [shlex.split(line) for line in done.stdout.splitlines()]
    assert all(word[0] == "export" for word in words)
    return dict(word[1].split("=", 1) for word in words)


def test_a_bare_machine_gets_an_engine(with_apt: Machine) -> None:
    """Docker and debootstrap are installed and used, and the tests must use both engines."""
    done = with_apt.prepare()
    assert done.returncode == 0, done.stderr
    assert with_apt.asked == ["debootstrap", "docker.io"]
    debian = str(with_apt.folder / "state" / "bookworm")
    assert settings(done) == {"GEM_TERMINAL_TEST_ROOT": debian, "GEM_REQUIRE_ENGINES": "docker,namespace"}
    assert "dockerd stays after the tests" in done.stderr


def test_a_client_without_a_server_is_no_engine(with_apt: Machine) -> None:
    """A docker command alone does not keep the server from being installed."""
    with_apt.add("docker", CLIENT)
    done = with_apt.prepare()
    assert "docker.io" in with_apt.asked
    assert settings(done)["GEM_REQUIRE_ENGINES"] == "docker,namespace"


@pytest.mark.parametrize(("phase", "others"), [("compiler", []), ("programs", ["debootstrap", "docker.io"])])
def test_a_compiler_is_installed_where_there_is_none(with_apt: Machine, phase: str, others: list[str]) -> None:
    """A machine without a compiler gets one before anything else begins, as pycosat has no wheels."""
    with_apt.remove("cc")
    with_apt.offer("gcc", {"gcc": SILENT})
    with_apt.offer("libc6-dev", {"crt1.o": SILENT})
    done = with_apt.prepare(phase)
    assert done.returncode == 0, done.stderr
    assert sorted(with_apt.asked) == sorted(["gcc", "libc6-dev", *others])
    assert done.stdout == ""
    assert "starting" not in done.stderr


def test_an_engine_that_runs_is_used(with_apt: Machine) -> None:
    """If an engine answers, none is installed or started."""
    with_apt.add("docker")
    done = with_apt.prepare()
    assert with_apt.asked == ["debootstrap"]
    assert "starting" not in done.stderr
    assert settings(done)["GEM_REQUIRE_ENGINES"] == "docker,namespace"


def _no_apt(machine: Machine) -> str:
    machine.remove("apt-get")
    return "there is no apt-get"


def _not_root(machine: Machine) -> str:
    machine.add("id", '#!/bin/sh\n[ "$1" = -u ] && echo 1000 || echo user\n')
    machine.add("sudo", "#!/bin/sh\nexit 1\n")
    return "this user is not root"


def _not_in_lists(machine: Machine) -> str:
    shutil.rmtree(machine.folder / "packages" / "docker.io")
    return "docker.io is left out, because this machine cannot have it: it is in none of the package lists"


def _no_namespaces(machine: Machine) -> str:
    for name in ("unshare", "bwrap"):
        machine.add(name, "#!/bin/sh\nexit 1\n")
    return "it may not make namespaces"


@pytest.mark.parametrize("lack", [_no_apt, _not_root, _not_in_lists, _no_namespaces])
def test_what_a_machine_cannot_have_is_left_out(with_apt: Machine, lack: Callable[[Machine], str]) -> None:
    """A machine without the means for an engine is fit for continuous integration, which says what it leaves out."""
    reason = lack(with_apt)
    done = with_apt.prepare()
    assert done.returncode == 0, done.stderr
    assert reason in done.stderr
    assert "ERROR" not in done.stderr
    assert "docker" not in settings(done)["GEM_REQUIRE_ENGINES"]


def _apt_fails(machine: Machine) -> None:
    machine.add("apt-get", '#!/bin/sh\n[ "$1" = update ]\n')


def _server_fails(machine: Machine) -> None:
    machine.offer("docker-cli", {"docker": CLIENT})
    (machine.folder / "packages" / "docker.io" / "dockerd").write_text("#!/bin/sh\necho no such driver\nexit 1\n")


def _debootstrap_fails(machine: Machine) -> None:
    (machine.folder / "packages" / "debootstrap" / "debootstrap").write_text("#!/bin/sh\nexit 1\n")


def _bubblewrap_fails(machine: Machine) -> None:
    machine.add("bwrap", "#!/bin/sh\nexit 1\n")


@pytest.mark.parametrize("defect", [_apt_fails, _server_fails, _debootstrap_fails, _bubblewrap_fails])
def test_what_a_machine_could_have_must_work(with_apt: Machine, defect: Callable[[Machine], None]) -> None:
    """Continuous integration fails where an engine could be had and cannot be tested; elsewhere that is a message."""
    defect(with_apt)
    done = with_apt.prepare()
    assert done.returncode == 1
    assert "ERROR" in done.stderr
    assert "could be had on this machine" in done.stderr
    done = with_apt.prepare(ci=False)
    assert done.returncode == 0
    assert "GEM_REQUIRE_ENGINES" not in settings(done)


def test_lists_of_packages_that_cannot_be_had_are_a_defect(with_apt: Machine) -> None:
    """If apt-get update fails, a package missing from the lists may exist, so it is not left out."""
    with_apt.add("apt-get", "#!/bin/sh\nexit 1\n")
    shutil.rmtree(with_apt.folder / "packages" / "docker.io")
    done = with_apt.prepare()
    assert done.returncode == 1
    assert "docker.io could be had on this machine" in done.stderr


@pytest.mark.parametrize(("program", "package"), [("node", "nodejs"), ("bwrap", "bubblewrap"), ("tmux", "tmux")])
def test_every_program_that_tests_need_is_installed(with_apt: Machine, program: str, package: str) -> None:
    """A missing program is installed; a failure to install it fails continuous integration."""
    with_apt.remove(program)
    with_apt.offer(package, {program: SILENT})
    assert with_apt.prepare().returncode == 0
    assert package in with_apt.asked
    with_apt.remove(program)
    _apt_fails(with_apt)
    done = with_apt.prepare()
    assert done.returncode == 1
    assert package in done.stderr


def test_the_workflow_runs_what_a_change_touches() -> None:
    """The choice of packages comes from dev.py, so that a new package needs no line in the workflow."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    night = {"nightly", "mutants", "cells", "strangers"}
    assert set(jobs) == {"choose", "package", "across", "elsewhere", "lint", "demo", *night}
    assert all(needed in jobs for job in jobs.values() for needed in [job.get("needs", "choose")])
    assert jobs["package"]["strategy"]["matrix"]["package"] == "${{ fromJSON(needs.choose.outputs.packages) }}"
    assert jobs["package"]["strategy"]["matrix"]["python"] == ["3.10", "3.14"]
    commands = {name: "\n".join(step.get("run", "") for step in job["steps"]) for name, job in jobs.items()}
    assert "dev.py touched" in commands["choose"]
    assert "bash .ci/run tests" in commands["across"]
    assert 'dev.py package "$PACKAGE"' in commands["package"]
    assert "bash .ci/run --all" in commands["nightly"]
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert not [name for name in package_names() if name in text]


def package_names() -> list[str]:
    return [project.parent.name for project in ROOT.glob("packages/*/pyproject.toml")]


def test_the_run_prepares_the_machine_and_runs_the_test_command() -> None:
    """The script that continuous integration starts uses what .ci/machine says and the README's test command."""
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert text.index(".ci/machine compiler") < text.index(".ci/machine >") < text.index("dev.py setup")
    assert text.index('wait "$machine"') < text.index('. "$settings"')
    assert 'python3 dev.py test "$@"' in text
