"""Ordinary programs in the sandbox and as ``python file.py``: ``python benchmarks/ordinary_programs.py``.

The programs, as models write them, are those of ``packages/gem-tools/tests/ordinary_programs.json``. One behaves alike
if its output and its exit code are the same. With ``--user``, root also runs them as that user, with an interpreter
that the user can execute.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "packages" / "gem-tools" / "tests" / "ordinary_programs.json"
TIERS = {"required": "jail", "restricted": "restricted"}


def main() -> None:
    """Print a table with a row for each tier and user."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--user", type=int, help="also as the user with this number, in their home; needs root, setpriv"
    )
    parser.add_argument("--python", default="/usr/bin/python3", help="the interpreter of that user")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(json.load(sys.stdin))))
        return
    programs = {name: "\n".join(lines) for name, lines in json.loads(PROGRAMS.read_text("utf-8"))["programs"].items()}
    if shutil.which("cc") is None:
        programs.pop("compiled program")
    print("| tier | user | programs | as `python file.py` | different |\n|---|---|---|---|---|")
    for user in (os.getuid(), *(() if options.user is None else (options.user,))):
        for tier, different in differences(programs, user, options.python).items():
            names = ", ".join(different) or "none"
            name = "root" if user == 0 else "ordinary"
            print(f"| {tier} | {name} | {len(programs)} | {len(programs) - len(different)} | {names} |")


def differences(programs: dict[str, str], user: int, python: str) -> dict[str, list[str]]:
    """Return the names of the programs that behave differently in each tier for a user."""
    if user == os.getuid():
        return measured(programs)
    import gem
    import gem_processes
    import gem_tools

    with tempfile.TemporaryDirectory() as folder:  # a checkout may be root's alone
        Path(folder).chmod(0o755)
        for package in (gem, gem_processes, gem_tools):
            shutil.copytree(package.__path__[0], Path(folder, package.__name__))
        script = shutil.copy(__file__, folder)
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", python, script, "--measure"]
        environment = {"PATH": os.defpath, "PYTHONPATH": folder, "HOME": pwd.getpwuid(user).pw_dir}
        done = subprocess.run(
            command, input=json.dumps(programs), stdout=subprocess.PIPE, text=True, cwd="/", env=environment, check=True
        )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def measured(programs: dict[str, str]) -> dict[str, list[str]]:
    """Return, for each tier, the names of the programs that behave differently for this user."""
    from gem_tools.sandbox import Limits, Sandbox

    different: dict[str, list[str]] = {}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    for mode, tier in TIERS.items():
        different[tier] = []
        with tempfile.TemporaryDirectory() as folder, Sandbox(mode, Limits(seconds=60.0, open_files=256)) as sandbox:
            for number, (name, code) in enumerate(programs.items()):
                place = Path(folder, str(number))
                place.mkdir()
                (place / "file.py").write_text(code)
                command = [sys.executable, "file.py"]
                plain = subprocess.run(
                    command,
                    cwd=place,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    env={**os.environ, "PYTHONUNBUFFERED": ""},
                    check=False,
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    done = sandbox.run(code)
                if (done.stdout.encode(), done.exit_code) != (plain.stdout, plain.returncode):
                    different[tier].append(name)
    return different


if __name__ == "__main__":
    main()
