"""The other side of :mod:`gem_testing.processes`: a fresh process that plays an environment and watches it.

``python -m gem_testing.probe RESULT`` reads a pickled :class:`ProbeTask` from its standard input and writes its
observations to the file RESULT as JSON. Its working directory and its folder for temporary files are empty; its output
goes to files whose sizes show when something was printed.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import pickle
import random
import signal
import sys
import tempfile
import threading
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gem.entry_points import load
from gem.env_spec import EnvSpec
from gem.registry import make
from gem_testing.episodes import Script, play
from gem_testing.messages import freeze

__all__ = ["ProbeTask"]

PLAYED_AGAIN = 4
"""Number of scripts that are played once more, which shows what grows with every episode."""
MOST_EVENTS = 50
LARGEST_FILE = 1 << 30
"""Bytes."""
LET_FINISH = 1.0
"""Seconds that a thread has to finish after ``close``."""

WATCHED = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.posix_spawn", "ctypes.dlopen")


@dataclass
class ProbeTask:
    """The work of a probe."""

    path: list[str]
    """``sys.path``."""
    spec: EnvSpec | None = None
    """The environment to play; None for a policy alone."""
    scripts: list[Script] = field(default_factory=list)
    watched: bool = False
    """Also watch imports, changes of the process, and residue."""
    policy: str | None = None
    """Entry point of a policy that must choose actions for recorded observations."""
    observations: list[list[Any]] = field(default_factory=list)
    """The observations of each recorded episode, but for its last."""


def main() -> None:
    """Do the task, and write the observations."""
    task: ProbeTask = pickle.load(sys.stdin.buffer)  # noqa: S301  # written by the process that started this one
    result = Path(sys.argv[1])
    _default_signals()
    _limit_files()
    sys.path[:] = task.path
    if task.policy is not None:
        seen: dict[str, Any] = {"actions": _chosen(task.policy, task.observations)}
    else:
        assert task.spec is not None
        seen = _watched(task.spec, task.scripts) if task.watched else {"episodes": _played(task.spec, task.scripts)}
    result.write_text(json.dumps(seen), encoding="utf-8")


def _default_signals() -> None:
    """Reset the signal handlers inherited from the parent, which may have played the environment before."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)


def _limit_files() -> None:
    """Limit the size of files, so that endless output cannot fill the disk."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = LARGEST_FILE if most == resource.RLIM_INFINITY else min(LARGEST_FILE, most)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))


def _chosen(entry_point: str, episodes: list[list[Any]]) -> list[list[str]]:
    actions = []
    for observations in episodes:
        policy = load(entry_point)()
        policy.reset(observations[0], {})
        actions.append([freeze(policy.act(observation, {})) for observation in observations])
    return actions


def _played(spec: EnvSpec, scripts: list[Script]) -> list[Any]:
    episodes = []
    for script in scripts:
        with make(spec) as env:
            episodes.append(play(env, script.actions, script.seed))
    return episodes


def _watched(spec: EnvSpec, scripts: list[Script]) -> dict[str, Any]:
    events: list[list[str]] = []
    sys.addaudithook(lambda event, args: _note(events, event, args) if event in WATCHED else None)
    untouched, chance = _snapshot(), random.getstate()
    modules, at_first = set(sys.modules), _printed()
    load(spec.entry_point)
    imported: dict[str, Any] = {
        "modules": sorted({name.partition(".")[0] for name in set(sys.modules) - modules}),
        "threads": _threads()[len(untouched["threads"]) :],
        "printed": [now - then for now, then in zip(_printed(), at_first, strict=True)],
        "events": list(events),
    }
    before = _snapshot()
    imported["draws"] = random.getstate() != chance
    episodes = _played(spec, scripts)
    gc.collect()
    middle = _snapshot()
    _played(spec, scripts[:PLAYED_AGAIN])
    gc.collect()
    _wait_for_threads(before["threads"])
    after = _snapshot()
    return {
        "episodes": episodes,
        "imported": imported,
        "untouched": untouched,
        "events": events[len(imported["events"]) :],
        "before": before,
        "middle": middle,
        "after": after,
        "gpu": bool(getattr(getattr(sys.modules.get("torch"), "cuda", None), "is_initialized", bool)()),
        "files": sorted(
            str(file.relative_to(folder))
            for folder in (Path(os.environ["GEM_PROBE_WORK"]), Path(tempfile.gettempdir()))
            for file in folder.rglob("*")
        ),
    }


def _note(events: list[list[str]], event: str, args: tuple[Any, ...]) -> None:
    if len(events) < MOST_EVENTS:
        # The arguments of socket.connect are the socket and the address.
        events.append([event, *(str(arg)[:200] for arg in (args[1:] if event == "socket.connect" else args[:2]))])


def _snapshot() -> dict[str, Any]:
    """Return the parts of the process that an environment could change or leave residue in."""
    return {
        "threads": _threads(),
        "descriptors": _descriptors(),
        "children": _children(),
        "cwd": _cwd(),
        "environment": dict(os.environ),
        "settings": _settings(),
    }


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def _wait_for_threads(known: list[str]) -> None:
    for thread in threading.enumerate():
        if thread.name not in known and thread is not threading.current_thread():
            thread.join(LET_FINISH)


def _descriptors() -> list[str] | None:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        return None
    found = []
    for entry in list(folder.iterdir()):
        try:
            found.append(str(entry.readlink()))
        except OSError:  # the descriptor of the listing itself
            continue
    return sorted(found)


def _children() -> list[str] | None:
    if not Path("/proc/self/stat").exists():
        return None
    own, found = str(os.getpid()), []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            command, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:  # it has just ended
            continue
        if rest.split()[1] == own:
            found.append(f"{command} (pid {stat.parent.name})")
    return sorted(found)


def _cwd() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _settings() -> dict[str, str]:
    """Return the settings of the whole process, each as text."""
    import decimal
    import locale
    import socket

    umask = os.umask(0)
    os.umask(umask)
    return {
        "warning filters": " ".join(f[0] for f in warnings.filters if f[1] is None and f[3] is None and f[2] is Warning)
        or "none",
        "the recursion limit": str(sys.getrecursionlimit()),
        "the thread switch interval": str(sys.getswitchinterval()),
        "sys.path": os.pathsep.join(sys.path),
        "sys.stdout and sys.stderr": str([sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__]),
        "the handlers of the root logger": str([type(h).__name__ for h in logging.root.handlers]),
        "the level of the root logger": str(logging.root.level),
        "logging.disable": str(logging.root.manager.disable),
        "signal handlers": str(
            [(s.name, str(signal.getsignal(s))) for s in signal.valid_signals() if hasattr(s, "name")]
        ),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the decimal context": str(decimal.getcontext().prec),
        "the default timeout of sockets": str(socket.getdefaulttimeout()),
        "the umask": oct(umask),
        "gc": str(gc.isenabled()),
        "sys.excepthook": str(sys.excepthook is sys.__excepthook__),
    }


def _printed() -> list[int]:
    """Return the bytes written to standard output and error so far."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return [os.fstat(number).st_size for number in (1, 2)]


if __name__ == "__main__":
    main()
