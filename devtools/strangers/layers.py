"""The root file systems of the machines, in layers: Debian, Python with pip on it, and on that what CI installs.

A layer is made once, and again when its recipe changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devtools.shell import ROOT, say
from devtools.strangers.machine import MachineError, OverlayMachine

__all__ = ["LayerStore"]

SUITE = "bookworm"
"""Debian 12: its Python is 3.11."""
_DEBIAN = f"debian-{SUITE}"
GIVEN = "GEM_TERMINAL_TEST_ROOT"
"""The variable that names the root file system of Debian that .ci/machine made."""

_NOTHING = """
set -eux
export DEBIAN_FRONTEND=noninteractive
apt-get -o Acquire::Retries=3 update -qq
apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends python3 python3-pip
apt-get clean
rm -rf /var/lib/apt/lists/*
echo stranger > /etc/hostname
printf '127.0.0.1 localhost stranger\\n::1 localhost\\n' > /etc/hosts
useradd --create-home --uid 1000 --user-group --shell /bin/bash stranger
chmod 755 /home/stranger
for home in /root /home/stranger; do
  install -d -o "$(stat -c %u $home)" -g "$(stat -c %g $home)" $home/.cache $home/.cache/pip $home/.cache/uv
done
"""
# No service starts with its package: a layer has no processes.
_EVERYTHING = """
set -eux
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
mkdir /run/ci
tar -x -C /run/ci
CI=true GEM_CI_STATE=/run/ci/state bash /run/ci/.ci/machine programs
rm /usr/sbin/policy-rc.d
apt-get clean
rm -rf /var/lib/apt/lists/*
"""


class LayerStore:
    """The layers in a folder.

    Args:
        cache: the folder, which must be on a file system that overlays can lie on.
        logs: the folder that receives what the programs say that make layers.
    """

    def __init__(self, cache: Path, logs: Path) -> None:
        self._cache, self._logs = cache, logs

    def of(self, software: str) -> list[str]:
        """Return the layers of machines with some software, topmost first, relative to the folder.

        Raises:
            MachineError: if one of them cannot be made here.
        """
        debian = self._debian_layer()
        nothing = self._layer("nothing", [debian], _NOTHING, None)
        if software == "nothing":
            return [nothing, debian]
        everything = self._layer("everything", [nothing, debian], _EVERYTHING, ROOT / ".ci" / "machine")
        return [everything, nothing, debian]

    def debian(self) -> Path | None:
        """Return the root file system of Debian that is here already, None if there is none."""
        made_for_tests = os.environ.get(GIVEN, f"/var/tmp/gem-ci-{os.getuid()}/{SUITE}")  # noqa: S108  # as in .ci/machine
        folders = (self._cache / _DEBIAN, Path(made_for_tests))
        return next((folder for folder in folders if (folder / "etc" / "debian_version").exists()), None)

    def _debian_layer(self) -> str:
        """Return the lowest layer: what is here already, or what debootstrap makes."""
        own = self._cache / _DEBIAN
        if self.debian() is None:
            with self._locked():
                if not own.is_dir():
                    self._bootstrap(own)
        found = self.debian()
        if found in (own, None):
            return own.name
        link = self._cache / "given"
        if not link.is_symlink() or link.readlink() != found:
            link.unlink(missing_ok=True)
            link.symlink_to(found)
        return link.name

    def _bootstrap(self, folder: Path) -> None:
        if shutil.which("debootstrap") is None:
            raise MachineError("there is no debootstrap (Debian: apt install debootstrap)")
        say(f"making a root file system of Debian {SUITE} (once)")
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)  # of a run that was killed
        log = self._logs / "debian.log"
        # A killed debootstrap leaves its mounts behind, unless they are its own.
        command = ("unshare", "--mount", "debootstrap", "--variant=minbase", SUITE, str(new))
        with log.open("wb") as output:
            done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise MachineError(f"debootstrap failed: {_last_line(log)} (see {log})")
        new.rename(folder)

    def _layer(self, name: str, below: list[str], recipe: str, script: Path | None) -> str:
        """Return the folder of a layer, which a shell script makes in a machine on the layers below."""
        digest = hashlib.sha256("\0".join((*below, recipe, script.read_text("utf-8") if script else "")).encode())
        made = self._cache / f"{name}-{digest.hexdigest()[:12]}"
        if not made.is_dir():  # cells of layers that are made do not wait for those that are not
            with self._locked():
                if not made.is_dir():
                    self._make(name, made, below, recipe, script)
        return made.name

    def _make(self, name: str, made: Path, below: list[str], recipe: str, script: Path | None) -> None:
        new = self._cache / f"{name}.new"
        shutil.rmtree(new, ignore_errors=True)  # of a run that was killed
        say(f"making the layer of machines with {name} installed (once)")
        log = self._logs / f"{name}.log"
        with OverlayMachine(self._cache, below, new.name) as machine:
            given = self._archive(script) if script else None
            if machine.run("sh", "-c", recipe, log=log, stdin=given):
                raise MachineError(f"{name} could not be installed: {_last_line(log)} (see {log})")
            (new / "upper").rename(made)

    def _archive(self, script: Path) -> Path:
        """Return a tar archive with the folder of a script."""
        path = self._cache / "script.tar"
        with tarfile.open(path, "w") as archive:
            archive.add(script.parent, arcname=script.parent.name)
        return path

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other programs from making layers meanwhile."""
        with (self._cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
