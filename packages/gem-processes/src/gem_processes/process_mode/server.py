"""The fork server of process mode: it has imported the modules of the environments, and forks workers.

It runs no environment. A module that starts threads when it is imported is left to the workers, since only a process
with one thread can be forked safely.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from gem_processes.fork_loop import serve
from gem_processes.process_mode.makers import ensure_module
from gem_processes.process_mode.packing import unpack
from gem_processes.process_mode.worker import become_env_worker
from gem_processes.worker_server import WorkerLoop

__all__ = ["PATIENCE", "main"]

PATIENCE = 2.0
"""Seconds that workers have to close their environments when the trainer has gone."""

_ALWAYS = ("gem.registry", "gem.vector", "gem.wrappers.first_seed", "gem.text_env")


def main() -> None:
    """Run the server; arguments: the settings as JSON, and the descriptor of the channel."""
    settings, control = json.loads(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def prepared() -> Callable[[], None]:
        with suppress(OSError):  # the folder is gone; the workers run elsewhere
            os.chdir(settings["folder"])
        for name in _ALWAYS:
            import_module(name)
        for name, file in settings["modules"].items():
            with suppress(Exception, SystemExit):  # the worker that needs it reports the error
                ensure_module(name, file)
        if settings["modules"] and len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208  # a count is enough
            _start_again(settings)
        loop = _EnvWorkerLoop(control, PATIENCE)
        gc.collect()
        gc.disable()
        gc.freeze()
        return loop.run_to_the_end

    serve(control, prepared)


class _EnvWorkerLoop(WorkerLoop):
    def work(self, body: bytes, channel: socket.socket, descriptors: list[int]) -> None:
        become_env_worker(channel, descriptors[0], unpack(body))


def _start_again(settings: dict[str, object]) -> None:
    """Replace this program by a new run of it that imports nothing of the environments."""
    command = [*sys.orig_argv[:-2], json.dumps({**settings, "modules": {}}), sys.argv[2]]
    os.execv(Path(sys.executable), command)  # noqa: S606  # Python itself
