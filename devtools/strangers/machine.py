"""A machine: an overlay over read-only layers, in mount, process, IPC and host name namespaces of its own.

Its network is that of this machine, so that its pip reaches the same indexes, and its processors are too.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

__all__ = ["MachineError", "Mount", "OverlayMachine", "busy_neighbour", "missing_rights", "remove_tree"]

APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts")
_ENTER = Path(__file__).with_name("enter.sh")
_PROGRAMS = ("unshare", "mount", "umount", "pivot_root", "hostname")
_SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100000))\n"


class MachineError(Exception):
    """This machine cannot have such a machine; the message is the reason."""


class Mount(NamedTuple):
    """A file or folder of this machine that is seen on another one; ``mode`` is ``ro`` or ``rw``."""

    source: Path
    target: str
    mode: str = "ro"


class OverlayMachine:
    """A machine whose changes lie in a folder.

    Args:
        cache: the folder of the layers.
        layers: the read-only layers, topmost first, as paths relative to that folder.
        folder: the folder of the changes, relative too; ``upper`` in it is what has changed.
        mounts: what the machine sees of this one, besides the addresses of its name servers.
        variables: the environment variables of its commands, besides those that a shell begins with.
    """

    def __init__(
        self,
        cache: Path,
        layers: Sequence[str],
        folder: str,
        mounts: Sequence[Mount] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._cache, self._layers, self._folder = cache, layers, folder
        self._variables = {"LANG": "C.UTF-8", **(variables or {})}
        self._place = cache / folder
        self._place.mkdir(parents=True)
        resolver = Mount(Path("/etc/resolv.conf"), "/etc/resolv.conf")
        text = "".join(f"{mode}\t{source}\t{target}\n" for source, target, mode in (resolver, *mounts))
        (self._place / "mounts").write_text(text, encoding="utf-8")

    def run(
        self,
        *command: str,
        log: Path,
        account: str = "root",
        directory: str = "/",
        stdin: Path | None = None,
        limit: float | None = None,
    ) -> int | None:
        """Run a command as a user of the machine; return its exit code, None if it was ended at the limit of time.

        All processes of the machine end with the command.

        Args:
            command: the program with its arguments.
            log: receives standard output and standard error, after what it has already.
            account: the user's name.
            directory: the folder to start in.
            stdin: a file for standard input; by default it is empty.
            limit: seconds.
        """
        variables = [f"{name}={value}" for name, value in self._variables.items()]
        inside = [":".join(self._layers), self._folder, account, directory, *variables, *command]
        with log.open("ab") as output, (stdin or Path(os.devnull)).open("rb") as given:
            process = subprocess.Popen(
                [*APART, "sh", str(_ENTER), *inside],
                cwd=self._cache,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
                stdin=given,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                process.kill()
                process.wait()

    def __enter__(self) -> OverlayMachine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove all that has changed."""
        remove_tree(self._place)


def remove_tree(folder: Path) -> None:
    """Remove a folder, if it exists; tests leave folders behind that are nested too deeply for shutil."""
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)  # noqa: S607


def missing_rights(cache: Path) -> str | None:
    """Return the reason why no machine can be made here, None if machines can be made.

    Args:
        cache: the folder in which their layers would lie.
    """
    if sys.platform != "linux":
        return "only Linux has namespaces"
    if os.geteuid() != 0:
        return "only root can mount a root file system; run this as root, or with a sudo that asks for no password"
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    missing = [name for name in _PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        return f"there is no {' and no '.join(missing)} (Debian: apt install util-linux mount hostname)"
    with tempfile.TemporaryDirectory(dir=cache) as trial:
        for name in ("lower", "upper", "work", "root"):
            Path(trial, name).mkdir()
        overlay = "mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay root"
        done = subprocess.run(
            [*APART, "sh", "-c", overlay], cwd=trial, capture_output=True, text=True, errors="replace", check=False
        )
    if done.returncode:
        said = done.stderr.strip().partition("\n")[0]
        return f"in namespaces of its own, no overlay can be mounted below {cache}: {said}"
    return None


@contextmanager
def busy_neighbour(processes: int) -> Iterator[None]:
    """Keep processors busy outside of the machines, at normal priority."""
    started = [subprocess.Popen([sys.executable, "-I", "-c", _SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.send_signal(signal.SIGKILL)
        for process in started:
            process.wait()
