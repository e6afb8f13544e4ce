"""The environments of the workspace: Hatch in one of its own, and those that Hatch makes with uv.

The first Python that runs dev.py gets the environments in their usual places, ``.venv`` among them. A Python of another
version gets its own in a folder of ``.hatch``, so that neither removes the other's.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from devtools.shell import ROOT, attempt, fail, output_of, run, say, text_of
from devtools.workspace import project_files

HOME = ROOT / ".hatch"
TOOL = HOME / "tool"
HATCH = "hatch>=1.18,<2"
UV = "uv>=0.8"
ENVIRONMENTS = {"default": ROOT / ".venv", **{name: HOME / name for name in ("demo", "mutants", "release")}}
BIN = "Scripts" if os.name == "nt" else "bin"
SUFFIX = ".exe" if os.name == "nt" else ""

TAG_OF = "import sys; print(sys.implementation.cache_tag + getattr(sys, 'abiflags', ''))"
TAG = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
"""The version of Python as in the names of compiled files, such as cpython-312."""


def hatch_run(environment: str, *command: str) -> int:
    """Run a command or a script of pyproject.toml in an environment; return its exit code."""
    folder = prepare(environment)
    hatch = (python_of(TOOL), "-m", "hatch", "run", f"{environment}:{command[0]}")
    return attempt(*hatch, *command[1:], variables=hatch_variables(folder))


def prepare(environment: str) -> Path:
    """Return the folder of an environment, without stale parts; Hatch makes missing parts when it runs."""
    ensure_hatch()
    folder = folder_of(environment)
    discard_if_stale(environment, folder)
    return folder


def folder_of(environment: str) -> Path:
    """Return the folder of this Python's environment.

    That is the usual place, unless an environment of another Python is there and works.
    """
    usual = ENVIRONMENTS[environment]
    owner = tag_of(usual)
    if owner in (None, TAG):
        return usual
    own = HOME / TAG / environment
    say(f"{relative(usual)} belongs to {owner}, this is {TAG}; using {relative(own)}")
    return own


def tag_of(venv: Path) -> str | None:
    """Return the version of an environment's Python, None where there is none or it does not run."""
    said = output_of(python_of(venv), "-I", "-c", TAG_OF)
    return None if said is None else said.strip()


def discard_if_stale(environment: str, folder: Path) -> None:
    """Remove an environment made here whose Python is gone or whose packages' pyproject.toml have changed since.

    Hatch itself notices changed dependencies and new packages, but neither changed entry points nor packages
    that are gone. A .venv from another source stays unchanged, except that Hatch installs missing packages into it.
    """
    digest = hashlib.sha256()
    for project in project_files(ROOT):
        digest.update(f"\0{project.relative_to(ROOT)}\0".encode() + project.read_bytes())
    stamp = data_folder(folder) / f"{environment}.stamp"
    known, wanted = text_of(stamp), digest.hexdigest()
    if folder.exists():
        works = tag_of(folder) is not None
        if known is None and works:
            return
        if known is None:
            fail(f"the Python of {relative(folder)} does not run, and dev.py has not made it; remove or repair it")
        if not works:
            discard(folder, "its Python is gone")
        elif known != wanted:
            discard(folder, "the packaging has changed")
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(wanted, encoding="utf-8")


def discard(folder: Path, reason: str) -> None:
    """Remove an environment, with a message."""
    say(f"{reason}; making {relative(folder)} again")
    shutil.rmtree(folder)


def ensure_hatch() -> None:
    """Install Hatch into an environment of its own, unless one that works is there."""
    stamp = HOME / "tool.stamp"
    if text_of(stamp) == HATCH and attempt(python_of(TOOL), "-c", "", quiet=True) == 0:
        return
    say("installing Hatch into .hatch (once)")
    stamp.unlink(missing_ok=True)
    if attempt(sys.executable, "-m", "pip", "--version", quiet=True) != 0:
        fail(f"{sys.executable} has no pip; install it (Debian: apt install python3-pip) and run this again")
    with tempfile.TemporaryDirectory() as scratch:
        uv = bootstrap_uv(Path(scratch))
        run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, TOOL, variables=uv_variables())
        run(uv, "pip", "install", "--quiet", "--python", python_of(TOOL), HATCH, UV, variables=uv_variables())
    (HOME / "config.toml").touch()
    stamp.write_text(HATCH, encoding="utf-8")


def bootstrap_uv(scratch: Path) -> Path:
    """Unpack the program uv into a folder; return its path.

    Debian's python3 lacks what venv needs to make a complete environment, and its pip must not install into the system
    (PEP 668). But its pip can download, and the wheel of uv is little more than one program.
    """
    run(
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", scratch, UV
    )
    (wheel,) = scratch.glob("uv-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (program,) = (name for name in archive.namelist() if name.endswith(f".data/scripts/uv{SUFFIX}"))
        uv = Path(archive.extract(program, scratch))
    uv.chmod(0o755)
    return uv


def pip_settings() -> dict[str, str]:
    """Return what pip's configuration files and environment variables set for installing; values keep their blanks."""
    said = output_of(sys.executable, "-m", "pip", "config", "list") or ""
    # Later lines win, as in pip: global, user, site, environment variables.
    found = re.findall(r"^(?:global|install|:env:)\.([\w-]+)='(.*)'$", said, re.MULTILINE)
    return {name: value.replace("\\n", " ") for name, value in found}


def uv_variables() -> dict[str, str]:
    """Return the environment variables that give uv the package indexes that pip's configuration names.

    The user's own settings for uv come first.
    """
    settings = pip_settings()
    links = settings.get("find-links", "").split()
    extra = settings.get("extra-index-url", "").split()
    found = {
        "UV_DEFAULT_INDEX": settings.get("index-url", ""),
        "UV_INDEX": " ".join(extra),
        # As pip does, take the best version that any of the indexes has.
        "UV_INDEX_STRATEGY": "unsafe-best-match" if extra else "",
        "UV_FIND_LINKS": ",".join(links),
        "UV_CONSTRAINT": settings.get("constraint", ""),
        "SSL_CERT_FILE": settings.get("cert", ""),
    }
    return {name: value for name, value in found.items() if value and not os.environ.get(name)}


def uncompilable() -> Path | None:
    """Return uv's list of packages to leave out because they cannot be compiled here, or None.

    reasoning-gym depends on pycosat, which has no wheels. One of its 105 data sets uses it (``rg:zebra_puzzles``), too
    few to require a compiler.
    """
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if os.name == "nt" or (any(map(shutil.which, ("cc", "gcc", "clang"))) and header.is_file()):
        return None
    say("there is no C compiler with the headers of Python: pycosat is left out, and rg:zebra_puzzles cannot be used")
    folder = HOME
    if " " in str(folder):  # which separates paths in uv's variable
        folder = Path(tempfile.mkdtemp(prefix="gem-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    overrides = folder / "overrides.txt"
    overrides.parent.mkdir(parents=True, exist_ok=True)
    overrides.write_text("pycosat ; python_version < '0'\n", encoding="utf-8")
    return overrides


def hatch_variables(folder: Path) -> dict[str, str]:
    """Return the environment variables with which Hatch uses an environment in a folder."""
    overrides = uncompilable()
    return {
        **uv_variables(),
        **({"UV_OVERRIDE": str(overrides)} if overrides else {}),
        "HATCH_CACHE_DIR": str(HOME / "cache"),
        "HATCH_CONFIG": str(HOME / "config.toml"),
        # Hatch records the dependencies of an environment here.
        "HATCH_DATA_DIR": str(data_folder(folder)),
        "HATCH_ENV_TYPE_VIRTUAL_PATH": str(folder),
        # The interpreter behind an environment, so that it outlives the environment from which dev.py may be run.
        "HATCH_PYTHON": getattr(sys, "_base_executable", sys.executable),
    }


def data_folder(folder: Path) -> Path:
    """Return the folder for the records of an environment: .hatch, or its Python's folder inside."""
    return folder.parent if folder.parent.parent == HOME else HOME


def python_of(venv: Path) -> Path:
    """Return the interpreter of an environment."""
    return venv / BIN / f"python{SUFFIX}"


def relative(path: Path) -> Path:
    """Return a path as a message shows it."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
