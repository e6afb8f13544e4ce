"""What GEM promises outside Linux, run as a user would: the core, games, questions, evaluation and the hub's client.

python devtools/elsewhere.py [--install] [--like-windows] [COMMAND ...]

Each command, by default each line of COMMANDS, must succeed in an empty folder. With --install, pip first installs the
packages into this Python. With --like-windows, on any system, GEM's own modules see neither the modules and functions
that Windows lacks, nor may they make a file whose name Windows forbids.
"""

from __future__ import annotations

import builtins
import os
import re
import shlex
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()

PACKAGES = (
    *("core", "cli", "hub-client", "processes", "questions", "rollout", "eval"),
    *("envs-games", "envs-qa", "envs-math", "envs-reasoning"),
)
"""The packages that must work there, by the names of their folders without ``gem-``."""

COMMANDS = """
gem list
gem info game:Sudoku-v0-easy
gem doctor
gem guide state-and-seeds
gem rollout game:Sudoku-v0-easy --agent reference --episodes 4 --out runs/sudoku.jsonl
gem show runs/sudoku.jsonl 0
gem replay runs/sudoku.jsonl
gem bench game:GuessTheNumber-v0-easy --seconds 0.2
gem eval game:GuessTheNumber-v0-easy rg:chain_sum math:Arithmetic-v0 --agent random -n 6 --out runs/a
gem eval game:GuessTheNumber-v0-easy --agent reference -n 6 --track jsonl
gem eval --resume runs/a
gem results runs/a --csv runs/a.csv
gem compare runs/a runs/a
gem view runs/a --export runs/a.html
gem runs
gem trajectories --help
gem hub search sudoku
gem hub info gem-envs-games
""".strip().splitlines()

_MISSING_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
_MISSING = {
    "os": (
        *(
            "O_CLOEXEC",
            "O_DIRECTORY",
            "O_NOFOLLOW",
            "O_NONBLOCK",
            "chown",
            "eventfd",
            "fchmod",
            "fork",
            "forkpty",
            "getegid",
        ),
        *("geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getsid", "getuid", "killpg", "mkfifo", "nice"),
        *(
            "pidfd_open",
            "sched_getaffinity",
            "sched_setaffinity",
            "set_blocking",
            "setpgid",
            "setsid",
            "statvfs",
            "sysconf",
        ),
        *("uname", "wait4", "waitid", "WNOHANG", "register_at_fork"),
    ),
    "sys": (),
    "signal": (
        "SIGALRM",
        "SIGCHLD",
        "SIGCONT",
        "SIGHUP",
        "SIGKILL",
        "SIGPIPE",
        "SIGSTOP",
        "SIGUSR1",
        "SIGWINCH",
        "SIGXFSZ",
    ),
    "time": ("CLOCK_PROCESS_CPUTIME_ID", "CLOCK_MONOTONIC", "clock_gettime", "tzset"),
    "socket": ("AF_UNIX"),
}
_DIFFERENT: dict[str, dict[str, Any]] = {"os": {"name": "nt", "O_BINARY": 0}, "sys": {"platform": "win32"}}
_FORBIDDEN = re.compile(r'[<>:"|?*\\]|[. ]$')


def like_windows() -> None:
    """Hide from modules of GEM what Windows lacks, and refuse file names that it forbids."""
    found = builtins.__import__
    poor: dict[str, types.ModuleType] = {}

    def imported(name: str, globals: Any = None, *rest: Any, **named: Any) -> Any:  # noqa: A002  # the name of the argument
        if not str((globals or {}).get("__name__", "")).startswith(("gem.", "gem_")):
            return found(name, globals, *rest, **named)
        if name in _MISSING_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = found(name, globals, *rest, **named)
        if name in _MISSING:
            if name not in poor:
                poor[name] = types.ModuleType(name)
                kept = {key: value for key, value in vars(module).items() if key not in _MISSING[name]}
                vars(poor[name]).update(kept, **_DIFFERENT.get(name, {}))
            return poor[name]
        return module

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.mkdir" or (event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT):
            path = arguments[0]
            place = Path(os.fsdecode(path)) if isinstance(path, (str, bytes, os.PathLike)) else Path()
            if _FORBIDDEN.search(place.name) and not place.exists():
                raise AssertionError(f"Windows has no file of the name {place.name!r}")

    builtins.__import__ = imported
    sys.addaudithook(watch)


def main() -> int:
    """Run each command; return the exit code."""
    options = [text for text in sys.argv[1:] if text.startswith("--")]
    commands = [text for text in sys.argv[1:] if not text.startswith("--")] or COMMANDS
    if "--install" in options:
        folders = [HERE.parents[1] / "packages" / f"gem-{name}" for name in PACKAGES]
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *folders], check=True)
    prepare = "runpy.run_path(sys.argv[1])['like_windows'](); " if "--like-windows" in options else ""
    code = (
        f"import runpy, sys; {prepare}sys.argv = ['gem', *sys.argv[3:]]; from gem_cli.start import run; sys.exit(run())"
    )
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            arguments = [sys.executable, "-X", "utf8", "-c", code, str(HERE), *shlex.split(command)]
            done = subprocess.run(arguments, cwd=folder, capture_output=True, check=False)
            errors = done.stderr.decode("utf-8", "replace")
            print(f"{'ok  ' if done.returncode == 0 else 'FAIL'}  {command}", flush=True)
            if done.returncode != 0 or "Traceback" in errors:
                print(done.stdout.decode("utf-8", "replace")[-3000:], errors[-3000:])
                failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
