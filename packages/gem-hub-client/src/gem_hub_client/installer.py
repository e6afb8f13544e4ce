"""The user's own installer, pip or uv, run with the exact files to install.

Hub packages are named by address and sha256, which both installers check. Everything else they find as they always do:
which index that is, is between them and their configuration. No second index is ever added, because whoever has a name
on either of two indexes can take the place of the other's package.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from gem_hub_client.errors import HubError
from gem_hub_client.registry.credentials import logins, reading_login
from gem_hub_client.registry.token_scope import registry_of
from gem_hub_client.resolve import Choice

__all__ = ["Installer", "find_installer", "find_locker", "pinned_line"]

_LOCKS = {"pip": (25, 1), "uv": (0, 6, 15)}
"""The first versions that write pylock.toml."""


_VARIABLE = re.compile(r"\$\{(GEM_HUB_TOKEN_[0-9A-F]{16})\}")


@dataclass(frozen=True)
class Installer:
    """How to run pip or uv for this Python."""

    name: str
    """``pip`` or ``uv``."""
    command: tuple[str, ...]

    @property
    def version(self) -> tuple[int, ...]:
        """The version as numbers; empty if unknown."""
        done = _captured([*self.command, "--version"])
        found = re.search(r"\b(\d+(?:\.\d+)+)", done.stdout)
        return tuple(map(int, found[1].split("."))) if found is not None and done.returncode == 0 else ()

    def install(self, lines: Sequence[str], constraints: Sequence[str], again: Sequence[str]) -> None:
        """Install pinned requirements into this Python; what the installer says goes to stderr.

        Args:
            lines: from :func:`pinned_line`.
            constraints: ``NAME==VERSION`` of packages that must stay what they are.
            again: those of ``lines`` that are installed in this version, but from another file.

        Raises:
            HubError: if the installer fails.
        """
        quiet = [] if sys.stderr.isatty() else ["--quiet"]
        with _file("requirements.txt", lines) as wanted, _file("constraints.txt", constraints) as limits:
            given = ["-r", str(wanted), *(["-c", str(limits)] if constraints else [])]
            if self.name == "uv":
                names = [line.partition(" ")[0].partition("[")[0] for line in again]
                options = [option for name in names for option in ("--reinstall-package", name)]
                self._run(["pip", "install", "--python", sys.executable, *quiet, *options, *given], lines)
                return
            self._run(["install", "--disable-pip-version-check", *quiet, *given], lines)
        if again:
            # pip skips a package that is installed in the same version, whatever its file was.
            with _file("requirements.txt", again) as wanted:
                options = ["--force-reinstall", "--no-deps", "--disable-pip-version-check"]
                self._run(["install", *options, *quiet, "-r", str(wanted)], again)

    def lock(self, lines: Sequence[str], target: Path) -> None:
        """Write a lock file (PEP 751) for pinned requirements and their dependencies, for this Python.

        Raises:
            HubError: if the installer fails.
        """
        quiet = [] if sys.stderr.isatty() else ["--quiet"]
        with _file("requirements.txt", lines) as wanted:
            if self.name == "uv":
                given = ["--format", "pylock.toml", "--no-header", "--python", sys.executable]
                self._run(["pip", "compile", *(quiet or ["--quiet"]), *given, "-o", str(target), str(wanted)])
            else:
                given = ["--only-binary", ":all:", "--disable-pip-version-check"]
                self._run(["lock", *quiet, *given, "-r", str(wanted), "-o", str(target)])

    def build(self, folder: Path, target: Path) -> None:
        """Build the wheel of a project into a folder.

        Raises:
            HubError: if the installer fails.
        """
        if self.name == "uv":
            self._run(["build", "--quiet", "--wheel", "--out-dir", str(target), str(folder)])
        else:
            options = ["--quiet", "--no-deps", "--disable-pip-version-check"]
            self._run(["wheel", *options, "--wheel-dir", str(target), str(folder.resolve())])

    def _run(self, arguments: Sequence[str], lines: Iterable[str] = ()) -> None:
        try:
            # On stderr: stdout is the command's own, which may be JSON. The arguments are ours, the shell has no part.
            command, environment = [*self.command, *arguments], _environment(lines)
            done = subprocess.run(command, stdout=2, check=False, env=environment)  # noqa: S603
        except OSError as error:
            raise HubError(f"{self.command[0]}: cannot be run: {error}") from error
        if done.returncode:
            raise HubError(f"{self.name} failed with exit code {done.returncode}; what it says stands above")


def find_installer() -> Installer:
    """Return pip if this Python has it, otherwise uv.

    Raises:
        HubError: if there is neither.
    """
    found = next(_installers(), None)
    if found is None:
        raise HubError(
            f"this Python has no pip, and there is no uv on the PATH; run: {_python()} -m ensurepip, or install uv"
        )
    return found


def find_locker() -> Installer:
    """Return pip or uv, if one of them can write a pylock.toml.

    Raises:
        HubError: if neither can, with what is needed.
    """
    said = []
    for installer in _installers():
        version = installer.version
        if version >= _LOCKS[installer.name]:
            return installer
        said.append(f"{installer.name} {'.'.join(map(str, version)) or '(without a version)'} cannot")
    reason = " and ".join(said) or "there is neither pip nor uv"
    raise HubError(
        f"writing pylock.toml takes pip 25.1 or uv 0.6.15, or newer, and {reason}; "
        f'run: {_python()} -m pip install --upgrade "pip>=25.1"'
    )


def pinned_line(choice: Choice) -> str:
    """Return the requirement for exactly the chosen file."""
    release = choice.release
    extras = f"[{','.join(choice.extras)}]" if choice.extras else ""
    return f"{release.name}{extras} @ {_with_token(release.url)}#sha256={release.sha256}"


def _with_token(url: str) -> str:
    """Return the address of a private file with the variable of its token, which pip and uv put in and do not keep."""
    login = reading_login(url)
    scheme, separator, rest = url.partition("://")
    return url if login is None else f"{scheme}{separator}__token__:${{{_variable(registry_of(url))}}}@{rest}"


def _variable(registry: str) -> str:
    return f"GEM_HUB_TOKEN_{sha256(registry.encode()).hexdigest()[:16].upper()}"


def _environment(lines: Iterable[str]) -> dict[str, str]:
    """Return the environment of an installer: with the tokens of the private files among some lines, and no others."""
    named = {name for line in lines for name in _VARIABLE.findall(line)}
    tokens = {_variable(address): login.token for address, login in logins().items()} if named else {}
    return {**os.environ, **{name: tokens[name] for name in named & tokens.keys()}}


def _installers() -> Iterator[Installer]:
    if find_spec("pip") is not None:
        yield Installer("pip", (_python(), "-m", "pip"))
    uv = which("uv")
    if uv is not None:
        yield Installer("uv", (uv,))
    elif find_spec("uv") is not None:
        yield Installer("uv", (_python(), "-m", "uv"))


def _python() -> str:
    if not sys.executable:
        raise HubError("this Python does not know its own path, so that nothing can be installed beside it")
    return sys.executable


def _captured(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # as above
    except OSError as error:
        raise HubError(f"{command[0]}: cannot be run: {error}") from error


@contextmanager
def _file(name: str, lines: Iterable[str]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gem-hub-") as folder:
        path = Path(folder, name)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        yield path
