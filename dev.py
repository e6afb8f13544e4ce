#!/usr/bin/env python3
"""Set the workspace up and check it, with nothing but Python 3.10 or newer and its pip.

    python3 dev.py demo                   install every package, run agents in some environments
    python3 dev.py test [PYTEST ARGS]     install every package, run all tests
    python3 dev.py lint                   style and types
    python3 dev.py package [NAME ...]     for each package (default: all): build its wheel, install only that
                                          wheel and what it depends on, run the package's own tests there

It puts Hatch into .hatch/, never into the Python that runs it. Hatch makes the environments that pyproject.toml
describes, with every package installed editable: .venv/ for the tests and for your editor, .hatch/demo/ with the
packages alone, .hatch/lint/. Neither root nor python3-venv is needed. A second run reuses what is there; an
environment is made anew when the packaging of a package or the Python changes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = ROOT / ".hatch"
TOOL = HOME / "tool"
HATCH = "hatch>=1.18,<2"
ENVIRONMENTS = {"default": ROOT / ".venv", "demo": HOME / "demo", "lint": HOME / "lint"}
BIN = "Scripts" if os.name == "nt" else "bin"

# The interpreter that everything is built from; a changed one means that what was built from it is stale.
PYTHON = f"{sys.version} {sys.base_prefix}"


def main(arguments: list[str]) -> int:
    """Run one command of the module's docstring; return the exit code."""
    if sys.version_info < (3, 10):
        fail(f"Python 3.10 or newer is needed, this is {sys.version.split()[0]}")
    command, rest = (arguments[0], arguments[1:]) if arguments else ("help", [])
    if command == "demo" and not rest:
        return hatch_run("demo", "demo")
    if command == "test":
        return hatch_run("default", "test", *rest)
    if command == "lint" and not rest:
        return hatch_run("lint", "check")
    if command == "package":
        return test_alone(rest)
    print(__doc__.strip())
    return 0 if command in ("help", "-h", "--help") else 2


def hatch_run(environment: str, script: str, *arguments: str) -> int:
    """Run a script of a Hatch environment in pyproject.toml; return the script's exit code."""
    ensure_hatch()
    discard_if_stale(environment)
    return attempt(python_of(TOOL), "-m", "hatch", "run", f"{environment}:{script}", *arguments)


def test_alone(names: list[str]) -> int:
    """Test packages from their wheels; return the first exit code that is not 0."""
    folders = package_folders()
    unknown = sorted(set(names) - set(folders))
    if unknown:
        fail(f"no package is called {', '.join(unknown)}; there are {', '.join(folders)}")
    ensure_hatch()
    codes = {}
    for name in names or folders:
        with tempfile.TemporaryDirectory(prefix=f"{name}-") as scratch:
            codes[name] = test_wheel(name, folders, Path(scratch))
    for name, code in codes.items():
        say(f"{name}: {'passed' if code == 0 else f'failed with exit code {code}'}")
    return next((code for code in codes.values() if code), 0)


def test_wheel(name: str, folders: dict[str, Path], scratch: Path) -> int:
    """Build a package's wheel, install it into an empty environment and run the package's tests there."""
    say(f"{name}: building the wheel")
    wheels = build_with_siblings(name, folders, scratch / "wheels")
    say(f"{name}: installing {' '.join(wheel.name for wheel in wheels)} into an empty environment")
    venv = scratch / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    pip = (python_of(TOOL), "-m", "pip", "--python", python_of(venv))
    run(*pip, "install", "--quiet", *wheels)
    run(*pip, "check")
    run(*pip, "list")
    # The conformance kit, which a package's tests use and its code does not need.
    kit = build_with_siblings("gem-testing", folders, scratch / "kit")
    run(*pip, "install", "--quiet", *kit, "--group", f"{ROOT / 'pyproject.toml'}:test")
    # Away from the working tree, so that only what the wheel brought can be imported.
    work = scratch / "work"
    shutil.copytree(folders[name] / "tests", work / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for shared in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / shared, work)
    say(f"{name}: running its tests")
    return attempt(python_of(venv), "-m", "pytest", "tests", cwd=work)


def build_with_siblings(name: str, folders: dict[str, Path], wheels: Path) -> list[Path]:
    """Build the wheel of a package and those of the workspace's packages that it depends on, itself first."""
    built: dict[str, Path] = {}
    wanted = [name]
    for project in wanted:
        target = wheels / project
        # The build backend itself: the environment that `hatch build` makes for it ignores pip's settings.
        run(python_of(TOOL), "-m", "hatchling", "build", "-t", "wheel", "-d", target, cwd=folders[project])
        (built[project],) = target.glob("*.whl")
        wanted += [needed for needed in requirements(built[project]) if needed in folders and needed not in wanted]
    return list(built.values())


def requirements(wheel: Path) -> list[str]:
    """Return the normalized names of what a wheel always needs; extras are left out."""
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(archive.read(path).decode())
    names = []
    for line in metadata.get_all("Requires-Dist", []):
        match = re.match(r"[\w.-]+", line)
        if match is not None and not re.search(r";.*\bextra\b", line):
            names.append(re.sub(r"[-_.]+", "-", match[0]).lower())
    return names


def package_folders() -> dict[str, Path]:
    """Return the workspace's packages: distribution name → folder."""
    folders = {}
    for project in project_files():
        name = re.search(r'^name = "(.+)"$', project.read_text(encoding="utf-8"), re.MULTILINE)
        assert name is not None, project
        folders[name[1]] = project.parent
    return folders


def project_files() -> list[Path]:
    return sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("hub/pyproject.toml")])


def ensure_hatch() -> None:
    """Install Hatch into an environment of its own, unless it is there."""
    stamp = HOME / "tool.stamp"
    wanted = f"{HATCH}\n{PYTHON}\n"
    if text_of(stamp) == wanted:
        return
    say("installing Hatch into .hatch (once)")
    stamp.unlink(missing_ok=True)
    # Debian's python3 has venv but, without the package python3-venv, not the pip to put into one. The pip that
    # runs here may only download (PEP 668); what it downloads then runs in the new environment.
    if attempt(sys.executable, "-m", "pip", "--version", quiet=True) != 0:
        fail(f"{sys.executable} has no pip; install it (Debian: apt install python3-pip) and run this again")
    run(sys.executable, "-m", "venv", "--clear", "--without-pip", TOOL)
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, "pip")
        (wheel,) = Path(scratch).glob("pip-*.whl")
        run(python_of(TOOL), wheel / "pip", "install", "--quiet", wheel, HATCH)
    (HOME / "config.toml").touch()
    stamp.write_text(wanted, encoding="utf-8")


def discard_if_stale(environment: str) -> None:
    """Remove an environment made here whose Python or whose packages' pyproject.toml have changed since.

    Hatch itself notices changed dependencies and new packages, but neither changed entry points nor packages
    that are gone. A .venv that somebody else made is left as it is; Hatch installs into it what is missing.
    """
    folder, stamp = ENVIRONMENTS[environment], HOME / f"{environment}.stamp"
    digest = hashlib.sha256(PYTHON.encode())
    for project in project_files():
        digest.update(f"\0{project.relative_to(ROOT)}\0".encode() + project.read_bytes())
    wanted = digest.hexdigest()
    if folder.exists() and not stamp.exists():
        return
    if folder.exists() and text_of(stamp) != wanted:
        say(f"the packaging has changed; making {folder.relative_to(ROOT)} anew")
        run(python_of(TOOL), "-m", "hatch", "env", "remove", environment)
    stamp.write_text(wanted, encoding="utf-8")


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command; end this program with its exit code if it fails."""
    code = attempt(*command, cwd=cwd)
    if code != 0:
        say(f"failed with exit code {code}: {' '.join(map(str, command))}")
        raise SystemExit(code)


def attempt(*command: str | Path, cwd: Path = ROOT, quiet: bool = False) -> int:
    """Run a command and return its exit code."""
    # A person's own settings of Python, pip and Hatch must not reach into the environments made here.
    foreign = ("HATCH_", "PYTHONPATH", "PYTHONHOME")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    settings = {
        "HATCH_DATA_DIR": str(HOME),
        "HATCH_CACHE_DIR": str(HOME / "cache"),
        "HATCH_CONFIG": str(HOME / "config.toml"),
        "HATCH_PYTHON": "self",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_REQUIRE_VIRTUALENV": "0",
        "PIP_USER": "0",
    }
    output = subprocess.DEVNULL if quiet else None
    arguments = [str(part) for part in command]
    return subprocess.run(
        arguments, cwd=cwd, env={**own, **settings}, stdout=output, stderr=output, check=False
    ).returncode


def python_of(venv: Path) -> Path:
    return venv / BIN / "python"


def text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def say(message: str) -> None:
    print(f"dev.py: {message}", file=sys.stderr, flush=True)


def fail(message: str) -> None:
    raise SystemExit(f"dev.py: {message}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
