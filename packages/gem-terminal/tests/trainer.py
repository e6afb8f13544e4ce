"""A trainer for the tests to end in all the ways there are: ``python trainer.py ENGINE CACHE TASK HOW``.

It begins episodes in two environments until sessions wait for the next ones, and prints one line of JSON: its label,
and the containers with their first processes. ``HOW`` says what it does then.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.engines.namespace.container import NamespaceContainer
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.episodes.task_session import TaskSession


def engine_of(name: str, cache: str) -> Engine:
    return DockerEngine() if name == "docker" else NamespaceEngine(Path(cache))


def begin(engine: Engine, task: str) -> list[TerminalEnv]:
    """Two environments in their second episodes, with warm sessions waiting."""
    envs = [TerminalEnv(path=task, engine=engine, warm=2) for _ in range(2)]
    for _ in range(2):
        for env in envs:
            env.reset()
            env.step("<bash>cd /tmp; X=5; echo hello > word</bash>")
    wait_for_the_pool()
    return envs


def wait_for_the_pool() -> None:
    """Return once nothing is made or discarded in the background."""
    while workers := [thread for thread in threading.enumerate() if thread.name == "gem-terminal pool"]:
        workers[0].join()  # which may have started another one meanwhile


def told(envs: list[TerminalEnv]) -> dict[str, Any]:
    """What this process has: containers in use and waiting."""
    pool = envs[0]._sessions.pool
    assert pool is not None
    used = [env._session for env in envs if env._session is not None]
    waiting = [session for ready in pool._ready.values() for session in ready]
    return {
        "owner": str(ContainerOwner.this_process()),
        "pid": os.getpid(),
        "used": [_container(session) for session in used],
        "waiting": [_container(session) for session in waiting],
    }


def _container(session: TaskSession) -> dict[str, Any]:
    container = session._container
    return {"id": container.id, "first": container._pid if isinstance(container, NamespaceContainer) else None}


def say(what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _in_a_child(engine: Engine, task: str) -> None:
    say(told(begin(engine, task)))


def main(name: str, cache: str, task: str, how: str) -> None:
    """Do as the module says."""
    engine = engine_of(name, cache)
    if how == "multiprocessing":  # ends without atexit
        child = multiprocessing.get_context("fork").Process(target=_in_a_child, args=(engine, task))
        child.start()
        child.join()
        return
    envs = begin(engine, task)  # which has waited for the reaper as well
    if how == "fork and wait":  # the child goes on when its parent has gone
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
        say(told(envs))
        sys.stdin.read()
    say(told(envs))
    if how == "wait":
        for line in sys.stdin:
            say(envs[0].step(json.loads(line))[0])
    elif how == "exit":
        sys.exit(3)
    elif how == "raise":
        raise RuntimeError("the trainer is broken")
    elif how == "terminate":
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    elif how == "fork":
        child_pid = os.fork()
        looks = "<bash>pwd; echo $X; cat word; X=6; echo bye > word</bash>"
        if child_pid == 0:
            observation = envs[0].step(looks)[0]
            envs[1].reset()
            wait_for_the_pool()
            say({**told(envs), "observation": observation})
            sys.stdin.readline()
            sys.exit(0)
        os.waitpid(child_pid, 0)
        say({**told(envs), "observation": envs[0].step(looks)[0]})


if __name__ == "__main__":
    main(*sys.argv[1:])
