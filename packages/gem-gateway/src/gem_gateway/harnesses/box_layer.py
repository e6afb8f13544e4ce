"""What a box needs to run an agent program: its interpreter, whatever the box's own files are: :func:`box_layer`.

A program for Python or Node.js runs with the interpreter that installed it. Its layer holds a copy of it with the
shared libraries that it and the program's extensions need, and with the loader of this machine's C library, which is
called by its path. So the box needs the same processor and the same kernel interface, a shell for the wrapper, and no
C library, Python or Node.js of its own. Children of the program inherit no search path.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock

from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.installation import COMPLETE, folder_of

__all__ = ["BOX", "BOX_NODE", "BOX_PROGRAM", "BOX_PYTHON", "BOX_SITE", "box_layer"]

BOX = "/opt/gem-agent"
"""The folder of the layer in the box."""
BOX_PYTHON = f"{BOX}/python/bin/python"
BOX_NODE = f"{BOX}/node/bin/node"
BOX_PROGRAM = f"{BOX}/program"
"""Where the installation of npm is shown."""
_LIBRARY = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
BOX_SITE = f"{BOX}/python/{_LIBRARY}/site-packages"
"""Where the packages of an installation of pip are shown."""
_LAYOUT = 2
"""Counts the changes to where the files of a layer lie; a layer of another layout is made anew."""

_UNUSED = (
    "site-packages",
    "dist-packages",
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "config-*",
    "*.opt-?.pyc",
)
_ALWAYS = ("libstdc++.so.6", "libgcc_s.so.1")
"""Libraries that extensions may load without naming them."""
_FOUND = re.compile(r"(?:=> |^\s+)(/\S+) \(0x", re.MULTILINE)
_FOLDERS = ("drivers", "program")
"""Empty folders of the layer, on which others are shown."""
_WRAPPER = """#!/bin/sh
exec {native}/{loader} --library-path {native} --argv0 {wrapper} {native}/{name} {arguments}"$@"
"""
_EXEC_PATH = "process.execPath = process.argv0 = '{node}';\n"
"""What programs start again must be the wrapper, and not the loader, which is the running file."""


def box_layer(harness: Harness, install: Path) -> Path:
    """Return the folder of a program's layer; the first call makes it, in the user's cache.

    Raises:
        HarnessError: if this machine's interpreter cannot be copied.
    """
    if sys.platform != "linux":
        raise HarnessError("agent programs run in a box on Linux alone")
    folder = folder_of(harness).with_name(f"{folder_of(harness).name}.box")
    made_of = [_LAYOUT, sys.version, *harness.requirements, platform.machine()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        try:
            if json.loads((folder / COMPLETE).read_text(encoding="utf-8")) == made_of:
                return folder
        except (OSError, ValueError):
            pass
        shutil.rmtree(folder, ignore_errors=True)
        try:
            for name in _FOLDERS:
                (folder / name).mkdir(parents=True)
            _copy_python(folder / "python", install if harness.installer == "pip" else None)
            if harness.installer == "npm":
                _copy_node(folder / "node")
            _let_all_read(folder)
        except (OSError, subprocess.SubprocessError) as error:
            raise HarnessError(f"the layer of {harness.name} cannot be made in {folder}: {error}") from error
        (folder / COMPLETE).write_text(json.dumps(made_of), encoding="utf-8")
    return folder


def _copy_python(folder: Path, install: Path | None) -> None:
    """Copy this process's Python, without the packages that are installed in it, as a virtual environment and its base.

    Debian's Python looks into ``site-packages`` where ``sys.prefix`` and ``sys.base_prefix`` differ, and nowhere else.
    """
    library, copied = Path(sysconfig.get_path("stdlib")), folder / "base" / _LIBRARY
    shutil.copytree(library, copied, ignore=shutil.ignore_patterns(*_UNUSED), ignore_dangling_symlinks=True)
    (folder / _LIBRARY / "site-packages").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {BOX}/python/base/bin\ninclude-system-site-packages = false\n")
    extensions = [*copied.rglob("*.so"), *(() if install is None else install.rglob("*.so*"))]
    _copy_program(folder, "python", Path(sys._base_executable).resolve(), extensions)  # type: ignore[attr-defined]


def _copy_node(folder: Path) -> None:
    """Copy this machine's Node.js."""
    node = shutil.which("node")
    if node is None:
        raise HarnessError("the program needs Node.js, which is not installed")
    folder.mkdir()
    (folder / "exec_path.cjs").write_text(_EXEC_PATH.format(node=BOX_NODE), encoding="utf-8")
    _copy_program(folder, "node", Path(node).resolve(), (), f"--require {BOX}/node/exec_path.cjs ")


def _copy_program(folder: Path, name: str, program: Path, extensions: Iterable[Path], arguments: str = "") -> None:
    """Copy a program with the libraries that it and its extensions load, and write the wrapper that starts it."""
    native, wrapper = folder / "native", folder / "bin" / name
    native.mkdir()
    wrapper.parent.mkdir()
    shutil.copy2(program, native / name)
    listed = subprocess.run(  # noqa: S603  # a fixed command
        ["ldd", str(program), *map(str, extensions)],  # noqa: S607
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    ).stdout  # fmt: skip
    libraries = {Path(path) for path in _FOUND.findall(listed)}
    loader = next((path for path in libraries if path.name.startswith("ld-")), None)
    if loader is None:
        raise HarnessError(f"ldd names no loader of {program}; a box needs a program that is linked with glibc")
    libraries.update(loader.resolve().parent / name for name in _ALWAYS)
    for path in libraries:
        # An extension brings its own libraries beside it.
        if path.exists() and "site-packages" not in path.parts and "node_modules" not in path.parts:
            shutil.copy2(path.resolve(), native / path.name)
    there = f"{BOX}/{folder.name}"
    text = _WRAPPER.format(
        native=f"{there}/native", wrapper=f"{there}/bin/{name}", loader=loader.name, name=name, arguments=arguments
    )
    wrapper.write_text(text, encoding="utf-8")
    wrapper.chmod(0o755)


def _let_all_read(folder: Path) -> None:
    """Let every user of a box read a folder, whatever the umask of this process."""
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
